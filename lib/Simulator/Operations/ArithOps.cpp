//===- ArithOps.cpp - Integer and floating point arithmetic ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations of arith and their twins in the index dialect. Integers add and
// multiply as unsigned numbers, where C++ defines the overflow, and wrap to
// their width afterwards. Elements are kept sign-extended: that keeps the
// unsigned order, too, so unsigned comparisons of int64_t values compare narrow
// integers correctly. What upstream calls poison has a value here: a shift by
// the width or more shifts everything out, a quotient by zero has all bits set,
// and the remainder is the dividend.
//
//===----------------------------------------------------------------------===//

#include "Simulator/Elementwise.h"
#include "Simulator/Numbers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

namespace {
/// Registers one integer function for an arith and an index operation.
template <typename ArithOpT, typename IndexOpT, typename Fn>
void addIntegers(Registry &registry, Fn fn) {
  addSized<ArithOpT, int64_t, int64_t>(registry, fn);
  addSized<IndexOpT, int64_t, int64_t>(registry, fn);
}
} // namespace

static void registerRingOps(Registry &registry) {
  using U = uint64_t;
  addIntegers<arith::AddIOp, index::AddOp>(
      registry, [](unsigned, int64_t a, int64_t b) { return U(a) + U(b); });
  addIntegers<arith::SubIOp, index::SubOp>(
      registry, [](unsigned, int64_t a, int64_t b) { return U(a) - U(b); });
  addIntegers<arith::MulIOp, index::MulOp>(
      registry, [](unsigned, int64_t a, int64_t b) { return U(a) * U(b); });
  addIntegers<arith::AndIOp, index::AndOp>(
      registry, [](unsigned, int64_t a, int64_t b) { return a & b; });
  addIntegers<arith::OrIOp, index::OrOp>(
      registry, [](unsigned, int64_t a, int64_t b) { return a | b; });
  addIntegers<arith::XOrIOp, index::XOrOp>(
      registry, [](unsigned, int64_t a, int64_t b) { return a ^ b; });
}

static void registerOrderOps(Registry &registry) {
  addIntegers<arith::MaxSIOp, index::MaxSOp>(
      registry, [](unsigned, int64_t a, int64_t b) { return std::max(a, b); });
  addIntegers<arith::MinSIOp, index::MinSOp>(
      registry, [](unsigned, int64_t a, int64_t b) { return std::min(a, b); });
  // Sign extension keeps the order of unsigned numbers.
  addIntegers<arith::MaxUIOp, index::MaxUOp>(
      registry,
      [](unsigned, int64_t a, int64_t b) { return std::max<uint64_t>(a, b); });
  addIntegers<arith::MinUIOp, index::MinUOp>(
      registry,
      [](unsigned, int64_t a, int64_t b) { return std::min<uint64_t>(a, b); });
}

static void registerShiftOps(Registry &registry) {
  addIntegers<arith::ShLIOp, index::ShlOp>(
      registry, [](unsigned width, int64_t a, int64_t by) -> int64_t {
        return getUnsigned(by, width) < width ? uint64_t(a) << by : 0;
      });
  addIntegers<arith::ShRUIOp, index::ShrUOp>(
      registry, [](unsigned width, int64_t a, int64_t by) -> int64_t {
        return getUnsigned(by, width) < width ? getUnsigned(a, width) >> by : 0;
      });
  addIntegers<arith::ShRSIOp, index::ShrSOp>(
      registry, [](unsigned width, int64_t a, int64_t by) {
        return a >> std::min<uint64_t>(getUnsigned(by, width), 63);
      });
}

/// Registers a division. `fn` need not handle division by zero, nor that of the
/// lowest integer by -1.
template <typename OpT, bool Signed, bool Remainder, typename Fn>
static void addDivision(Registry &registry, Fn fn) {
  addSized<OpT, int64_t, int64_t>(
      registry, [fn](unsigned width, int64_t a, int64_t b) -> int64_t {
        if (b == 0)
          return Remainder ? a : -1;
        if (!Signed)
          return fn(getUnsigned(a, width), getUnsigned(b, width));
        if (b == -1) // The quotient wraps to the width.
          return Remainder ? 0 : 0 - uint64_t(a);
        return fn(a, b);
      });
}
template <typename ArithOpT, typename IndexOpT, bool Signed,
          bool Remainder = false, typename Fn>
static void addDivisions(Registry &registry, Fn fn) {
  addDivision<ArithOpT, Signed, Remainder>(registry, fn);
  addDivision<IndexOpT, Signed, Remainder>(registry, fn);
}

static void registerDivisionOps(Registry &registry) {
  auto divide = [](auto a, auto b) { return a / b; };
  auto remainder = [](auto a, auto b) { return a % b; };
  auto ceilUnsigned = [](uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
  };
  addDivisions<arith::DivSIOp, index::DivSOp, true>(registry, divide);
  addDivisions<arith::DivUIOp, index::DivUOp, false>(registry, divide);
  addDivisions<arith::RemSIOp, index::RemSOp, true, true>(registry, remainder);
  addDivisions<arith::RemUIOp, index::RemUOp, false, true>(registry, remainder);
  addDivisions<arith::CeilDivUIOp, index::CeilDivUOp, false>(registry,
                                                             ceilUnsigned);
  addDivisions<arith::CeilDivSIOp, index::CeilDivSOp, true>(
      registry, [](int64_t a, int64_t b) {
        return a / b + (a % b != 0 && (a % b < 0) == (b < 0));
      });
  addDivisions<arith::FloorDivSIOp, index::FloorDivSOp, true>(
      registry, [](int64_t a, int64_t b) {
        return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
      });
}

/// Registers operations with a low and a high half as results.
static void registerExtendedOps(Registry &registry) {
  registry.add<arith::AddUIExtendedOp>(
      [](Frame &frame, const Instruction &inst) {
        unsigned width = inst.operandType.width;
        (void)mapElements<int64_t, int64_t, int64_t>(
            frame, inst,
            [&](int64_t a, int64_t b) -> int64_t {
              uint64_t sum = uint64_t(a) + uint64_t(b);
              return getUnsigned(sum, width) < getUnsigned(a, width);
            },
            /*result=*/1);
        return mapElements<int64_t, int64_t, int64_t>(
            frame, inst, [](uint64_t a, uint64_t b) { return a + b; });
      });
  auto addMultiply = [&](StringRef name, bool isSigned) {
    registry.add(name, [isSigned](Frame &frame, const Instruction &inst) {
      unsigned width = inst.operandType.width;
      auto extend = [&](int64_t value) {
        return isSigned ? __int128(value) : __int128(getUnsigned(value, width));
      };
      // The high half: the bits from `width` on of the exact result.
      (void)mapElements<int64_t, int64_t, int64_t>(
          frame, inst,
          [&](int64_t a, int64_t b) -> int64_t {
            return (unsigned __int128)(extend(a) * extend(b)) >> width;
          },
          /*result=*/1);
      return mapElements<int64_t, int64_t, int64_t>(
          frame, inst, [](uint64_t a, uint64_t b) { return a * b; });
    });
  };
  addMultiply(arith::MulSIExtendedOp::getOperationName(), true);
  addMultiply(arith::MulUIExtendedOp::getOperationName(), false);
}

//===----------------------------------------------------------------------===//
// Floating point
//===----------------------------------------------------------------------===//

template <typename OpT, typename Fn>
static void addReals(Registry &registry, Fn fn) {
  addElementwise<OpT, double, double, double>(registry, fn);
}

static void registerFloatOps(Registry &registry) {
  addReals<arith::AddFOp>(registry, [](double a, double b) { return a + b; });
  addReals<arith::SubFOp>(registry, [](double a, double b) { return a - b; });
  addReals<arith::MulFOp>(registry, [](double a, double b) { return a * b; });
  addReals<arith::DivFOp>(registry, [](double a, double b) { return a / b; });
  addReals<arith::RemFOp>(registry,
                          [](double a, double b) { return std::fmod(a, b); });
  addReals<arith::MaxNumFOp>(
      registry, [](double a, double b) { return maxNumber(a, b); });
  addReals<arith::MinNumFOp>(
      registry, [](double a, double b) { return minNumber(a, b); });
  addReals<arith::MaximumFOp>(registry, [](double a, double b) {
    return std::isnan(a) || std::isnan(b) ? a + b : maxNumber(a, b);
  });
  addReals<arith::MinimumFOp>(registry, [](double a, double b) {
    return std::isnan(a) || std::isnan(b) ? a + b : minNumber(a, b);
  });
  addElementwise<arith::NegFOp, double, double>(registry,
                                                [](double a) { return -a; });
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

template <typename T, typename Fn>
static LogicalResult compare(Frame &frame, const Instruction &inst, Fn fn) {
  return mapElements<int64_t, T, T>(
      frame, inst, [&](T a, T b) { return -int64_t(fn(a, b)); });
}

static LogicalResult compareIntegers(Frame &frame, const Instruction &inst,
                                     arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  auto isSigned = [&](auto fn) { return compare<int64_t>(frame, inst, fn); };
  // Sign extension keeps the order of unsigned numbers.
  auto isUnsigned = [&](auto fn) {
    return compare<int64_t>(frame, inst,
                            [&](uint64_t a, uint64_t b) { return fn(a, b); });
  };
  switch (predicate) {
  case P::eq:
    return isSigned(std::equal_to<>());
  case P::ne:
    return isSigned(std::not_equal_to<>());
  case P::slt:
    return isSigned(std::less<>());
  case P::sle:
    return isSigned(std::less_equal<>());
  case P::sgt:
    return isSigned(std::greater<>());
  case P::sge:
    return isSigned(std::greater_equal<>());
  case P::ult:
    return isUnsigned(std::less<>());
  case P::ule:
    return isUnsigned(std::less_equal<>());
  case P::ugt:
    return isUnsigned(std::greater<>());
  case P::uge:
    return isUnsigned(std::greater_equal<>());
  }
  llvm_unreachable("covered switch");
}

static LogicalResult compareReals(Frame &frame, const Instruction &inst,
                                  arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  // The outcomes for which the predicate holds: one bit each for equal (1),
  // greater (2), less (4) and unordered (8).
  unsigned outcomes = [&]() -> unsigned {
    switch (predicate) {
    case P::AlwaysFalse:
      return 0;
    case P::OEQ:
      return 1;
    case P::OGT:
      return 2;
    case P::OGE:
      return 3;
    case P::OLT:
      return 4;
    case P::OLE:
      return 5;
    case P::ONE:
      return 6;
    case P::ORD:
      return 7;
    case P::UNO:
      return 8;
    case P::UEQ:
      return 9;
    case P::UGT:
      return 10;
    case P::UGE:
      return 11;
    case P::ULT:
      return 12;
    case P::ULE:
      return 13;
    case P::UNE:
      return 14;
    case P::AlwaysTrue:
      return 15;
    }
    llvm_unreachable("covered switch");
  }();
  return compare<double>(frame, inst, [&](double a, double b) {
    unsigned outcome = a == b ? 1 : a > b ? 2 : a < b ? 4 : 8;
    return (outcomes & outcome) != 0;
  });
}

static void registerCompareOps(Registry &registry) {
  registry.add<arith::CmpIOp>([](Frame &frame, const Instruction &inst) {
    return compareIntegers(frame, inst,
                           cast<arith::CmpIOp>(inst.op).getPredicate());
  });
  registry.add<index::CmpOp>([](Frame &frame, const Instruction &inst) {
    // The two dialects' predicates have the same names.
    StringRef name = index::stringifyIndexCmpPredicate(
        cast<index::CmpOp>(inst.op).getPred());
    return compareIntegers(frame, inst, *arith::symbolizeCmpIPredicate(name));
  });
  registry.add<arith::CmpFOp>([](Frame &frame, const Instruction &inst) {
    return compareReals(frame, inst,
                        cast<arith::CmpFOp>(inst.op).getPredicate());
  });
}

//===----------------------------------------------------------------------===//
// Constants and selection
//===----------------------------------------------------------------------===//

template <typename T>
static LogicalResult selectElements(Frame &frame, const Instruction &inst) {
  return mapElements<T, int64_t, T, T>(
      frame, inst,
      [](int64_t condition, T a, T b) { return condition ? a : b; });
}

static LogicalResult runSelect(Frame &frame, const Instruction &inst) {
  if (!frame.get(inst, 0).fragment) {
    frame.set(inst, 0, frame.get(inst, frame.getInteger(inst, 0) ? 1 : 2));
    return success();
  }
  return inst.resultTypes[0].element.isFloat
             ? selectElements<double>(frame, inst)
             : selectElements<int64_t>(frame, inst);
}

static void registerConstantOps(Registry &registry) {
  registry.add<arith::SelectOp>(runSelect);
  registry.add<arith::ConstantOp>([](Frame &frame, const Instruction &inst) {
    frame.set(inst, 0, inst.constant);
    return success();
  });
  registry.add<index::ConstantOp>([](Frame &frame, const Instruction &inst) {
    frame.setInteger(
        inst, cast<index::ConstantOp>(inst.op).getValue().getSExtValue());
    return success();
  });
  registry.add<index::BoolConstantOp>([](Frame &frame,
                                         const Instruction &inst) {
    frame.setInteger(inst,
                     -int64_t(cast<index::BoolConstantOp>(inst.op).getValue()));
    return success();
  });
  registry.add<index::SizeOfOp>([](Frame &frame, const Instruction &inst) {
    frame.setInteger(inst, 64);
    return success();
  });
  registry.add<ub::PoisonOp>([](Frame &frame, const Instruction &inst) {
    return frame.fail(inst, "makes a value that is not defined");
  });
}

void sim::registerArithHandlers(Registry &registry) {
  registerRingOps(registry);
  registerOrderOps(registry);
  registerShiftOps(registry);
  registerDivisionOps(registry);
  registerExtendedOps(registry);
  registerFloatOps(registry);
  registerCompareOps(registry);
  registerConstantOps(registry);
}
