//===- ModuleReader.h - checks what an executable says ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_MODULEREADER_H
#define AMP_RUNTIME_MODULEREADER_H

#include "ExecutableFile.h"
#include "Kernel.h"
#include "Module.h"

#include <memory>
#include <string_view>

namespace amp::executable {
class Dimension;
} // namespace amp::executable

namespace amp::runtime {

/// Which kernels there are: findKernel, or a test's own.
using KernelLookup = const KernelEntry *(*)(std::string_view name);

/// The code that was chosen among those of the executable.
struct ChosenCode {
  int index = 0;
  /// Null if there is none.
  const unsigned char *data = nullptr;
};

/// An error of a file whose checksums are right.
Status malformed(std::string what);

/// Reads the header's lists, then its programs, and checks everything.
Result<std::unique_ptr<Module>> readModule(const ExecutableFile &file,
                                           const ChosenCode &code,
                                           KernelLookup lookup);

/// The part of it that is about programs; values are there.
Status readPrograms(const ExecutableFile &file, const ChosenCode &code,
                    KernelLookup lookup, Module &module);

/// A dimension of a launch, resolved; `what` names it in messages.
Result<Dimension> readDimension(const executable::Dimension &dimension,
                                const Module &module, std::string_view what);

} // namespace amp::runtime

#endif // AMP_RUNTIME_MODULEREADER_H
