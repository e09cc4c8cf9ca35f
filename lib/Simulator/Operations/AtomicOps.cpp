//===- AtomicOps.cpp - Atomic accesses and fences -------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks run one at a time, so that each access is atomic, and all accesses are
// in one order, as if each acquired and released. What this hides, a missing
// `order`, is not found here.
//
// An access with a result in a loop may be part of a wait for another block:
// after it, other blocks can run (ConcurrentBlocks.h).
//
//===----------------------------------------------------------------------===//

#include "Simulator/Access.h"
#include "Simulator/AccessCheck.h"
#include "Simulator/BlockState.h"
#include "Simulator/ConcurrentBlocks.h"
#include "Simulator/IndexedAccess.h"
#include "Simulator/Numbers.h"

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <numeric>

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;
using tile::AtomicKind;

static double combine(AtomicKind kind, double a, double b) {
  switch (kind) {
  case AtomicKind::Add:
    return add(a, b);
  case AtomicKind::Max:
    return maxNumber(a, b);
  case AtomicKind::Min:
    return minNumber(a, b);
  default: // Exchange; the verifier rejects the others for these elements.
    return b;
  }
}

static int64_t combine(AtomicKind kind, int64_t a, int64_t b) {
  switch (kind) {
  case AtomicKind::Add:
    return add(a, b);
  case AtomicKind::Max:
    return maxNumber(a, b);
  case AtomicKind::Min:
    return minNumber(a, b);
  case AtomicKind::And:
    return a & b;
  case AtomicKind::Or:
    return a | b;
  case AtomicKind::Xor:
    return a ^ b;
  case AtomicKind::Exchange:
    return b;
  case AtomicKind::UMax:
    return maxUnsigned(a, b);
  case AtomicKind::UMin:
    return minUnsigned(a, b);
  }
  llvm_unreachable("covered switch");
}

/// Lets other blocks run after an access in a loop.
static LogicalResult poll(Frame &frame, const Instruction &inst) {
  ConcurrentBlocks *blocks = frame.getLaunch().concurrent;
  if (!blocks || !inst.op->getParentOfType<scf::WhileOp>() ||
      succeeded(blocks->poll()))
    return success();
  std::string others;
  if (blocks->countLive() > 1)
    others = ", as do " + std::to_string(blocks->countLive() - 1) + " others";
  return frame.fail(inst, "block " + toString(frame.getBlock()) +
                              " waits here" + others +
                              ", but no block changes memory any more: the "
                              "kernel hangs");
}

/// The boxes of an access, each with the number of its first element in the
/// fragment.
using Boxes = SmallVector<std::pair<Box, int64_t>>;

/// Replaces each element of `boxes` by `combine(old, number)`, where `number`
/// counts the elements of the fragment, and sets the result to the old values.
template <typename T>
static LogicalResult replace(Frame &frame, const Instruction &inst,
                             const MemRef &memref, const Boxes &boxes,
                             bool reads, AtomicKind kind,
                             function_ref<T(T, size_t)> combine) {
  Datum old;
  if (!inst.results.empty())
    old = makeDatum(inst.resultTypes[0]);
  auto apply = [&](T value, T number) {
    if (!inst.results.empty())
      old.elements<T>()[size_t(number)] = value;
    return combine(value, size_t(number));
  };
  SmallVector<T> numbers;
  for (const auto &[box, first] : boxes) {
    numbers.resize(countElements(box.sizes));
    std::iota(numbers.begin(), numbers.end(), T(first));
    if (failed(updateNow<T>(frame, inst, memref, box, numbers.data(), reads,
                            kind, apply)))
      return failure();
  }
  if (inst.results.empty())
    return success();
  frame.set(inst, 0, std::move(old));
  return poll(frame, inst);
}

static Boxes getBoxes(Frame &frame, const Instruction &inst,
                      tile::AtomicRMWOp op) {
  return {{getBox(frame, inst, op.getRegion(), 2), 0}};
}

static Boxes getBoxes(Frame &frame, const Instruction &inst,
                      tile::AtomicScatterOp) {
  Boxes boxes;
  (void)forEachIndexedRun(frame, inst, [&](const Box &box, int64_t first) {
    boxes.emplace_back(box, first);
    return success();
  });
  return boxes;
}

template <typename OpT, typename T>
static LogicalResult update(Frame &frame, const Instruction &inst) {
  auto op = cast<OpT>(inst.op);
  AtomicKind kind = op.getKind();
  bool reads = kind != AtomicKind::Exchange || op.getOld();
  const T *values = frame.get(inst, 0).elements<T>();
  MemRef memref = isa<tile::AtomicScatterOp>(inst.op)
                      ? getIndexedMemRef(frame, inst)
                      : frame.getMemRef(inst, 1);
  return replace<T>(
      frame, inst, memref, getBoxes(frame, inst, op), reads,
      op.getOld() ? AtomicKind::Exchange : kind,
      [&](T old, size_t number) { return combine(kind, old, values[number]); });
}

template <typename T>
static LogicalResult compareAndSwap(Frame &frame, const Instruction &inst) {
  auto op = cast<tile::AtomicCASOp>(inst.op);
  const T *expected = frame.get(inst, 0).elements<T>();
  const T *values = frame.get(inst, 1).elements<T>();
  return replace<T>(
      frame, inst, frame.getMemRef(inst, 2),
      {{getBox(frame, inst, op.getRegion(), 3), 0}},
      /*reads=*/true, AtomicKind::Exchange, [&](T old, size_t number) {
        // Bits decide: -0 is not 0, and a NaN is itself.
        // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
        bool isEqual = std::memcmp(&old, &expected[number], sizeof(T)) == 0;
        return isEqual ? values[number] : old;
      });
}

template <typename T>
static LogicalResult load(Frame &frame, const Instruction &inst) {
  Box box =
      getBox(frame, inst, cast<tile::AtomicLoadOp>(inst.op).getRegion(), 1);
  const MemRef &memref = frame.getMemRef(inst, 0);
  AccessMode mode{/*writes=*/false, /*isAsyncProxy=*/false, AtomicKind::Or};
  Datum datum = makeDatum(inst.resultTypes[0]);
  if (failed(frame.getState().getAccesses().check(frame, inst, memref, box,
                                                  mode)) ||
      failed(readBox<T>(frame, inst, memref, box, T(0), datum.elements<T>())))
    return failure();
  frame.set(inst, 0, std::move(datum));
  return poll(frame, inst);
}

void sim::registerAtomicHandlers(Registry &registry) {
  addByElement<tile::AtomicRMWOp>(
      registry, [](Frame &frame, const Instruction &inst, auto element) {
        return update<tile::AtomicRMWOp, decltype(element)>(frame, inst);
      });
  addByElement<tile::AtomicScatterOp>(
      registry, [](Frame &frame, const Instruction &inst, auto element) {
        return update<tile::AtomicScatterOp, decltype(element)>(frame, inst);
      });
  addByElement<tile::AtomicCASOp>(
      registry, [](Frame &frame, const Instruction &inst, auto element) {
        return compareAndSwap<decltype(element)>(frame, inst);
      });
  addByElement<tile::AtomicLoadOp>(
      registry, [](Frame &frame, const Instruction &inst, auto element) {
        return load<decltype(element)>(frame, inst);
      });
  registry.add<tile::FenceOp>(
      [](Frame &, const Instruction &) { return success(); });
}
