# amp_library(NAME sources… [LINK libraries…] [DEPENDS targets…] [EXCEPTIONS])
#   a static library, exported with the package; MLIR and LLVM come as the two
#   shared libraries, never as archives.
# amp_executable(NAME sources… [LINK …] [EXCEPTIONS]): a tool.

# An installed tool finds libMLIR.so where the build found it.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

set(AMP_CXX_WARNINGS -Wall -Wextra -Wno-unused-parameter)

function(amp_target name)
  cmake_parse_arguments(ARG "EXCEPTIONS" "" "" ${ARGN})
  target_compile_options(${name} PRIVATE ${AMP_CXX_WARNINGS})
  if(AMP_WERROR)
    target_compile_options(${name} PRIVATE -Werror)
  endif()
  if(ARG_EXCEPTIONS)
    target_compile_options(${name} PRIVATE -fexceptions)
  else()
    target_compile_options(${name} PRIVATE -fno-exceptions)
  endif()
  if(AMP_ENABLE_ASAN)
    set(flags -fsanitize=address,undefined -fno-sanitize=vptr,function
              -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
    target_compile_options(${name} PRIVATE ${flags})
    target_link_options(${name} PUBLIC ${flags})
    get_target_property(type ${name} TYPE)
    if(type STREQUAL "EXECUTABLE")
      target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/SanitizerDefaults.cpp")
    endif()
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # Lets ccache keep precompiled headers and what is compiled with them.
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()

function(amp_library name)
  cmake_parse_arguments(ARG "EXCEPTIONS" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  if(ARG_EXCEPTIONS)
    amp_target(${name} EXCEPTIONS)
  else()
    amp_target(${name})
  endif()
  target_include_directories(${name} SYSTEM INTERFACE
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  install(TARGETS ${name} EXPORT OnnxAMPTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

function(amp_executable name)
  cmake_parse_arguments(ARG "EXCEPTIONS" "" "LINK;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  if(ARG_EXCEPTIONS)
    amp_target(${name} EXCEPTIONS)
  else()
    amp_target(${name})
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()
