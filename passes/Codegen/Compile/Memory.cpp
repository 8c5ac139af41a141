//===- Memory.cpp - loads and stores of lanes -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace amp::codegen;

static unsigned bytesOf(Type type) {
  return getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8;
}

Memory::Memory(Arithmetic &arithmetic) : a(arithmetic) {
  // Two vectors of the widest elements.
  Type pointer = LLVM::LLVMPointerType::get(a.builder.getContext());
  buffer = LLVM::AllocaOp::create(a.builder, a.loc, pointer, a.i(64),
                                  a.integer(a.i(64), 16), 64);
}

Value Memory::address(Value base, Type element, Value index) {
  if (matchPattern(index, m_Zero()))
    return base;
  return LLVM::GEPOp::create(a.builder, a.loc, base.getType(),
                             Arithmetic::inMemory(element), base,
                             ArrayRef<LLVM::GEPArg>{index});
}

Value Memory::toRegister(Value value, Type element) {
  return element.isInteger(1) ? a.cmp(arith::CmpIPredicate::ne, value, 0)
                              : value;
}

Value Memory::toMemory(Value value, Type element) {
  return element.isInteger(1) ? a.zeroExtend(value, 8) : value;
}

bool Memory::hasMasks(Type type) const {
  return bytesOf(type) >= 4 ? a.cpu.hasMasks : a.cpu.hasByteMasks;
}

Value Memory::loadRaw(Value address, Type type) {
  return LLVM::LoadOp::create(a.builder, a.loc, type, address, bytesOf(type));
}

void Memory::storeRaw(Value value, Value address) {
  LLVM::StoreOp::create(a.builder, a.loc, value, address,
                        bytesOf(value.getType()));
}

void Memory::copy(Value from, Value to, Type type, Value count) {
  OpBuilder::InsertionGuard guard(a.builder);
  auto loop = scf::ForOp::create(a.builder, a.loc, a.integer(a.i(64), 0), count,
                                 a.integer(a.i(64), 1));
  a.builder.setInsertionPointToStart(loop.getBody());
  Value lane = loop.getInductionVar();
  storeRaw(loadRaw(address(from, type, lane), type), address(to, type, lane));
}

Value Memory::loadNumber(Value address, Type element) {
  return toRegister(loadRaw(address, Arithmetic::inMemory(element)), element);
}

void Memory::storeNumber(Value value, Value address, Type element) {
  storeRaw(toMemory(value, element), address);
}

Value Memory::loadLanes(Value address, Type element, int64_t lanes,
                        Active active) {
  Type memory = Arithmetic::inMemory(element);
  auto type = VectorType::get({lanes}, memory);
  if (!active)
    return toRegister(loadRaw(address, type), element);
  Value zero = a.constant(type, a.builder.getZeroAttr(memory));
  if (hasMasks(memory))
    return toRegister(LLVM::MaskedLoadOp::create(
                          a.builder, a.loc, type, address, active.mask, zero,
                          a.builder.getI32IntegerAttr(bytesOf(memory))),
                      element);
  Value all = a.cmp(arith::CmpIPredicate::eq, active.count, lanes);
  auto branch = scf::IfOp::create(a.builder, a.loc, TypeRange(type), all,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(a.builder);
  a.builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(a.builder, a.loc, loadRaw(address, type));
  a.builder.setInsertionPointToStart(branch.elseBlock());
  storeRaw(zero, buffer);
  copy(address, buffer, memory, active.count);
  scf::YieldOp::create(a.builder, a.loc, loadRaw(buffer, type));
  a.builder.setInsertionPointAfter(branch);
  Value result = toRegister(branch.getResult(0), element);
  return result;
}

void Memory::storeLanes(Value value, Value address, Type element,
                        Active active) {
  Type memory = Arithmetic::inMemory(element);
  value = toMemory(value, element);
  if (!active) {
    storeRaw(value, address);
    return;
  }
  // Not of 8 and 16 bits: LLVM 22 stores 32 bits when it finds that one lane
  // counts and the number was truncated.
  if (bytesOf(memory) >= 4 && hasMasks(memory)) {
    LLVM::MaskedStoreOp::create(a.builder, a.loc, value, address, active.mask,
                                bytesOf(memory));
    return;
  }
  Value all =
      a.cmp(arith::CmpIPredicate::eq, active.count, Arithmetic::lanesOf(value));
  auto branch =
      scf::IfOp::create(a.builder, a.loc, all, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(a.builder);
  a.builder.setInsertionPointToStart(branch.thenBlock());
  storeRaw(value, address);
  a.builder.setInsertionPointToStart(branch.elseBlock());
  storeRaw(value, buffer);
  copy(buffer, address, memory, active.count);
}

Value Memory::gather(Value address, Type element, Value stride, int64_t lanes,
                     Active active) {
  Type memory = Arithmetic::inMemory(element);
  auto type = VectorType::get({lanes}, memory);
  Value result = LLVM::PoisonOp::create(a.builder, a.loc, type);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value index = a.integer(a.i(64), lane);
    // Lanes that do not count read the last that does.
    if (active)
      index = a.make<arith::MinSIOp>(index, a.addi(active.count, -1));
    Value number =
        loadRaw(this->address(address, element, a.muli(index, stride)), memory);
    result = LLVM::InsertElementOp::create(a.builder, a.loc, type, result,
                                           number, a.integer(a.i(32), lane));
  }
  return toRegister(result, element);
}

void Memory::scatter(Value value, Value address, Type element, Value stride,
                     Active active) {
  value = toMemory(value, element);
  storeRaw(value, buffer);
  int64_t lanes = Arithmetic::lanesOf(value);
  Type memory = Arithmetic::inMemory(element);
  auto loop = scf::ForOp::create(
      a.builder, a.loc, a.integer(a.i(64), 0),
      active ? active.count : a.integer(a.i(64), lanes), a.integer(a.i(64), 1));
  OpBuilder::InsertionGuard guard(a.builder);
  a.builder.setInsertionPointToStart(loop.getBody());
  Value lane = loop.getInductionVar();
  storeRaw(loadRaw(this->address(buffer, element, lane), memory),
           this->address(address, element, a.muli(lane, stride)));
}
