//===- ConvertLayout.cpp - Fragments between layouts ----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `tile.convert_layout`, `tile.reshape` and `tile.flip`, by the plan of
// ConversionPlan.h. If every element stays in its warp, registers are exchanged
// by shuffles. Otherwise the fragment goes through scratch memory:
//
//   store in the old layout; barrier; load in the new layout
//
// For a flip the new layout is the old one with a thread's number replaced by
// that of its mirror, and registers in another order. A thread without a mirror
// loads each register by its own coordinates.
//
// Each side prefers wide accesses. Registers that are neighbours along the last
// dimension of the scratch buffer are brought next to each other first
// (`RunsFirst`), and the loads of the other side are put back into the order of
// the layout.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Patterns.h"
#include "tilews/Dialect/Tile/Analysis/Layout/ConversionPlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "convert-tile"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {
/// A fragment's layout with its registers reordered: those that are neighbours
/// along one dimension come first. `numbers[i]` is the original number of
/// register `i`.
///
/// Example: value modes {2, 8, 0} {4, 1, 1} and dimension 1 give
/// {4, 1, 1} {2, 8, 0} and numbers 0 2 4 6 1 3 5 7.
struct RunsFirst {
  FragmentLayout layout;
  SmallVector<int64_t> numbers;

  RunsFirst(const FragmentLayout &own, int64_t dim) {
    struct ValueMode {
      Mode mode;
      int64_t step;
    };
    SmallVector<ValueMode> left, ordered;
    int64_t step = 1;
    for (const Mode &mode : own.getValueModes()) {
      if (mode.extent > 1)
        left.push_back({mode, step});
      step *= mode.extent;
    }
    for (int64_t run = 1;;) {
      auto *next = llvm::find_if(left, [&](const ValueMode &placed) {
        return placed.mode.dim == dim && placed.mode.stride == run;
      });
      if (next == left.end())
        break;
      run *= next->mode.extent;
      ordered.push_back(*next);
      left.erase(next);
    }
    llvm::append_range(ordered, left);
    SmallVector<Mode> modes;
    numbers = {0};
    for (const ValueMode &placed : ordered) {
      modes.push_back(placed.mode);
      size_t count = numbers.size();
      for (int64_t digit = 1; digit < placed.mode.extent; ++digit)
        for (size_t i = 0; i < count; ++i)
          numbers.push_back(numbers[i] + digit * placed.step);
    }
    layout = FragmentLayout(own.getThreadModes(), modes);
  }
};

/// Returns where each register finds the element whose coordinates along `axes`
/// are the reverse of its own. Coordinates past the extent become negative.
static ElementPlacement getReversed(ImplicitLocOpBuilder &b,
                                    const FragmentIndexer &indexer,
                                    const ScratchLayout &scratch,
                                    ArrayRef<int64_t> axes) {
  ElementPlacement placement;
  for (auto [dim, axis] : llvm::enumerate(scratch.permutation)) {
    if (!llvm::is_contained(axes, axis))
      continue;
    Value last = arith::ConstantOp::create(
        b, b.getI32IntegerAttr(scratch.shape[dim] - 1));
    llvm::DenseMap<int64_t, Value> indices;
    SmallVector<Value> registers;
    for (int64_t v = 0; v < indexer.getNumValues(); ++v) {
      Value &index = indices[indexer.getConstants(v)[dim]];
      if (!index)
        index = arith::SubIOp::create(b, last, indexer.createCoord(b, v, dim));
      registers.push_back(index);
    }
    placement.indices.push_back({int64_t(dim), std::move(registers)});
  }
  return placement;
}

/// The access of one side, store or load, to the scratch buffer. A load may
/// have `reversed` axes.
class ScratchSide {
public:
  ScratchSide(ImplicitLocOpBuilder &b, Value buffer, Type element,
              const ScratchLayout &scratch, const FragmentLayout &layout,
              Value threadId, ArrayRef<int64_t> reversed = {})
      : b(b), element(element), threadId(threadId),
        runs(layout,
             scratch.permutation.empty() ? 0 : scratch.permutation.back()),
        indexer(b, runs.layout.transpose(scratch.permutation), scratch.shape,
                threadId),
        access(b, getType(b, element, scratch), buffer,
               SmallVector<SplitOffset>(scratch.shape.size()), scratch.shape,
               kMaxVector, indexer,
               getReversed(b, indexer, scratch, reversed)) {
    bool isExact =
        llvm::none_of(llvm::seq(indexer.getRank()),
                      [&](int64_t dim) { return indexer.overCovers(dim); });
    if (isExact)
      access.assumeInside();
  }

  void store(Value vector) {
    SmallVector<Value> registers = unpack(b, vector);
    SmallVector<Value> ordered = llvm::map_to_vector(
        runs.numbers, [&](int64_t number) { return registers[number]; });
    createGuarded(b, getOwnerPredicate(b, runs.layout, threadId), [&] {
      storeFragment(b, access, indexer, pack(b, element, ordered));
    });
  }

  Value load() {
    SmallVector<Value> ordered =
        unpack(b, loadFragment(b, access, indexer, element, Value()));
    SmallVector<Value> registers(ordered.size());
    for (auto [value, number] : llvm::zip_equal(ordered, runs.numbers))
      registers[number] = value;
    return pack(b, element, registers);
  }

private:
  static MemRefType getType(ImplicitLocOpBuilder &b, Type element,
                            const ScratchLayout &scratch) {
    MLIRContext *context = b.getContext();
    MemRefLayoutAttrInterface layout;
    if (!scratch.shape.empty())
      layout = SharedLayoutAttr::get(context, scratch.layout);
    return MemRefType::get(
        scratch.shape, element, layout,
        gpu::AddressSpaceAttr::get(context, gpu::AddressSpace::Workgroup));
  }

  ImplicitLocOpBuilder &b;
  Type element;
  Value threadId;
  RunsFirst runs;
  FragmentIndexer indexer;
  RegionAccess access;
};

/// What the patterns have in common.
template <typename OpT>
struct ScratchPattern : TilePattern<OpT> {
  using TilePattern<OpT>::TilePattern;

protected:
  /// Creates the pointer to the operation's scratch memory.
  FailureOr<Value> createScratch(ImplicitLocOpBuilder &b, OpT op) const {
    auto offset = op->template getAttrOfType<IntegerAttr>(TileDialect::kOffset);
    if (!offset)
      return op->emitError("needs scratch memory; run "
                           "--tile-plan-shared-memory first");
    LDBG() << "scratch memory at offset " << offset.getInt() << ": " << *op;
    return createArenaPointer(b, offset.getInt());
  }

  /// Writes the registers in the layout of the source, and waits for all
  /// threads to do so.
  void write(ImplicitLocOpBuilder &b, OpT op, Value scratch, Value vector,
             const ScratchLayout &layout, Value threadId) const {
    ScratchSide(b, scratch, getElement(vector), layout,
                getFragmentLayout(op.getSource().getType()), threadId)
        .store(vector);
    this->emitBarrier(b, op);
  }

  static Type getElement(Value vector) {
    return cast<VectorType>(vector.getType()).getElementType();
  }
};

template <typename OpT>
struct LayoutPattern : ScratchPattern<OpT> {
  using ScratchPattern<OpT>::ScratchPattern;

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    ConversionPlan plan = planConversion(op, this->getTarget().info);
    Value vector = adaptor.getSource(), threadId = this->getThreadId(b, op);
    if (plan.exchange) {
      LDBG() << "shuffles in " << plan.exchange->getNumRounds()
             << " rounds, with " << plan.exchange->getNumSelects()
             << " selects a word: " << *op;
      rewriter.replaceOp(op,
                         createWarpExchange(b, this->getTarget(),
                                            *plan.exchange, vector, threadId));
      return success();
    }
    FailureOr<Value> scratch = this->createScratch(b, op);
    if (failed(scratch))
      return failure();
    this->write(b, op, *scratch, vector, plan.written, threadId);
    rewriter.replaceOp(
        op, ScratchSide(b, *scratch, this->getElement(vector), plan.read,
                        getFragmentLayout(op.getType()), threadId)
                .load());
    return success();
  }
};

struct FlipPattern : ScratchPattern<FlipOp> {
  using ScratchPattern::ScratchPattern;

  LogicalResult
  matchAndRewrite(FlipOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    FlipPlan plan = planFlip(op, getTarget().info);
    Value vector = adaptor.getSource();
    if (plan.kind == ConversionKind::Shuffles) {
      vector = createWarpExchange(b, getTarget(), *plan.exchange, vector,
                                  getThreadId(b, op));
    } else if (plan.kind == ConversionKind::Shared) {
      FailureOr<Value> scratch = createScratch(b, op);
      if (failed(scratch))
        return failure();
      Value threadId = getThreadId(b, op);
      write(b, op, *scratch, vector, plan.written, threadId);
      vector = read(b, op, *scratch, getElement(vector), plan, threadId);
    }
    if (plan.mirror)
      vector = reorder(b, vector, plan.mirror->registers);
    rewriter.replaceOp(op, vector);
    return success();
  }

private:
  static Value read(ImplicitLocOpBuilder &b, FlipOp op, Value scratch,
                    Type element, const FlipPlan &plan, Value threadId) {
    FragmentLayout layout = getFragmentLayout(op.getType());
    if (plan.mirror)
      return ScratchSide(b, scratch, element, plan.read, layout,
                         createMirrored(b, *plan.mirror, threadId))
          .load();
    return ScratchSide(b, scratch, element, plan.read, layout, threadId,
                       op.getAxes())
        .load();
  }

  /// Computes `Mirror::getThread`.
  static Value createMirrored(ImplicitLocOpBuilder &b, const Mirror &mirror,
                              Value threadId) {
    auto constant = [&](int64_t value) {
      return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
    };
    if (std::optional<int64_t> bits = mirror.getThreadBits())
      return arith::XOrIOp::create(b, threadId, constant(*bits));
    Value mirrored = threadId;
    for (const Mirror::ThreadDigit &digit : mirror.threads) {
      Value value = arith::DivUIOp::create(b, threadId, constant(digit.step));
      value = arith::RemUIOp::create(b, value, constant(digit.extent));
      // The new digit less the old one.
      value = arith::MulIOp::create(b, value, constant(2));
      value = arith::SubIOp::create(b, constant(digit.extent - 1), value);
      value = arith::MulIOp::create(b, value, constant(digit.step));
      mirrored = arith::AddIOp::create(b, mirrored, value);
    }
    return mirrored;
  }

  static Value reorder(ImplicitLocOpBuilder &b, Value vector,
                       ArrayRef<int64_t> from) {
    SmallVector<Value> registers = unpack(b, vector);
    return pack(b, getElement(vector),
                llvm::map_to_vector(
                    from, [&](int64_t number) { return registers[number]; }));
  }
};

} // namespace

void tilews::populateConvertLayoutPatterns(const TileTypeConverter &converter,
                                           LoweringContext &lowering,
                                           RewritePatternSet &patterns) {
  patterns.add<LayoutPattern<ConvertLayoutOp>, LayoutPattern<ReshapeOp>,
               FlipPattern>(converter, lowering);
}
