//===- Memory.cpp - Loads and stores of tiles -----------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared buffers, and loads and stores of tiles. A buffer is a pointer
// into the arena at its planned offset. An access uses, in this order: matrix
// instructions, for fragments whose layout holds 8x8 matrices; vectors as wide
// as the layout, the memory layout and the alignment allow; single elements.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/MatrixMover.h"
#include "tilews/Conversion/Common/Patterns.h"
#include "tilews/Dialect/Tile/Analysis/Layout/FragmentAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "convert-tile"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {

//===----------------------------------------------------------------------===//
// Shared buffers
//===----------------------------------------------------------------------===//

struct AllocSharedPattern : TilePattern<AllocSharedOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(AllocSharedOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto offset = op->getAttrOfType<IntegerAttr>(TileDialect::kOffset);
    if (!offset)
      return op.emitError("has no place in shared memory; run "
                          "--tile-plan-shared-memory first");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, createArenaPointer(b, offset.getInt()));
    return success();
  }
};

struct ViewPattern : TilePattern<ViewOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(ViewOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, adaptor.getSource());
    return success();
  }
};

struct SlotPattern : TilePattern<SlotOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(SlotOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<MemRefType>(op.getSource().getType());
    SmallVector<Mode> versions = getSharedLayout(type).getModes(0);
    if (type.getDimSize(0) == 1) {
      rewriter.replaceOp(op, adaptor.getSource());
      return success();
    }
    if (versions.size() != 1)
      return op.emitError("expected versions at equal distances, found ")
             << type;
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    int64_t bytes =
        versions[0].stride * getStorageBits(type.getElementType()) / 8;
    rewriter.replaceOp(op, createElementPointer(b, adaptor.getSource(),
                                                adaptor.getCursor(), bytes));
    return success();
  }
};

struct SubviewPattern : TilePattern<SubviewOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(SubviewOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = cast<MemRefType>(op.getSource().getType());
    SharedLayout layout = getSharedLayout(type);
    int64_t bytes = getStorageBits(type.getElementType()) / 8;
    // The swizzle permutes bytes within a part, but does not move its start.
    SharedLayout places(layout.getModes());
    SmallVector<int64_t> constants;
    Value pointer = adaptor.getSource();
    for (auto [dim, split] : llvm::enumerate(splitOffsets(
             b, op.getStaticOffsets(), adaptor.getOffsets(), type.getRank()))) {
      constants.push_back(split.constant);
      if (!split.value)
        continue;
      SmallVector<Axis> axes =
          llvm::map_to_vector(layout.getModes(dim), [](const Mode &mode) {
            return Axis{mode.extent, mode.stride};
          });
      if (Value offset = createOffset(b, axes, split.value))
        pointer = createElementPointer(b, pointer, offset, bytes);
    }
    if (int64_t offset = places.getOffset(constants, bytes * 8))
      pointer = createElementPointer(
          b, pointer, createInteger(b, b.getI32Type(), offset), bytes);
    rewriter.replaceOp(op, pointer);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

struct LoadPattern : TilePattern<LoadOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(LoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto fragment = cast<RankedTensorType>(op.getType());
    auto converted =
        dyn_cast_or_null<VectorType>(getTypeConverter()->convertType(fragment));
    if (!converted)
      return rewriter.notifyMatchFailure(op, "result has no layout");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = cast<MemRefType>(op.getSource().getType());
    FragmentLayout layout = getFragmentLayout(fragment);
    SmallVector<SplitOffset> offsets = splitOffsets(
        b, op.getStaticOffsets(), adaptor.getOffsets(), type.getRank());
    SmallVector<int64_t> sizes = op.getRegion().sizes;
    int64_t maxVector = lowering.maxVectors.at(op)[0];
    Value threadId = getThreadId(b, op);
    if (auto matrices = MatrixMover::get(
            b, getTarget(), type, adaptor.getSource(), offsets, sizes,
            maxVector, layout, fragment.getShape(), threadId,
            /*isStore=*/false)) {
      LDBG() << "matrix instructions: " << *op;
      rewriter.replaceOp(op, matrices->load(converted.getElementType(),
                                            converted.getNumElements()));
      return success();
    }
    FragmentIndexer indexer(b, layout, fragment.getShape(), threadId);
    RegionAccess access =
        getAccess(b, op, adaptor, type, adaptor.getSource(), indexer);
    LDBG() << "vectors of " << access.getVectorElements() << ", "
           << access.describeChecks() << ": " << *op;
    rewriter.replaceOp(op, loadElements(b, access, indexer, fragment,
                                        converted.getElementType(),
                                        adaptor.getPadding()));
    return success();
  }
};

struct StorePattern : TilePattern<StoreOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(StoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto fragment = cast<RankedTensorType>(op.getValue().getType());
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = cast<MemRefType>(op.getDest().getType());
    FragmentLayout layout = getFragmentLayout(fragment);
    SmallVector<SplitOffset> offsets = splitOffsets(
        b, op.getStaticOffsets(), adaptor.getOffsets(), type.getRank());
    SmallVector<int64_t> sizes = op.getRegion().sizes;
    int64_t maxVector = lowering.maxVectors.at(op)[0];
    Value threadId = getThreadId(b, op);
    if (auto matrices = MatrixMover::get(
            b, getTarget(), type, adaptor.getDest(), offsets, sizes, maxVector,
            layout, fragment.getShape(), threadId, /*isStore=*/true)) {
      LDBG() << "matrix instructions: " << *op;
      matrices->store(adaptor.getValue());
      rewriter.eraseOp(op);
      return success();
    }
    FragmentIndexer indexer(b, layout, fragment.getShape(), threadId);
    RegionAccess access =
        getAccess(b, op, adaptor, type, adaptor.getDest(), indexer);
    LDBG() << "vectors of " << access.getVectorElements() << ", "
           << access.describeChecks() << ": " << *op;
    createGuarded(b, getOwnerPredicate(b, layout, threadId), [&] {
      storeFragment(b, access, indexer, adaptor.getValue());
    });
    rewriter.eraseOp(op);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

/// Returns the address of one element, which is the same for all threads.
static Value getScalarAddress(ImplicitLocOpBuilder &b, MemRefType type,
                              Value buffer, ValueRange indices) {
  FragmentIndexer indexer(b, FragmentLayout(), {}, Value());
  SmallVector<SplitOffset> offsets;
  for (Value index : indices)
    offsets.push_back({index, 0});
  SmallVector<int64_t> sizes(type.getRank(), 1);
  RegionAccess access(b, type, buffer, offsets, sizes, /*maxVector=*/1,
                      indexer);
  return access.getAddress(0);
}

struct ScalarLoadPattern : TilePattern<memref::LoadOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(memref::LoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value address = getScalarAddress(b, op.getMemRefType(), adaptor.getMemref(),
                                     adaptor.getIndices());
    Type element = getTypeConverter()->convertType(op.getType());
    rewriter.replaceOp(op, createLoad(b, address, element, 1));
    return success();
  }
};

/// Stores a scalar once, by the first thread.
struct ScalarStorePattern : TilePattern<memref::StoreOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(memref::StoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value address = getScalarAddress(b, op.getMemRefType(), adaptor.getMemref(),
                                     adaptor.getIndices());
    Value first = isFirstThread(b, getThreadId(b, op));
    createGuarded(b, first, [&] {
      createStore(b, adaptor.getValue(), address, adaptor.getValue().getType(),
                  1);
    });
    rewriter.eraseOp(op);
    return success();
  }
};

struct DimPattern : TilePattern<memref::DimOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(memref::DimOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    std::optional<int64_t> dim = op.getConstantIndex();
    auto type = dyn_cast<MemRefType>(op.getSource().getType());
    if (!dim || !type || *dim < 0 || *dim >= type.getRank())
      return op.emitError("expected a constant dimension of a ranked memref, "
                          "from 0 to its rank less 1");
    Type index = getTypeConverter<LLVMTypeConverter>()->getIndexType();
    int64_t extent = type.getDimSize(*dim);
    if (!ShapedType::isDynamic(extent)) {
      rewriter.replaceOpWithNewOp<arith::ConstantOp>(
          op, rewriter.getIntegerAttr(index, extent));
      return success();
    }
    rewriter.replaceOp(op, MemRefDescriptor(adaptor.getSource())
                               .size(rewriter, op.getLoc(), *dim));
    return success();
  }
};

/// A global buffer some of whose dimensions count as one.
struct CollapseShapePattern : TilePattern<memref::CollapseShapeOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(memref::CollapseShapeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<MemRefType>(op.getType());
    if (isShared(type) || !type.getLayout().isIdentity())
      return op.emitError("expected a row-major buffer in global memory");
    Location loc = op.getLoc();
    MemRefDescriptor source(adaptor.getSrc());
    auto result = MemRefDescriptor::poison(
        rewriter, loc, getTypeConverter()->convertType(type));
    result.setAllocatedPtr(rewriter, loc, source.allocatedPtr(rewriter, loc));
    result.setAlignedPtr(rewriter, loc, source.alignedPtr(rewriter, loc));
    result.setOffset(rewriter, loc, source.offset(rewriter, loc));
    for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
      Value size = source.size(rewriter, loc, group.front());
      for (int64_t from : ArrayRef(group).drop_front())
        size = arith::MulIOp::create(rewriter, loc, size,
                                     source.size(rewriter, loc, from));
      result.setSize(rewriter, loc, dim, size);
      result.setStride(rewriter, loc, dim,
                       source.stride(rewriter, loc, group.back()));
    }
    rewriter.replaceOp(op, {result});
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// An operation that orders accesses and becomes instructions of every thread.
template <typename OpT>
struct OrderPattern : TilePattern<OpT> {
  using TilePattern<OpT>::TilePattern;

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    emit(b, op);
    rewriter.eraseOp(op);
    return success();
  }

private:
  void emit(ImplicitLocOpBuilder &b, CommitGroupOp) const {
    this->getTarget().emitCommitGroup(b);
  }
  void emit(ImplicitLocOpBuilder &b, CopyGroupWaitOp op) const {
    this->getTarget().emitWaitGroup(b, op.getPending(),
                                    this->lowering.youngerCopies.lookup(op));
  }
  void emit(ImplicitLocOpBuilder &b, ProxyFenceOp) const {
    this->getTarget().emitProxyFence(b);
  }
  void emit(ImplicitLocOpBuilder &b, BarrierOp op) const {
    if (op.getDrainCopies())
      this->getTarget().emitDrainCopies(b);
    // Each thread makes its own writes visible before it arrives.
    if (op.getProxyFence())
      this->getTarget().emitProxyFence(b);
    this->emitBarrier(b, op);
  }
};

} // namespace

void tilews::populateMemoryPatterns(const TileTypeConverter &converter,
                                    LoweringContext &lowering,
                                    RewritePatternSet &patterns) {
  patterns.add<AllocSharedPattern, ViewPattern, SlotPattern, SubviewPattern,
               LoadPattern, StorePattern, ScalarLoadPattern, ScalarStorePattern,
               DimPattern, CollapseShapePattern, OrderPattern<CommitGroupOp>,
               OrderPattern<CopyGroupWaitOp>, OrderPattern<ProxyFenceOp>,
               OrderPattern<BarrierOp>>(converter, lowering);
}
