# What executables and their runtime build against: the system's Protobuf and
# headers that leave nothing to link.

if(AMP_RUNTIME_ONLY)
  include_directories("${PROJECT_SOURCE_DIR}/include")
endif()

find_package(Protobuf REQUIRED)
find_package(Threads REQUIRED)
find_package(nlohmann_json REQUIRED)
find_path(AMP_XXHASH_INCLUDE_DIR xxhash.h REQUIRED DOC "The folder of xxhash.h")

# amp-run alone: its options, and .npz files.
find_package(CLI11 REQUIRED)
find_path(AMP_MINIZIP_INCLUDE_DIR minizip/unzip.h REQUIRED DOC "The folder of minizip/unzip.h")
find_library(AMP_MINIZIP_LIBRARY minizip REQUIRED DOC "The library minizip")
