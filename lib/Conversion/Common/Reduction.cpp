//===- Reduction.cpp - Reductions -----------------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reductions in three steps, each for the digits of the axis that one place
// holds (AxisDigits.h): registers of a thread, lanes of a warp by butterfly
// shuffles, and threads of different warps through scratch memory.
//
//   row sum of 16 x 64, layout 4 lanes and 2 warps along the row:
//     8 registers are added; shuffles by 1 and 2; two partial sums per row
//     are written to scratch memory, and every thread adds both
//
// Registers past the extent along the axis hold the identity of the operation
// first.
//
//===----------------------------------------------------------------------===//

#include "Reduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "convert-tile"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// Combining two values
//===----------------------------------------------------------------------===//

Value tilews::createCombine(ImplicitLocOpBuilder &b, ReductionKind kind,
                            Value lhs, Value rhs) {
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
  case ReductionKind::UMax:
    return arith::MaxUIOp::create(b, lhs, rhs);
  case ReductionKind::UMin:
    return arith::MinUIOp::create(b, lhs, rhs);
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
  case ReductionKind::UMin:
    value = APInt::getAllOnes(bits);
    break;
  default:
    break;
  }
  return b.getIntegerAttr(type, value);
}

Value tilews::createIdentity(ImplicitLocOpBuilder &b, ReductionKind kind,
                             Type type) {
  return arith::ConstantOp::create(b, getIdentity(b, kind, type));
}

void tilews::fillPastExtent(ImplicitLocOpBuilder &b, ReductionKind kind,
                            const FragmentIndexer &indexer, int64_t axis,
                            MutableArrayRef<Value> registers) {
  if (!indexer.overCovers(axis))
    return;
  Value identity = createIdentity(b, kind, registers.front().getType());
  for (auto [v, value] : llvm::enumerate(registers))
    value = arith::SelectOp::create(b, indexer.createIsInside(b, v, axis),
                                    value, identity);
}

/// Whether a reduction compares integers with their signs.
static bool isSignedOrder(ReductionKind kind) {
  return kind == ReductionKind::Max || kind == ReductionKind::Min ||
         kind == ReductionKind::AbsMax || kind == ReductionKind::AbsMin;
}

static Value createAbs(ImplicitLocOpBuilder &b, Value value) {
  if (isa<FloatType>(getElementTypeOrSelf(value.getType())))
    return math::AbsFOp::create(b, value);
  return math::AbsIOp::create(b, value);
}

//===----------------------------------------------------------------------===//
// Exchange between lanes
//===----------------------------------------------------------------------===//

Value tilews::createShuffleXor(ImplicitLocOpBuilder &b,
                               const TargetLowering &target, Value value,
                               int64_t mask) {
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
    if (isSmallFloat(getElementTypeOrSelf(op.getType())))
      return rewriter.notifyMatchFailure(op, "the type has no arithmetic");
    auto source = cast<RankedTensorType>(op.getSource().getType());
    auto result = cast<RankedTensorType>(op.getType());
    FragmentLayout layout = getFragmentLayout(source);
    int64_t axis = op.getAxis();
    if (!getFragmentLayout(result).isSameAs(layout.dropDim(axis)))
      return op.emitError("expected the layout derived from the source, found ")
             << result;
    FailureOr<SmallVector<AxisDigit>> digits = getAxisDigits(op, getTarget());
    if (failed(digits))
      return failure();
    SmallVector<AxisDigit> lanes, parts;
    for (const AxisDigit &digit : *digits) {
      if (digit.place == AxisDigit::Place::Lane)
        lanes.push_back(digit);
      else if (digit.place == AxisDigit::Place::Scratch)
        parts.push_back(digit);
    }
    LDBG() << lanes.size() << " digits in lanes, " << parts.size()
           << " in scratch memory: " << *op;
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value threadId = getThreadId(b, op);
    FragmentIndexer indexer(b, layout, source.getShape(), threadId);
    SmallVector<Value> partial =
        reduceRegisters(b, op, indexer, adaptor.getSource());
    for (Value &value : partial)
      value = reduceLanes(b, op, lanes, value);
    if (!parts.empty() &&
        failed(reduceThreads(b, op, layout, lanes, parts, threadId, partial)))
      return failure();
    Value packed = pack(b, partial.front().getType(), partial);
    rewriter.replaceOp(op,
                       normalizeRegister(b, packed, result.getElementType()));
    return success();
  }

  /// Combines the registers of one thread. One value remains for each register
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
    fillPastExtent(b, kind, indexer, axis, registers);
    SmallVector<Value> partial(
        indexer.getLayout().dropDim(axis).getNumValues());
    for (auto [v, value] : llvm::enumerate(registers)) {
      Value &slot = partial[indexer.getLayout().getDroppedValue(v, axis)];
      slot = slot ? createCombine(b, kind, slot, value) : value;
    }
    return partial;
  }

  /// Combines the values of the lanes that differ in `lanes`, by one
  /// instruction for a whole warp where the target has one.
  Value reduceLanes(ImplicitLocOpBuilder &b, ReduceOp op,
                    ArrayRef<AxisDigit> lanes, Value value) const {
    int64_t count = 1;
    for (const AxisDigit &digit : lanes)
      count *= digit.extent;
    auto type = dyn_cast<IntegerType>(value.getType());
    if (count == TargetInfo::getWarpSize(op) && type && type.getWidth() <= 32) {
      // A narrow number is extended so that its order stays.
      bool isSigned = isSignedOrder(op.getKind());
      Value word = value;
      if (type.getWidth() < 32)
        word = isSigned
                   ? arith::ExtSIOp::create(b, b.getI32Type(), word).getResult()
                   : arith::ExtUIOp::create(b, b.getI32Type(), word);
      word = getTarget().emitReduceLanes(b, op.getKind(), word);
      if (word)
        return type.getWidth() < 32
                   ? arith::TruncIOp::create(b, type, word).getResult()
                   : word;
    }
    for (const AxisDigit &digit : lanes)
      for (int64_t bit = 1; bit < digit.extent; bit *= 2)
        value = createCombine(
            b, op.getKind(), value,
            createShuffleXor(b, getTarget(), value, digit.step * bit));
    return value;
  }

  /// Computes a digit of the thread's number: `threadId / step % extent`.
  static Value createDigit(ImplicitLocOpBuilder &b, Value threadId,
                           const AxisDigit &digit) {
    auto constant = [&](int64_t value) {
      return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
    };
    Value value = arith::DivUIOp::create(b, threadId, constant(digit.step));
    return arith::RemUIOp::create(b, value, constant(digit.extent));
  }

  /// Computes the number of the part of the axis that the thread holds, whose
  /// digits are `digits`. Null if there are none.
  static Value createPart(ImplicitLocOpBuilder &b, Value threadId,
                          ArrayRef<AxisDigit> digits) {
    Value part;
    int64_t weight = 1;
    for (const AxisDigit &digit : digits) {
      Value value = createDigit(b, threadId, digit);
      Value factor = arith::ConstantOp::create(b, b.getI32IntegerAttr(weight));
      Value term = arith::MulIOp::create(b, value, factor);
      part = part ? arith::AddIOp::create(b, part, term).getResult() : term;
      weight *= digit.extent;
    }
    return part;
  }

  /// Computes whether the thread is the first of the lanes with the same
  /// partial result: each digit in `lanes` is zero. Null if there are none.
  static Value createIsFirst(ImplicitLocOpBuilder &b, Value threadId,
                             ArrayRef<AxisDigit> lanes) {
    Value isFirst;
    for (const AxisDigit &digit : lanes) {
      Value value = createDigit(b, threadId, digit);
      Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
      Value first =
          arith::CmpIOp::create(b, arith::CmpIPredicate::eq, value, zero);
      isFirst = isFirst ? arith::AndIOp::create(b, isFirst, first).getResult()
                        : first;
    }
    return isFirst;
  }

  /// Combines partial results of threads through scratch memory. Each part of
  /// the axis writes its own copy of the result; each thread reads all copies.
  LogicalResult reduceThreads(ImplicitLocOpBuilder &b, ReduceOp op,
                              const FragmentLayout &layout,
                              ArrayRef<AxisDigit> lanes,
                              ArrayRef<AxisDigit> digits, Value threadId,
                              SmallVector<Value> &partial) const {
    auto offset = op->getAttrOfType<IntegerAttr>(TileDialect::kOffset);
    if (!offset)
      return op.emitError("needs scratch memory; run "
                          "--tile-plan-shared-memory first");
    auto result = cast<RankedTensorType>(op.getType());
    FragmentLayout rest = layout.dropDim(op.getAxis());
    int64_t parts = 1;
    for (const AxisDigit &digit : digits)
      parts *= digit.extent;
    SmallVector<int64_t> cover = rest.getCover(result.getRank());
    // Scratch is a row-major buffer: parts of the axis, then the result's
    // cover.
    SmallVector<int64_t> scratchShape = {parts};
    llvm::append_range(scratchShape, cover);
    Type element = partial.front().getType();
    auto scratchType =
        MemRefType::get(scratchShape, element, MemRefLayoutAttrInterface(),
                        gpu::AddressSpaceAttr::get(
                            b.getContext(), gpu::AddressSpace::Workgroup));
    FragmentIndexer indexer(b, rest, cover, threadId);
    Value part = createPart(b, threadId, digits);
    Value isFirst = createIsFirst(b, threadId, lanes);
    Value scratch = createArenaPointer(b, offset.getInt());
    SmallVector<int64_t> sizes = {1};
    llvm::append_range(sizes, cover);
    auto accessPart = [&](SplitOffset which) {
      SmallVector<SplitOffset> offsets(scratchType.getRank());
      offsets[0] = which;
      return RegionAccess(b, scratchType, scratch, offsets, sizes, kMaxVector,
                          indexer);
    };
    createGuarded(b, isFirst, [&] {
      RegionAccess access = accessPart({part, 0});
      access.assumeInside();
      storeFragment(b, access, indexer, pack(b, element, partial));
    });
    emitBarrier(b, op);
    SmallVector<Value> total(partial.size());
    for (int64_t index = 0; index < parts; ++index) {
      RegionAccess access = accessPart({Value(), index});
      Value loaded = loadFragment(b, access, indexer, element, Value());
      for (auto [slot, value] : llvm::zip(total, unpack(b, loaded)))
        slot = slot ? createCombine(b, op.getKind(), slot, value) : value;
    }
    partial = total;
    return success();
  }
};

} // namespace

void tilews::populateReductionPatterns(const TileTypeConverter &converter,
                                       LoweringContext &lowering,
                                       RewritePatternSet &patterns) {
  patterns.add<ReducePattern>(converter, lowering);
}
