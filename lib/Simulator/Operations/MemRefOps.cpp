//===- MemRefOps.cpp - Scalar memory accesses and tensors -----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scalar accesses, atomic updates, views, and tensors that are made of scalars.
// An access of one element is a region of one element, so it takes the same
// path as tiles: bounds, "never written", and the order of accesses are checked
// in one place.
//
// A view shares the buffer and has its own offset, shape and strides:
// `memref.subview %m[2, 0][4, 8][1, 1]` of a 16 x 8 memref has offset 16 and
// strides (8, 1).
//
//===----------------------------------------------------------------------===//

#include "Simulator/Access.h"
#include "Simulator/Numbers.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

//===----------------------------------------------------------------------===//
// Accesses of one element
//===----------------------------------------------------------------------===//

/// Returns the region of the one element whose indices are the operands from
/// `first` on. Fails if it is out of bounds.
static FailureOr<Box> getElement(Frame &frame, const Instruction &inst,
                                 const MemRef &memref, unsigned first) {
  size_t rank = memref.shape.size();
  Box box{frame.getIntegers(inst, first, rank), SmallVector<int64_t>(rank, 1)};
  if (failed(checkBounds(frame, inst, memref, box.offsets)))
    return failure();
  return box;
}

template <typename T>
static LogicalResult load(Frame &frame, const Instruction &inst) {
  const MemRef &memref = frame.getMemRef(inst, 0);
  FailureOr<Box> box = getElement(frame, inst, memref, 1);
  Datum datum;
  if (failed(box) ||
      failed(readNow(frame, inst, memref, *box, T(0), datum.elements<T>())))
    return failure();
  frame.set(inst, 0, std::move(datum));
  return success();
}

template <typename T>
static LogicalResult store(Frame &frame, const Instruction &inst) {
  const MemRef &memref = frame.getMemRef(inst, 1);
  FailureOr<Box> box = getElement(frame, inst, memref, 2);
  if (failed(box))
    return failure();
  return writeNow(frame, inst, memref, *box, frame.get(inst, 0).elements<T>());
}

//===----------------------------------------------------------------------===//
// Atomic updates of one element
//===----------------------------------------------------------------------===//

static double combine(arith::AtomicRMWKind kind, double a, double b) {
  using K = arith::AtomicRMWKind;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (kind) {
  case K::addf:
    return a + b;
  case K::mulf:
    return a * b;
  case K::maximumf:
    return unordered ? a + b : maxNumber(a, b);
  case K::minimumf:
    return unordered ? a + b : minNumber(a, b);
  case K::maxnumf:
    return maxNumber(a, b);
  case K::minnumf:
    return minNumber(a, b);
  default: // Assign; the verifier rejects the others for these elements.
    return b;
  }
}

static int64_t combine(arith::AtomicRMWKind kind, int64_t a, int64_t b) {
  using K = arith::AtomicRMWKind;
  switch (kind) {
  case K::addi:
    return add(a, b);
  case K::muli:
    return uint64_t(a) * uint64_t(b);
  case K::maxs:
    return std::max(a, b);
  case K::mins:
    return std::min(a, b);
  case K::maxu:
    return maxUnsigned(a, b);
  case K::minu:
    return minUnsigned(a, b);
  case K::andi:
    return a & b;
  case K::ori:
    return a | b;
  case K::xori:
    return a ^ b;
  default: // Assign; the verifier rejects the others for these elements.
    return b;
  }
}

/// Returns the kind that decides which updates commute. Kinds that are not
/// listed commute with none.
static tile::AtomicKind getKind(arith::AtomicRMWKind kind) {
  using K = arith::AtomicRMWKind;
  switch (kind) {
  case K::addf:
  case K::addi:
    return tile::AtomicKind::Add;
  case K::maxs:
    return tile::AtomicKind::Max;
  case K::mins:
    return tile::AtomicKind::Min;
  case K::maxu:
    return tile::AtomicKind::UMax;
  case K::minu:
    return tile::AtomicKind::UMin;
  case K::andi:
    return tile::AtomicKind::And;
  case K::ori:
    return tile::AtomicKind::Or;
  case K::xori:
    return tile::AtomicKind::Xor;
  default:
    return tile::AtomicKind::Exchange;
  }
}

template <typename T>
static LogicalResult updateElement(Frame &frame, const Instruction &inst) {
  arith::AtomicRMWKind kind = cast<memref::AtomicRMWOp>(inst.op).getKind();
  const MemRef &memref = frame.getMemRef(inst, 1);
  FailureOr<Box> box = getElement(frame, inst, memref, 2);
  if (failed(box))
    return failure();
  Datum old;
  auto update = [&](T a, T b) {
    *old.elements<T>() = a;
    return combine(kind, a, b);
  };
  if (failed(updateNow<T>(frame, inst, memref, *box,
                          frame.get(inst, 0).elements<T>(), /*reads=*/true,
                          getKind(kind), update)))
    return failure();
  frame.set(inst, 0, std::move(old));
  return success();
}

static void registerAccesses(Registry &registry) {
  addByElement<memref::LoadOp>(
      registry, [](Frame &frame, const Instruction &inst, auto element) {
        return load<decltype(element)>(frame, inst);
      });
  registry.add<memref::StoreOp>([](Frame &frame, const Instruction &inst) {
    return frame.getMemRef(inst, 1).type.isFloat ? store<double>(frame, inst)
                                                 : store<int64_t>(frame, inst);
  });
  addByElement<memref::AtomicRMWOp>(
      registry, [](Frame &frame, const Instruction &inst, auto element) {
        return updateElement<decltype(element)>(frame, inst);
      });
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

static LogicalResult getDim(Frame &frame, const Instruction &inst) {
  const MemRef &memref = frame.getMemRef(inst, 0);
  int64_t dim = frame.getInteger(inst, 1), rank = memref.shape.size();
  if (dim < 0 || dim >= rank)
    return frame.fail(inst, "asks for dimension " + Twine(dim) +
                                " of a memref of rank " + Twine(rank));
  frame.setInteger(inst, memref.shape[dim]);
  return success();
}

static LogicalResult makeSubview(Frame &frame, const Instruction &inst) {
  auto op = cast<memref::SubViewOp>(inst.op);
  const MemRef &source = frame.getMemRef(inst, 0);
  unsigned operand = 1;
  auto offsets = fillDynamic(frame, inst, op.getStaticOffsets(), operand);
  auto sizes = fillDynamic(frame, inst, op.getStaticSizes(), operand);
  auto strides = fillDynamic(frame, inst, op.getStaticStrides(), operand);
  auto result = std::make_shared<MemRef>(source);
  result->offset = source.getElementOffset(offsets);
  result->shape.clear();
  result->strides.clear();
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    int64_t extent = source.shape[dim], last;
    bool overflows =
        llvm::MulOverflow(std::max<int64_t>(size, 1) - 1, strides[dim], last) ||
        llvm::AddOverflow(last, offsets[dim], last);
    auto isInside = [&](int64_t i) { return i >= 0 && i < extent; };
    if (overflows || size < 0 ||
        (size > 0 && !(isInside(offsets[dim]) && isInside(last))))
      return frame.fail(inst, "takes " + Twine(size) + " elements from " +
                                  Twine(offsets[dim]) + " on, " +
                                  Twine(strides[dim]) +
                                  " apart, of dimension " + Twine(dim) +
                                  ", whose extent is " + Twine(extent));
    if (dropped.test(dim))
      continue;
    result->shape.push_back(size);
    result->strides.push_back(source.strides[dim] * strides[dim]);
  }
  Datum datum;
  datum.memref = std::move(result);
  frame.set(inst, 0, std::move(datum));
  return success();
}

/// The dimensions of a group lie one after the other: the last one has the
/// stride of all.
static LogicalResult collapseShape(Frame &frame, const Instruction &inst) {
  auto op = cast<memref::CollapseShapeOp>(inst.op);
  const MemRef &source = frame.getMemRef(inst, 0);
  auto result = std::make_shared<MemRef>(source);
  result->shape.clear();
  result->strides.clear();
  for (const ReassociationIndices &group : op.getReassociationIndices()) {
    int64_t extent = 1;
    for (int64_t dim : group)
      extent *= source.shape[dim];
    result->shape.push_back(extent);
    result->strides.push_back(source.strides[group.back()]);
  }
  Datum datum;
  datum.memref = std::move(result);
  frame.set(inst, 0, std::move(datum));
  return success();
}

static LogicalResult castMemRef(Frame &frame, const Instruction &inst) {
  const MemRef &memref = frame.getMemRef(inst, 0);
  auto type = dyn_cast<MemRefType>(inst.op->getResult(0).getType());
  bool fits = type && type.getRank() == int64_t(memref.shape.size());
  for (int64_t dim = 0; fits && dim < type.getRank(); ++dim)
    fits = type.isDynamicDim(dim) || type.getDimSize(dim) == memref.shape[dim];
  if (!fits)
    return frame.fail(inst, "casts a buffer of shape " +
                                toString(memref.shape) +
                                " to a type that it does not have");
  frame.set(inst, 0, frame.get(inst, 0));
  return success();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

template <typename T>
static LogicalResult splat(Frame &frame, const Instruction &inst) {
  Datum datum = makeDatum(inst.resultTypes[0]);
  std::fill_n(datum.elements<T>(), inst.resultTypes[0].countElements(),
              *frame.get(inst, 0).elements<T>());
  frame.set(inst, 0, std::move(datum));
  return success();
}

template <typename T>
static LogicalResult gatherElements(Frame &frame, const Instruction &inst) {
  Datum datum = makeDatum(inst.resultTypes[0]);
  for (unsigned i = 0; i < inst.operands.size(); ++i)
    datum.elements<T>()[i] = *frame.get(inst, i).elements<T>();
  frame.set(inst, 0, std::move(datum));
  return success();
}

template <typename T>
static LogicalResult extract(Frame &frame, const Instruction &inst) {
  const Datum &source = frame.get(inst, 0);
  ArrayRef<int64_t> shape = source.fragment->shape;
  SmallVector<int64_t> coords = frame.getIntegers(inst, 1, shape.size());
  int64_t element = 0;
  for (auto [dim, coord] : llvm::enumerate(coords)) {
    if (coord < 0 || coord >= shape[dim])
      return frame.fail(inst, "index " + toString(coords) +
                                  " is out of bounds for shape " +
                                  toString(shape));
    element = element * shape[dim] + coord;
  }
  Datum datum;
  *datum.elements<T>() = source.elements<T>()[element];
  frame.set(inst, 0, std::move(datum));
  return success();
}

void sim::registerMemRefHandlers(Registry &registry) {
  registerAccesses(registry);
  registry.add<memref::DimOp>(getDim);
  registry.add<memref::SubViewOp>(makeSubview);
  registry.add<memref::CollapseShapeOp>(collapseShape);
  registry.add<memref::CastOp>(castMemRef);
  addByElement<tensor::SplatOp>(
      registry, [](Frame &frame, const Instruction &inst, auto element) {
        return splat<decltype(element)>(frame, inst);
      });
  addByElement<tensor::FromElementsOp>(
      registry, [](Frame &frame, const Instruction &inst, auto element) {
        return gatherElements<decltype(element)>(frame, inst);
      });
  addByElement<tensor::ExtractOp>(
      registry, [](Frame &frame, const Instruction &inst, auto element) {
        return extract<decltype(element)>(frame, inst);
      });
}
