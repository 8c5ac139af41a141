//===- Optimizers.h - the formulas of optimizers ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each formula stands once, as ONNX nodes on float32 master weights. The order
// of operations is that of torch.optim's single-tensor code, and scalars are
// computed in double and rounded once, as there: bits are those of PyTorch
// without its vector kernels. These fuse some products and sums, which ONNX
// cannot say; and Adafactor's norms are sums, whose order is the runtime's.
// Both stay within 3 units in the last place of the largest weight in 40 steps.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_OPTIMIZERS_H
#define AMP_PASSES_TRAINING_OPTIMIZERS_H

#include "amp/Dialect/ONNX/NodeBuilder.h"

#include "llvm/Support/Error.h"

#include <memory>

namespace amp {

/// A value that an optimizer keeps for each parameter: float32, of the
/// parameter's shape or of what is said here.
struct OptimizerSlot {
  std::string name; ///< "exp_avg", as in torch.optim's state
  llvm::SmallVector<int64_t> shape;
  double initial = 0;
};

/// What one update of one parameter reads and makes.
struct ParameterUpdate {
  onnx::NodeBuilder &b;
  onnx::Expr parameter; ///< float32
  onnx::Expr gradient;  ///< float32, unscaled and clipped
  onnx::Expr rate;      ///< learning rate of this parameter, a scalar of double
  onnx::Expr count;     ///< number of this update, from 1, a scalar of double
  double weightDecay = 0;
  /// As getSlots() says; replaced by what they become, as is the parameter.
  llvm::SmallVector<onnx::Expr> slots;
};

/// A rule for updates.
class Optimizer {
public:
  virtual ~Optimizer();

  /// One of getNames(), with settings ("beta1=0.9"); those that are left
  /// out have torch.optim's defaults. Fails for an unknown name or setting (the
  /// nearest is shown), and for a number out of its range.
  static llvm::Expected<std::unique_ptr<Optimizer>>
  create(llvm::StringRef name, llvm::ArrayRef<std::string> settings);
  static llvm::ArrayRef<llvm::StringLiteral> getNames();

  /// The learning rate and weight decay that torch.optim has without others.
  virtual double getDefaultRate() const = 0;
  virtual double getDefaultWeightDecay() const { return 0; }

  /// What is kept for a parameter of this shape, which is static.
  virtual llvm::SmallVector<OptimizerSlot>
  getSlots(llvm::ArrayRef<int64_t> shape) const = 0;
  virtual void update(ParameterUpdate &step) const = 0;
};

/// An exponential moving average and a new value:
/// torch.optim.swa_utils.get_ema_multi_avg_fn.
onnx::Expr updateAverage(onnx::Expr average, onnx::Expr value, double decay);

} // namespace amp

#endif // AMP_PASSES_TRAINING_OPTIMIZERS_H
