//===- Gather.cpp - Gathers and scatters ----------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A gather is a load whose addresses have a part from registers: the index of
// an element times the stride of the indexed dimension. Layout inference has
// placed indices and mask where the accessed elements are; they have the extent
// 1 along dimensions in which they do not change, and one register there stands
// for several elements:
//
//   tile.gather %A[0, %k] [64, 128] at(0 = %rows : tensor<64x1xi32>)
//     a thread with 8 neighbors of row r:  one index, one access of 16 bytes
//
// A negative index is a large number without its sign, and so is outside of the
// buffer like any other that is too large.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Patterns.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "convert-tile"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Returns the register of `placement`, indices or a mask, for each register of
/// a fragment.
static FailureOr<SmallVector<Value>> spread(ImplicitLocOpBuilder &b,
                                            IndexedOpInterface op,
                                            Value placement, Value converted,
                                            RankedTensorType fragment) {
  auto type = cast<RankedTensorType>(placement.getType());
  SmallVector<bool> repeated;
  for (int64_t extent : type.getShape())
    repeated.push_back(extent == 1);
  std::optional<SmallVector<int64_t>> numbers = getBroadcastRegisters(
      getFragmentLayout(type), getFragmentLayout(fragment), repeated);
  if (!numbers)
    return op->emitError("indices or mask are spread over the threads "
                         "differently than the elements: ")
           << type << " and " << fragment;
  SmallVector<Value> registers = unpack(b, converted);
  return llvm::map_to_vector(*numbers,
                             [&](int64_t number) { return registers[number]; });
}

FailureOr<ElementPlacement> tilews::getPlacement(ImplicitLocOpBuilder &b,
                                                 IndexedOpInterface op,
                                                 ValueRange operands) {
  auto fragment = cast<RankedTensorType>(op.getAccessed().getType());
  ElementPlacement placement;
  unsigned number = op.getFirstIndex();
  for (auto [index, dim] :
       llvm::zip_equal(op.getIndices(), op.getIndexDims())) {
    FailureOr<SmallVector<Value>> registers =
        spread(b, op, index, operands[number++], fragment);
    if (failed(registers))
      return failure();
    placement.indices.push_back({dim, std::move(*registers)});
  }
  if (op.getLimit()) {
    placement.limit = operands[number + (op.getMask() ? 1 : 0)];
    placement.limitDim = *op.getLimitDim();
  }
  if (!op.getMask())
    return placement;
  FailureOr<SmallVector<Value>> mask =
      spread(b, op, op.getMask(), operands[number], fragment);
  if (failed(mask))
    return failure();
  placement.mask = std::move(*mask);
  return placement;
}

namespace {
struct GatherPattern : TilePattern<GatherOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(GatherOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto fragment = cast<RankedTensorType>(op.getType());
    auto converted =
        dyn_cast_or_null<VectorType>(getTypeConverter()->convertType(fragment));
    if (!converted)
      return rewriter.notifyMatchFailure(op, "result has no layout");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    FailureOr<ElementPlacement> placement =
        getPlacement(b, op, adaptor.getOperands());
    if (failed(placement))
      return failure();
    auto type = cast<MemRefType>(op.getSource().getType());
    FragmentIndexer indexer(b, getFragmentLayout(fragment), fragment.getShape(),
                            getThreadId(b, op));
    RegionAccess access = getAccess(b, op, adaptor, type, adaptor.getSource(),
                                    indexer, std::move(*placement));
    LDBG() << "vectors of " << access.getVectorElements() << ": " << *op;
    rewriter.replaceOp(op, loadElements(b, access, indexer, fragment,
                                        converted.getElementType(),
                                        adaptor.getPadding()));
    return success();
  }
};

struct ScatterPattern : TilePattern<ScatterOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(ScatterOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto fragment = cast<RankedTensorType>(op.getValue().getType());
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    FailureOr<ElementPlacement> placement =
        getPlacement(b, op, adaptor.getOperands());
    if (failed(placement))
      return failure();
    auto type = cast<MemRefType>(op.getDest().getType());
    FragmentLayout layout = getFragmentLayout(fragment);
    Value threadId = getThreadId(b, op);
    FragmentIndexer indexer(b, layout, fragment.getShape(), threadId);
    RegionAccess access = getAccess(b, op, adaptor, type, adaptor.getDest(),
                                    indexer, std::move(*placement));
    LDBG() << "vectors of " << access.getVectorElements() << ": " << *op;
    createGuarded(b, getOwnerPredicate(b, layout, threadId), [&] {
      storeFragment(b, access, indexer, adaptor.getValue());
    });
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void tilews::populateGatherPatterns(const TileTypeConverter &converter,
                                    LoweringContext &lowering,
                                    RewritePatternSet &patterns) {
  patterns.add<GatherPattern, ScatterPattern>(converter, lowering);
}
