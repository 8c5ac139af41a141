//===- AMPRTOps.td - Operations of the amprt dialect ------*- tablegen -*--===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMPRT_AMPRTOPS
#define AMP_DIALECT_AMPRT_AMPRTOPS

include "amp/Dialect/AMPRT/AMPRTDialect.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class AMPRT_Op<string mnemonic, list<Trait> traits = []>
    : Op<AMPRT_Dialect, mnemonic, traits>;

def AMPRT_ConstantOp : AMPRT_Op<"constant", [Pure, ConstantLike,
    AllTypesMatch<["value", "result"]>]> {
  let summary = "tensor that is part of the executable";
  let description = [{
    Its bytes are a blob of the file, mapped and never copied.

    Example:

    ```mlir
    %w = amprt.constant dense<[1.0, 2.0]> : tensor<2xf32>
    ```
  }];
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def AMPRT_CallOp : AMPRT_Op<"call", [Pure]> {
  let summary = "kernel of the runtime's library";
  let description = [{
    Runs a kernel of the runtime (`runtime/Kernel.h`) by its name, with the
    `settings`, which are ONNX's by their names. Operands are the
    kernel's inputs, results its first outputs; `inputs` says which is which, -1
    for one that is left out, when they are not simply in order. With
    `view` the first result shares the memory of the first operand, and the
    kernel finds nothing to copy.

    Example:

    ```mlir
    %y = amprt.call "gemm"(%x, %w) {transB = 1 : i64} : (tensor<?x4xf32>, tensor<3x4xf32>) -> tensor<?x3xf32>
    %c = amprt.call "clip"(%x, %max) inputs [0, -1, 1] {} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins StrAttr:$kernel, Variadic<AnyTensor>:$operands,
      OptionalAttr<DenseI32ArrayAttr>:$inputs, UnitAttr:$view,
      DictionaryAttr:$settings);
  let results = (outs Variadic<AnyTensor>:$results);
  let assemblyFormat = [{
    $kernel `(` $operands `)` (`inputs` $inputs^)? (`view` $view^)? $settings attr-dict `:`
    functional-type($operands, $results)
  }];
  let hasVerifier = 1;
}

def AMPRT_LaunchOp
    : AMPRT_Op<"launch", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "compiled kernel";
  let description = [{
    Runs a function that is compiled to machine code (`amprt.kernel`). It takes
    and gives tensors as the operation does.

    Example:

    ```mlir
    func.func private @relu(%x: tensor<4xf32>) -> tensor<4xf32> attributes {amprt.kernel} {
      %zero = arith.constant 0.0 : f32
      %empty = tensor.empty() : tensor<4xf32>
      %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%x : tensor<4xf32>) outs(%empty : tensor<4xf32>) {
      ^bb0(%in: f32, %out: f32):
        %max = arith.maximumf %in, %zero : f32
        linalg.yield %max : f32
      } -> tensor<4xf32>
      return %y : tensor<4xf32>
    }

    %y = amprt.launch @relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$function, Variadic<AnyRankedTensor>:$operands);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $function `(` $operands `)` attr-dict `:` functional-type($operands, $results)
  }];
}

def AMPRT_ViewOp : AMPRT_Op<"view", [Pure]> {
  let summary = "same elements in other dimensions";
  let description = [{
    Shares its operand's memory: nothing is copied. One dimension at most may be
    unknown, which the number of elements then says; where more are, a call of a
    kernel such as "reshape" with `view` finds them out.

    Example:

    ```mlir
    %y = amprt.view %x : (tensor<2x3xf32>) -> tensor<6xf32>
    ```
  }];
  let arguments = (ins AnyTensor:$input);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = [{
    $input attr-dict `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
}

def AMPRT_YieldOp : AMPRT_Op<"yield", [Pure, Terminator, ReturnLike,
    ParentOneOf<["IfOp", "LoopOp"]>]> {
  let summary = "end of a branch or of an iteration";
  let description = [{
    Gives the results of a branch; of an iteration the next condition, what is
    carried to the next one, and what is stacked.

    Example: see `amprt.if` and `amprt.loop`.
  }];
  let arguments = (ins Variadic<AnyTensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def AMPRT_IfOp : AMPRT_Op<"if", [RecursiveMemoryEffects,
    SingleBlock]> {
  let summary = "one of two programs";
  let description = [{
    As ONNX's If. Branches see the values around them.

    Example:

    ```mlir
    %y = amprt.if %condition : (tensor<i1>) -> tensor<4xf32> {
      amprt.yield %a : tensor<4xf32>
    } else {
      amprt.yield %b : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins AnyTensor:$condition);
  let results = (outs Variadic<AnyTensor>:$results);
  let regions = (region SizedRegion<1>:$thenRegion, SizedRegion<1>:$elseRegion);
  let assemblyFormat = [{
    $condition `:` functional-type($condition, $results)
    $thenRegion `else` $elseRegion attr-dict
  }];
}

def AMPRT_LoopOp : AMPRT_Op<"loop", [RecursiveMemoryEffects,
    AttrSizedOperandSegments, SingleBlock]> {
  let summary = "program that runs several times";
  let description = [{
    As ONNX's Loop. The body's arguments are the number of the iteration, the
    condition, and what is carried. Results are the last of what is carried, then
    what iterations gave, stacked along a new first axis.

    Example:

    ```mlir
    %y = amprt.loop trips %n carries %x : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<4xf32>):
      %next = amprt.call "neg"(%v) {} : (tensor<4xf32>) -> tensor<4xf32>
      amprt.yield %go, %next : tensor<i1>, tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Optional<AnyTensor>:$trips,
      Optional<AnyTensor>:$condition, Variadic<AnyTensor>:$carried);
  let results = (outs Variadic<AnyTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`trips` $trips^)? (`while` $condition^)? (`carries` $carried^)? `:`
    functional-type(operands, $results) $body attr-dict
  }];
}

#endif // AMP_DIALECT_AMPRT_AMPRTOPS
