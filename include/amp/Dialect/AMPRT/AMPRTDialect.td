//===- AMPRTDialect.td - The amprt dialect ----------------*- tablegen -*--===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMPRT_AMPRTDIALECT
#define AMP_DIALECT_AMPRT_AMPRTDIALECT

include "mlir/IR/DialectBase.td"

def AMPRT_Dialect : Dialect {
  let name = "amprt";
  let cppNamespace = "::amp::rt";
  let summary = "What an executable can say";
  let description = [{
    Programs of executables (`.ampx`), still as values: a tensor is made once
    and never changes. Where it lies in memory is said by attributes that
    `amp-plan-memory` writes; `amp-select-kernels` chooses the operations.

    A tensor is dense and row-major, and its type has no encoding. Elements are
    those of ONNX; of fewer than 8 bits, they take a byte each.

    ### Annotations

    | attribute | on | meaning |
    |---|---|---|
    | `amprt.node` | an operation | string: the ONNX node that it stands for, or the first of several, for messages and profiles |
    | `amprt.nodes` | an operation | array of strings: all ONNX nodes that it stands for, if they are several |
    | `amprt.names` | an operation | array of strings: names of its results in the model, "" for none |
    | `amprt.signature` | a function | the interface of the executable: dictionary of `inputs`, `outputs`, `states`, described in AMPRTDialect.h |
    | `amprt.kernel` | a function | unit: the body of a compiled kernel, until `amp-compile-kernels`; linalg on tensors |
    | `amprt.compiled` | a function | dictionary: how the machine code of a kernel is called; see `amp-compile-kernels` |
    | `amprt.code` | a module | array of dictionaries: the machine code of its kernels for each kind of CPU; see `amp-compile-kernels` |
    | `amprt.at_entry` | an operation | unit: it depends on dimensions and constants only, and runs when dimensions change |
    | `amprt.in_place` | an operation | for each result the operand whose memory it is made in, or -1 |
    | `amprt.next_state` | an operation | for each result the state (index in the signature) whose memory it is made in, or -1 |
  }];

  let useDefaultAttributePrinterParser = 0;
  let extraClassDeclaration = [{
    // Names of the annotations, described above.
    static constexpr ::llvm::StringLiteral kNode = "amprt.node";
    static constexpr ::llvm::StringLiteral kNodes = "amprt.nodes";
    static constexpr ::llvm::StringLiteral kNames = "amprt.names";
    static constexpr ::llvm::StringLiteral kSignature = "amprt.signature";
    static constexpr ::llvm::StringLiteral kKernel = "amprt.kernel";
    static constexpr ::llvm::StringLiteral kCompiled = "amprt.compiled";
    static constexpr ::llvm::StringLiteral kCode = "amprt.code";
    static constexpr ::llvm::StringLiteral kAtEntry = "amprt.at_entry";
    static constexpr ::llvm::StringLiteral kInPlace = "amprt.in_place";
    static constexpr ::llvm::StringLiteral kNextState = "amprt.next_state";
  }];
}

#endif // AMP_DIALECT_AMPRT_AMPRTDIALECT
