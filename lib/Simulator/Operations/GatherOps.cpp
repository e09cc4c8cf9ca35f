//===- GatherOps.cpp - Gathers and scatters -------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A gather or a scatter is a list of runs, each of which is a box of the buffer
// with one row. A run is as long as the last dimension of the fragment if that
// is the last one of the buffer and has one index for all of its elements;
// otherwise each element is a run. A false mask cuts a run in two:
//
//   row 7, columns 0 to 7, mask 1 1 1 0 0 1 1 1: boxes (7, 0) 1x3, (7, 5) 1x3
//
//===----------------------------------------------------------------------===//

#include "Simulator/IndexedAccess.h"

#include "tilews/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

namespace {
/// The elements of a fragment with the extent 1 along some dimensions.
struct Broadcast {
  const int64_t *elements;
  SmallVector<int64_t> shape;

  int64_t get(ArrayRef<int64_t> coords) const {
    int64_t number = 0;
    for (auto [coord, extent] : llvm::zip_equal(coords, shape))
      number = number * extent + (extent == 1 ? 0 : coord);
    return elements[number];
  }
  bool isConstantAlong(size_t dim) const { return shape[dim] == 1; }
};

/// The places of an instruction's elements.
class ElementPlaces {
public:
  ElementPlaces(const Frame &frame, const Instruction &inst);

  LogicalResult
  forEachRun(function_ref<LogicalResult(const Box &, int64_t)> fn) const;

private:
  Box getBox(ArrayRef<int64_t> coords, int64_t count) const;

  SmallVector<int64_t> shape;
  Box region;
  /// The dimension of the fragment for each of the buffer; -1 if the size is 1
  /// or the dimension is indexed.
  SmallVector<int64_t> fragmentDims;
  SmallVector<std::pair<int64_t, Broadcast>> indices;
  std::optional<Broadcast> mask;
  /// The elements along the last dimension that can be one run.
  int64_t length = 1;
};
} // namespace

ElementPlaces::ElementPlaces(const Frame &frame, const Instruction &inst) {
  auto op = cast<tile::IndexedOpInterface>(inst.op);
  auto getShape = [](Value value) {
    return SmallVector<int64_t>(
        cast<RankedTensorType>(value.getType()).getShape());
  };
  shape = getShape(op.getAccessed());
  region = sim::getBox(frame, inst, op.getRegion(),
                       op.getBufferOperand().getOperandNumber() + 1);
  unsigned operand = op.getFirstIndex();
  auto read = [&](Value value) {
    return Broadcast{frame.get(inst, operand++).elements<int64_t>(),
                     getShape(value)};
  };
  for (auto [dim, index] : llvm::zip_equal(op.getIndexDims(), op.getIndices()))
    indices.emplace_back(dim, read(index));
  if (op.getMask())
    mask = read(op.getMask());

  // The region's sizes other than 1 are the last ones of the fragment.
  fragmentDims.assign(region.sizes.size(), -1);
  int64_t dim = shape.size();
  for (size_t d = region.sizes.size(); d-- > 0;) {
    if (region.sizes[d] == 1)
      continue;
    do
      --dim;
    while (shape[dim] == 1);
    fragmentDims[d] = dim;
  }
  for (auto &[d, index] : indices)
    fragmentDims[d] = -1;
  int64_t last = int64_t(shape.size()) - 1;
  bool isRow = last >= 0 && !fragmentDims.empty() &&
               fragmentDims.back() == last &&
               llvm::all_of(indices, [&](const auto &index) {
                 return index.second.isConstantAlong(last);
               });
  if (isRow)
    length = shape.back();
}

Box ElementPlaces::getBox(ArrayRef<int64_t> coords, int64_t count) const {
  Box box = region;
  // Any number may be an index, so sums are formed without signed overflow.
  auto add = [&](int64_t dim, int64_t step) {
    box.offsets[dim] = int64_t(uint64_t(box.offsets[dim]) + uint64_t(step));
  };
  for (auto [d, dim] : llvm::enumerate(fragmentDims))
    if (dim >= 0)
      add(d, coords[dim]);
  for (const auto &[d, index] : indices)
    add(d, index.get(coords));
  box.sizes.assign(box.sizes.size(), 1);
  if (count > 1)
    box.sizes.back() = count;
  return box;
}

LogicalResult ElementPlaces::forEachRun(
    function_ref<LogicalResult(const Box &, int64_t)> fn) const {
  SmallVector<int64_t> outer = shape;
  if (length > 1)
    outer.back() = 1;
  int64_t first = 0;
  bool ok = forEachCoordinate(outer, [&](ArrayRef<int64_t> start) {
    SmallVector<int64_t> coords(start);
    for (int64_t begin = 0; begin < length;) {
      int64_t end = begin;
      while (end < length) {
        if (length > 1)
          coords.back() = end;
        if (mask && mask->get(coords) == 0)
          break;
        ++end;
      }
      if (end == begin) {
        ++begin;
        continue;
      }
      if (length > 1)
        coords.back() = begin;
      if (failed(fn(getBox(coords, end - begin), first + begin)))
        return false;
      begin = end;
    }
    first += length;
    return true;
  });
  return success(ok);
}

LogicalResult
sim::forEachIndexedRun(const Frame &frame, const Instruction &inst,
                       function_ref<LogicalResult(const Box &, int64_t)> fn) {
  return ElementPlaces(frame, inst).forEachRun(fn);
}

MemRef sim::getIndexedMemRef(const Frame &frame, const Instruction &inst) {
  auto op = cast<tile::IndexedOpInterface>(inst.op);
  unsigned buffer = op.getBufferOperand().getOperandNumber();
  const MemRef &memref = frame.getMemRef(inst, buffer);
  if (!op.getLimit())
    return memref;
  unsigned limit =
      op.getFirstIndex() + op.getIndices().size() + (op.getMask() ? 1 : 0);
  Box box = sim::getBox(frame, inst, op.getRegion(), buffer + 1);
  return getLimited(memref, box, *op.getLimitDim(),
                    frame.getInteger(inst, limit));
}

//===----------------------------------------------------------------------===//
// Handlers
//===----------------------------------------------------------------------===//

template <typename T>
static LogicalResult gather(Frame &frame, const Instruction &inst) {
  auto op = cast<tile::GatherOp>(inst.op);
  T padding = op.getPadding()
                  ? *frame.get(inst, inst.operands.size() - 1).elements<T>()
                  : fromZero<T>(inst.resultTypes[0].element);
  Datum datum = makeDatum(inst.resultTypes[0]);
  T *values = datum.elements<T>();
  std::fill(values, values + inst.resultTypes[0].countElements(), padding);
  MemRef memref = getIndexedMemRef(frame, inst);
  auto read = [&](const Box &box, int64_t first) {
    return readNow<T>(frame, inst, memref, box, padding, values + first);
  };
  if (failed(forEachIndexedRun(frame, inst, read)))
    return failure();
  frame.set(inst, 0, std::move(datum));
  return success();
}

template <typename T>
static LogicalResult scatter(Frame &frame, const Instruction &inst) {
  const T *values = frame.get(inst, 0).elements<T>();
  MemRef memref = getIndexedMemRef(frame, inst);
  return forEachIndexedRun(frame, inst, [&](const Box &box, int64_t first) {
    return writeNow<T>(frame, inst, memref, box, values + first);
  });
}

void sim::registerGatherHandlers(Registry &registry) {
  addByElement<tile::GatherOp>(
      registry, [](Frame &frame, const Instruction &inst, auto element) {
        return gather<decltype(element)>(frame, inst);
      });
  addByElement<tile::ScatterOp>(
      registry, [](Frame &frame, const Instruction &inst, auto element) {
        return scatter<decltype(element)>(frame, inst);
      });
}
