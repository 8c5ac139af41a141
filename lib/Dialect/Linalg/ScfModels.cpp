//===- ScfModels.cpp - autocast for scf on tensors ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Linalg/AutocastModels.h"
#include "amp/Interfaces/ForeignModel.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;
using namespace amp;

namespace {

/// RegionBranchOpInterface says it all; a policy can keep it.
struct BranchModel : ForeignModel<BranchModel> {};

/// Its results have the types of its outputs, and what is inserted into those
/// too: that is no control flow.
struct ForallModel : ForeignModel<ForallModel> {
  void getElementTypeFlow(Operation *op,
                          SmallVectorImpl<ElementTypeEdge> &edges) const {
    auto forall = cast<scf::ForallOp>(op);
    for (BlockArgument argument : forall.getRegionIterArgs()) {
      OpOperand *output = forall.getTiedOpOperand(argument);
      edges.push_back({output, argument});
      edges.push_back({output, forall.getTiedOpResult(output)});
      for (OpOperand &use : argument.getUses()) {
        auto insert = dyn_cast<tensor::ParallelInsertSliceOp>(use.getOwner());
        if (!insert || insert.getDest() != argument)
          continue;
        edges.push_back({&insert.getSourceMutable(), argument});
        edges.push_back({&insert.getDestMutable(), argument});
      }
    }
  }
};

} // namespace

void amp::registerScfAutocastModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, scf::SCFDialect *dialect) {
    attachModelTo<ForallModel, scf::ForallOp>(context);
    attachModel<BranchModel>(
        context, dialect->getNamespace(), [](OperationName name) {
          return name.hasInterface<RegionBranchOpInterface>();
        });
  });
}
