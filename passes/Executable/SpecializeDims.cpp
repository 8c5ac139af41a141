//===- SpecializeDims.cpp - dimensions of one size ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Training/TrainingState.h"

#include "amp/Analysis/CostModel.h"
#include "amp/Dialect/ONNX/ONNXOps.h"
#include "amp/Passes/Executable.h"
#include "amp/Support/NearestName.h"
#include "amp/Support/Quoted.h"

namespace amp {
#define GEN_PASS_DEF_SPECIALIZEDIMS
#include "amp/Passes/Executable.h.inc"
} // namespace amp

using namespace mlir;
using namespace amp;

namespace {

using Sizes = llvm::StringMap<int64_t>;

/// The type with these sizes for dimensions of these names.
Type specialize(Type type, const Sizes &sizes) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto dims =
      tensor ? dyn_cast_or_null<onnx::DimsAttr>(tensor.getEncoding()) : nullptr;
  if (!dims)
    return type;
  SmallVector<int64_t> shape(tensor.getShape());
  SmallVector<StringAttr> names(dims.getNames());
  bool isNamed = false;
  for (auto [size, name] : llvm::zip_equal(shape, names)) {
    auto wanted = sizes.find(name.getValue());
    if (ShapedType::isDynamic(size) && wanted != sizes.end()) {
      size = wanted->second;
      name = StringAttr::get(type.getContext());
    }
    isNamed |= !name.empty();
  }
  return RankedTensorType::get(
      shape, tensor.getElementType(),
      isNamed ? Attribute(onnx::DimsAttr::get(type.getContext(), names))
              : Attribute());
}

struct SpecializeDims : public amp::impl::SpecializeDimsBase<SpecializeDims> {
  using Base::Base;

  void runOnOperation() final {
    func::FuncOp graph = findMainGraph(getOperation(), "compile");
    CostOptions options;
    for (const std::string &dim : dims)
      if (llvm::Error error = options.addDimension(dim)) {
        getOperation().emitError() << llvm::toString(std::move(error));
        return signalPassFailure();
      }
    if (!graph || failed(checkNames(graph, options.dimensions)))
      return signalPassFailure();
    graph.walk([&](Operation *op) {
      for (Value result : op->getResults())
        result.setType(specialize(result.getType(), options.dimensions));
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (Value argument : block.getArguments())
            argument.setType(
                specialize(argument.getType(), options.dimensions));
    });
    updateType(graph);
  }

private:
  static LogicalResult checkNames(func::FuncOp graph, const Sizes &sizes);
};

} // namespace

LogicalResult SpecializeDims::checkNames(func::FuncOp graph,
                                         const Sizes &sizes) {
  SmallVector<StringRef> known;
  for (Type type : graph.getArgumentTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      if (auto dims = dyn_cast_or_null<onnx::DimsAttr>(tensor.getEncoding()))
        for (StringAttr name : dims.getNames())
          if (!name.empty())
            known.push_back(name.getValue());
  for (StringRef name : sizes.keys()) {
    if (llvm::is_contained(known, name))
      continue;
    StringRef nearest = findNearestName(name, known);
    InFlightDiagnostic error = graph.emitError("no input has a dimension ")
                               << quoted(name);
    if (!nearest.empty())
      error << ", did you mean " << quoted(nearest) << "?";
    return error;
  }
  return success();
}
