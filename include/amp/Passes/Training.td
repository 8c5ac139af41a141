//===- Training.td - passes that make training graphs ----*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING
#define AMP_PASSES_TRAINING

include "mlir/Pass/PassBase.td"

def Differentiate : Pass<"amp-differentiate", "::mlir::ModuleOp"> {
  let summary = "Gradients of a loss, by reverse mode";
  let description = [{
    Adds to the main graph the gradients of a loss, or of the sum of several,
    with respect to values of the graph: initializers, inputs, or what nodes
    make. They become outputs behind those of the model, named after the value
    with the suffix `_grad`.

    Only what these gradients need is built. Every operation gives the gradients
    of its operands by GradientOpInterface, as nodes of the model's own opset
    (18 at least: `onnx-raise-opset` goes before). Operators that ONNX defines
    as functions, and have no rule of their own, are replaced by their bodies;
    local functions are inlined. Gradients have the types of their values: after
    autocast, those that it chose. Where a value has several users their
    gradients are added up in float32.

    Before, with `loss=loss wrt=w`:

    ```mlir
    func.func @main(%x: tensor<2x3xf32>) -> tensor<f32> {
      %w = onnx.Initializer ... : tensor<3x4xf32> {onnx.outputs = ["w"]}
      %y = "onnx.MatMul"(%x, %w) : ... -> tensor<2x4xf32>
      %loss = "onnx.ReduceSum"(%y) <{keepdims = 0}> : ... -> tensor<f32>
      return %loss : tensor<f32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2x3xf32>) -> (tensor<f32>, tensor<3x4xf32>) {
      %w = onnx.Initializer ... : tensor<3x4xf32> {onnx.outputs = ["w"]}
      %y = "onnx.MatMul"(%x, %w) : ... -> tensor<2x4xf32>
      %loss = "onnx.ReduceSum"(%y) <{keepdims = 0}> : ... -> tensor<f32>
      ...
      %w_grad = "onnx.Gemm"(%x, %dy) <{transA = 1}> : ... -> tensor<3x4xf32>
      return %loss, %w_grad : tensor<f32>, tensor<3x4xf32>
    }
    ```
  }];
  let dependentDialects = ["::amp::onnx::ONNXDialect"];
  let options = [
    ListOption<"losses", "loss", "std::string",
               "Names of the values whose sum is differentiated; they are "
               "scalars">,
    ListOption<"wrt", "wrt", "std::string",
               "Names of the values whose gradients become outputs (default: "
               "what amp-make-parameters made)">,
    Option<"seed", "seed", "std::string", /*default=*/"",
           "Name of a scalar that all gradients are multiplied by, the loss "
           "scale (default: 1)">,
  ];
}

def ExpandGradients : Pass<"onnx-expand-gradients", "::mlir::ModuleOp"> {
  let summary = "Nodes of ai.onnx.preview.training's Gradient, as their nodes";
  let description = [{
    Replaces the Gradient nodes of the main graph, one after the other, by nodes
    that compute the derivatives of `y` with respect to `xs`, as
    `amp-differentiate` builds them; a Gradient of what another one gives is a
    second derivative. Where an input is not the value that `xs` or `zs` names,
    what is between these and `y` is computed for that input anew.

    Before:

    ```mlir
    %y = "onnx.Mul"(%x, %x) {onnx.outputs = ["y"]} : ... -> tensor<f32>
    %dx = "onnx.preview.training.Gradient"(%x) <{xs = ["x"], y = "y"}> : ... -> tensor<f32>
    ```

    After:

    ```mlir
    %y = "onnx.Mul"(%x, %x) {onnx.outputs = ["y"]} : ... -> tensor<f32>
    ...
    %a = "onnx.Mul"(%one, %x) : ... -> tensor<f32>
    %dx = "onnx.Add"(%a, %a) : ... -> tensor<f32>
    ```
  }];
  let dependentDialects = ["::amp::onnx::ONNXDialect"];
}

def MakeParameters : Pass<"amp-make-parameters", "::mlir::ModuleOp"> {
  let summary = "Initializers become inputs with a default: what is trained";
  let description = [{
    The float32 initializers of the main graph that the loss depends on, and
    whose whole name matches `trainable`, become inputs of the same name, with
    the initializer as default: a step reads them as state, and autocast casts
    them where it would round a constant. Running statistics of
    BatchNormalization stay.

    Before, with `loss=loss`:

    ```mlir
    func.func @main(%x: tensor<2x3xf32>) -> tensor<f32> {
      %w = onnx.Initializer <dense<1.0> : tensor<3x4xf32>> : tensor<3x4xf32>
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> tensor<f32> {
      onnx.DefaultInput %w, <dense<1.0> : tensor<3x4xf32>> : tensor<3x4xf32>
    ```
  }];
  let dependentDialects = ["::amp::AMPDialect", "::amp::onnx::ONNXDialect"];
  let options = [
    Option<"loss", "loss", "std::string", /*default=*/"\"loss\"",
           "Name of the value that is trained on">,
    Option<"trainable", "trainable", "std::string", /*default=*/"\".*\"",
           "Regular expression on names of initializers">,
  ];
}

def AttachOptimizer : Pass<"amp-attach-optimizer", "::mlir::ModuleOp"> {
  let summary = "Gradients become updates of parameters";
  let description = [{
    An input `X` of the main graph that has an output `X_grad` is a parameter:
    the output goes, and `X_next` comes, the parameter after a step of the
    optimizer. What the optimizer keeps for it is state like it: inputs
    `X.exp_avg` with zeros as default, outputs `X.exp_avg_next`, and so on, and
    the number of steps, `amp.step`. The module's metadata pairs them
    (`amp.state`).

    A group is of the parameters whose whole name matches a regular expression:
    their learning rate has a factor `lr`, and `decay` takes the place of the
    weight decay. A parameter is in the first group that it matches. Braces keep
    the commas of a group together: `group={{.*bias:lr=2,decay=0},{emb.*:lr=3}}`.

    The learning rate of the step after t others is `lr` times a factor,

    ```
    constant:warmup=W               1
    linear:warmup=W,total=T         max(0, (T - t) / (T - W))
    cosine:warmup=W,total=T,end=E   E + (1 - E) (1 + cos(pi p)) / 2
                                    where p = min(1, (t - W) / (T - W))
    ```

    and t / W while t < W: the first step of a warm-up has rate 0. These are the
    schedules of the `transformers` package for torch.optim's LambdaLR. With
    `schedule=input` the rate is an input `amp.lr`, a scalar of float64, with
    `lr` as default.

    With `ema`, `X.ema` is state: an average of the parameter,
    `ema X.ema + (1 - ema) X_next`, which begins with the parameter's initial
    value.

    With `seed`, the input that gradients are multiplied by, they are unscaled;
    a step with a gradient that is not finite changes nothing but the scale,
    `amp.found_inf` says so, and the scale is updated unless `dynamic=false`.
    Neither averages nor schedules advance in a step that is skipped.
  }];
  let dependentDialects = ["::amp::AMPDialect", "::amp::onnx::ONNXDialect"];
  let options = [
    Option<"optimizer", "optimizer", "std::string", /*default=*/"\"adamw\"",
           "sgd, adam, adamw, adagrad, adafactor or lion">,
    Option<"learningRate", "lr", "double", /*default=*/"-1",
           "Learning rate (negative: as torch.optim's)">,
    Option<"weightDecay", "weight-decay", "double", /*default=*/"-1",
           "Weight decay (negative: as torch.optim's)">,
    ListOption<"settings", "settings", "std::string",
               "Other settings of the optimizer, NAME=NUMBER">,
    ListOption<"groups", "group", "std::string",
               "Groups of parameters, {{REGEX:lr=FACTOR,decay=NUMBER}}">,
    Option<"schedule", "schedule", "std::string", /*default=*/"\"constant\"",
           "constant, linear or cosine with :warmup=W,total=T,end=E, or input">,
    Option<"averageDecay", "ema", "double", /*default=*/"0",
           "Decay of averages of the parameters; 0 for none">,
    Option<"clipNorm", "clip-norm", "double", /*default=*/"0",
           "Norm that gradients are clipped to; 0 for none">,
    Option<"clipValue", "clip-value", "double", /*default=*/"0",
           "Magnitude that gradients are clipped to, before the norm; 0 for "
           "none">,
    Option<"seed", "seed", "std::string", /*default=*/"",
           "Name of the input that is the loss scale">,
    Option<"isDynamic", "dynamic", "bool", /*default=*/"true",
           "Update the loss scale">,
    Option<"scalerMode", "scaler-mode", "std::string", /*default=*/"\"safe\"",
           "torch or safe, as in amp.update_scale">,
    Option<"growthFactor", "growth-factor", "double", /*default=*/"2",
           "As in amp.update_scale">,
    Option<"backoffFactor", "backoff-factor", "double", /*default=*/"0.5",
           "As in amp.update_scale">,
    Option<"growthInterval", "growth-interval", "int64_t",
           /*default=*/"2000", "As in amp.update_scale">,
  ];
}

defvar nodeFormValues = [{
  ::llvm::cl::values(
    clEnumValN(::amp::NodeForm::Train, "train", "as in training"),
    clEnumValN(::amp::NodeForm::Keep, "keep", "as it is"))
}];

def TrainingForm : Pass<"amp-training-form", "::mlir::ModuleOp"> {
  let summary = "Normalization and dropout as in training";
  let description = [{
    Exporters give models in inference form. Here BatchNormalization nodes of
    the main graph normalize by the batch, and their running statistics become
    state in float32, as `amp.state` in the module's metadata says: inputs with
    the statistics as defaults, outputs `X_next` (or what the model calls them).
    `momentum` stays. ONNX gathers the biased variance of batches, which is what
    `unbiased-variance=false` leaves; PyTorch gathers the unbiased one. Nodes
    that share statistics update them in turn.

    Dropout nodes drop, whatever mode they had, and scale the rest by
    `1 / (1 - ratio)`. Their masks are a function of `amp.seed` and
    `amp.random_step`, which are state too, in integer arithmetic
    (Philox4x32-10): they are the same in every runtime, other ones in every
    step, and independent of each other. Elements are kept with the probability
    `1 - ratio` rounded to a multiple of 2^-16.

    Calls of local functions with such nodes are inlined.

    Before:

    ```mlir
    func.func @main(%x: tensor<8x3xf32>) -> tensor<8x3xf32> {
      %mean = onnx.Initializer ... : tensor<3xf32> {onnx.outputs = ["mean"]}
      %var = onnx.Initializer ... : tensor<3xf32> {onnx.outputs = ["var"]}
      %y = "onnx.BatchNormalization"(%x, %scale, %bias, %mean, %var) : ... -> tensor<8x3xf32>
    ```

    After, with `scaler-mode=torch`:

    ```mlir
    func.func @main(%x: tensor<8x3xf32>, %mean: tensor<3xf32>, %var: tensor<3xf32>)
        -> (tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32>) {
      onnx.DefaultInput %mean, ... : tensor<3xf32>
      onnx.DefaultInput %var, ... : tensor<3xf32>
      %m = "onnx.Sum"(%mean) : (tensor<3xf32>) -> tensor<3xf32>
      %v = "onnx.Sum"(%var) : (tensor<3xf32>) -> tensor<3xf32>
      %y, %mean_next, %var_next = "onnx.BatchNormalization"(%x, %scale, %bias, %m, %v)
        <{training_mode = 1}> : ... -> (tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32>)
    ```
  }];
  let dependentDialects = ["::amp::AMPDialect", "::amp::onnx::ONNXDialect"];
  let options = [
    Option<"batchNorm", "batch-norm", "::amp::NodeForm",
           /*default=*/"::amp::NodeForm::Train",
           "What becomes of BatchNormalization", nodeFormValues>,
    Option<"dropout", "dropout", "::amp::NodeForm",
           /*default=*/"::amp::NodeForm::Train", "What becomes of Dropout",
           nodeFormValues>,
    Option<"unbiasedVariance", "unbiased-variance", "bool",
           /*default=*/"false", "Gather n / (n - 1) times ONNX's variance">,
    Option<"scalerMode", "scaler-mode", "std::string", /*default=*/"\"safe\"",
           "torch: batches that overflow spoil running statistics; safe: "
           "channels whose statistics would not be finite keep them">,
    Option<"seed", "seed", "uint64_t", /*default=*/"0",
           "Initial value of `amp.seed`">,
  ];
}

def StochasticRounding : Pass<"amp-stochastic-rounding", "::mlir::ModuleOp"> {
  let summary = "State in bfloat16, rounded at random";
  let description = [{
    Keeps state of a step, the parameters by default, in bfloat16, without a
    float32 copy. A step computes with it in float32 as before, where it rounds
    nothing, and rounds what comes out to one of the two neighbours, the nearer
    the likelier: the expected value is the value itself, so that updates far
    smaller than a bfloat16's step are not lost. What is a bfloat16 stays,
    so that skipped steps change nothing.

    Random numbers are those of `amp-training-form`, with the same state.
    Infinities, NaNs and the sign of zero are kept, and values beyond the
    largest bfloat16 go where rounding to nearest takes them.

    Before, behind `amp-attach-optimizer`:

    ```mlir
    func.func @main(..., %w: tensor<3x4xf32>, ...) -> (..., tensor<3x4xf32>, ...) {
      onnx.DefaultInput %w, <dense<1.0> : tensor<3x4xf32>> : tensor<3x4xf32>
      ...
      return ..., %w_next, ... : ...
    ```

    After:

    ```mlir
    func.func @main(..., %w: tensor<3x4xbf16>, ...) -> (..., tensor<3x4xbf16>, ...) {
      onnx.DefaultInput %w, <...> : tensor<3x4xbf16>
      %wide = "onnx.Cast"(%w) <{to = 1}> : (tensor<3x4xbf16>) -> tensor<3x4xf32>
      ...
      %rounded = "onnx.Cast"(%chosen) <{to = 16}> : (tensor<3x4xf32>) -> tensor<3x4xbf16>
      return ..., %rounded, ... : ...
    ```
  }];
  let dependentDialects = ["::amp::AMPDialect", "::amp::onnx::ONNXDialect"];
  let options = [
    Option<"states", "states", "std::string", /*default=*/"\"\"",
           "Regular expression on names of float32 state (default: what "
           "amp-make-parameters made)">,
    Option<"seed", "seed", "uint64_t", /*default=*/"0",
           "Initial value of `amp.seed`">,
  ];
}

#endif // AMP_PASSES_TRAINING
