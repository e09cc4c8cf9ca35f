//===- ExpandIntegerPower.cpp - Powers of integers ------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Powers of integers by repeated squaring (Knuth, TAOCP volume 2, 4.6.3). A
// loop over the bits of the exponent keeps the code short. All multiplications
// wrap around. For 3^5, with the bits 101 of the exponent from the lowest one:
//
//   bit 1: power = 3,   square = 9
//   bit 0: power = 3,   square = 81
//   bit 1: power = 243
//
// A negative exponent means the reciprocal, rounded toward zero: 0, but for the
// bases 0, 1 and -1. Selects after the loop choose it.
//
//===----------------------------------------------------------------------===//

#include "Conversion/ThreadCode/RealEmitter.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilews;

namespace {
/// Computes a power of integers by repeated squaring, modulo 2^bits. The bits
/// of a negative exponent are right for the bases 1 and -1, which depend on the
/// lowest bit only; with others the result is the reciprocal toward zero, and
/// -1 for the base 0, as in the interpreter.
struct IntegerPowerPattern : OpRewritePattern<math::IPowIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::IPowIOp op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Type type = op.getType(), element = getElementTypeOrSelf(type);
    auto constant = [&](int64_t value) -> Value {
      TypedAttr attr = b.getIntegerAttr(element, value);
      if (auto vector = dyn_cast<VectorType>(type))
        attr = DenseElementsAttr::get(vector, attr);
      return arith::ConstantOp::create(b, attr);
    };
    auto is = [&](arith::CmpIPredicate predicate, Value x, Value y) -> Value {
      return arith::CmpIOp::create(b, predicate, x, y);
    };
    auto select = [&](Value condition, Value x, Value y) -> Value {
      return arith::SelectOp::create(b, condition, x, y);
    };
    Value base = op.getLhs(), exponent = op.getRhs();
    Value zero = constant(0), one = constant(1), minusOne = constant(-1);
    int64_t bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
    auto loop = scf::ForOp::create(b, arith::ConstantIndexOp::create(b, 0),
                                   arith::ConstantIndexOp::create(b, bits),
                                   arith::ConstantIndexOp::create(b, 1),
                                   ValueRange{one, base, exponent});
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value power = loop.getRegionIterArg(0), square = loop.getRegionIterArg(1),
            rest = loop.getRegionIterArg(2);
      Value bit = arith::AndIOp::create(b, rest, one);
      Value isSet = is(arith::CmpIPredicate::ne, bit, zero);
      Value product =
          arith::MulIOp::create(b, power, select(isSet, square, one));
      Value next = arith::MulIOp::create(b, square, square);
      rest = arith::ShRUIOp::create(b, rest, one);
      scf::YieldOp::create(b, ValueRange{product, next, rest});
    }
    using Predicate = arith::CmpIPredicate;
    Value isUnit = arith::OrIOp::create(b, is(Predicate::eq, base, one),
                                        is(Predicate::eq, base, minusOne));
    Value inverse = select(is(Predicate::eq, base, zero), minusOne,
                           select(isUnit, loop.getResult(0), zero));
    rewriter.replaceOp(op, select(is(Predicate::slt, exponent, zero), inverse,
                                  loop.getResult(0)));
    return success();
  }
};
} // namespace

void tilews::populateIntegerPowerPatterns(RewritePatternSet &patterns) {
  patterns.add<IntegerPowerPattern>(patterns.getContext());
}
