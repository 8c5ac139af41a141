//===- ExternalDataArgument.h - --external-data of commands -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_EXTERNALDATAARGUMENT_H
#define AMP_TOOLS_ONNX_AMP_EXTERNALDATAARGUMENT_H

#include "CommandLine.h"

#include "amp/Target/ONNX.h"

namespace amp {

/// The value of --external-data; none after an error.
inline std::optional<ExternalData>
chooseExternalData(const llvm::opt::InputArgList &arguments) {
  static constexpr llvm::StringRef names[] = {"auto", "keep", "inline", "file"};
  static constexpr ExternalData places[] = {
      ExternalData::Auto, ExternalData::Keep, ExternalData::Inline,
      ExternalData::File};
  std::optional<unsigned> place =
      chooseValue(arguments, OPT_external_data, names, 0);
  if (!place)
    return std::nullopt;
  return places[*place];
}

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_EXTERNALDATAARGUMENT_H
