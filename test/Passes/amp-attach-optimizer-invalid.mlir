// RUN: not amp-opt %s --amp-attach-optimizer 2>&1 | FileCheck %s --check-prefix=NONE
// DEFINE: %{options} =
// DEFINE: %{attach} = not amp-opt %s --amp-make-parameters --amp-differentiate="loss=loss" --amp-attach-optimizer="%{options}" 2>&1 | FileCheck %s

// REDEFINE: %{options} = optimizer=adm
// RUN: %{attach} --check-prefix=NAME
// REDEFINE: %{options} = optimizer=adam settings=beta3=1
// RUN: %{attach} --check-prefix=SETTING
// REDEFINE: %{options} = optimizer=sgd settings=beta1=0
// RUN: %{attach} --check-prefix=SETTINGS
// REDEFINE: %{options} = optimizer=adam settings=beta1=1
// RUN: %{attach} --check-prefix=RANGE
// REDEFINE: %{options} = optimizer=adafactor settings=beta2_decay=0
// RUN: %{attach} --check-prefix=BELOW
// REDEFINE: %{options} = optimizer=adam settings=amsgrad=0.5
// RUN: %{attach} --check-prefix=FLAG
// REDEFINE: %{options} = optimizer=adam settings=beta1
// RUN: %{attach} --check-prefix=NUMBER
// REDEFINE: %{options} = optimizer=sgd settings=nesterov=1
// RUN: %{attach} --check-prefix=NESTEROV
// REDEFINE: %{options} = seed=los
// RUN: %{attach} --check-prefix=SEED
// REDEFINE: %{options} = scaler-mode=save
// RUN: %{attach} --check-prefix=MODE
// REDEFINE: %{options} = parameters=*
// RUN: %{attach} --check-prefix=PATTERN
// REDEFINE: %{options} = parameters=v.*
// RUN: %{attach} --check-prefix=MATCH
// REDEFINE: %{options} = lr=inf
// RUN: %{attach} --check-prefix=RATE
// REDEFINE: %{options} = weight-decay=inf
// RUN: %{attach} --check-prefix=DECAY
// REDEFINE: %{options} = clip-norm=-1
// RUN: %{attach} --check-prefix=CLIP-NORM
// REDEFINE: %{options} = clip-value=-1
// RUN: %{attach} --check-prefix=CLIP-VALUE
// REDEFINE: %{options} = ema=1
// RUN: %{attach} --check-prefix=EMA

// REDEFINE: %{options} = schedule=consine:total=9
// RUN: %{attach} --check-prefix=SCHEDULE
// REDEFINE: %{options} = schedule=linear:warmup=9
// RUN: %{attach} --check-prefix=TOTAL
// REDEFINE: %{options} = schedule=linear:warmup=9,total=8
// RUN: %{attach} --check-prefix=WARMUP
// REDEFINE: %{options} = schedule=linear:total=8.5
// RUN: %{attach} --check-prefix=WHOLE
// REDEFINE: %{options} = schedule=cosine:total=8,start=1
// RUN: %{attach} --check-prefix=SCHEDULE-SETTING

// REDEFINE: %{options} = group=fc.wieght:lr=2
// RUN: %{attach} --check-prefix=NEAREST
// REDEFINE: %{options} = group=convolution.*:lr=2
// RUN: %{attach} --check-prefix=LIST
// REDEFINE: %{options} = group=fc.*:lr=2 group=fc.weight:decay=0
// RUN: %{attach} --check-prefix=BEFORE
// REDEFINE: %{options} = group=fc.weight
// RUN: %{attach} --check-prefix=FORM
// REDEFINE: %{options} = group=fc.weight:lr
// RUN: %{attach} --check-prefix=GROUP-NUMBER
// REDEFINE: %{options} = group=fc.weight:dcay=0
// RUN: %{attach} --check-prefix=GROUP-SETTING
// REDEFINE: %{options} = group=fc.weight:lr=-1
// RUN: %{attach} --check-prefix=GROUP-RANGE
// REDEFINE: %{options} = group=fc)|(x:lr=1
// RUN: %{attach} --check-prefix=EXPRESSION

// NONE: error: has no input 'X' with an output 'X_grad': amp-differentiate makes them
// NAME: error: no optimizer is called 'adm'; did you mean 'adam'? (sgd, adam, adamw, adagrad, adafactor, lion)
// SETTING: error: adam has no setting 'beta3'; did you mean 'beta1'?
// SETTINGS: error: sgd has no setting 'beta1' (momentum, dampening, nesterov)
// RANGE: error: beta1 of adam expects a number from 0 to below 1, but got 1
// BELOW: error: beta2_decay of adafactor expects a number below 0, but got 0
// FLAG: error: amsgrad of adam expects 0 or 1, but got 0.5
// NUMBER: error: adam expects settings NAME=NUMBER, but got 'beta1'
// NESTEROV: error: nesterov of sgd expects momentum, and no dampening
// SEED: error: seed: no value is named 'los'
// MODE: error: scaler-mode: expects torch or safe, but got 'save'
// PATTERN: error: parameters: '*' is no regular expression: repetition-operator operand invalid
// MATCH: error: parameters: none that has no optimizer yet has a name like 'v.*'
// RATE: error: lr expects a number from 0, but got inf
// DECAY: error: weight-decay expects a number from 0, but got inf
// CLIP-NORM: error: clip-norm expects a number from 0, but got -1
// CLIP-VALUE: error: clip-value expects a number from 0, but got -1
// EMA: error: ema expects a number from 0 to below 1, but got 1
// SCHEDULE: error: no schedule is called 'consine'; did you mean 'cosine'? (constant, linear, cosine, input)
// TOTAL: error: schedule linear expects total=STEPS
// WARMUP: error: schedule linear expects no more steps of warmup than in total, but got 9 of 8
// WHOLE: error: total of schedule linear expects a whole number from 1, but got 8.5
// SCHEDULE-SETTING: error: schedule cosine has no setting 'start' (warmup, total, end)
// NEAREST: error: group: no parameter has a name like 'fc.wieght'; did you mean 'fc.weight'?
// LIST: error: group: no parameter has a name like 'convolution.*' ('fc.weight', 'fc.bias')
// BEFORE: error: group: all parameters like 'fc.weight' are in groups before it
// FORM: error: group: expected REGEX:lr=FACTOR,decay=NUMBER, but got 'fc.weight'
// GROUP-NUMBER: error: group 'fc.weight' expects settings NAME=NUMBER, but got 'lr'
// GROUP-SETTING: error: group 'fc.weight' has no setting 'dcay'; did you mean 'decay'?
// GROUP-RANGE: error: lr of group 'fc.weight' expects a number from 0, but got -1
// EXPRESSION: error: group: 'fc)|(x' is no regular expression: parentheses not balanced

module attributes {onnx.model = {ir_version = 10 : i64, opset_import = [{domain = "", version = 20 : i64}]}} {
  func.func @main(%x: tensor<2x3xf32>) -> tensor<f32> attributes {onnx.graph = {input = [{name = "x"}], name = "g", output = [{name = "loss"}]}} {
    %w = onnx.Initializer <dense<1.0> : tensor<3x1xf32>> : tensor<3x1xf32> {onnx.outputs = ["fc.weight"]}
    %b = onnx.Initializer <dense<1.0> : tensor<1xf32>> : tensor<1xf32> {onnx.outputs = ["fc.bias"]}
    %0 = "onnx.Gemm"(%x, %w, %b) : (tensor<2x3xf32>, tensor<3x1xf32>, tensor<1xf32>) -> tensor<2x1xf32>
    %loss = "onnx.ReduceSum"(%0) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<2x1xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
