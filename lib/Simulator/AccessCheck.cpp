//===- AccessCheck.cpp - Happens-before checks of accesses ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The race detector. Each access becomes an event with a component and a time,
// as in the vector clocks of Clock.h. The shadow memory holds, for each byte,
// the last write and the reads since. An access conflicts with one of these if
// its agent's clock does not reach that event's time, whatever the order in
// which the simulator executed the two (Flanagan and Freund, "FastTrack:
// Efficient and Precise Dynamic Race Detection", 2009).
//
// Shadow memory has the bytes of the layout: two buffers that share a
// `tile.offset` share bytes, and swizzled elements have the bytes that the
// hardware gives them. The elements of a row are joined to runs of bytes, so
// that a row-major row is one look-up.
//
//===----------------------------------------------------------------------===//

#include "AccessCheck.h"

#include "Access.h"
#include "BlockState.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-simulator"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

/// Describes an earlier access, for the note of a message about a later one.
static std::string describe(const ShadowEvent &event, const std::string &agent,
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
  case AsyncKind::Matmul:
    return by + " starts a matmul here that reads it until it is waited for";
  case AsyncKind::Arrival:
    break;
  }
  llvm_unreachable("arrivals access nothing");
}

LogicalResult AccessChecker::fail(Frame &frame, const Instruction &inst,
                                  const std::string &place, bool writes,
                                  const Conflict &conflict) {
  const ShadowEvent &earlier = conflict.earlier;
  LDBG_OS([&](raw_ostream &os) {
    os << "conflict with event " << earlier.time << " of component "
       << earlier.component << "; clock of agent " << frame.getAgent() << ": ";
    block.getAgent(frame.getAgent()).all.done.print(os);
  });
  bool isSame = earlier.agent == frame.getAgent();
  std::string what = writes ? "writes " + place : "reads " + place;
  switch (conflict.kind) {
  case ConflictKind::Overwritten:
    what += ", which has been overwritten through another buffer that has the "
            "same place";
    break;
  case ConflictKind::Unfenced:
    what += earlier.writes
                ? " on its own (wgmma, TMA); no tile.proxy_fence has made what "
                  "ordinary stores wrote there visible"
                : " on its own (TMA); no tile.proxy_fence orders it after "
                  "ordinary reads";
    break;
  case ConflictKind::Unordered: {
    bool isFilling = earlier.op && earlier.writes;
    what += isFilling ? (writes ? ", to which a copy is under way"
                                : ", to which a copy is under way that was not "
                                  "waited for")
            : earlier.writes ? ", which nothing orders after a write of it"
                             : ", which nothing orders after a read of it";
    if (!isFilling && isSame && !earlier.op)
      what += " by other threads; expected a tile.barrier";
    break;
  }
  }
  return frame.fail(
      inst, what,
      {{earlier.inst->op->getLoc(),
        describe(earlier, block.getAgent(earlier.agent).name, isSame)}});
}

/// Calls `fn(first, count, i)` for each run of bytes of a row, until it returns
/// false: bytes `first` to `first + count`, which start with element
/// `row.low + i`. A row in a swizzled layout of 16-byte chunks has a run for
/// each chunk.
static void forEachRun(const MemRef &memref, const Row &row,
                       function_ref<bool(int64_t, int64_t, int64_t)> fn) {
  const Buffer &buffer = *memref.buffer;
  int64_t bits = memref.storageBits, count = row.high - row.low;
  int64_t stride = memref.strides.empty() ? 1 : memref.strides.back();
  // Without a planned layout, bytes are in the order of the data.
  if (!buffer.places) {
    for (int64_t i = 0, n; i < count; i += n) {
      n = stride == 1 ? count - i : 1;
      int64_t first = (row.first + i * stride) * bits;
      int64_t last = llvm::divideCeil(first + n * bits, 8);
      if (!fn(buffer.firstCell + first / 8, last - first / 8, i))
        return;
    }
    return;
  }
  const Places &places = *buffer.places;
  int64_t own = places.storageBits;
  int64_t begin = 0, end = 0, first = 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t bit = (row.first + i * stride) * bits;
    // An element of a view is a part of the buffer's element, or several.
    for (int64_t part = bit; part < bit + bits; part += std::min(bits, own)) {
      int64_t place =
          buffer.firstCell + places.bytes[part / own] + part % own / 8;
      int64_t size =
          bits < own ? std::max<int64_t>(bits / 8, 1) : places.elementBytes;
      if (place != end || begin == end) {
        if (begin != end && !fn(begin, end - begin, first))
          return;
        begin = end = place;
        first = i;
      }
      end += size;
    }
  }
  if (begin != end)
    (void)fn(begin, end - begin, first);
}

ShadowEvent AccessChecker::makeEvent(unsigned number, const Instruction &inst,
                                     const AccessMode &mode,
                                     const void *buffer) const {
  const Agent &agent = block.getAgent(number);
  ShadowEvent event;
  event.inst = &inst;
  event.agent = number;
  event.component = mode.op ? mode.op->component : agent.accesses;
  event.time = mode.op ? mode.op->time : agent.time;
  event.writes = mode.writes;
  event.isAsyncProxy = mode.isAsyncProxy;
  event.atomic = mode.atomic;
  event.op = mode.op;
  event.buffer = buffer;
  return event;
}

Viewer AccessChecker::getViewer(unsigned number) const {
  const Agent &agent = block.getAgent(number);
  Viewer viewer{agent.all, std::nullopt, block.isExplicit};
  if (!block.isExplicit || agent.isOneThread)
    viewer.own = agent.accesses;
  return viewer;
}

/// Returns what identifies the memory of a buffer: data may pass between
/// arguments that overlap, but not between shared buffers.
static const void *getMemory(const Buffer &buffer) {
  return buffer.origin ? static_cast<const void *>(buffer.origin) : &buffer;
}

Cells *AccessChecker::getCells(const Buffer &buffer) {
  if (buffer.cells)
    return buffer.cells.get();
  if (!buffer.isWritten)
    return nullptr;
  std::unique_ptr<Cells> &cells = global[getMemory(buffer)];
  if (!cells)
    cells = std::make_unique<Cells>();
  return cells.get();
}

void AccessChecker::note(Frame &frame, const Cells &cells, int64_t first,
                         int64_t count, bool writes) {
  // Records list the memory of their own block only.
  Record *record = block.owns(frame.getAgent()) ? frame.getRecord() : nullptr;
  if (record)
    record->add(
        {block.getRecorder()->getMemory(&cells), first, first + count, writes});
}

LogicalResult AccessChecker::useScratch(Frame &frame, const Instruction &inst) {
  for (bool writes : {true, false}) {
    AccessMode mode;
    mode.writes = writes;
    note(frame, *arena, inst.sharedOffset, inst.scratchBytes, writes);
    shadow.begin(makeEvent(frame.getAgent(), inst, mode, &inst));
    if (std::optional<Conflict> conflict =
            shadow.touch(*arena, inst.sharedOffset, inst.scratchBytes,
                         getViewer(frame.getAgent())))
      return fail(frame, inst, "its scratch memory", writes, *conflict);
    if (writes)
      block.synchronize(block.getAgent(frame.getAgent()));
  }
  return success();
}

/// Returns whether an access only conflicts with a matmul of its own agent that
/// still reads. Before barriers are inserted that is no error: the pass that
/// inserts them makes the agent wait for the matmul.
bool AccessChecker::isOwnMatmul(const Conflict &conflict,
                                unsigned agent) const {
  const ShadowEvent &earlier = conflict.earlier;
  return !block.isExplicit && conflict.kind == ConflictKind::Unordered &&
         earlier.agent == agent && earlier.op &&
         earlier.op->kind == AsyncKind::Matmul;
}

LogicalResult AccessChecker::check(Frame &frame, const Instruction &inst,
                                   const MemRef &memref, const Box &box,
                                   const AccessMode &mode) {
  if (Record *record = frame.getRecord())
    record->bytes = std::max<int64_t>(record->bytes, 0) +
                    countElements(box.sizes) * memref.storageBits / 8;
  const Buffer &buffer = *memref.buffer;
  Cells *cells = getCells(buffer);
  if (!cells)
    return success();
  ShadowEvent event =
      makeEvent(frame.getAgent(), inst, mode, getMemory(buffer));
  if (auto store = dyn_cast<tile::StoreOp>(inst.op)) {
    event.first = memref.offset;
    for (auto [offset, stride] : llvm::zip_equal(box.offsets, memref.strides))
      event.first += offset * stride;
    event.stored = store.getValue().getType();
    event.dest = store.getDest().getType();
  }
  shadow.begin(std::move(event));
  Viewer viewer = getViewer(frame.getAgent());
  viewer.needsFence &= bool(buffer.cells);
  return forEachRow(memref, box, [&](const Row &row) {
    LogicalResult result = success();
    forEachRun(memref, row, [&](int64_t first, int64_t count, int64_t skip) {
      note(frame, *cells, first, count, mode.writes);
      std::optional<Conflict> conflict =
          shadow.touch(*cells, first, count, viewer);
      while (conflict && isOwnMatmul(*conflict, frame.getAgent())) {
        result = block.finish(frame, AsyncKind::Matmul, conflict->earlier.time);
        if (failed(result))
          return false;
        conflict = shadow.touch(*cells, first, count, viewer);
      }
      if (!conflict)
        return true;
      SmallVector<int64_t> coords = row.coords;
      if (!coords.empty())
        coords.back() +=
            skip + (conflict->byte - first) * 8 / memref.storageBits;
      result =
          fail(frame, inst,
               "element " + toString(coords) +
                   (buffer.cells ? " of shared memory" : " of global memory") +
                   (block.owns(frame.getAgent())
                        ? ""
                        : " of block " + toString(block.getBlock())),
               mode.writes, *conflict);
      return false;
    });
    return result;
  });
}
