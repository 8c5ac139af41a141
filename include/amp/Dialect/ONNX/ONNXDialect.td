//===- ONNXDialect.td - the onnx dialect, its types and attributes -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_ONNXDIALECT_TD
#define AMP_DIALECT_ONNX_ONNXDIALECT_TD

include "amp/Interfaces/AutocastTypeInterface.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/DialectBase.td"
include "mlir/IR/TensorEncoding.td"

def ONNX_Dialect : Dialect {
  let name = "onnx";
  let cppNamespace = "::amp::onnx";
  let summary = "ONNX models as MLIR, without loss";
  let description = [{
    One operation per ONNX operator, printed at build time from the operator
    schemas of the linked ONNX library, all versions of an operator merged into
    one operation. A model is a `builtin.module` with the attribute
    `onnx.model`; its graph is the function `@main`, each of its local functions
    a private function, each subgraph a region that captures from outside.

    What ONNX says beyond operators and values stays in discardable attributes,
    so that an exported model equals the imported one field by field:

    | attribute | on | what |
    |---|---|---|
    | `onnx.model` | the module | the fields of ModelProto: `ir_version`, `opset_import`, `producer_name`, … |
    | `onnx.graph` | a function, a `onnx.Yield` | the fields of GraphProto: `name`, `input`, `output`, `value_info`, … |
    | `onnx.function` | a function | the fields of FunctionProto |
    | `onnx.training` | a function | which graph of which TrainingInfoProto this is |
    | `onnx.name` | an operation | the node's name |
    | `onnx.outputs` | an operation | the names of the node's outputs; an empty one has no result, except where the operator may have any number |
    | `onnx.absent_inputs` | an operation | positions of empty input names that segment sizes do not tell |
    | `onnx.node` | an operation | the other fields of NodeProto |

    An element of ONNX's type `string` is `!onnx.string`, a signed integer is
    signless, an unsigned one `ui8` to `ui64`; `bool` is `i1`. Tensors whose
    dimensions have names carry them in an encoding:
    `tensor<?x3xf32, #onnx.dims<"N", "">>`. A value of unknown type has the
    type `!onnx.unknown`.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationInterfaceFallback = 1;
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let extraClassDeclaration = [{
    /// Names of the discardable attributes; see the dialect's documentation.
    static constexpr ::llvm::StringLiteral kModel = "onnx.model";
    static constexpr ::llvm::StringLiteral kGraph = "onnx.graph";
    static constexpr ::llvm::StringLiteral kFunction = "onnx.function";
    static constexpr ::llvm::StringLiteral kTraining = "onnx.training";
    static constexpr ::llvm::StringLiteral kName = "onnx.name";
    static constexpr ::llvm::StringLiteral kOutputs = "onnx.outputs";
    static constexpr ::llvm::StringLiteral kAbsentInputs = "onnx.absent_inputs";
    static constexpr ::llvm::StringLiteral kNode = "onnx.node";

    void registerOperators();
    void registerTypes();
    void registerAttributes();

    /// The schema of an operation's operator among these opset imports; nullptr
    /// if there is none. Kept, so that it is cheap to ask again.
    const Schema *lookupSchema(::mlir::OperationName name,
                               ::mlir::ArrayAttr imports);

    /// The version of a domain ("" is ai.onnx) among these opset imports;
    /// std::nullopt if it is not one of them.
    ::std::optional<int64_t> lookupVersion(::mlir::ArrayAttr imports,
                                           ::llvm::StringRef domain);

  private:
    ::std::shared_mutex schemasMutex;
    ::llvm::DenseMap<::std::pair<::mlir::OperationName, ::mlir::ArrayAttr>,
                     const Schema *> schemas;
    /// Of long lists of imports.
    ::llvm::DenseMap<::mlir::ArrayAttr, ::llvm::StringMap<int64_t>> versions;

  public:
  }];
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

class ONNX_Type<string name, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<ONNX_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

def ONNX_UnknownType : ONNX_Type<"Unknown", "unknown"> {
  let summary = "the type of a value of which nothing is known";
  let description = [{
    ONNX leaves most values without a declared type; the inputs of a local
    function never have one. Type inference replaces it where it can.
  }];
}

def ONNX_StringType : ONNX_Type<"String", "string"> {
  let summary = "element type of a tensor of strings";
}

def ONNX_UndefinedType : ONNX_Type<"Undefined", "undefined"> {
  let summary = "element type of a tensor whose element type was not given";
}

def ONNX_SequenceType : ONNX_Type<"Sequence", "sequence",
    [DeclareTypeInterfaceMethods<AutocastTypeInterface>]> {
  let summary = "a sequence of values of one type";
  let parameters = (ins "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $elementType `>`";
}

def ONNX_OptionalType : ONNX_Type<"Optional", "optional",
    [DeclareTypeInterfaceMethods<AutocastTypeInterface>]> {
  let summary = "a value or nothing";
  let parameters = (ins "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $elementType `>`";
}

def ONNX_MapType : ONNX_Type<"Map", "map"> {
  let summary = "a map from an integer or string type to values of one type";
  let parameters = (ins "::mlir::Type":$keyType, "::mlir::Type":$valueType);
  let assemblyFormat = "`<` $keyType `,` $valueType `>`";
}

def ONNX_SparseTensorType : ONNX_Type<"SparseTensor", "sparse_tensor"> {
  let summary = "a tensor in coordinate format";
  let description = "The parameter is the type of the dense tensor.";
  let parameters = (ins "::mlir::TensorType":$denseType);
  let assemblyFormat = "`<` $denseType `>`";
}

def ONNX_OpaqueType : ONNX_Type<"Opaque", "opaque"> {
  let summary = "a type that only its domain knows";
  let parameters = (ins "::mlir::StringAttr":$domain, "::mlir::StringAttr":$name);
  let assemblyFormat = "`<` $domain `,` $name `>`";
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class ONNX_AttrDef<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<ONNX_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def ONNX_DimsAttr : ONNX_AttrDef<"Dims", "dims",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "the names of a tensor's dimensions";
  let description = [{
    The encoding of a ranked tensor type some of whose dynamic dimensions have a
    name (`dim_param`). One string a dimension, empty where there is no name.
    Example: `tensor<?x3x224x224xf32, #onnx.dims<"N", "", "", "">>`.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names);
  let assemblyFormat = "`<` $names `>`";
}

def ONNX_TensorAttr : ONNX_AttrDef<"Tensor", "tensor", [TypedAttrInterface]> {
  let summary = "a TensorProto";
  let description = [{
    `value` holds the elements: a `dense_resource` that may point into a mapped
    file, a `dense` for small tensors and strings, or a constant computed from
    another one (`#amp.rounded`). `proto` holds what else the message said:
    `name`, `doc_string`, `storage` (`"float_data"`, `"int32_data"`, …, or
    `"external"`; `raw_data` when absent), `external_data`, `metadata_props`.
  }];
  let parameters = (ins
    "::mlir::TypedAttr":$value,
    OptionalParameter<"::mlir::DictionaryAttr">:$proto);
  let assemblyFormat = "`<` $value (`,` $proto^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    ::mlir::Type getType() const { return getValue().getType(); }
  }];
}

def ONNX_SparseTensorAttr : ONNX_AttrDef<"SparseTensor", "sparse_tensor"> {
  let summary = "a SparseTensorProto";
  let parameters = (ins
    "::amp::onnx::TensorAttr":$values,
    "::amp::onnx::TensorAttr":$indices,
    OptionalArrayRefParameter<"int64_t">:$dims,
    OptionalParameter<"::mlir::DictionaryAttr">:$proto);
  let assemblyFormat = "`<` $values `,` $indices `,` `[` (`]`) : ($dims^ `]`)? (`,` $proto^)? `>`";
}

def ONNX_RegionAttr : ONNX_AttrDef<"Region", "region"> {
  let summary = "a graph attribute of an operator without a schema";
  let description = "The value is the index of the operation's region.";
  let parameters = (ins "unsigned":$index);
  let assemblyFormat = "`<` $index `>`";
}

def ONNX_TypeProtoAttr : ONNX_AttrDef<"TypeProto", "type"> {
  let summary = "a TypeProto that says more than its type";
  let description = [{
    `proto` is the message as it was, with denotations and fields that no type
    can hold.
  }];
  let parameters = (ins "::mlir::Type":$type, "::mlir::StringAttr":$proto);
  let assemblyFormat = "`<` $type `,` $proto `>`";
}

#endif // AMP_DIALECT_ONNX_ONNXDIALECT_TD
