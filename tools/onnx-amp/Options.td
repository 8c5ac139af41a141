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
     AdviseOption, DifferentiateOption],
    "Print this text">;
def help_short : Flag<["-"], "h">, Alias<help>,
    Visibility<[MainOption, ConvertOption, InspectOption, PolicyOption,
                DiffOption, AdviseOption, DifferentiateOption]>;

def version : Switch<"version", [MainOption],
    "Print the versions of onnx-amp, MLIR and ONNX">;

def json : Switch<"json",
    [ConvertOption, InspectOption, PolicyOption, DiffOption, AdviseOption],
    "Print JSON instead of text">;

//===----------------------------------------------------------------------===//
// Models in and out
//===----------------------------------------------------------------------===//

def output : Separate<["-"], "o">, MetaVarName<"OUT">,
    Visibility<[ConvertOption, DifferentiateOption]>,
    HelpText<"Where the model goes (required). As OUT '-' is standard\n"
             "output, as IN standard input; files whose names end in\n"
             ".onnxtxt are in ONNX's text form">;

defm external_data : Setting<"external-data", "auto|keep|inline|file",
    [ConvertOption, DifferentiateOption],
    "Where the bytes of big tensors go (default: auto)\n"
    "auto:   where they were, or all to OUT.data past 2 GiB\n"
    "keep:   where they were\n"
    "inline: into the model\n"
    "file:   to OUT.data, beside the model">;

def allow_links : Switch<"allow-links",
    [ConvertOption, InspectOption, DiffOption, AdviseOption,
     DifferentiateOption],
    "Accept external data behind symbolic and hard links,\n"
    "as in the caches of model hubs">;

def durable : Switch<"durable", [ConvertOption, DifferentiateOption],
    "Return only when the output is on the disk">;

//===----------------------------------------------------------------------===//
// Precision
//===----------------------------------------------------------------------===//

defm dtype : Setting<"dtype", "fp16|bf16|tf32|none", [ConvertOption],
    "The low format (default: the policy's, else fp16);\n"
    "tf32 changes no types: it marks what may multiply in it;\n"
    "none reads, verifies and writes, and changes nothing">;

defm policy : Setting<"policy", "NAME|FILE",
    [ConvertOption, PolicyOption, AdviseOption],
    "Which operations run in the low format: a preset\n"
    "of 'onnx-amp policy list' or a YAML file\n"
    "(default: inference)">;

defm placement : Setting<"placement", "eager|optimal", [ConvertOption],
    "How formats are chosen where the policy leaves it open\n"
    "(default: optimal)\n"
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
defm dim : Setting<"dim", "NAME=SIZE", [ConvertOption, InspectOption],
    "What a dynamic dimension of this name is taken for\n"
    "where bytes are counted (default: 8); can be repeated">;

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

defm loss : Setting<"loss", "NAME[,NAME]", [DifferentiateOption],
    "The values whose sum is differentiated (required): scalar\n"
    "outputs of the model or of its nodes; can be repeated">;
defm wrt : Setting<"wrt", "NAME[,NAME]", [DifferentiateOption],
    "With respect to what (required): initializers, inputs or\n"
    "outputs of nodes. The gradient of A is the output A_grad;\n"
    "can be repeated">;

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

def quiet : Switch<"quiet", [ConvertOption, DifferentiateOption],
    "Print no summary">;
