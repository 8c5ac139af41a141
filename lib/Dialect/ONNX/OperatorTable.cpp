//===- OperatorTable.cpp - how an operation maps to an operator -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/ONNX/OperatorTable.h"

#include "amp/Dialect/ONNX/ONNXDialect.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <mutex>

using namespace mlir;

namespace amp::onnx {

namespace {

constexpr OperatorInfo operators[] = {
#include "amp/Dialect/ONNX/ONNXOperatorTable.inc"
};

using Key = std::pair<StringRef, StringRef>; // domain, name

/// By the operation's class, which is the same in every context. Filled before
/// the first operation exists, and only read from then on.
llvm::DenseMap<TypeID, const OperatorInfo *> &byOperation() {
  static auto *map = new llvm::DenseMap<TypeID, const OperatorInfo *>;
  return *map;
}

const llvm::DenseMap<Key, const OperatorInfo *> &byOperator() {
  static const auto *map = [] {
    auto *result = new llvm::DenseMap<Key, const OperatorInfo *>;
    for (const OperatorInfo &info : operators)
      result->insert({{info.domain, info.name}, &info});
    return result;
  }();
  return *map;
}

SmallVector<int32_t, 8> groupSizes(Operation *op, StringRef kinds,
                                   StringRef segments, unsigned total) {
  if (auto sizes = op->getAttrOfType<DenseI32ArrayAttr>(segments))
    if (sizes.size() == int64_t(kinds.size()))
      return SmallVector<int32_t, 8>(sizes.asArrayRef());
  // At most one group is not single: it takes what the others leave.
  SmallVector<int32_t, 8> result(kinds.size(), 1);
  int32_t rest = int32_t(total) - int32_t(kinds.size());
  for (size_t i = 0; i < kinds.size(); ++i)
    if (kinds[i] != 's')
      result[i] = std::max(0, rest + 1);
  return result;
}

/// Positions of the values of groups in a list where an empty single or
/// optional group takes a place; then moved behind the `absent` positions.
SmallVector<unsigned, 8> positions(ArrayRef<int32_t> groups, StringRef kinds,
                                   ArrayRef<int64_t> absent, unsigned total) {
  SmallVector<unsigned, 8> result;
  SmallVector<int64_t, 4> skipped(absent);
  llvm::sort(skipped);
  ArrayRef<int64_t> left = skipped;
  unsigned position = 0;
  auto next = [&] {
    for (; !left.empty() && left.front() <= position; left = left.drop_front())
      position += left.front() == position;
  };
  for (auto [size, kind] : llvm::zip_equal(groups, kinds)) {
    if (size == 0 && kind != 'v') {
      ++position;
      continue;
    }
    for (int32_t i = 0; i < size && result.size() < total; ++i) {
      next();
      result.push_back(position++);
    }
  }
  // Without a group (a malformed operation): where they stand.
  while (result.size() < total) {
    next();
    result.push_back(position++);
  }
  return result;
}

} // namespace

bool OperatorInfo::isUnmerged(int64_t sinceVersion) const {
  if (unmerged.empty())
    return false;
  SmallVector<StringRef, 2> versions;
  StringRef(unmerged).split(versions, ',');
  return llvm::is_contained(versions, llvm::utostr(sinceVersion));
}

SmallVector<StringRef, 2> OperatorInfo::regionNames() const {
  SmallVector<StringRef, 2> names;
  if (!regions.empty())
    StringRef(regions).split(names, ',');
  return names;
}

void registerOperatorTable(MLIRContext *context) {
  static std::once_flag once;
  std::call_once(once, [context] {
    for (const OperatorInfo &info : operators)
      byOperation()[OperationName(info.operationName, context).getTypeID()] =
          &info;
  });
}

const OperatorInfo *lookupOperator(OperationName name) {
  return byOperation().lookup(name.getTypeID());
}

const OperatorInfo *lookupOperator(StringRef domain, StringRef name) {
  return byOperator().lookup({domain, name});
}

SmallVector<int32_t, 8> operandGroupSizes(Operation *op,
                                          const OperatorInfo &info) {
  return groupSizes(op, info.operandKinds, "operandSegmentSizes",
                    op->getNumOperands());
}

SmallVector<int32_t, 8> resultGroupSizes(Operation *op,
                                         const OperatorInfo &info) {
  return groupSizes(op, info.resultKinds, "resultSegmentSizes",
                    op->getNumResults());
}

SmallVector<unsigned, 8> inputPositions(Operation *op) {
  ArrayRef<int64_t> absent;
  if (auto attribute =
          op->getAttrOfType<DenseI64ArrayAttr>(ONNXDialect::kAbsentInputs))
    absent = attribute.asArrayRef();
  if (const OperatorInfo *info = lookupOperator(op->getName()))
    return positions(operandGroupSizes(op, *info), info->operandKinds, absent,
                     op->getNumOperands());
  return positions({int32_t(op->getNumOperands())}, "v", absent,
                   op->getNumOperands());
}

SmallVector<unsigned, 8> outputPositions(Operation *op) {
  // The list of output names tells: an empty name has no result, unless there
  // are as many results as names.
  SmallVector<unsigned, 8> result;
  auto names = op->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs);
  if (names && names.size() != op->getNumResults()) {
    for (auto [position, name] : llvm::enumerate(names))
      if (auto string = dyn_cast<StringAttr>(name);
          string && !string.getValue().empty() &&
          result.size() < op->getNumResults())
        result.push_back(position);
  } else if (const OperatorInfo *info = lookupOperator(op->getName());
             info && !names) {
    return positions(resultGroupSizes(op, *info), info->resultKinds, {},
                     op->getNumResults());
  }
  unsigned next = result.empty() ? 0 : result.back() + 1;
  while (result.size() < op->getNumResults())
    result.push_back(next++);
  return result;
}

unsigned inputPosition(Operation *op, unsigned operand) {
  const OperatorInfo *info = lookupOperator(op->getName());
  unsigned position = 0, first = 0;
  if (info)
    for (auto [size, kind] :
         llvm::zip_equal(operandGroupSizes(op, *info), info->operandKinds)) {
      if (operand < first + size)
        break;
      first += size;
      position += size == 0 && kind != 'v' ? 1 : size;
    }
  position += operand - first;
  if (auto attribute =
          op->getAttrOfType<DenseI64ArrayAttr>(ONNXDialect::kAbsentInputs)) {
    // In ascending order; those before it move it on.
    ArrayRef<int64_t> absent = attribute.asArrayRef();
    size_t before = 0, end = absent.size();
    while (before < end) {
      size_t middle = before + (end - before) / 2;
      if (absent[middle] - int64_t(middle) <= int64_t(position))
        before = middle + 1;
      else
        end = middle;
    }
    position += before;
  }
  return position;
}

unsigned outputPosition(Operation *op, unsigned result) {
  // Where there are as many of them, results are where their names are.
  auto names = op->getAttrOfType<ArrayAttr>(ONNXDialect::kOutputs);
  if (names && names.size() == op->getNumResults())
    return result;
  SmallVector<unsigned, 8> all = outputPositions(op);
  return result < all.size() ? all[result] : result;
}

} // namespace amp::onnx
