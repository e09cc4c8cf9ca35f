//===- Debug.cpp - Printing from a kernel ---------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `tile.print` becomes calls of the device's printf, in the form of the
// interpreter. A fragment is printed by all threads, one line for each
// register, with the block and the coordinates of its element:
//
//   tile.print "x" %x : tensor<4x8xf32>   ->   block (2, 0, 0): x (0, 3) 1.5
//
// Registers past the extents of the fragment, which layouts of more threads
// than elements have, print nothing. A variable of the module counts lines; the
// launch resets it. Lines past the limit, which is beside it, are left out, and
// the first of them says so.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Patterns.h"

#include "tilews/Conversion/Common/DeviceVariables.h"

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
             << getTarget().info.chip
             << ", whose printf needs a buffer of AMD's runtime; run the "
                "kernel in the interpreter, with arrays in host memory and "
                "backend=\"cpu\", or remove the tile.print";
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    std::string message =
        "block (%d, %d, %d): " + escapeFormat(op.getMessage());
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
                    [&] { printLine(b, message, {}); });
    rewriter.eraseOp(op);
    return success();
  }

  /// Prints the block, by the start of the format, and other values, unless
  /// enough lines have been printed.
  void printLine(ImplicitLocOpBuilder &b, const std::string &format,
                 ArrayRef<Value> values) const {
    auto [number, limit] = countPrintedLine(b, getTarget().variables);
    Value prints =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number, limit);
    createGuarded(b, prints, [&] {
      SmallVector<Value> operands = getBlockCoordinates(b, getTarget());
      operands.append(values.begin(), values.end());
      getTarget().emitPrintf(b, format + "\n", operands);
    });
    Value isNext =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number, limit);
    createGuarded(b, isNext, [&] {
      getTarget().emitPrintf(b,
                             "... and more; TILEWS_PRINT_LINES=0 prints all "
                             "that kernels print\n",
                             {});
    });
  }

  void printScalar(ImplicitLocOpBuilder &b, StringRef message, Type type,
                   Value value, bool isUnsigned, Value threadId) const {
    createGuarded(b, isFirstThread(b, threadId), [&] {
      auto [printable, format] =
          toPrintable(b, getTarget(), value, type, isUnsigned);
      printLine(b, (message + " " + format).str(), printable);
    });
  }

  void printFragment(ImplicitLocOpBuilder &b, StringRef message,
                     RankedTensorType type, Value vector, bool isUnsigned,
                     Value threadId) const {
    FragmentLayout layout = getFragmentLayout(type);
    FragmentIndexer indexer(b, layout, type.getShape(), threadId);
    Value owns = getOwnerPredicate(b, layout, threadId);
    SmallVector<Value> registers = unpack(b, vector);
    for (size_t v = 0; v < registers.size(); ++v) {
      SmallVector<Value> operands;
      std::string format = (message + " (").str();
      Value inside = owns;
      for (int64_t dim = 0; dim < type.getRank(); ++dim) {
        operands.push_back(indexer.createCoord(b, v, dim));
        format += dim ? ", %d" : "%d";
        if (!indexer.overCovers(dim))
          continue;
        Value holds = indexer.createIsInside(b, v, dim);
        inside = inside ? arith::AndIOp::create(b, inside, holds).getResult()
                        : holds;
      }
      auto print = [&] {
        auto [printable, number] =
            toPrintable(b, getTarget(),
                        fromRegister(b, registers[v], type.getElementType()),
                        type.getElementType(), isUnsigned);
        operands.push_back(printable);
        printLine(b, format + ") " + number.str(), operands);
      };
      createGuarded(b, inside, print);
    }
  }
};

} // namespace

void tilews::populateDebugPatterns(const TileTypeConverter &converter,
                                   LoweringContext &lowering,
                                   RewritePatternSet &patterns) {
  patterns.add<PrintPattern>(converter, lowering);
}
