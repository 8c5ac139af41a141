// RUN: amp-test-opt %s --split-input-file --verify-diagnostics \
// RUN:   --amp-annotate-precision="policy=%S/Inputs/policy.yaml"
// RUN: not amp-test-opt %s --split-input-file --amp-annotate-precision="policy=inferense" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=PRESET
// RUN: not amp-test-opt %s --split-input-file --amp-annotate-precision="low=fp32" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LOW
// RUN: not amp-test-opt %s --split-input-file --amp-annotate-precision="low=float15" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NO-FORMAT
// RUN: not amp-test-opt %s --split-input-file --amp-annotate-precision="keep-node=(" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=EXPRESSION
// RUN: not amp-test-opt %s --split-input-file --amp-annotate-precision="dim=N=0" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=DIMENSION
// RUN: not amp-test-opt %s --split-input-file --amp-annotate-precision="range-margin=0.5" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MARGIN

// PRESET: error: {{.*}}'inferense'{{.*}}'inference'
// LOW: error: expects fp16, bf16 or tf32 as the low format, but got 'fp32'
// NO-FORMAT: error: expects fp16, bf16 or tf32 as the low format, but got 'float15'
// EXPRESSION: error: {{.*}}'('
// DIMENSION: error: expects a dimension as NAME=SIZE with a size of 1 or more, but got 'N=0'
// MARGIN: error: expects a margin of measured ranges of 1 or more, but got 5.000000e-01

func.func @banned(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{t:banned is ban: use t.softmax}}
  %0 = t.banned %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @banned_in_region(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = t.if %c : (tensor<i1>) -> tensor<4xf32> {
    // expected-error @+1 {{t:banned is ban: use t.softmax}}
    %1 = t.banned %x : (tensor<4xf32>) -> tensor<4xf32>
    t.yield %1 : tensor<4xf32>
  } else {
    t.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
