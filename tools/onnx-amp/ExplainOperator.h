//===- ExplainOperator.h - onnx-amp policy explain --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_EXPLAINOPERATOR_H
#define AMP_TOOLS_ONNX_AMP_EXPLAINOPERATOR_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Option/ArgList.h"

namespace amp {

/// Prints what the policy of `--policy` says of an operator, "Op" or
/// "domain:Op", at every opset, and why. Returns an exit code.
int explainOperator(llvm::StringRef op,
                    const llvm::opt::InputArgList &arguments);

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_EXPLAINOPERATOR_H
