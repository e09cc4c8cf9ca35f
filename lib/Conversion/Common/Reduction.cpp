//===- Reduction.cpp - Reductions and scans -------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Patterns.h"
#include "tilews/Dialect/Tile/Analysis/LayoutRules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// Combining two values
//===----------------------------------------------------------------------===//

static Value combine(ImplicitLocOpBuilder &b, ReductionKind kind, Value lhs,
                     Value rhs) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(lhs.getType()));
  switch (kind) {
  case ReductionKind::Sum:
    if (isFloat)
      return arith::AddFOp::create(b, lhs, rhs);
    return arith::AddIOp::create(b, lhs, rhs);
  case ReductionKind::Max:
  case ReductionKind::AbsMax:
    if (isFloat)
      return arith::MaxNumFOp::create(b, lhs, rhs);
    return arith::MaxSIOp::create(b, lhs, rhs);
  case ReductionKind::Min:
  case ReductionKind::AbsMin:
    if (isFloat)
      return arith::MinNumFOp::create(b, lhs, rhs);
    return arith::MinSIOp::create(b, lhs, rhs);
  case ReductionKind::And:
  case ReductionKind::All:
    return arith::AndIOp::create(b, lhs, rhs);
  case ReductionKind::Or:
  case ReductionKind::Any:
    return arith::OrIOp::create(b, lhs, rhs);
  case ReductionKind::Xor:
    return arith::XOrIOp::create(b, lhs, rhs);
  }
  llvm_unreachable("covered switch");
}

/// The value that leaves others as they are. NaN does so for the floating
/// point maximum and minimum, even if all elements are NaN.
static TypedAttr getIdentity(Builder &b, ReductionKind kind, Type type) {
  if (auto number = dyn_cast<FloatType>(type)) {
    if (kind == ReductionKind::Sum)
      return b.getFloatAttr(type, -0.0);
    return b.getFloatAttr(type, APFloat::getQNaN(number.getFloatSemantics()));
  }
  unsigned bits = type.getIntOrFloatBitWidth();
  APInt value(bits, 0);
  switch (kind) {
  case ReductionKind::Max:
    value = APInt::getSignedMinValue(bits);
    break;
  case ReductionKind::Min:
  case ReductionKind::AbsMin:
    value = APInt::getSignedMaxValue(bits);
    break;
  case ReductionKind::And:
  case ReductionKind::All:
    value = APInt::getAllOnes(bits);
    break;
  default:
    break;
  }
  return b.getIntegerAttr(type, value);
}

static Value createAbs(ImplicitLocOpBuilder &b, Value value) {
  if (isa<FloatType>(getElementTypeOrSelf(value.getType())))
    return math::AbsFOp::create(b, value);
  return math::AbsIOp::create(b, value);
}

//===----------------------------------------------------------------------===//
// Exchange between lanes
//===----------------------------------------------------------------------===//

/// The value of the lane whose number differs in the bits of `mask`, whatever
/// its width.
static Value shuffle(ImplicitLocOpBuilder &b, const TargetLowering &target,
                     Value value, int64_t mask) {
  Type type = value.getType();
  unsigned bits = type.getIntOrFloatBitWidth();
  Type asInteger = b.getIntegerType(bits);
  Value word = value;
  if (type != asInteger)
    word = arith::BitcastOp::create(b, asInteger, word);
  if (bits < 32)
    word = arith::ExtUIOp::create(b, b.getI32Type(), word);
  if (bits <= 32) {
    word = target.emitShuffleXor(b, word, mask);
  } else {
    auto words = VectorType::get({bits / 32}, b.getI32Type());
    Value parts = LLVM::BitcastOp::create(b, words, word);
    SmallVector<Value> moved;
    for (Value part : unpack(b, parts))
      moved.push_back(target.emitShuffleXor(b, part, mask));
    word =
        LLVM::BitcastOp::create(b, asInteger, pack(b, b.getI32Type(), moved));
  }
  if (bits < 32)
    word = arith::TruncIOp::create(b, asInteger, word);
  if (type != asInteger)
    word = arith::BitcastOp::create(b, type, word);
  return word;
}

namespace {

struct ReducePattern : TilePattern<ReduceOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(ReduceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto source = cast<RankedTensorType>(op.getSource().getType());
    auto result = cast<RankedTensorType>(op.getType());
    FragmentLayout layout = getFragmentLayout(source);
    int64_t axis = op.getAxis();
    if (!getFragmentLayout(result).isSameAs(layout.dropDim(axis)))
      return op.emitError("expected the layout derived from the source, found ")
             << result;
    std::optional<AxisThreads> threads =
        getAxisThreads(layout, axis, getTarget().info.warpSize);
    if (!threads)
      return op.emitError("cannot reduce along threads whose number in a warp "
                          "is not a power of two: ")
             << source;
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value threadId = getThreadId(b, op);
    FragmentIndexer indexer(b, layout, source.getShape(), threadId);
    SmallVector<Value> partial =
        reduceRegisters(b, op, indexer, adaptor.getSource());
    for (Value &value : partial)
      for (const ThreadDigit &digit : threads->lanes)
        for (int64_t mask = digit.step; mask < digit.step * digit.extent;
             mask *= 2)
          value = combine(b, op.getKind(), value,
                          shuffle(b, getTarget(), value, mask));
    if (!threads->warps.empty() &&
        failed(reduceWarps(b, op, layout, threads->lanes, threads->warps,
                           threadId, partial)))
      return failure();
    rewriter.replaceOp(op, pack(b, partial.front().getType(), partial));
    return success();
  }

  /// Combines the registers of one thread; one value remains for each register
  /// of the result.
  static SmallVector<Value> reduceRegisters(ImplicitLocOpBuilder &b,
                                            ReduceOp op,
                                            const FragmentIndexer &indexer,
                                            Value vector) {
    ReductionKind kind = op.getKind();
    if (kind == ReductionKind::AbsMax || kind == ReductionKind::AbsMin)
      vector = createAbs(b, vector);
    SmallVector<Value> registers = unpack(b, vector);
    int64_t axis = op.getAxis();
    Value identity, extent;
    if (indexer.overCovers(axis)) {
      identity = arith::ConstantOp::create(
          b, getIdentity(b, kind, registers.front().getType()));
      extent = arith::ConstantOp::create(
          b, b.getI32IntegerAttr(indexer.getShape()[axis]));
    }
    SmallVector<Value> partial(
        indexer.getLayout().dropDim(axis).getNumValues());
    for (auto [v, value] : llvm::enumerate(registers)) {
      if (identity) {
        // A register past the fragment's extent holds no element.
        Value coord = arith::ConstantOp::create(
            b, b.getI32IntegerAttr(indexer.getConstants(v)[axis]));
        if (Value base = indexer.getBase(axis))
          coord = arith::AddIOp::create(b, base, coord);
        Value holds =
            arith::CmpIOp::create(b, arith::CmpIPredicate::ult, coord, extent);
        value = arith::SelectOp::create(b, holds, value, identity);
      }
      Value &slot = partial[indexer.getLayout().getDroppedValue(v, axis)];
      slot = slot ? combine(b, kind, slot, value) : value;
    }
    return partial;
  }

  /// Combines the warps' partial results through scratch memory: each part of
  /// the axis writes its own copy of the result, each thread reads them all.
  LogicalResult reduceWarps(ImplicitLocOpBuilder &b, ReduceOp op,
                            const FragmentLayout &layout,
                            ArrayRef<ThreadDigit> lanes,
                            ArrayRef<ThreadDigit> warps, Value threadId,
                            SmallVector<Value> &partial) const {
    auto offset = op->getAttrOfType<IntegerAttr>(TileDialect::kOffset);
    if (!offset)
      return op.emitError("needs scratch memory; run "
                          "--tile-plan-shared-memory first");
    auto result = cast<RankedTensorType>(op.getType());
    FragmentLayout rest = layout.dropDim(op.getAxis());
    int64_t parts = 1;
    for (const ThreadDigit &digit : warps)
      parts *= digit.extent;
    SmallVector<int64_t> cover = rest.getCover(result.getRank());
    // Scratch is a row-major buffer of the parts of the axis by the cover.
    SmallVector<int64_t> scratchShape = {parts};
    llvm::append_range(scratchShape, cover);
    auto scratchType = MemRefType::get(
        scratchShape, result.getElementType(), MemRefLayoutAttrInterface(),
        gpu::AddressSpaceAttr::get(b.getContext(),
                                   gpu::AddressSpace::Workgroup));
    FragmentIndexer indexer(b, rest, cover, threadId);
    auto constant = [&](int64_t value) {
      return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
    };
    auto digitOf = [&](const ThreadDigit &digit) -> Value {
      Value value = arith::DivUIOp::create(b, threadId, constant(digit.step));
      return arith::RemUIOp::create(b, value, constant(digit.extent));
    };
    Value part;
    int64_t weight = 1;
    for (const ThreadDigit &digit : warps) {
      Value term = arith::MulIOp::create(b, digitOf(digit), constant(weight));
      part = part ? arith::AddIOp::create(b, part, term).getResult() : term;
      weight *= digit.extent;
    }
    Value writes;
    for (const ThreadDigit &digit : lanes) {
      Value first = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                          digitOf(digit), constant(0));
      writes =
          writes ? arith::AndIOp::create(b, writes, first).getResult() : first;
    }
    Value scratch = createArenaPointer(b, offset.getInt());
    SmallVector<int64_t> sizes = {1};
    llvm::append_range(sizes, cover);
    auto accessPart = [&](SplitOffset which) {
      SmallVector<SplitOffset> offsets(scratchType.getRank());
      offsets[0] = which;
      return RegionAccess(b, scratchType, scratch, offsets, sizes, kMaxVector,
                          indexer);
    };
    Type element = partial.front().getType();
    auto write = [&] {
      RegionAccess access = accessPart({part, 0});
      access.assumeInside();
      storeFragment(b, access, indexer, pack(b, element, partial));
    };
    if (writes) {
      auto guard = scf::IfOp::create(b, writes, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard restore(b);
      b.setInsertionPointToStart(guard.thenBlock());
      write();
    } else {
      write();
    }
    emitBarrier(b, op);
    SmallVector<Value> total(partial.size());
    for (int64_t index = 0; index < parts; ++index) {
      RegionAccess access = accessPart({Value(), index});
      Value loaded = loadFragment(b, access, indexer, element, Value());
      for (auto [slot, value] : llvm::zip(total, unpack(b, loaded)))
        slot = slot ? combine(b, op.getKind(), slot, value) : value;
    }
    partial = total;
    return success();
  }
};

/// Scans through scratch memory: the fragment is written row by row, each
/// thread scans whole lines, and the fragment is read back.
struct ScanPattern : TilePattern<ScanOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(ScanOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto offset = op->getAttrOfType<IntegerAttr>(TileDialect::kOffset);
    if (!offset)
      return op.emitError("needs scratch memory; run "
                          "--tile-plan-shared-memory first");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getType());
    Value threadId = getThreadId(b, op);
    FragmentIndexer indexer(b, getFragmentLayout(type), type.getShape(),
                            threadId);
    auto scratchType = MemRefType::get(
        type.getShape(), type.getElementType(), MemRefLayoutAttrInterface(),
        gpu::AddressSpaceAttr::get(b.getContext(),
                                   gpu::AddressSpace::Workgroup));
    Value scratch = createArenaPointer(b, offset.getInt());
    SmallVector<SplitOffset> offsets(type.getRank());
    auto access = [&] {
      return RegionAccess(b, scratchType, scratch, offsets, type.getShape(),
                          kMaxVector, indexer);
    };
    RegionAccess out = access();
    storeFragment(b, out, indexer, adaptor.getSource());
    emitBarrier(b, op);
    Type element =
        cast<VectorType>(adaptor.getSource().getType()).getElementType();
    scanLines(b, op, scratch, element, threadId);
    emitBarrier(b, op);
    RegionAccess in = access();
    rewriter.replaceOp(op, loadFragment(b, in, indexer, element, Value()));
    return success();
  }

  void scanLines(ImplicitLocOpBuilder &b, ScanOp op, Value scratch,
                 Type element, Value threadId) const {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(op.getType()).getShape();
    int64_t axis = op.getAxis(), length = shape[axis];
    int64_t stride = 1, lines = 1;
    for (auto [dim, extent] : llvm::enumerate(shape)) {
      if (int64_t(dim) > axis)
        stride *= extent;
      if (int64_t(dim) != axis)
        lines *= extent;
    }
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
    };
    auto add = [&](Value lhs, Value rhs) -> Value {
      return arith::AddIOp::create(b, lhs, rhs);
    };
    auto mul = [&](Value lhs, int64_t rhs) -> Value {
      return arith::MulIOp::create(b, lhs, constant(rhs));
    };
    OpBuilder::InsertionGuard restore(b);
    auto perLine = scf::ForOp::create(b, threadId, constant(lines),
                                      constant(getNumThreads(op)));
    b.setInsertionPointToStart(perLine.getBody());
    // The line's first element: its outer part, then its inner part.
    Value line = perLine.getInductionVar();
    Value outer = arith::DivUIOp::create(b, line, constant(stride));
    Value inner = arith::RemUIOp::create(b, line, constant(stride));
    Value first = add(mul(outer, stride * length), inner);
    auto addressOf = [&](Value index) {
      Value at = op.getReverse()
                     ? arith::SubIOp::create(b, constant(length - 1), index)
                           .getResult()
                     : index;
      return LLVM::GEPOp::create(
          b, scratch.getType(), element, scratch,
          ArrayRef<LLVM::GEPArg>{add(first, mul(at, stride))});
    };
    Value initial = LLVM::LoadOp::create(b, element, addressOf(constant(0)));
    auto along = scf::ForOp::create(b, constant(1), constant(length),
                                    constant(1), ValueRange{initial});
    b.setInsertionPointToStart(along.getBody());
    Value address = addressOf(along.getInductionVar());
    Value value = LLVM::LoadOp::create(b, element, address);
    value = combine(b, op.getKind(), along.getRegionIterArg(0), value);
    LLVM::StoreOp::create(b, value, address);
    scf::YieldOp::create(b, value);
  }
};

} // namespace

void tilews::populateReductionPatterns(const TileTypeConverter &converter,
                                       LoweringContext &lowering,
                                       RewritePatternSet &patterns) {
  patterns.add<ReducePattern, ScanPattern>(converter, lowering);
}
