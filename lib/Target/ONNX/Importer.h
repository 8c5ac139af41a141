//===- Importer.h - a model's messages into operations ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_TARGET_ONNX_IMPORTER_H
#define AMP_LIB_TARGET_ONNX_IMPORTER_H

#include "TensorReader.h"
#include "Types.h"

#include "amp/Dialect/ONNX/Schema.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace amp {

/// Builds the module of one model. Every member function that can fail returns
/// an error of one line; the first one ends the import.
class Importer {
public:
  /// `owner` keeps `bytes` alive.
  Importer(mlir::MLIRContext *context, llvm::StringRef bytes,
           std::shared_ptr<void> owner, ExternalDataFiles &externalData);

  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> importModel();

private:
  /// The parts of a GraphProto (or of a FunctionProto's body), in the file.
  struct Graph {
    llvm::SmallVector<llvm::StringRef, 0> nodes, initializers,
        sparseInitializers, inputs, outputs, valueInfos;
    mlir::DictionaryAttr fields;
  };
  /// A local function, before and after its body is imported.
  struct Function {
    llvm::StringRef message;
    std::string symbol;
    bool imported = false;
    /// Indices of the functions that it calls.
    llvm::SmallVector<size_t, 2> callees;
  };
  /// The names that a graph defines. Lookups go on in the graph around it.
  struct Scope {
    Scope *parent = nullptr;
    llvm::DenseMap<llvm::StringRef, mlir::Value> values;
    /// Types that value_info and the outputs declare.
    llvm::DenseMap<llvm::StringRef, mlir::Type> declared;
    const Graph *graph = nullptr;
    /// Graphs of training_info may name values of the main graph.
    bool refersToMain = false;
    mlir::Block *block = nullptr;
  };
  struct ValueInfo {
    mlir::StringAttr name;
    mlir::Type type; // null if the message has none
    llvm::SmallVector<mlir::NamedAttribute, 4> fields; // with the name
  };
  struct AttributeParts;
  struct NodeParts;

  llvm::Error readOpsets(mlir::ArrayAttr imports, int64_t irVersion,
                         llvm::StringMap<int64_t> &into);
  llvm::Error indexFunctions(llvm::ArrayRef<llvm::StringRef> messages);
  llvm::Error checkCallGraph();
  llvm::Error importFunction(Function &function, mlir::OpBuilder &builder);
  llvm::Error importTrainingInfo(llvm::StringRef message, size_t index,
                                 mlir::OpBuilder &builder,
                                 mlir::DictionaryAttr &fields);
  /// A graph that is a function of its own: the main one, those of training.
  llvm::Expected<mlir::func::FuncOp>
  importGraphFunction(llvm::StringRef message, llvm::StringRef symbol,
                      mlir::OpBuilder &builder, bool refersToMain = false);

  llvm::Expected<Graph> readGraph(llvm::StringRef message);
  llvm::Expected<ValueInfo> readValueInfo(llvm::StringRef message,
                                          bool keepType);
  /// Fills a block with a graph; gives the values of its outputs.
  llvm::Error importGraph(const Graph &graph, Scope &scope, mlir::Block *block,
                          llvm::SmallVectorImpl<mlir::Value> &outputs,
                          mlir::DictionaryAttr &fields);
  llvm::Error importSubgraph(llvm::StringRef message, Scope &parent,
                             mlir::Region &region);
  llvm::Error importInitializers(const Graph &graph, Scope &scope,
                                 mlir::OpBuilder &builder);
  llvm::Error importNode(llvm::StringRef message, Scope &scope,
                         mlir::OpBuilder &builder);
  llvm::Error readNode(llvm::StringRef message, NodeParts &node);
  llvm::Error readAttribute(llvm::StringRef message, AttributeParts &attribute);
  llvm::Expected<mlir::DictionaryAttr>
  readAttributeDefault(llvm::StringRef message);
  llvm::Error resolveOperands(const NodeParts &node, Scope &scope,
                              llvm::SmallVectorImpl<mlir::Value> &operands,
                              mlir::OperationState &state, bool segments);
  llvm::Error defineResults(const NodeParts &node, Scope &scope,
                            mlir::Operation *op);

  llvm::Error define(Scope &scope, llvm::StringRef name, mlir::Value value);
  mlir::Value lookup(Scope &scope, llvm::StringRef name);
  llvm::Error undefined(const Scope &scope, llvm::StringRef name,
                        const std::string &reader);
  std::string describe(const NodeParts &node) const;
  std::optional<int64_t> opsetOf(llvm::StringRef domain) const;

  mlir::StringAttr string(llvm::StringRef text) {
    return mlir::StringAttr::get(context, text);
  }

  mlir::MLIRContext *context;
  WireInput input;
  TypeDecoder types;
  TensorReader tensors;
  mlir::Location location;
  mlir::Type unknownType;
  /// Of the model or function that is read.
  const llvm::StringMap<int64_t> *opsets = nullptr;
  std::vector<Function> functions;
  llvm::StringMap<size_t> functionsByKey;
  /// The function whose body is read, or -1.
  int64_t currentFunction = -1;
  /// Values of the main graph, for the graphs of training_info.
  llvm::DenseMap<llvm::StringRef, mlir::Type> mainTypes;
  unsigned depth = 0;
};

} // namespace amp

#endif // AMP_LIB_TARGET_ONNX_IMPORTER_H
