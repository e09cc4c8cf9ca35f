//===- ConvertLayout.cpp - Fragments between layouts ----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `tile.convert_layout` and `tile.reshape`, by the plan of ConversionPlan.h. If
// every element stays in its warp, registers are exchanged by shuffles.
// Otherwise the fragment goes through scratch memory:
//
//   store in the old layout; barrier; load in the new layout
//
// Each side prefers wide accesses. Registers that are neighbours along the last
// dimension of the scratch buffer are brought next to each other first
// (`RunsFirst`), and the loads of the other side are put back into the order of
// the layout.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Patterns.h"
#include "tilews/Dialect/Tile/Analysis/Layout/ConversionPlan.h"

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

/// The access of one side, store or load, to the scratch buffer.
class ScratchSide {
public:
  ScratchSide(ImplicitLocOpBuilder &b, Value buffer, Type element,
              const ScratchLayout &scratch, const FragmentLayout &layout,
              Value threadId)
      : b(b), element(element), threadId(threadId),
        runs(layout,
             scratch.permutation.empty() ? 0 : scratch.permutation.back()),
        indexer(b, runs.layout.transpose(scratch.permutation), scratch.shape,
                threadId),
        access(b, getType(b, element, scratch), buffer,
               SmallVector<SplitOffset>(scratch.shape.size()), scratch.shape,
               kMaxVector, indexer) {}

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

template <typename OpT>
struct LayoutPattern : TilePattern<OpT> {
  using TilePattern<OpT>::TilePattern;

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    ConversionPlan plan = planConversion(op, this->getTarget().info);
    if (plan.exchange) {
      LDBG() << "shuffles in " << plan.exchange->getNumRounds()
             << " rounds, with " << plan.exchange->getNumSelects()
             << " selects a word: " << *op;
      rewriter.replaceOp(op,
                         createWarpExchange(b, this->getTarget(),
                                            *plan.exchange, adaptor.getSource(),
                                            this->getThreadId(b, op)));
      return success();
    }
    auto offset = op->template getAttrOfType<IntegerAttr>(TileDialect::kOffset);
    if (!offset)
      return op->emitError("needs scratch memory; run "
                           "--tile-plan-shared-memory first");
    LDBG() << "scratch memory at offset " << offset.getInt() << ": " << *op;
    rewriter.replaceOp(op, passThroughScratch(b, op, adaptor.getSource(), plan,
                                              offset.getInt()));
    return success();
  }

private:
  Value passThroughScratch(ImplicitLocOpBuilder &b, OpT op, Value vector,
                           const ConversionPlan &plan, int64_t offset) const {
    auto result = cast<RankedTensorType>(op.getType());
    Type element = cast<VectorType>(vector.getType()).getElementType();
    Value threadId = this->getThreadId(b, op);
    Value scratch = createArenaPointer(b, offset);
    ScratchSide(b, scratch, element, plan.written,
                getFragmentLayout(op.getSource().getType()), threadId)
        .store(vector);
    this->emitBarrier(b, op);
    return ScratchSide(b, scratch, element, plan.read,
                       getFragmentLayout(result), threadId)
        .load();
  }
};

} // namespace

void tilews::populateConvertLayoutPatterns(const TileTypeConverter &converter,
                                           LoweringContext &lowering,
                                           RewritePatternSet &patterns) {
  patterns.add<LayoutPattern<ConvertLayoutOp>, LayoutPattern<ReshapeOp>>(
      converter, lowering);
}
