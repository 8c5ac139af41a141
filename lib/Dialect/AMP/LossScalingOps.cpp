//===- LossScalingOps.cpp - loss scaling in the amp dialect ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/AMP/AMPDialect.h"

#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;
using namespace amp;

LogicalResult ScaleOp::verify() {
  Type loss = getLoss().getType();
  FloatType element = amp::getFloatElementType(loss);
  if (!element.isF64())
    element = Float32Type::get(getContext());
  Type expected = withFloatElementType(loss, element);
  if (getScaled().getType() != expected)
    return emitOpError() << "expects a result of " << expected << ", but got "
                         << getScaled().getType();
  return success();
}

LogicalResult UnscaleOp::verify() {
  if (getGradients().empty())
    return emitOpError("expects a gradient at least");
  if (getGradients().size() != getUnscaled().size())
    return emitOpError() << "expects " << getGradients().size()
                         << " unscaled gradients, but got "
                         << getUnscaled().size();
  auto wide = Float32Type::get(getContext());
  for (auto [gradient, unscaled] :
       llvm::zip_equal(getGradients(), getUnscaled())) {
    Type expected = withFloatElementType(gradient.getType(), wide);
    if (unscaled.getType() != expected)
      return emitOpError() << "expects an unscaled gradient of " << expected
                           << ", but got " << unscaled.getType();
  }
  return success();
}

static bool isPositive(double number) {
  return std::isfinite(number) && number > 0;
}

LogicalResult ClipGradNormOp::verify() {
  if (getGradients().empty())
    return emitOpError("expects a gradient at least");
  if (!isPositive(getMaxNorm().convertToDouble()))
    return emitOpError("expects 'max_norm' to be positive, but got ")
           << getMaxNormAttr();
  double epsilon = getEpsilon().convertToDouble();
  if (epsilon != 0 && !isPositive(epsilon))
    return emitOpError("expects 'epsilon' to be 0 or positive, but got ")
           << getEpsilonAttr();
  return success();
}

LogicalResult GuardOp::verify() {
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield)
    return emitOpError("expects its region to end with 'amp.yield'");
  if (yield.getValues().size() != getState().size())
    return emitOpError() << "expects its region to yield " << getState().size()
                         << " values, but got " << yield.getValues().size();
  for (auto [index, values] :
       llvm::enumerate(llvm::zip_equal(yield.getValues(), getState()))) {
    Type yielded = std::get<0>(values).getType();
    Type state = std::get<1>(values).getType();
    if (getElementTypeOrSelf(yielded) != getElementTypeOrSelf(state) ||
        failed(verifyCompatibleShape(yielded, state)))
      return emitOpError() << "expects its region to yield " << state
                           << " as value " << index << ", but got " << yielded;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// UpdateScaleOp
//===----------------------------------------------------------------------===//

float UpdateScaleOp::getFloor() {
  std::optional<APFloat> bound = getMinScale();
  return bound ? bound->convertToFloat() : kDefaultMinScale;
}

float UpdateScaleOp::getCap() {
  std::optional<APFloat> bound = getMaxScale();
  return bound ? bound->convertToFloat() : kDefaultMaxScale;
}

LogicalResult UpdateScaleOp::verify() {
  double growth = getGrowthFactor().convertToDouble();
  if (!std::isfinite(growth) || growth <= 1)
    return emitOpError("expects 'growth_factor' to be more than 1, but got ")
           << getGrowthFactorAttr();
  double backoff = getBackoffFactor().convertToDouble();
  if (!isPositive(backoff) || backoff >= 1)
    return emitOpError(
               "expects 'backoff_factor' to be between 0 and 1, but got ")
           << getBackoffFactorAttr();
  int64_t interval = getGrowthInterval();
  if (interval < 1 || interval > std::numeric_limits<int32_t>::max())
    return emitOpError("expects 'growth_interval' to be from 1 to 2^31 - 1, "
                       "but got ")
           << interval;
  if (getMode() == ScalerMode::Torch) {
    if (getMinScale() || getMaxScale())
      return emitOpError("has bounds of the scale in mode 'safe' only");
    return success();
  }
  // Negated, for NaN.
  if (!(getFloor() >= 0x1p-126f && getFloor() <= getCap() &&
        getCap() <= 0x1p+126f))
    return emitOpError("expects 2^-126 <= min_scale <= max_scale <= 2^126, "
                       "but got ")
           << getFloor() << " and " << getCap();
  return success();
}

LogicalResult UpdateScaleOp::fold(FoldAdaptor,
                                  SmallVectorImpl<OpFoldResult> &results) {
  if (!getFoundInf().empty())
    return failure();
  results.assign({getScale(), getGrowthTracker()});
  return success();
}
