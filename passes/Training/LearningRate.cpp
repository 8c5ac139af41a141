//===- LearningRate.cpp - the learning rate of a step ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LearningRate.h"

#include "Settings.h"
#include "TrainingState.h"

#include "amp/Support/Quoted.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>

using namespace mlir;

namespace amp {

using onnx::Expr;
using onnx::NodeBuilder;

llvm::Expected<LearningRate> LearningRate::parse(StringRef schedule,
                                                 double rate) {
  LearningRate result;
  result.rate = rate;
  constexpr double kAny = std::numeric_limits<double>::infinity();
  Setting warmup{"warmup", &result.warmup, 0, kAny, Setting::Whole};
  Setting total{"total", &result.total, 1, kAny, Setting::Whole};
  Setting end{"end", &result.end, 0, 1};

  auto [name, settings] = schedule.split(':');
  SmallVector<Setting> known;
  if (name == "constant") {
    known = {warmup};
  } else if (name == "linear") {
    result.kind = Linear;
    known = {warmup, total};
  } else if (name == "cosine") {
    result.kind = Cosine;
    known = {warmup, total, end};
  } else if (name == "input") {
    result.kind = Input;
  } else {
    return llvm::createStringError(
        "no schedule is called " + quoted(name) +
        didYouMean(name, {"constant", "linear", "cosine", "input"}) +
        " (constant, linear, cosine, input)");
  }
  SmallVector<StringRef> texts;
  settings.split(texts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  std::string owner = "schedule " + name.str();
  if (llvm::Error error = readSettings(owner, known, texts))
    return error;
  if (result.kind == Linear || result.kind == Cosine) {
    if (result.total == 0)
      return llvm::createStringError(owner + " expects total=STEPS");
    if (result.warmup > result.total)
      return llvm::createStringError(
          "%s expects no more steps of warmup than in total, but got %.0f of "
          "%.0f",
          owner.c_str(), result.warmup, result.total);
  }
  return result;
}

void LearningRate::addInputTo(func::FuncOp graph, StringRef suffix) {
  if (kind != Input)
    return;
  auto type = RankedTensorType::get({}, Float64Type::get(graph.getContext()));
  input = addInput(graph, (kInput + suffix).str(),
                   DenseElementsAttr::get(type, rate));
}

Expr LearningRate::buildFactor(Expr count) const {
  if (kind == Input || (kind == Constant && warmup == 0))
    return {};
  Expr factor, taken = count - 1.0;
  auto number = [&](double value) {
    return taken.getBuilder().number(value, taken.getElementType());
  };
  // As transformers' Python has it, to the last bit.
  double decaying = std::max(1.0, total - warmup);
  if (kind == Linear) {
    factor = max(number(0), (total - taken) / decaying);
  } else if (kind == Cosine) {
    Expr progress = (taken - warmup) / decaying;
    progress = min(max(progress, number(0)), number(1));
    factor = 0.5 * (1.0 + cos(progress * llvm::numbers::pi));
    if (end != 0)
      factor = factor * (1 - end) + end;
  }
  if (warmup == 0)
    return factor;
  // What follows is no less than 1 during warm-up, and no more afterwards.
  return min(taken / warmup, factor ? factor : number(1));
}

Expr LearningRate::build(NodeBuilder &b, Expr scheduleFactor,
                         double ownFactor) const {
  if (kind == Input)
    return ownFactor == 1 ? b.expr(input) : b.expr(input) * ownFactor;
  Expr fixed = b.number(rate * ownFactor, b.getBuilder().getF64Type());
  return scheduleFactor ? fixed * scheduleFactor : fixed;
}

} // namespace amp
