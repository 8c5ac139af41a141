//===- TestDialect.cpp - the dialect `t` of the tests ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace amp;
using namespace amp::test;

#include "TestDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "TestTypes.cpp.inc"

/// Constants whose value has their type need not say it twice.
static ParseResult parseConstantType(OpAsmParser &parser, Type &type,
                                     TypedAttr value) {
  if (succeeded(parser.parseOptionalArrow()))
    return parser.parseType(type);
  type = value.getType();
  return success();
}

static void printConstantType(OpAsmPrinter &printer, Operation *, Type type,
                              TypedAttr value) {
  if (type != value.getType())
    printer << "-> " << type;
}

#define GET_OP_CLASSES
#include "TestOps.cpp.inc"

void TDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "TestTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "TestOps.cpp.inc"
      >();
}

FloatType SequenceType::getFloatElementType() const {
  return amp::getFloatElementType(getElementType());
}

Type SequenceType::withFloatElementType(FloatType elementType) const {
  return get(getContext(), cast<TensorType>(amp::withFloatElementType(
                               getElementType(), elementType)));
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

#define NODE_NAME(OP)                                                          \
  StringRef OP::getAutocastNodeName() { return getNodeName().value_or(""); }
NODE_NAME(MatMulOp)
NODE_NAME(SoftmaxOp)
NODE_NAME(AddOp)
NODE_NAME(WhereOp)
NODE_NAME(ReluOp)
NODE_NAME(TransposeOp)
NODE_NAME(ArgMaxOp)
NODE_NAME(BannedOp)
NODE_NAME(MapOp)
NODE_NAME(IfOp)
NODE_NAME(LoopOp)
NODE_NAME(SequenceOp)
NODE_NAME(ConvOp)
NODE_NAME(GatherOp)
NODE_NAME(ResizeOp)
NODE_NAME(BatchNormOp)
NODE_NAME(RMSNormOp)
NODE_NAME(LayerNormOp)
NODE_NAME(CastOp)
NODE_NAME(ConstOp)
#undef NODE_NAME

//===----------------------------------------------------------------------===//
// Type variables
//===----------------------------------------------------------------------===//

bool ConvOp::supportsElementType(int, FloatType elementType) {
  return !elementType.isBF16();
}
int64_t ConvOp::getAutocastVersion() { return 17; }

int ResizeOp::getOperandTypeVariable(unsigned operand) {
  return operand == 0 ? 0 : -1;
}

int BatchNormOp::getOperandTypeVariable(unsigned operand) { return operand; }

int RMSNormOp::getOperandTypeVariable(unsigned operand) { return operand; }
int RMSNormOp::getResultTypeVariable(unsigned) { return 1; }

int LayerNormOp::getResultTypeVariable(unsigned result) { return result; }

int amp::test::CastOp::getResultTypeVariable(unsigned) { return -1; }

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

bool ConstOp::supportsElementType(int, FloatType elementType) {
  return !getNoBf16() || !elementType.isBF16();
}
bool ConstOp::isAutocastConstant() { return true; }
TypedAttr ConstOp::getAutocastConstantValue(unsigned) { return getValue(); }

Value ConstOp::materializeConstant(OpBuilder &builder, unsigned,
                                   TypedAttr value) {
  Type type = amp::withFloatElementType(
      getType(), amp::getFloatElementType(value.getType()));
  return ConstOp::create(builder, getLoc(), type, value, getNodeNameAttr(),
                         getNoBf16());
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

bool IfOp::supportsElementType(int, FloatType elementType) {
  return !getNoBf16() || !elementType.isBF16();
}

void IfOp::getSuccessorRegions(RegionBranchPoint point,
                               SmallVectorImpl<RegionSuccessor> &successors) {
  if (!point.isParent()) {
    successors.emplace_back(getOperation(), getOperation()->getResults());
    return;
  }
  successors.emplace_back(&getThenBranch());
  successors.emplace_back(&getElseBranch());
}

OperandRange LoopOp::getEntrySuccessorOperands(RegionSuccessor) {
  return getInitial();
}

void LoopOp::getSuccessorRegions(RegionBranchPoint,
                                 SmallVectorImpl<RegionSuccessor> &successors) {
  successors.emplace_back(&getBody(), getBody().getArguments().drop_front());
  successors.emplace_back(
      getOperation(),
      getOperation()->getResults().take_front(getInitial().size()));
}

void LoopOp::getElementTypeFlow(SmallVectorImpl<ElementTypeEdge> &edges) {
  Operation *yield = getBody().front().getTerminator();
  for (unsigned i = getInitial().size(), e = yield->getNumOperands(); i < e;
       ++i)
    edges.push_back({&yield->getOpOperand(i), getResult(i)});
}

MutableOperandRange YieldOp::getMutableSuccessorOperands(RegionSuccessor) {
  if (auto loop = dyn_cast<LoopOp>((*this)->getParentOp()))
    return getInputsMutable().slice(0, loop.getInitial().size());
  return getInputsMutable();
}
