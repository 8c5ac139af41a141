//===- HostCPU.h - what code this machine can run ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_HOSTCPU_H
#define AMP_RUNTIME_CPU_HOSTCPU_H

#include <optional>
#include <string>
#include <string_view>

namespace amp::runtime {

/// How good code is for this machine, the more the better, if CPU and system
/// can run it; `cpu` is a level of the x86-64 ABI, then LLVM's names of
/// features beyond it: "x86-64-v3+avx512bf16". Registers of AMX are asked of
/// the system when a name needs them.
std::optional<unsigned> rateCode(std::string_view cpu);

/// This machine in the same form.
std::string describeHost();

} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_HOSTCPU_H
