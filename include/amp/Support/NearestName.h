//===- NearestName.h - the name that was meant ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_SUPPORT_NEARESTNAME_H
#define AMP_SUPPORT_NEARESTNAME_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace amp {

/// The name that is spelled most alike, whatever the case; empty if none is
/// near. A name with a domain, "domain:Op", is met without it, too. The order
/// of the names does not matter.
llvm::StringRef findNearestName(llvm::StringRef got,
                                llvm::ArrayRef<llvm::StringRef> names);

} // namespace amp

#endif // AMP_SUPPORT_NEARESTNAME_H
