//===- Debug.cpp - Printing and assertions --------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `tile.print` and `tile.assert` become calls of the device's printf. A
// fragment is printed by all threads, one line for each register, with the
// coordinates of its element:
//
//   tile.print "x" %x : tensor<4x8xf32>   ->   x [0, 3] 1.5
//
// Registers past the extents of the fragment, which layouts of more threads
// than elements have, print nothing. A failed assertion prints its message and
// traps.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Returns a number in the type that printf takes, and its format.
static std::pair<Value, StringRef> toPrintable(ImplicitLocOpBuilder &b,
                                               const TargetLowering &target,
                                               Value value, Type original,
                                               bool isUnsigned) {
  if (auto number = dyn_cast<FloatType>(original)) {
    if (number.getWidth() <= 8) {
      value = toRegister(b, value, original);
      Value vector = createSmallExtension(
          b, target, pack(b, value.getType(), value), original);
      if (!vector)
        return {value, "0x%x"};
      value = unpack(b, vector).front();
    }
    if (!value.getType().isF64())
      value = arith::ExtFOp::create(b, b.getF64Type(), value);
    return {value, "%g"};
  }
  isUnsigned |= original.isInteger(1);
  if (value.getType().getIntOrFloatBitWidth() < 64)
    value = isUnsigned
                ? arith::ExtUIOp::create(b, b.getI64Type(), value).getResult()
                : arith::ExtSIOp::create(b, b.getI64Type(), value).getResult();
  return {value, isUnsigned ? "%llu" : "%lld"};
}

namespace {

struct PrintPattern : TilePattern<PrintOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(PrintOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (getTarget().info.isAMD())
      return op.emitError("printing from a kernel is not supported on ")
             << getTarget().info.chip << "; remove the tile.print";
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    std::string message = escape(op.getMessage());
    Value threadId = getThreadId(b, op);
    for (auto [place, original, value] :
         llvm::enumerate(op.getValues(), adaptor.getValues())) {
      bool isUnsigned = op.isUnsigned(place);
      if (auto fragment = dyn_cast<RankedTensorType>(original.getType()))
        printFragment(b, message, fragment, value, isUnsigned, threadId);
      else
        printScalar(b, message, original.getType(), value, isUnsigned,
                    threadId);
    }
    if (op.getValues().empty())
      createGuarded(b, isFirstThread(b, threadId),
                    [&] { getTarget().emitPrintf(b, message + "\n", {}); });
    rewriter.eraseOp(op);
    return success();
  }

  /// Escapes the message, which is text and not a format.
  static std::string escape(StringRef message) {
    std::string escaped;
    for (char c : message)
      escaped += c == '%' ? std::string("%%") : std::string(1, c);
    return escaped;
  }

  void printScalar(ImplicitLocOpBuilder &b, StringRef message, Type type,
                   Value value, bool isUnsigned, Value threadId) const {
    createGuarded(b, isFirstThread(b, threadId), [&] {
      auto [printable, format] =
          toPrintable(b, getTarget(), value, type, isUnsigned);
      getTarget().emitPrintf(b, (message + " " + format + "\n").str(),
                             printable);
    });
  }

  void printFragment(ImplicitLocOpBuilder &b, StringRef message,
                     RankedTensorType type, Value vector, bool isUnsigned,
                     Value threadId) const {
    FragmentIndexer indexer(b, getFragmentLayout(type), type.getShape(),
                            threadId);
    SmallVector<Value> registers = unpack(b, vector);
    for (size_t v = 0; v < registers.size(); ++v) {
      SmallVector<Value> operands;
      std::string format = (message + " [").str();
      Value inside;
      for (int64_t dim = 0; dim < type.getRank(); ++dim) {
        Value coord = arith::ConstantOp::create(
            b, b.getI32IntegerAttr(indexer.getConstants(v)[dim]));
        if (Value base = indexer.getBase(dim))
          coord = arith::AddIOp::create(b, base, coord);
        operands.push_back(coord);
        format += dim ? ", %d" : "%d";
        Value extent = arith::ConstantOp::create(
            b, b.getI32IntegerAttr(type.getDimSize(dim)));
        Value holds =
            arith::CmpIOp::create(b, arith::CmpIPredicate::ult, coord, extent);
        inside = inside ? arith::AndIOp::create(b, inside, holds).getResult()
                        : holds;
      }
      auto print = [&] {
        auto [printable, number] =
            toPrintable(b, getTarget(),
                        fromRegister(b, registers[v], type.getElementType()),
                        type.getElementType(), isUnsigned);
        operands.push_back(printable);
        getTarget().emitPrintf(b, format + "] " + number.str() + "\n",
                               operands);
      };
      createGuarded(b, inside, print);
    }
  }
};

struct AssertPattern : TilePattern<AssertOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(AssertOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value condition = adaptor.getCondition();
    if (auto fragment = dyn_cast<RankedTensorType>(op.getCondition().getType()))
      condition =
          getFragmentCondition(b, fragment, condition, getThreadId(b, op));
    Value truth = arith::ConstantOp::create(b, b.getBoolAttr(true));
    Value fails = arith::XOrIOp::create(b, condition, truth);
    createGuarded(b, fails, [&] {
      getTarget().emitPrintf(
          b,
          "assertion failed: " + PrintPattern::escape(op.getMessage()) + "\n",
          {});
      LLVM::Trap::create(b);
    });
    rewriter.eraseOp(op);
    return success();
  }

  /// Returns whether the condition holds in all registers of this thread that
  /// hold an element.
  Value getFragmentCondition(ImplicitLocOpBuilder &b, RankedTensorType type,
                             Value vector, Value threadId) const {
    FragmentIndexer indexer(b, getFragmentLayout(type), type.getShape(),
                            threadId);
    Value all = arith::ConstantOp::create(b, b.getBoolAttr(true));
    for (auto [v, value] : llvm::enumerate(unpack(b, vector))) {
      for (int64_t dim = 0; dim < type.getRank(); ++dim) {
        if (!indexer.overCovers(dim))
          continue;
        Value coord = arith::ConstantOp::create(
            b, b.getI32IntegerAttr(indexer.getConstants(v)[dim]));
        if (Value base = indexer.getBase(dim))
          coord = arith::AddIOp::create(b, base, coord);
        Value extent = arith::ConstantOp::create(
            b, b.getI32IntegerAttr(type.getDimSize(dim)));
        Value outside =
            arith::CmpIOp::create(b, arith::CmpIPredicate::uge, coord, extent);
        value = arith::OrIOp::create(b, value, outside);
      }
      all = arith::AndIOp::create(b, all, value);
    }
    return all;
  }
};

} // namespace

void tilews::populateDebugPatterns(const TileTypeConverter &converter,
                                   LoweringContext &lowering,
                                   RewritePatternSet &patterns) {
  patterns.add<PrintPattern, AssertPattern>(converter, lowering);
}
