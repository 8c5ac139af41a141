//===- Elements.cpp - C++ types of elements -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Elements.h"

#include <algorithm>
#include <cstring>

namespace amp::runtime {

void copyElements(DataType type, const void *source, void *destination,
                  int64_t count) {
  if (source == destination || count == 0)
    return;
  if (type == DataType::String)
    std::copy_n(static_cast<const std::string *>(source), count,
                static_cast<std::string *>(destination));
  else
    std::memcpy(destination, source,
                static_cast<size_t>(count) * getByteSize(type));
}

} // namespace amp::runtime
