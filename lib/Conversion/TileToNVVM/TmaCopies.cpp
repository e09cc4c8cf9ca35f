//===- TmaCopies.cpp - Copies by the tensor memory accelerator ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "cp.async.bulk.tensor". One thread issues the copies of all boxes. A
// load completes on the barrier that it signals; a store belongs to a
// group of its thread, which waits for it where the buffer is written again.
//
//===----------------------------------------------------------------------===//

#include "AsyncPlan.h"
#include "NVVMLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// The 128 bytes of a tensor map as a parameter in constant memory.
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
  for (BlockArgument map : maps)
    NVVM::PrefetchOp::create(b, NVVM::PrefetchCacheLevelAttr(),
                             NVVM::CacheEvictionPriorityAttr(), map, first,
                             /*tensormap=*/b.getUnitAttr());
}

namespace {

/// A pattern with access to the plan, tried before those of all targets.
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
    Value map = kernel.getArgument(firstMap + planned.map);
    Value stored, barrier;
    if (planned.copy.isStore)
      stored = createOwnPointer(b, adaptor.getSource());
    else
      barrier =
          createBarrierPointer(b, adaptor.getSignal(), adaptor.getSignalSlot());
    createForOneThread(b, lowering.getThreads(op), [&] {
      if (planned.copy.isStore)
        createStores(b, op, adaptor, planned, map, stored);
      else
        createLoads(b, op, adaptor, planned, map, barrier);
    });
    rewriter.eraseOp(op);
    return success();
  }

private:
  void createLoads(ImplicitLocOpBuilder &b, CopyOp op, OpAdaptor adaptor,
                   const PlannedCopy &planned, Value map, Value barrier) const {
    auto cluster = LLVM::LLVMPointerType::get(b.getContext(), 7);
    Value share, peers;
    if (std::optional<ClusterDims> dims = op.getMulticast())
      if (Cluster blocks = Cluster::get(op); blocks.countPeers(*dims) > 1) {
        share = createShare(b, blocks, *dims);
        peers = arith::TruncIOp::create(b, b.getI16Type(),
                                        createPeers(b, blocks, *dims));
      }
    forEachBox(
        b, planned, op.getStaticSourceOffsets(), adaptor.getSourceOffsets(),
        adaptor.getDest(), share, [&](Value shared, ValueRange coords) {
          Value dest = LLVM::AddrSpaceCastOp::create(b, cluster, shared);
          NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
              b, dest, map, coords, barrier, /*im2colOffsets=*/ValueRange(),
              /*multicastMask=*/peers, /*l2CacheHint=*/Value(),
              NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false,
              NVVM::CTAGroupKindAttr(), /*predicate=*/Value());
        });
  }

  void createStores(ImplicitLocOpBuilder &b, CopyOp op, OpAdaptor adaptor,
                    const PlannedCopy &planned, Value map, Value source) const {
    forEachBox(b, planned, op.getStaticDestOffsets(), adaptor.getDestOffsets(),
               source, /*share=*/Value(), [&](Value shared, ValueRange coords) {
                 NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
                     b, map, shared, coords, /*l2CacheHint=*/Value(),
                     NVVM::TMAStoreMode::TILE, /*predicate=*/Value());
               });
    NVVM::CpAsyncBulkCommitGroupOp::create(b);
  }

  /// `pointer` as a value that has nothing in common with other addresses. If
  /// the branch of one thread used the start of shared memory, ptxas would keep
  /// it in an ordinary register, and make the descriptors of wgmma from that.
  static Value createOwnPointer(ImplicitLocOpBuilder &b, Value pointer) {
    Value address = LLVM::PtrToIntOp::create(b, b.getI32Type(), pointer);
    address = NVVM::ShflOp::create(
        b, b.getI32Type(), constantI32(b, -1), address, constantI32(b, 0),
        constantI32(b, 31), NVVM::ShflKind::idx, UnitAttr());
    return LLVM::IntToPtrOp::create(b, pointer.getType(), address);
  }

  /// `value` moved on by so many steps of a share; null stands for zero.
  static Value addShare(ImplicitLocOpBuilder &b, Value value, Value share,
                        int64_t step) {
    if (!share || step == 0)
      return value;
    Value distance = arith::MulIOp::create(b, share, constantI32(b, step));
    return value ? arith::AddIOp::create(b, value, distance).getResult()
                 : distance;
  }

  /// Calls `body` with the address of each box in shared memory and its first
  /// coordinates in the order of the tensor map. With `share` the boxes are
  /// this block's ones.
  void forEachBox(ImplicitLocOpBuilder &b, const PlannedCopy &planned,
                  ArrayRef<int64_t> staticOffsets, ValueRange dynamic,
                  Value shared, Value share,
                  llvm::function_ref<void(Value, ValueRange)> body) const {
    const TmaBoxes &boxes = planned.copy.boxes;
    SmallVector<SplitOffset> offsets =
        splitOffsets(b, staticOffsets, dynamic, boxes.dims.size());
    if (share && boxes.nextShare.sharedBytes != 0)
      shared = LLVM::GEPOp::create(
          b, shared.getType(), b.getI8Type(), shared,
          addShare(b, Value(), share, boxes.nextShare.sharedBytes));
    for (const TmaBoxes::Instruction &box : boxes.instructions) {
      SmallVector<Value> coords;
      for (int64_t dim : boxes.dims) {
        int64_t constant = offsets[dim].constant + box.coords[dim];
        Value coord = offsets[dim].value;
        if (coord && coord.getType() != b.getI32Type())
          coord = arith::TruncIOp::create(b, b.getI32Type(), coord);
        if (share)
          coord = addShare(b, coord, share, boxes.nextShare.coords[dim]);
        if (!coord)
          coord = constantI32(b, constant);
        else if (constant)
          coord = arith::AddIOp::create(b, coord, constantI32(b, constant));
        coords.push_back(coord);
      }
      Value address = shared;
      if (box.sharedBytes)
        address = LLVM::GEPOp::create(
            b, shared.getType(), b.getI8Type(), shared,
            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(box.sharedBytes)});
      body(address, coords);
    }
  }
};

/// What is in flight is drained by the thread that started it; the others have
/// nothing to wait for.
struct DrainPattern : AsyncPattern<BarrierOp> {
  using AsyncPattern::AsyncPattern;

  LogicalResult
  matchAndRewrite(BarrierOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getDrainCopies() || !(plan->storesByTma || plan->hasAsyncProducts))
      return rewriter.notifyMatchFailure(op, "at most cp.async to drain");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    if (plan->hasAsyncProducts)
      NVVM::WgmmaWaitGroupSyncOp::create(b, b.getI64IntegerAttr(0));
    // Until the buffer can be written again or, if somebody reads what is
    // stored, until it is there.
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

/// The stores in flight read shared memory, which ends with the block.
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
                                 std::shared_ptr<const AsyncPlan> plan,
                                 RewritePatternSet &patterns) {
  patterns.add<TmaCopyPattern, DrainPattern, TmaReturnPattern>(converter,
                                                               lowering, plan);
}
