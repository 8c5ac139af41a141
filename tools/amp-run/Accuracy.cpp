//===- Accuracy.cpp - how often the largest logit is the label's ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Accuracy.h"

#include "CPU/Conversion.h"

#include <cmath>
#include <string>
#include <vector>

using namespace amp::run;
using namespace amp::runtime;

static constexpr int64_t ignoredLabel = -100;

static Shape dropAxis(const Shape &shape, size_t axis) {
  Shape rest;
  for (size_t i = 0; i < shape.getRank(); ++i)
    if (i != axis)
      rest.push_back(shape[i]);
  return rest;
}

/// The axis of classes; 0 if there is none.
static size_t findClasses(const Shape &logits, const Shape &labels) {
  size_t last = logits.getRank() - 1;
  if (logits.getRank() < 2)
    return 0;
  return dropAxis(logits, 1) == labels      ? 1
         : dropAxis(logits, last) == labels ? last
                                            : 0;
}

Status amp::run::addAccuracy(const TensorView &logits, const TensorView &labels,
                             uint64_t samples, uint64_t firstSample,
                             Accuracy &accuracy) {
  size_t axis = findClasses(logits.shape, labels.shape);
  if (axis == 0)
    return Status::error("labels of " + toString(labels.shape) +
                         " don't go with logits of " + toString(logits.shape) +
                         ": they are not these without an axis of classes");
  int64_t classes = logits.shape[axis], inner = 1;
  for (size_t i = axis + 1; i < logits.shape.getRank(); ++i)
    inner *= logits.shape[i];
  int64_t perSample = 1;
  for (size_t i = 1; i < labels.shape.getRank(); ++i)
    perSample *= labels.shape[i];

  auto count = static_cast<int64_t>(samples) * perSample;
  std::vector<int64_t> wanted(static_cast<size_t>(count));
  std::vector<double> numbers(static_cast<size_t>(count * classes));
  convertElements(labels.type, labels.data, DataType::Int64, wanted.data(),
                  count);
  convertElements(logits.type, logits.data, DataType::Double, numbers.data(),
                  count * classes);
  for (int64_t i = 0; i < count; ++i) {
    int64_t label = wanted[static_cast<size_t>(i)];
    if (label == ignoredLabel)
      continue;
    if (label < 0 || label >= classes)
      return Status::error(
          "label " + std::to_string(label) + " of sample " +
          std::to_string(firstSample + static_cast<uint64_t>(i / perSample)) +
          " is not among the " + std::to_string(classes) + " classes");
    const double *first =
        numbers.data() + i / inner * classes * inner + i % inner;
    int64_t best = 0;
    bool hasNaN = false;
    for (int64_t c = 0; c < classes; ++c) {
      hasNaN |= std::isnan(first[c * inner]);
      if (first[c * inner] > first[best * inner])
        best = c;
    }
    accuracy.correct += best == label && !hasNaN;
    ++accuracy.total;
  }
  return {};
}
