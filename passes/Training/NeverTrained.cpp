//===- NeverTrained.cpp - initializers that are no weights ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NeverTrained.h"

#include "amp/Dialect/AMP/ConstantData.h"
#include "amp/Dialect/ONNX/OperatorTable.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"

using namespace mlir;

namespace amp {

namespace {

/// An input of floats that no operator's gradient changes in training.
struct FixedInput {
  StringLiteral op; ///< of ai.onnx
  unsigned position;
  StringLiteral role;
  /// Only with one element: others may be learned.
  bool ifSingle = false;
};

constexpr FixedInput fixedInputs[] = {
    {"BatchNormalization", 3, "a statistic of a BatchNormalization"},
    {"BatchNormalization", 4, "a statistic of a BatchNormalization"},
    {"Clip", 1, "a bound of a Clip"},
    {"Clip", 2, "a bound of a Clip"},
    {"NegativeLogLikelihoodLoss", 2, "the weights of classes"},
    {"OneHot", 2, "the values of a OneHot"},
    {"Pad", 2, "the value of a Pad"},
    {"Pow", 1, "the exponent of a Pow"},
    {"Resize", 1, "the regions of a Resize"},
    {"Resize", 2, "the scales of a Resize"},
    {"RoiAlign", 1, "the regions of a RoiAlign"},
    {"RotaryEmbedding", 1, "a table of a RotaryEmbedding"},
    {"RotaryEmbedding", 2, "a table of a RotaryEmbedding"},
    {"STFT", 2, "the window of an STFT"},
    {"SoftmaxCrossEntropyLoss", 2, "the weights of classes"},
    {"Upsample", 1, "the scales of an Upsample"},
    {"Where", 1, "what a Where fills in", /*ifSingle=*/true},
    {"Where", 2, "what a Where fills in", /*ifSingle=*/true},
};

bool hasOneElement(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && shaped.hasStaticShape() && shaped.getNumElements() == 1;
}

const FixedInput *findFixedInput(OpOperand &use) {
  const onnx::OperatorInfo *info =
      onnx::lookupOperator(use.getOwner()->getName());
  if (!info || !info->domain.empty())
    return nullptr;
  for (const FixedInput &input : fixedInputs)
    if (info->name == input.op &&
        onnx::inputPosition(use.getOwner(), use.getOperandNumber()) ==
            input.position &&
        (!input.ifSingle || hasOneElement(use.get().getType())))
      return &input;
  return nullptr;
}

/// True for what gives its operand as it is.
bool isTransparent(Operation *op) {
  const onnx::OperatorInfo *info = onnx::lookupOperator(op->getName());
  return info && info->domain.empty() &&
         llvm::is_contained({"Cast", "CastLike", "Identity"}, info->name);
}

/// Collects what readers take a value for; false if one may take it for a
/// weight.
bool collectRoles(Value value, SmallVectorImpl<const FixedInput *> &roles) {
  bool isFixed = true;
  for (OpOperand &use : value.getUses()) {
    Operation *reader = use.getOwner();
    // The default of an input.
    if (reader->getNumResults() == 0 &&
        !reader->hasTrait<OpTrait::IsTerminator>())
      continue;
    if (isTransparent(reader) && use.getOperandNumber() == 0)
      isFixed &= collectRoles(reader->getResult(0), roles);
    else if (const FixedInput *input = findFixedInput(use))
      roles.push_back(input);
    else
      isFixed = false;
  }
  return isFixed;
}

} // namespace

std::string describeFixedRole(Value initializer) {
  SmallVector<const FixedInput *> roles;
  bool isFixed = collectRoles(initializer, roles);
  for (const FixedInput *input : roles)
    if (isFixed || input->op == "BatchNormalization")
      return input->role.str();
  return {};
}

StringRef describeDoubt(ShapedType type, Attribute elements) {
  if (hasOneElement(type))
    return "one element";
  // What is added to scores is 0, or so low that nothing is left of it.
  constexpr uint64_t kMostElements = uint64_t(1) << 24;
  constexpr double kMasked = -1e4;
  std::optional<SmallVector<double>> numbers =
      readElements(elements, kMostElements);
  bool anyMasked = numbers && llvm::any_of(*numbers, [](double number) {
                     return number <= kMasked;
                   });
  return anyMasked && llvm::all_of(*numbers,
                                   [](double number) {
                                     return number == 0 || number <= kMasked;
                                   })
             ? "a mask"
             : "";
}

} // namespace amp
