//===- Assertions.cpp - Assertions of a kernel ----------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `tile.assert` becomes a branch to a trap. The branch first reports the
// failure to the host. Where the device has a printf, it prints it as well:
//
//   block (2, 0, 0): assertion failed: no root (k.py:7)
//
// A fragment of conditions fails where a register of the thread does that holds
// an element. The report has the first such element; it is computed in the
// branch only.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/DeviceVariables.h"
#include "tilews/Conversion/Common/Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {

/// The conditions of a fragment in the registers of one thread.
class FragmentConditions {
public:
  FragmentConditions(ImplicitLocOpBuilder &b, RankedTensorType type,
                     Value vector, Value threadId)
      : b(b), type(type), registers(unpack(b, vector)),
        indexer(b, getFragmentLayout(type), type.getShape(), threadId) {}

  /// Returns whether the condition holds in all registers that hold an element.
  Value getAll() {
    Value all = arith::ConstantOp::create(b, b.getBoolAttr(true));
    for (size_t v = 0; v < registers.size(); ++v) {
      Value value = registers[v];
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        if (indexer.overCovers(dim))
          value = arith::OrIOp::create(b, value, isOutside(v, dim));
      holds.push_back(value);
      all = arith::AndIOp::create(b, all, value);
    }
    return all;
  }

  /// Returns the element, in row-major order, of the first register in which
  /// the condition does not hold.
  Value getFailed() {
    Value failed = arith::ConstantOp::create(b, b.getI64IntegerAttr(0));
    for (size_t v = registers.size(); v-- > 0;)
      failed = arith::SelectOp::create(b, holds[v], failed, getElement(v));
    return failed;
  }

private:
  Value isOutside(size_t v, int64_t dim) {
    Value extent =
        arith::ConstantOp::create(b, b.getI32IntegerAttr(type.getDimSize(dim)));
    return arith::CmpIOp::create(b, arith::CmpIPredicate::uge,
                                 indexer.createCoord(b, v, dim), extent);
  }

  Value getElement(size_t v) {
    Value element = arith::ConstantOp::create(b, b.getI64IntegerAttr(0));
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      Value extent = arith::ConstantOp::create(
          b, b.getI64IntegerAttr(type.getDimSize(dim)));
      Value coord = arith::ExtUIOp::create(b, b.getI64Type(),
                                           indexer.createCoord(b, v, dim));
      element = arith::AddIOp::create(
          b, arith::MulIOp::create(b, element, extent), coord);
    }
    return element;
  }

  ImplicitLocOpBuilder &b;
  RankedTensorType type;
  SmallVector<Value> registers, holds;
  FragmentIndexer indexer;
};

struct AssertPattern : TilePattern<AssertOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(AssertOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value condition = adaptor.getCondition();
    std::optional<FragmentConditions> fragment;
    auto type = dyn_cast<RankedTensorType>(op.getCondition().getType());
    if (type) {
      fragment.emplace(b, type, condition, getThreadId(b, op));
      condition = fragment->getAll();
    }
    Value truth = arith::ConstantOp::create(b, b.getBoolAttr(true));
    Value fails = arith::XOrIOp::create(b, condition, truth);
    createGuarded(b, fails, [&] {
      tell(b, op, adaptor.getBlock(),
           fragment ? fragment->getFailed() : Value());
      LLVM::Trap::create(b);
    });
    rewriter.eraseOp(op);
    return success();
  }

  /// Reports and prints the failure.
  void tell(ImplicitLocOpBuilder &b, AssertOp op, ValueRange named,
            Value element) const {
    SmallVector<Value> block = getBlockCoordinates(b, getTarget(), named);
    std::optional<ArrayRef<int64_t>> shape;
    if (auto type = dyn_cast<RankedTensorType>(op.getCondition().getType()))
      shape = type.getShape();
    reportFailure(b, getTarget(),
                  getTarget().variables.addAssertion(op.getMessage(), shape),
                  block, element);
    getTarget().emitPrintf(b,
                           "block (%d, %d, %d): assertion failed: " +
                               escapeFormat(op.getMessage()) + "\n",
                           block);
  }
};

} // namespace

void tilews::populateAssertionPatterns(const TileTypeConverter &converter,
                                       LoweringContext &lowering,
                                       RewritePatternSet &patterns) {
  patterns.add<AssertPattern>(converter, lowering);
}
