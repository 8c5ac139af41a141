//===- Status.h - success, or one line for the user -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_STATUS_H
#define AMP_RUNTIME_STATUS_H

#include <optional>
#include <string>
#include <utility>

namespace amp::runtime {

/// Success, or an error of one line that says what, where, and what to do:
/// lower case, no full stop. Nothing in the runtime throws across its API.
class [[nodiscard]] Status {
public:
  /// Success.
  Status() = default;

  static Status error(std::string message) {
    Status status;
    status.text = std::move(message);
    return status;
  }

  bool ok() const { return !text; }
  /// Empty on success.
  std::string getMessage() const { return text.value_or(std::string()); }

private:
  std::optional<std::string> text;
};

/// A value, or why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : value(std::move(value)) {}
  /// `status` is an error.
  Result(Status status) : status(std::move(status)) {}

  bool ok() const { return value.has_value(); }
  Status getStatus() const { return status; }
  std::string getMessage() const { return status.getMessage(); }

  /// Only on success.
  T &operator*() { return *value; }
  const T &operator*() const { return *value; }
  T *operator->() { return &*value; }
  const T *operator->() const { return &*value; }

private:
  std::optional<T> value;
  Status status;
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_STATUS_H
