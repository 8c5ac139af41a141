//===- Emit.cpp - a kernel's loops ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes go along an inner dimension (rows of softmax):
//
//   for each row of [begin, end):
//     for each stage: along its space, along the lanes' dimension last:
//       whole vectors, four at a time if anything is reduced; then the rest
//
// or along an outer one (elementwise kernels, sums of columns), of which
// [begin, end) may have any part:
//
//   for each row that [begin, end) touches:
//     for each block of whole vectors; then for the rest:
//       for each stage: along its space
//
//===----------------------------------------------------------------------===//

#include "Emit.h"
#include "Body.h"
#include "Memory.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace amp::codegen;

namespace {
/// A place in the dimensions: of one element, or of lanes side by side.
struct Place {
  int64_t lanes = 1;
  /// Which of several vectors it is.
  unsigned vector = 0;
  Active active;
  SmallVector<Value> index; // by dimension; of the first lane
  /// Outside of the stage's loops.
  Place *row = nullptr;
  DenseMap<Value, Value> values;
};

/// A loop that is being made, and what was loaded before it.
struct Scope {
  Operation *loop;
  SmallVector<unsigned> dims;
  DenseMap<std::pair<OpOperand *, unsigned>, Value> loaded;
};

/// A reduced result of a root.
struct Reduction {
  unsigned node, result;
};

class Emitter {
public:
  Emitter(OpBuilder &builder, StringRef name, Kernel &kernel, const Plan &plan,
          const CPU &cpu)
      : builder(builder), kernel(kernel), plan(plan),
        a(builder, builder.getUnknownLoc(), cpu) {
    makeFunction(name);
  }

  void run();

private:
  // Numbers that are the same everywhere.
  Value i64(int64_t value) { return a.integer(a.i(64), value); }
  Value getSizeOf(const Size &size);
  Value getNumber(Value value);
  void makeFunction(StringRef name);

  // Iterations.
  void emitRows(Value begin, Value end);
  void emitColumns(Value begin, Value end);
  Active makeActive(Value left);
  void setOuter(Place &row, Value iteration, ArrayRef<unsigned> dims);
  scf::ForOp openLoop(Value from, Value to, Value step, ValueRange carried,
                      ArrayRef<unsigned> dims);
  void closeLoop(scf::ForOp loop, ValueRange carried);

  // Stages.
  void emitStages(MutableArrayRef<Place> rows);
  void emitStage(MutableArrayRef<Place> rows);
  SmallVector<Value> emitSpace(ArrayRef<unsigned> space,
                               MutableArrayRef<Place> places,
                               SmallVector<Value> carried);
  SmallVector<Value> emitLaneLoop(Place &place, SmallVector<Value> carried);
  void emitRoots(MutableArrayRef<Place> places, SmallVector<Value> &carried);
  Value finishReduction(Reduction reduction, Place &row, ArrayRef<Value> parts);
  Value combine(Reduction reduction, Value accumulator, Value value);
  Value getNeutral(Operation *combiner);

  // Values.
  void evaluate(Node &node, Place &place, ArrayRef<Value> accumulators,
                SmallVectorImpl<Value> &yielded);
  Value getOperand(Node &node, unsigned operand, Place &place);
  Value getResult(OpResult result, Place &place);
  Value load(OpOperand &key, Value base, const Access &access, Type element,
             Place &place);
  Value loadAt(Value base, const Access &access, Type element, Place &place);
  void store(Value value, Value base, const Access &access, Type element,
             Place &place);
  Value getOffset(const Access &access, Place &place);
  Value getKeptAddress(OpResult result, const Kept &kept, Place &place);
  bool lanesAreInner() const {
    return plan.lanes && !kernel.dims[*plan.lanes].outer;
  }
  Type elementOf(Value value) { return getElementTypeOrSelf(value.getType()); }

  OpBuilder &builder;
  Kernel &kernel;
  const Plan &plan;
  Arithmetic a;
  LLVM::LLVMFuncOp function;
  std::optional<Memory> memory;
  SmallVector<Value> data; // arguments, results, scratch
  DenseMap<std::pair<unsigned, unsigned>, Value> axes;
  DenseMap<Value, Value> numbers;
  SmallVector<Scope, 0> scopes;
  // The stage that is being made.
  unsigned stage = 0;
  SmallVector<Reduction> reductions;
  Operation *firstLoop = nullptr;
};
} // namespace

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

void Emitter::makeFunction(StringRef name) {
  MLIRContext *context = builder.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          {pointer, pointer, a.i(64), a.i(64)});
  function = LLVM::LLVMFuncOp::create(builder, a.loc, name, type);
  function.setNoUnwind(true);
}

Value Emitter::getSizeOf(const Size &size) {
  Value result = i64(size.getFactor());
  for (Axis axis : size.getAxes())
    result = a.muli(result, axes.lookup({axis.argument, axis.axis}));
  return size.getDivisor() == 1
             ? result
             : a.make<arith::DivUIOp>(result, i64(size.getDivisor()));
}

/// A number of the function around the generics.
Value Emitter::getNumber(Value value) {
  if (Value known = numbers.lookup(value))
    return known;
  Operation *op = value.getDefiningOp();
  Value result;
  if (std::optional<Size> size = getSize(value);
      size && isa<tensor::DimOp>(op)) {
    result = getSizeOf(*size);
  } else {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(getNumber(operand));
    result = emitScalar(a, op, operands);
  }
  return numbers[value] = result;
}

void Emitter::run() {
  OpBuilder::InsertionGuard guard(builder);
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  memory.emplace(a);
  Type pointer = entry->getArgument(0).getType();
  unsigned count = kernel.func.getNumArguments() + kernel.stores.size() +
                   (plan.scratch != 0);
  for (unsigned index = 0; index < count; ++index) {
    Value address = LLVM::GEPOp::create(builder, a.loc, pointer, pointer,
                                        entry->getArgument(0),
                                        ArrayRef<LLVM::GEPArg>{int32_t(index)});
    data.push_back(LLVM::LoadOp::create(builder, a.loc, pointer, address));
  }
  for (auto [index, axis] : llvm::enumerate(plan.sizes)) {
    Value address = LLVM::GEPOp::create(builder, a.loc, pointer, a.i(64),
                                        entry->getArgument(1),
                                        ArrayRef<LLVM::GEPArg>{int32_t(index)});
    axes[{axis.argument, axis.axis}] =
        LLVM::LoadOp::create(builder, a.loc, a.i(64), address);
  }
  // Numbers that any generic may need, while nothing is a loop.
  for (Node &node : kernel.nodes)
    node.op->walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (operand.getParentBlock() == &kernel.func.getBody().front() &&
            !isa<RankedTensorType>(operand.getType()))
          getNumber(operand);
    });
  if (plan.lanes && kernel.dims[*plan.lanes].outer)
    emitColumns(entry->getArgument(2), entry->getArgument(3));
  else
    emitRows(entry->getArgument(2), entry->getArgument(3));
  LLVM::ReturnOp::create(builder, a.loc, ValueRange());
}

//===----------------------------------------------------------------------===//
// Iterations
//===----------------------------------------------------------------------===//

scf::ForOp Emitter::openLoop(Value from, Value to, Value step,
                             ValueRange carried, ArrayRef<unsigned> dims) {
  auto loop = scf::ForOp::create(builder, a.loc, from, to, step, carried);
  builder.setInsertionPointToStart(loop.getBody());
  Scope &scope = scopes.emplace_back();
  scope.loop = loop;
  scope.dims.assign(dims.begin(), dims.end());
  return loop;
}

void Emitter::closeLoop(scf::ForOp loop, ValueRange carried) {
  if (!carried.empty())
    scf::YieldOp::create(builder, a.loc, carried);
  builder.setInsertionPointAfter(loop);
  scopes.pop_back();
}

/// The indices of an iteration, which counts the dimensions, the last fastest.
void Emitter::setOuter(Place &row, Value iteration, ArrayRef<unsigned> dims) {
  row.index.assign(kernel.dims.size(), Value());
  for (unsigned dim : llvm::reverse(dims)) {
    if (dim == dims.front()) {
      row.index[dim] = iteration;
      break;
    }
    Value size = getSizeOf(kernel.dims[dim].size);
    row.index[dim] = a.make<arith::RemUIOp>(iteration, size);
    iteration = a.make<arith::DivUIOp>(iteration, size);
  }
}

void Emitter::emitRows(Value begin, Value end) {
  SmallVector<unsigned> outer = kernel.getOuter();
  auto loop = openLoop(begin, end, i64(1), {}, outer);
  Place row;
  setOuter(row, loop.getInductionVar(), outer);
  emitStages(row);
  closeLoop(loop, {});
}

/// The lanes of `left` elements, or all.
Active Emitter::makeActive(Value left) {
  Value count = a.make<arith::MinSIOp>(left, i64(kLanes));
  SmallVector<int32_t> numbers(kLanes);
  std::iota(numbers.begin(), numbers.end(), 0);
  Value lane = arith::ConstantOp::create(builder, a.loc,
                                         builder.getI32VectorAttr(numbers));
  return {count, a.cmp(arith::CmpIPredicate::slt, lane,
                       a.splat(a.truncateInteger(count, 32), kLanes))};
}

void Emitter::emitColumns(Value begin, Value end) {
  unsigned lanes = *plan.lanes;
  SmallVector<unsigned> rest = kernel.getOuter();
  llvm::erase(rest, lanes);
  Value from = begin, to = end;
  scf::ForOp rowLoop;
  Place row;
  row.index.assign(kernel.dims.size(), Value());
  if (!rest.empty()) {
    // No iterations at all may come with a size of 0.
    Value size =
        a.make<arith::MaxUIOp>(getSizeOf(kernel.dims[lanes].size), i64(1));
    Value first = a.make<arith::DivUIOp>(begin, size);
    Value last = a.make<arith::DivUIOp>(a.addi(a.addi(end, size), -1), size);
    rowLoop = openLoop(first, last, i64(1), {}, rest);
    Value number = rowLoop.getInductionVar();
    setOuter(row, number, rest);
    Value start = a.muli(number, size);
    from = a.make<arith::MaxSIOp>(a.subi(begin, start), i64(0));
    to = a.make<arith::MinSIOp>(a.subi(end, start), size);
  }
  int64_t width = kLanes * plan.vectors;
  Value count = a.subi(to, from);
  Value whole =
      a.addi(from, a.subi(count, a.make<arith::RemUIOp>(count, i64(width))));
  auto makePlace = [&](unsigned vector, Value index) {
    Place place;
    place.lanes = kLanes;
    place.vector = vector;
    place.index = row.index;
    place.index[lanes] = index;
    return place;
  };
  auto blocks = openLoop(from, whole, i64(width), {}, lanes);
  SmallVector<Place, 0> places;
  for (int64_t vector = 0; vector < plan.vectors; ++vector)
    places.push_back(
        makePlace(vector, a.addi(blocks.getInductionVar(), vector * kLanes)));
  emitStages(places);
  closeLoop(blocks, {});

  auto tail = openLoop(whole, to, i64(kLanes), {}, lanes);
  Place place = makePlace(0, tail.getInductionVar());
  place.active = makeActive(a.subi(to, tail.getInductionVar()));
  emitStages(place);
  closeLoop(tail, {});
  if (rowLoop)
    closeLoop(rowLoop, {});
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

void Emitter::emitStages(MutableArrayRef<Place> rows) {
  for (Place &row : rows)
    row.row = &row;
  for (stage = 0; stage < plan.stages.size(); ++stage)
    emitStage(rows);
}

void Emitter::emitStage(MutableArrayRef<Place> rows) {
  const Stage &current = plan.stages[stage];
  reductions.clear();
  for (unsigned root : current.roots)
    for (auto [result, reduced] : llvm::enumerate(kernel.nodes[root].reduced))
      if (reduced)
        reductions.push_back({root, unsigned(result)});
  // Accumulators: for each reduction one for each vector.
  bool alongLanes =
      lanesAreInner() && llvm::is_contained(current.space, *plan.lanes);
  unsigned vectors = alongLanes ? kVectors : rows.size();
  SmallVector<Value> carried;
  for (Reduction reduction : reductions) {
    Node &node = kernel.nodes[reduction.node];
    Operation *combiner = node.combiners[reduction.result];
    for (unsigned vector = 0; vector < vectors; ++vector) {
      int64_t lanes = alongLanes ? kLanes : rows[vector].lanes;
      Value start =
          combiner
              ? getNeutral(combiner)
              : getOperand(node, node.op.getNumDpsInputs() + reduction.result,
                           rows[vector]);
      carried.push_back(a.splat(start, lanes));
    }
  }

  SmallVector<unsigned> space(current.space);
  if (alongLanes)
    llvm::erase(space, *plan.lanes);
  firstLoop = nullptr;
  SmallVector<Value> parts;
  if (space.empty() && !alongLanes) {
    parts = carried;
    emitRoots(rows, parts);
  } else {
    SmallVector<Place, 0> places;
    for (Place &row : rows) {
      Place place = row;
      place.values.clear();
      place.row = &row;
      places.push_back(std::move(place));
    }
    parts = emitSpace(space, places, carried);
  }
  firstLoop = nullptr;
  for (auto [index, reduction] : llvm::enumerate(reductions)) {
    Node &node = kernel.nodes[reduction.node];
    ArrayRef<Value> own = ArrayRef(parts).slice(index * vectors, vectors);
    for (auto [vector, row] : llvm::enumerate(rows))
      row.values[node.op.getResult(reduction.result)] = finishReduction(
          reduction, row, alongLanes ? own : own.slice(vector, 1));
  }
  // Reduced results are stored when they are whole.
  for (const Store &result : kernel.stores) {
    Node &node = kernel.getNode(result.value);
    if (!node.reduced[result.value.getResultNumber()] ||
        plan.storedIn.lookup(result.value) != stage)
      continue;
    Value base =
        data[kernel.func.getNumArguments() + (&result - &kernel.stores[0])];
    for (Place &row : rows)
      store(row.values.lookup(result.value), base, result.access,
            elementOf(result.value), row);
  }
}

SmallVector<Value> Emitter::emitSpace(ArrayRef<unsigned> space,
                                      MutableArrayRef<Place> places,
                                      SmallVector<Value> carried) {
  if (space.empty()) {
    if (lanesAreInner() &&
        llvm::is_contained(plan.stages[stage].space, *plan.lanes))
      return emitLaneLoop(places[0], carried);
    for (Place &place : places)
      place.values.clear();
    emitRoots(places, carried);
    return carried;
  }
  unsigned dim = space.front();
  auto loop =
      openLoop(i64(0), getSizeOf(kernel.dims[dim].size), i64(1), carried, dim);
  if (!firstLoop)
    firstLoop = loop;
  for (Place &place : places)
    place.index[dim] = loop.getInductionVar();
  SmallVector<Value> inner(loop.getRegionIterArgs());
  inner = emitSpace(space.drop_front(), places, inner);
  closeLoop(loop, inner);
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value> Emitter::emitLaneLoop(Place &place,
                                         SmallVector<Value> carried) {
  unsigned dim = *plan.lanes;
  const Size &size = kernel.dims[dim].size;
  Value count = getSizeOf(size);
  int64_t vectors = reductions.empty() ? 1 : kVectors;
  int64_t width = vectors * kLanes;
  auto makePlace = [&](Value index) {
    Place result = place;
    result.values.clear();
    result.lanes = kLanes;
    result.index[dim] = index;
    return result;
  };
  Value whole = size.isStatic()
                    ? i64(size.getFactor() / width * width)
                    : a.subi(count, a.make<arith::RemUIOp>(count, i64(width)));
  if (!size.isStatic() || size.getFactor() >= width) {
    auto loop = openLoop(i64(0), whole, i64(width), carried, dim);
    if (!firstLoop)
      firstLoop = loop;
    SmallVector<Value> inner(loop.getRegionIterArgs());
    SmallVector<Place, 0> places;
    for (int64_t vector = 0; vector < vectors; ++vector)
      places.push_back(
          makePlace(a.addi(loop.getInductionVar(), vector * kLanes)));
    emitRoots(places, inner);
    closeLoop(loop, inner);
    carried.assign(loop.getResults().begin(), loop.getResults().end());
  }
  if (size.isStatic() && size.getFactor() % width == 0)
    return carried;
  // Vectors that are left go to the first accumulators.
  SmallVector<Value> first;
  for (unsigned index = 0; index < reductions.size(); ++index)
    first.push_back(carried[index * kVectors]);
  auto loop = openLoop(whole, count, i64(kLanes), first, dim);
  if (!firstLoop)
    firstLoop = loop;
  SmallVector<Value> inner(loop.getRegionIterArgs());
  Place rest = makePlace(loop.getInductionVar());
  if (!size.isStatic() || size.getFactor() % kLanes != 0)
    rest.active = makeActive(a.subi(count, loop.getInductionVar()));
  emitRoots(rest, inner);
  closeLoop(loop, inner);
  for (unsigned index = 0; index < reductions.size(); ++index)
    carried[index * kVectors] = loop.getResult(index);
  return carried;
}

/// What a stage does at places side by side. `carried` has for each reduction
/// the accumulators of the places.
void Emitter::emitRoots(MutableArrayRef<Place> places,
                        SmallVector<Value> &carried) {
  for (size_t vector = 0; vector < places.size(); ++vector) {
    Place &place = places[vector];
    auto accumulator = [&](unsigned reduction) -> Value & {
      return carried[reduction * places.size() + vector];
    };
    for (unsigned root : plan.stages[stage].roots) {
      Node &node = kernel.nodes[root];
      SmallVector<Value> accumulators(node.reduced.size()), yielded;
      for (auto [index, reduction] : llvm::enumerate(reductions))
        if (reduction.node == root)
          accumulators[reduction.result] = accumulator(index);
      evaluate(node, place, accumulators, yielded);
      for (auto [index, reduction] : llvm::enumerate(reductions)) {
        if (reduction.node != root)
          continue;
        Value value = yielded[reduction.result], &old = accumulator(index);
        value = a.splat(value, place.lanes);
        if (node.combiners[reduction.result])
          value = combine(reduction, old, value);
        bool alongLanes = lanesAreInner() && place.lanes > 1;
        old = alongLanes && place.active
                  ? a.select(place.active.mask, value, old)
                  : value;
      }
      for (auto [number, result] : llvm::enumerate(node.op->getResults())) {
        if (node.reduced[number])
          continue;
        Type element = elementOf(result);
        if (auto it = plan.kept.find(result);
            it != plan.kept.end() && it->second.stage == stage) {
          Value address = getKeptAddress(result, it->second, place);
          Value value = a.splat(yielded[number], place.lanes);
          place.lanes == 1 ? memory->storeNumber(value, address, element)
                           : memory->storeLanes(value, address, element, {});
        }
        for (auto [index, target] : llvm::enumerate(kernel.stores))
          if (target.value == result && plan.storedIn.lookup(result) == stage)
            store(yielded[number], data[kernel.func.getNumArguments() + index],
                  target.access, element, place);
      }
    }
  }
}

Value Emitter::combine(Reduction reduction, Value accumulator, Value value) {
  Node &node = kernel.nodes[reduction.node];
  Operation *combiner = node.combiners[reduction.result];
  BlockArgument out = node.op.getMatchingBlockArgument(
      node.op.getDpsInitOperand(reduction.result));
  bool isFirst = combiner->getOperand(0) == out;
  Value operands[] = {isFirst ? accumulator : value,
                      isFirst ? value : accumulator};
  return emitScalar(a, combiner, operands);
}

/// What changes no value that it is combined with.
Value Emitter::getNeutral(Operation *combiner) {
  Type element = combiner->getResult(0).getType();
  Type type = Arithmetic::inRegister(element);
  if (auto format = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &semantics = format.getFloatSemantics();
    APFloat number = APFloat::getZero(semantics, /*Negative=*/true);
    if (isa<arith::MulFOp>(combiner))
      number = APFloat(semantics, 1);
    else if (isa<arith::MaximumFOp>(combiner))
      number = APFloat::getInf(semantics, /*Negative=*/true);
    else if (isa<arith::MinimumFOp>(combiner))
      number = APFloat::getInf(semantics);
    else if (isa<arith::MaxNumFOp, arith::MinNumFOp>(combiner))
      number = APFloat::getNaN(semantics);
    if (type.isInteger())
      return a.constant(type,
                        builder.getIntegerAttr(type, number.bitcastToAPInt()));
    return a.constant(type, builder.getFloatAttr(type, number));
  }
  unsigned width = type.getIntOrFloatBitWidth();
  APInt number = APInt::getZero(width);
  if (isa<arith::MulIOp>(combiner))
    number = APInt(width, 1);
  else if (isa<arith::AndIOp, arith::MinUIOp>(combiner))
    number = APInt::getAllOnes(width);
  else if (isa<arith::MaxSIOp>(combiner))
    number = APInt::getSignedMinValue(width);
  else if (isa<arith::MinSIOp>(combiner))
    number = APInt::getSignedMaxValue(width);
  return a.constant(type, builder.getIntegerAttr(type, number));
}

/// Pairs of accumulators, then of lanes; then what the reduction starts with.
Value Emitter::finishReduction(Reduction reduction, Place &row,
                               ArrayRef<Value> parts) {
  Node &node = kernel.nodes[reduction.node];
  if (!node.combiners[reduction.result])
    return parts.front();
  SmallVector<Value> values(parts);
  while (values.size() > 1) {
    SmallVector<Value> halves;
    for (size_t index = 0; index < values.size(); index += 2)
      halves.push_back(combine(reduction, values[index], values[index + 1]));
    values = halves;
  }
  Value total = values.front();
  for (int64_t lanes = Arithmetic::lanesOf(total); lanesAreInner() && lanes > 1;
       lanes /= 2)
    total = lanes == 2
                ? combine(reduction, a.extract(total, 0), a.extract(total, 1))
                : combine(reduction, a.slice(total, 0, lanes / 2),
                          a.slice(total, lanes / 2, lanes / 2));
  Value start =
      getOperand(node, node.op.getNumDpsInputs() + reduction.result, row);
  return combine(reduction, start, total);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value Emitter::getOffset(const Access &access, Place &place) {
  Value offset = i64(0);
  for (const Access::Term &term : access.terms)
    offset =
        a.addi(offset, a.muli(place.index[term.dim], getSizeOf(term.stride)));
  return offset;
}

Value Emitter::load(OpOperand &key, Value base, const Access &access,
                    Type element, Place &place) {
  const Size *stride =
      place.lanes > 1 ? access.getStride(*plan.lanes) : nullptr;
  // Before the loops that do not matter.
  OpBuilder::InsertionGuard guard(builder);
  DenseMap<std::pair<OpOperand *, unsigned>, Value> *loaded = nullptr;
  for (Scope &scope : llvm::reverse(scopes)) {
    if (llvm::any_of(scope.dims,
                     [&](unsigned dim) { return access.getStride(dim); }))
      break;
    builder.setInsertionPoint(scope.loop);
    loaded = &scope.loaded;
  }
  std::pair<OpOperand *, unsigned> name{&key, stride ? place.vector : 0};
  if (loaded)
    if (Value known = loaded->lookup(name))
      return known;
  Value value = loadAt(base, access, element, place);
  if (loaded)
    (*loaded)[name] = value;
  return value;
}

Value Emitter::loadAt(Value base, const Access &access, Type element,
                      Place &place) {
  const Size *stride =
      place.lanes > 1 ? access.getStride(*plan.lanes) : nullptr;
  Value address = memory->address(base, element, getOffset(access, place));
  if (!stride)
    return memory->loadNumber(address, element);
  if (stride->isOne())
    return memory->loadLanes(address, element, place.lanes, place.active);
  return memory->gather(address, element, getSizeOf(*stride), place.lanes,
                        place.active);
}

void Emitter::store(Value value, Value base, const Access &access, Type element,
                    Place &place) {
  Value address = memory->address(base, element, getOffset(access, place));
  const Size *stride =
      place.lanes > 1 ? access.getStride(*plan.lanes) : nullptr;
  if (!stride) {
    memory->storeNumber(value, address, element);
    return;
  }
  value = a.splat(value, place.lanes);
  if (stride->isOne())
    memory->storeLanes(value, address, element, place.active);
  else
    memory->scatter(value, address, element, getSizeOf(*stride), place.active);
}

/// Scratch memory is as the space of the value, lanes last; of an outer
/// dimension's lanes there is one block.
Value Emitter::getKeptAddress(OpResult result, const Kept &kept, Place &place) {
  SmallVector<unsigned> dims = kernel.getExtent(result);
  if (lanesAreInner() && llvm::is_contained(dims, *plan.lanes)) {
    llvm::erase(dims, *plan.lanes);
    dims.push_back(*plan.lanes);
  }
  Value index = i64(0);
  for (unsigned dim : dims)
    index = a.addi(a.muli(index, getSizeOf(kernel.dims[dim].size)),
                   place.index[dim]);
  if (plan.lanes && !lanesAreInner())
    index = a.addi(a.muli(index, i64(kLanes * plan.vectors)),
                   i64(place.vector * kLanes));
  Value base = LLVM::GEPOp::create(
      builder, a.loc, data.back().getType(), a.i(8), data.back(),
      ArrayRef<LLVM::GEPArg>{int32_t(kept.offset)});
  return memory->address(base, elementOf(result), index);
}

Value Emitter::getResult(OpResult result, Place &place) {
  if (Value known = place.values.lookup(result))
    return known;
  Node &node = kernel.getNode(result);
  if (place.row != &place) {
    if (Value known = place.row->values.lookup(result))
      return known;
    if (node.space.empty()) {
      // The same throughout the stage.
      OpBuilder::InsertionGuard guard(builder);
      if (firstLoop)
        builder.setInsertionPoint(firstLoop);
      auto inner = std::move(scopes);
      scopes.clear();
      for (Scope &scope : inner) {
        if (scope.loop == firstLoop)
          break;
        scopes.push_back(scope);
      }
      Value value = getResult(result, *place.row);
      scopes = std::move(inner);
      return value;
    }
  }
  if (auto it = plan.kept.find(result);
      it != plan.kept.end() && it->second.stage < stage) {
    Value address = getKeptAddress(result, it->second, place);
    Type element = elementOf(result);
    bool isNumber =
        place.lanes == 1 ||
        (lanesAreInner() && !llvm::is_contained(node.space, *plan.lanes));
    return place.values[result] =
               isNumber ? memory->loadNumber(address, element)
                        : memory->loadLanes(address, element, place.lanes, {});
  }
  if (auto it = plan.storedIn.find(result);
      it != plan.storedIn.end() && it->second < stage)
    for (auto [index, target] : llvm::enumerate(kernel.stores))
      if (target.value == result)
        return place.values[result] =
                   loadAt(data[kernel.func.getNumArguments() + index],
                          target.access, elementOf(result), place);
  SmallVector<Value> yielded;
  evaluate(node, place, {}, yielded);
  return place.values.lookup(result);
}

Value Emitter::getOperand(Node &node, unsigned number, Place &place) {
  OpOperand &operand = node.op->getOpOperand(number);
  Source &source = node.sources[number];
  Type element = elementOf(operand.get());
  switch (source.kind) {
  case Source::Argument:
    return load(operand, data[source.argument], source.access, element, place);
  case Source::Node:
    return getResult(source.result, place);
  case Source::Splat: {
    Type type = Arithmetic::inRegister(element);
    if (auto number = dyn_cast<FloatAttr>(source.splat);
        number && type.isInteger())
      return a.constant(type, builder.getIntegerAttr(
                                  type, number.getValue().bitcastToAPInt()));
    if (auto number = dyn_cast<IntegerAttr>(source.splat))
      return a.constant(type, builder.getIntegerAttr(type, number.getValue()));
    return a.constant(type, source.splat);
  }
  case Source::Undefined:
    break;
  }
  return isa<RankedTensorType>(operand.get().getType())
             ? Value()
             : getNumber(operand.get());
}

/// What a body yields at a place: of a reduction that lanes share, what is to
/// be combined; of another, the next accumulator.
void Emitter::evaluate(Node &node, Place &place, ArrayRef<Value> accumulators,
                       SmallVectorImpl<Value> &yielded) {
  Operation *yield = node.op.getBody()->getTerminator();
  if (!node.isReduction() && place.values.contains(node.op.getResult(0))) {
    for (Value result : node.op.getResults())
      yielded.push_back(place.values.lookup(result));
    return;
  }
  DenseMap<Value, Value> values;
  unsigned inputs = node.op.getNumDpsInputs();
  for (OpOperand &operand : node.op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    BlockArgument argument = node.op.getMatchingBlockArgument(&operand);
    if (argument.use_empty())
      continue;
    if (number >= inputs && node.reduced[number - inputs]) {
      if (!node.combiners[number - inputs])
        values[argument] = accumulators[number - inputs];
      continue;
    }
    values[argument] = getOperand(node, number, place);
  }
  auto lookup = [&](Value value) {
    Value known = values.lookup(value);
    return known ? known : getNumber(value);
  };
  for (Operation &op : node.op.getBody()->without_terminator()) {
    if (llvm::is_contained(node.combiners, &op))
      continue;
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      int dim = node.dims[index.getDim()];
      Value value = dim < 0 ? i64(0) : place.index[dim];
      if (dim >= 0 && place.lanes > 1 && unsigned(dim) == *plan.lanes) {
        SmallVector<int64_t> numbers(place.lanes);
        std::iota(numbers.begin(), numbers.end(), 0);
        Value lane = arith::ConstantOp::create(
            builder, a.loc, builder.getI64VectorAttr(numbers));
        value = a.addi(a.splat(value, place.lanes), lane);
      }
      values[index] = value;
      continue;
    }
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(lookup(operand));
    values[op.getResult(0)] = emitScalar(a, &op, operands);
  }
  for (auto [number, value] : llvm::enumerate(yield->getOperands())) {
    Value result;
    if (Operation *combiner = node.combiners[number]) {
      BlockArgument out =
          node.op.getMatchingBlockArgument(node.op.getDpsInitOperand(number));
      result = lookup(combiner->getOperand(combiner->getOperand(0) == out));
    } else {
      result = lookup(value);
    }
    yielded.push_back(result);
    if (!node.reduced[number])
      place.values[node.op.getResult(number)] = result;
  }
}

void amp::codegen::emitKernel(OpBuilder &builder, StringRef name,
                              Kernel &kernel, const Plan &plan,
                              const CPU &cpu) {
  Emitter(builder, name, kernel, plan, cpu).run();
}
