//===- TestOps.td - The dialect `t` of the tests ----------*- tablegen -*--===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One small operation for each thing that an operator can be to autocast. It is
// also the example of a dialect that implements AutocastOpInterface.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TEST_TESTOPS
#define AMP_TEST_TESTOPS

include "amp/Interfaces/AutocastOpInterface.td"
include "amp/Interfaces/AutocastTypeInterface.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def T_Dialect : Dialect {
  let name = "t";
  let cppNamespace = "::amp::test";
  let useDefaultTypePrinterParser = 1;
}

def T_SequenceType : TypeDef<T_Dialect, "Sequence", [
    DeclareTypeInterfaceMethods<AutocastTypeInterface>]> {
  let mnemonic = "sequence";
  let summary = "sequence of tensors of one type";
  let parameters = (ins "::mlir::TensorType":$elementType);
  let assemblyFormat = "`<` $elementType `>`";
}

//===----------------------------------------------------------------------===//
// Operations without control flow
//===----------------------------------------------------------------------===//

/// Operands and results that share type variable 0, unless overridden.
class T_Op<string mnemonic, list<string> autocastMethods = []>
    : Op<T_Dialect, mnemonic, [
        Pure, DeclareOpInterfaceMethods<AutocastOpInterface,
            !listconcat(["getAutocastNodeName"], autocastMethods)>]> {
  let arguments = (ins Variadic<AnyType>:$inputs,
                       OptionalAttr<StrAttr>:$node_name);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat =
      "$inputs attr-dict `:` functional-type($inputs, $outputs)";
}

def T_MatMulOp : T_Op<"matmul">;
def T_SoftmaxOp : T_Op<"softmax">;
def T_AddOp : T_Op<"add">;
def T_WhereOp : T_Op<"where">;
def T_ReluOp : T_Op<"relu">;
def T_TransposeOp : T_Op<"transpose">;
def T_ArgMaxOp : T_Op<"argmax">;
def T_BannedOp : T_Op<"banned">;
def T_SequenceOp : T_Op<"sequence">;

// Admits no bfloat16, in operator set 17.
def T_ConvOp : T_Op<"conv", ["supportsElementType", "getAutocastVersion"]>;

// (data: T0, indices) -> T0
def T_GatherOp : T_Op<"gather">;

// (X: T0, scales: float32) -> T0
def T_ResizeOp : T_Op<"resize", ["getOperandTypeVariable"]>;

// (X: T0, scale: T1, mean: T2) -> T0
def T_BatchNormOp : T_Op<"batch_norm", ["getOperandTypeVariable"]>;

// (X: T0, scale: T1) -> T1
def T_RMSNormOp
    : T_Op<"rms_norm", ["getOperandTypeVariable", "getResultTypeVariable"]>;

// (X: T0) -> (T0, mean: T1)
def T_LayerNormOp : T_Op<"layer_norm", ["getResultTypeVariable"]>;

// A model's own cast: its result has the type that it was given.
def T_CastOp : T_Op<"cast", ["getResultTypeVariable"]>;

def T_ConstOp : Op<T_Dialect, "const", [
    Pure, DeclareOpInterfaceMethods<AutocastOpInterface,
        ["getAutocastNodeName", "supportsElementType", "isAutocastConstant",
         "getAutocastConstantValue", "materializeConstant"]>]> {
  let arguments = (ins TypedAttrInterface:$value,
                       OptionalAttr<StrAttr>:$node_name, UnitAttr:$no_bf16);
  let results = (outs AnyType:$output);
  let assemblyFormat = "$value attr-dict custom<ConstantType>(type($output), "
                       "ref($value))";
}

// A region that nothing is known of.
def T_MapOp : Op<T_Dialect, "map", [
    DeclareOpInterfaceMethods<AutocastOpInterface, ["getAutocastNodeName"]>]> {
  let arguments = (ins Variadic<AnyType>:$inputs,
                       OptionalAttr<StrAttr>:$node_name);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $inputs attr-dict `:` functional-type($inputs, $outputs) $body
  }];
}

// Without AutocastOpInterface.
def T_OpaqueOp : Op<T_Dialect, "opaque"> {
  let arguments = (ins Variadic<AnyType>:$inputs);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat =
      "$inputs attr-dict `:` functional-type($inputs, $outputs)";
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

def T_IfOp : Op<T_Dialect, "if", [
    DeclareOpInterfaceMethods<AutocastOpInterface,
        ["getAutocastNodeName", "supportsElementType"]>,
    DeclareOpInterfaceMethods<RegionBranchOpInterface>]> {
  let arguments = (ins AnyType:$condition, OptionalAttr<StrAttr>:$node_name,
                       UnitAttr:$no_bf16);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$thenBranch, SizedRegion<1>:$elseBranch);
  let assemblyFormat = [{
    $condition attr-dict `:` functional-type($condition, $outputs)
    $thenBranch `else` $elseBranch
  }];
}

// Carried values begin with the operands after the trip count; the body gets
// the iteration and the carried values, and yields the next carried values and
// slices, which are stacked into the further results.
def T_LoopOp : Op<T_Dialect, "loop", [
    DeclareOpInterfaceMethods<AutocastOpInterface,
        ["getAutocastNodeName", "getElementTypeFlow"]>,
    DeclareOpInterfaceMethods<RegionBranchOpInterface,
        ["getEntrySuccessorOperands"]>]> {
  let arguments = (ins AnyType:$trip_count, Variadic<AnyType>:$initial,
                       OptionalAttr<StrAttr>:$node_name);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $trip_count (`,` $initial^)? attr-dict `:`
    functional-type(operands, $outputs) $body
  }];
}

def T_YieldOp : Op<T_Dialect, "yield", [
    Pure, Terminator, DeclareOpInterfaceMethods<
        RegionBranchTerminatorOpInterface, ["getMutableSuccessorOperands"]>]> {
  let arguments = (ins Variadic<AnyType>:$inputs);
  let assemblyFormat = "$inputs attr-dict (`:` type($inputs)^)?";
}

#endif // AMP_TEST_TESTOPS
