//===- FragmentMemory.cpp - Registers from and to memory ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads and stores of the registers of a fragment, in runs as wide as layout,
// alignment and masks allow. An access that may reach past its buffer has two
// versions, chosen once by a branch on the region:
//
//   if (the whole region lies in the buffer)   wide accesses without masks
//   else                                       a mask for each run
//
// A run whose elements could differ in their mask is accessed element by
// element. Stores of a fragment that several threads hold are executed by the
// first of them.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Returns the type of an element in memory: types below a byte take a byte.
static Type getMemoryType(Type element) {
  return element.getIntOrFloatBitWidth() < 8
             ? IntegerType::get(element.getContext(), 8)
             : element;
}

static Type getVectorType(Type element, int64_t count) {
  return count == 1 ? element : Type(VectorType::get({count}, element));
}

static unsigned getBytes(Type type, int64_t count) {
  return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8) * count;
}

Value tilews::createLoad(ImplicitLocOpBuilder &b, Value address, Type element,
                         int64_t count) {
  Type memory = getMemoryType(element);
  Value loaded = LLVM::LoadOp::create(b, getVectorType(memory, count), address,
                                      getBytes(memory, count));
  if (memory == element)
    return loaded;
  if (count == 1)
    return arith::TruncIOp::create(b, element, loaded);
  // Element by element: the backends would keep a vector of such a type in
  // memory.
  SmallVector<Value> values;
  for (Value value : unpack(b, loaded))
    values.push_back(arith::TruncIOp::create(b, element, value));
  return pack(b, element, values);
}

void tilews::createStore(ImplicitLocOpBuilder &b, Value value, Value address,
                         Type element, int64_t count) {
  Type memory = getMemoryType(element);
  if (memory != element && count == 1)
    value = arith::ExtUIOp::create(b, memory, value);
  else if (memory != element) {
    SmallVector<Value> values;
    for (Value narrow : unpack(b, value))
      values.push_back(arith::ExtUIOp::create(b, memory, narrow));
    value = pack(b, memory, values);
  }
  LLVM::StoreOp::create(b, value, address, getBytes(memory, count));
}

void tilews::createGuarded(ImplicitLocOpBuilder &b, Value mask,
                           function_ref<void()> then) {
  if (!mask)
    return then();
  auto guard = scf::IfOp::create(b, mask, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard restore(b);
  b.setInsertionPointToStart(guard.thenBlock());
  then();
}

Value tilews::getOwnerPredicate(ImplicitLocOpBuilder &b,
                                const FragmentLayout &layout, Value threadId) {
  auto constant = [&](int64_t value) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  };
  Value owner;
  int64_t prefix = 1;
  for (const Mode &mode : layout.getThreadModes()) {
    int64_t step = prefix;
    prefix *= mode.extent;
    if (mode.stride != 0 || mode.extent == 1)
      continue;
    Value digit = arith::DivUIOp::create(b, threadId, constant(step));
    digit = arith::RemUIOp::create(b, digit, constant(mode.extent));
    Value first =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, digit, constant(0));
    owner = owner ? arith::AndIOp::create(b, owner, first).getResult() : first;
  }
  return owner;
}

/// Emits an `scf.if` with two versions of the same values.
static ValueRange createChoice(ImplicitLocOpBuilder &b, Value condition,
                               TypeRange types,
                               function_ref<SmallVector<Value>(bool)> version) {
  auto choice = scf::IfOp::create(b, types, condition,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard restore(b);
  for (bool holds : {true, false}) {
    b.setInsertionPointToStart(holds ? choice.thenBlock() : choice.elseBlock());
    scf::YieldOp::create(b, version(holds));
  }
  return choice.getResults();
}

/// Loads one run of `count` registers by one access, or `padding` where the
/// mask is false. The run starts at `constants`.
static void loadRun(ImplicitLocOpBuilder &b, RegionAccess &access,
                    ArrayRef<int64_t> constants, Type element, int64_t count,
                    bool masked, Value padding,
                    SmallVectorImpl<Value> &registers) {
  Value address = access.getAddress(constants);
  Value mask = masked ? access.getMask(constants) : Value();
  Value loaded;
  if (!mask) {
    loaded = createLoad(b, address, element, count);
  } else {
    Type type = getVectorType(element, count);
    loaded = createChoice(b, mask, type, [&](bool inside) {
      if (inside)
        return SmallVector<Value>{createLoad(b, address, element, count)};
      if (count == 1)
        return SmallVector<Value>{padding};
      return SmallVector<Value>{vector::BroadcastOp::create(b, type, padding)};
    })[0];
  }
  if (count == 1)
    registers.push_back(loaded);
  else
    llvm::append_range(registers, unpack(b, loaded));
}

SmallVector<Value> tilews::loadRegisters(ImplicitLocOpBuilder &b,
                                         RegionAccess &access,
                                         const FragmentIndexer &indexer,
                                         Type element, Value padding,
                                         int64_t first, int64_t count,
                                         bool masked) {
  int64_t run = std::gcd(access.getVectorElements(), count);
  if (masked && !access.isMaskUniform(run))
    run = 1;
  SmallVector<Value> registers;
  for (int64_t v = first; v < first + count; v += run)
    loadRun(b, access, indexer.getConstants(v), element, run, masked, padding,
            registers);
  return registers;
}

Value tilews::loadFragment(ImplicitLocOpBuilder &b, RegionAccess &access,
                           const FragmentIndexer &indexer, Type element,
                           Value padding) {
  auto load = [&](bool masked) {
    access.enterBlock();
    return pack(b, element,
                loadRegisters(b, access, indexer, element, padding, 0,
                              indexer.getNumValues(), masked));
  };
  if (access.isAlwaysInside())
    return load(false);
  if (!padding)
    padding = arith::ConstantOp::create(b, b.getZeroAttr(element));
  Value inside = access.getInsidePredicate();
  if (!inside)
    return load(true);
  Type type = VectorType::get({indexer.getNumValues()}, element);
  return createChoice(b, inside, type, [&](bool holds) {
    return SmallVector<Value>{load(!holds)};
  })[0];
}

void tilews::createVersions(ImplicitLocOpBuilder &b, RegionAccess &access,
                            function_ref<void(bool)> body) {
  Value inside;
  if (!access.isAlwaysInside())
    inside = access.getInsidePredicate();
  if (!inside) {
    access.enterBlock();
    return body(!access.isAlwaysInside());
  }
  createChoice(b, inside, {}, [&](bool holds) {
    access.enterBlock();
    body(!holds);
    return SmallVector<Value>();
  });
}

void tilews::storeFragment(ImplicitLocOpBuilder &b, RegionAccess &access,
                           const FragmentIndexer &indexer, Value vector) {
  Type element = cast<VectorType>(vector.getType()).getElementType();
  int64_t vectorElements = access.getVectorElements();
  SmallVector<Value> registers = unpack(b, vector);
  createVersions(b, access, [&](bool masked) {
    int64_t run =
        masked && !access.isMaskUniform(vectorElements) ? 1 : vectorElements;
    for (int64_t v = 0; v < indexer.getNumValues(); v += run) {
      SmallVector<int64_t> constants = indexer.getConstants(v);
      Value address = access.getAddress(constants);
      Value mask = masked ? access.getMask(constants) : Value();
      createGuarded(b, mask, [&] {
        ArrayRef<Value> part = ArrayRef<Value>(registers).slice(v, run);
        Value value = run == 1 ? part.front() : pack(b, element, part);
        createStore(b, value, address, element, run);
      });
    }
  });
}
