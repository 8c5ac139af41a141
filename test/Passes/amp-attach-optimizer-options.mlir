// RUN: amp-opt %s --amp-make-parameters --amp-differentiate="loss=loss" --amp-attach-optimizer="optimizer=sgd lr=0.5 weight-decay=0.25 group={{.*bias:lr=4,decay=0}}" | FileCheck %s --check-prefix=GROUP
// RUN: amp-opt %s --amp-make-parameters --amp-differentiate="loss=loss" --amp-attach-optimizer="optimizer=sgd lr=0.5 schedule=cosine:warmup=4,total=20,end=0.25" | FileCheck %s --check-prefix=COSINE
// RUN: amp-opt %s --amp-make-parameters --amp-differentiate="loss=loss" --amp-attach-optimizer="optimizer=sgd lr=0.5 schedule=linear:total=20" | FileCheck %s --check-prefix=LINEAR
// RUN: amp-opt %s --amp-make-parameters --amp-differentiate="loss=loss" --amp-attach-optimizer="optimizer=sgd lr=0.5 schedule=input group=.*bias:lr=4" | FileCheck %s --check-prefix=INPUT
// RUN: amp-opt %s --amp-make-parameters --amp-differentiate="loss=loss seed=scale" --amp-attach-optimizer="optimizer=sgd seed=scale clip-value=2 clip-norm=1 ema=0.75" | FileCheck %s --check-prefix=AVERAGE
// RUN: amp-opt %s --amp-make-parameters --amp-differentiate="loss=loss" --amp-attach-optimizer="optimizer=adamw" | FileCheck %s --check-prefix=SCALARS

module attributes {onnx.model = {ir_version = 10 : i64, opset_import = [{domain = "", version = 20 : i64}]}} {
  // GROUP: func.func @main(%{{.*}}, %{{.*}}, %[[W:.*]]: tensor<3x1xf32>, %[[B:.*]]: tensor<1xf32>, %
  // GROUP-DAG: %[[QUARTER:.*]] = "onnx.Constant"() <{value = #onnx.tensor<dense<2.500000e-01> : tensor<f32>>
  // GROUP-DAG: %[[HALF:.*]] = "onnx.Constant"() <{value = #onnx.tensor<dense<5.000000e-01> : tensor<f64>>
  // GROUP: "onnx.Mul"(%[[W]], %[[QUARTER]])
  // GROUP: "onnx.Cast"(%[[HALF]])
  // GROUP: "onnx.Sub"(%[[W]],
  // GROUP: %[[TWO:.*]] = "onnx.Constant"() <{value = #onnx.tensor<dense<2.000000e+00> : tensor<f64>>
  // GROUP-NOT: "onnx.Mul"(%[[B]],
  // GROUP: "onnx.Cast"(%[[TWO]])
  // GROUP: "onnx.Sub"(%[[B]],

  // Step 1 is behind no others.
  // COSINE: %[[COUNT:.*]] = "onnx.Cast"({{.*}} -> tensor<f64>
  // COSINE: %[[TAKEN:.*]] = "onnx.Sub"(%[[COUNT]],
  // COSINE: %[[COS:.*]] = "onnx.Cos"
  // COSINE: %[[WARM:.*]] = "onnx.Div"(%[[TAKEN]],
  // COSINE: %[[FACTOR:.*]] = "onnx.Min"(%[[WARM]],
  // COSINE: %[[RATE:.*]] = "onnx.Mul"(%{{.*}}, %[[FACTOR]])
  // COSINE: "onnx.Cast"(%[[RATE]]) <{to = 1 : i64}>

  // LINEAR: %[[TAKEN:.*]] = "onnx.Sub"
  // LINEAR: %[[LEFT:.*]] = "onnx.Sub"(%{{.*}}, %[[TAKEN]])
  // LINEAR: %[[SHARE:.*]] = "onnx.Div"(%[[LEFT]],
  // LINEAR: %[[FACTOR:.*]] = "onnx.Max"(%{{.*}}, %[[SHARE]])
  // LINEAR-NOT: "onnx.Min"
  // LINEAR: "onnx.Mul"(%{{.*}}, %[[FACTOR]])

  // The corrections of the bias, 1 - beta^t, are those of all parameters.
  // SCALARS-COUNT-2: onnx.Pow
  // SCALARS-NOT: onnx.Pow

  // INPUT: func.func @main({{.*}}, %[[RATE:[^ ]*]]: tensor<f64>)
  // INPUT-SAME: {name = "amp.lr"}]
  // INPUT: onnx.DefaultInput %[[RATE]], <dense<5.000000e-01> : tensor<f64>>
  // INPUT: "onnx.Cast"(%[[RATE]])
  // INPUT: %[[MORE:.*]] = "onnx.Mul"(%[[RATE]],
  // INPUT: "onnx.Cast"(%[[MORE]])

  // The average begins with the weights, and is guarded like them.
  // AVERAGE: %[[E:[^ ]*]]: tensor<3x1xf32>, %[[EB:[^ ]*]]: tensor<1xf32>, %{{[^ ]*}}: tensor<i64>)
  // AVERAGE-SAME: {name = "fc.weight.ema"}, {name = "fc.bias.ema"}
  // AVERAGE: onnx.DefaultInput %[[E]], <dense<3.000000e+00> : tensor<3x1xf32>>
  // AVERAGE: %[[U:.*]]:2, %[[FOUND:.*]] = amp.unscale
  // AVERAGE: %[[C0:.*]] = "onnx.Clip"(%[[U]]#0,
  // AVERAGE: %[[C1:.*]] = "onnx.Clip"(%[[U]]#1,
  // AVERAGE: amp.clip_grad_norm %[[C0]], %[[C1]] to 1.000000e+00
  // AVERAGE: amp.guard %[[FOUND]] keeps %{{.*}}, %{{.*}}, %[[E]], %[[EB]],
  // AVERAGE: %[[NEXT:.*]] = "onnx.Sub"
  // AVERAGE: %[[D:.*]] = "onnx.Sub"(%[[NEXT]], %[[E]])
  // AVERAGE: %[[PART:.*]] = "onnx.Mul"(%[[D]],
  // AVERAGE: "onnx.Add"(%[[E]], %[[PART]])
  func.func @main(%x: tensor<2x3xf32>, %scale: tensor<f32>) -> tensor<f32> attributes {onnx.graph = {input = [{name = "x"}, {name = "scale"}], name = "g", output = [{name = "loss"}]}} {
    %w = onnx.Initializer <dense<3.0> : tensor<3x1xf32>> : tensor<3x1xf32> {onnx.outputs = ["fc.weight"]}
    %b = onnx.Initializer <dense<1.0> : tensor<1xf32>> : tensor<1xf32> {onnx.outputs = ["fc.bias"]}
    %0 = "onnx.Gemm"(%x, %w, %b) : (tensor<2x3xf32>, tensor<3x1xf32>, tensor<1xf32>) -> tensor<2x1xf32>
    %loss = "onnx.ReduceSum"(%0) <{keepdims = 0 : i64}> {onnx.outputs = ["loss"]} : (tensor<2x1xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
