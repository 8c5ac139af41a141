//===- WriteExecutable.cpp - .ampx files out ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Target/Executable.h"

#include "ProgramEncoder.h"

#include "ExecutableWriter.h"

using namespace mlir;
using namespace amp;

LogicalResult amp::writeExecutable(ModuleOp module, StringRef path) {
  func::FuncOp main;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(rt::AMPRTDialect::kSignature))
      main = function;
  if (!main)
    return module.emitError("has no program to write: no function with ")
           << rt::AMPRTDialect::kSignature;
  ProgramEncoder encoder(module);
  if (failed(encoder.encode(main)))
    return failure();
  std::vector<runtime::BlobContent> constants, codes;
  for (const ConstantBytes &constant : encoder.getConstants())
    constants.push_back({constant.bytes.data(), constant.bytes.size()});
  for (StringRef code : encoder.getCodes())
    codes.push_back({code.data(), code.size()});
  runtime::Status status = runtime::writeExecutable(
      path.str(), encoder.getHeader(), constants, codes);
  if (!status.ok())
    return emitError(UnknownLoc::get(module.getContext()))
           << status.getMessage();
  return success();
}
