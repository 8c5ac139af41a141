//===- Graphviz.h - graphs that another program lays out --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_ONNX_AMP_GRAPHVIZ_H
#define AMP_TOOLS_ONNX_AMP_GRAPHVIZ_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace amp {

/// Any text as a string of Graphviz's language that shows it in one line, at
/// most some `limit` bytes of it.
std::string dotString(llvm::StringRef text, size_t limit = 60);
/// The same without the quotes, to be put together.
std::string dotText(llvm::StringRef text, size_t limit = 60);

/// The path of Graphviz's program `dot`. Fails with one line that says where it
/// is to be had.
llvm::Expected<std::string> findDot();

/// Lays a graph out with this program, as SVG. Fails with one line.
llvm::Expected<std::string> layOutGraph(llvm::StringRef dot,
                                        llvm::StringRef graph);

} // namespace amp

#endif // AMP_TOOLS_ONNX_AMP_GRAPHVIZ_H
