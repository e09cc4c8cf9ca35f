//===- ShapeOps.cpp - Reductions, scans and changes of shape --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reductions, scans and changes of shape of fragments. A reduction walks the
// lines of elements along its axis; sums keep double precision and are rounded
// once. Broadcasts, transposes and slices are one loop: the element of the
// result at coordinate c is the source's at the inner product of c with one
// stride a dimension, which is 0 where the source is repeated:
//
//   broadcast 1 x 8 -> 4 x 8: strides (0, 1)
//   transpose 4 x 8 -> 8 x 4: strides (1, 8)
//
//===----------------------------------------------------------------------===//

#include "Simulator/Numbers.h"
#include "Simulator/Program.h"

#include "tilews/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;
using tile::ReductionKind;

//===----------------------------------------------------------------------===//
// Reductions and scans
//===----------------------------------------------------------------------===//

/// Combines two elements. Sums stay in double precision; the caller rounds the
/// total to the element type.
static double combine(ReductionKind kind, double a, double b) {
  switch (kind) {
  case ReductionKind::Sum:
    return add(a, b);
  case ReductionKind::Max:
  case ReductionKind::AbsMax:
    return maxNumber(a, b);
  default: // Min and absmin; the verifier rejects the others for these
           // elements.
    return minNumber(a, b);
  }
}

static int64_t combine(ReductionKind kind, int64_t a, int64_t b) {
  switch (kind) {
  case ReductionKind::Sum:
    return add(a, b);
  case ReductionKind::Max:
  case ReductionKind::AbsMax:
    return maxNumber(a, b);
  case ReductionKind::Min:
  case ReductionKind::AbsMin:
    return minNumber(a, b);
  case ReductionKind::And:
  case ReductionKind::All:
    return a & b;
  case ReductionKind::Or:
  case ReductionKind::Any:
    return a | b;
  case ReductionKind::Xor:
    return a ^ b;
  case ReductionKind::UMax:
    return maxUnsigned(a, b);
  case ReductionKind::UMin:
    return minUnsigned(a, b);
  }
  llvm_unreachable("covered switch");
}

namespace {
/// The lines of elements along one axis of a fragment: `count` lines of
/// `length` elements that are `stride` apart. Shape 4 x 8 and axis 0: 8 lines
/// of 4 elements, 8 apart.
struct Lines {
  int64_t count, length, stride;

  Lines(ArrayRef<int64_t> shape, int64_t axis)
      : count(countElements(shape.take_front(axis)) *
              countElements(shape.drop_front(axis + 1))),
        length(shape[axis]), stride(countElements(shape.drop_front(axis + 1))) {
  }
  int64_t getStart(int64_t line) const {
    return line / stride * stride * length + line % stride;
  }
};
} // namespace

template <typename T>
static LogicalResult reduce(Frame &frame, const Instruction &inst) {
  auto op = cast<tile::ReduceOp>(inst.op);
  ReductionKind kind = op.getKind();
  bool absolute =
      kind == ReductionKind::AbsMax || kind == ReductionKind::AbsMin;
  const Datum &source = frame.get(inst, 0);
  Lines lines(source.fragment->shape, op.getAxis());
  if (lines.length == 0)
    return frame.fail(inst, "has no elements to combine");
  const ValueType &type = inst.resultTypes[0];
  Datum result = makeDatum(type);
  for (int64_t line = 0; line < lines.count; ++line) {
    const T *elements = source.elements<T>() + lines.getStart(line);
    auto getElement = [&](int64_t i) {
      T element = elements[i * lines.stride];
      if (!absolute)
        return element;
      element = getAbsolute(element);
      normalize(type.element, &element, 1);
      return element;
    };
    T total = getElement(0);
    for (int64_t i = 1; i < lines.length; ++i)
      total = combine(kind, total, getElement(i));
    result.elements<T>()[line] = total;
  }
  normalize(type.element, result.elements<T>(), lines.count);
  frame.set(inst, 0, std::move(result));
  return success();
}

template <typename T>
static LogicalResult scan(Frame &frame, const Instruction &inst) {
  auto op = cast<tile::ScanOp>(inst.op);
  const Datum &source = frame.get(inst, 0);
  Lines lines(source.fragment->shape, op.getAxis());
  const ValueType &type = inst.resultTypes[0];
  Datum result = makeDatum(type);
  for (int64_t line = 0; line < lines.count; ++line) {
    T total = 0;
    for (int64_t i = 0; i < lines.length; ++i) {
      int64_t place = op.getReverse() ? lines.length - 1 - i : i;
      int64_t element = lines.getStart(line) + place * lines.stride;
      T value = source.elements<T>()[element];
      total = i == 0 ? value : combine(op.getKind(), total, value);
      result.elements<T>()[element] = total;
    }
  }
  normalize(type.element, result.elements<T>(), type.countElements());
  frame.set(inst, 0, std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Changes of shape
//===----------------------------------------------------------------------===//

/// Sets the result to the fragment whose element at coordinate `c` is the
/// source's element number `first` plus the inner product of `c` and `strides`.
template <typename T>
static LogicalResult gather(Frame &frame, const Instruction &inst,
                            ArrayRef<int64_t> strides, int64_t first = 0) {
  const T *source = frame.get(inst, 0).elements<T>();
  Datum result = makeDatum(inst.resultTypes[0]);
  T *next = result.elements<T>();
  forEachCoordinate(inst.resultTypes[0].shape, [&](ArrayRef<int64_t> coords) {
    int64_t element = first;
    for (auto [coord, stride] : llvm::zip_equal(coords, strides))
      element += coord * stride;
    *next++ = source[element];
    return true;
  });
  frame.set(inst, 0, std::move(result));
  return success();
}

template <typename T>
static LogicalResult broadcast(Frame &frame, const Instruction &inst) {
  ArrayRef<int64_t> shape = frame.get(inst, 0).fragment->shape;
  SmallVector<int64_t> strides = getRowMajorStrides(shape);
  for (auto [stride, extent] : llvm::zip_equal(strides, shape))
    stride = extent == 1 ? 0 : stride;
  return gather<T>(frame, inst, strides);
}

template <typename T>
static LogicalResult transpose(Frame &frame, const Instruction &inst) {
  SmallVector<int64_t> strides =
      getRowMajorStrides(frame.get(inst, 0).fragment->shape);
  return gather<T>(
      frame, inst,
      llvm::map_to_vector(cast<tile::TransposeOp>(inst.op).getPermutation(),
                          [&](int64_t dim) { return strides[dim]; }));
}

template <typename T>
static LogicalResult flip(Frame &frame, const Instruction &inst) {
  ArrayRef<int64_t> shape = inst.resultTypes[0].shape;
  SmallVector<int64_t> strides = getRowMajorStrides(shape);
  int64_t first = 0;
  for (int64_t axis : cast<tile::FlipOp>(inst.op).getAxes()) {
    first += (shape[axis] - 1) * strides[axis];
    strides[axis] = -strides[axis];
  }
  return gather<T>(frame, inst, strides, first);
}

template <typename T>
static LogicalResult slice(Frame &frame, const Instruction &inst) {
  auto op = cast<tile::SliceOp>(inst.op);
  const Fragment &source = *frame.get(inst, 0).fragment;
  SmallVector<int64_t> strides = getRowMajorStrides(source.shape);
  int64_t first = op.getIndex() * inst.resultTypes[0].shape[op.getAxis()] *
                  strides[op.getAxis()];
  return gather<T>(frame, inst, strides, first);
}

/// Keeps the elements in their order and gives them the result's shape.
static LogicalResult reshape(Frame &frame, const Instruction &inst) {
  Datum result;
  result.fragment = std::make_shared<Fragment>(*frame.get(inst, 0).fragment);
  result.fragment->shape = inst.resultTypes[0].shape;
  frame.set(inst, 0, std::move(result));
  return success();
}

static LogicalResult makeIota(Frame &frame, const Instruction &inst) {
  const ValueType &type = inst.resultTypes[0];
  int64_t axis = cast<tile::IotaOp>(inst.op).getAxis();
  Datum result = makeDatum(type);
  int64_t *next = result.elements<int64_t>();
  forEachCoordinate(type.shape, [&](ArrayRef<int64_t> coords) {
    *next++ = coords[axis];
    return true;
  });
  normalize(type.element, result.elements<int64_t>(), type.countElements());
  frame.set(inst, 0, std::move(result));
  return success();
}

void sim::registerTileShapeHandlers(Registry &registry) {
  addByElement<tile::ReduceOp>(
      registry, [](Frame &frame, const Instruction &inst, auto element) {
        return reduce<decltype(element)>(frame, inst);
      });
  addByElement<tile::ScanOp>(
      registry, [](Frame &frame, const Instruction &inst, auto element) {
        return scan<decltype(element)>(frame, inst);
      });
  addByElement<tile::BroadcastOp>(
      registry, [](Frame &frame, const Instruction &inst, auto element) {
        return broadcast<decltype(element)>(frame, inst);
      });
  addByElement<tile::SliceOp>(
      registry, [](Frame &frame, const Instruction &inst, auto element) {
        return slice<decltype(element)>(frame, inst);
      });
  addByElement<tile::TransposeOp>(
      registry, [](Frame &frame, const Instruction &inst, auto element) {
        return transpose<decltype(element)>(frame, inst);
      });
  addByElement<tile::FlipOp>(
      registry, [](Frame &frame, const Instruction &inst, auto element) {
        return flip<decltype(element)>(frame, inst);
      });
  registry.add<tile::ExpandDimsOp>(reshape);
  registry.add<tile::ReshapeOp>(reshape);
  registry.add<tile::ConvertLayoutOp>(reshape);
  registry.add<tile::IotaOp>(makeIota);
}
