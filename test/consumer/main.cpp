//===- main.cpp - converts a model with the installed libraries -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/InitAll.h"
#include "amp/Target/ONNX.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/raw_ostream.h"

static const char model[] = R"(
<ir_version: 10, opset_import: ["" : 22]>
consumer (float[2, 3] x, float[3, 4] w) => (float[2, 4] y)
{
  y = MatMul(x, w)
}
)";

int main() {
  mlir::DialectRegistry registry;
  amp::registerAllDialects(registry);
  amp::registerAllPasses();
  mlir::MLIRContext context(registry);

  mlir::OwningOpRef<mlir::ModuleOp> module =
      amp::importONNXText(model, "model", &context);
  mlir::PassManager passes(&context);
  std::string text;
  if (!module ||
      mlir::failed(
          mlir::parsePassPipeline("amp-autocast,amp-to-onnx", passes)) ||
      mlir::failed(passes.run(*module)) ||
      mlir::failed(amp::exportONNXText(*module, text)))
    return 1;
  llvm::outs() << text;
  return text.find("float16") == std::string::npos;
}
