//===- RoundingReport.cpp - what rounding did to constants ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoundingReport.h"

#include "ModelStatistics.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Dialect/AMP/ConstantData.h"

#include "mlir/IR/Threading.h"

using namespace amp;
using namespace mlir;

/// One job is a part of a constant, so that a big one keeps all threads busy.
static constexpr uint64_t kElementsPerJob = 1 << 20;
/// The rounded values are thrown away: they need not leave the cache.
static constexpr uint64_t kElementsAtOnce = 1 << 13;

std::vector<RoundedConstant> amp::measureRounding(ModuleOp module) {
  std::vector<RoundedConstant> constants;
  struct Job {
    RoundedAttr value;
    uint64_t begin, end;
    size_t constant;
    RoundingStats stats;
  };
  std::vector<Job> jobs;
  module.walk([&](Operation *op) {
    onnx::TensorAttr tensor = getStoredTensor(op);
    auto rounded = tensor ? dyn_cast<RoundedAttr>(Attribute(tensor.getValue()))
                          : RoundedAttr();
    if (!rounded)
      return;
    auto from = cast<ShapedType>(rounded.getSource().getType());
    auto to = cast<ShapedType>(rounded.getType());
    uint64_t count = to.getNumElements();
    for (uint64_t i = 0; i < count; i += kElementsPerJob)
      jobs.push_back({rounded,
                      i,
                      std::min(i + kElementsPerJob, count),
                      constants.size(),
                      {}});
    constants.push_back({getOutputName(op, 0),
                         from.getElementType(),
                         to.getElementType(),
                         rounded.getOverflow(),
                         {}});
  });
  parallelFor(module.getContext(), 0, jobs.size(), [&](size_t i) {
    Job &job = jobs[i];
    char buffer[2 * kElementsAtOnce];
    for (uint64_t at = job.begin; at < job.end; at += kElementsAtOnce)
      // What can't be read is told by the export.
      (void)readRounded(job.value, at, std::min(kElementsAtOnce, job.end - at),
                        buffer, &job.stats);
  });
  for (const Job &job : jobs)
    constants[job.constant].stats.merge(job.stats);
  return constants;
}
