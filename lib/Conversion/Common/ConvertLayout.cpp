//===- ConvertLayout.cpp - Fragments between layouts ----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Patterns.h"
#include "tilews/Dialect/Tile/Analysis/Scratch.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Writes the fragment to scratch memory row by row and reads it back in
/// another layout or shape.
static FailureOr<Value> exchange(Operation *op, Value vector,
                                 RankedTensorType source,
                                 RankedTensorType result,
                                 const TargetLowering &target,
                                 ImplicitLocOpBuilder &b) {
  auto offset = op->getAttrOfType<IntegerAttr>(TileDialect::kOffset);
  if (!offset)
    return op->emitError("needs scratch memory; run "
                         "--tile-plan-shared-memory first");
  Value threadId = target.getThreadId(b);
  Value scratch = createArenaPointer(b, offset.getInt());
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  Type element = cast<VectorType>(vector.getType()).getElementType();
  auto visit = [&](RankedTensorType type, auto &&body) {
    FragmentIndexer indexer(b, getFragmentLayout(type), type.getShape(),
                            threadId);
    auto scratchType = MemRefType::get(type.getShape(), type.getElementType(),
                                       MemRefLayoutAttrInterface(), space);
    SmallVector<SplitOffset> offsets(type.getRank());
    RegionAccess access(b, scratchType, scratch, offsets, type.getShape(),
                        kMaxVector, indexer);
    return body(access, indexer);
  };
  visit(source, [&](RegionAccess &access, FragmentIndexer &indexer) {
    storeFragment(b, access, indexer, vector);
  });
  target.emitBarrier(b);
  return visit(result, [&](RegionAccess &access, FragmentIndexer &indexer) {
    return loadFragment(b, access, indexer, element, Value());
  });
}

/// For each register of a reshape's result the source's register with the same
/// element, if the same one serves every thread.
static std::optional<SmallVector<int64_t>>
getOwnRegisters(RankedTensorType source, RankedTensorType result) {
  FragmentLayout from = getFragmentLayout(source);
  FragmentLayout to = getFragmentLayout(result);
  // Elements are numbered row by row; a register past the extents holds none.
  auto number = [](const FragmentLayout &layout, RankedTensorType type,
                   int64_t thread, int64_t value) -> int64_t {
    int64_t index = 0;
    SmallVector<int64_t> coords =
        layout.getCoords(thread, value, type.getRank());
    for (auto [coord, extent] : llvm::zip(coords, type.getShape())) {
      if (coord >= extent)
        return -1;
      index = index * extent + coord;
    }
    return index;
  };
  std::optional<SmallVector<int64_t>> registers;
  for (int64_t thread = 0; thread < to.getNumThreads(); ++thread) {
    llvm::DenseMap<int64_t, int64_t> held;
    for (int64_t v = 0; v < from.getNumValues(); ++v)
      held.try_emplace(number(from, source, thread, v), v);
    SmallVector<int64_t> own;
    for (int64_t v = 0; v < to.getNumValues(); ++v) {
      auto it = held.find(number(to, result, thread, v));
      own.push_back(it == held.end() ? 0 : it->second);
    }
    if (registers && *registers != own)
      return std::nullopt;
    registers = own;
  }
  return registers;
}

namespace {

/// A reshape that moves nothing between threads renames registers.
struct RenamePattern : TilePattern<ReshapeOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(ReshapeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (movesBetweenThreads(op))
      return rewriter.notifyMatchFailure(op, "moves between threads");
    auto registers =
        getOwnRegisters(cast<RankedTensorType>(op.getSource().getType()),
                        cast<RankedTensorType>(op.getType()));
    if (!registers)
      return op.emitError("threads disagree on the registers they rename: ")
             << op.getSource().getType() << " and " << op.getType();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> source = unpack(b, adaptor.getSource());
    SmallVector<Value> result;
    for (int64_t v : *registers)
      result.push_back(source[v]);
    rewriter.replaceOp(op, pack(b, source.front().getType(), result));
    return success();
  }
};

template <typename OpT>
struct ExchangePattern : TilePattern<OpT> {
  using TilePattern<OpT>::TilePattern;

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!movesBetweenThreads(op) && isa<ReshapeOp>(op))
      return rewriter.notifyMatchFailure(op, "only renames registers");
    auto source = cast<RankedTensorType>(op.getSource().getType());
    auto result = cast<RankedTensorType>(op.getType());
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    FailureOr<Value> moved =
        exchange(op, adaptor.getSource(), source, result, this->getTarget(), b);
    if (failed(moved))
      return failure();
    rewriter.replaceOp(op, *moved);
    return success();
  }
};

} // namespace

void tilews::populateConvertLayoutPatterns(const TileTypeConverter &converter,
                                           LoweringContext &lowering,
                                           RewritePatternSet &patterns) {
  patterns.add<ExchangePattern<ConvertLayoutOp>, ExchangePattern<ReshapeOp>,
               RenamePattern>(converter, lowering);
}
