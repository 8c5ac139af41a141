//===- Settings.h - numbers that are set by name ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_TRAINING_SETTINGS_H
#define AMP_PASSES_TRAINING_SETTINGS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <limits>
#include <string>

namespace amp {

/// A number's name, where it goes, and what it may be: from `least` to below
/// `bound`.
struct Setting {
  enum Kind { Number, Whole, Flag };

  llvm::StringLiteral name;
  double *value;
  double least = 0;
  double bound = std::numeric_limits<double>::infinity();
  Kind kind = Number;
};

/// Fails for a number out of its range.
llvm::Error checkSetting(const Setting &setting, double value,
                         llvm::StringRef owner = "");

/// Reads texts `NAME=NUMBER`. Fails for another text, an unknown name (the
/// nearest is shown), and a number out of its range; `owner` is who has the
/// settings, for messages.
llvm::Error readSettings(llvm::StringRef owner, llvm::ArrayRef<Setting> known,
                         llvm::ArrayRef<llvm::StringRef> texts);

/// "; did you mean 'x'?", if a name is near.
std::string didYouMean(llvm::StringRef got,
                       llvm::ArrayRef<llvm::StringRef> names);

} // namespace amp

#endif // AMP_PASSES_TRAINING_SETTINGS_H
