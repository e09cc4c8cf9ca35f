//===- Channels.cpp - Channels of kernels without roles -------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The threads that fill a slot are those that read it. They wait for their own
// copies and then meet; nothing else is left of a transaction. Where a slot has
// to be free before it is filled again, `--tile-insert-barriers` has put a
// barrier. Cursors and slots are the same in kernels with roles.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

static Value constantI32(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
}

Value tilews::getCursorSlot(ImplicitLocOpBuilder &b, Value cursor) {
  return LLVM::ExtractValueOp::create(b, cursor, 0);
}

Value tilews::createElementPointer(ImplicitLocOpBuilder &b, Value base,
                                   Value index, int64_t stride,
                                   int64_t offset) {
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), stride);
  Value pointer = LLVM::GEPOp::create(b, base.getType(), type, base,
                                      ArrayRef<LLVM::GEPArg>{index});
  if (offset == 0)
    return pointer;
  return LLVM::GEPOp::create(
      b, base.getType(), b.getI8Type(), pointer,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
}

static Value createCursor(ImplicitLocOpBuilder &b, Value slot, Value phase) {
  auto type = LLVM::LLVMStructType::getLiteral(
      b.getContext(), {b.getI32Type(), b.getI32Type()});
  Value cursor = LLVM::PoisonOp::create(b, type);
  cursor = LLVM::InsertValueOp::create(b, cursor, slot, ArrayRef<int64_t>{0});
  return LLVM::InsertValueOp::create(b, cursor, phase, ArrayRef<int64_t>{1});
}

namespace {

//===----------------------------------------------------------------------===//
// Cursors and slots
//===----------------------------------------------------------------------===//

struct CursorPattern : TilePattern<CursorOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(CursorOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value zero = constantI32(b, 0);
    rewriter.replaceOp(op, createCursor(b, zero, zero));
    return success();
  }
};

struct AdvancePattern : TilePattern<AdvanceOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(AdvanceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    int64_t depth = op.getCursor().getType().getDepth();
    Value phase = LLVM::ExtractValueOp::create(b, adaptor.getCursor(), 1);
    Value other = arith::XOrIOp::create(b, phase, constantI32(b, 1));
    if (depth == 1) {
      rewriter.replaceOp(op, createCursor(b, constantI32(b, 0), other));
      return success();
    }
    Value next = arith::AddIOp::create(b, getCursorSlot(b, adaptor.getCursor()),
                                       constantI32(b, 1));
    Value wraps = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, next,
                                        constantI32(b, depth));
    next = arith::SelectOp::create(b, wraps, constantI32(b, 0), next);
    phase = arith::SelectOp::create(b, wraps, other, phase);
    rewriter.replaceOp(op, createCursor(b, next, phase));
    return success();
  }
};

struct SlotPattern : TilePattern<SlotOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(SlotOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = cast<MemRefType>(op.getSource().getType());
    SmallVector<Mode> versions = getSharedLayout(type).getModes(0);
    if (type.getDimSize(0) == 1) {
      rewriter.replaceOp(op, adaptor.getSource());
      return success();
    }
    if (versions.size() != 1)
      return op.emitError("expected versions at equal distances, found ")
             << type;
    int64_t bytes =
        versions[0].stride * getStorageBits(type.getElementType()) / 8;
    rewriter.replaceOp(
        op,
        createElementPointer(b, adaptor.getSource(),
                             getCursorSlot(b, adaptor.getCursor()), bytes, 0));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Transactions
//===----------------------------------------------------------------------===//

struct ChannelPattern : TilePattern<ChannelOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(ChannelOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getProducer() == ProducerKind::Tma)
      return op.emitError("is filled by TMA, which only a role can wait for");
    Type type = getTypeConverter()->convertType(op.getType());
    rewriter.replaceOpWithNewOp<LLVM::PoisonOp>(op, type);
    return success();
  }
};

/// Steps of a transaction that need no code.
template <typename OpT>
struct NothingPattern : TilePattern<OpT> {
  using TilePattern<OpT>::TilePattern;

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.eraseOp(op);
    return success();
  }
};

struct CommitGroupPattern : TilePattern<CommitGroupOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(CommitGroupOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    getTarget().emitCommitGroup(b);
    rewriter.eraseOp(op);
    return success();
  }
};

struct WaitPattern : TilePattern<WaitOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(WaitOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto channel = op.getChannel().getDefiningOp<ChannelOp>();
    if (std::optional<int64_t> pending = op.getPending())
      getTarget().emitWaitGroup(b, *pending);
    else if (!channel || channel.getProducer() != ProducerKind::Simt)
      getTarget().emitDrainCopies(b);
    if (op.getProxyFence())
      getTarget().emitProxyFence(b);
    emitBarrier(b, op);
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void tilews::populateChannelPatterns(const TileTypeConverter &converter,
                                     LoweringContext &lowering,
                                     RewritePatternSet &patterns) {
  patterns.add<CursorPattern, AdvancePattern, SlotPattern, ChannelPattern,
               NothingPattern<AcquireOp>, NothingPattern<CommitOp>,
               NothingPattern<ReleaseOp>, CommitGroupPattern, WaitPattern>(
      converter, lowering);
}
