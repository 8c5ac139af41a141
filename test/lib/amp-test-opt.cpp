//===- amp-test-opt.cpp - the autocast passes on the test dialect ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestDialect.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Passes/Passes.h"
#include "amp/Passes/Pipelines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

namespace {
/// How someone else's operation comes to implement the interface. The defaults
/// suit elementwise operations.
struct AddFModel
    : public amp::AutocastOpInterface::ExternalModel<AddFModel,
                                                     mlir::arith::AddFOp> {};
} // namespace

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry
      .insert<amp::AMPDialect, amp::test::TDialect, mlir::arith::ArithDialect,
              mlir::func::FuncDialect, mlir::scf::SCFDialect>();
  registry.addExtension(
      +[](mlir::MLIRContext *context, mlir::arith::ArithDialect *) {
        mlir::arith::AddFOp::attachInterface<AddFModel>(*context);
      });
  amp::registerAutocastPasses();
  amp::registerPipelines();
  mlir::registerCanonicalizerPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "Autocast passes on the test dialect\n", registry));
}
