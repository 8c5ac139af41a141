//===- Conv.cpp - Conv, ConvTranspose and the gradient of weights ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// conv            X, W, bias, residual -> Y; attributes of ONNX's Conv and
//                 FusedActivation: activation(Conv(X, W, bias) + residual)
// conv_transpose  X, W, bias, residual -> Y; the same of ConvTranspose. It is
//                 also the gradient of conv for X, where output_shape says the
//                 size of X and pads are conv's
// conv_weight_gradient  X, dY -> dW; attributes of the Conv, kernel_shape among
//                 them
//
// One to three spatial dimensions; float32, float16 and bfloat16, in any
// combination.
//
//===----------------------------------------------------------------------===//

#include "CPU/Convolution.h"
#include "CPU/FusedActivation.h"
#include "CPU/Kernels.h"
#include "CPU/ThreadPool.h"

#include <algorithm>

using namespace amp::runtime;

namespace {

enum class Kind { Forward, Transposed, WeightGradient };

class ConvKernel final : public Kernel {
public:
  static Result<std::unique_ptr<Kernel>> create(const Attributes &attributes,
                                                Kind kind) {
    Result<FusedActivation> activation = FusedActivation::get(attributes);
    if (!activation.ok())
      return activation.getStatus();
    auto kernel = std::make_unique<ConvKernel>();
    kernel->kind = kind;
    kernel->activation = *activation;
    kernel->autoPad = attributes.getString("auto_pad", "NOTSET");
    if (kernel->autoPad != "NOTSET" && kernel->autoPad != "VALID" &&
        kernel->autoPad != "SAME_UPPER" && kernel->autoPad != "SAME_LOWER")
      return Status::error("there is no auto_pad '" + kernel->autoPad + "'");
    kernel->group = attributes.getInt("group", 1);
    kernel->kernelShape = attributes.getInts("kernel_shape");
    kernel->strides = attributes.getInts("strides");
    kernel->dilations = attributes.getInts("dilations");
    kernel->pads = attributes.getInts("pads");
    kernel->outputPadding = attributes.getInts("output_padding");
    kernel->outputShape = attributes.getInts("output_shape");
    if (kernel->group < 1)
      return Status::error("group must be at least 1, but is " +
                           std::to_string(kernel->group));
    for (const std::vector<int64_t> *values :
         {&kernel->strides, &kernel->dilations, &kernel->kernelShape})
      for (int64_t value : *values)
        if (value < 1)
          return Status::error("strides, dilations and kernel_shape must be at "
                               "least 1, but one is " +
                               std::to_string(value));
    if (kind == Kind::WeightGradient && kernel->kernelShape.empty())
      return Status::error("conv_weight_gradient needs kernel_shape");
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    size_t most = kind == Kind::WeightGradient ? 2 : 4;
    if (inputs.size < 2 || inputs.size > most || outputs.size != 1)
      return Status::error("a convolution has 2 to " + std::to_string(most) +
                           " inputs and 1 output, but got " +
                           std::to_string(inputs.size) + " and " +
                           std::to_string(outputs.size));
    for (size_t i = 0; i < inputs.size; ++i)
      if (!isEngineType(inputs[i].type) &&
          (i < 2 || inputs[i].type != DataType::Undefined))
        return Status::error("there is no convolution of type " +
                             std::string(getName(inputs[i].type)));
    if (!isEngineType(outputs[0].type))
      return Status::error("there is no convolution of type " +
                           std::string(getName(outputs[0].type)));
    Convolution conv;
    if (Status status = setSizes(inputs, conv); !status.ok())
      return status;
    const Shape &x = inputs[0].shape;
    size_t rank = x.getRank();
    Shape &out = outputs[0].shape;
    out.clear();
    if (kind == Kind::WeightGradient) {
      out.push_back(inputs[1].shape[1]);
      out.push_back(conv.images);
    } else {
      out.push_back(conv.images);
      out.push_back(conv.groups * conv.outChannels);
    }
    for (size_t i = 2; i < rank; ++i)
      out.push_back(conv.out[getAxis(i - 2, rank)]);
    if (hasInput(inputs, 2) && inputs[2].shape != Shape{out[1]})
      return Status::error("the bias has dimensions " +
                           toString(inputs[2].shape) + " for " +
                           std::to_string(out[1]) + " channels");
    if (hasInput(inputs, 3) && inputs[3].shape != out)
      return Status::error("the residual has dimensions " +
                           toString(inputs[3].shape) + " for an output of " +
                           toString(out));
    return {};
  }

  size_t getScratchSize(Span<const TensorView> inputs,
                        Span<const TensorView> outputs,
                        unsigned threads) const override {
    return getConvolution(inputs, outputs[0]).getScratchSize(threads, getIsa());
  }

  Status run(const KernelArguments &arguments) const override {
    getConvolution(arguments.inputs, arguments.outputs[0])
        .run(arguments.scratch, *arguments.threads, getIsa());
    return {};
  }

private:
  static bool hasInput(Span<const TensorView> inputs, size_t i) {
    return i < inputs.size && inputs[i].type != DataType::Undefined;
  }
  /// Of three; dimensions that are not there come first.
  static int getAxis(size_t spatial, size_t rank) {
    return static_cast<int>(Convolution::maxSpatialRank - (rank - 2) + spatial);
  }
  static int64_t getOr(const std::vector<int64_t> &values, size_t i,
                       int64_t otherwise) {
    return i < values.size() ? values[i] : otherwise;
  }

  /// Sizes, strides and pads, checked.
  Status setSizes(Span<const TensorView> inputs, Convolution &conv) const {
    const Shape &x = inputs[0].shape, &w = inputs[1].shape;
    size_t rank = x.getRank();
    if (rank < 3 || rank > 5 || w.getRank() != rank)
      return Status::error("a convolution has 1 to 3 spatial dimensions, but "
                           "got dimensions " +
                           toString(x) + " and " + toString(w));
    size_t spatial = rank - 2;
    auto fits = [&](const std::vector<int64_t> &values, size_t count) {
      return values.empty() || values.size() == count;
    };
    if (!fits(strides, spatial) || !fits(dilations, spatial) ||
        !fits(pads, 2 * spatial) || !fits(kernelShape, spatial) ||
        !fits(outputPadding, spatial) || !fits(outputShape, spatial))
      return Status::error("an attribute has not as many values as " +
                           toString(x) + " has spatial dimensions");
    int64_t channels = kind == Kind::WeightGradient ? w[1] : w[0];
    if (x[1] % group != 0 || channels % group != 0)
      return Status::error("channels of " + toString(x) + " and " +
                           toString(w) + " don't come in " +
                           std::to_string(group) + " groups");
    conv.groups = group;
    switch (kind) {
    case Kind::Forward:
      if (w[1] != x[1] / group)
        return Status::error("the weight " + toString(w) + " is for " +
                             std::to_string(w[1] * group) +
                             " channels, but the input has " +
                             std::to_string(x[1]));
      conv.images = x[0];
      conv.inChannels = w[1];
      conv.outChannels = w[0] / group;
      break;
    case Kind::Transposed:
      if (w[0] != x[1])
        return Status::error(
            "the weight " + toString(w) + " is for " + std::to_string(w[0]) +
            " channels, but the input has " + std::to_string(x[1]));
      conv.isTransposed = true;
      conv.images = x[0];
      conv.inChannels = x[1] / group;
      conv.outChannels = w[1];
      break;
    case Kind::WeightGradient:
      if (w[0] != x[0])
        return Status::error(
            "the gradient " + toString(w) + " is of " + std::to_string(w[0]) +
            " images, but the input has " + std::to_string(x[0]));
      // The channels are the images, and the images the channels.
      conv.images = x[1] / group;
      conv.inChannels = x[0];
      conv.outChannels = w[1] / group;
      break;
    }
    for (size_t i = 0; i < spatial; ++i)
      if (Status status = setAxis(x, w, i, conv); !status.ok())
        return status;
    return {};
  }

  Status setAxis(const Shape &x, const Shape &w, size_t i,
                 Convolution &conv) const {
    size_t rank = x.getRank(), spatial = rank - 2;
    int axis = getAxis(i, rank);
    int64_t in = x[2 + i];
    int64_t kernel = getOr(kernelShape, i, w[2 + i]);
    int64_t stride = getOr(strides, i, 1), dilation = getOr(dilations, i, 1);
    int64_t begin = getOr(pads, i, 0), end = getOr(pads, spatial + i, 0);
    if (kernel < 1 || (kind != Kind::WeightGradient && kernel != w[2 + i]))
      return Status::error("kernel_shape is " + std::to_string(kernel) +
                           " where the weight has dimensions " + toString(w));
    int64_t extent = (kernel - 1) * dilation + 1;
    bool isSame = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
    auto split = [&](int64_t total) {
      total = std::max<int64_t>(total, 0);
      begin = autoPad == "SAME_LOWER" ? total - total / 2 : total / 2;
      end = total - begin;
    };
    if (autoPad == "VALID")
      begin = end = 0;
    if (kind == Kind::Transposed) {
      int64_t padding = getOr(outputPadding, i, 0);
      int64_t full = (in - 1) * stride + extent + padding;
      int64_t out;
      if (!outputShape.empty()) {
        out = outputShape[i];
        if (pads.empty() || isSame)
          split(full - out);
      } else if (isSame) {
        out = in * stride;
        split(full - out);
      } else {
        out = full - begin - end;
      }
      if (out < 0)
        return Status::error("pads of " + std::to_string(begin) + " and " +
                             std::to_string(end) + " leave nothing of " +
                             std::to_string(full));
      conv.out[axis] = out;
    } else {
      if (isSame) {
        int64_t out = (in + stride - 1) / stride;
        split((out - 1) * stride + extent - in);
      }
      int64_t padded = in + begin + end;
      if (padded < extent)
        return Status::error("a kernel of " + std::to_string(extent) +
                             " doesn't fit into the padded size " +
                             std::to_string(padded));
      conv.out[axis] = (padded - extent) / stride + 1;
    }
    conv.in[axis] = in;
    conv.kernel[axis] = kernel;
    conv.strides[axis] = stride;
    conv.dilations[axis] = dilation;
    conv.pads[axis] = begin;
    if (kind == Kind::WeightGradient) {
      if (w[2 + i] != conv.out[axis])
        return Status::error("the gradient has size " +
                             std::to_string(w[2 + i]) +
                             " where the output of "
                             "the convolution has " +
                             std::to_string(conv.out[axis]));
      std::swap(conv.out[axis], conv.kernel[axis]);
      std::swap(conv.strides[axis], conv.dilations[axis]);
    }
    return {};
  }

  Convolution getConvolution(Span<const TensorView> inputs,
                             const TensorView &output) const {
    Convolution conv;
    // Dimensions have been checked.
    (void)setSizes(inputs, conv).ok();
    const TensorView &x = inputs[0], &w = inputs[1];
    auto getSize = [](const TensorView &tensor) {
      int64_t size = 1;
      for (size_t i = 2; i < tensor.shape.getRank(); ++i)
        size *= tensor.shape[i];
      return size;
    };
    int64_t sizeX = getSize(x), sizeW = getSize(w), sizeY = getSize(output);
    int64_t channels = x.shape[1], perGroup = channels / group;
    conv.activation = activation.kind;
    conv.activationAlpha = activation.alpha;
    conv.activationBeta = activation.beta;
    conv.weight.data = w.data;
    conv.weight.type = w.type;
    if (kind == Kind::WeightGradient) {
      conv.input = {x.data, x.type, sizeX, perGroup * sizeX, channels * sizeX};
      conv.weight.groupStride = conv.outChannels * sizeW;
      conv.weight.outStride = sizeW;
      conv.weight.inStride = w.shape[1] * sizeW;
      conv.output = {output.data, output.type, sizeY,
                     conv.outChannels * perGroup * sizeY, perGroup * sizeY};
      return conv;
    }
    conv.input = {x.data, x.type, channels * sizeX, perGroup * sizeX, sizeX};
    conv.output = {output.data, output.type,
                   conv.groups * conv.outChannels * sizeY,
                   conv.outChannels * sizeY, sizeY};
    conv.weight.groupStride = conv.outChannels * conv.inChannels * sizeW;
    conv.weight.outStride = conv.inChannels * sizeW;
    conv.weight.inStride = sizeW;
    if (conv.isTransposed) {
      conv.weight.outStride = sizeW;
      conv.weight.inStride = conv.outChannels * sizeW;
    }
    if (hasInput(inputs, 2)) {
      conv.bias = inputs[2].data;
      conv.biasType = inputs[2].type;
    }
    if (hasInput(inputs, 3)) {
      conv.residual = conv.output;
      conv.residual.data = inputs[3].data;
      conv.residual.type = inputs[3].type;
    }
    return conv;
  }

  Kind kind = Kind::Forward;
  FusedActivation activation;
  std::string autoPad;
  int64_t group = 1;
  std::vector<int64_t> kernelShape, strides, dilations, pads, outputPadding,
      outputShape;
};

} // namespace

static Result<std::unique_ptr<Kernel>> createConv(const Attributes &a) {
  return ConvKernel::create(a, Kind::Forward);
}
static Result<std::unique_ptr<Kernel>> createTransposed(const Attributes &a) {
  return ConvKernel::create(a, Kind::Transposed);
}
static Result<std::unique_ptr<Kernel>> createGradient(const Attributes &a) {
  return ConvKernel::create(a, Kind::WeightGradient);
}

Span<const KernelEntry> amp::runtime::getConvKernels() {
  static constexpr KernelEntry entries[] = {
      {"conv", createConv},
      {"conv_transpose", createTransposed},
      {"conv_weight_gradient", createGradient},
  };
  return {entries, std::size(entries)};
}
