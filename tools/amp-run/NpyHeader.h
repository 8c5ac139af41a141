//===- NpyHeader.h - how an array of NumPy begins ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_NPYHEADER_H
#define AMP_TOOLS_AMPRUN_NPYHEADER_H

#include "amp/Runtime/Status.h"
#include "amp/Runtime/Tensor.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace amp::run {

struct NpyHeader {
  runtime::DataType type = runtime::DataType::Undefined;
  runtime::Shape shape;
  /// Where elements begin.
  size_t dataOffset = 0;
};

/// Reads the beginning of a .npy file, versions 1 to 3:
/// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
/// Elements of raw bytes (V1, V2) are uint8 and bfloat16: ml_dtypes writes its
/// types so, and the name is lost.
runtime::Result<NpyHeader> parseNpyHeader(std::string_view bytes);

/// What to take elements for that must be `wanted`: types that NumPy has no
/// name for come as others of the same size.
runtime::DataType adaptType(runtime::DataType got, runtime::DataType wanted);

/// The header of a tensor, a multiple of 64 bytes; an error for types that the
/// format has not.
runtime::Result<std::string> formatNpyHeader(const runtime::TensorView &tensor);

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_NPYHEADER_H
