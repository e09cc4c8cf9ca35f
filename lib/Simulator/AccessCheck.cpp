//===- AccessCheck.cpp - Whether accesses are ordered ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "BlockState.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

/// What an earlier access is, in the words of a message about a later one.
static std::string describe(const Event &event, const std::string &agent,
                            bool isSame) {
  std::string by = isSame ? "this role" : agent;
  if (!event.op)
    return by + (event.writes ? " writes it here" : " reads it here");
  bool isDone = event.op->isDone;
  switch (event.op->kind) {
  case AsyncKind::Load:
  case AsyncKind::Copy:
    return by + " starts a copy to it here, which has " +
           (isDone ? "landed, but was not waited for" : "not landed");
  case AsyncKind::Store:
    return by + " starts a copy from it here, which " +
           (isDone ? "was not waited for" : "has not been waited for");
  case AsyncKind::Product:
    return by + " starts a product here that reads it until it is waited for";
  case AsyncKind::Arrival:
    break;
  }
  llvm_unreachable("arrivals access nothing");
}

LogicalResult BlockState::failAccess(Frame &frame, const Instruction &inst,
                                     ArrayRef<int64_t> coords, bool writes,
                                     const Conflict &conflict) {
  const Event &earlier = conflict.earlier;
  bool isSame = earlier.agent == frame.getAgent();
  std::string place = "element " + toString(coords) + " of shared memory";
  std::string what = writes ? "writes " + place : "reads " + place;
  switch (conflict.kind) {
  case ConflictKind::Overwritten:
    what += ", which has been overwritten through another buffer that has the "
            "same place";
    break;
  case ConflictKind::Unfenced:
    what += " on its own (wgmma, TMA); no tile.proxy_fence has made what "
            "ordinary stores wrote there visible";
    break;
  case ConflictKind::Unordered: {
    bool isFilling = earlier.op && earlier.writes;
    what += isFilling ? (writes ? ", to which a copy is under way"
                                : ", to which a copy is under way that was not "
                                  "waited for")
            : earlier.writes ? ", which nothing orders behind a write of it"
                             : ", which nothing orders behind a read of it";
    if (!isFilling && isSame && !earlier.op)
      what += " by other threads; expected a tile.barrier";
    break;
  }
  }
  (void)frame.fail(inst, what);
  Failure reason = *failure;
  reason.notes.emplace_back(
      earlier.inst->op->getLoc(),
      describe(earlier, agents[earlier.agent]->name, isSame));
  failure = std::move(reason);
  return mlir::failure();
}

/// The bytes of a row's elements, in runs.
static void forEachRun(const MemRef &memref, const Row &row,
                       function_ref<bool(int64_t, int64_t, int64_t)> fn) {
  int64_t bits = memref.storageBits;
  int64_t stride = memref.strides.empty() ? 1 : memref.strides.back();
  int64_t count = row.high - row.low;
  auto getByte = [&](int64_t element) {
    return memref.buffer->firstCell + element * bits / 8;
  };
  if (count == 0)
    return;
  if (stride == 1) {
    int64_t first = getByte(row.first);
    int64_t last = getByte(row.first + count - 1) + llvm::divideCeil(bits, 8);
    (void)fn(first, last - first, 0);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    if (!fn(getByte(row.first + i * stride), llvm::divideCeil(bits, 8), i))
      return;
}

LogicalResult BlockState::access(Frame &frame, const Instruction &inst,
                                 const MemRef &memref, const Box &box,
                                 const AccessMode &mode) {
  if (Record *record = frame.getRecord())
    record->bytes = std::max<int64_t>(record->bytes, 0) +
                    countElements(box.sizes) * memref.storageBits / 8;
  if (!memref.buffer->cells)
    return success();
  Agent &agent = getAgent(frame.getAgent());
  Event event;
  event.inst = &inst;
  event.agent = frame.getAgent();
  event.component = mode.op ? mode.op->component : agent.accesses;
  event.time = mode.op ? mode.op->time : agent.time;
  event.writes = mode.writes;
  event.isAsyncProxy = mode.isAsyncProxy;
  event.atomic = mode.atomic;
  event.op = mode.op;
  event.buffer = memref.buffer.get();
  shadow.begin(std::move(event));
  Viewer viewer{agent.all, std::nullopt, isExplicit};
  if (!isExplicit || agent.isOneThread)
    viewer.own = agent.accesses;
  return forEachRow(memref, box, [&](const Row &row) {
    LogicalResult result = success();
    forEachRun(memref, row, [&](int64_t first, int64_t count, int64_t skip) {
      std::optional<Conflict> conflict =
          shadow.touch(*memref.buffer->cells, first, count, viewer);
      if (!conflict)
        return true;
      SmallVector<int64_t> coords = row.coords;
      if (!coords.empty())
        coords.back() += skip;
      result = failAccess(frame, inst, coords, mode.writes, *conflict);
      return false;
    });
    return result;
  });
}
