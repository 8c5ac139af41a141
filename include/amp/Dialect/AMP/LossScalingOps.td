//===- LossScalingOps.td - Loss scaling in the amp dialect -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMP_LOSSSCALINGOPS
#define AMP_DIALECT_AMP_LOSSSCALINGOPS

include "amp/Dialect/AMP/AMPBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

class AMP_Scalar<string element, string summary> : Type<
    CPred<"$_self == ::mlir::RankedTensorType::get({}, "
          "::mlir::Builder($_self.getContext())." # element # "())">,
    summary, "::mlir::RankedTensorType">,
    BuildableType<"::mlir::RankedTensorType::get({}, $_builder."
                  # element # "())">;

def AMP_Scale : AMP_Scalar<"getF32Type", "scalar tensor of f32">;
def AMP_Counter : AMP_Scalar<"getI32Type", "scalar tensor of i32">;
def AMP_Flag : AMP_Scalar<"getI1Type", "scalar tensor of i1">;

def AMP_Loss : TensorOf<[F16, BF16, F32, F64]>;
def AMP_ScaledGradient : TensorOf<[F16, BF16, F32]>;
def AMP_Gradient : TensorOf<[F32]>;

def AMP_ScalerModeAttr : I32EnumAttr<"ScalerMode", "whose rules hold", [
    I32EnumAttrCase<"Torch", 0, "torch">,
    I32EnumAttrCase<"Safe", 1, "safe">,
  ]> {
  let cppNamespace = "::amp";
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

def AMP_ScaleOp : AMP_Op<"scale", [Pure]> {
  let summary = "a loss times the loss scale";
  let description = [{
    Multiplies a loss, or the gradient that reverse mode starts from, by the
    scale. In float32 for 16-bit losses, where the product may be beyond
    float16's range; otherwise in the loss's own format.

    Example:

    ```mlir
    %scaled = amp.scale %loss by %scale : tensor<f16> to tensor<f32>
    ```
  }];
  let arguments = (ins AMP_Loss:$loss, AMP_Scale:$scale);
  let results = (outs TensorOf<[F32, F64]>:$scaled);
  let assemblyFormat = [{
    $loss `by` $scale attr-dict `:` type($loss) `to` type($scaled)
  }];
  let hasVerifier = 1;
}

def AMP_UnscaleOp : AMP_Op<"unscale", [Pure]> {
  let summary = "true gradients from those of a scaled loss, and whether they are finite";
  let description = [{
    Multiplies every gradient, widened to float32, by `1 / scale` rounded to
    float32. Gradients of several micro-batches have been added up before, while
    still scaled: an infinity or NaN in one of them is one in the sum.

    `found_inf` is true if some element of some gradient is infinite or NaN:
    in mode `torch` before it is multiplied, as GradScaler looks at it; in mode
    `safe` before or after, which finds products that overflow too. One
    operation belongs to one optimizer: it has all gradients that the optimizer
    reads.

    Example:

    ```mlir
    %u:2, %found_inf = amp.unscale safe %g0, %g1 by %scale
      : tensor<4x?xf16>, tensor<2xf32> to tensor<4x?xf32>, tensor<2xf32>
    ```
  }];
  let arguments = (ins AMP_ScalerModeAttr:$mode,
                       Variadic<AMP_ScaledGradient>:$gradients,
                       AMP_Scale:$scale);
  let results = (outs Variadic<AMP_Gradient>:$unscaled, AMP_Flag:$found_inf);
  let assemblyFormat = [{
    $mode $gradients `by` $scale attr-dict `:` type($gradients)
    `to` type($unscaled)
  }];
  let hasVerifier = 1;
}

def AMP_ClipGradNormOp : AMP_Op<"clip_grad_norm", [Pure,
    RangedTypesMatchWith<"clipped gradients have the types of the gradients",
                         "gradients", "clipped", "$_self">]> {
  let summary = "gradients scaled down to a norm";
  let description = [{
    Multiplies the gradients by `min(1, max_norm / (norm + epsilon))`, where
    `norm` is the 2-norm of all of them together: the 2-norm of the 2-norms of
    each. Gradients are clipped after they are unscaled. A norm that is not
    finite gives gradients that are not; amp.guard keeps them from parameters.

    What rounds, and in which order, is what torch.nn.utils.clip_grad_norm_
    does: the quotient is a reciprocal and a product.

    Example:

    ```mlir
    %c:2, %norm = amp.clip_grad_norm %u0, %u1 to 1.0
      : tensor<4x?xf32>, tensor<2xf32>
    ```
  }];
  let arguments = (ins Variadic<AMP_Gradient>:$gradients, F64Attr:$max_norm,
                       DefaultValuedAttr<F64Attr, "1e-6">:$epsilon);
  let results = (outs Variadic<AMP_Gradient>:$clipped, AMP_Scale:$norm);
  let assemblyFormat = [{
    $gradients `to` $max_norm attr-dict `:` type($gradients)
  }];
  let hasVerifier = 1;
}

def AMP_GuardOp : AMP_Op<"guard", [NoRegionArguments, RecursiveMemoryEffects,
    SingleBlock,
    RangedTypesMatchWith<"new state has the types of the old", "state",
                         "new_state", "$_self">]> {
  let summary = "a step that is skipped where gradients overflowed";
  let description = [{
    Gives what its region yields, or, if `found_inf` is true, the state as it
    was, bit for bit; the region is not run then. State is whatever a step
    changes: parameters, their low-precision copies, an optimizer's moments and
    its count of steps. The flag may be another reason to skip, too: between
    the micro-batches of a step there is nothing to do.

    Example:

    ```mlir
    %p1, %steps1 = amp.guard %found_inf keeps %p, %steps
      : tensor<4xf32>, tensor<i64> {
      %p2 = "onnx.Sub"(%p, %update)
        : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %steps2 = "onnx.Add"(%steps, %one)
        : (tensor<i64>, tensor<i64>) -> tensor<i64>
      amp.yield %p2, %steps2 : tensor<4xf32>, tensor<i64>
    }
    ```
  }];
  let arguments = (ins AMP_Flag:$found_inf, Variadic<AnyTensor>:$state);
  let results = (outs Variadic<AnyTensor>:$new_state);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $found_inf `keeps` $state attr-dict `:` type($state) $body
  }];
  let hasVerifier = 1;
}

def AMP_YieldOp : AMP_Op<"yield", [Pure, Terminator,
                                   HasParent<"GuardOp">]> {
  let summary = "the state after a guarded step";
  let description = [{
    Example: see amp.guard.
  }];
  let arguments = (ins Variadic<AnyTensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def AMP_UpdateScaleOp : AMP_Op<"update_scale", [Pure]> {
  let summary = "the loss scale for the next step";
  let description = [{
    If any `found_inf` is true the scale is multiplied by `backoff_factor`, and
    the tracker, which counts steps without an overflow, becomes 0. Otherwise
    the tracker goes up by one; when it has reached `growth_interval` the scale
    is multiplied by `growth_factor` and the tracker becomes 0. Products are
    those of float64, rounded to float32. There is one update a step, whatever
    the number of optimizers; without any `found_inf` nothing was unscaled, and
    nothing changes.

    Mode `torch` is torch.amp.GradScaler, bit for bit: a scale that would become
    infinite stays (the tracker is 0 all the same), nothing keeps it from
    becoming 0, and a tracker that is beyond the interval, which may have been
    lowered, never reaches it.

    Mode `safe` grows at an interval or beyond it, and keeps what it multiplied
    between `min_scale` (default 2^-24) and `max_scale` (default 2^24): bounds
    whose reciprocals are normal numbers, so that a scale that has become 0,
    infinite or NaN recovers at the next change.

    Example:

    ```mlir
    %scale1, %tracker1 = amp.update_scale safe %scale, %tracker
      after %found_inf0, %found_inf1 {growth_interval = 500 : i64}
    ```
  }];
  let arguments = (ins AMP_ScalerModeAttr:$mode,
                       AMP_Scale:$scale, AMP_Counter:$growth_tracker,
                       Variadic<AMP_Flag>:$found_inf,
                       DefaultValuedAttr<F64Attr, "2.0">:$growth_factor,
                       DefaultValuedAttr<F64Attr, "0.5">:$backoff_factor,
                       DefaultValuedAttr<I64Attr, "2000">:$growth_interval,
                       OptionalAttr<F32Attr>:$min_scale,
                       OptionalAttr<F32Attr>:$max_scale);
  let results = (outs AMP_Scale:$new_scale, AMP_Counter:$new_growth_tracker);
  let assemblyFormat = [{
    $mode $scale `,` $growth_tracker (`after` $found_inf^)? attr-dict
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    static constexpr float kDefaultMinScale = 0x1p-24f;
    static constexpr float kDefaultMaxScale = 0x1p+24f;
    /// The bounds that hold in mode `safe`.
    float getFloor();
    float getCap();
  }];
}

#endif // AMP_DIALECT_AMP_LOSSSCALINGOPS
