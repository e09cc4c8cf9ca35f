//===- Scan.cpp - Running combinations ------------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inclusive scans, digit by digit of the coordinate along the axis, the lowest
// first (AxisDigits.h). Elements that agree in all digits not yet handled form
// a block. The scanner keeps, for each element, the combination of its block up
// to and including itself, and for each block the total. Handling a digit joins
// blocks:
//
//   values          1 2 3 4     blocks {1}{2}{3}{4}
//   digit 0         1 3 3 7     blocks {1 2}{3 4}, totals 3 and 7
//   digit 1         1 3 6 10    one block, total 10
//
// A digit of lanes costs one shuffle of the totals per bit, a digit across
// warps a round through scratch memory.
//
//===----------------------------------------------------------------------===//

#include "Reduction.h"

#include "tilews/Dialect/Tile/Analysis/Memory/Scratch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {

/// Scans digit by digit, the lowest first. Elements that agree in all digits
/// not yet handled form a block. Each element has a prefix, the combination of
/// its block up to itself, and each block a total. A digit joins blocks: the
/// totals of earlier blocks are combined into the prefixes of later ones.
class Scanner {
public:
  Scanner(ImplicitLocOpBuilder &b, ScanOp op, const TargetLowering &target,
          Value threadId, int64_t threads, SmallVector<Value> registers)
      : b(b), op(op), target(target), threadId(threadId), threads(threads),
        prefixes(registers), totals(std::move(registers)) {
    for (size_t v = 0; v < prefixes.size(); ++v)
      blocks.push_back(v);
    forgetBefore();
  }

  /// Joins the registers that differ in a digit.
  void joinRegisters(const AxisDigit &digit) {
    flush();
    SmallVector<int64_t> joined(totals.size(), -1);
    SmallVector<Value> joinedTotals;
    int64_t count = prefixes.size();
    for (int64_t v = 0; v < count; ++v) {
      if (digit.of(v) != 0 || joined[blocks[v]] >= 0)
        continue;
      Value run;
      for (int64_t i = 0; i < digit.extent; ++i) {
        int64_t value = op.getReverse() ? digit.extent - 1 - i : i;
        int64_t block = blocks[v + value * digit.step];
        before[block] = run;
        run = run ? combine(run, totals[block]) : totals[block];
        joined[block] = joinedTotals.size();
      }
      joinedTotals.push_back(run);
    }
    flush();
    for (int64_t &block : blocks)
      block = joined[block];
    totals = std::move(joinedTotals);
    forgetBefore();
  }

  /// Joins the lanes that differ in a bit of their number.
  void joinLanes(int64_t bit) {
    Value isSet =
        compare(arith::CmpIPredicate::ne,
                arith::AndIOp::create(b, threadId, constant(bit)), constant(0));
    for (auto [total, earlier] : llvm::zip_equal(totals, before)) {
      Value other = createShuffleXor(b, target, total, bit);
      Value kept = earlier ? earlier : identity();
      Value grown = earlier ? combine(other, earlier) : other;
      earlier = op.getReverse() ? select(isSet, kept, grown)
                                : select(isSet, grown, kept);
      total = combine(total, other);
    }
  }

  /// Joins threads that differ in a digit of their number. Each thread writes
  /// its totals to scratch memory, where the totals of one block are
  /// contiguous.
  void joinThreads(const AxisDigit &digit, Value scratch,
                   const ThreadGroup &group) {
    auto address = [&](size_t block, Value thread) {
      Value index = arith::AddIOp::create(b, thread, constant(block * threads));
      return LLVM::GEPOp::create(b, scratch.getType(), getMemory(), scratch,
                                 ArrayRef<LLVM::GEPArg>{index});
    };
    for (auto [block, total] : llvm::enumerate(totals))
      createStore(b, total, address(block, threadId), getElement(), 1);
    target.emitBarrier(b, group);
    Value own = arith::DivUIOp::create(b, threadId, constant(digit.step));
    own = arith::RemUIOp::create(b, own, constant(digit.extent));
    Value first = arith::SubIOp::create(
        b, threadId, arith::MulIOp::create(b, own, constant(digit.step)));
    for (auto [block, total] : llvm::enumerate(totals)) {
      Value earlier = identity(), all;
      for (int64_t value = 0; value < digit.extent; ++value) {
        Value thread =
            arith::AddIOp::create(b, first, constant(value * digit.step));
        Value other = createLoad(b, address(block, thread), getElement(), 1);
        auto isBefore = op.getReverse() ? arith::CmpIPredicate::ult
                                        : arith::CmpIPredicate::ugt;
        earlier = select(compare(isBefore, own, constant(value)),
                         combine(earlier, other), earlier);
        all = all ? combine(all, other) : other;
      }
      before[block] = before[block] ? combine(earlier, before[block]) : earlier;
      total = all;
    }
  }

  SmallVector<Value> finish() {
    flush();
    return prefixes;
  }
  Type getElement() const { return prefixes.front().getType(); }

private:
  /// Combines what comes before a block into the prefixes of its elements.
  void flush() {
    for (auto [prefix, block] : llvm::zip_equal(prefixes, blocks))
      if (before[block])
        prefix = combine(before[block], prefix);
    forgetBefore();
  }
  void forgetBefore() { before.assign(totals.size(), Value()); }

  Value combine(Value lhs, Value rhs) {
    return createCombine(b, op.getKind(), lhs, rhs);
  }
  Value identity() { return createIdentity(b, op.getKind(), getElement()); }
  Value constant(int64_t value) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  }
  Value compare(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return arith::CmpIOp::create(b, predicate, lhs, rhs);
  }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(b, condition, yes, no);
  }
  Type getMemory() {
    int64_t bytes = getScratchElementBytes(getElement());
    return b.getIntegerType(8 * bytes);
  }

  ImplicitLocOpBuilder &b;
  ScanOp op;
  const TargetLowering &target;
  Value threadId;
  int64_t threads;
  /// For each register its prefix, and its block.
  SmallVector<Value> prefixes;
  SmallVector<int64_t> blocks;
  /// For each block its total, and what comes before it and is not yet combined
  /// into the prefixes of its elements.
  SmallVector<Value> totals, before;
};

struct ScanPattern : TilePattern<ScanOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(ScanOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (isSmallFloat(getElementTypeOrSelf(op.getType())))
      return rewriter.notifyMatchFailure(op, "the type has no arithmetic");
    FailureOr<SmallVector<AxisDigit>> digits = getAxisDigits(op, getTarget());
    if (failed(digits))
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getType());
    Value threadId = getThreadId(b, op);
    FragmentIndexer indexer(b, getFragmentLayout(type), type.getShape(),
                            threadId);
    SmallVector<Value> registers = unpack(b, adaptor.getSource());
    fillPastExtent(b, op.getKind(), indexer, op.getAxis(), registers);
    Scanner scanner(b, op, getTarget(), threadId, getNumThreads(op), registers);
    auto offset = op->getAttrOfType<IntegerAttr>(TileDialect::kOffset);
    bool isUsed = false;
    for (const AxisDigit &digit : *digits) {
      switch (digit.place) {
      case AxisDigit::Place::Register:
        scanner.joinRegisters(digit);
        break;
      case AxisDigit::Place::Lane:
        for (int64_t bit = 1; bit < digit.extent; bit *= 2)
          scanner.joinLanes(digit.step * bit);
        break;
      case AxisDigit::Place::Scratch:
        if (!offset)
          return op.emitError("needs scratch memory; run "
                              "--tile-plan-shared-memory first");
        if (isUsed)
          emitBarrier(b, op);
        scanner.joinThreads(digit, createArenaPointer(b, offset.getInt()),
                            lowering.getThreads(op));
        isUsed = true;
        break;
      }
    }
    Value result = pack(b, scanner.getElement(), scanner.finish());
    rewriter.replaceOp(
        op, normalizeRegister(b, result, getElementTypeOrSelf(op.getType())));
    return success();
  }
};

} // namespace

void tilews::populateScanPatterns(const TileTypeConverter &converter,
                                  LoweringContext &lowering,
                                  RewritePatternSet &patterns) {
  patterns.add<ScanPattern>(converter, lowering);
}
