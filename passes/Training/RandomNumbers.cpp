//===- RandomNumbers.cpp - random numbers that repeat ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Words of 32 bits are held in uint64, where their products are whole.
//
//===----------------------------------------------------------------------===//

#include "RandomNumbers.h"

#include "NamedValues.h"
#include "TrainingState.h"

#include "amp/Support/Quoted.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace amp {

using onnx::Expr;
using onnx::NodeBuilder;

namespace {

constexpr uint64_t kMultipliers[] = {0xD2511F53, 0xCD9E8D57};
/// What keys go up by from round to round.
constexpr uint64_t kWeyl[] = {0x9E3779B9, 0xBB67AE85};
constexpr uint64_t kWordMask = 0xFFFFFFFF;

constexpr int64_t kDrawsPerBlock = 8;
constexpr double kDrawRange = 0x1p16;

Type wordType(NodeBuilder &b) {
  return IntegerType::get(b.getContext(), 64, IntegerType::Unsigned);
}
Expr word(NodeBuilder &b, uint64_t value) {
  return b.constant(DenseElementsAttr::get(
      RankedTensorType::get({}, wordType(b)), APInt(64, value)));
}
Expr exclusiveOr(Expr a, Expr b) {
  return a.getBuilder().apply("BitwiseXor", {a, b});
}
Expr low(Expr value, uint64_t mask = kWordMask) {
  NodeBuilder &b = value.getBuilder();
  return b.apply("BitwiseAnd", {value, word(b, mask)});
}
Expr shiftRight(Expr value, uint64_t bits) {
  NodeBuilder &b = value.getBuilder();
  return b.apply("BitShift", {value, word(b, bits)},
                 b.attr("direction", "RIGHT"));
}
Expr high(Expr value) { return shiftRight(value, 32); }

/// The first `count` elements of draws of all blocks, in their order.
Expr concatDraws(NodeBuilder &b, ArrayRef<Value> parts, Expr count) {
  return b.apply("Slice", {b.concat(parts, 0), b.ints(0), count});
}

/// A number of blocks with at least so many draws.
int64_t countBlocks(int64_t draws) {
  return llvm::divideCeil(draws, kDrawsPerBlock);
}
Expr countBlocks(Expr draws) {
  NodeBuilder &b = draws.getBuilder();
  return b.apply(
      "Div", {draws + double(kDrawsPerBlock - 1), b.integer(kDrawsPerBlock)});
}

} // namespace

FailureOr<RandomNumbers> RandomNumbers::get(func::FuncOp main, uint64_t seed) {
  MLIRContext *context = main.getContext();
  auto scalar = RankedTensorType::get(
      {}, IntegerType::get(context, 64, IntegerType::Unsigned));
  NamedValues named(main);
  bool isNew = !named.lookup(kSeed) && !named.lookup(kStep);
  std::array<Value, 2> state;
  for (auto [value, name, initial] :
       {std::tuple(&state[0], kSeed, seed), {&state[1], kStep, uint64_t(0)}}) {
    *value = isNew
                 ? addInput(main, name,
                            DenseElementsAttr::get(scalar, APInt(64, initial)))
                 : named.lookup(name);
    if (!isa_and_present<BlockArgument>(*value) || value->getType() != scalar)
      return main.emitError() << "expects an input " << quoted(name)
                              << " that is a scalar of uint64, or no value of "
                                 "this name";
  }

  OpBuilder builder(main.getContext());
  Block &block = main.getBody().front();
  if (isNew) {
    builder.setInsertionPoint(block.getTerminator());
    NodeBuilder b(builder, main);
    addOutput(main, nextName(kSeed), b.apply("Identity", {state[0]}));
    addOutput(main, nextName(kStep), b.expr(state[1]) + 1.0);
    addStatePairs(
        main->getParentOfType<ModuleOp>(),
        {{kSeed.str(), nextName(kSeed)}, {kStep.str(), nextName(kStep)}});
  }
  builder.setInsertionPointToStart(&block);
  NodeBuilder b(builder, main);
  RandomNumbers numbers;
  numbers.step = {low(b.expr(state[1])), high(b.expr(state[1]))};
  std::array<Expr, 2> key = {low(b.expr(state[0])), high(b.expr(state[0]))};
  for (unsigned i : {0, 1}) {
    SmallVector<APInt> multiples;
    for (uint64_t round = 0; round < kRounds; ++round)
      multiples.emplace_back(64, round * kWeyl[i]);
    auto list = RankedTensorType::get({kRounds}, wordType(b));
    Expr sums =
        low(key[i] + b.constant(DenseElementsAttr::get(list, multiples)));
    Operation *split = b.node("Split", {sums},
                              b.attr("num_outputs", int64_t(kRounds)), kRounds);
    for (unsigned round = 0; round < kRounds; ++round)
      numbers.keys[round][i] = split->getResult(round);
  }
  return numbers;
}

/// `blocks` is a scalar of int64.
RandomNumbers::Words RandomNumbers::drawBlocks(NodeBuilder &b, uint32_t stream,
                                               Expr blocks) const {
  Expr block = b.cast(b.apply("Range", {b.integer(0), blocks, b.integer(1)}),
                      wordType(b));
  Words c = {block, word(b, stream), b.expr(step[0]), b.expr(step[1])};
  for (const std::array<Value, 2> &key : keys) {
    Expr first = c[0] * word(b, kMultipliers[0]);
    Expr second = c[2] * word(b, kMultipliers[1]);
    c = {exclusiveOr(high(second), exclusiveOr(c[1], b.expr(key[0]))),
         low(second),
         exclusiveOr(high(first), exclusiveOr(c[3], b.expr(key[1]))),
         low(first)};
  }
  return c;
}

Expr RandomNumbers::drawMask(NodeBuilder &b, uint32_t stream, Value like,
                             double probability) const {
  auto type = dyn_cast<RankedTensorType>(like.getType());
  bool isStatic = type && type.hasStaticShape();
  Expr count =
      isStatic ? b.integer(type.getNumElements()) : b.apply("Size", {like});
  Words words =
      drawBlocks(b, stream,
                 isStatic ? b.integer(countBlocks(type.getNumElements()))
                          : countBlocks(count));
  // Draws are below the bound as often as is wanted. Words are compared, the
  // upper halves with what is below them.
  auto bound = static_cast<uint64_t>(std::llround(probability * kDrawRange));
  SmallVector<Value> parts;
  for (Expr whole : words)
    parts.push_back(whole < word(b, bound << 16));
  for (Expr whole : words)
    parts.push_back(low(whole, 0xFFFF) < word(b, bound));
  Expr mask = concatDraws(b, parts,
                          isStatic ? b.ints(type.getNumElements())
                                   : b.reshape(count, {1}));
  mask = b.reshapeLike(mask, like);
  // With the names of dimensions, which are lost where shapes are computed.
  if (type)
    Value(mask).setType(RankedTensorType::get(
        type.getShape(), mask.getElementType(), type.getEncoding()));
  return mask;
}

Expr RandomNumbers::drawFractions(NodeBuilder &b, uint32_t stream,
                                  int64_t count) const {
  Words words = drawBlocks(b, stream, b.integer(countBlocks(count)));
  SmallVector<Value> parts;
  Type f32 = b.getBuilder().getF32Type();
  for (Expr whole : words)
    parts.push_back(b.cast(shiftRight(whole, 16), f32));
  for (Expr whole : words)
    parts.push_back(b.cast(low(whole, 0xFFFF), f32));
  return concatDraws(b, parts, b.ints(count)) * (1 / kDrawRange);
}

} // namespace amp
