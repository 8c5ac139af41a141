//===- Autocast.td - Passes of automatic mixed precision --*- tablegen -*--===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the order in which the pipeline `amp-autocast` runs them. The operations
// in the examples are those of the test dialect `t`; the examples are in
// test/Passes.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_AUTOCAST
#define AMP_PASSES_AUTOCAST

include "mlir/Pass/PassBase.td"

defvar placementValues = [{::llvm::cl::values(
  clEnumValN(::amp::Placement::Eager, "eager",
             "by an operation's inputs, as PyTorch does"),
  clEnumValN(::amp::Placement::Optimal, "optimal",
             "so that the program moves as few bytes as it can"))}];

defvar ioTypesValues = [{::llvm::cl::values(
  clEnumValN(::amp::IOTypes::Keep, "true", "they do"),
  clEnumValN(::amp::IOTypes::Lower, "false", "those of float32 become low"),
  clEnumValN(::amp::IOTypes::Policy, "policy",
             "as the policy says, which may name some of them"))}];

def AnnotatePrecision : Pass<"amp-annotate-precision", "::mlir::ModuleOp"> {
  let summary = "Decide which operations run in which float format";
  let description = [{
    Asks the policy for the category of each operation, chooses formats (what
    the placements are is said in amp/Analysis/PrecisionAnalysis.h) and writes
    the decisions, with their reasons, into attributes. Changes nothing else,
    except that functions are copied whose calls disagree. The attributes are described with the `amp` dialect; those of an earlier run
    are replaced. Measured ranges (`amp.ranges`, `amp.argument_ranges`) and
    `amp.keep`, where they are, count; so does what RangeOpInterface knows of
    bounds and of statistics (docs/numerics.md), and `amp.pair`: a gradient goes
    with its forward operation.

    A private function that only calls refer to gets a body for each kind of
    call: calls for which the same is decided inside share one, the first ones
    the function itself, and `@f_1` is the first copy of `@f`. To find that out,
    each call has a copy for a while, callers first; where these would have more
    than 100000 operations (a constant counts one more for each KiB), all calls
    of the function share its body, a remark says so, and the function takes the join of what they pass. So do recursive
    functions, and what they call. With `specialize=false` all functions do.

    Fails if the policy can't be had, or bans an operation.

    Before, with `low=fp16` and a policy that allows `t.matmul`:

    ```mlir
    %y = t.matmul %x, %w : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    ```

    After:

    ```mlir
    %y = t.matmul %x, %w {amp.category = "allow", amp.precision = [f16],
                          amp.reason = "policy 'p': t:matmul is allow"}
      : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    ```
  }];
  let dependentDialects = ["::amp::AMPDialect"];
  let options = [
    Option<"low", "low", "std::string", /*default=*/"",
           "Low format, fp16, bf16 or tf32 (default: the policy's, else fp16)">,
    Option<"policy", "policy", "std::string", /*default=*/"\"inference\"",
           "Name of a preset, or path of a policy file">,
    Option<"ioTypes", "keep-io-types", "::amp::IOTypes",
           /*default=*/"::amp::IOTypes::Policy",
           "Public functions keep the types of arguments and results",
           ioTypesValues>,
    Option<"placement", "placement", "::amp::Placement",
           /*default=*/"::amp::Placement::Eager",
           "How formats are chosen where the policy leaves it open",
           placementValues>,
    ListOption<"dimensions", "dim", "std::string",
               "NAME=SIZE: what optimal placement takes a dynamic dimension of "
               "this name for">,
    Option<"keepIslands", "keep-islands", "bool", /*default=*/"true",
           "Optimal placement leaves operations float32 that the policy leaves "
           "free where none near them is low by policy">,
    ListOption<"keepOps", "keep-op", "std::string",
               "Operators that keep their types, \"Op\" or \"domain:Op\", "
               "with all that is in their regions">,
    ListOption<"keepNodes", "keep-node", "std::string",
               "Regular expressions on the names of nodes that keep their types, "
               "with all that is in their regions">,
    Option<"rangeMargin", "range-margin", "double", /*default=*/"2",
           "A value stays float32 if its measured range (amp.ranges), times "
           "this, is beyond the low format's">,
    Option<"estimates", "estimates", "bool", /*default=*/"true",
           "What statistics that are constants of the program say of ranges and "
           "errors is a reason for float32">,
    Option<"reasons", "reasons", "bool", /*default=*/"true",
           "Write amp.category, amp.reason and amp.rule as well, which only "
           "people read">,
    Option<"specialize", "specialize", "bool", /*default=*/"true",
           "Copy functions whose callers disagree">,
  ];
  let statistics = [
    Statistic<"numLow", "low", "Operations that run in the low format">,
    Statistic<"numFloat32", "float32",
              "Operations that could move, and run in float32">,
    Statistic<"numFixed", "fixed", "Operations with floats that can't move">,
    Statistic<"numCopies", "copies", "Copies of functions made">,
  ];
}

def InsertCasts : Pass<"amp-insert-casts", "::mlir::ModuleOp"> {
  let summary = "Carry out the decisions of amp-annotate-precision (rounds)";
  let description = [{
    Gives results, block arguments and functions the element types that the
    annotations ask for, and casts every operand that is then of another type
    than its operation wants. The annotations `amp.precision`,
    `amp.result_types`, `amp.argument_types`, `amp.overflow` and `amp.pair` are
    consumed.

    A value has one cast for each type, right after its definition (at the start
    of the block for an argument), whatever regions its users are in. A constant
    is not cast: it gets a rounded copy for each type, and is erased if that
    leaves it without users. Only if it is large (more than 4096 elements) and
    has users that read it as it is, it is stored once and cast.

    An operation without annotation keeps its types, and its operands.

    Before:

    ```mlir
    func.func @f(%x: tensor<2x2xf32>, %w: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %y = t.matmul %x, %w {amp.precision = [f16]}
        : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
      return %y : tensor<2x2xf32>
    }
    ```

    After:

    ```mlir
    func.func @f(%x: tensor<2x2xf32>, %w: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %0 = amp.cast %x : tensor<2x2xf32> to tensor<2x2xf16>
      %1 = amp.cast %w : tensor<2x2xf32> to tensor<2x2xf16>
      %y = t.matmul %0, %1
        : (tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<2x2xf16>
      %2 = amp.cast %y : tensor<2x2xf16> to tensor<2x2xf32>
      return %2 : tensor<2x2xf32>
    }
    ```
  }];
  let dependentDialects = ["::amp::AMPDialect"];
  let statistics = [
    Statistic<"numCasts", "casts", "Casts inserted">,
    Statistic<"numConstants", "constants", "Rounded copies of constants made">,
    Statistic<"numErased", "erased", "Constants erased, as nobody read them">,
  ];
}

def OptimizeCasts : Pass<"amp-optimize-casts", "::mlir::ModuleOp"> {
  let summary = "Remove and move amp.cast operations where no value changes";
  let description = [{
    Folds casts of casts that did not round, merges casts of one value to one
    type into one, right after the value's definition, and erases casts that
    nobody reads. Only `amp.cast` is touched: a model's own casts are someone's
    rounding. So is a cast of a cast that rounded.

    An operation that moves data only (`amp.transparent`, which is consumed)
    runs in another format if the casts around it, together with it, move fewer
    bytes then (amp/Analysis/CostModel.h): casts that widen sink below it, and a
    cast below it gives way to one that its operand has already. Casts that round
    stay where they are. What is read stays what it was, bit by bit.

    A cast that one branch alone reads is done there. One in a loop of a value
    from outside is done outside, and one in both branches before them.

    Before:

    ```mlir
    %0 = amp.cast %x : tensor<4xf16> to tensor<4xf32>
    %1 = amp.cast %0 : tensor<4xf32> to tensor<4xf16>
    %y = t.relu %1 : (tensor<4xf16>) -> tensor<4xf16>
    %2 = t.transpose %0 {amp.transparent} : (tensor<4xf32>) -> tensor<4xf32>
    %3 = amp.cast %2 : tensor<4xf32> to tensor<4xf16>
    ```

    After:

    ```mlir
    %y = t.relu %x : (tensor<4xf16>) -> tensor<4xf16>
    %2 = t.transpose %x : (tensor<4xf16>) -> tensor<4xf16>
    ```
  }];
  let options = [
    ListOption<"dimensions", "dim", "std::string",
               "NAME=SIZE: what a dynamic dimension of this name is taken for">,
  ];
  let statistics = [
    Statistic<"numFolded", "folded", "Casts folded into other values">,
    Statistic<"numMerged", "merged", "Casts merged with one like it">,
    Statistic<"numDead", "dead", "Casts erased that nobody read">,
    Statistic<"numMoved", "moved", "Operations that casts moved past">,
    Statistic<"numPlaced", "placed", "Casts moved into branches">,
  ];
}

def VerifyPrecision : Pass<"amp-verify-precision", "::mlir::ModuleOp"> {
  let summary = "Check that every operation admits the float types it has";
  let description = [{
    Reports, for every operation with AutocastOpInterface, an element type that
    the operator does not admit and a type variable with two; for operations
    with control flow, a value whose element type differs from where it goes; and
    calls and returns that disagree with their function. Changes nothing.

    It catches mistakes of the passes before it, of policies, and of operations'
    implementations of the interface, close to their cause.

    Example:

    ```mlir
    // error: 't.add' op has element types 'f16' and 'f32' in type variable 0
    %y = t.add %a, %b : (tensor<4xf16>, tensor<4xf32>) -> tensor<4xf16>
    ```
  }];
}

def StripAnnotations : Pass<"amp-strip-annotations", "::mlir::ModuleOp"> {
  let summary = "Remove the attributes of amp-annotate-precision";
  let description = [{
    Removes every discardable attribute of the `amp` dialect but `amp.compute`:
    what is left is the program alone.

    Before:

    ```mlir
    %y = t.relu %x {amp.reason = "policy 'p': t:relu is follow"}
      : (tensor<4xf16>) -> tensor<4xf16>
    ```

    After:

    ```mlir
    %y = t.relu %x : (tensor<4xf16>) -> tensor<4xf16>
    ```
  }];
}

#endif // AMP_PASSES_AUTOCAST
