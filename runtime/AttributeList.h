//===- AttributeList.h - settings of a command, from the file ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_ATTRIBUTELIST_H
#define AMP_RUNTIME_ATTRIBUTELIST_H

#include "Kernel.h"

#include "Executable.pb.h"

namespace amp::runtime {

/// A view of a call's attributes.
class AttributeList final : public Attributes {
public:
  explicit AttributeList(const executable::Call &call) : call(call) {}

  bool has(std::string_view name) const override { return find(name); }
  int64_t getInt(std::string_view name, int64_t otherwise) const override {
    const executable::Attribute *found = find(name);
    return found && found->has_int_value() ? found->int_value() : otherwise;
  }
  double getFloat(std::string_view name, double otherwise) const override {
    const executable::Attribute *found = find(name);
    return found && found->has_float_value() ? found->float_value() : otherwise;
  }
  std::string getString(std::string_view name,
                        std::string_view otherwise) const override {
    const executable::Attribute *found = find(name);
    return found && found->has_string_value() ? found->string_value()
                                              : std::string(otherwise);
  }
  std::vector<int64_t> getInts(std::string_view name) const override {
    if (const executable::Attribute *found = find(name))
      return {found->ints().begin(), found->ints().end()};
    return {};
  }
  std::vector<float> getFloats(std::string_view name) const override {
    if (const executable::Attribute *found = find(name))
      return {found->floats().begin(), found->floats().end()};
    return {};
  }
  std::vector<std::string> getStrings(std::string_view name) const override {
    if (const executable::Attribute *found = find(name))
      return {found->strings().begin(), found->strings().end()};
    return {};
  }

private:
  const executable::Attribute *find(std::string_view name) const {
    for (const executable::Attribute &attribute : call.attributes())
      if (attribute.name() == name)
        return &attribute;
    return nullptr;
  }

  const executable::Call &call;
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_ATTRIBUTELIST_H
