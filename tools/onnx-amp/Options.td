//===- Options.td - The options of onnx-amp, of every command -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An option is visible in the commands that it names; the help texts of
// `onnx-amp COMMAND --help` are here.
//
//===----------------------------------------------------------------------===//

include "llvm/Option/OptParser.td"

// Their values are in CommandLine.h.
def MainOption : OptionVisibility;
def ConvertOption : OptionVisibility;
def InspectOption : OptionVisibility;
def PolicyOption : OptionVisibility;
def DiffOption : OptionVisibility;
def AdviseOption : OptionVisibility;
def DifferentiateOption : OptionVisibility;
def TrainGraphOption : OptionVisibility;
def CompileOption : OptionVisibility;
def RunOption : OptionVisibility;
def BakeOption : OptionVisibility;

class Switch<string name, list<OptionVisibility> commands, string help>
    : Flag<["--"], name>, Visibility<commands>, HelpText<help>;

/// `--name VALUE` and `--name=VALUE`.
multiclass Setting<string name, string value, list<OptionVisibility> commands,
                   string help> {
  def NAME : Separate<["--"], name>, MetaVarName<value>, Visibility<commands>,
      HelpText<help>;
  def NAME#_eq : Joined<["--"], name#"=">, Alias<!cast<Separate>(NAME)>,
      Visibility<commands>;
}

//===----------------------------------------------------------------------===//
// All commands
//===----------------------------------------------------------------------===//

def help : Switch<"help",
    [MainOption, ConvertOption, InspectOption, PolicyOption, DiffOption,
     AdviseOption, DifferentiateOption, TrainGraphOption, CompileOption,
     RunOption, BakeOption],
    "Print this text">;
def help_short : Flag<["-"], "h">, Alias<help>,
    Visibility<[MainOption, ConvertOption, InspectOption, PolicyOption,
                DiffOption, AdviseOption, DifferentiateOption,
                TrainGraphOption, CompileOption, RunOption, BakeOption]>;

def version : Switch<"version", [MainOption],
    "Print the versions of onnx-amp, MLIR and ONNX">;

def json : Switch<"json",
    [ConvertOption, InspectOption, PolicyOption, DiffOption, AdviseOption],
    "Print JSON instead of text">;

//===----------------------------------------------------------------------===//
// Models in and out
//===----------------------------------------------------------------------===//

def output : Separate<["-"], "o">, MetaVarName<"OUT">,
    Visibility<[ConvertOption, DifferentiateOption, TrainGraphOption,
                CompileOption, BakeOption]>,
    HelpText<"Where the model goes (required). As OUT '-' is standard\n"
             "output, as IN standard input; files whose names end in\n"
             ".onnxtxt are in ONNX's text form">;

defm external_data : Setting<"external-data", "auto|keep|inline|file",
    [ConvertOption, DifferentiateOption, TrainGraphOption],
    "Where the bytes of big tensors go (default: auto)\n"
    "auto:   where they were, or all to OUT.data past 2 GiB\n"
    "keep:   where they were\n"
    "inline: into the model\n"
    "file:   to OUT.data, beside the model">;

def allow_links : Switch<"allow-links",
    [ConvertOption, InspectOption, DiffOption, AdviseOption,
     DifferentiateOption, TrainGraphOption, CompileOption, RunOption,
     BakeOption],
    "Accept external data behind symbolic and hard links,\n"
    "as in the caches of model hubs">;

def durable : Switch<"durable",
    [ConvertOption, DifferentiateOption, TrainGraphOption],
    "Return only when the output is on the disk">;

//===----------------------------------------------------------------------===//
// Precision
//===----------------------------------------------------------------------===//

defm dtype : Setting<"dtype", "fp16|bf16|tf32|none",
    [ConvertOption, TrainGraphOption],
    "The low format (default: the policy's, else fp16);\n"
    "tf32 changes no types: it marks what may multiply in it;\n"
    "none casts nothing">;

defm policy : Setting<"policy", "NAME|FILE",
    [ConvertOption, PolicyOption, AdviseOption, TrainGraphOption],
    "Which operations run in the low format: a preset\n"
    "of 'onnx-amp policy list' or a YAML file\n"
    "(default: inference; training for train-graph)">;

defm placement : Setting<"placement", "eager|optimal",
    [ConvertOption, TrainGraphOption],
    "How formats are chosen where the policy leaves it open\n"
    "(default: optimal; eager for train-graph)\n"
    "eager:   by a node's inputs, as PyTorch does\n"
    "optimal: so that the model moves as few bytes as it can">;
defm islands : Setting<"islands", "keep|lower", [ConvertOption],
    "What optimal placement does with operations that the\n"
    "policy leaves open where none near them is low by\n"
    "policy (default: keep)\n"
    "keep:  they stay float32\n"
    "lower: they become low if that moves fewer bytes">;
defm estimates : Setting<"estimates", "use|ignore", [ConvertOption],
    "Whether what a model's constants say of ranges and\n"
    "errors is a reason for float32 (default: use, but\n"
    "ignore with --tolerance, which measures)">;
defm dim : Setting<"dim", "NAME=SIZE",
    [ConvertOption, InspectOption, DifferentiateOption,
     TrainGraphOption, CompileOption, RunOption],
    "What a dynamic dimension of this name is taken for\n"
    "where bytes are counted (default: 8); for compile, the\n"
    "only size that the executable is for; can be repeated">;

defm max_opset : Setting<"max-opset", "N", [ConvertOption],
    "The latest opset that the model may be raised to for\n"
    "operators without bfloat16 at its own (default: the\n"
    "latest that ONNX has)">;

def keep_io_types : Switch<"keep-io-types", [ConvertOption],
    "Inputs and outputs of the model keep their types (the\n"
    "default, unless the policy says which of them do)">;
def no_keep_io_types : Switch<"no-keep-io-types", [ConvertOption],
    "Inputs and outputs in float32 become low as well">;

defm keep_op : Setting<"keep-op", "OP", [ConvertOption],
    "Leave an operator alone, 'Softmax' or 'domain:Op',\n"
    "and all in its subgraphs; can be repeated">;
defm keep_node : Setting<"keep-node", "REGEX", [ConvertOption],
    "Leave the nodes alone whose whole name matches, as in\n"
    "'/encoder/.*', and all in their subgraphs; can be\n"
    "repeated">;

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

defm loss : Setting<"loss", "NAME",
    [DifferentiateOption, TrainGraphOption],
    "What is differentiated (required): a scalar that is an\n"
    "output of the model or of a node. Several are their sum,\n"
    "'A,B' or the option repeated. train-graph builds\n"
    "cross-entropy and mse on --output, and takes a weight,\n"
    "A=0.5">;
defm wrt : Setting<"wrt", "NAME[,NAME]", [DifferentiateOption],
    "With respect to what (required): initializers, inputs or\n"
    "outputs of nodes. The gradient of A is the output A_grad;\n"
    "can be repeated">;
defm recompute : Setting<"recompute", "auto|budget=BYTES|nodes=REGEX",
    [DifferentiateOption, TrainGraphOption],
    "Compute values again for the gradients, so that they\n"
    "need not be kept: nodes whose whole name matches, as\n"
    "little as activations of so many bytes allow (as in\n"
    "budget=256MiB), or what leaves the least memory with no\n"
    "node running more than twice (auto)">;

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

defm loss_output : Setting<"output", "NAME", [TrainGraphOption],
    "The output that a loss is built on (default: the only one\n"
    "of floats); one for each loss that is built">;
defm class_axis : Setting<"class-axis", "N", [TrainGraphOption],
    "The dimension of classes for cross-entropy (default: 1,\n"
    "or the last if its size alone is known); -1 is the last">;
defm trainable : Setting<"trainable", "REGEX", [TrainGraphOption],
    "Train the initializers of floats whose whole name matches\n"
    "and that the loss depends on (default: '.*'); never\n"
    "BatchNormalization's statistics, exponents, bounds and\n"
    "what else is no weight for its operator">;

defm optimizer : Setting<"optimizer", "NAME", [TrainGraphOption],
    "sgd, adam, adamw, adagrad, adafactor or lion\n"
    "(default: adamw)">;
defm lr : Setting<"lr", "NUMBER", [TrainGraphOption],
    "The learning rate (default: torch.optim's)">;
defm weight_decay : Setting<"weight-decay", "NUMBER", [TrainGraphOption],
    "The weight decay (default: torch.optim's)">;
defm setting : Setting<"setting", "NAME=NUMBER", [TrainGraphOption],
    "Another setting of the optimizer, as beta1, beta2, eps,\n"
    "momentum (default: torch.optim's); can be repeated">;
defm clip_norm : Setting<"clip-norm", "NUMBER", [TrainGraphOption],
    "The norm of all gradients that they are clipped to\n"
    "(default: 0, any)">;

defm clip_value : Setting<"clip-value", "NUMBER", [TrainGraphOption],
    "What each element of a gradient is clipped to, before\n"
    "the norm (default: 0, anything)">;
defm group : Setting<"group", "REGEX:lr=F,decay=D", [TrainGraphOption],
    "Parameters whose whole name matches have a factor on the\n"
    "learning rate, or another weight decay; the first group\n"
    "that matches holds; can be repeated.\n"
    "REGEX:optimizer=NAME,lr=RATE,decay=D,SETTING=NUMBER is an\n"
    "optimizer of their own; these groups are looked at first">;
defm schedule : Setting<"schedule", "SCHEDULE", [TrainGraphOption],
    "How the learning rate goes: constant[:warmup=W],\n"
    "linear:warmup=W,total=T, cosine:warmup=W,total=T,end=E,\n"
    "or input: the rate is an input amp.lr\n"
    "(default: constant)">;
defm ema : Setting<"ema", "DECAY", [TrainGraphOption],
    "Keep an average X.ema of each parameter X as state\n"
    "(default: 0, none)">;
def counters : Switch<"counters", [TrainGraphOption],
    "Add outputs that count: skipped steps, the first\n"
    "parameter whose gradient overflowed, the share of\n"
    "gradients that are zero">;

defm accumulate : Setting<"accumulate", "N", [TrainGraphOption],
    "A step averages the gradients of N batches, one for each\n"
    "call (default: 1)">;
defm apply_output : Setting<"apply-output", "FILE", [TrainGraphOption],
    "With --accumulate: OUT only adds gradients up, this model\n"
    "applies them; it is run after each N of OUT">;

defm batch_norm : Setting<"batch-norm", "train|keep", [TrainGraphOption],
    "What BatchNormalization does (default: train)\n"
    "train: normalize by the batch, gather statistics as state\n"
    "keep:  what it did">;
def unbiased_variance : Switch<"unbiased-variance", [TrainGraphOption],
    "Gather unbiased variances, as PyTorch does">;
defm dropout : Setting<"dropout", "train|keep", [TrainGraphOption],
    "What Dropout does (default: train)\n"
    "train: drop, the same elements in every run\n"
    "keep:  what it did">;
defm seed : Setting<"seed", "N", [TrainGraphOption],
    "What dropout and stochastic rounding begin with\n"
    "(default: 0)">;
def stochastic_rounding : Switch<"stochastic-rounding", [TrainGraphOption],
    "With bf16: parameters are bfloat16, without a float32\n"
    "copy, and updates are rounded at random">;

defm loss_scale : Setting<"loss-scale", "dynamic|static=NUMBER|none",
    [ConvertOption, TrainGraphOption],
    "What the loss is multiplied by, so that gradients do not\n"
    "vanish (default: dynamic for fp16, else none; of convert\n"
    "none: it scales the loss of ONNX Runtime's training\n"
    "models, whose optimizer models skip steps with gradients\n"
    "that are not finite)">;
defm scaler_mode : Setting<"scaler-mode", "torch|safe",
    [ConvertOption, TrainGraphOption],
    "What scaling does (default: safe)\n"
    "torch: bit for bit what torch.amp.GradScaler does\n"
    "safe:  gradients must be finite after unscaling, too, and\n"
    "       the scale has bounds">;
defm init_scale : Setting<"init-scale", "NUMBER", [TrainGraphOption],
    "The dynamic scale of the first step (default: 65536)">;
defm growth_factor : Setting<"growth-factor", "NUMBER",
    [ConvertOption, TrainGraphOption],
    "What the dynamic scale grows by (default: 2)">;
defm backoff_factor : Setting<"backoff-factor", "NUMBER",
    [ConvertOption, TrainGraphOption],
    "What it is multiplied by after an overflow (default: 0.5)">;
defm growth_interval : Setting<"growth-interval", "N",
    [ConvertOption, TrainGraphOption],
    "Steps without overflow after which it grows\n"
    "(default: 2000)">;

defm form : Setting<"form", "training-info|flat",
    [ConvertOption, TrainGraphOption],
    "What a step is written as (default: of convert, whose\n"
    "model has a training_info, that; of train-graph, flat)\n"
    "training-info: a model for inference, with ONNX's\n"
    "               description of its training\n"
    "flat:          a step that any runtime runs: state goes in\n"
    "               and comes out, paired by the metadata amp.state">;

def lower_ort : Switch<"lower-ort", [ConvertOption],
    "Rewrite ONNX Runtime's operators, those of its training\n"
    "artifacts among them, with ONNX's own">;
defm optimizer_model : Setting<"optimizer-model", "FILE", [ConvertOption],
    "With --lower-ort: join ONNX Runtime's training model, the\n"
    "input, and its optimizer model to one step">;

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

defm data : Setting<"data", "DATA", [ConvertOption, DiffOption, AdviseOption],
    "What models run on: an .npz file with one array for each\n"
    "input, or a folder of such files">;

defm calibrate : Setting<"calibrate", "DATA", [ConvertOption],
    "Run the model on data, as of --data, and leave in float32\n"
    "what leaves the range of the low format">;
defm calibrate_margin : Setting<"calibrate-margin", "FACTOR", [ConvertOption],
    "How much larger than seen values may become (default: 2)">;

defm tolerance : Setting<"tolerance", "ERROR",
    [ConvertOption, DiffOption, AdviseOption],
    "The largest relative error that is accepted (default:\n"
    "0.01). convert searches for the most nodes in the low\n"
    "format that stay within, on --data">;
defm search_state : Setting<"search-state", "FILE", [ConvertOption],
    "Where a search keeps what it knows, to go on with it\n"
    "when it was ended (default: OUT.search.json, which is\n"
    "gone when the search is done)">;
defm max_probes : Setting<"max-probes", "NUMBER", [ConvertOption],
    "How many conversions a search tries (default: 40)">;

def per_node : Switch<"per-node", [DiffOption],
    "List every value, not the first and the worst alone">;

defm threads : Setting<"threads", "NUMBER",
    [ConvertOption, DiffOption, AdviseOption],
    "Threads that run models (default: all processors)">;
defm timeout : Setting<"timeout", "SECONDS",
    [ConvertOption, DiffOption, AdviseOption],
    "How long a model may run on the data (default: 3600)">;

//===----------------------------------------------------------------------===//
// What is said
//===----------------------------------------------------------------------===//

def explain : Switch<"explain", [ConvertOption],
    "Print for every node with floats what it runs in, and\n"
    "why, before the summary">;

defm report : Setting<"report", "FILE", [ConvertOption],
    "Write what --json --explain prints to a file">;

defm dot : Setting<"dot", "FILE", [ConvertOption],
    "Draw the graph in Graphviz's language, nodes coloured\n"
    "by format; large graphs block by block">;
defm svg : Setting<"svg", "FILE", [ConvertOption],
    "The same as SVG, laid out by Graphviz's program 'dot'">;

//===----------------------------------------------------------------------===//
// compile
//===----------------------------------------------------------------------===//

defm cpu : Setting<"cpu", "CPU[,CPU...]", [CompileOption, RunOption],
    "The kinds of CPU that code is for, best last: x86-64-v2,\n"
    "x86-64-v3, x86-64-v4, or native, which is the best of these\n"
    "that this machine has (default: native)">;

def explain_kernels : Switch<"explain-kernels", [CompileOption],
    "Print what runs each node">;

def round_each_node : Switch<"round-each-node", [CompileOption, RunOption],
    "Round 16-bit results as often as the model's nodes do:\n"
    "products are rounded before sums and activations">;

def list_operators : Switch<"list-operators", [CompileOption],
    "Print the operators that executables can have, and what runs\n"
    "them, and exit">;

//===----------------------------------------------------------------------===//
// run, bake
//===----------------------------------------------------------------------===//

defm inputs : Setting<"inputs", "FILE", [RunOption],
    "A .npz file with an array for each input, by its name">;
defm outputs : Setting<"outputs", "FILE", [RunOption],
    "Where to write the outputs, as .npz">;
defm checkpoint : Setting<"checkpoint", "FILE", [BakeOption],
    "The .safetensors file with the weights, by the names of\n"
    "initializers; what else is in it is left out (required)">;
def average : Switch<"average", [BakeOption],
    "Take the averages X.ema, of train-graph --ema, for X">;

def quiet : Switch<"quiet",
    [ConvertOption, DifferentiateOption, TrainGraphOption, CompileOption,
     BakeOption],
    "Print no summary">;
