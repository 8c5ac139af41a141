//===- embedding.cpp - the autocast passes on a dialect of our own --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What docs/embedding.md explains: a compiler with a dialect of its own links
// the passes, and nothing of ONNX.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Interfaces/AutocastOpInterface.h"
#include "amp/Passes/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

namespace toy {

/// `toy.dot` and `toy.relu`.
class DotOp : public mlir::Op<DotOp, mlir::OpTrait::NOperands<2>::Impl,
                              mlir::OpTrait::OneResult> {
public:
  using Op::Op;
  static llvm::StringRef getOperationName() { return "toy.dot"; }
  static llvm::ArrayRef<llvm::StringRef> getAttributeNames() { return {}; }
};

class ReluOp : public mlir::Op<ReluOp, mlir::OpTrait::OneOperand,
                               mlir::OpTrait::OneResult> {
public:
  using Op::Op;
  static llvm::StringRef getOperationName() { return "toy.relu"; }
  static llvm::ArrayRef<llvm::StringRef> getAttributeNames() { return {}; }
};

class ToyDialect : public mlir::Dialect {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ToyDialect)
  explicit ToyDialect(mlir::MLIRContext *context)
      : Dialect("toy", context, mlir::TypeID::get<ToyDialect>()) {
    addOperations<DotOp, ReluOp>();
  }
  static llvm::StringRef getDialectNamespace() { return "toy"; }
};

// The defaults of the interface suit operations whose floats are all of one
// type.
struct DotModel : amp::AutocastOpInterface::ExternalModel<DotModel, DotOp> {};
struct ReluModel : amp::AutocastOpInterface::ExternalModel<ReluModel, ReluOp> {
};

void registerAutocastModels(mlir::DialectRegistry &registry) {
  registry.addExtension(+[](mlir::MLIRContext *context, ToyDialect *) {
    DotOp::attachInterface<DotModel>(*context);
    ReluOp::attachInterface<ReluModel>(*context);
  });
}

} // namespace toy

static const char program[] = R"(
func.func @f(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %y = "toy.dot"(%x, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %z = "toy.relu"(%y) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %z : tensor<4x4xf32>
}
)";

/// Usage: embedding POLICY-FILE
int main(int, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<amp::AMPDialect, toy::ToyDialect, mlir::func::FuncDialect>();
  toy::registerAutocastModels(registry);
  mlir::MLIRContext context(registry);

  auto module = mlir::parseSourceString<mlir::ModuleOp>(program, &context);
  mlir::PassManager passes(&context);
  amp::AutocastPipelineOptions options;
  options.policy = argv[1];
  amp::buildAutocastPipeline(passes, options);
  if (!module || mlir::failed(passes.run(*module)))
    return 1;
  module->print(llvm::outs());
  return 0;
}
