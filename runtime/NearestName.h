//===- NearestName.h - the name that was meant ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_NEARESTNAME_H
#define AMP_RUNTIME_NEARESTNAME_H

#include <string>
#include <string_view>
#include <vector>

namespace amp::runtime {

/// The rest of a message about a name that is not among `names`:
/// "; did you mean 'x'?" if one is spelled much alike, else "; there are 'x',
/// 'y', …", else nothing.
std::string suggestName(std::string_view got,
                        const std::vector<std::string_view> &names);

} // namespace amp::runtime

#endif // AMP_RUNTIME_NEARESTNAME_H
