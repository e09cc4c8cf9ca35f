//===- Copies.cpp - Copies of tiles ---------------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy is a load and a store of a fragment that exists in registers only for
// it, or cp.async if its vectors have 4, 8 or 16 bytes. The layout of the copy
// spreads the region over all threads:
//
//   copy of 64 x 64 f16 by 128 threads: 4 vectors of 8 elements a thread
//
// On AMD, an asynchronous copy is executed by instructions of whole waves,
// which write shared memory from the lowest to the highest address (LdsDma.h).
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Patterns.h"
#include "tilews/Dialect/Tile/Analysis/Layout/FragmentAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "convert-tile"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {
struct CopyPattern : TilePattern<CopyOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(CopyOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto waves = lowering.waveCopies.find(op);
    if (waves != lowering.waveCopies.end())
      copyByWaves(b, op, adaptor, waves->second);
    else
      copyByThreads(b, op, adaptor);
    rewriter.eraseOp(op);
    return success();
  }

  /// Copies vectors of a thread, by cp.async or by a load and a store.
  void copyByThreads(ImplicitLocOpBuilder &b, CopyOp op,
                     OpAdaptor adaptor) const {
    auto destType = cast<MemRefType>(op.getDest().getType());
    ArrayRef<int64_t> maxVectors = lowering.maxVectors.at(op);
    Type sourceElement = getElementType(op.getSource());
    int64_t bytes = llvm::divideCeil(getElementBits(sourceElement), 8);
    FragmentLayout layout =
        getCopyLayout(op, getNumThreads(op), maxVectors[0], maxVectors[1]);
    Value threadId = getThreadId(b, op);
    SmallVector<int64_t> shape = op.getSourceRegion().getSqueezedSizes();
    FragmentIndexer indexer(b, layout, shape, threadId);
    RegionAccess source = getSource(b, op, adaptor, indexer, threadId);
    ElementPlacement destPlacement;
    if (op.limitsDest())
      setLimit(op, adaptor, destPlacement);
    RegionAccess dest(b, destType, adaptor.getDest(),
                      splitOffsets(b, op.getStaticDestOffsets(),
                                   adaptor.getDestOffsets(),
                                   destType.getRank()),
                      op.getDestRegion().sizes, maxVectors[1], indexer,
                      std::move(destPlacement));
    lowering.useBounds(op, 0, source);
    lowering.useBounds(op, 1, dest);
    int64_t vector =
        std::min(source.getVectorElements(), dest.getVectorElements());
    Type element = getTypeConverter()->convertType(sourceElement);
    bool isAsync = getTarget().info.isNVIDIA() &&
                   hasInst(op, InstKind::CpAsync) && vector * bytes >= 4 &&
                   vector * bytes <= 16;
    LDBG() << (isAsync ? "cp.async" : "a load and a store") << " of " << vector
           << " elements, source " << source.describeChecks() << ", dest "
           << dest.describeChecks() << ": " << *op;
    createGuarded(b, getOwnerPredicate(b, layout, threadId), [&] {
      if (isAsync) {
        copyAsync(b, source, dest, indexer, element, vector, vector * bytes);
        return;
      }
      Value registers = loadFragment(b, source, indexer, element, Value());
      storeFragment(b, dest, indexer, registers);
    });
  }

  /// Copies by instructions of a wave. Instruction i of the block writes the
  /// bytes from i * threads * bytes on, and each wave its share of them.
  void copyByWaves(ImplicitLocOpBuilder &b, CopyOp op, OpAdaptor adaptor,
                   const LdsDma &dma) const {
    Value threadId = getThreadId(b, op);
    SmallVector<int64_t> shape = op.getSourceRegion().getSqueezedSizes();
    Value from = createSourceThread(b, threadId, dma);
    FragmentIndexer indexer(b, dma.layout, shape, from);
    RegionAccess source = getSource(b, op, adaptor, indexer, from);
    lowering.useBounds(op, 0, source, /*always=*/true);
    LDBG() << dma.count << " instructions of " << dma.bytes
           << " bytes a lane: " << *op;
    int64_t lanes = getTarget().info.warpSize, threads = getNumThreads(op);
    Type i32 = b.getI32Type();
    Value wave =
        arith::DivUIOp::create(b, threadId, createInteger(b, i32, lanes));
    Value dest = createElementPointer(b, adaptor.getDest(),
                                      getTarget().emitUniform(b, wave),
                                      lanes * dma.bytes);
    int64_t vector = indexer.getNumValues() / dma.count;
    for (int64_t i = 0; i < dma.count; ++i) {
      Value place = createInteger(b, i32, i * threads);
      getTarget().emitWaveCopy(b,
                               createElementPointer(b, dest, place, dma.bytes),
                               source.getBoundedAddress(i * vector,
                                                        /*withMask=*/true),
                               dma.bytes);
    }
  }

  /// Returns the number of the thread whose elements a thread copies, see
  /// `LdsDma::getSource`.
  static Value createSourceThread(ImplicitLocOpBuilder &b, Value threadId,
                                  const LdsDma &dma) {
    if (dma.mask == 0)
      return threadId;
    Type i32 = b.getI32Type();
    Value bits =
        arith::ShRUIOp::create(b, threadId, createInteger(b, i32, dma.shift));
    bits = arith::AndIOp::create(b, bits, createInteger(b, i32, dma.mask));
    return arith::XOrIOp::create(b, threadId, bits);
  }

  static void setLimit(CopyOp op, OpAdaptor adaptor,
                       ElementPlacement &placement) {
    placement.limit = adaptor.getLimit();
    placement.limitDim = op.getLimitDim().value_or(0);
  }

  /// Returns how the registers of `indexer` access the source, as those of
  /// thread `threadId`.
  RegionAccess getSource(ImplicitLocOpBuilder &b, CopyOp op, OpAdaptor adaptor,
                         const FragmentIndexer &indexer, Value threadId) const {
    auto type = cast<MemRefType>(op.getSource().getType());
    ElementPlacement placement;
    if (op.getRows())
      placement.indices.push_back(
          loadRows(b, op, adaptor.getRows(), indexer, threadId));
    if (!op.limitsDest())
      setLimit(op, adaptor, placement);
    return RegionAccess(
        b, type, adaptor.getSource(),
        splitOffsets(b, op.getStaticSourceOffsets(), adaptor.getSourceOffsets(),
                     type.getRank()),
        op.getSourceRegion().sizes, lowering.maxVectors.at(op)[0], indexer,
        std::move(placement));
  }

  /// Loads the indices of the rows that a thread copies.
  ElementPlacement::Indices loadRows(ImplicitLocOpBuilder &b, CopyOp op,
                                     Value rows, const FragmentIndexer &indexer,
                                     Value threadId) const {
    int64_t dim = *op.getRowDim();
    SmallVector<int64_t> sizes = op.getSourceRegion().sizes;
    // The dimension of the fragment along which the rows are.
    int64_t along = llvm::count_if(ArrayRef(sizes).take_front(dim),
                                   [](int64_t size) { return size != 1; });
    if (sizes[dim] == 1)
      along = -1;
    FragmentLayout layout = indexer.getLayout();
    for (int64_t other = indexer.getRank() - 1; other >= 0; --other)
      if (other != along)
        layout = layout.dropDim(other);
    SmallVector<int64_t> shape = {sizes[dim]};
    FragmentIndexer places(b, layout, shape, threadId);
    RegionAccess access(b, cast<MemRefType>(op.getRows().getType()), rows,
                        SplitOffset(), shape, /*maxVector=*/1, places);
    lowering.useBounds(op, 2, access);
    Type element = getElementType(op.getRows());
    Value outside = arith::ConstantOp::create(b, b.getIntegerAttr(element, -1));
    SmallVector<Value> loaded =
        loadRegisters(b, access, places, element, outside, 0,
                      places.getNumValues(), !access.isAlwaysInside());
    llvm::DenseMap<int64_t, Value> held;
    for (auto [v, row] : llvm::enumerate(loaded))
      held[places.getConstants(v)[0]] = row;
    ElementPlacement::Indices indices = {dim, {}};
    for (int64_t v = 0; v < indexer.getNumValues(); ++v)
      indices.registers.push_back(
          held.at(along < 0 ? 0 : indexer.getConstants(v)[along]));
    return indices;
  }

  void copyAsync(ImplicitLocOpBuilder &b, RegionAccess &source,
                 RegionAccess &dest, const FragmentIndexer &indexer,
                 Type element, int64_t vector, int64_t bytes) const {
    bool maskDest = !dest.isAlwaysInside();
    createVersions(b, source, [&](bool masked) {
      dest.enterBlock();
      // If the buffer may end within a vector, elements are copied one by one.
      bool uniform = (!masked || source.isMaskUniform(vector)) &&
                     (!maskDest || dest.isMaskUniform(vector));
      int64_t run = uniform ? vector : 1;
      for (int64_t v = 0; v < indexer.getNumValues(); v += run) {
        Value to = dest.getAddress(v);
        Value inside = masked ? source.getMask(v) : Value();
        createGuarded(b, maskDest ? dest.getMask(v) : Value(), [&] {
          if (uniform) {
            getTarget().emitAsyncCopy(b, to, source.getAddress(v), bytes,
                                      inside);
            return;
          }
          Value zero = arith::ConstantOp::create(b, b.getZeroAttr(element));
          Value loaded =
              loadRegisters(b, source, indexer, element, zero, v, 1, masked)
                  .front();
          createStore(b, loaded, to, element, 1);
        });
      }
    });
  }
};
} // namespace

void tilews::populateCopyPatterns(const TileTypeConverter &converter,
                                  LoweringContext &lowering,
                                  RewritePatternSet &patterns) {
  patterns.add<CopyPattern>(converter, lowering);
}
