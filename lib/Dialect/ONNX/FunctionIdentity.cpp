//===- FunctionIdentity.cpp - what ONNX tells functions apart by ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/ONNX/FunctionIdentity.h"

#include "amp/Dialect/ONNX/ONNXOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace amp::onnx {

namespace {

constexpr StringLiteral kMark = "_amp";

/// A name without what says that it is a copy's.
StringRef withoutMark(StringRef name) {
  StringRef rest = name.rtrim("0123456789");
  return rest.size() != name.size() && rest.consume_back(kMark) ? rest : name;
}

std::string withMark(StringRef name, unsigned number) {
  return (withoutMark(name) + kMark + Twine(number)).str();
}

StringRef getText(DictionaryAttr fields, StringRef key) {
  auto text = fields ? fields.getAs<StringAttr>(key) : StringAttr();
  return text ? text.getValue() : StringRef();
}

FunctionIdentity makeIdentity(StringRef domain, StringRef name,
                              StringRef overload) {
  return {domain == "ai.onnx" ? "" : domain.str(), name.str(), overload.str()};
}

} // namespace

std::optional<FunctionIdentity> FunctionIdentity::of(Operation *function) {
  auto fields =
      isa<func::FuncOp>(function)
          ? function->getAttrOfType<DictionaryAttr>(ONNXDialect::kFunction)
          : DictionaryAttr();
  if (!fields)
    return std::nullopt;
  return makeIdentity(getText(fields, "domain"), getText(fields, "name"),
                      getText(fields, "overload"));
}

std::string FunctionIdentity::getOriginalName() const {
  StringRef original = withoutMark(name);
  return domain + "::" + (original.empty() ? name : original.str());
}

void identifyCopies(ModuleOp module) {
  llvm::StringSet<> taken;
  SmallVector<std::pair<func::FuncOp, FunctionIdentity>> copies;
  for (auto function : module.getOps<func::FuncOp>())
    if (std::optional<FunctionIdentity> identity =
            FunctionIdentity::of(function))
      if (!taken.insert(identity->getKey()).second)
        copies.push_back({function, std::move(*identity)});
  if (copies.empty())
    return;

  // A node must not become a call.
  module.walk([&](CustomOp op) {
    auto fields = op->getAttrOfType<DictionaryAttr>(ONNXDialect::kNode);
    taken.insert(makeIdentity(op.getDomainName(), op.getOpType(),
                              getText(fields, "overload"))
                     .getKey());
  });
  llvm::StringMap<unsigned> numbers;
  for (auto &[function, identity] : copies) {
    unsigned &number = numbers[identity.getKey()];
    do
      identity.name = withMark(identity.name, ++number);
    while (!taken.insert(identity.getKey()).second);
    NamedAttrList fields(
        function->getAttrOfType<DictionaryAttr>(ONNXDialect::kFunction));
    fields.set("name", StringAttr::get(module.getContext(), identity.name));
    function->setAttr(ONNXDialect::kFunction,
                      fields.getDictionary(module.getContext()));
  }
}

} // namespace amp::onnx
