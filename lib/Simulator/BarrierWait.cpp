//===- BarrierWait.cpp - Arrivals at barriers, and waits ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Waits and arrivals at the barriers of a block, for channels and for
// `tile.mbarrier` alike. A wait hands the scheduler a condition and a text: if
// no step of the block is possible any more, the texts of all waiting agents
// make up the report of the deadlock. Arrivals join the clock of the arriving
// agent into the clock of the phase; the wait joins that of the complete phase
// into the clock of its agent.
//
// An arrival of copies, and the bytes of a copy by TMA, are asynchronous
// operations of their own, so that the policy decides when they happen.
//
//===----------------------------------------------------------------------===//

#include "BarrierWait.h"
#include "BlockState.h"

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-simulator"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

/// "the barrier of slot 1" or "the 'full' barrier of slot 1".
static std::string getName(const BarrierArray &barriers, int64_t slot) {
  if (barriers.name.empty())
    return ("the barrier of slot " + Twine(slot)).str();
  return ("the '" + barriers.name + "' barrier of slot " + Twine(slot)).str();
}

static std::string toText(const MBarrier &barrier) {
  std::string text =
      ("in phase " + Twine(barrier.phase) + " (parity " +
       Twine(barrier.getParity()) + "): " + Twine(barrier.missing) + " of " +
       Twine(barrier.count) + " arrivals missing")
          .str();
  if (barrier.bytes > 0)
    text += (", " + Twine(barrier.bytes) + " bytes missing").str();
  if (barrier.bytes < 0)
    text += (", " + Twine(-barrier.bytes) + " bytes more landed than expected")
                .str();
  return text;
}

/// Returns whether `op` arrives at the barriers.
static bool isArrival(const BarrierArray &barriers, Operation *op) {
  if (barriers.name == "full")
    return isa<tile::CommitOp>(op);
  if (barriers.name == "empty")
    return isa<tile::ReleaseOp>(op);
  return isa<tile::MBarrierArriveOp>(op);
}

/// Adds notes: the operation that waits, and those that arrive at the barrier.
static void report(const Instruction &inst, const BarrierArray &barriers,
                   int64_t slot, int64_t parity, Failure &failure) {
  const MBarrier &barrier = barriers.slots[slot];
  failure.notes.emplace_back(inst.op->getLoc(),
                             ("waits here for the phase of parity " +
                              Twine(parity) + " of " + getName(barriers, slot) +
                              ", which is " + toText(barrier))
                                 .str());
  for (Operation *user : barriers.value.getUsers()) {
    if (!isArrival(barriers, user))
      continue;
    auto role = user->getParentOfType<tile::RoleOp>();
    std::string who =
        role ? ("role @" + role.getName()).str() : std::string("the block");
    failure.notes.emplace_back(user->getLoc(),
                               who + " arrives at that barrier here");
  }
}

/// Adds the barrier to the record of the present operation.
static void note(Frame &frame, const MBarrier &barrier, int64_t slot,
                 int64_t phase) {
  if (Record *record = frame.getRecord()) {
    record->barrier = barrier.number;
    record->slot = slot;
    record->phase = phase;
  }
}

//===----------------------------------------------------------------------===//
// Waits and arrivals
//===----------------------------------------------------------------------===//

LogicalResult sim::waitFor(Frame &frame, const Instruction &inst,
                           BarrierArray &barriers, int64_t slot,
                           int64_t parity) {
  BlockState &state = frame.getState();
  MBarrier &barrier = barriers.slots[slot];
  // Set before the wait, so that the record of a wait that never ends has it.
  note(frame, barrier, slot, barrier.phase);
  auto isOver = [&] { return barrier.isComplete(parity); };
  auto describe = [&](Failure &failure) {
    report(inst, barriers, slot, parity, failure);
  };
  LDBG() << state.getAgent(frame.getAgent()).name << " waits for parity "
         << parity << " of " << getName(barriers, slot) << ", which "
         << toText(barrier);
  Wait wait{&inst, isOver, describe, &barrier, parity};
  if (failed(state.scheduler.waitUntil(frame.getAgent(), wait)))
    return failure();
  state.scheduler.touch(
      {TouchKind::Wait, barrier.number, barrier.phase, parity});
  note(frame, barrier, slot, barrier.phase - 1);
  // Without roles channels do not become barriers: their waits order nothing.
  bool isBarrier = barriers.name.empty() || frame.isInRole();
  if (isBarrier)
    state.joinClocks(state.getAgent(frame.getAgent()), barrier.complete);
  return success();
}

/// Makes the touch of a barrier in its present phase.
static Touch makeTouch(const MBarrier &barrier) {
  Touch touch{TouchKind::Update, barrier.number, barrier.phase};
  touch.missing = barrier.missing;
  return touch;
}

/// Updates a barrier and tells a search that the present step does so. `touch`
/// was made before the change.
static void update(Frame &frame, MBarrier &barrier, Touch touch) {
  barrier.update();
  touch.completes = barrier.phase != touch.first;
  frame.getState().scheduler.touch(touch);
}

void sim::expect(Frame &frame, MBarrier &barrier, int64_t bytes) {
  barrier.bytes += bytes;
  barrier.isRegular &= barrier.missing > 0;
  barrier.expecting.push_back(frame.getAgent());
  frame.getState().scheduler.touch(makeTouch(barrier));
}

LogicalResult sim::arrive(Frame &frame, const Instruction &inst,
                          BarrierArray &barriers, int64_t slot,
                          int64_t arrivals, const Clocks &clocks) {
  MBarrier &barrier = barriers.slots[slot];
  if (arrivals > barrier.missing)
    return frame.fail(inst, "arrives " + Twine(arrivals) + " times at " +
                                getName(barriers, slot) + ", which " +
                                toText(barrier));
  note(frame, barrier, slot, barrier.phase);
  Touch touch = makeTouch(barrier);
  touch.arrivals = arrivals;
  barrier.missing -= arrivals;
  barrier.arriving.join(clocks);
  update(frame, barrier, touch);
  return success();
}

Record sim::makeRecord(const BarrierArray &barriers, int64_t slot) {
  Record record;
  record.barrier = barriers.slots[slot].number;
  record.slot = slot;
  record.phase = barriers.slots[slot].phase;
  return record;
}

LogicalResult sim::arriveAfterCopies(Frame &frame, const Instruction &inst,
                                     BarrierArray &barriers, int64_t slot,
                                     int64_t arrivals, Clocks clocks) {
  Scheduler &scheduler = frame.getState().scheduler;
  Agent &agent = frame.getState().getAgent(frame.getAgent());
  auto op = std::make_shared<AsyncOp>();
  op->kind = AsyncKind::Arrival;
  op->agent = frame.getAgent();
  op->inst = &inst;
  op->signals = &barriers.slots[slot];
  for (const std::shared_ptr<AsyncOp> &other : scheduler.getInFlight())
    if (other->kind == AsyncKind::Copy && other->agent == op->agent)
      op->after.push_back(other);
  clocks.done.raise(agent.copies, agent.copiesStarted);
  bool isDue = scheduler.isStepwise()
                   ? agent.each.done.get(agent.copies) >= agent.copiesStarted
                   : op->after.empty();
  if (isDue) {
    llvm::erase(barriers.slots[slot].expecting, frame.getAgent());
    return arrive(frame, inst, barriers, slot, arrivals, clocks);
  }
  op->complete = [&frame, &inst, &barriers, slot, arrivals, clocks] {
    return arrive(frame, inst, barriers, slot, arrivals, clocks);
  };
  return frame.getState().start(std::move(op), RecordUnit::Arrival,
                                makeRecord(barriers, slot));
}

//===----------------------------------------------------------------------===//
// Copies by TMA
//===----------------------------------------------------------------------===//

std::shared_ptr<AsyncOp> sim::makeLoad(Frame &frame, const Instruction &inst,
                                       BlockState &block,
                                       const MBarrier &barrier) {
  auto op = std::make_shared<AsyncOp>();
  op->kind = AsyncKind::Load;
  op->agent = frame.getAgent();
  op->inst = &inst;
  op->signals = &barrier;
  op->component = barrier.component;
  op->time = barrier.phase + 1;
  block.addLoad(op);
  return op;
}

LogicalResult sim::startLoad(Frame &frame, std::shared_ptr<AsyncOp> op,
                             BarrierArray &barriers, int64_t slot,
                             int64_t bytes,
                             std::function<LogicalResult()> move) {
  op->complete = [&frame, &inst = *op->inst, &barriers, slot, bytes,
                  phase = barriers.slots[slot].phase, move = std::move(move)] {
    if (failed(move()))
      return failure();
    MBarrier &barrier = barriers.slots[slot];
    if (barrier.phase != phase)
      return frame.fail(
          inst, "was started in phase " + Twine(phase) + " of " +
                    getName(barriers, slot) + ", which completed before its " +
                    Twine(bytes) + " bytes landed: it expected fewer bytes");
    Touch touch = makeTouch(barrier);
    barrier.bytes -= bytes;
    update(frame, barrier, touch);
    return success();
  };
  frame.getState().scheduler.touch(makeTouch(barriers.slots[slot]));
  Record details = makeRecord(barriers, slot);
  details.bytes = bytes;
  return frame.getState().start(std::move(op), RecordUnit::Tma, details);
}
