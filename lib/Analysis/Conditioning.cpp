//===- Conditioning.cpp - where rounding costs too much -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conditioning.h"

#include "ConstantFit.h"
#include "OperationPlan.h"

#include "amp/Dialect/AMP/ConstantData.h"
#include "amp/Interfaces/RangeOpInterface.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace amp;

/// A normalization may make errors this much larger than results are.
static constexpr double kMostCancellation = 16;
/// A decision may be off by so many units of roundoff,
static constexpr double kMostLoss = 100;
/// at so many deviations of its error: one element in 16,000 is beyond.
static constexpr double kDeviations = 4;
/// From a decision back to the normalization that it depends on.
static constexpr unsigned kMostSteps = 32;

namespace {
class Conditioning {
public:
  explicit Conditioning(const OperationPlans &plans) : plans(plans) {}

  llvm::MapVector<Operation *, StringAttr> run() {
    for (const OperationPlan &plan : plans.get()) {
      Operation *operation = plan.op;
      auto op = dyn_cast<RangeOpInterface>(operation);
      if (!op)
        continue;
      if (std::optional<Normalization> normalization =
              op.getNormalization(readConstant))
        checkCancellation(op, *normalization);
      if (std::optional<double> slope = op.getDecisionSlope())
        if (isReturned(op->getResult(0)))
          checkDecision(op, *slope);
    }
    return std::move(found);
  }

private:
  void add(Operation *op, const std::string &reason) {
    found.insert({op, StringAttr::get(op->getContext(), reason)});
  }

  /// Rounds if it is low: it is, or might be, and does not only move data.
  bool rounds(Operation *op) const {
    const OperationPlan *plan = plans.lookup(op);
    return plan && (plan->decision.category == Category::Allow ||
                    plan->decision.category == Category::Promote ||
                    plan->decision.category == Category::Follow);
  }

  void checkCancellation(RangeOpInterface op, const Normalization &data) {
    double largest = 0, power = 0;
    for (size_t i = 0; i < data.mean.size(); ++i) {
      double mean = data.scale[i] * data.mean[i] + data.offset[i];
      double square = data.mean[i] * data.mean[i] + data.variance[i];
      power += mean * mean + data.scale[i] * data.scale[i] * data.variance[i];
      largest = std::max(largest, std::abs(data.scale[i]) * std::sqrt(square));
    }
    double typical = std::sqrt(
        power / static_cast<double>(std::max<size_t>(data.mean.size(), 1)));
    if (!(largest > kMostCancellation * typical))
      return;
    std::string reason = llvm::formatv(
        "{0} takes off a mean much larger than the deviation: an error before "
        "it counts {1:f0} times after it",
        describeOperation(op), largest / typical);
    add(op, reason);
    keepProducers(op->getOperand(0), reason);
  }

  /// Who gives `value`, back to what multiplies.
  void keepProducers(Value value, const std::string &reason) {
    SmallVector<Value> work = {value};
    while (!work.empty()) {
      Operation *op = work.pop_back_val().getDefiningOp();
      const OperationPlan *plan = op ? plans.lookup(op) : nullptr;
      if (!plan || found.contains(op))
        continue;
      add(op, reason);
      if (plan->decision.category == Category::Allow)
        continue;
      for (auto [operand, variable] :
           llvm::zip_equal(op->getOperands(), plan->operandVariables))
        if (variable >= 0)
          work.push_back(operand);
    }
  }

  /// Whether a function returns it, if only moved.
  bool isReturned(Value value) const {
    SmallVector<Value> work = {value};
    DenseSet<Value> seen;
    while (!work.empty()) {
      Value next = work.pop_back_val();
      if (!seen.insert(next).second)
        continue;
      for (Operation *user : next.getUsers()) {
        if (user->hasTrait<OpTrait::IsTerminator>() &&
            isa<FunctionOpInterface>(user->getParentOp()))
          return true;
        const OperationPlan *plan = plans.lookup(user);
        if (plan && !rounds(user) && plan->decision.category != Category::Deny)
          llvm::append_range(work, user->getResults());
      }
    }
    return false;
  }

  const Moments *getMoments(Value value, unsigned steps = 0) {
    if (auto known = moments.find(value); known != moments.end())
      return known->second ? &*known->second : nullptr;
    std::optional<Moments> result;
    auto op = value.getDefiningOp<RangeOpInterface>();
    if (op && value == op->getResult(0) && steps < kMostSteps)
      result = op.inferMoments(
          [&](unsigned operand) {
            return getMoments(op->getOperand(operand), steps + 1);
          },
          readConstant);
    // Insertions of operands come first: a map that keeps its nodes.
    std::optional<Moments> &kept = moments[value];
    kept = std::move(result);
    return kept ? &*kept : nullptr;
  }

  void checkDecision(Operation *op, double slope) {
    const Moments *argument = getMoments(op->getOperand(0));
    if (!argument || argument->terms.empty())
      return;
    double terms = std::sqrt(
        *std::max_element(argument->terms.begin(), argument->terms.end()));
    double most = 3 * std::pow(kMostLoss / (kDeviations * slope * terms), 2);
    // Those that only move data count for nothing, but have a distance.
    llvm::MapVector<Operation *, unsigned> distances = getDistances(op);
    std::map<unsigned, unsigned> atDistance;
    for (auto [before, distance] : distances)
      atDistance[distance] += rounds(before);
    unsigned count = 0;
    for (auto [distance, operations] : atDistance) {
      if (count + operations > most) {
        keepFrom(op, distances, distance, count, terms);
        return;
      }
      count += operations;
    }
  }

  void keepFrom(Operation *decision,
                const llvm::MapVector<Operation *, unsigned> &distances,
                unsigned first, unsigned count, double terms) {
    std::string reason = llvm::formatv(
        "{0} decides by a sum of terms of {1:f1}: no more than the last {2} "
        "operations may round",
        describeOperation(decision), terms, count);
    for (auto [op, distance] : distances)
      if (distance >= first)
        op->walk([&](Operation *inner) {
          if (plans.lookup(inner))
            add(inner, reason);
        });
  }

  /// Of all operations of its block that lead to `last`, how many that round
  /// there are at most from there on.
  llvm::MapVector<Operation *, unsigned> getDistances(Operation *last) const {
    llvm::MapVector<Operation *, unsigned> distances;
    distances[last] = 0;
    Block *block = last->getBlock();
    for (Operation *op = last; op; op = op->getPrevNode()) {
      auto known = distances.find(op);
      if (known == distances.end())
        continue;
      unsigned distance = known->second + rounds(op);
      op->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands()) {
          Operation *before = operand.getDefiningOp();
          if (!before || before->getBlock() != block || before == op)
            continue;
          unsigned &other = distances[before];
          other = std::max(other, distance);
        }
      });
    }
    return distances;
  }

  const OperationPlans &plans;
  llvm::MapVector<Operation *, StringAttr> found;
  struct Less {
    bool operator()(Value a, Value b) const {
      return a.getAsOpaquePointer() < b.getAsOpaquePointer();
    }
  };
  std::map<Value, std::optional<Moments>, Less> moments;
};
} // namespace

llvm::MapVector<Operation *, StringAttr>
amp::findIllConditioned(const OperationPlans &plans) {
  return Conditioning(plans).run();
}
