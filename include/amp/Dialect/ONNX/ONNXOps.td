//===- ONNXOps.td - the operations of the onnx dialect --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations for ONNX's operators are printed at build time
// (ONNXOperators.td, by lib/Dialect/ONNX/SchemaToODS.cpp). Here stand the
// classes that they use, and the operations for what is no operator.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_ONNXOPS_TD
#define AMP_DIALECT_ONNX_ONNXOPS_TD

include "amp/Dialect/ONNX/ONNXDialect.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

/// Verified against the operator's schema at the opset of the module or
/// function that the operation stands in.
def ONNX_SchemaVerified : NativeOpTrait<"SchemaVerified"> {
  let cppNamespace = "::amp::onnx";
}

class ONNX_Op<string mnemonic, list<Trait> traits = []>
    : Op<ONNX_Dialect, mnemonic, traits>;

/// An operator of a schema.
class ONNX_Operator<string mnemonic, list<Trait> traits = []>
    : ONNX_Op<mnemonic, !listconcat(traits, [ONNX_SchemaVerified])>;

/// A `Constant` has one value, in one of its attributes.
def ONNX_SingleValue : NativeOpTrait<"SingleValue"> {
  let cppNamespace = "::amp::onnx";
}

/// What operators of ai.onnx have beyond their schema. The control flow that
/// analyses ask for is implemented in lib/Dialect/ONNX/ControlFlow.cpp; an
/// operator with subgraphs that is not named here is opaque.
class ONNX_OperatorTraits<string operator> {
  defvar branch = [DeclareOpInterfaceMethods<RegionBranchOpInterface,
    ["getEntrySuccessorOperands", "areTypesCompatible"]>];
  list<Trait> traits = !cond(
    !eq(operator, "Constant"): [ONNX_SingleValue],
    !eq(operator, "If"): branch,
    !eq(operator, "Loop"): branch,
    !eq(operator, "Scan"): branch,
    true: []<Trait>);
}

def ONNX_TensorAttribute : Attr<CPred<"::llvm::isa<::amp::onnx::TensorAttr>($_self)">,
    "a tensor"> {
  let storageType = "::amp::onnx::TensorAttr";
  let returnType = "::amp::onnx::TensorAttr";
  let convertFromStorage = "$_self";
}
def ONNX_SparseTensorAttribute : Attr<CPred<"::llvm::isa<::amp::onnx::SparseTensorAttr>($_self)">,
    "a sparse tensor"> {
  let storageType = "::amp::onnx::SparseTensorAttr";
  let returnType = "::amp::onnx::SparseTensorAttr";
  let convertFromStorage = "$_self";
}

//===----------------------------------------------------------------------===//
// What is no operator
//===----------------------------------------------------------------------===//

def ONNX_InitializerOp : ONNX_Op<"Initializer", [Pure]> {
  let summary = "an initializer of a graph: a weight";
  let description = [{
    Example:

    ```mlir
    %w = onnx.Initializer <dense<[1.0, 2.0]> : tensor<2xf32>> : tensor<2xf32> {onnx.outputs = ["w"]}
    ```
  }];
  let arguments = (ins ONNX_TensorAttribute:$value);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$value `:` type($result) attr-dict";
  let hasVerifier = 1;
}

def ONNX_SparseInitializerOp : ONNX_Op<"SparseInitializer", [Pure]> {
  let summary = "a sparse initializer of a graph";
  let description = [{
    Its users see a dense tensor.

    ```mlir
    %w = onnx.SparseInitializer <<dense<1.0> : tensor<1xf32>>, <dense<3> : tensor<1xi64>>, [4]> : tensor<4xf32> {onnx.outputs = ["w"]}
    ```
  }];
  let arguments = (ins ONNX_SparseTensorAttribute:$value);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$value `:` type($result) attr-dict";
}

def ONNX_DefaultInputOp : ONNX_Op<"DefaultInput"> {
  let summary = "the default value of a graph input";
  let description = [{
    An initializer with the name of an input: the caller may leave the input
    away. Until IR version 3 every initializer was an input as well.

    ```mlir
    onnx.DefaultInput %arg0, <dense<1.0> : tensor<1xf32>> : tensor<1xf32>
    ```
  }];
  let arguments = (ins AnyType:$input, ONNX_TensorAttribute:$value);
  let assemblyFormat = "$input `,` $value `:` type($input) attr-dict";
}

def ONNX_ReferenceOp : ONNX_Op<"Reference"> {
  let summary = "a value of the model's main graph, by name";
  let description = [{
    The graphs of `training_info` may read values of the main graph without
    having them as inputs.

    ```mlir
    %w = onnx.Reference "w" : tensor<2xf32> {onnx.outputs = ["w"]}
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$name `:` type($result) attr-dict";
}

def ONNX_CustomOp : ONNX_Op<"Custom"> {
  let summary = "a node whose operator has no schema here";
  let description = [{
    Of another domain (`com.microsoft`), or of a version that the merged
    operation can't hold. A graph attribute is `#onnx.region<i>`, the index of a
    region.

    ```mlir
    %y = onnx.Custom "com.microsoft" "QuickGelu"(%x) {alpha = 1.0 : f32} : (tensor<2xf32>) -> tensor<2xf32>
    ```
  }];
  let arguments = (ins StrAttr:$domain_name, StrAttr:$op_type, Variadic<AnyType>:$inputs,
    OptionalAttr<DictionaryAttr>:$node_attributes);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region VariadicRegion<AnyRegion>:$bodies);
  let assemblyFormat = [{
    $domain_name $op_type `(` $inputs `)` ($node_attributes^)? ($bodies^)? `:`
    functional-type($inputs, $results) attr-dict
  }];
}

def ONNX_CallOp : ONNX_Op<"Call", [CallOpInterface]> {
  let summary = "a node that calls a local function";
  let description = [{
    ```mlir
    %y = onnx.Call @"my.domain::f"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyType>:$inputs,
    OptionalAttr<DictionaryAttr>:$node_attributes);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $callee `(` $inputs `)` ($node_attributes^)? `:` functional-type($inputs, $results) attr-dict
  }];
  let extraClassDeclaration = [{
    ::mlir::CallInterfaceCallable getCallableForCallee() {
      return getCalleeAttr();
    }
    void setCalleeFromCallable(::mlir::CallInterfaceCallable callee) {
      setCalleeAttr(::llvm::cast<::mlir::FlatSymbolRefAttr>(
          ::llvm::cast<::mlir::SymbolRefAttr>(callee)));
    }
    ::mlir::Operation::operand_range getArgOperands() { return getInputs(); }
    ::mlir::MutableOperandRange getArgOperandsMutable() { return getInputsMutable(); }
    /// Attributes of a call are the callee's attribute parameters, not MLIR's.
    ::mlir::ArrayAttr getArgAttrsAttr() { return nullptr; }
    ::mlir::ArrayAttr getResAttrsAttr() { return nullptr; }
    void setArgAttrsAttr(::mlir::ArrayAttr) {}
    void setResAttrsAttr(::mlir::ArrayAttr) {}
    ::mlir::Attribute removeArgAttrsAttr() { return nullptr; }
    ::mlir::Attribute removeResAttrsAttr() { return nullptr; }
  }];
}

def ONNX_YieldOp : ONNX_Op<"Yield", [Terminator, Pure,
    DeclareOpInterfaceMethods<RegionBranchTerminatorOpInterface,
      ["getMutableSuccessorOperands"]>]> {
  let summary = "the outputs of a subgraph";
  let description = [{
    Its attribute `onnx.graph` holds the fields of the subgraph's GraphProto.

    ```mlir
    onnx.Yield %y : tensor<2xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

//===----------------------------------------------------------------------===//
// ONNX's operators
//===----------------------------------------------------------------------===//

include "ONNXOperators.td"

#endif // AMP_DIALECT_ONNX_ONNXOPS_TD
