//===- SanitizerDefaults.cpp - settings of the sanitizer build ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linked into every program of the asan preset.
//
//===----------------------------------------------------------------------===//

/// Containers cross the border to MLIR, ONNX and Protobuf, which are built
/// without ASan and so do not annotate them. What their registries hold until
/// the end of the process is no leak.
extern "C" const char *__asan_default_options() {
  return "detect_container_overflow=0:detect_leaks=0";
}

extern "C" const char *__ubsan_default_options() {
  return "print_stacktrace=1";
}
