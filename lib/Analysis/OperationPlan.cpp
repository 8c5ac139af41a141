//===- OperationPlan.cpp - what is known before formats flow --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OperationPlan.h"

#include "Conditioning.h"
#include "ConstantFit.h"

#include "amp/Analysis/RegionFlow.h"
#include "amp/Dialect/AMP/ConstantData.h"
#include "amp/Dialect/AMP/FloatTypes.h"
#include "amp/Interfaces/ElementTypes.h"
#include "amp/Support/Quoted.h"

#include "mlir/IR/Threading.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace amp;

//===----------------------------------------------------------------------===//
// One operation
//===----------------------------------------------------------------------===//

/// The operand at a position of the operator's definition, null if it is left
/// out.
static Value getOperandAt(AutocastOpInterface op, unsigned position) {
  for (unsigned i = 0, e = op->getNumOperands(); i < e; ++i)
    if (op.getOperandPosition(i) == position)
      return op->getOperand(i);
  return {};
}

/// The type of that operand; null if it is left out, or no tensor.
static ShapedType getTypeAt(AutocastOpInterface op, unsigned position) {
  Value operand = getOperandAt(op, position);
  return operand ? dyn_cast<ShapedType>(operand.getType()) : ShapedType();
}

namespace {
/// The values of a constant of float32.
struct Float32Constant {
  Attribute value;
  ArrayRef<char> bytes;

  uint64_t size() const { return bytes.size() / sizeof(float); }
};
} // namespace

/// None for other values, and where the data is not known.
static std::optional<Float32Constant> getFloat32Constant(Value value) {
  auto constant = value.getDefiningOp<AutocastOpInterface>();
  if (!constant || !constant.isAutocastConstant())
    return std::nullopt;
  Attribute elements = constant.getAutocastConstantValue(
      cast<OpResult>(value).getResultNumber());
  std::optional<ConstantData> data = getConstantData(elements);
  if (!data || !cast<ElementsAttr>(elements).getElementType().isF32())
    return std::nullopt;
  return Float32Constant{elements, data->bytes};
}

/// What a rule may ask of constants, before all that are needed are scanned,
/// of what was measured, and of bounds that are reached.
std::optional<double> OperationPlans::getAbsmax(Value value) {
  if (auto known = absmax.find(value); known != absmax.end())
    return known->second;
  if (std::optional<Float32Constant> data = getFloat32Constant(value))
    return absmax[value] = scanRange(data->bytes.data(), data->size()).absmax;
  if (std::optional<double> measured = MeasuredRanges::getMeasured(value))
    return measured;
  Interval interval = bounds.get(value);
  if (interval.kind != Interval::Kind::Bound && interval.isFinite())
    return interval.absmax();
  return std::nullopt;
}

Decision OperationPlans::decide(AutocastOpInterface op) {
  SmallVector<StringRef, 4> outputNames;
  for (unsigned i = 0, e = op->getNumResults(); i < e; ++i)
    outputNames.push_back(op.getAutocastResultName(i));
  auto isConstantOperand = [&](unsigned position) {
    Value operand = getOperandAt(op, position);
    return operand && isConstant(operand);
  };
  auto operandElements = [&](unsigned position) -> std::optional<uint64_t> {
    ShapedType type = getTypeAt(op, position);
    if (!type || !type.hasStaticShape())
      return std::nullopt;
    uint64_t elements = 1;
    for (int64_t size : type.getShape())
      elements = llvm::SaturatingMultiply(elements, uint64_t(size));
    return elements;
  };
  auto operandShape =
      [&](unsigned position) -> std::optional<SmallVector<int64_t>> {
    ShapedType type = getTypeAt(op, position);
    if (!type || !type.hasRank())
      return std::nullopt;
    SmallVector<int64_t> shape(type.getShape());
    for (int64_t &size : shape)
      size = std::max<int64_t>(size, -1); // ShapedType::kDynamic is less
    return shape;
  };
  auto operandAbsmax = [&](unsigned position) -> std::optional<double> {
    Value operand = getOperandAt(op, position);
    return operand ? getAbsmax(operand) : std::nullopt;
  };
  auto reductionLength = [&] { return op.getReductionLength(); };
  auto attribute = [&](StringRef name) {
    return op.getAutocastAttribute(name);
  };
  auto isInScope = [&](const void *rule, auto matches) {
    return scopes.contains(op, rule, matches);
  };

  OperationDescription description;
  description.domain = op.getAutocastDomain();
  description.name = op.getAutocastName();
  description.version = op.getAutocastVersion();
  description.nodeName = op.getAutocastNodeName();
  description.outputNames = outputNames;
  description.isConstantOperand = isConstantOperand;
  description.operandElements = operandElements;
  description.operandShape = operandShape;
  description.operandAbsmax = operandAbsmax;
  description.reductionLength = reductionLength;
  description.attribute = attribute;
  description.isInScope = isInScope;
  description.low = low;
  return policy->decide(description);
}

/// "Conv" or, where operator sets have versions, "Conv at opset 17".
static std::string describeOperator(AutocastOpInterface op) {
  std::string name = op.getAutocastName().str();
  if (int64_t version = op.getAutocastVersion())
    name += llvm::formatv(" at opset {0}", version);
  return name;
}

static TypeVariable &getVariable(OperationPlan &plan, int number, Type type) {
  if (unsigned(number) >= plan.variables.size())
    plan.variables.resize(number + 1);
  TypeVariable &variable = plan.variables[number];
  if (!variable.elementType)
    variable.elementType = getFloatElementType(type);
  return variable;
}

void OperationPlans::addVariables(OperationPlan &plan) {
  AutocastOpInterface op = plan.op;
  for (OpOperand &operand : op->getOpOperands()) {
    Type type = operand.get().getType();
    int number = getFloatElementType(type)
                     ? op.getOperandTypeVariable(operand.getOperandNumber())
                     : -1;
    plan.operandVariables.push_back(number);
    if (number < 0)
      continue;
    TypeVariable &variable = getVariable(plan, number, type);
    variable.hasOperands = true;
    variable.hasData |= !isConstant(operand.get());
  }
  for (OpResult result : op->getResults()) {
    Type type = result.getType();
    int number = getFloatElementType(type)
                     ? op.getResultTypeVariable(result.getResultNumber())
                     : -1;
    plan.resultVariables.push_back(number);
    if (number >= 0)
      getVariable(plan, number, type).hasResults = true;
  }

  // A variable of results alone is said by an attribute, or by nothing; regions
  // without control flow that we know of rely on the types around them.
  bool mayMove = op->getNumRegions() == 0 || op.canUpdateRegions();
  bool isStored = plan.low.storageFormat() == plan.low;
  FloatType lowType = getFloatType(op->getContext(), plan.low);
  for (auto [number, variable] : llvm::enumerate(plan.variables)) {
    variable.moves = variable.elementType && variable.elementType.isF32() &&
                     variable.hasOperands && mayMove &&
                     plan.decision.category != Category::Keep;
    if (!variable.moves)
      continue;
    if (plan.mainVariable < 0)
      plan.mainVariable = number;
    if (plan.decision.category == Category::Deny)
      continue;
    if (!isStored)
      variable.obstacle = StringAttr::get(
          op->getContext(), plan.decision.rule + "; " + spellFormat(plan.low) +
                                " is stored as float32");
    else if (!op.supportsElementType(number, lowType))
      variable.obstacle = StringAttr::get(
          op->getContext(),
          spellFormat(plan.low) + " is not a type of " + describeOperator(op));
  }
  pinVariables(plan);
  checkRanges(plan);
}

/// A value that was measured to be too large, or must be, holds in place what
/// shares its variable.
void OperationPlans::checkRanges(OperationPlan &plan) {
  // A format with the exponents of float32 holds everything.
  if (plan.decision.category == Category::Deny ||
      plan.low.exponentBits >= FloatFormat::fp32().exponentBits)
    return;
  auto check = [&](Value value, int number) {
    if (number < 0 || !plan.variables[number].moves ||
        plan.variables[number].obstacle)
      return;
    StringAttr obstacle = getMeasuredObstacle(value);
    // Constants are looked at by themselves: checkConstants().
    if (!obstacle && plan.variables[number].hasData && !isConstant(value))
      obstacle = bounds.getObstacle(value, plan.low);
    plan.variables[number].obstacle = obstacle;
  };
  for (auto [result, number] :
       llvm::zip_equal(plan.op->getResults(), plan.resultVariables))
    check(result, number);
  for (auto [operand, number] :
       llvm::zip_equal(plan.op->getOperands(), plan.operandVariables))
    check(operand, number);
}

/// A pinned operand keeps its type, and so does what shares its variable.
void OperationPlans::pinVariables(OperationPlan &plan) {
  ArrayRef<unsigned> pinned = plan.decision.pinnedOperands;
  if (pinned.empty())
    return;
  for (auto [index, number] : llvm::enumerate(plan.operandVariables)) {
    if (number < 0 || !plan.variables[number].moves)
      continue;
    unsigned position = plan.op.getOperandPosition(index);
    if (llvm::is_contained(pinned, position))
      plan.variables[number].obstacle =
          StringAttr::get(plan.op->getContext(),
                          llvm::formatv("{0}: operand {1} keeps its type",
                                        plan.decision.rule, position));
  }
}

/// Looks whether all inside an operation with regions keeps its type: because
/// it is inside another one, for this reason, or because the policy says so.
/// An operator that the policy does not list says nothing of what is inside.
void OperationPlans::keepInside(Operation *op, StringAttr reason) {
  auto autocast = dyn_cast<AutocastOpInterface>(op);
  if (!reason)
    reason = getKeptByAttribute(op);
  if (!reason && autocast) {
    Decision decision = decide(autocast);
    if (decision.category == Category::Keep && decision.isListed) {
      StringRef name = autocast.getAutocastNodeName();
      if (name.empty() && op->getNumResults() > 0)
        name = autocast.getAutocastResultName(0);
      reason = StringAttr::get(op->getContext(),
                               "inside " + autocast.getAutocastName() +
                                   (name.empty() ? "" : " " + quoted(name)) +
                                   ", which is kept");
    }
  }
  if (reason)
    keptInside[op] = reason;
}

LogicalResult OperationPlans::addOperation(AutocastOpInterface op,
                                           StringAttr kept) {
  auto hasFloats = [](Type type) { return bool(getFloatElementType(type)); };
  if (llvm::none_of(op->getOperandTypes(), hasFloats) &&
      llvm::none_of(op->getResultTypes(), hasFloats))
    return success();

  OperationPlan plan;
  plan.op = op;
  if (!kept)
    kept = getKeptByAttribute(op);
  if (kept)
    plan.decision.rule = kept; // its category is Keep
  else
    plan.decision = decide(op);
  joinPair(plan, bool(kept));
  plan.low = plan.decision.low.value_or(low);
  if (plan.decision.category == Category::Ban)
    return op->emitError() << plan.decision.rule;
  addVariables(plan);

  if (plan.decision.category == Category::Clear && !plan.decision.noPull &&
      plan.mainVariable >= 0 && !plan.variables[plan.mainVariable].hasData) {
    plan.adopts = true;
    // Named for the constant that it moves.
    StringRef name;
    for (auto [operand, variable] :
         llvm::zip_equal(op->getOperands(), plan.operandVariables))
      if (variable == plan.mainVariable && name.empty())
        name = constants.lookup(operand).name;
    for (auto [result, variable] :
         llvm::zip_equal(op->getResults(), plan.resultVariables))
      if (variable == plan.mainVariable)
        constants[result] = {std::nullopt, name};
  }
  planOf[op] = plans.size();
  plans.push_back(std::move(plan));
  return success();
}

static bool isFree(Category category) {
  return category == Category::Promote || category == Category::Follow ||
         category == Category::Clear;
}

/// Denies what has an island, and what leads there. Users come after what they
/// use.
void OperationPlans::growIslands() {
  for (OperationPlan &plan : llvm::reverse(plans)) {
    if (!isFree(plan.decision.category))
      continue;
    if (plan.decision.island) {
      plan.decision.category = Category::Deny;
      continue;
    }
    for (Operation *user : plan.op->getUsers()) {
      const OperationPlan *inside = lookup(user);
      if (!inside || !inside->decision.island)
        continue;
      plan.decision.category = Category::Deny;
      plan.decision.island = true;
      auto island = cast<AutocastOpInterface>(user);
      ownRules.push_back(std::make_unique<std::string>(
          plan.decision.rule.str() + "; it leads to " +
          island.getAutocastName().str() + ", an island of float32"));
      plan.decision.rule = *ownRules.back();
      break;
    }
  }
}

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

Value OperationPlans::getMainResult(const OperationPlan &plan) {
  for (auto [result, number] :
       llvm::zip_equal(plan.op->getResults(), plan.resultVariables))
    if (number >= 0 && number == plan.mainVariable)
      return result;
  return {};
}

/// Notes that an operation is one of a pair. A gradient that the policy does
/// not know is what its forward operation is, which comes before it.
void OperationPlans::joinPair(OperationPlan &plan, bool isKept) {
  auto number =
      dyn_cast_if_present<IntegerAttr>(plan.op->getDiscardableAttr(pairName));
  if (!number)
    return;
  SmallVector<unsigned, 4> &members = pairs[number.getInt()];
  members.push_back(plans.size());
  if (members.size() == 1)
    return;
  const Decision &forward = plans[members.front()].decision;
  if (!isKept && !plan.decision.isListed)
    plan.decision.category = forward.category;
  plan.decision.low = forward.low;
  plan.decision.noPull = forward.noPull;
}

/// One category for all: the strictest, where something is kept or denied, else
/// the forward operation's.
void OperationPlans::settlePair(ArrayRef<unsigned> members) {
  OperationPlan &leader = plans[members.front()];
  auto find = [&](Category category) -> const OperationPlan * {
    for (unsigned member : members)
      if (plans[member].decision.category == category)
        return &plans[member];
    return nullptr;
  };
  const OperationPlan *first = find(Category::Keep);
  if (!first)
    first = find(Category::Deny);
  if (!first)
    first = &leader;
  bool adopts = llvm::any_of(
      members, [&](unsigned member) { return plans[member].adopts; });
  if (isFree(first->decision.category) && (adopts || !getMainResult(leader)))
    return;
  Category category = first->decision.category;
  std::string rule = first->decision.rule.str() + "; goes with " +
                     describeOperation(first->op);
  for (unsigned member : members) {
    OperationPlan &plan = plans[member];
    plan.decision.category = category;
    plan.isPaired = true;
    if (&plan == first)
      continue;
    if (category == Category::Keep) {
      plan.mainVariable = -1;
      for (TypeVariable &variable : plan.variables)
        variable.moves = false;
    } else if (isFree(category)) {
      plan.leader = members.front();
    }
    ownRules.push_back(std::make_unique<std::string>(rule));
    plan.decision.rule = *ownRules.back();
  }
}

void OperationPlans::settlePairs() {
  for (const auto &[number, members] : pairs) {
    SmallVector<unsigned, 4> moving;
    llvm::copy_if(members, std::back_inserter(moving), [&](unsigned member) {
      return plans[member].mainVariable >= 0 ||
             plans[member].decision.category == Category::Keep;
    });
    if (moving.size() > 1)
      settlePair(moving);
  }
}

/// Why the main variable of one of a pair stays float32; empty if nothing keeps
/// it there, or it is 16 bits already.
static std::string explainFixed(const OperationPlan &plan) {
  if (plan.mainVariable >= 0) {
    StringAttr obstacle = plan.variables[plan.mainVariable].obstacle;
    return obstacle ? obstacle.str() : std::string();
  }
  auto hasWidth = [&](unsigned width) {
    auto has = [&](Type type) {
      FloatType element = getFloatElementType(type);
      return element && element.getWidth() == width;
    };
    return llvm::any_of(plan.op->getOperandTypes(), has) ||
           llvm::any_of(plan.op->getResultTypes(), has);
  };
  return hasWidth(32) && !hasWidth(16) ? "its types are fixed" : "";
}

/// What keeps one of a pair in float32 keeps the others.
void OperationPlans::shareObstacles() {
  for (const auto &[number, members] : pairs) {
    StringAttr obstacle;
    for (unsigned member : members) {
      std::string why = explainFixed(plans[member]);
      if (obstacle || why.empty())
        continue;
      obstacle = StringAttr::get(
          plans[member].op->getContext(),
          "goes with " + describeOperation(plans[member].op) + ": " + why);
    }
    if (!obstacle)
      continue;
    for (unsigned member : members) {
      OperationPlan &plan = plans[member];
      if (plan.mainVariable >= 0 && !plan.variables[plan.mainVariable].obstacle)
        plan.variables[plan.mainVariable].obstacle = obstacle;
    }
  }
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

void OperationPlans::addConstant(AutocastOpInterface op) {
  for (OpResult result : op->getResults()) {
    FloatType elementType = getFloatElementType(result.getType());
    if (!elementType)
      continue;
    StringRef name = op.getAutocastResultName(result.getResultNumber());
    if (name.empty())
      name = op.getAutocastNodeName();
    constants[result] = {std::nullopt, name};
  }
}

void OperationPlans::addFlowing(Operation *op) {
  if (!hasRegionFlow(op) && !isa<CallOpInterface>(op) &&
      !op->hasTrait<OpTrait::IsTerminator>())
    return;
  for (Value operand : op->getOperands())
    if (isConstant(operand))
      flowing.insert(operand);
}

/// True if the operation would run in the low format, were its data there.
bool OperationPlans::mayBeLow(const OperationPlan &plan) const {
  return plan.mainVariable >= 0 && plan.decision.category != Category::Deny;
}

void OperationPlans::scanConstants(MLIRContext *context) {
  // One job is a part of one constant's data, so that a big one keeps all
  // threads busy; parts are merged in order.
  constexpr uint64_t kElementsPerJob = 1 << 20;
  struct Job {
    const char *data;
    uint64_t count;
    FloatRange range;
  };
  struct Scan {
    size_t firstJob, numJobs;
    std::optional<FloatRange> range;
  };
  SmallVector<Job, 0> jobs;
  llvm::MapVector<Attribute, Scan> scans;
  SmallVector<std::pair<Value, Attribute>, 0> users;
  DenseSet<Value> seen;

  auto addScan = [&](Value operand) {
    if (!isConstant(operand) || !seen.insert(operand).second)
      return;
    std::optional<Float32Constant> data = getFloat32Constant(operand);
    if (!data)
      return;
    users.push_back({operand, data->value});
    auto [scan, isNew] = scans.insert({data->value, {jobs.size(), 0, {}}});
    if (!isNew)
      return;
    uint64_t stored = data->size();
    for (uint64_t i = 0; i < stored;
         i += kElementsPerJob, ++scan->second.numJobs)
      jobs.push_back({data->bytes.data() + i * sizeof(float),
                      std::min(kElementsPerJob, stored - i),
                      {}});
  };
  for (const OperationPlan &plan : plans) {
    if (!mayBeLow(plan))
      continue;
    for (auto [operand, number] :
         llvm::zip_equal(plan.op->getOperands(), plan.operandVariables))
      if (number >= 0 && plan.variables[number].moves &&
          (plan.adopts || !plan.variables[number].obstacle))
        addScan(operand);
  }
  for (Value operand : flowing)
    addScan(operand);

  parallelFor(context, 0, jobs.size(), [&](size_t i) {
    jobs[i].range = scanRange(jobs[i].data, jobs[i].count);
  });
  for (auto &[value, scan] : scans) {
    scan.range.emplace();
    for (size_t i = scan.firstJob, e = i + scan.numJobs; i < e; ++i)
      scan.range->merge(jobs[i].range);
  }
  for (auto [constant, value] : users)
    constants[constant].range = scans.find(value)->second.range;
}

/// The results of an operation that moves constants have the range of them all.
void OperationPlans::mergeRanges(const OperationPlan &plan) {
  std::optional<FloatRange> merged;
  // It becomes low for its user, if it has no other to please.
  bool canSaturate = !plan.variables[plan.mainVariable].obstacle &&
                     plan.op->getNumResults() == 1 && plan.op->hasOneUse();
  for (auto [operand, variable] :
       llvm::zip_equal(plan.op->getOperands(), plan.operandVariables)) {
    if (variable != plan.mainVariable)
      continue;
    canSaturate = canSaturate && this->canSaturate(operand, plan.low);
    const FloatRange *range = getRange(operand);
    if (!range)
      return;
    if (!merged)
      merged.emplace();
    merged->merge(*range);
  }
  for (auto [result, variable] :
       llvm::zip_equal(plan.op->getResults(), plan.resultVariables))
    if (variable == plan.mainVariable) {
      constants[result].range = merged;
      constants[result].canSaturate = canSaturate;
    }
}

/// True if a constant becomes low at compile time, where its values can be
/// clamped: a cast does not.
bool OperationPlans::canSaturate(Value constant, FloatFormat format) const {
  auto op = constant.getDefiningOp<AutocastOpInterface>();
  if (!op.isAutocastConstant())
    return constants.lookup(constant).canSaturate;
  return op.supportsElementType(
      op.getResultTypeVariable(cast<OpResult>(constant).getResultNumber()),
      getFloatType(op->getContext(), format));
}

Decision OperationPlans::getFlowingDecision() const {
  Decision decision;
  decision.category = Category::Clear;
  decision.outOfRange = policy->outOfRange();
  decision.underflow = policy->underflow();
  return decision;
}

bool OperationPlans::fits(Value constant, FloatFormat format) const {
  return explainMisfit(constant, format, getFlowingDecision()).empty();
}

/// Empty if the range is not known.
std::string OperationPlans::explainMisfit(Value constant, FloatFormat format,
                                          Decision decision) const {
  const FloatRange *range = getRange(constant);
  if (!range)
    return {};
  if (decision.outOfRange == OutOfRange::Saturate &&
      overflows(*range, format) && !canSaturate(constant, format))
    decision.outOfRange = OutOfRange::KeepFloat32;
  return amp::explainMisfit(*range, constants.lookup(constant).name, format,
                            decision);
}

/// A constant that does not fit is an obstacle to the whole operation: what it
/// stands for would be lost wherever the operation computes in low precision.
void OperationPlans::checkConstants(OperationPlan &plan) {
  std::string misfit;
  for (auto [index, number] : llvm::enumerate(plan.operandVariables)) {
    if (number < 0 || !plan.variables[number].moves ||
        plan.variables[number].obstacle)
      continue;
    Decision decision = plan.decision;
    if (!decision.flushedOperands.empty() &&
        llvm::is_contained(decision.flushedOperands,
                           plan.op.getOperandPosition(index)))
      decision.underflow = Underflow::Flush;
    misfit = explainMisfit(plan.op->getOperand(index), plan.low, decision);
    if (!misfit.empty())
      break;
  }
  if (misfit.empty())
    return;
  auto obstacle = StringAttr::get(plan.op->getContext(), misfit);
  for (TypeVariable &variable : plan.variables)
    if (variable.moves && !variable.obstacle)
      variable.obstacle = obstacle;
}

/// The range of a constant with few elements, behind what only moves it.
std::optional<FloatRange>
OperationPlans::getParameterRange(Value constant) const {
  while (const OperationPlan *plan = constant.getDefiningOp()
                                         ? lookup(constant.getDefiningOp())
                                         : nullptr) {
    auto moved = llvm::find(plan->operandVariables, plan->mainVariable);
    if (!plan->adopts || moved == plan->operandVariables.end())
      return std::nullopt;
    constant = plan->op->getOperand(moved - plan->operandVariables.begin());
  }
  std::optional<Float32Constant> data = getFloat32Constant(constant);
  if (!data || data->size() > kParameterElements)
    return std::nullopt;
  return scanRange(data->bytes.data(), data->size());
}

/// A small constant that keeps a sum from 0 (an epsilon) is in vain if the next
/// operation rounds the sum: whoever reads it stays float32, too, and what only
/// moves it passes that on.
void OperationPlans::guardSmallValues() {
  DenseMap<Value, StringAttr> guarded;
  for (OperationPlan &plan : plans) {
    if (plan.decision.category == Category::Allow)
      continue;
    StringAttr guard;
    for (auto [operand, number] :
         llvm::zip_equal(plan.op->getOperands(), plan.operandVariables)) {
      StringAttr found = guarded.lookup(operand);
      if (!found)
        continue;
      guard = found;
      if (number >= 0 && plan.variables[number].moves &&
          !plan.variables[number].obstacle)
        plan.variables[number].obstacle = found;
    }
    if (plan.decision.category != Category::Clear) {
      guard = {};
      if (plan.decision.underflow == Underflow::Flush)
        continue; // nobody cares
      for (auto [index, operand] : llvm::enumerate(plan.op->getOperands())) {
        std::optional<FloatRange> range = plan.operandVariables[index] < 0
                                              ? std::nullopt
                                              : getParameterRange(operand);
        Decision decision = plan.decision;
        decision.outOfRange = OutOfRange::Convert;
        if (!range || llvm::is_contained(decision.flushedOperands,
                                         plan.op.getOperandPosition(index)))
          continue;
        std::string why = amp::explainMisfit(
            *range, constants.lookup(operand).name, plan.low, decision);
        if (!why.empty())
          guard = StringAttr::get(plan.op->getContext(),
                                  "its input may be as small as a constant: " +
                                      why);
      }
    }
    if (!guard)
      continue;
    for (auto [result, number] :
         llvm::zip_equal(plan.op->getResults(), plan.resultVariables))
      if (number >= 0 &&
          bounds.get(result).absmin() < plan.low.smallestNormal())
        guarded[result] = guard;
  }
}

void OperationPlans::keepIllConditioned() {
  for (auto [op, reason] : findIllConditioned(*this))
    for (TypeVariable &variable : plans[planOf.lookup(op)].variables)
      if (variable.moves && !variable.obstacle)
        variable.obstacle = reason;
}

//===----------------------------------------------------------------------===//
// OperationPlans
//===----------------------------------------------------------------------===//

FailureOr<OperationPlans>
OperationPlans::compute(ModuleOp module, const Policy &policy,
                        const PrecisionOptions &options, bool readConstants) {
  OperationPlans result(module, policy, options);
  WalkResult walk = module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    StringAttr kept = result.keptInside.lookup(op->getParentOp());
    if (op->getNumRegions() > 0)
      result.keepInside(op, kept);
    auto autocast = dyn_cast<AutocastOpInterface>(op);
    if (!autocast || hasRegionFlow(op)) {
      result.addFlowing(op);
      return WalkResult::advance();
    }
    if (autocast.isAutocastConstant()) {
      result.addConstant(autocast);
      return WalkResult::advance();
    }
    return failed(result.addOperation(autocast, kept)) ? WalkResult::interrupt()
                                                       : WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();

  result.growIslands();
  result.settlePairs();
  if (!readConstants)
    return result;
  result.scanConstants(module.getContext());
  for (OperationPlan &plan : result.plans) {
    // Whether a constant fits is for those to say who compute with it.
    if (plan.adopts)
      result.mergeRanges(plan);
    else if (result.mayBeLow(plan))
      result.checkConstants(plan);
  }
  result.guardSmallValues();
  if (result.useEstimates)
    result.keepIllConditioned();
  result.shareObstacles();
  return result;
}

bool OperationPlans::returnsTooLarge(const FunctionFlow::Function &function,
                                     unsigned result) const {
  return llvm::any_of(function.returns, [&](Operation *terminator) {
    return result < terminator->getNumOperands() &&
           isTooLarge(terminator->getOperand(result));
  });
}

const OperationPlan *OperationPlans::lookup(Operation *op) const {
  auto found = planOf.find(op);
  return found == planOf.end() ? nullptr : &plans[found->second];
}

const FloatRange *OperationPlans::getRange(Value value) const {
  auto found = constants.find(value);
  return found == constants.end() || !found->second.range
             ? nullptr
             : &*found->second.range;
}
