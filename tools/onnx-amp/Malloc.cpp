//===- Malloc.cpp - no memory, no process ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR makes operations with malloc() and does not look at what it gets; LLVM
// and the C++ library ask handlers, which are not there before main(). The
// functions here stand before glibc's, for the program and its shared
// libraries, and end the process where those would return null.
//
// The sanitizers' allocator ends the process by itself.
//
//===----------------------------------------------------------------------===//

#include "FatalErrors.h"

#include "llvm/Support/Compiler.h"

#include <cerrno>
#include <cstdlib>

#if defined(__GLIBC__) && !LLVM_ADDRESS_SANITIZER_BUILD

// glibc's own under their other names, by which it exports them.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" void *__libc_malloc(size_t size);
extern "C" void *__libc_calloc(size_t count, size_t size);
extern "C" void *__libc_realloc(void *memory, size_t size);
extern "C" void *__libc_memalign(size_t alignment, size_t size);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

static void *orDie(void *memory) {
  if (LLVM_UNLIKELY(!memory))
    amp::die("out of memory");
  return memory;
}

extern "C" void *malloc(size_t size) { return orDie(__libc_malloc(size)); }

extern "C" void *calloc(size_t count, size_t size) {
  return orDie(__libc_calloc(count, size));
}

extern "C" void *realloc(void *memory, size_t size) {
  void *moved = __libc_realloc(memory, size);
  // Null is what freeing by a size of 0 returns.
  return size == 0 ? moved : orDie(moved);
}

extern "C" void *memalign(size_t alignment, size_t size) {
  return orDie(__libc_memalign(alignment, size));
}

extern "C" void *aligned_alloc(size_t alignment, size_t size) {
  return orDie(__libc_memalign(alignment, size));
}

extern "C" int posix_memalign(void **result, size_t alignment, size_t size) {
  if (alignment % sizeof(void *) != 0 || alignment == 0 ||
      (alignment & (alignment - 1)) != 0)
    return EINVAL;
  *result = orDie(__libc_memalign(alignment, size));
  return 0;
}

#endif
