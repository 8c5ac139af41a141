//===- ScalarValues.cpp - numbers that each step gives --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarValues.h"

#include "CPU/Conversion.h"
#include "NearestName.h"
#include "Quote.h"

#include <algorithm>

using namespace amp::run;
using namespace amp::runtime;

// As onnx-amp train-graph names them: docs/training.md.
static constexpr std::string_view ownPrefix = "amp.";
static constexpr std::string_view foundInf = "amp.found_inf";
static constexpr std::string_view scaleName = "amp.scale";
static constexpr std::string_view totalLoss = "total_loss";
static constexpr std::string_view plainLoss = "loss";

double Scalar::getNumber() const {
  double number = 0;
  convertElements(tensor.type, tensor.data, DataType::Double, &number, 1);
  return number;
}

static bool isFloat(DataType type) {
  return type == DataType::Float || type == DataType::Double ||
         type == DataType::Float16 || type == DataType::BFloat16;
}

/// One element whatever the inputs are, of a type that is a number.
static bool isScalar(const TensorInfo &info) {
  return info.hasRank && isNumeric(info.type) &&
         std::all_of(info.dims.begin(), info.dims.end(),
                     [](int64_t dim) { return dim == 1; });
}

Status ScalarValues::findLoss(const Executable &executable,
                              const std::string &loss) {
  std::vector<std::string_view> candidates;
  bool isNamed = !loss.empty();
  std::string chosen = loss;
  for (const TensorInfo &output : executable.getOutputs()) {
    if (!isScalar(output) || !isFloat(output.type) ||
        output.name.compare(0, ownPrefix.size(), ownPrefix) == 0)
      continue;
    candidates.push_back(output.name);
    if (!isNamed && (output.name == totalLoss ||
                     (output.name == plainLoss && chosen != totalLoss)))
      chosen = output.name;
  }
  if (chosen.empty() && candidates.size() == 1)
    chosen = candidates[0];
  if (isNamed &&
      std::find(candidates.begin(), candidates.end(), loss) == candidates.end())
    return Status::error("no output " + quote(loss) + " is a scalar of floats" +
                         suggestName(loss, candidates));
  if (chosen.empty() && candidates.empty())
    return Status::error("the model has no loss: none of its outputs is a "
                         "scalar of floats");
  if (chosen.empty())
    return Status::error("which output is the loss? say it by --loss NAME" +
                         suggestName(loss, candidates));
  scalars.push_back({chosen, false, {}});
  return {};
}

Result<ScalarValues> ScalarValues::find(const Executable &executable,
                                        const std::string &loss) {
  ScalarValues values;
  if (Status status = values.findLoss(executable, loss); !status.ok())
    return status;
  for (const TensorInfo &output : executable.getOutputs())
    if (isScalar(output) && output.name != values.getLossName())
      values.scalars.push_back({output.name, false, {}});
  for (const TensorInfo &state : executable.getStates())
    if (isScalar(state) && state.dims.empty())
      values.scalars.push_back({state.name, true, {}});
  return values;
}

Status ScalarValues::read(const Session &session) {
  for (Scalar &scalar : scalars) {
    Result<TensorView> tensor = scalar.isState ? session.getState(scalar.name)
                                               : session.getOutput(scalar.name);
    if (!tensor.ok())
      return tensor.getStatus();
    scalar.tensor = *tensor;
  }
  return {};
}

bool ScalarValues::isSkipped() const {
  return std::any_of(scalars.begin(), scalars.end(), [](const Scalar &scalar) {
    std::string_view name = scalar.name;
    return name.substr(0, foundInf.size()) == foundInf &&
           (name.size() == foundInf.size() || name[foundInf.size()] == '.') &&
           scalar.getNumber() != 0;
  });
}

std::optional<double> ScalarValues::getScale() const {
  for (const Scalar &scalar : scalars)
    if (scalar.name == scaleName)
      return scalar.getNumber();
  return std::nullopt;
}
