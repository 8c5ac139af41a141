//===- Object.h - from loops to an image of machine code --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_CODEGEN_COMPILE_OBJECT_H
#define AMP_PASSES_CODEGEN_COMPILE_OBJECT_H

#include "Arithmetic.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>

namespace amp::codegen {

/// A kind of CPU as users name it: x86-64-v2, -v3, -v4, with features behind
/// (x86-64-v4+avx512bf16), or native: the best of these levels that this
/// machine has.
struct TargetCPU {
  std::string name;
  CPU abilities;
  std::unique_ptr<llvm::TargetMachine> machine;
};

/// What `native` is here; any other name is itself.
llvm::StringRef getLevel(llvm::StringRef name);

llvm::Expected<TargetCPU> getTargetCPU(llvm::StringRef name);

/// Position-independent code without relocations, and where functions begin.
struct Image {
  std::vector<char> bytes;
  llvm::StringMap<uint64_t> offsets;
};

/// Lowers a module of loops to LLVM's dialect.
mlir::LogicalResult lowerToLLVM(mlir::ModuleOp module);

/// Compiles a module of LLVM's dialect. What it made on the way goes into files
/// whose names begin with `dump`, if that is not empty.
llvm::Expected<Image> compileModule(mlir::ModuleOp module, TargetCPU &cpu,
                                    llvm::StringRef dump);

/// Lays the code and constants of a relocatable ELF object out and ties them
/// together.
llvm::Expected<Image> linkObject(llvm::StringRef object);

} // namespace amp::codegen

#endif // AMP_PASSES_CODEGEN_COMPILE_OBJECT_H
