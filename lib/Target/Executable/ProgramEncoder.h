//===- ProgramEncoder.h - programs as executables say them ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_TARGET_EXECUTABLE_PROGRAMENCODER_H
#define AMP_LIB_TARGET_EXECUTABLE_PROGRAMENCODER_H

#include "ConstantBytes.h"

#include "amp/Dialect/AMPRT/AMPRTDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "Executable.pb.h"

#include <vector>

namespace amp {

/// The header of an executable, all but where its blobs lie.
class ProgramEncoder {
public:
  explicit ProgramEncoder(mlir::ModuleOp module) : module(module) {}

  /// Once. Fails with an error.
  llvm::LogicalResult encode(mlir::func::FuncOp main);

  executable::Header &getHeader() { return header; }
  /// As Header.constants and Header.codes are; these refer to the module.
  llvm::ArrayRef<ConstantBytes> getConstants() const { return constants; }
  llvm::ArrayRef<llvm::StringRef> getCodes() const { return codes; }

private:
  llvm::LogicalResult encodeCodes();
  llvm::LogicalResult encodeInterface(mlir::func::FuncOp main);
  llvm::LogicalResult encodeResults(mlir::func::FuncOp main);
  llvm::LogicalResult encodeBlock(mlir::Block &block, uint32_t program);
  llvm::LogicalResult encode(mlir::Operation *op, uint32_t program);
  llvm::LogicalResult encodeCall(rt::CallOp op, executable::Command &command);
  llvm::LogicalResult encodeLaunch(rt::LaunchOp op,
                                   executable::Command &command);
  llvm::LogicalResult encodeView(rt::ViewOp op, uint32_t program);
  llvm::LogicalResult encodeIf(rt::IfOp op, executable::Command &command);
  llvm::LogicalResult encodeLoop(rt::LoopOp op, executable::Command &command);

  /// A new value of this type, without storage.
  llvm::FailureOr<uint32_t> addValue(mlir::Location loc, mlir::Type type,
                                     llvm::StringRef name);
  /// A constant; its index.
  llvm::FailureOr<uint32_t> addConstant(mlir::Location loc,
                                        mlir::TypedAttr value);
  /// The values of results, in the arena.
  llvm::LogicalResult addResults(mlir::Operation *op);
  /// A command that copies a value.
  void addCopy(uint32_t program, uint32_t from, uint32_t to);
  executable::Command &addCommand(mlir::Operation *op, uint32_t program);
  uint32_t addProgram();
  uint32_t lookup(mlir::Value value) const { return values.lookup(value); }

  mlir::ModuleOp module;
  executable::Header header;
  std::vector<ConstantBytes> constants;
  std::vector<llvm::StringRef> codes;
  llvm::DenseMap<mlir::Value, uint32_t> values;
  llvm::DenseMap<mlir::Attribute, uint32_t> constantIndices;
  llvm::DenseMap<mlir::Attribute, uint32_t> functions;
  /// By the number of a state in the signature: its index in the file.
  llvm::SmallVector<uint32_t> stateIndices;
  /// Values with memory of their own, which is written at entry only.
  llvm::DenseSet<uint32_t> madeAtEntry;
};

} // namespace amp

#endif // AMP_LIB_TARGET_EXECUTABLE_PROGRAMENCODER_H
