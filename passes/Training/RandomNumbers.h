//===- RandomNumbers.h - random numbers that repeat -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ONNX's own generators give other numbers in every runtime. Here numbers are
// a function of a seed and the number of the step, which are state of the step
// (`amp.seed`, `amp.random_step`), in integer arithmetic: runs repeat exactly,
// in any runtime. The function is Philox4x32-10 (Salmon, Moraes, Dror and Shaw
// 2011, "Parallel random numbers: as easy as 1, 2, 3"), with
//
//   key = {seed mod 2^32, seed / 2^32}
//   counter = {block, stream, step mod 2^32, step / 2^32}
//
// A block has eight draws of 16 bits, the upper and the lower halves of its
// four words: draw `k` of `n` blocks is, for k < 4n, the upper half of word
// k / n of block k mod n, and behind these come the lower halves alike.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_RANDOMNUMBERS_H
#define AMP_PASSES_TRAINING_RANDOMNUMBERS_H

#include "amp/Dialect/ONNX/NodeBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <array>

namespace amp {

/// Draws in a main graph and its subgraphs. Equal streams give equal draws.
class RandomNumbers {
public:
  static constexpr llvm::StringLiteral kSeed = "amp.seed";
  static constexpr llvm::StringLiteral kStep = "amp.random_step";

  /// Reads the state of the graph; adds it, from `seed` and step 0 on, if there
  /// is none. Fails if an input of its name is something else.
  static llvm::FailureOr<RandomNumbers> get(mlir::func::FuncOp main,
                                            uint64_t seed);

  /// Bools of the shape of `like`, true with this probability, rounded to a
  /// multiple of 2^-16.
  onnx::Expr drawMask(onnx::NodeBuilder &b, uint32_t stream, mlir::Value like,
                      double probability) const;
  /// `count` multiples of 2^-16 in [0, 1), a list of float32.
  onnx::Expr drawFractions(onnx::NodeBuilder &b, uint32_t stream,
                           int64_t count) const;

private:
  static constexpr unsigned kRounds = 10;
  using Words = std::array<onnx::Expr, 4>;

  RandomNumbers() = default;
  Words drawBlocks(onnx::NodeBuilder &b, uint32_t stream,
                   onnx::Expr blocks) const;

  // Scalars, and lists of one, of uint64 below 2^32.
  std::array<mlir::Value, 2> step;
  std::array<std::array<mlir::Value, 2>, kRounds> keys;
};

} // namespace amp

#endif // AMP_PASSES_TRAINING_RANDOMNUMBERS_H
