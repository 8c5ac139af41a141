//===- LibraryKernel.h - what kernels have in common ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_LIBRARYKERNEL_H
#define AMP_RUNTIME_CPU_LIBRARYKERNEL_H

#include "CPU/Kernels.h"

#include <iterator>
#include <memory>
#include <utility>

namespace amp::runtime {

/// A kernel whose configure() reads its attributes; most have none.
class LibraryKernel : public Kernel {
public:
  Status configure(const Attributes &attributes) { return {}; }
};

/// The factory of such a class.
template <typename KernelType>
Result<std::unique_ptr<Kernel>> create(const Attributes &attributes) {
  auto kernel = std::make_unique<KernelType>();
  if (Status status = kernel->configure(attributes); !status.ok())
    return status;
  return std::unique_ptr<Kernel>(std::move(kernel));
}

} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_LIBRARYKERNEL_H
