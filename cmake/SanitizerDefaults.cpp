//===- SanitizerDefaults.cpp - settings of the sanitizer build ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linked into every program of the asan preset.
//
//===----------------------------------------------------------------------===//

/// LLVM's allocators, which are in its headers, poison what they have not given
/// out; the code in its libraries is built without ASan and gives out the same
/// memory without a word. The runtime asks for memory of any size, and says so
/// when there is none.
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0:allocator_may_return_null=1";
}

extern "C" const char *__ubsan_default_options() {
  return "print_stacktrace=1";
}
