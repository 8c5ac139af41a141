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
    Option<"microBatches", "micro-batches", "int64_t", /*default=*/"1",
           "Number of micro-batches that gradients are averaged over: they are "
           "divided by it">,
  ];
}

def ExpandGradients : Pass<"onnx-expand-gradients", "::mlir::ModuleOp"> {
  let summary = "Nodes of ai.onnx.preview.training's Gradient, as their nodes";
  let description = [{
    Replaces the Gradient nodes of the main graph and of the algorithms of
    `training_info`, which name values of both, one after the other, by nodes
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

def BuildLoss : Pass<"amp-build-loss", "::mlir::ModuleOp"> {
  let summary = "A loss on an output of the model";
  let description = [{
    Adds the output `loss`, a scalar, and the input that it compares with:

    - `cross-entropy`: `labels`, indices of classes in int64, of the shape of
      the output without the dimension of classes. The mean over labels, without
      those that are -100. Classes are `class-axis`: by default 1, as in PyTorch
      (0 of a list), or the last if its size alone is known of those behind 0.
      A remark says so where there are three dimensions.
    - `mse`: `targets`, of the type of the output. The mean of the squares of
      the differences.

    Both are torch.nn.functional's with its defaults. They compute in float32
    (in float64 if the output is that), and under every policy of `amp-train`.

    Any other `loss` is the name of a scalar that the model has: it becomes an
    output, if it is none yet.

    Of several, or of one with a weight, the sum of each times its weight is the
    output `total_loss`, beside them. The second loss that is built has `.2`
    behind its names.

    Before, with `loss=mse`:

    ```mlir
    func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
      %y = "onnx.Relu"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      return %y : tensor<2x3xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2x3xf32>, %targets: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<f32>) {
      %y = "onnx.Relu"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %d = "onnx.Sub"(%y, %targets) : ...
      %s = "onnx.Mul"(%d, %d) : ...
      %loss = "onnx.ReduceMean"(%s) <{keepdims = 0}> : ... -> tensor<f32>
      return %y, %loss : tensor<2x3xf32>, tensor<f32>
    }
    ```
  }];
  let dependentDialects = ["::amp::onnx::ONNXDialect"];
  let options = [
    ListOption<"losses", "loss", "std::string",
               "NAME or NAME=WEIGHT: cross-entropy, mse, or the name of a scalar "
               "(default: cross-entropy)">,
    ListOption<"outputs", "output", "std::string",
               "Outputs that losses are built on, in their order (default: the "
               "only one of floats)">,
    Option<"classAxis", "class-axis", "std::string", /*default=*/"",
           "Dimension of classes; negative ones count from the end">,
  ];
}

def MakeParameters : Pass<"amp-make-parameters", "::mlir::ModuleOp"> {
  let summary = "Initializers become inputs with a default: what is trained";
  let description = [{
    The initializers of the main graph in float32, float16 or bfloat16 that the
    loss depends on, and whose whole name matches `trainable`, become inputs of
    the same name, with the initializer as default: a step reads them as state,
    and autocast casts them where it would round a constant. What is state is
    float32: those in 16 bits are widened, and cast back where they are read.
    State stays as it is, and so does what operators are told by their schema to
    take for something else than a weight: NeverTrained.cpp lists these inputs.
    A remark names them, and parameters that look like constants.

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

def MakeLossScale : Pass<"amp-make-loss-scale", "::mlir::ModuleOp"> {
  let summary = "The loss scale: a state of the step, or a constant";
  let description = [{
    Adds `amp.scale`, a scalar of float32: the `seed` of `amp-differentiate` and
    `amp-attach-optimizer`. An input with a default value, or, with
    `dynamic=false`, an initializer.

    After:

    ```mlir
    func.func @main(%x: tensor<2x3xf32>, %scale: tensor<f32>) -> tensor<f32> {
      onnx.DefaultInput %scale, <dense<65536.0> : tensor<f32>> : tensor<f32>
    ```
  }];
  let dependentDialects = ["::amp::onnx::ONNXDialect"];
  let options = [
    Option<"initial", "initial", "double", /*default=*/"65536",
           "The scale of the first step">,
    Option<"isDynamic", "dynamic", "bool", /*default=*/"true",
           "Steps may change it">,
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

    With `seed`, what gradients were multiplied by, they are unscaled; a step
    with a gradient that is not finite changes nothing, and `amp.found_inf` says
    so. `amp-attach-scaler` updates the scale. Neither averages nor schedules
    advance in a step that is skipped.

    The pass may run several times, each time for the parameters that
    `parameters` matches and that have no optimizer yet. The second optimizer
    has its own `amp.step.2`, `amp.found_inf.2` and so on: one of them may skip
    a step that the other makes.

    With `counters`, outputs tell more of the gradients:

    | output | meaning |
    |---|---|
    | `amp.zero_gradients` | the share of elements of unscaled gradients that are 0: those that underflowed, and those that are 0 without rounding, too. What it is more than in float32, or with a larger scale, underflowed |
    | `amp.skipped_steps_next` | state: how many steps were skipped |
    | `amp.first_overflow_next` | state: in the last step that was skipped, the first gradient that was not finite, in the order in which they are computed, from the loss back; -1 before. It is an index into `amp.parameters` of the module's metadata, a list of names in that order |

    The last two are there with `seed` only.
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
    Option<"scalerMode", "scaler-mode", "std::string", /*default=*/"\"safe\"",
           "torch or safe, as in amp.unscale">,
    Option<"parameterNames", "parameters", "std::string",
           /*default=*/"\".*\"",
           "Regular expression on names of parameters">,
    ListOption<"others", "others", "std::string",
               "Regular expressions on names of parameters that are left to "
               "other optimizers; none at all may be left then">,
    Option<"counters", "counters", "bool", /*default=*/"false",
           "Add the outputs described above">,
  ];
}

def AttachScaler : Pass<"amp-attach-scaler", "::mlir::ModuleOp"> {
  let summary = "The loss scale is updated, once for all optimizers";
  let description = [{
    The input `seed` becomes state: its next value is what amp.update_scale
    makes of it and of `amp.growth_tracker`, which comes with it. It backs off
    if any of the optimizers that unscale by it, those of amp-attach-optimizer,
    found a gradient that is not finite.

    Before, with `seed=scale`:

    ```mlir
    func.func @main(%scale: tensor<f32>, %g: tensor<2xf32>, %h: tensor<3xf32>, ...) -> ... {
      %u, %found = amp.unscale safe %g by %scale : ...
      %v, %found_2 = amp.unscale safe %h by %scale : ...
    ```

    After:

    ```mlir
    func.func @main(%scale: tensor<f32>, %g: tensor<2xf32>, %h: tensor<3xf32>, ..., %tracker: tensor<i32>) -> ... {
      %u, %found = amp.unscale safe %g by %scale : ...
      %v, %found_2 = amp.unscale safe %h by %scale : ...
      %scale_next, %tracker_next = amp.update_scale safe %scale, %tracker after %found, %found_2
    ```
  }];
  let dependentDialects = ["::amp::AMPDialect", "::amp::onnx::ONNXDialect"];
  let options = [
    Option<"seed", "seed", "std::string", /*default=*/"",
           "Name of the input that is the loss scale">,
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

def AccumulateGradients : Pass<"amp-accumulate-gradients", "::mlir::ModuleOp"> {
  let summary = "Gradients are added up over micro-batches";
  let description = [{
    For every input `X` with an output `X_grad`, that output becomes the sum of
    the gradient and of `X.accumulated`, new state in float32 with zeros as
    default, whose next value is the sum. Gradients stay scaled: an infinity or
    NaN in one micro-batch is one in the sum.

    `amp-differentiate` comes before, with `micro-batches`; optimizers come
    after, and see the sums; then `amp-split-step` separates what they do from
    what happens for each micro-batch: `amp.micro_outputs` is the list of the
    outputs that there are so far.

    Before:

    ```mlir
    func.func @main(%x: tensor<2x3xf32>, %w: tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>) {
      %w_grad = "onnx.ReduceSum"(...) : ... -> tensor<3xf32>
      return %loss, %w_grad : tensor<f32>, tensor<3xf32>
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2x3xf32>, %w: tensor<3xf32>, %w.accumulated: tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>, tensor<3xf32>) {
      %w_grad = "onnx.ReduceSum"(...) : ... -> tensor<3xf32>
      %sum = "onnx.Add"(%w.accumulated, %w_grad) : ... -> tensor<3xf32>
      return %loss, %sum, %sum : tensor<f32>, tensor<3xf32>, tensor<3xf32>
    ```
  }];
  let dependentDialects = ["::amp::AMPDialect", "::amp::onnx::ONNXDialect"];
}

def SplitStep : Pass<"amp-split-step", "::mlir::ModuleOp"> {
  let summary = "What runs for each micro-batch, and what runs once a step";
  let description = [{
    After `amp-accumulate-gradients` and the passes that attach optimizers and a
    scaler, outputs are of two kinds: those of each micro-batch, and those of
    the step, which unscales, clips, updates, and makes the accumulators zeros
    again.

    With `part=both`, the model does both: the step is a region that runs at
    every `amp.micro_batches`-th call, by `amp.micro_step`, state that counts
    them. At the other calls the state is what it was, and outputs of the step
    that are no state are zeros.

    With `part=accumulate`, the model loses the step. With `part=apply`, the
    model is the step only, from state to state: no batch, no loss. Two models
    that are made from one so share the names of state: what both have,
    parameters and accumulators, goes back and forth between them.

    Before:

    ```mlir
    func.func @main(%x: ..., %w: tensor<3xf32>, %w.accumulated: tensor<3xf32>) -> (...)
        attributes {amp.micro_batches = 4 : i64, amp.micro_outputs = ["loss", "w.accumulated_next"], ...} {
      %sum = "onnx.Add"(%w.accumulated, %w_grad) : ... -> tensor<3xf32>
      %update = "onnx.Mul"(%sum, %rate) : ... -> tensor<3xf32>
      %w_next = "onnx.Sub"(%w, %update) : ... -> tensor<3xf32>
      return %loss, %sum, %w_next : ...
    ```

    After, with `part=both`:

    ```mlir
    func.func @main(%x: ..., %w: tensor<3xf32>, %w.accumulated: tensor<3xf32>, %amp.micro_step: tensor<i64>) -> (...) {
      %sum = "onnx.Add"(%w.accumulated, %w_grad) : ... -> tensor<3xf32>
      %waits = "onnx.Less"(%micro_step_1, %four) : ... -> tensor<i1>
      %new:2 = amp.guard %waits keeps %sum, %w : tensor<3xf32>, tensor<3xf32> {
        %update = "onnx.Mul"(%sum, %rate) : ... -> tensor<3xf32>
        %w_next = "onnx.Sub"(%w, %update) : ... -> tensor<3xf32>
        amp.yield %zeros, %w_next : tensor<3xf32>, tensor<3xf32>
      }
      return %loss, %new#0, %new#1, %micro_step_next : ...
    ```
  }];
  let dependentDialects = ["::amp::AMPDialect", "::amp::onnx::ONNXDialect"];
  let options = [
    Option<"part", "part", "std::string", /*default=*/"\"both\"",
           "both, accumulate or apply">,
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

def FinishStep : Pass<"amp-finish-step", "::mlir::ModuleOp"> {
  let summary = "Erase what a training step does not need, check its names";
  let description = [{
    The last pass of `amp-train`. Nodes that nobody reads and that no model
    named go. SoftmaxCrossEntropyLoss with the mean becomes the few nodes that
    runtimes without kernels for training need to compute it. Inputs and outputs, which are state, must have names of their own.
    The IR version is 4 at least: before, runtimes took defaults of inputs for
    constants.
  }];
}

def ExpandOptimizers : Pass<"onnx-expand-optimizers", "::mlir::ModuleOp"> {
  let summary = "Nodes of ai.onnx.preview.training's optimizers, as their nodes";
  let description = [{
    Replaces Adagrad, Adam and Momentum by nodes of ai.onnx, of opset 18 or
    later, that compute what the operators' descriptions say. These are not the
    formulas of `amp-attach-optimizer`, which are PyTorch's.

    Before:

    ```mlir
    %x1, %v1 = "onnx.preview.training.Momentum"(%r, %t, %x, %g, %v)
      <{alpha = 0.5 : f32, beta = 1.0 : f32, mode = "standard", norm_coefficient = 0.0 : f32}>
    ```

    After:

    ```mlir
    %a = "onnx.Mul"(%half, %v) : ...
    %v1 = "onnx.Add"(%a, %g) : ...
    %s = "onnx.Mul"(%rate, %v1) : ...
    %x1 = "onnx.Sub"(%x, %s) : ...
    ```
  }];
  let dependentDialects = ["::amp::onnx::ONNXDialect"];
}

def FlattenTraining : Pass<"onnx-flatten-training", "::mlir::ModuleOp"> {
  let summary = "The algorithms of training_info, as a step that any runtime runs";
  let description = [{
    Joins the algorithms with the main graph, as ONNX defines their meaning.
    What bindings assign to becomes inputs with defaults; the metadata's
    `amp.state` pairs these with the outputs that are their next values. With
    several TrainingInfoProtos one works on what the one before updated. Inputs
    of algorithms that have one name and type are one. Gradient nodes are
    expanded.

    The initialization graphs are left out, with a warning: a step has the
    values of initializers for a start.

    Before:

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> attributes {...} {
      %w = onnx.Initializer <dense<1.0> : tensor<2xf32>> : tensor<2xf32>
      %y = "onnx.Mul"(%x, %w) : ...
      return %y : tensor<2xf32>
    }
    func.func private @training.0.algorithm() -> tensor<2xf32> attributes {...} {
      %w = onnx.Reference "w" : tensor<2xf32>
      %y = onnx.Reference "y" : tensor<2xf32>
      %w1 = "onnx.Sub"(%w, %y) : ...
      return %w1 : tensor<2xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2xf32>, %w: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) attributes {...} {
      onnx.DefaultInput %w, <dense<1.0> : tensor<2xf32>> : tensor<2xf32>
      %y = "onnx.Mul"(%x, %w) : ...
      %w1 = "onnx.Sub"(%w, %y) : ...
      return %y, %w1 : tensor<2xf32>, tensor<2xf32>
    }
    ```
  }];
  let dependentDialects = ["::amp::onnx::ONNXDialect"];
}

def MakeTrainingInfo : Pass<"amp-make-training-info", "::mlir::ModuleOp"> {
  let summary = "A model, with the step that trains it as a TrainingInfoProto";
  let description = [{
    Runs passes that make a training step of the model, with `amp.state` in its
    metadata. Then the main graph is what it was, and the step an algorithm
    beside it. State that is an initializer of the model stays that, other state
    becomes initializers of the algorithm, and the initialization graph gives
    their first values. What the model computes as the step does is computed
    once: the algorithm refers to it. Names that both have get the suffix
    `_step` in the algorithm.

    Before, with `pipeline=amp-make-parameters,amp-differentiate{loss=loss},amp-attach-optimizer{optimizer=sgd}`:

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<f32> {
      %w = onnx.Initializer <dense<1.0> : tensor<2xf32>> : tensor<2xf32>
      %y = "onnx.Mul"(%x, %w) : ...
      %loss = "onnx.ReduceSum"(%y) : ...
      return %loss : tensor<f32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<f32> {
      ... // as before
    }
    func.func private @training.0.algorithm() -> (tensor<2xf32>, tensor<i64>) {
      %w = onnx.Reference "w" : tensor<2xf32>
      %x = onnx.Reference "x" : tensor<2xf32>
      %step = onnx.Initializer <dense<0> : tensor<i64>> : tensor<i64>
      ...
      return %w_next, %step_next : tensor<2xf32>, tensor<i64>
    }
    ```
  }];
  let options = [
    Option<"pipeline", "pipeline", "std::string", /*default=*/"",
           "Passes that make a step of the model">,
  ];
  let dependentDialects = ["::amp::onnx::ONNXDialect"];
}

def Recompute : Pass<"amp-recompute", "::mlir::ModuleOp"> {
  let summary = "Less memory: the backward part computes values again";
  let description = [{
    Runs nodes of the forward part again in the backward part, so that what they
    make need not be kept until then. One of three options says which:

    - `nodes`: those whose whole name matches, just before their first reader;
    - `budget`: as few flops as possible, so that activations never take more
      bytes; an error names the least that was found if that is too little;
    - `auto`: the least memory with no node running more than twice.

    For the last two the forward part is cut into stages. If it is a chain of
    at most 96 nodes, each is a stage, and plans are optimal among those that
    keep what they keep until it is needed (ChainPlan.h, which also says
    where that ends). Of other graphs, the
    values between the nodes of an order are what goes from stage to stage, and
    of longer ones, stages have several nodes: a heuristic. What is predicted
    is the peak of the order in which nodes stand: of what they make, without
    constants and outputs of the graph. No result is taken to overwrite an
    operand.

    Nothing is rounded another way: nodes are copied as they are. A node that
    may give something else the next time, as random ones do, is not repeated.
    Reshape nodes make copies, and readers in the backward part, wait for
    gradients: see Gates.h.

    Before, with `nodes=act`, where the backward part is one node:

    ```mlir
    %a = "onnx.MatMul"(%x, %w) : ...
    %h = "onnx.Tanh"(%a) {onnx.name = "act", onnx.outputs = ["h"]} : ...
    %loss = "onnx.ReduceSum"(%h) ...
    %dw = "onnx.Gemm"(%h, %dy) ...
    ```

    After:

    ```mlir
    %a = "onnx.MatMul"(%x, %w) : ...
    %h = "onnx.Tanh"(%a) {onnx.name = "act", onnx.outputs = ["h"]} : ...
    %loss = "onnx.ReduceSum"(%h) ...
    ...
    %late = "onnx.Reshape"(%a, %shape) : ...
    %again = "onnx.Tanh"(%late) {onnx.name = "act_again", onnx.outputs = ["h_again"]} : ...
    %dw = "onnx.Gemm"(%again, %dy) ...
    ```
  }];
  let dependentDialects = ["::amp::onnx::ONNXDialect"];
  let options = [
    Option<"isAutomatic", "auto", "bool", /*default=*/"false",
           "Least memory with no node running more than twice">,
    Option<"budget", "budget", "std::string", /*default=*/"",
           "Bytes of activations that there may be at a time, as in 256MiB">,
    Option<"nodes", "nodes", "std::string", /*default=*/"",
           "Regular expression on names of nodes">,
    ListOption<"losses", "loss", "std::string",
               "Names of values that end the forward part, besides the outputs "
               "that are no gradients">,
    ListOption<"dimensions", "dim", "std::string",
               "NAME=SIZE: what a dynamic dimension of this name is taken "
               "for">,
  ];
}

def PairGradients : Pass<"onnx-pair-gradients", "::mlir::ModuleOp"> {
  let summary = "Find the forward operations of a differentiated graph's gradients";
  let description = [{
    In the main graph of a model that ONNX Runtime has differentiated, gives a
    number (`amp.pair`) to each forward operation and to what its gradient is
    made of: gradient operators (ConvGrad), products and other arithmetic, by
    the names that ONNX Runtime gives them, else by the values that they share.
    amp-annotate-precision has them run in one format.

    Before:

    ```mlir
    %y = "onnx.Relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %dx = onnx.Custom "com.microsoft" "ReluGrad"(%dy, %y) : ...
    ```

    After:

    ```mlir
    %y = "onnx.Relu"(%x) {amp.pair = 0} : (tensor<4xf32>) -> tensor<4xf32>
    %dx = onnx.Custom "com.microsoft" "ReluGrad"(%dy, %y) : ... {amp.pair = 0}
    ```
  }];
  let dependentDialects = ["::amp::AMPDialect", "::amp::onnx::ONNXDialect"];
}

def ScaleOrtLoss : Pass<"onnx-scale-ort-loss", "::mlir::ModuleOp"> {
  let summary = "Loss scaling in ONNX Runtime's training artifacts";
  let description = [{
    In a training model, multiplies the gradient of the loss, an initializer
    `LOSS_grad`, by the scale, and unscales gradients, in float32, where
    InPlaceAccumulatorV2 adds them up. What is not finite stays so in the sums.
    The scale is state: `loss_scale` and `amp.growth_tracker` are inputs, and
    their next values outputs, beside `amp.found_inf`. With `static` it is a
    constant, and nothing is added to inputs and outputs.

    In an optimizer model, AdamWOptimizer and SGDOptimizerV2 get an
    `update_signal` that is false if an element of a gradient is not finite:
    nothing is updated then, and ONNX Runtime does not count the step.

    ONNX Runtime's training API feeds an optimizer model with what it knows and
    nothing else: this is why gradients are unscaled in the training model.
    Clipping, which is in the optimizer model, sees true gradients.

    In a model that is both (OrtModels.h), the signal is whether a gradient was
    finite when it was unscaled, and what is state has a default.

    Before:

    ```mlir
    %one = onnx.Initializer <dense<1.0> : tensor<f32>> : tensor<f32> {onnx.outputs = ["loss_grad"]}
    %g = onnx.Custom "com.microsoft" "SoftmaxCrossEntropyLossGrad"(%one, ...) : ...
    %ok = onnx.Custom "com.microsoft" "InPlaceAccumulatorV2"(%buffer, %dw, %reset) : ...
    ```

    After:

    ```mlir
    %one = onnx.Initializer <dense<1.0> : tensor<f32>> : tensor<f32> {onnx.outputs = ["loss_grad"]}
    %seed = amp.scale %one by %loss_scale : tensor<f32> to tensor<f32>
    %g = onnx.Custom "com.microsoft" "SoftmaxCrossEntropyLossGrad"(%seed, ...) : ...
    %u, %found_inf = amp.unscale safe %dw by %loss_scale : ...
    %new_scale, %new_tracker = amp.update_scale safe %loss_scale, %tracker after %found_inf
    %ok = onnx.Custom "com.microsoft" "InPlaceAccumulatorV2"(%buffer, %u, %reset) : ...
    ```
  }];
  let dependentDialects = ["::amp::AMPDialect", "::amp::onnx::ONNXDialect"];
  let options = [
    Option<"staticScale", "static", "double", /*default=*/"0",
           "The scale (0: dynamic)">,
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

def LowerOrt : Pass<"onnx-lower-ort", "::mlir::ModuleOp"> {
  let summary = "ONNX Runtime's training operators, as ONNX's own";
  let description = [{
    Rewrites the operators of `com.microsoft` in the main graph, those of ONNX
    Runtime's training artifacts among them, with operators of ai.onnx (opset 18
    at least: `onnx-raise-opset` goes before). Any runtime runs the result.

    What operators change in place becomes outputs, paired with the inputs that
    they are the next values of (`amp.state`): accumulated gradients of a
    training model, instead of the flags that it has; parameters and moments of
    an optimizer model, which stay sequences. Fails for an operator that is not
    known.

    Before:

    ```mlir
    %dx = onnx.Custom "com.microsoft" "ReluGrad"(%dy, %x) : ...
    ```

    After:

    ```mlir
    %positive = "onnx.Greater"(%x, %zero) : ...
    %dx = "onnx.Where"(%positive, %dy, %zero) : ...
    ```
  }];
  let dependentDialects = ["::amp::onnx::ONNXDialect"];
}

#endif // AMP_PASSES_TRAINING
