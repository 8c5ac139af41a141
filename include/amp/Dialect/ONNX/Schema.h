//===- Schema.h - ONNX's operator schemas, without ONNX's headers -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_SCHEMA_H
#define AMP_DIALECT_ONNX_SCHEMA_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Types.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <string>
#include <vector>

namespace amp::onnx {

/// The types that a schema admits for a parameter.
struct TypeSet {
  uint64_t tensorElements = 0;     ///< bit n: tensor of ElementType n
  std::vector<std::string> others; ///< "seq(tensor(float))", …

  /// True if a value of this type is admitted, or nothing is known of it, or
  /// its kind (a map, an opaque type) is not checked here.
  bool admits(mlir::Type type) const;
};

/// A formal parameter of an operator.
struct Parameter {
  std::string name;
  char kind = 's'; ///< 's'ingle, 'o'ptional, 'v'ariadic
  /// Values with the same variable have the same type; each value of a
  /// heterogeneous variadic parameter is on its own. -1: a type that no other
  /// parameter shares and that the schema fixes.
  int typeVariable = -1;
  bool homogeneous = true;
  TypeSet types;
};

/// AttributeProto.AttributeType, by its numbers.
enum class AttributeKind : int32_t {
  Undefined = 0,
  Float = 1,
  Int = 2,
  String = 3,
  Tensor = 4,
  Graph = 5,
  Floats = 6,
  Ints = 7,
  Strings = 8,
  Tensors = 9,
  Graphs = 10,
  SparseTensor = 11,
  SparseTensors = 12,
  TypeProto = 13,
  TypeProtos = 14,
};

/// Its spelling in messages: "float", "ints", …
llvm::StringRef nameOf(AttributeKind kind);

/// The kind of a node's attribute in the IR; std::nullopt for an empty list,
/// which may be of several kinds.
std::optional<AttributeKind> attributeKindOf(mlir::Attribute attribute);

struct SchemaAttribute {
  AttributeKind kind;
  bool required;
  /// What a node without the attribute means, if that is a number or a text.
  std::optional<std::string> defaultValue = std::nullopt;
};

/// One version of an operator.
struct Schema {
  std::string domain; ///< "" for ai.onnx
  std::string name;
  int64_t sinceVersion = 0;
  bool deprecated = false;
  /// Gives the same for the same inputs, whenever it runs.
  bool deterministic = true;
  std::vector<Parameter> inputs, outputs;
  int64_t minInputs = 0, maxInputs = 0, minOutputs = 0, maxOutputs = 0;
  llvm::StringMap<SchemaAttribute> attributes;

  /// The parameter of the input (output) at a position; nullptr beyond the
  /// last one.
  const Parameter *inputAt(unsigned position) const;
  const Parameter *outputAt(unsigned position) const;

  /// What is wrong with an attribute of this name and kind; "" if nothing.
  /// Names that begin with two underscores are nobody's business.
  std::string checkAttribute(llvm::StringRef name, AttributeKind kind) const;
};

/// The schema of an operator at an opset of its domain ("" is ai.onnx); nullptr
/// if it has none there. The result lives as long as the process.
const Schema *lookupSchema(llvm::StringRef domain, llvm::StringRef name,
                           int64_t opset);

/// True if the linked ONNX has operators of this domain.
bool isKnownDomain(llvm::StringRef domain);
/// The newest opset of a domain that the linked ONNX knows; 0 for an unknown
/// domain.
int64_t latestOpset(llvm::StringRef domain);
/// The newest IR version that the linked ONNX knows.
int64_t latestIRVersion();

} // namespace amp::onnx

#endif // AMP_DIALECT_ONNX_SCHEMA_H
