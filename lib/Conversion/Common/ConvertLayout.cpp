//===- ConvertLayout.cpp - Fragments between layouts ----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Patterns.h"

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

namespace {

template <typename OpT>
struct ExchangePattern : TilePattern<OpT> {
  using TilePattern<OpT>::TilePattern;

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
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
  patterns.add<ExchangePattern<ConvertLayoutOp>, ExchangePattern<ReshapeOp>>(
      converter, lowering);
}
