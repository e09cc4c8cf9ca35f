//===- TmaCopies.cpp - Copies by the tensor memory accelerator ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies by TMA (PTX ISA, "cp.async.bulk.tensor"). One thread issues the copies
// of all boxes of a tile: a box is the largest part of a tile that one
// instruction copies, for example 64x64 f16 with a swizzle of 128 bytes. A load
// completes on the barrier that it signals. A store belongs to a group of its
// thread, which waits for the group before the buffer is written again, and
// before the kernel ends.
//
// If the array of a copy has a limit, its tensor map has a window
// (TensorMapWindow): the coordinates say where the box starts in the window,
// and where the window is. Such a map starts before the array. TMA accesses the
// start of a map if no element of a box is in it, so such boxes take a second
// map, which starts with the array.
//
//===----------------------------------------------------------------------===//

#include "AsyncPlan.h"
#include "NVVMLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Declares each tensor map, an opaque object of 128 bytes, as a parameter in
/// constant memory. The first thread prefetches those that copies usually take.
void NVVMLowering::setTensorMapParameters(ImplicitLocOpBuilder &b,
                                          LLVM::LLVMFuncOp kernel,
                                          ArrayRef<BlockArgument> maps) const {
  if (maps.empty())
    return;
  auto bytes = LLVM::LLVMArrayType::get(b.getI64Type(), 16);
  for (BlockArgument map : maps) {
    unsigned index = map.getArgNumber();
    kernel.setArgAttr(index, LLVM::LLVMDialect::getByValAttrName(),
                      TypeAttr::get(bytes));
    kernel.setArgAttr(index, LLVM::LLVMDialect::getAlignAttrName(),
                      b.getI64IntegerAttr(64));
    kernel.setArgAttr(index, NVVM::NVVMDialect::getGridConstantAttrName(),
                      b.getUnitAttr());
  }
  Value first = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                      getThreadId(b), constantI32(b, 0));
  for (auto [map, recipe] : llvm::zip_equal(maps, getTensorMaps(kernel)))
    if (!recipe.isOutside)
      NVVM::PrefetchOp::create(b, NVVM::PrefetchCacheLevelAttr(),
                               NVVM::CacheEvictionPriorityAttr(), map, first,
                               /*tensormap=*/b.getUnitAttr());
}

namespace {

/// A pattern with access to the plan. Its benefit puts it before the patterns
/// that all targets share.
template <typename OpT>
class AsyncPattern : public TilePattern<OpT> {
public:
  AsyncPattern(const TileTypeConverter &converter, LoweringContext &lowering,
               std::shared_ptr<const AsyncPlan> plan)
      : TilePattern<OpT>(converter, lowering, /*benefit=*/2),
        plan(std::move(plan)) {}

protected:
  std::shared_ptr<const AsyncPlan> plan;
};

/// Where the boxes of a copy are along the dimension of a window.
struct WindowCoords {
  int64_t dim;
  /// The place of the first box in the window, and that of the window; both
  /// i32.
  Value box, window;
  /// The tensor map of boxes outside of the array.
  Value outsideMap;
  /// The extents of the map without the window's place, each an i32.
  SmallVector<Value> extents;
};

struct TmaCopyPattern : AsyncPattern<CopyOp> {
  using AsyncPattern::AsyncPattern;

  LogicalResult
  matchAndRewrite(CopyOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto it = plan->copies.find(op);
    if (it == plan->copies.end())
      return rewriter.notifyMatchFailure(op, "not by TMA");
    const PlannedCopy &planned = it->second;
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto kernel = op->getParentOfType<LLVM::LLVMFuncOp>();
    unsigned firstMap = kernel.getNumArguments() - lowering.tensorMaps.size();
    Value map = kernel.getArgument(firstMap + planned.map), outsideMap;
    if (planned.outsideMap)
      outsideMap = kernel.getArgument(firstMap + *planned.outsideMap);
    Value stored, barrier;
    if (planned.copy.isStore)
      stored = createOwnPointer(b, adaptor.getSource());
    else
      barrier =
          createBarrierPointer(b, adaptor.getSignal(), adaptor.getSignalSlot());
    createForOneThread(b, lowering.getThreads(op), [&] {
      std::optional<WindowCoords> window;
      if (outsideMap)
        window = createWindowCoords(b, op, adaptor, planned, outsideMap);
      if (planned.copy.isStore)
        createStores(b, op, adaptor, planned, map, window, stored);
      else
        createLoads(b, op, adaptor, planned, map, window, barrier);
    });
    rewriter.eraseOp(op);
    return success();
  }

private:
  void createLoads(ImplicitLocOpBuilder &b, CopyOp op, OpAdaptor adaptor,
                   const PlannedCopy &planned, Value map,
                   const std::optional<WindowCoords> &window,
                   Value barrier) const {
    auto cluster = LLVM::LLVMPointerType::get(b.getContext(), 7);
    Value share, peers;
    if (std::optional<ClusterDims> dims = op.getMulticast())
      if (Cluster blocks = Cluster::get(op); blocks.countPeers(*dims) > 1) {
        share = createShare(b, blocks, *dims);
        peers = arith::TruncIOp::create(b, b.getI16Type(),
                                        createPeers(b, blocks, *dims));
      }
    forEachBox(b, planned, op.getStaticSourceOffsets(),
               adaptor.getSourceOffsets(), map, window, adaptor.getDest(),
               share, [&](Value shared, Value boxMap, ValueRange coords) {
                 Value dest = LLVM::AddrSpaceCastOp::create(b, cluster, shared);
                 NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
                     b, dest, boxMap, coords, barrier,
                     /*im2colOffsets=*/ValueRange(),
                     /*multicastMask=*/peers, /*l2CacheHint=*/Value(),
                     NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false,
                     NVVM::CTAGroupKindAttr(), /*predicate=*/Value());
               });
  }

  void createStores(ImplicitLocOpBuilder &b, CopyOp op, OpAdaptor adaptor,
                    const PlannedCopy &planned, Value map,
                    const std::optional<WindowCoords> &window,
                    Value source) const {
    auto store = [&] {
      forEachBox(b, planned, op.getStaticDestOffsets(),
                 adaptor.getDestOffsets(), map, window, source,
                 /*share=*/Value(),
                 [&](Value shared, Value boxMap, ValueRange coords) {
                   NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
                       b, boxMap, shared, coords, /*l2CacheHint=*/Value(),
                       NVVM::TMAStoreMode::TILE, /*predicate=*/Value());
                 });
    };
    // The map of an array without elements has one element, a zero for all
    // kernels, which stays zero.
    Value hasElements = createHasElements(
        b, cast<MemRefType>(op.getDest().getType()), adaptor.getDest());
    if (hasElements)
      createGuarded(b, hasElements, store);
    else
      store();
    NVVM::CpAsyncBulkCommitGroupOp::create(b);
  }

  /// Returns whether each extent of `buffer` is positive, an i1. Null if that
  /// is known.
  static Value createHasElements(ImplicitLocOpBuilder &b, MemRefType type,
                                 Value buffer) {
    if (llvm::is_contained(type.getShape(), 0))
      return arith::ConstantOp::create(b, b.getBoolAttr(false));
    Value hasElements;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      if (!type.isDynamicDim(dim))
        continue;
      Value extent = MemRefDescriptor(buffer).size(b, b.getLoc(), dim);
      Value hasSome =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ne, extent,
                                createInteger(b, extent.getType(), 0));
      hasElements = hasElements ? arith::AndIOp::create(b, hasElements, hasSome)
                                : hasSome;
    }
    return hasElements;
  }

  /// Returns the coordinates that leave out what is at the limit or after it.
  /// For rows from 100 to 130 in a window of 64: n = 30, the box starts at 34,
  /// and the window at 130 (the map's address is 64 rows before the buffer's).
  /// Without rows the box starts at 64, which is outside of the window.
  static WindowCoords createWindowCoords(ImplicitLocOpBuilder &b, CopyOp op,
                                         OpAdaptor adaptor,
                                         const PlannedCopy &planned,
                                         Value outsideMap) {
    TensorMapWindow window = *planned.copy.map.window;
    bool isStore = planned.copy.isStore;
    Value buffer = isStore ? adaptor.getDest() : adaptor.getSource();
    auto type =
        cast<MemRefType>((isStore ? op.getDest() : op.getSource()).getType());
    Value limit = adaptor.getLimit();
    auto getExtent = [&](int64_t dim) -> Value {
      if (type.isDynamicDim(dim))
        return MemRefDescriptor(buffer).size(b, b.getLoc(), dim);
      return createInteger(b, limit.getType(), type.getDimSize(dim));
    };
    SplitOffset offset = splitOffsets(
        b, isStore ? op.getStaticDestOffsets() : op.getStaticSourceOffsets(),
        isStore ? adaptor.getDestOffsets() : adaptor.getSourceOffsets(),
        type.getRank())[window.dim];
    Value first = createInteger(b, limit.getType(), offset.constant);
    if (offset.value)
      first = arith::AddIOp::create(b, offset.value, first);
    Value end = createLimitedExtent(b, getExtent(window.dim), limit, first);
    Value zero = createInteger(b, limit.getType(), 0),
          size = createInteger(b, limit.getType(), window.size);
    // The comparison is unsigned: a region that starts before the array has no
    // rows.
    Value hasRows =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, first, end);
    Value count = arith::SubIOp::create(b, end, first);
    count = arith::MinSIOp::create(b, count, size);
    count = arith::SelectOp::create(b, hasRows, count, zero);
    Value place = arith::SelectOp::create(
        b, hasRows, arith::AddIOp::create(b, first, count), zero);
    WindowCoords coords = {window.dim,
                           createI32(b, arith::SubIOp::create(b, size, count)),
                           createI32(b, place),
                           outsideMap,
                           {}};
    for (int64_t dim : planned.copy.map.dims)
      coords.extents.push_back(
          createI32(b, dim == window.dim ? size : getExtent(dim)));
    return coords;
  }

  /// Returns the tensor map for the box at `coords`: `map`, or the map of boxes
  /// outside if no element of the box lies in `map`.
  static Value createBoxMap(ImplicitLocOpBuilder &b, const TensorMap &recipe,
                            const WindowCoords &window, Value map,
                            ValueRange coords) {
    Value isInside;
    for (auto [dim, extent, coord, limit] :
         llvm::zip_first(recipe.dims, recipe.box, coords, window.extents)) {
      // The window has no place before its first row.
      int64_t before = dim == window.dim ? 0 : extent - 1;
      std::optional<int64_t> constant = getConstantIntValue(coord);
      // The launch sees to arrays without elements.
      if (dim != window.dim && constant && *constant <= 0 &&
          *constant >= -before)
        continue;
      Value place = coord, end = limit;
      if (before != 0) {
        place = arith::AddIOp::create(b, place, constantI32(b, before));
        end = arith::AddIOp::create(b, end, constantI32(b, before));
      }
      Value isInsideHere =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ult, place, end);
      isInside = isInside ? arith::AndIOp::create(b, isInside, isInsideHere)
                          : isInsideHere;
    }
    return arith::SelectOp::create(b, isInside, map, window.outsideMap);
  }

  /// Returns a coordinate as the i32 that TMA takes. One that does not fit, and
  /// so is outside, becomes the next one that does: the launch refuses arrays
  /// with such a coordinate.
  static Value createI32(ImplicitLocOpBuilder &b, Value coord) {
    if (!coord || coord.getType() == b.getI32Type())
      return coord;
    auto low = std::numeric_limits<int32_t>::min();
    auto high = std::numeric_limits<int32_t>::max();
    coord = arith::MaxSIOp::create(b, coord,
                                   createInteger(b, coord.getType(), low));
    coord = arith::MinSIOp::create(b, coord,
                                   createInteger(b, coord.getType(), high));
    return arith::TruncIOp::create(b, b.getI32Type(), coord);
  }

  /// Returns `pointer` as a value that shares no computation with other
  /// addresses. Otherwise ptxas would keep the start of shared memory in an
  /// ordinary register for the branch of the one thread, and compute the
  /// descriptors of wgmma from there in every iteration (measured: 10 % of a
  /// matmul's time).
  static Value createOwnPointer(ImplicitLocOpBuilder &b, Value pointer) {
    Value address = LLVM::PtrToIntOp::create(b, b.getI32Type(), pointer);
    address = NVVM::ShflOp::create(
        b, b.getI32Type(), constantI32(b, -1), address, constantI32(b, 0),
        constantI32(b, 31), NVVM::ShflKind::idx, UnitAttr());
    return LLVM::IntToPtrOp::create(b, pointer.getType(), address);
  }

  /// Returns `value + share * step`. A null value stands for zero.
  static Value addShare(ImplicitLocOpBuilder &b, Value value, Value share,
                        int64_t step) {
    if (!share || step == 0)
      return value;
    Value distance = arith::MulIOp::create(b, share, constantI32(b, step));
    return value ? arith::AddIOp::create(b, value, distance).getResult()
                 : distance;
  }

  /// Calls `body` for each box with its address in shared memory, its tensor
  /// map and its first coordinates, in the order of the map's dimensions. With
  /// `share`, the blocks of a cluster divide the boxes, and these are the boxes
  /// of this block.
  void
  forEachBox(ImplicitLocOpBuilder &b, const PlannedCopy &planned,
             ArrayRef<int64_t> staticOffsets, ValueRange dynamic, Value map,
             const std::optional<WindowCoords> &window, Value shared,
             Value share,
             llvm::function_ref<void(Value, Value, ValueRange)> body) const {
    const TmaBoxes &boxes = planned.copy.boxes;
    SmallVector<SplitOffset> offsets =
        splitOffsets(b, staticOffsets, dynamic, boxes.dims.size());
    if (share && boxes.nextShare.sharedBytes != 0)
      shared = LLVM::GEPOp::create(
          b, shared.getType(), b.getI8Type(), shared,
          addShare(b, Value(), share, boxes.nextShare.sharedBytes));
    for (const TmaInstruction &box : boxes.instructions) {
      SmallVector<Value> coords;
      for (int64_t dim : boxes.dims) {
        bool inWindow = window && window->dim == dim;
        int64_t constant =
            box.coords[dim] + (inWindow ? 0 : offsets[dim].constant);
        Value coord = inWindow ? window->box : createI32(b, offsets[dim].value);
        if (share)
          coord = addShare(b, coord, share, boxes.nextShare.coords[dim]);
        if (!coord)
          coord = constantI32(b, constant);
        else if (constant)
          coord = arith::AddIOp::create(b, coord, constantI32(b, constant));
        coords.push_back(coord);
      }
      Value boxMap = map;
      if (window) {
        boxMap = createBoxMap(b, planned.copy.map, *window, map, coords);
        coords.push_back(window->window);
      }
      Value address = shared;
      if (box.sharedBytes)
        address = LLVM::GEPOp::create(
            b, shared.getType(), b.getI8Type(), shared,
            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(box.sharedBytes)});
      body(address, boxMap, coords);
    }
  }
};

/// Lowers a barrier that drains copies. Each thread waits for the copies that
/// it started itself; the barrier then orders them for all threads.
struct DrainPattern : AsyncPattern<BarrierOp> {
  using AsyncPattern::AsyncPattern;

  LogicalResult
  matchAndRewrite(BarrierOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getDrainCopies() || !(plan->storesByTma || plan->hasAsyncMatmuls))
      return rewriter.notifyMatchFailure(op, "at most cp.async to drain");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    if (plan->hasAsyncMatmuls)
      NVVM::WgmmaWaitGroupSyncOp::create(b, b.getI64IntegerAttr(0));
    // Wait until the shared buffer has been read and may be written again. If
    // the kernel reads the stored data, wait until it has reached global
    // memory.
    if (plan->storesByTma)
      NVVM::CpAsyncBulkWaitGroupOp::create(b, b.getI32IntegerAttr(0),
                                           plan->readsStored ? UnitAttr()
                                                             : b.getUnitAttr());
    if (plan->copiesByCpAsync)
      getTarget().emitDrainCopies(b);
    if (op.getProxyFence())
      getTarget().emitProxyFence(b);
    emitBarrier(b, op);
    rewriter.eraseOp(op);
    return success();
  }
};

/// Waits before the kernel's end for stores in flight: they read shared memory,
/// which is freed when the block ends.
struct TmaReturnPattern : AsyncPattern<gpu::ReturnOp> {
  using AsyncPattern::AsyncPattern;

  LogicalResult
  matchAndRewrite(gpu::ReturnOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!plan->storesByTma)
      return rewriter.notifyMatchFailure(op, "no TMA stores");
    NVVM::CpAsyncBulkWaitGroupOp::create(rewriter, op.getLoc(),
                                         rewriter.getI32IntegerAttr(0),
                                         /*read=*/rewriter.getUnitAttr());
    rewriter.replaceOpWithNewOp<LLVM::ReturnOp>(op, ValueRange());
    return success();
  }
};

} // namespace

void tilews::populateTmaPatterns(const TileTypeConverter &converter,
                                 LoweringContext &lowering,
                                 const std::shared_ptr<const AsyncPlan> &plan,
                                 RewritePatternSet &patterns) {
  patterns.add<TmaCopyPattern, DrainPattern, TmaReturnPattern>(converter,
                                                               lowering, plan);
}
