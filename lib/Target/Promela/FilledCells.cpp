//===- FilledCells.cpp - Elements of a version that are written -----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Asynchronous copies of one process may fill a version together if they write
// different bytes. Threads may store to it one after the other if each stores
// the same elements again, or others. Where offsets are computed, the model
// computes them, too.
// The version is cut into cells of equal extents, so that each copy fills whole
// cells for all values of its offsets:
//
//   tile.copy %A[%i] [4] to %a[%row] [4]    %row = 0, 4, 8, 12 of 16
//
// has four cells. A set of cells is a number, `1 << row / 4`. The divisor of an
// offset follows from its operations: that of `%x * 8 + 4` is 4. Versions with
// more cells than bits of a number are taken to be filled in different bytes.
//
//===----------------------------------------------------------------------===//

#include "AccessText.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;
using namespace tilews;
using namespace tilews::promela;
using namespace tilews::tile;

/// Numbers of a model have 32 bits, one of them for the sign.
static constexpr int64_t kMostCells = 31;
/// How many operations of an offset are looked at.
static constexpr unsigned kMostSteps = 16;

/// Returns a number that divides `value`, which is 0 if `value` is 0. Unlike
/// `tile::Divisibility`, it does not assume that sums and products fit:
/// integers of a model wrap around as those of the kernel do.
static int64_t getDivisor(Value value, unsigned steps = kMostSteps) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number.getSignificantBits() <= 32 ? std::abs(number.getSExtValue())
                                             : 1;
  if (steps == 0)
    return 1;
  auto ofOperand = [&](Operation *op, unsigned i) {
    return getDivisor(op->getOperand(i), steps - 1);
  };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || loop.getInductionVar() != value)
      return 1;
    return std::gcd(getDivisor(loop.getLowerBound(), steps - 1),
                    getDivisor(loop.getStep(), steps - 1));
  }
  Operation *op = value.getDefiningOp();
  int64_t divisor = 1;
  if (isa<arith::MulIOp>(op))
    divisor = std::min<int64_t>(ofOperand(op, 0) * ofOperand(op, 1), INT32_MAX);
  else if (isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp>(
               op))
    divisor = std::gcd(ofOperand(op, 0), ofOperand(op, 1));
  else if (isa<arith::SelectOp>(op))
    divisor = std::gcd(ofOperand(op, 1), ofOperand(op, 2));
  else if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    divisor = ofOperand(op, 0);
  else if (APInt count;
           isa<arith::ShLIOp>(op) &&
           matchPattern(op->getOperand(1), m_ConstantInt(&count)) &&
           count.ult(16))
    divisor = ofOperand(op, 0) << count.getZExtValue();
  // A result that wraps around keeps the powers of two.
  if (auto type = dyn_cast<IntegerType>(value.getType());
      type && type.getWidth() < 32)
    divisor = std::gcd(divisor, int64_t(1) << type.getWidth());
  return std::min<int64_t>(divisor, INT32_MAX);
}

static bool isFill(Operation *op) {
  return hasInst(op, InstKind::Tma) || hasInst(op, InstKind::CpAsync);
}

/// Returns the offsets of an access to a part of a tile.view, or through a
/// tile.subview; nullopt for others. Which elements of the buffer these are is
/// not computed.
static std::optional<SmallVector<OpFoldResult>>
getOffsetsInView(const SharedAccess &access) {
  Value memory = access.operand->get();
  bool isPart = access.region && memory.getDefiningOp<ViewOp>() &&
                access.region->sizes !=
                    ArrayRef(cast<MemRefType>(memory.getType()).getShape());
  SmallVector<OpFoldResult> offsets;
  if (access.region)
    offsets = access.region->offsets;
  while (auto view = memory.getDefiningOp<ViewLikeOpInterface>()) {
    if (auto part = dyn_cast<SubviewOp>(view.getOperation())) {
      isPart = true;
      llvm::append_range(offsets, part.getOffsets());
    }
    memory = view.getViewSource();
  }
  return isPart ? std::optional(offsets) : std::nullopt;
}

/// Cuts the versions of a buffer into cells, if writes to one version may be to
/// different elements, and if their regions are known. Fails, with an error, if
/// a write to a part of a view may be to other elements than another write, or
/// than its own write in another iteration.
LogicalResult KernelReader::setCells(ModelBuffer &buffer) {
  SmallVector<int64_t> units = buffer.shape;
  bool isNeeded = false, isKnown = true, isStored = false, isMoving = false;
  unsigned numWrites = 0;
  Operation *toPartOfView = nullptr;
  SmallVector<Type> stored;
  std::optional<TileRegion> first;
  kernel.walk([&](Operation *op) {
    for (const SharedAccess &access : getSharedAccesses(op)) {
      if (!access.writes() || access.atomic ||
          findBuffer(access.operand->get()) != &buffer)
        continue;
      ++numWrites;
      if (auto offsets = getOffsetsInView(access)) {
        toPartOfView = op;
        isMoving |= !getConstantIntValues(*offsets);
      }
      isStored |= !isFill(op);
      if (!access.region && !isFill(op)) {
        isNeeded = true;
        continue;
      }
      if (!isRegionOfVersion(access, buffer) ||
          access.region->sizes.size() != buffer.shape.size()) {
        isKnown = false;
        continue;
      }
      if (auto store = dyn_cast<StoreOp>(op))
        stored.push_back(store.getValue().getType());
      isNeeded |= !isFill(op) && first &&
                  (first->sizes != access.region->sizes ||
                   first->offsets != access.region->offsets);
      if (!isFill(op))
        first = access.region;
      for (auto [size, offset, unit] : llvm::zip_equal(
               access.region->sizes, access.region->offsets, units)) {
        std::optional<int64_t> constant = getConstantIntValue(offset);
        isNeeded |= !constant;
        unit = std::gcd(std::gcd(unit, size),
                        constant ? *constant : getDivisor(cast<Value>(offset)));
      }
    }
  });
  if (toPartOfView && (isMoving || numWrites > 1))
    return toPartOfView->emitError("is not exported to Promela: it writes a "
                                   "part of a view, and the model does "
                                   "not compute which elements of the buffer "
                                   "these are");
  int64_t cells = 1;
  for (auto [extent, unit] : llvm::zip_equal(buffer.shape, units))
    cells =
        std::min(cells * (extent / std::max<int64_t>(unit, 1)), kMostCells + 1);
  if (!isNeeded || !isKnown || cells > kMostCells)
    return success();
  buffer.cells = units;
  if (llvm::all_equal(stored) && !stored.empty())
    buffer.stored = stored.front();
  withStoredCells |= isStored;
  return success();
}

/// All cells of a version.
static int64_t getAllCells(const ModelBuffer &buffer) {
  int64_t cells = 1;
  for (auto [extent, unit] : llvm::zip_equal(buffer.shape, buffer.cells))
    cells *= extent / unit;
  return (int64_t(1) << cells) - 1;
}

void AccessText::checkStore(Operation *op, const ModelAccess &access,
                            StringRef place, ThreadText &thread) const {
  const ModelBuffer &buffer = *access.buffer;
  if (buffer.cells.empty())
    return;
  ModelText &out = thread.getOut();
  // Scattered elements may be stored by any thread.
  if (access.offsets.empty()) {
    std::string all = std::to_string(getAllCells(buffer));
    out.step(("check(is_storable(" + place + ", " + all + ", 0))").str());
    out.step(("store_cells(" + place + ", " + all + ", 0)").str());
    return;
  }
  if (!buffer.stored)
    return;
  // The least bit of a set is its first cell.
  std::string cells = getCells(access, thread),
              first = "(" + cells + " & -" + cells + ")";
  out.step(("check(is_storable(" + place + ", " + cells + ", " + first + "))")
               .str());
  out.step(("store_cells(" + place + ", " + cells + ", " + first + ")").str());
}

std::string AccessText::getCells(const ModelAccess &access,
                                 ThreadText &thread) const {
  const ModelBuffer &buffer = *access.buffer;
  if (access.offsets.empty())
    return access.isMoving ? "0" : "1";
  // The numbers of cells: a constant part, and a part for each offset.
  SmallVector<int64_t> constants = {0};
  std::string moved, isInside;
  int64_t stride = 1;
  for (int64_t dim = buffer.shape.size() - 1; dim >= 0; --dim) {
    int64_t unit = buffer.cells[dim], extent = buffer.shape[dim];
    int64_t size = access.sizes[dim];
    std::optional<int64_t> begin = getConstantIntValue(access.offsets[dim]);
    if (!begin) {
      std::string offset = thread.get(cast<Value>(access.offsets[dim]));
      moved += " + " + offset + " / " + std::to_string(unit) +
               (stride == 1 ? "" : " * " + std::to_string(stride));
      isInside += (isInside.empty() ? "" : " && ") + offset + " >= 0 && " +
                  offset + " <= " + std::to_string(extent - size);
    } else if (*begin < 0 || *begin + size > extent) {
      return "0";
    }
    SmallVector<int64_t> next;
    for (int64_t number : constants)
      for (int64_t i = 0; i < size / unit; ++i)
        next.push_back(number + (begin.value_or(0) / unit + i) * stride);
    constants = std::move(next);
    stride *= extent / unit;
  }
  int64_t set = 0;
  for (int64_t number : constants)
    set |= int64_t(1) << number;
  if (isInside.empty())
    return std::to_string(set);
  thread.getOut().step("cells_ = (" + isInside + " -> " + std::to_string(set) +
                       " << (" + StringRef(moved).drop_front(3) + ") : 0)");
  return "cells_";
}
