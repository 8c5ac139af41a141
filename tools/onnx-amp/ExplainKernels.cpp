//===- ExplainKernels.cpp - what runs each node ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExplainKernels.h"

#include "amp/Dialect/AMPRT/AMPRTDialect.h"
#include "amp/Support/Quoted.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace amp;
using namespace mlir;
using rt::AMPRTDialect;

namespace {

class Explanation {
public:
  void addBlock(Block &block, unsigned indent);
  std::string finish();

private:
  void addLine(Operation *op, unsigned indent, const llvm::Twine &what);
  static std::string getNodes(Operation *op);

  std::string text;
  unsigned numLibrary = 0, numCompiled = 0, numViews = 0, numAtEntry = 0;
};

} // namespace

/// "'a', 'b'", or empty for what no node stands for.
std::string Explanation::getNodes(Operation *op) {
  std::string nodes;
  auto list = op->getAttrOfType<ArrayAttr>(AMPRTDialect::kNodes);
  if (!list) {
    auto node = op->getAttrOfType<StringAttr>(AMPRTDialect::kNode);
    return node ? quoted(node.getValue()) : std::string();
  }
  for (auto node : list.getAsRange<StringAttr>())
    nodes += (nodes.empty() ? "" : ", ") + quoted(node.getValue());
  return nodes;
}

void Explanation::addLine(Operation *op, unsigned indent,
                          const llvm::Twine &what) {
  text += std::string(2 * indent, ' ') + what.str();
  if (op->hasAttr(AMPRTDialect::kAtEntry)) {
    text += ", when dimensions change";
    ++numAtEntry;
  }
  std::string nodes = getNodes(op);
  text += nodes.empty() ? "\n" : ": " + nodes + "\n";
}

void Explanation::addBlock(Block &block, unsigned indent) {
  for (Operation &op : block) {
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](rt::CallOp call) {
          numViews += call.getView();
          numLibrary += !call.getView();
          addLine(&op, indent,
                  (call.getView() ? "view " : "library ") + call.getKernel());
        })
        .Case([&](rt::LaunchOp launch) {
          ++numCompiled;
          addLine(&op, indent, "compiled " + launch.getFunction());
        })
        .Case([&](rt::ViewOp) {
          ++numViews;
          addLine(&op, indent, "view");
        })
        .Case([&](rt::IfOp branch) {
          addLine(&op, indent, "if");
          addBlock(branch.getThenRegion().front(), indent + 1);
          text += std::string(2 * indent, ' ') + "else\n";
          addBlock(branch.getElseRegion().front(), indent + 1);
        })
        .Case([&](rt::LoopOp loop) {
          addLine(&op, indent, "loop");
          addBlock(loop.getBody().front(), indent + 1);
        });
  }
}

std::string Explanation::finish() {
  auto count = [](unsigned number, llvm::StringRef what) {
    return std::to_string(number) + " " + what.str() + (number == 1 ? "" : "s");
  };
  return text + count(numLibrary, "call") + " of the library, " +
         count(numCompiled, "compiled kernel") + ", " +
         count(numViews, "view") + "; " + std::to_string(numAtEntry) +
         " of them when dimensions change\n";
}

std::string amp::explainKernels(ModuleOp module) {
  Explanation explanation;
  for (auto graph : module.getOps<func::FuncOp>())
    if (graph->hasAttr(AMPRTDialect::kSignature))
      explanation.addBlock(graph.getBody().front(), 0);
  return explanation.finish();
}
