# What the project builds against: MLIR and LLVM 22 (as the two shared
# libraries), ONNX's C++ library.

find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
# The distribution's package leaves this empty; without it the dylib and the
# static archives would be mixed, and with them two worlds of TypeIDs.
set(MLIR_LINK_MLIR_DYLIB ON)
set(LLVM_LINK_LLVM_DYLIB ON)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include(HandleLLVMOptions)

separate_arguments(AMP_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_definitions(${AMP_LLVM_DEFINITIONS})
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
include_directories("${PROJECT_SOURCE_DIR}/include" "${PROJECT_BINARY_DIR}/include")

# `tools/dev setup` builds it once, outside the build folder, and knows which
# version: the operators, and all that follows from them, are its schemas'.
find_package(ONNX REQUIRED CONFIG
  HINTS "$ENV{AMP_ONNX_DIR}" "${AMP_ONNX_DIR}")
