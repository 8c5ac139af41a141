//===- InsertCasts.cpp - carry out decisions on precision -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every value gets an element type (from the annotation of what defines it) and
// every operand wants one (from the annotation of its owner, or of what it
// flows into); whoever has no annotation keeps, and wants, the types of before.
// Where the two differ, a cast or a rounded constant comes between. Each step
// is one walk over the module.
//
//===----------------------------------------------------------------------===//

#include "amp/Analysis/FunctionFlow.h"
#include "amp/Analysis/RegionFlow.h"
#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/AMP/Annotations.h"
#include "amp/Dialect/AMP/FloatTypes.h"
#include "amp/Interfaces/AutocastOpInterface.h"
#include "amp/Interfaces/ElementTypes.h"
#include "amp/Passes/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace amp {
#define GEN_PASS_DEF_INSERTCASTS
#include "amp/Passes/Autocast.h.inc"
} // namespace amp

using namespace mlir;
using namespace amp;

namespace {
class InsertCastsPass final
    : public amp::impl::InsertCastsBase<InsertCastsPass> {
public:
  void runOnOperation() final;

private:
  /// An operand that is not of the element type that it wants.
  struct Mismatch {
    OpOperand *operand;
    FloatType wanted;
  };

  // 1. New element types, by what defines a value.
  void readFunction(FunctionOpInterface function);
  void readOperation(AutocastOpInterface op, ArrayAttr precision);
  LogicalResult readRegions(Operation *op);
  void readCall(CallOpInterface call, const FunctionFlow &functions);
  void readArguments(Operation *op);
  LogicalResult readAnnotations(const FunctionFlow &functions);

  // 2. Operands that want another type than theirs.
  void collectMismatches(const FunctionFlow &functions);
  FloatType getWanted(OpOperand &operand, AutocastOpInterface autocast,
                      FunctionOpInterface function, FunctionOpInterface callee);

  // 3. Types change.
  void retype();

  // 4. Casts and constants come in.
  LogicalResult insertCasts();
  LogicalResult insertCasts(OpBuilder &builder, Value value);
  FailureOr<Value> convert(OpBuilder &builder, Value value, FloatType wanted,
                           bool isShared);

  // 5. What else states types follows.
  void updateOperations();

  void setType(Value value, FloatType elementType) {
    if (elementType && getFloatElementType(value.getType()))
      newTypes[value] = elementType;
  }
  FloatType getType(Value value) const {
    auto found = newTypes.find(value);
    return found != newTypes.end() ? found->second
                                   : getFloatElementType(value.getType());
  }

  llvm::MapVector<Value, FloatType> newTypes;
  /// Operations whose element types change.
  SmallVector<AutocastOpInterface> moved;
  /// Functions with annotations, and the element types of their results.
  llvm::MapVector<FunctionOpInterface, ArrayAttr> functionResults;
  DenseMap<OpOperand *, FloatType> wantedByRegions;
  DenseMap<Value, SmallVector<Mismatch, 1>> mismatches;
};
} // namespace

static ArrayAttr getArray(Operation *op, StringRef name) {
  return op->getDiscardableAttr(name)
             ? dyn_cast<ArrayAttr>(op->getDiscardableAttr(name))
             : ArrayAttr();
}

//===----------------------------------------------------------------------===//
// 1. New element types
//===----------------------------------------------------------------------===//

void InsertCastsPass::readArguments(Operation *op) {
  ArrayAttr regions = getArray(op, AMPDialect::kArgumentTypes);
  if (!regions)
    return;
  for (auto [region, entry] : llvm::zip(op->getRegions(), regions)) {
    if (region.empty())
      continue;
    for (BlockArgument argument : region.getArguments())
      setType(argument, getAnnotatedType(dyn_cast<ArrayAttr>(entry),
                                         argument.getArgNumber()));
  }
}

void InsertCastsPass::readFunction(FunctionOpInterface function) {
  ArrayAttr results = getArray(function, AMPDialect::kResultTypes);
  if (!results && !getArray(function, AMPDialect::kArgumentTypes))
    return;
  functionResults[function] = results;
  readArguments(function);
}

void InsertCastsPass::readOperation(AutocastOpInterface op,
                                    ArrayAttr precision) {
  moved.push_back(op);
  for (OpResult result : op->getResults()) {
    int variable = op.getResultTypeVariable(result.getResultNumber());
    if (variable >= 0)
      setType(result, getAnnotatedType(precision, variable));
  }
}

LogicalResult InsertCastsPass::readRegions(Operation *op) {
  ArrayAttr results = getArray(op, AMPDialect::kResultTypes);
  if (!results && !getArray(op, AMPDialect::kArgumentTypes))
    return success();
  for (OpResult result : op->getResults())
    setType(result, getAnnotatedType(results, result.getResultNumber()));
  readArguments(op);

  RegionFlow flow(op);
  for (const RegionFlow::Group &group : flow.getGroups()) {
    FloatType wanted = getType(group.targets.front());
    for (Value target : group.targets)
      if (getType(target) != wanted)
        return op->emitOpError()
               << "has annotations that give " << wanted << " and "
               << getType(target) << " to values that one operand flows into";
    for (OpOperand *source : group.sources)
      wantedByRegions[source] = wanted;
  }
  return success();
}

void InsertCastsPass::readCall(CallOpInterface call,
                               const FunctionFlow &functions) {
  FunctionOpInterface callee = functions.getCallee(call);
  if (!callee)
    return;
  for (OpResult result : call->getResults())
    setType(result, getAnnotatedType(functionResults.lookup(callee),
                                     result.getResultNumber()));
}

LogicalResult InsertCastsPass::readAnnotations(const FunctionFlow &functions) {
  for (const auto &[op, function] : functions.getFunctions())
    readFunction(cast<FunctionOpInterface>(op));
  WalkResult walk = getOperation().walk([&](Operation *op) {
    if (hasRegionFlow(op))
      return failed(readRegions(op)) ? WalkResult::interrupt()
                                     : WalkResult::advance();
    if (auto call = dyn_cast<CallOpInterface>(op))
      readCall(call, functions);
    else if (ArrayAttr precision = getArray(op, AMPDialect::kPrecision))
      if (auto autocast = dyn_cast<AutocastOpInterface>(op))
        readOperation(autocast, precision);
    return WalkResult::advance();
  });
  return success(!walk.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// 2. Mismatches
//===----------------------------------------------------------------------===//

/// `autocast`, `function` and `callee` say what the operand's owner is: an
/// annotated operation, a terminator that returns from an annotated function,
/// or a call. Null where it is not.
FloatType InsertCastsPass::getWanted(OpOperand &operand,
                                     AutocastOpInterface autocast,
                                     FunctionOpInterface function,
                                     FunctionOpInterface callee) {
  Operation *owner = operand.getOwner();
  unsigned index = operand.getOperandNumber();
  FloatType wanted = wantedByRegions.lookup(&operand);
  if (autocast) {
    int variable = autocast.getOperandTypeVariable(index);
    if (variable >= 0)
      wanted =
          getAnnotatedType(getArray(owner, AMPDialect::kPrecision), variable);
  } else if (function) {
    wanted = getAnnotatedType(functionResults.lookup(function), index);
  } else if (callee && !callee.isExternal()) {
    OperandRange arguments = cast<CallOpInterface>(owner).getArgOperands();
    unsigned begin = arguments.empty() ? 0 : arguments.getBeginOperandIndex();
    if (index >= begin && index - begin < callee.getNumArguments())
      wanted = getType(callee.getArgument(index - begin));
  }
  return wanted ? wanted : getFloatElementType(operand.get().getType());
}

void InsertCastsPass::collectMismatches(const FunctionFlow &functions) {
  getOperation().walk([&](Operation *op) {
    if (op->getNumOperands() == 0)
      return;
    AutocastOpInterface autocast;
    if (op->hasAttr(AMPDialect::kPrecision) && !hasRegionFlow(op))
      autocast = dyn_cast<AutocastOpInterface>(op);
    FunctionOpInterface function;
    if (op->hasTrait<OpTrait::IsTerminator>() && op->getNumSuccessors() == 0)
      function = dyn_cast<FunctionOpInterface>(op->getParentOp());
    if (function && !functionResults.count(function))
      function = {};
    FunctionOpInterface callee = functions.getCallee(op);
    for (OpOperand &operand : op->getOpOperands()) {
      FloatType elementType = getType(operand.get());
      if (!elementType)
        continue;
      FloatType wanted = getWanted(operand, autocast, function, callee);
      if (wanted != elementType)
        mismatches[operand.get()].push_back({&operand, wanted});
    }
  });
}

//===----------------------------------------------------------------------===//
// 3. Retyping
//===----------------------------------------------------------------------===//

void InsertCastsPass::retype() {
  for (auto [value, elementType] : newTypes)
    value.setType(withFloatElementType(value.getType(), elementType));
  for (auto [function, results] : functionResults) {
    if (function.isExternal())
      continue;
    SmallVector<Type> resultTypes(function.getResultTypes());
    for (auto [i, type] : llvm::enumerate(resultTypes))
      if (FloatType elementType = getAnnotatedType(results, i))
        if (Type retyped = withFloatElementType(type, elementType))
          type = retyped;
    auto arguments = function.getFunctionBody().front().getArgumentTypes();
    function.setType(function.cloneTypeWith(arguments, resultTypes));
  }
}

//===----------------------------------------------------------------------===//
// 4. Casts
//===----------------------------------------------------------------------===//

/// Constants of more elements are weights and tables, which are not stored
/// twice.
static constexpr int64_t kLargestCopied = 4096;

/// A copy of a constant in another element type; null if there can be none, or
/// if the constant is large, and `isShared` with someone who reads it as it is.
static Value materialize(OpBuilder &builder, AutocastOpInterface constant,
                         unsigned result, FloatType wanted, bool isShared) {
  if ((!wanted.isF16() && !wanted.isBF16()) ||
      !constant.supportsElementType(constant.getResultTypeVariable(result),
                                    wanted))
    return {};
  TypedAttr source = constant.getAutocastConstantValue(result);
  FloatType from = source ? getFloatElementType(source.getType()) : FloatType();
  if (!from || (!from.isF32() && !from.isF64()))
    return {};
  auto annotation = constant->getAttrOfType<StringAttr>(AMPDialect::kOverflow);
  // A cast would not do what the annotation says.
  if (isShared && !annotation &&
      cast<ShapedType>(source.getType()).getNumElements() > kLargestCopied)
    return {};
  bool toInfinity =
      annotation && annotation == stringifyOverflow(Overflow::Infinity);
  return constant.materializeConstant(
      builder, result,
      RoundedAttr::get(source,
                       toInfinity ? Overflow::Infinity : Overflow::Saturate,
                       wanted));
}

/// `value`, as it is, in another element type: a new constant or a cast.
FailureOr<Value> InsertCastsPass::convert(OpBuilder &builder, Value value,
                                          FloatType wanted, bool isShared) {
  Type type = withFloatElementType(value.getType(), wanted);
  auto constant = value.getDefiningOp<AutocastOpInterface>();
  if (constant && constant.isAutocastConstant()) {
    unsigned result = cast<OpResult>(value).getResultNumber();
    if (Value copy = materialize(builder, constant, result, wanted, isShared)) {
      if (copy.getType() != type)
        return constant->emitOpError()
               << "materialized a constant of " << copy.getType()
               << ", expected " << type;
      ++numConstants;
      return copy;
    }
  }
  ++numCasts;
  return CastOp::create(builder, value.getLoc(), type, value).getResult();
}

/// Serves all operands that want another type of `value`; wider types come
/// last, so that the order does not depend on that of the uses.
LogicalResult InsertCastsPass::insertCasts(OpBuilder &builder, Value value) {
  auto found = mismatches.find(value);
  if (found == mismatches.end())
    return success();
  SmallVector<FloatType, 2> types;
  for (const Mismatch &mismatch : found->second)
    if (!llvm::is_contained(types, mismatch.wanted))
      types.push_back(mismatch.wanted);
  llvm::sort(types, [](FloatType a, FloatType b) {
    auto key = [](FloatType type) {
      const llvm::fltSemantics &semantics = type.getFloatSemantics();
      return std::make_tuple(type.getWidth(), type.getFPMantissaWidth(),
                             llvm::APFloatBase::SemanticsToEnum(semantics));
    };
    return key(a) < key(b);
  });
  bool isShared = value.hasNUsesOrMore(found->second.size() + 1);
  for (FloatType type : types) {
    FailureOr<Value> converted = convert(builder, value, type, isShared);
    if (failed(converted))
      return failure();
    for (const Mismatch &mismatch : found->second)
      if (mismatch.wanted == type)
        mismatch.operand->set(*converted);
  }
  return success();
}

LogicalResult InsertCastsPass::insertCasts() {
  SmallVector<Operation *> emptied;
  WalkResult walk =
      getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
        OpBuilder builder(op);
        if (op->getNumResults() > 0)
          builder.setInsertionPointAfter(op);
        for (OpResult result : op->getResults())
          if (failed(insertCasts(builder, result)))
            return WalkResult::interrupt();
        for (Region &region : op->getRegions()) {
          for (Block &block : region) {
            builder.setInsertionPointToStart(&block);
            for (BlockArgument argument : block.getArguments())
              if (failed(insertCasts(builder, argument)))
                return WalkResult::interrupt();
          }
        }
        auto constant = dyn_cast<AutocastOpInterface>(op);
        if (constant && op->use_empty() && constant.isAutocastConstant() &&
            llvm::any_of(op->getResults(), [&](Value result) {
              return mismatches.contains(result);
            }))
          emptied.push_back(op);
        return WalkResult::advance();
      });
  for (Operation *op : emptied) {
    op->erase();
    ++numErased;
  }
  return success(!walk.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// 5. What else states types
//===----------------------------------------------------------------------===//

void InsertCastsPass::updateOperations() {
  OpBuilder builder(&getContext());
  for (AutocastOpInterface op : moved) {
    builder.setInsertionPointAfter(op);
    op.updateElementTypes(builder);
  }
}

void InsertCastsPass::runOnOperation() {
  // Of an earlier module, perhaps.
  newTypes.clear();
  moved.clear();
  functionResults.clear();
  wantedByRegions.clear();
  mismatches.clear();

  FunctionFlow functions(getOperation());
  if (failed(readAnnotations(functions)))
    return signalPassFailure();
  collectMismatches(functions);
  retype();
  if (failed(insertCasts()))
    return signalPassFailure();
  updateOperations();
  removeAnnotations(getOperation(),
                    {AMPDialect::kPrecision, AMPDialect::kResultTypes,
                     AMPDialect::kArgumentTypes, AMPDialect::kOverflow,
                     AMPDialect::kPair});
}
