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

constexpr StringLiteral kMark = "amp";

/// The first one that has overloads.
constexpr int64_t kOverloadIRVersion = 10;

/// A name, or an overload, without what says that it is a copy's.
StringRef withoutMark(StringRef text) {
  StringRef rest = text.rtrim("0123456789");
  if (rest.size() == text.size() || !rest.consume_back(kMark))
    return text;
  return rest.empty() || rest.consume_back("_") ? rest : text;
}

std::string withMark(StringRef text, unsigned number) {
  text = withoutMark(text);
  return (text + (text.empty() ? "" : "_") + kMark + Twine(number)).str();
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
  auto model = module->getAttrOfType<DictionaryAttr>(ONNXDialect::kModel);
  auto irVersion =
      model ? model.getAs<IntegerAttr>("ir_version") : IntegerAttr();
  bool hasOverloads = irVersion && irVersion.getInt() >= kOverloadIRVersion;
  llvm::StringMap<unsigned> numbers;
  for (auto &[function, identity] : copies) {
    unsigned &number = numbers[identity.getKey()];
    std::string &text = hasOverloads ? identity.overload : identity.name;
    do
      text = withMark(text, ++number);
    while (!taken.insert(identity.getKey()).second);
    NamedAttrList fields(
        function->getAttrOfType<DictionaryAttr>(ONNXDialect::kFunction));
    fields.set(hasOverloads ? "overload" : "name",
               StringAttr::get(module.getContext(), text));
    function->setAttr(ONNXDialect::kFunction,
                      fields.getDictionary(module.getContext()));
  }
}

} // namespace amp::onnx
