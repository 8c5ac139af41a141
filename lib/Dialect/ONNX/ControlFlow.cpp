//===- ControlFlow.cpp - how values flow through If, Loop and Scan --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What analyses ask of the operators with subgraphs. Operands that are not
// forwarded (trip counts, conditions, scanned inputs) and results that are not
// (scan outputs) are no part of the flow.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/ONNX/ONNXOps.h"

using namespace mlir;

namespace amp::onnx {

namespace {

/// Shapes of carried values may change from one iteration to the next, and
/// branches may differ in them; the element types may not.
bool agree(Type a, Type b) {
  if (isa<UnknownType>(a) || isa<UnknownType>(b))
    return true;
  // A Loop may start from nothing: from an optional.
  if (auto optional = dyn_cast<OptionalType>(a))
    return agree(optional.getElementType(), b);
  if (auto optional = dyn_cast<OptionalType>(b))
    return agree(a, optional.getElementType());
  auto shapedA = dyn_cast<TensorType>(a), shapedB = dyn_cast<TensorType>(b);
  if (shapedA && shapedB)
    return shapedA.getElementType() == shapedB.getElementType();
  return a.getTypeID() == b.getTypeID();
}

/// A part of a list, cut where the list ends: counts come from attributes and
/// may be wrong in a malformed operation.
template <typename Range> Range slice(Range range, size_t first, size_t count) {
  first = std::min<size_t>(first, range.size());
  count = std::min<size_t>(count, range.size() - first);
  return range.drop_front(first).take_front(count);
}

Block::BlockArgListType arguments(Region &region) {
  return region.empty() ? Block::BlockArgListType() : region.getArguments();
}

/// Values that a Loop carries around its body.
size_t carriedValues(LoopOp op) { return op.getVInitial().size(); }

/// State variables of a Scan.
size_t stateVariables(ScanOp op) {
  auto scanInputs = op->getAttrOfType<IntegerAttr>("num_scan_inputs");
  int64_t inputs = op->getNumOperands();
  int64_t scanned = scanInputs ? scanInputs.getInt() : inputs;
  return scanned < 0 || scanned > inputs ? 0 : size_t(inputs - scanned);
}

} // namespace

//===----------------------------------------------------------------------===//
// If
//===----------------------------------------------------------------------===//

bool IfOp::areTypesCompatible(Type lhs, Type rhs) { return agree(lhs, rhs); }

OperandRange IfOp::getEntrySuccessorOperands(RegionSuccessor) {
  return slice<OperandRange>((*this)->getOperands(), (*this)->getNumOperands(),
                             0);
}

void IfOp::getSuccessorRegions(RegionBranchPoint point,
                               SmallVectorImpl<RegionSuccessor> &regions) {
  if (!point.isParent()) {
    regions.push_back(RegionSuccessor(getOperation(), getResults()));
    return;
  }
  for (Region &region : getOperation()->getRegions())
    if (!region.empty())
      regions.push_back(RegionSuccessor(&region));
}

//===----------------------------------------------------------------------===//
// Loop: (M, cond, carried…), body (i, cond, carried…) -> (cond, carried…,
// scanned…)
//===----------------------------------------------------------------------===//

bool LoopOp::areTypesCompatible(Type lhs, Type rhs) { return agree(lhs, rhs); }

OperandRange LoopOp::getEntrySuccessorOperands(RegionSuccessor) {
  return getVInitial();
}

void LoopOp::getSuccessorRegions(RegionBranchPoint point,
                                 SmallVectorImpl<RegionSuccessor> &regions) {
  Region &body = getBody();
  if (!body.empty())
    regions.push_back(RegionSuccessor(
        &body, slice(arguments(body), 2, carriedValues(*this))));
  regions.push_back(
      RegionSuccessor(getOperation(), slice(getOperation()->getResults(), 0,
                                            carriedValues(*this))));
}

//===----------------------------------------------------------------------===//
// Scan: (state…, scanned…), body (state…, slice…) -> (state…, slice…)
//===----------------------------------------------------------------------===//

bool ScanOp::areTypesCompatible(Type lhs, Type rhs) { return agree(lhs, rhs); }

OperandRange ScanOp::getEntrySuccessorOperands(RegionSuccessor) {
  return slice<OperandRange>((*this)->getOperands(), 0, stateVariables(*this));
}

void ScanOp::getSuccessorRegions(RegionBranchPoint point,
                                 SmallVectorImpl<RegionSuccessor> &regions) {
  Region &body = getBody();
  if (!body.empty())
    regions.push_back(RegionSuccessor(
        &body, slice(arguments(body), 0, stateVariables(*this))));
  regions.push_back(
      RegionSuccessor(getOperation(), slice(getOperation()->getResults(), 0,
                                            stateVariables(*this))));
}

//===----------------------------------------------------------------------===//
// Yield
//===----------------------------------------------------------------------===//

MutableOperandRange YieldOp::getMutableSuccessorOperands(RegionSuccessor) {
  Operation *parent = (*this)->getParentOp();
  size_t first = 0, count = getValues().size();
  if (auto loop = dyn_cast_or_null<LoopOp>(parent)) {
    first = std::min<size_t>(1, count);
    count = std::min(carriedValues(loop), count - first);
  } else if (auto scan = dyn_cast_or_null<ScanOp>(parent)) {
    count = std::min(stateVariables(scan), count);
  }
  return MutableOperandRange(*this, first, count);
}

} // namespace amp::onnx
