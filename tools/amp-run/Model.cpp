//===- Model.cpp - an executable, its session, and constant inputs --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model.h"

using namespace amp::run;
using namespace amp::runtime;

static Status setInputs(Model &model) {
  Session &session = *model.session;
  for (const NamedTensor &array : model.inputs.getTensors()) {
    TensorView tensor = array.tensor;
    for (const TensorInfo &input : session.getExecutable().getInputs())
      if (input.name == array.name)
        tensor.type = adaptType(tensor.type, input.type);
    if (Status status = session.setInput(array.name, tensor); !status.ok())
      return status;
    model.constants.insert(array.name);
  }
  return {};
}

Result<Model> amp::run::openModel(const ModelOptions &options) {
  LoadOptions loadOptions;
  loadOptions.verifyConstants = options.verify;
  auto executable = Executable::load(options.executable, loadOptions);
  if (!executable.ok())
    return executable.getStatus();
  auto session = Session::create(*executable, {options.threads});
  if (!session.ok())
    return session.getStatus();
  Model model;
  model.session = std::move(*session);
  if (!options.inputs.empty()) {
    Result<ArrayFile> read = ArrayFile::read(options.inputs);
    if (!read.ok())
      return read.getStatus();
    model.inputs = std::move(*read);
  }
  if (Status status = setInputs(model); !status.ok())
    return status;
  if (options.state.empty())
    return model;
  if ((*executable)->getStates().empty())
    return Status::error("the model has no states that --state could set; "
                         "weights of a checkpoint are put into a model before "
                         "it is compiled");
  if (Status status = model.session->loadStates(options.state); !status.ok())
    return status;
  return model;
}
