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
// Where the hardware checks bounds, there is one version without branches: the
// addresses of runs outside are past the end of a bounded pointer.
//
// A run that the buffer's end may cut is accessed element by element; one with
// a mask for each element, in one piece where all are true. Stores of a
// fragment that several threads hold are executed by the first of them.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

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

/// Returns the mask of `count` registers from `first` on: whether all of them
/// may be accessed.
static Value getRunMask(ImplicitLocOpBuilder &b, RegionAccess &access,
                        int64_t first, int64_t count) {
  Value all = access.getMask(first);
  for (int64_t v = first + 1; v < first + count; ++v)
    if (!access.hasOneMask(v - 1, 2))
      all = arith::AndIOp::create(b, all, access.getMask(v));
  return all;
}

/// Returns whether `value` has the bits of zero.
static bool isZero(Value value) {
  return matchPattern(value, m_Zero()) || matchPattern(value, m_PosZeroFloat());
}

/// Does what loadRun does by an access whose bounds the hardware checks: a load
/// outside gives zeros. Elements inside that have a mask are loaded in any
/// case.
static SmallVector<Value> loadBounded(ImplicitLocOpBuilder &b,
                                      RegionAccess &access, int64_t first,
                                      Type element, int64_t count,
                                      Value padding) {
  if (access.isNeverInside(first))
    return SmallVector<Value>(count, padding);
  bool oneMask = access.hasOneMask(first, count);
  Value address = access.getBoundedAddress(first, /*withMask=*/oneMask);
  Value loaded = createLoad(b, address, element, count);
  if (oneMask && isZero(padding))
    return count == 1 ? SmallVector<Value>{loaded} : unpack(b, loaded);
  Type type = getVectorType(element, count);
  if (oneMask) {
    Value other = padding;
    if (count > 1)
      other = vector::BroadcastOp::create(b, type, padding);
    loaded = arith::SelectOp::create(b, access.getMask(first), loaded, other);
    return count == 1 ? SmallVector<Value>{loaded} : unpack(b, loaded);
  }
  SmallVector<Value> registers = unpack(b, loaded);
  for (auto [i, value] : llvm::enumerate(registers))
    value =
        arith::SelectOp::create(b, access.getMask(first + i), value, padding);
  return registers;
}

/// Loads one run of `count` registers by one access, or `padding` where the
/// mask is false. If the registers have different masks, they are loaded one by
/// one unless all are true.
static SmallVector<Value> loadRun(ImplicitLocOpBuilder &b, RegionAccess &access,
                                  int64_t first, Type element, int64_t count,
                                  bool masked, Value padding) {
  if (access.hasBounds())
    return loadBounded(b, access, first, element, count, padding);
  Value address = access.getAddress(first);
  Value mask = masked ? getRunMask(b, access, first, count) : Value();
  if (!mask) {
    Value loaded = createLoad(b, address, element, count);
    return count == 1 ? SmallVector<Value>{loaded} : unpack(b, loaded);
  }
  Type type = getVectorType(element, count);
  Value loaded = createChoice(b, mask, type, [&](bool inside) {
    if (inside)
      return SmallVector<Value>{createLoad(b, address, element, count)};
    if (count == 1)
      return SmallVector<Value>{padding};
    if (access.hasOneMask(first, count))
      return SmallVector<Value>{vector::BroadcastOp::create(b, type, padding)};
    SmallVector<Value> registers;
    access.enterBlock();
    for (int64_t v = first; v < first + count; ++v)
      llvm::append_range(registers,
                         loadRun(b, access, v, element, 1, masked, padding));
    access.enterBlock();
    return SmallVector<Value>{pack(b, element, registers)};
  })[0];
  return count == 1 ? SmallVector<Value>{loaded} : unpack(b, loaded);
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
    llvm::append_range(registers,
                       loadRun(b, access, v, element, run, masked, padding));
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
  Value inside;
  if (!access.hasBounds())
    inside = access.getInsidePredicate();
  if (!inside)
    return load(true);
  Type type = VectorType::get({indexer.getNumValues()}, element);
  return createChoice(b, inside, type, [&](bool holds) {
    return SmallVector<Value>{load(!holds)};
  })[0];
}

Value tilews::loadElements(ImplicitLocOpBuilder &b, RegionAccess &access,
                           const FragmentIndexer &indexer,
                           RankedTensorType fragment, Type element,
                           Value padding) {
  Type original = fragment.getElementType();
  if (padding)
    padding = toRegister(b, padding, original);
  Value loaded = loadFragment(b, access, indexer, element, padding);
  return normalizeRegister(b, loaded, original);
}

void tilews::createVersions(ImplicitLocOpBuilder &b, RegionAccess &access,
                            function_ref<void(bool)> body) {
  Value inside;
  if (!access.isAlwaysInside() && !access.hasBounds())
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

/// Stores one run of registers, the first of which has number `first`, by one
/// access. If the registers have different masks, they are stored one by one
/// unless all are true.
static void storeRun(ImplicitLocOpBuilder &b, RegionAccess &access,
                     ArrayRef<Value> registers, int64_t first, Type element,
                     bool masked) {
  int64_t count = registers.size();
  bool bounded = access.hasBounds(), oneMask = access.hasOneMask(first, count);
  if (bounded && access.isNeverInside(first))
    return;
  Value address = bounded ? access.getBoundedAddress(first, /*withMask=*/true)
                          : access.getAddress(first);
  Value mask;
  if (masked && !(bounded && oneMask))
    mask = getRunMask(b, access, first, count);
  auto store = [&] {
    Value value = count == 1 ? registers.front() : pack(b, element, registers);
    createStore(b, value, address, element, count);
  };
  if (!masked || oneMask)
    return createGuarded(b, mask, store);
  createChoice(b, mask, {}, [&](bool all) {
    if (all) {
      store();
      return SmallVector<Value>();
    }
    access.enterBlock();
    for (int64_t i = 0; i < count; ++i)
      storeRun(b, access, registers[i], first + i, element, masked);
    access.enterBlock();
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
    for (int64_t v = 0; v < indexer.getNumValues(); v += run)
      storeRun(b, access, ArrayRef<Value>(registers).slice(v, run), v, element,
               masked);
  });
}
