//===- Access.cpp - Reads and writes of regions ---------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A region of a memref is read and written row by row: a row is a run along the
// last dimension, so that one call of `MemRef::read` moves it. A region may
// reach past the memref on all sides. The part of a row that lies outside is
// padded in reads and dropped in writes; a row of a coordinate outside is
// empty:
//
//   memref 4 x 4, offsets (3, -1), sizes (2, 3)
//     row (3, -1..1): elements 1 and 2 of the row exist, [low, high) = [1, 3)
//     row (4, -1..1): outside, low = high
//
// Offsets come from the kernel and can be any number, so sums of them are
// formed without signed overflow.
//
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "BlockState.h"
#include "ConcurrentBlocks.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

LogicalResult sim::forEachRow(const MemRef &memref, const Box &box,
                              function_ref<LogicalResult(const Row &)> fn) {
  size_t rank = box.sizes.size();
  if (rank == 0)
    return fn({0, 1, memref.offset, {}});
  int64_t size = box.sizes.back(), offset = box.offsets.back();
  int64_t extent = memref.shape.back();
  // Offsets are arbitrary numbers, so sums of two of them could overflow.
  int64_t low = offset >= 0 ? 0 : offset <= -size ? size : -offset;
  int64_t high =
      offset >= extent ? 0 : extent - std::max<int64_t>(offset, 0) + low;
  high = std::min(high, size);
  bool ok = forEachCoordinate(
      ArrayRef(box.sizes).drop_back(), [&](ArrayRef<int64_t> outer) {
        Row row{low, std::max(low, high), memref.offset, {}};
        for (size_t dim = 0; dim + 1 < rank; ++dim) {
          int64_t coord =
              int64_t(uint64_t(box.offsets[dim]) + uint64_t(outer[dim]));
          if (coord < 0 || coord >= memref.shape[dim])
            row.high = row.low;
          row.coords.push_back(coord);
        }
        row.coords.push_back(int64_t(uint64_t(offset) + uint64_t(low)));
        if (row.low < row.high)
          row.first = memref.getElementOffset(row.coords);
        return succeeded(fn(row));
      });
  return success(ok);
}

MemRef sim::getLimited(MemRef memref, const Box &box, unsigned dim,
                       int64_t limit) {
  int64_t &extent = memref.shape[dim];
  extent = box.offsets[dim] < 0 ? 0 : std::clamp<int64_t>(limit, 0, extent);
  return memref;
}

Box sim::getBox(const Frame &frame, const Instruction &inst,
                const tile::TileRegion &region, unsigned operand) {
  Box box;
  box.sizes = region.sizes;
  for (OpFoldResult offset : region.offsets) {
    auto constant = dyn_cast<Attribute>(offset);
    box.offsets.push_back(constant ? cast<IntegerAttr>(constant).getInt()
                                   : frame.getInteger(inst, operand++));
  }
  return box;
}

static LogicalResult failUnwritten(Frame &frame, const Instruction &inst,
                                   SmallVector<int64_t> coords, int64_t skip) {
  if (!coords.empty())
    coords.back() += skip;
  return frame.fail(inst, "reads element " + toString(coords) +
                              " of shared memory, which was never written");
}

static LogicalResult checkWritable(Frame &frame, const Instruction &inst,
                                   const MemRef &memref) {
  if (memref.buffer->writable)
    return success();
  return frame.fail(inst, "writes to an argument that is read-only memory");
}

static int64_t getRowStride(const MemRef &memref) {
  return memref.strides.empty() ? 1 : memref.strides.back();
}

template <typename T>
LogicalResult sim::readBox(Frame &frame, const Instruction &inst,
                           const MemRef &memref, const Box &box, T padding,
                           T *values) {
  int64_t length = box.sizes.empty() ? 1 : box.sizes.back();
  return forEachRow(memref, box, [&](const Row &row) {
    int64_t count = row.high - row.low;
    std::fill(values, values + row.low, padding);
    std::fill(values + row.high, values + length, padding);
    int64_t done =
        memref.read(row.first, getRowStride(memref), count, values + row.low);
    if (done < count)
      return failUnwritten(frame, inst, row.coords, done);
    values += length;
    return success();
  });
}

template <typename T>
LogicalResult sim::writeBox(Frame &frame, const Instruction &inst,
                            const MemRef &memref, const Box &box,
                            const T *values) {
  if (failed(checkWritable(frame, inst, memref)))
    return failure();
  if (ConcurrentBlocks *blocks = frame.getLaunch().concurrent)
    blocks->noteChange();
  int64_t length = box.sizes.empty() ? 1 : box.sizes.back();
  return forEachRow(memref, box, [&](const Row &row) {
    memref.write(row.first, getRowStride(memref), row.high - row.low,
                 values + row.low);
    values += length;
    return success();
  });
}

template <typename T>
LogicalResult sim::readNow(Frame &frame, const Instruction &inst,
                           const MemRef &memref, const Box &box, T padding,
                           T *values, bool isAsyncProxy) {
  AccessMode mode{/*writes=*/false, isAsyncProxy};
  if (failed(
          frame.getState().getAccesses().check(frame, inst, memref, box, mode)))
    return failure();
  return readBox(frame, inst, memref, box, padding, values);
}

template <typename T>
LogicalResult sim::writeNow(Frame &frame, const Instruction &inst,
                            const MemRef &memref, const Box &box,
                            const T *values) {
  AccessMode mode{/*writes=*/true};
  if (failed(
          frame.getState().getAccesses().check(frame, inst, memref, box, mode)))
    return failure();
  return writeBox(frame, inst, memref, box, values);
}

/// Returns an address that is the same in each run of the block.
static const void *getIdentity(const Buffer &buffer) {
  return buffer.alloc ? static_cast<const void *>(buffer.alloc) : buffer.data;
}

template <typename T>
LogicalResult sim::updateNow(Frame &frame, const Instruction &inst,
                             const MemRef &memref, const Box &box,
                             const T *values, bool reads,
                             std::optional<tile::AtomicKind> kind,
                             function_ref<T(T, T)> combine) {
  AccessMode mode{/*writes=*/true, /*isAsyncProxy=*/false, kind};
  Scheduler &scheduler = frame.getState().scheduler;
  if (scheduler.isStepwise() && failed(scheduler.yield(frame.getAgent())))
    return failure();
  if (failed(checkWritable(frame, inst, memref)) ||
      failed(
          frame.getState().getAccesses().check(frame, inst, memref, box, mode)))
    return failure();
  int64_t length = box.sizes.empty() ? 1 : box.sizes.back();
  int64_t stride = getRowStride(memref);
  Touch touch{TouchKind::Memory,
              reinterpret_cast<uint64_t>(getIdentity(*memref.buffer))};
  touch.isObserved =
      kind == tile::AtomicKind::Exchange || !inst.op->use_empty();
  return forEachRow(memref, box, [&](const Row &row) {
    touch.first =
        std::min(row.first, row.first + (row.high - row.low) * stride);
    touch.last = std::max(row.first, row.first + (row.high - row.low) * stride);
    scheduler.touch(touch);
    // One by one: with a stride of zero an element is updated repeatedly.
    for (int64_t i = row.low; i < row.high; ++i) {
      int64_t element = row.first + (i - row.low) * stride;
      T old = 0;
      if (reads && memref.read(element, stride, 1, &old) == 0)
        return failUnwritten(frame, inst, row.coords, i - row.low);
      T combined = combine(old, values[i]);
      normalize(memref.type, &combined, 1);
      // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): bits decide.
      bool isNew = !reads || std::memcmp(&combined, &old, sizeof(T)) != 0;
      if (ConcurrentBlocks *blocks = frame.getLaunch().concurrent;
          blocks && isNew)
        blocks->noteChange();
      memref.write(element, stride, 1, &combined);
    }
    values += length;
    return success();
  });
}

LogicalResult sim::checkBounds(Frame &frame, const Instruction &inst,
                               const MemRef &memref, ArrayRef<int64_t> coords) {
  for (auto [dim, coord, extent] : llvm::enumerate(coords, memref.shape))
    if (coord < 0 || coord >= extent)
      return frame.fail(inst, "index " + Twine(coord) +
                                  " is out of bounds for dimension " +
                                  Twine(dim) + " of extent " + Twine(extent));
  return success();
}

#define INSTANTIATE(T)                                                         \
  template LogicalResult sim::readBox(Frame &, const Instruction &,            \
                                      const MemRef &, const Box &, T, T *);    \
  template LogicalResult sim::writeBox(                                        \
      Frame &, const Instruction &, const MemRef &, const Box &, const T *);   \
  template LogicalResult sim::readNow(Frame &, const Instruction &,            \
                                      const MemRef &, const Box &, T, T *,     \
                                      bool);                                   \
  template LogicalResult sim::writeNow(                                        \
      Frame &, const Instruction &, const MemRef &, const Box &, const T *);   \
  template LogicalResult sim::updateNow(                                       \
      Frame &, const Instruction &, const MemRef &, const Box &, const T *,    \
      bool, std::optional<tile::AtomicKind>, function_ref<T(T, T)>);
INSTANTIATE(int64_t)
INSTANTIATE(double)
