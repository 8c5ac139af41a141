//===- LibraryKernels.cpp - what the runtime's library has ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryKernels.h"

#include "amp/Dialect/ONNX/OperatorTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace amp;

/// A set of inputs.
template <typename... Inputs>
static constexpr uint8_t shapedBy(Inputs... inputs) {
  return (0 | ... | (1u << inputs));
}

static constexpr LibraryKernel kKernels[] = {
    {"", "Abs", "abs"},
    {"", "Acos", "acos"},
    {"", "Acosh", "acosh"},
    {"", "Add", "add"},
    {"", "AffineGrid", "affine_grid", shapedBy(1)},
    {"", "And", "and"},
    {"", "ArgMax", "arg_max"},
    {"", "ArgMin", "arg_min"},
    {"", "Asin", "asin"},
    {"", "Asinh", "asinh"},
    {"", "Atan", "atan"},
    {"", "Atanh", "atanh"},
    {"", "Attention", "attention"},
    {"", "AveragePool", "average_pool"},
    {"", "BatchNormalization", "batch_normalization"},
    {"", "Bernoulli", "bernoulli", 0, true},
    {"", "BitCast", "bit_cast"},
    {"", "BitShift", "bit_shift"},
    {"", "BitwiseAnd", "bitwise_and"},
    {"", "BitwiseNot", "bitwise_not"},
    {"", "BitwiseOr", "bitwise_or"},
    {"", "BitwiseXor", "bitwise_xor"},
    {"", "BlackmanWindow", "blackman_window", shapedBy(0)},
    {"", "Cast", "cast"},
    {"", "CastLike", "cast"},
    {"", "CausalConvWithState", "causal_conv_with_state"},
    {"", "Ceil", "ceil"},
    {"", "Celu", "celu"},
    {"", "CenterCropPad", "center_crop_pad", shapedBy(1)},
    {"", "Clip", "clip"},
    {"", "Col2Im", "col2im", shapedBy(1, 2)},
    {"", "Compress", "compress", shapedBy(0, 1)},
    {"", "Concat", "concat"},
    {"", "ConstantOfShape", "constant_of_shape", shapedBy(0)},
    {"", "Conv", "conv"},
    {"", "ConvInteger", "conv_integer"},
    {"", "ConvTranspose", "conv_transpose"},
    {"", "Cos", "cos"},
    {"", "Cosh", "cosh"},
    {"", "CumProd", "cum_prod"},
    {"", "CumSum", "cum_sum"},
    {"", "DFT", "dft", shapedBy(1, 2)},
    {"", "DeformConv", "deform_conv"},
    {"", "DepthToSpace", "depth_to_space"},
    {"", "DequantizeLinear", "dequantize_linear"},
    {"", "Det", "det"},
    {"", "Div", "div"},
    {"", "Dropout", "dropout", 0, true},
    {"", "DynamicQuantizeLinear", "dynamic_quantize_linear"},
    {"", "Einsum", "einsum"},
    {"", "Elu", "elu"},
    {"", "Equal", "equal"},
    {"", "Erf", "erf"},
    {"", "Exp", "exp"},
    {"", "Expand", "expand", shapedBy(1)},
    {"", "EyeLike", "eye_like"},
    {"", "Flatten", "flatten"},
    {"", "Floor", "floor"},
    {"", "GRU", "gru"},
    {"", "Gather", "gather"},
    {"", "GatherElements", "gather_elements"},
    {"", "GatherND", "gather_nd"},
    {"", "Gelu", "gelu"},
    {"", "Gemm", "gemm"},
    {"", "GlobalAveragePool", "global_average_pool"},
    {"", "GlobalLpPool", "global_lp_pool"},
    {"", "GlobalMaxPool", "global_max_pool"},
    {"", "Greater", "greater"},
    {"", "GreaterOrEqual", "greater_or_equal"},
    {"", "GridSample", "grid_sample"},
    {"", "GroupNormalization", "group_normalization"},
    {"", "HammingWindow", "hamming_window", shapedBy(0)},
    {"", "HannWindow", "hann_window", shapedBy(0)},
    {"", "HardSigmoid", "hard_sigmoid"},
    {"", "HardSwish", "hard_swish"},
    {"", "Hardmax", "hardmax"},
    {"", "Identity", "identity"},
    {"", "InstanceNormalization", "instance_normalization"},
    {"", "IsInf", "is_inf"},
    {"", "IsNaN", "is_nan"},
    {"", "LRN", "lrn"},
    {"", "LSTM", "lstm"},
    {"", "LayerNormalization", "layer_normalization"},
    {"", "LeakyRelu", "leaky_relu"},
    {"", "Less", "less"},
    {"", "LessOrEqual", "less_or_equal"},
    {"", "LinearAttention", "linear_attention"},
    {"", "Log", "log"},
    {"", "LogSoftmax", "log_softmax"},
    {"", "LpNormalization", "lp_normalization"},
    {"", "LpPool", "lp_pool"},
    {"", "MatMul", "matmul"},
    {"", "MatMulInteger", "matmul_integer"},
    {"", "Max", "max"},
    {"", "MaxPool", "max_pool"},
    {"", "MaxRoiPool", "max_roi_pool"},
    {"", "MaxUnpool", "max_unpool", shapedBy(2)},
    {"", "Mean", "mean"},
    {"", "MeanVarianceNormalization", "mean_variance_normalization"},
    {"", "MelWeightMatrix", "mel_weight_matrix", shapedBy(0, 1, 2, 3, 4)},
    {"", "Min", "min"},
    {"", "Mish", "mish"},
    {"", "Mod", "mod"},
    {"", "Mul", "mul"},
    {"", "Multinomial", "multinomial", 0, true},
    {"", "Neg", "neg"},
    {"", "NegativeLogLikelihoodLoss", "negative_log_likelihood_loss"},
    {"", "NonMaxSuppression", "non_max_suppression", shapedBy(0, 1, 2, 3, 4)},
    {"", "NonZero", "non_zero", shapedBy(0)},
    {"", "Not", "not"},
    {"", "OneHot", "one_hot", shapedBy(1)},
    {"", "Or", "or"},
    {"", "PRelu", "prelu"},
    {"", "Pad", "pad", shapedBy(1, 3)},
    {"", "Pow", "pow"},
    {"", "QLinearConv", "qlinear_conv"},
    {"", "QLinearMatMul", "qlinear_matmul"},
    {"", "QuantizeLinear", "quantize_linear"},
    {"", "RMSNormalization", "rms_normalization"},
    {"", "RNN", "rnn"},
    {"", "RandomNormal", "random_normal", 0, true},
    {"", "RandomNormalLike", "random_normal_like", 0, true},
    {"", "RandomUniform", "random_uniform", 0, true},
    {"", "RandomUniformLike", "random_uniform_like", 0, true},
    {"", "Range", "range", shapedBy(0, 1, 2)},
    {"", "Reciprocal", "reciprocal"},
    {"", "ReduceL1", "reduce_l1", shapedBy(1)},
    {"", "ReduceL2", "reduce_l2", shapedBy(1)},
    {"", "ReduceLogSum", "reduce_log_sum", shapedBy(1)},
    {"", "ReduceLogSumExp", "reduce_log_sum_exp", shapedBy(1)},
    {"", "ReduceMax", "reduce_max", shapedBy(1)},
    {"", "ReduceMean", "reduce_mean", shapedBy(1)},
    {"", "ReduceMin", "reduce_min", shapedBy(1)},
    {"", "ReduceProd", "reduce_prod", shapedBy(1)},
    {"", "ReduceSum", "reduce_sum", shapedBy(1)},
    {"", "ReduceSumSquare", "reduce_sum_square", shapedBy(1)},
    {"", "RegexFullMatch", "regex_full_match"},
    {"", "Relu", "relu"},
    {"", "Reshape", "reshape", shapedBy(1)},
    {"", "Resize", "resize", shapedBy(2, 3)},
    {"", "ReverseSequence", "reverse_sequence"},
    {"", "RoiAlign", "roi_align"},
    {"", "RotaryEmbedding", "rotary_embedding"},
    {"", "Round", "round"},
    {"", "STFT", "stft", shapedBy(1, 3)},
    {"", "ScatterElements", "scatter_elements"},
    {"", "ScatterND", "scatter_nd"},
    {"", "Selu", "selu"},
    {"", "Shape", "shape"},
    {"", "Shrink", "shrink"},
    {"", "Sigmoid", "sigmoid"},
    {"", "Sign", "sign"},
    {"", "Sin", "sin"},
    {"", "Sinh", "sinh"},
    {"", "Size", "size"},
    {"", "Slice", "slice", shapedBy(1, 2, 3, 4)},
    {"", "Softmax", "softmax"},
    {"", "SoftmaxCrossEntropyLoss", "softmax_cross_entropy_loss"},
    {"", "Softplus", "softplus"},
    {"", "Softsign", "softsign"},
    {"", "SpaceToDepth", "space_to_depth"},
    {"", "Split", "split", shapedBy(1)},
    {"", "Sqrt", "sqrt"},
    {"", "Squeeze", "squeeze", shapedBy(1)},
    {"", "StringConcat", "string_concat"},
    {"", "StringNormalizer", "string_normalizer", shapedBy(0)},
    {"", "StringSplit", "string_split", shapedBy(0)},
    {"", "Sub", "sub"},
    {"", "Sum", "sum"},
    {"", "SwiGLU", "swiglu"},
    {"", "Swish", "swish"},
    {"", "Tan", "tan"},
    {"", "Tanh", "tanh"},
    {"", "TensorScatter", "tensor_scatter"},
    {"", "TfIdfVectorizer", "tfidf_vectorizer"},
    {"", "ThresholdedRelu", "thresholded_relu"},
    {"", "Tile", "tile", shapedBy(1)},
    {"", "TopK", "top_k", shapedBy(1)},
    {"", "Transpose", "transpose"},
    {"", "Trilu", "trilu"},
    {"", "Unique", "unique", shapedBy(0)},
    {"", "Unsqueeze", "unsqueeze", shapedBy(1)},
    {"", "Where", "where"},
    {"", "Xor", "xor"},
};

ArrayRef<LibraryKernel> amp::getLibraryKernels() { return kKernels; }

const LibraryKernel *amp::findLibraryKernel(Operation *op) {
  const onnx::OperatorInfo *info = onnx::lookupOperator(op->getName());
  if (!info)
    return nullptr;
  const LibraryKernel *found = llvm::lower_bound(
      kKernels, info->name, [](const LibraryKernel &kernel, StringRef name) {
        return kernel.op < name;
      });
  return found != std::end(kKernels) && found->op == info->name &&
                 found->domain == info->domain
             ? found
             : nullptr;
}

const LibraryKernel *amp::findLibraryKernel(StringRef kernel) {
  static const llvm::StringMap<const LibraryKernel *> kernels = [] {
    llvm::StringMap<const LibraryKernel *> map;
    for (const LibraryKernel &entry : kKernels)
      map[entry.kernel] = &entry;
    return map;
  }();
  return kernels.lookup(kernel);
}
