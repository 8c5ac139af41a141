//===- amp-run.cpp - runs compiled models, without a compiler -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Describe.h"
#include "Evaluator.h"
#include "Run.h"
#include "Trainer.h"

#include <CLI/CLI.hpp>

#include <cstdio>

using namespace amp::run;
using amp::runtime::Result;
using amp::runtime::Status;

namespace {

struct Arguments {
  bool isDescription = false, isTraining = false;
  std::vector<std::string> evaluationData, metrics = {"accuracy"};
  std::string loss;
  std::vector<std::string> renames;
  std::optional<uint64_t> batch;
  ModelOptions model;
  RunOptions run;
  TrainOptions train;
  EvaluateOptions evaluate;
};

} // namespace

static void addModelOptions(CLI::App &app, ModelOptions &options) {
  app.add_option("MODEL", options.executable, "The .ampx file")->required();
  app.add_option("--inputs", options.inputs,
                 "A .npz file with an array for each input, by its name; in "
                 "training and evaluation, for inputs that stay as they are");
  app.add_option("--threads", options.threads,
                 "Threads (default: one for each CPU)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--state", options.state,
                 "A .safetensors file to begin with, instead of the initial "
                 "states");
  app.add_option("--save-state", options.saveState,
                 "Where to write the states at the end, as .safetensors");
  app.add_flag("--verify", options.verify,
               "Compare the checksums of all constants before running");
}

static void addRunOptions(CLI::App &app, RunOptions &options) {
  app.add_option("--outputs", options.outputs,
                 "Where to write the outputs of the last step, as .npz");
  app.add_option("--repeat", options.repeat, "Steps (default: 1)")
      ->check(CLI::Range(1, 1000000000));
  app.add_option("--profile", options.profile,
                 "Where to write each command's time, as a Chrome trace");
}

static void addTrainOptions(CLI::App &app, Arguments &arguments) {
  TrainOptions &options = arguments.train;
  const char *group = "Training";
  CLI::Option *train = app.add_flag("--train", arguments.isTraining,
                                    "Run a training step on batches of data")
                           ->group(group);
  for (const char *other : {"--outputs", "--repeat", "--profile"})
    train->excludes(app.get_option(other));
  auto add = [&](const char *name, auto &value, const char *text) {
    return app.add_option(name, value, text)->group(group)->needs(train);
  };
  train->needs(add("--data", options.data,
                   "FILE.npz, FILE.npy, a folder of these, or "
                   "INPUT=FILE.npy; the first axis counts samples"));
  CLI::Option *epochs =
      add("--epochs", options.epochs,
          "How often to use all samples, all in all (default: 1)")
          ->check(CLI::PositiveNumber);
  add("--steps", options.steps, "How many steps to make, all in all")
      ->check(CLI::PositiveNumber)
      ->excludes(epochs);
  add("--shuffle", options.seed,
      "A seed: the order of samples, another in each epoch")
      ->check(CLI::NonNegativeNumber);
  add("--log", options.log, "Where to write a line of JSON for each step");
  CLI::Option *checkpoint =
      add("--checkpoint", options.checkpoint,
          "Where to write the states and the position, as .safetensors");
  add("--checkpoint-every", options.checkpointEvery,
      "Steps between checkpoints (default: at the end only)")
      ->check(CLI::PositiveNumber)
      ->needs(checkpoint);
  add("--keep", options.keep,
      "How many checkpoints to keep: FILE, FILE.1, … (default: 1)")
      ->check(CLI::Range(1, 1000))
      ->needs(checkpoint);
  add("--resume", options.resume, "A checkpoint to go on from")
      ->excludes(app.get_option("--state"));
  app.add_flag("--stop-on-nonfinite", options.stopOnNonFinite,
               "End when the loss is no finite number, and say which node "
               "made one first")
      ->group(group)
      ->needs(train);
}

static void addEvaluateOptions(CLI::App &app, Arguments &arguments) {
  EvaluateOptions &options = arguments.evaluate;
  const char *group = "Evaluation";
  CLI::Option *data =
      app.add_option("--eval-data", arguments.evaluationData,
                     "Run on all samples of this, and print metrics; as "
                     "--data")
          ->group(group);
  for (const char *other :
       {"--train", "--outputs", "--repeat", "--profile", "--save-state"})
    data->excludes(app.get_option(other));
  auto add = [&](const char *name, auto &value, const char *text) {
    return app.add_option(name, value, text)->group(group)->needs(data);
  };
  add("--metric", arguments.metrics,
      "accuracy (default), loss, or both: accuracy,loss")
      ->delimiter(',')
      ->check(CLI::IsMember({"accuracy", "loss"}));
  add("--logits", options.logits,
      "The output with a number for each class (default: logits, or the only "
      "one)");
  add("--labels", options.labels,
      "The input or array with the number of the class (default: labels, or "
      "the only input of integers)");
}

static void addSharedOptions(CLI::App &app, Arguments &arguments) {
  const char *group = "Training and evaluation";
  app.add_option("--batch", arguments.batch,
                 "Samples of a batch, where the model takes any number")
      ->group(group)
      ->check(CLI::PositiveNumber);
  app.add_option("--array", arguments.renames,
                 "INPUT=ARRAY: the array for an input has another name")
      ->group(group)
      ->check([](const std::string &text) {
        size_t equals = text.find('=');
        bool isPair = equals != std::string::npos && equals > 0 &&
                      equals + 1 < text.size();
        return isPair ? std::string() : "expected INPUT=ARRAY, but got " + text;
      });
  app.add_option("--loss", arguments.loss,
                 "The output that is the loss (default: total_loss, loss, or "
                 "the only scalar)")
      ->group(group);
}

/// The exit code.
static Result<int> runTool(Arguments &arguments) {
  if (arguments.isTraining) {
    TrainOptions &options = arguments.train;
    options.batch = arguments.batch;
    options.renames = arguments.renames;
    options.loss = arguments.loss;
    return train(arguments.model, options);
  }
  Status status;
  if (arguments.isDescription) {
    status = printDescription(arguments.model);
  } else if (arguments.evaluationData.empty()) {
    status = run(arguments.model, arguments.run);
  } else {
    EvaluateOptions &options = arguments.evaluate;
    options.data = arguments.evaluationData;
    options.batch = arguments.batch;
    options.renames = arguments.renames;
    options.lossName = arguments.loss;
    for (const std::string &metric : arguments.metrics)
      (metric == "loss" ? options.loss : options.accuracy) = true;
    status = evaluate(arguments.model, options);
  }
  if (!status.ok())
    return status;
  return 0;
}

int main(int argc, char **argv) {
  Arguments arguments;
  CLI::App app("Runs a model that `onnx-amp compile` has made.", "amp-run");
  addModelOptions(app, arguments.model);
  app.add_flag("--describe", arguments.isDescription,
               "Print inputs, outputs, states, what runs and how memory is "
               "planned, and run nothing");
  addRunOptions(app, arguments.run);
  addTrainOptions(app, arguments);
  addEvaluateOptions(app, arguments);
  addSharedOptions(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  Result<int> code = runTool(arguments);
  if (code.ok())
    return *code;
  std::fprintf(stderr, "amp-run: error: %s\n", code.getMessage().c_str());
  return 1;
}
