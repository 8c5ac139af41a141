//===- SlidingWindow.h - gradients of convolutions and pools ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A window slides over the spatial dimensions of an image, [N, C, D1, ...], and
// sees one place of a smaller value at each stop. Conv and the pools go from
// the image to the places, ConvTranspose goes from the places to the image;
// all their gradients are the three products of image, places and weight.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_ONNX_GRADIENT_SLIDINGWINDOW_H
#define AMP_LIB_DIALECT_ONNX_GRADIENT_SLIDINGWINDOW_H

#include "GradientRules.h"

namespace amp::onnx {

class SlidingWindow {
public:
  /// The window of a node, Conv or a pool, that goes from `image` to `places`.
  static SlidingWindow overInput(Gradient &g, Expr image, Expr places,
                                 llvm::ArrayRef<int64_t> kernel);
  /// That of ConvTranspose, from `places` to `image`.
  static llvm::FailureOr<SlidingWindow>
  overOutput(Gradient &g, Expr places, Expr image,
             llvm::ArrayRef<int64_t> kernel);

  int64_t getRank() const { return axes.size(); }
  /// The number of places in the window.
  double getSize() const;
  /// The spatial dimensions of an image.
  llvm::SmallVector<int64_t> getDimensions() const;
  /// True if no part of the image is in two places.
  bool isDisjoint() const;

  /// The image's gradient from that of the places: ConvTranspose.
  Expr toImage(Expr placesValue, Expr weight, int64_t group) const;
  /// The places' gradient from that of the image: Conv.
  Expr toPlaces(Expr imageValue, Expr weight, int64_t group) const;
  /// The gradient of a weight [places' channels, image's channels of a group,
  /// kernel...]: Conv over the batch, or Gemm if the kernel is a point.
  Expr toWeight(Expr imageValue, Expr placesValue, Expr weight,
                int64_t group) const;
  /// To each element of the image the sum over the places that see it, channel
  /// by channel: the gradient of summing over windows.
  Expr spread(Expr placesValue) const;
  /// True if count() is getSize() everywhere. `ceiled`: the last window may
  /// reach beyond the padding.
  bool isCountConstant(bool padded, bool ceiled) const;
  /// How many elements of the image are in the window at each place, as
  /// [1, 1, places...] of float32; `padded` counts the padding too, but not
  /// what is behind it.
  Expr count(bool padded) const;

private:
  struct Axis {
    int64_t kernel, stride = 1, dilation = 1;
    /// What the image is padded by in front; none if that depends on a size
    /// that is not known.
    std::optional<int64_t> begin = 0;
    /// Behind, so that the last window ends where the padded image does:
    /// negative if it ends before. None as above.
    std::optional<int64_t> end;
    /// What the node pads behind; none as `begin`.
    std::optional<int64_t> padding = 0;

    bool isKnown() const { return begin && end; }
    int64_t getExtent() const { return (kernel - 1) * dilation + 1; }
  };
  using Sizes = llvm::SmallVector<int64_t, 3>;

  SlidingWindow(Gradient &g, Expr image, Expr places,
                llvm::ArrayRef<int64_t> kernel);
  template <typename Get> Sizes each(Get get) const;
  llvm::SmallVector<mlir::NamedAttribute> steps() const;
  Expr ones(mlir::Type elementType) const;
  Expr beginOf(unsigned axis) const;
  Expr covered(unsigned axis) const;
  std::pair<Expr, Sizes> fit(Expr imageValue) const;
  Expr pointWeight(Expr imageValue, Expr placesValue, Expr weight) const;

  NodeBuilder *b;
  Expr image, places;
  bool extraInFront;
  llvm::SmallVector<Axis, 3> axes;
};

} // namespace amp::onnx

#endif // AMP_LIB_DIALECT_ONNX_GRADIENT_SLIDINGWINDOW_H
