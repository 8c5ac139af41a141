//===- CastMotion.cpp - casts where they cost least -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CastMotion.h"

#include "amp/Dialect/AMP/FloatTypes.h"
#include "amp/Interfaces/ElementTypes.h"
#include "amp/Support/Quoted.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace amp;

//===----------------------------------------------------------------------===//
// Past operations that move data
//===----------------------------------------------------------------------===//

CastMotion::CastMotion(ModuleOp module, CostOptions options)
    : costs(FunctionFlow(module), std::move(options)) {
  module.walk<WalkOrder::PreOrder>([&](AutocastOpInterface op) {
    if (op->hasAttr(AMPDialect::kTransparent) && op->getNumRegions() == 0)
      transparent.push_back(op);
  });
}

unsigned CastMotion::run() {
  unsigned moved = 0, before;
  do {
    before = moved;
    // Downward along chains, and upward.
    for (AutocastOpInterface op : transparent)
      moved += tryToMove(op);
    for (AutocastOpInterface op : llvm::reverse(transparent))
      moved += tryToMove(op);
  } while (moved != before);
  return moved;
}

/// The data is what the first result is of; nothing if results differ.
CastMotion::Data CastMotion::getData(AutocastOpInterface op) const {
  Data data;
  int variable = op->getNumResults() > 0 ? op.getResultTypeVariable(0) : -1;
  if (variable < 0)
    return data;
  for (OpResult result : op->getResults()) {
    if (op.getResultTypeVariable(result.getResultNumber()) != variable)
      return {};
    data.results.push_back(result);
  }
  for (OpOperand &operand : op->getOpOperands())
    if (op.getOperandTypeVariable(operand.getOperandNumber()) == variable)
      data.operands.push_back(&operand);
  return data;
}

bool CastMotion::tryToMove(AutocastOpInterface op) {
  Data data = getData(op);
  if (data.operands.empty())
    return false;
  // The types that a cast below gives, or one above has read.
  SmallVector<FloatType, 2> types;
  auto add = [&](Type type) {
    FloatType element = getFloatElementType(type);
    if (element && !llvm::is_contained(types, element))
      types.push_back(element);
  };
  for (OpResult result : data.results)
    for (Operation *user : result.getUsers())
      if (isa<CastOp>(user))
        add(user->getResult(0).getType());
  for (OpOperand *operand : data.operands)
    if (auto cast = operand->get().getDefiningOp<CastOp>())
      add(cast.getInput().getType());
  llvm::sort(types, [](FloatType a, FloatType b) {
    return std::make_pair(a.getWidth(), a.getFPMantissaWidth()) <
           std::make_pair(b.getWidth(), b.getFPMantissaWidth());
  });
  return llvm::any_of(types, [&](FloatType type) {
    return getFloatElementType(data.results.front().getType()) != type &&
           move(op, data, type);
  });
}

/// The cast of a value to a type, if there is one that is done before `op`.
static Value findCast(Value value, FloatType wanted, Operation *op) {
  Block *home = value.getParentBlock();
  for (Operation *user : value.getUsers())
    if (auto cast = dyn_cast<CastOp>(user);
        cast && getFloatElementType(cast.getType()) == wanted &&
        cast->getBlock() == home)
      if (Operation *around = home->findAncestorOpInBlock(*op);
          around && cast->isBeforeInBlock(around))
        return cast.getOutput();
  return {};
}

/// The largest constant that is looked at.
static constexpr int64_t kLargestConstant = 4096;

/// The constant rounded to a narrower type, if that changes no value.
static TypedAttr getExact(AutocastOpInterface constant, unsigned result,
                          FloatType wanted) {
  auto source = dyn_cast_if_present<DenseElementsAttr>(
      constant.getAutocastConstantValue(result));
  if (!source || source.getNumElements() > kLargestConstant ||
      !(wanted.isF16() || wanted.isBF16()) ||
      !(source.getElementType().isF32() || source.getElementType().isF64()))
    return {};
  auto isExact = [&](APFloat value) {
    bool losesInfo = false;
    value.convert(wanted.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
    return !losesInfo;
  };
  if (source.isSplat() ? !isExact(source.getSplatValue<APFloat>())
                       : !llvm::all_of(source.getValues<APFloat>(), isExact))
    return {};
  return RoundedAttr::get(source, Overflow::Saturate, wanted);
}

int64_t CastMotion::getCastCost(Value value, FloatType from, FloatType to) {
  Block *block = value.getParentBlock();
  return costs.getMoved(withFloatElementType(value.getType(), from), block) +
         costs.getMoved(withFloatElementType(value.getType(), to), block);
}

/// Says of an operation that was explained why it runs in another format now.
static void explain(Operation *op, int64_t saved) {
  auto reason = op->getAttrOfType<StringAttr>(AMPDialect::kReason);
  if (!reason)
    return;
  op->setAttr(
      AMPDialect::kReason,
      StringAttr::get(op->getContext(),
                      reason.getValue().rsplit("; ").first +
                          llvm::formatv("; with casts moved past it, {0} bytes "
                                        "less are moved",
                                        saved)
                              .str()));
}

/// Lets `op` run in another type, if that moves fewer bytes.
bool CastMotion::move(AutocastOpInterface op, const Data &data,
                      FloatType wanted) {
  FloatType present = getFloatElementType(data.results.front().getType());
  Block *block = op->getBlock();
  int64_t before = 0, after = 0;
  auto addMoved = [&](Value value) {
    before += costs.getMoved(value.getType(), block);
    after +=
        costs.getMoved(withFloatElementType(value.getType(), wanted), block);
  };

  // 1. What it would read: never a new cast.
  SmallVector<Value> sources;
  SmallVector<std::pair<AutocastOpInterface, TypedAttr>> constants;
  bool isExact = true; // the results are those of before, but for their type
  for (OpOperand *operand : data.operands) {
    Value value = operand->get();
    if (!isa<TensorType>(value.getType()))
      return false;
    addMoved(value);
    auto widening = value.getDefiningOp<CastOp>();
    auto constant = value.getDefiningOp<AutocastOpInterface>();
    if (widening && isExactCast(wanted, present) &&
        getFloatElementType(widening.getInput().getType()) == wanted) {
      sources.push_back(widening.getInput());
      if (llvm::all_of(widening->getUsers(),
                       [&](Operation *user) { return user == op; }))
        before += getCastCost(widening.getInput(), wanted, present);
    } else if (Value found = findCast(value, wanted, op)) {
      sources.push_back(found);
      isExact &= isExactCast(present, wanted);
    } else if (constant && constant.isAutocastConstant()) {
      unsigned result = cast<OpResult>(value).getResultNumber();
      TypedAttr exact = getExact(constant, result, wanted);
      if (!exact)
        return false;
      constants.push_back({constant, exact});
      sources.push_back({});
    } else {
      return false;
    }
  }
  // What rounds stays where the policy put it: some of these operations give
  // another result for a number that was rounded before (Sign).
  if (!isExact)
    return false;
  // Of constants alone there is nothing to say.
  if (constants.size() == sources.size())
    return false;

  // 2. Who would read it: what casts it to this type, and others by a cast
  // back, if that gives what they have read before.
  bool canCastBack = isExactCast(wanted, present);
  for (OpResult result : data.results) {
    if (!isa<TensorType>(result.getType()))
      return false;
    addMoved(result);
    bool isCast = false, isRead = false;
    for (Operation *user : result.getUsers()) {
      auto cast = dyn_cast<CastOp>(user);
      bool isWanted = cast && getFloatElementType(cast.getType()) == wanted;
      (isWanted ? isCast : isRead) = true;
    }
    if (isCast)
      before += getCastCost(result, present, wanted);
    if (isRead)
      after += getCastCost(result, wanted, present);
    if (isRead && !canCastBack)
      return false;
  }
  int variable = op.getResultTypeVariable(0);
  if (after >= before || !op.supportsElementType(variable, wanted))
    return false;

  // 3. It is done.
  OpBuilder builder(op);
  auto constant = constants.begin();
  for (auto [operand, source] : llvm::zip_equal(data.operands, sources)) {
    if (source)
      continue;
    auto [definition, exact] = *constant++;
    builder.setInsertionPointAfter(definition);
    source = definition.materializeConstant(
        builder, cast<OpResult>(operand->get()).getResultNumber(), exact);
    if (!source)
      return false;
  }
  for (auto [operand, source] : llvm::zip_equal(data.operands, sources)) {
    auto replaced = operand->get().getDefiningOp<CastOp>();
    operand->set(source);
    if (replaced && replaced->use_empty())
      replaced->erase();
  }
  for (auto [definition, exact] : constants)
    if (definition->use_empty())
      definition->erase();
  for (OpResult result : data.results) {
    Type old = result.getType();
    result.setType(withFloatElementType(old, wanted));
    SmallVector<OpOperand *> readers;
    SmallVector<CastOp> casts;
    for (OpOperand &use : result.getUses()) {
      auto cast = dyn_cast<CastOp>(use.getOwner());
      if (cast && cast.getType() == result.getType())
        casts.push_back(cast);
      else
        readers.push_back(&use);
    }
    for (CastOp cast : casts) {
      cast->replaceAllUsesWith(ValueRange(result));
      cast->erase();
    }
    if (readers.empty())
      continue;
    builder.setInsertionPointAfter(op);
    Value back = CastOp::create(builder, op->getLoc(), old, result);
    for (OpOperand *reader : readers)
      reader->set(back);
  }
  builder.setInsertionPointAfter(op);
  op.updateElementTypes(builder);
  explain(op, before - after);
  return true;
}

//===----------------------------------------------------------------------===//
// Into branches
//===----------------------------------------------------------------------===//

/// True for a region that runs once at most when what is around it does.
static bool isBranch(Region *region) {
  auto branch = dyn_cast<RegionBranchOpInterface>(region->getParentOp());
  return branch && region->hasOneBlock() &&
         !branch.isRepetitiveRegion(region->getRegionNumber());
}

bool amp::moveIntoBranch(CastOp cast) {
  auto constant = cast.getInput().getDefiningOp<AutocastOpInterface>();
  Block *home = cast.getInput().getParentBlock();
  if ((constant && constant.isAutocastConstant()) || cast->getBlock() != home)
    return false;
  // The branches around every user, from the outermost on.
  SmallVector<Block *> common;
  bool isFirst = true;
  for (Operation *user : cast->getUsers()) {
    SmallVector<Block *> around;
    for (Block *block = user->getBlock(); block != home;
         block = block->getParentOp()->getBlock())
      around.push_back(block);
    std::reverse(around.begin(), around.end());
    auto isInside = [](Block *block) { return isBranch(block->getParent()); };
    around.erase(llvm::find_if_not(around, isInside), around.end());
    if (isFirst)
      common = around;
    size_t same = 0;
    while (same < std::min(common.size(), around.size()) &&
           common[same] == around[same])
      ++same;
    common.resize(same);
    isFirst = false;
  }
  if (common.empty())
    return false;
  cast->moveBefore(&common.back()->front());
  return true;
}
