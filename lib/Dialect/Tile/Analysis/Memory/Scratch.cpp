//===- Scratch.cpp - Shared memory that an operation needs ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements that leave their warp pass through shared memory. A conversion or a
// flip needs what ConversionPlan computes. For a reduction the digits of the
// axis decide: those in register and lane numbers are combined within a warp,
// and only those in the warp's number multiply the size of the result. A scan
// stores one total for each thread and block of adjacent registers. Before
// layouts are chosen, a reduction counts one part for each warp, which is the
// most that a usual layout has. The value of an atomic access passes through it
// if several threads hold the element, of which only one accesses memory.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/Scratch.h"
#include "tilews/Dialect/Tile/Analysis/Layout/ConversionPlan.h"
#include "tilews/Layout/AxisDigits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

static RankedTensorType getTensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

int64_t tile::getScratchElementBytes(Type elementType) {
  if (elementType.isIndex())
    return 8;
  return llvm::divideCeil(getElementBits(elementType), 8);
}

static int64_t getFragmentBytes(RankedTensorType type) {
  return type.getNumElements() * getScratchElementBytes(type.getElementType());
}

/// Returns the elements that all parts of a reduced axis leave together.
static int64_t getReduceElements(ReduceOp op, unsigned warpSize) {
  RankedTensorType source = getTensor(op.getSource());
  SmallVector<int64_t> cover(source.getShape());
  int64_t parts = 1;
  if (!hasFragmentLayout(source)) {
    parts = llvm::divideCeil(getNumThreads(op), warpSize);
  } else {
    FragmentLayout layout = getFragmentLayout(source);
    cover = layout.getCover(source.getRank());
    // The lowering rejects an axis without digits.
    if (auto digits = getAxisDigits(layout, op.getAxis(), warpSize))
      for (const AxisDigit &digit : *digits)
        if (digit.place == AxisDigit::Place::Scratch)
          parts *= digit.extent;
  }
  if (parts == 1)
    return 0;
  cover.erase(cover.begin() + op.getAxis());
  return llvm::product_of(cover, parts);
}

static int64_t getScanBytes(ScanOp op, unsigned warpSize) {
  RankedTensorType source = getTensor(op.getSource());
  if (!hasFragmentLayout(source))
    return getFragmentBytes(source);
  FragmentLayout layout = getFragmentLayout(source);
  auto digits = getAxisDigits(layout, op.getAxis(), warpSize);
  if (!digits)
    return 0;
  int64_t most = 0, blocks = layout.getNumValues();
  for (const AxisDigit &digit : *digits) {
    if (digit.place == AxisDigit::Place::Register)
      blocks /= digit.extent;
    else if (digit.place == AxisDigit::Place::Scratch)
      most = std::max(most, blocks);
  }
  return most * layout.getNumThreads() *
         getScratchElementBytes(source.getElementType());
}

/// Returns the bytes through which the thread that accesses an element passes
/// its value to the other threads that hold the element, if there are any.
static int64_t getOldValueBytes(Value old) {
  RankedTensorType type = getTensor(old);
  if (old.use_empty())
    return 0;
  if (!hasFragmentLayout(type))
    return getFragmentBytes(type);
  FragmentLayout layout = getFragmentLayout(type);
  if (!layout.isShared())
    return 0;
  return llvm::product_of(layout.getCover(type.getRank())) *
         getScratchElementBytes(type.getElementType());
}

PrintTable::PrintTable(ArrayRef<int64_t> shape)
    : columns(shape.empty() ? 1 : shape.back()),
      width(std::min<int64_t>(columns, 8)),
      segments(llvm::divideCeil(columns, width)),
      lines(llvm::product_of(shape) / columns * segments),
      chunk(std::min<int64_t>(lines, 64)) {}

/// Returns the bytes for the largest of the tables that are printed. On AMD's
/// GPUs the threads only have to know where in the host's memory they write.
static int64_t getPrintBytes(PrintOp op, const TargetInfo &target) {
  int64_t bytes = 0;
  for (Value value : op.getShown())
    if (auto fragment = dyn_cast<RankedTensorType>(value.getType()))
      bytes = std::max(bytes, target.isAMD()
                                  ? int64_t(sizeof(uint64_t))
                                  : PrintTable(fragment.getShape()).getBytes());
  return bytes;
}

int64_t tile::getScratchBytes(Operation *op, const TargetInfo &target) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return getReduceElements(reduce, target.warpSize) *
           getScratchElementBytes(getElementType(reduce.getSource()));
  if (auto scan = dyn_cast<ScanOp>(op))
    return getScanBytes(scan, target.warpSize);
  if (auto print = dyn_cast<PrintOp>(op))
    return getPrintBytes(print, target);
  if (isa<AtomicOpInterface>(op) && op->getNumResults() > 0)
    return getOldValueBytes(op->getResult(0));
  if (auto convert = dyn_cast<ConvertLayoutOp>(op))
    return planConversion(convert, target).scratchBytes;
  if (auto flip = dyn_cast<FlipOp>(op)) {
    if (hasFragmentLayout(flip.getType()))
      return planFlip(flip, target).scratchBytes;
    return getFragmentBytes(getTensor(flip.getSource()));
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    if (hasFragmentLayout(reshape.getSource().getType()) &&
        hasFragmentLayout(reshape.getType()))
      return planConversion(reshape, target).scratchBytes;
    return getFragmentBytes(getTensor(reshape.getSource()));
  }
  return 0;
}

int64_t tile::getBarrierBytes(ChannelOp channel) {
  bool joinsRoles = llvm::any_of(channel->getUsers(), [](Operation *user) {
    return user->getParentOfType<RoleOp>();
  });
  if (!joinsRoles)
    return 0;
  return 2 * kBarrierBytes * channel.getChannel().getType().getDepth();
}
