// RUN: amp-opt %s --split-input-file "--amp-differentiate=loss=loss wrt=w" | FileCheck %s

// The gradient of an If is one of the same condition. What the branch that ran
// made is a result; the other one has nothing for it.
module attributes {onnx.model = {opset_import = [{domain = "", version = 21 : i64}]}} {
  // CHECK-LABEL: func.func @main(
  // CHECK-SAME: %[[W:[^:]+]]: tensor<4xf32>, %[[C:[^:]+]]: tensor<i1>
  func.func @main(%w: tensor<4xf32>, %c: tensor<i1>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "w"}, {name = "c"}], output = [{name = "loss"}]}} {
    // CHECK: %[[Y:.+]]:2 = "onnx.If"(%[[C]])
    // CHECK: %[[Z:.+]] = "onnx.ConstantOfShape"
    // CHECK: onnx.Yield %{{.+}}, %[[Z]]
    // CHECK: %[[T:.+]] = "onnx.Tanh"
    // CHECK: onnx.Yield %{{.+}}, %[[T]]
    // CHECK: onnx.outputs = ["y", ""]
    %y = "onnx.If"(%c) ({
      onnx.Yield %w : tensor<4xf32>
    }, {
      %t = "onnx.Tanh"(%w) : (tensor<4xf32>) -> tensor<4xf32>
      %s = "onnx.Tanh"(%t) : (tensor<4xf32>) -> tensor<4xf32>
      onnx.Yield %s : tensor<4xf32>
    }) {onnx.outputs = ["y"]} : (tensor<i1>) -> tensor<4xf32>
    %loss = "onnx.ReduceSum"(%y) <{keepdims = 0 : i64}> : (tensor<4xf32>) -> tensor<f32>
    // CHECK: %[[DW:.+]] = "onnx.If"(%[[C]])
    // CHECK-NOT: onnx.Tanh
    // CHECK: "onnx.Mul"(%[[Y]]#0, %[[Y]]#0)
    // CHECK: "onnx.Mul"(%[[Y]]#1, %[[Y]]#1)
    // CHECK: return %{{.+}}, %[[DW]]
    return %loss : tensor<f32>
  }
}

// -----

// That of a Loop runs over as many iterations, the last one first, and takes
// slices of what they made.
module attributes {onnx.model = {opset_import = [{domain = "", version = 21 : i64}]}} {
  // CHECK-LABEL: func.func @main(
  // CHECK-SAME: %[[X:[^:]+]]: tensor<4xf32>, %[[W:[^:]+]]: tensor<4xf32>
  func.func @main(%x: tensor<4xf32>, %w: tensor<4xf32>, %n: tensor<i64>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "x"}, {name = "w"}, {name = "n"}], output = [{name = "loss"}]}} {
    %yes = "onnx.Constant"() <{value = #onnx.tensor<dense<true> : tensor<i1>>}> : () -> tensor<i1>
    // CHECK: %[[Y:.+]]:2 = "onnx.Loop"
    // CHECK: ^bb0(%{{.+}}: tensor<i64>, %{{.+}}: tensor<i1>, %[[V:.+]]: tensor<4xf32>):
    // CHECK: onnx.Yield %{{.+}}, %{{.+}}, %[[V]]
    %y = "onnx.Loop"(%n, %yes, %x) <{operandSegmentSizes = array<i32: 1, 1, 1>}> ({
    ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<*xf32>):
      %u = "onnx.Mul"(%v, %w) : (tensor<*xf32>, tensor<4xf32>) -> tensor<*xf32>
      onnx.Yield %go, %u : tensor<i1>, tensor<*xf32>
    }) {onnx.outputs = ["y"]} : (tensor<i64>, tensor<i1>, tensor<4xf32>) -> tensor<*xf32>
    %loss = "onnx.ReduceSum"(%y) <{keepdims = 0 : i64}> : (tensor<*xf32>) -> tensor<f32>
    // CHECK: %[[SIZE:.+]] = "onnx.Shape"(%[[Y]]#1)
    // CHECK: %[[N:.+]] = "onnx.Squeeze"(%[[SIZE]]
    // CHECK: %[[LAST:.+]] = "onnx.Sub"(%[[N]], %{{.+}})
    // CHECK: %[[DW:.+]]:3 = "onnx.Loop"(%[[N]], %{{.+}}, %[[LAST]], %{{.+}}, %{{.+}})
    // CHECK: ^bb0(%{{.+}}: tensor<i64>, %{{.+}}: tensor<i1>, %[[I:.+]]: tensor<i64>, %[[DY:.+]]: tensor<4xf32>, %[[SUM:.+]]: tensor<4xf32>):
    // CHECK: %[[SLICE:.+]] = "onnx.Gather"(%[[Y]]#1, %[[I]])
    // CHECK: %[[DV:.+]] = "onnx.Mul"(%[[DY]], %[[W]])
    // CHECK: %[[ONE:.+]] = "onnx.Mul"(%[[DY]], %[[SLICE]])
    // CHECK: %[[NEXT:.+]] = "onnx.Sub"(%[[I]], %{{.+}})
    // CHECK: %[[MORE:.+]] = "onnx.Add"(%[[SUM]], %[[ONE]])
    // CHECK: onnx.Yield %{{.+}}, %[[NEXT]], %[[DV]], %[[MORE]]
    // CHECK: return %{{.+}}, %[[DW]]#2
    return %loss : tensor<f32>
  }
}

// -----

// Calls between the two are inlined, with the attributes that they pass.
module attributes {onnx.model = {opset_import = [{domain = "", version = 21 : i64}]}} {
  // CHECK-LABEL: func.func @main(
  func.func @main(%w: tensor<4xf32>) -> tensor<f32> attributes {onnx.graph = {name = "g", input = [{name = "w"}], output = [{name = "loss"}]}} {
    // CHECK: "onnx.ReduceSum"{{.*}} <{keepdims = 0 : i64}> {onnx.name = "call/sum", onnx.outputs = ["loss"]}
    // CHECK: onnx.Call @"local::other"
    %loss = onnx.Call @"local::f"(%w) {keep = 0 : i64} : (tensor<4xf32>) -> tensor<f32> {onnx.name = "call", onnx.outputs = ["loss"]}
    %other = onnx.Call @"local::other"(%w) : (tensor<4xf32>) -> tensor<4xf32> {onnx.outputs = ["other"]}
    return %loss : tensor<f32>
  }
  func.func private @"local::f"(%a: tensor<4xf32>) -> tensor<*xf32> attributes {onnx.function = {attribute = ["keep"], domain = "local", input = ["a"], name = "f", opset_import = [{domain = "", version = 21 : i64}], output = ["b"]}} {
    %b = "onnx.ReduceSum"(%a) {onnx.name = "sum", onnx.node = {attribute_fields = {keepdims = {ref_attr_name = "keep", type = 2 : i64}}}, onnx.outputs = ["b"]} : (tensor<4xf32>) -> tensor<*xf32>
    return %b : tensor<*xf32>
  }
  func.func private @"local::other"(%a: tensor<4xf32>) -> tensor<4xf32> attributes {onnx.function = {domain = "local", input = ["a"], name = "other", opset_import = [{domain = "", version = 21 : i64}], output = ["b"]}} {
    return %a : tensor<4xf32>
  }
}
