//===- FoldIntegersTest.cpp - Arithmetic on known integers ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares folded results with the definition of each operation on numbers of
// its width, for numbers around 0 and around the ends of 8, 32 and 64 bits. The
// common case of small natural numbers and the folders of the operations must
// agree, also where a result wraps around.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Symbolic/FoldIntegers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tilews::verifier;

namespace {

using Definition = std::optional<APInt> (*)(const APInt &, const APInt &);

struct Case {
  const char *name;
  Definition get;
};

bool isUndefinedSigned(const APInt &a, const APInt &b) {
  return b.isZero() || (a.isMinSignedValue() && b.isAllOnes());
}

const Case kCases[] = {
    {"arith.addi",
     [](const APInt &a, const APInt &b) { return std::optional(a + b); }},
    {"arith.subi",
     [](const APInt &a, const APInt &b) { return std::optional(a - b); }},
    {"arith.muli",
     [](const APInt &a, const APInt &b) { return std::optional(a * b); }},
    {"arith.divui",
     [](const APInt &a, const APInt &b) {
       return b.isZero() ? std::nullopt : std::optional(a.udiv(b));
     }},
    {"arith.remui",
     [](const APInt &a, const APInt &b) {
       return b.isZero() ? std::nullopt : std::optional(a.urem(b));
     }},
    {"arith.divsi",
     [](const APInt &a, const APInt &b) {
       return isUndefinedSigned(a, b) ? std::nullopt : std::optional(a.sdiv(b));
     }},
    {"arith.remsi",
     [](const APInt &a, const APInt &b) {
       return isUndefinedSigned(a, b) ? std::nullopt : std::optional(a.srem(b));
     }},
    {"arith.floordivsi",
     [](const APInt &a, const APInt &b) -> std::optional<APInt> {
       if (isUndefinedSigned(a, b))
         return std::nullopt;
       bool isLess = !a.srem(b).isZero() && a.isNegative() != b.isNegative();
       return a.sdiv(b) - uint64_t(isLess);
     }},
    {"arith.ceildivsi",
     [](const APInt &a, const APInt &b) -> std::optional<APInt> {
       if (isUndefinedSigned(a, b))
         return std::nullopt;
       bool isMore = !a.srem(b).isZero() && a.isNegative() == b.isNegative();
       return a.sdiv(b) + uint64_t(isMore);
     }},
    {"arith.ceildivui",
     [](const APInt &a, const APInt &b) -> std::optional<APInt> {
       if (b.isZero())
         return std::nullopt;
       return a.udiv(b) + uint64_t(!a.urem(b).isZero());
     }},
    {"arith.andi",
     [](const APInt &a, const APInt &b) { return std::optional(a & b); }},
    {"arith.ori",
     [](const APInt &a, const APInt &b) { return std::optional(a | b); }},
    {"arith.xori",
     [](const APInt &a, const APInt &b) { return std::optional(a ^ b); }},
    {"arith.minsi",
     [](const APInt &a, const APInt &b) {
       return std::optional(a.slt(b) ? a : b);
     }},
    {"arith.maxsi",
     [](const APInt &a, const APInt &b) {
       return std::optional(a.slt(b) ? b : a);
     }},
    {"arith.minui",
     [](const APInt &a, const APInt &b) {
       return std::optional(a.ult(b) ? a : b);
     }},
    {"arith.maxui",
     [](const APInt &a, const APInt &b) {
       return std::optional(a.ult(b) ? b : a);
     }},
};

class FoldIntegersTest : public testing::Test {
protected:
  FoldIntegersTest() {
    context.loadDialect<arith::ArithDialect>();
    context.allowUnregisteredDialects();
  }

  /// Parses an operation on the values %a and %b of type `type`.
  Operation *parse(const std::string &text, const std::string &type) {
    module =
        parseSourceString<ModuleOp>("%a, %b = \"test.values\"() : () -> (" +
                                        type + ", " + type + ")\n" + text,
                                    &context);
    return module ? &module->getBody()->back() : nullptr;
  }
  /// Numbers around 0 and around the ends of the type.
  std::vector<int64_t> getNumbers(unsigned width) {
    std::vector<int64_t> numbers;
    for (int64_t number = -9; number <= 9; ++number)
      numbers.push_back(number);
    for (unsigned bits : {8u, 31u, 32u, width})
      if (bits <= width)
        for (int64_t distance = 0; distance < 3; ++distance) {
          numbers.push_back(llvm::minIntN(bits) + distance);
          numbers.push_back(llvm::maxIntN(bits) - distance);
        }
    return numbers;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(FoldIntegersTest, ComputesWithTheWidthOfTheType) {
  for (auto [type, width] : {std::pair("i8", 8u), std::pair("i32", 32u),
                             std::pair("i64", 64u), std::pair("index", 64u)})
    for (const Case &binary : kCases) {
      Operation *op =
          parse(std::string("%r = ") + binary.name + " %a, %b : " + type, type);
      ASSERT_NE(op, nullptr);
      for (int64_t a : getNumbers(width))
        for (int64_t b : getNumbers(width)) {
          std::optional<APInt> expected =
              binary.get(APInt(width, a, /*isSigned=*/true),
                         APInt(width, b, /*isSigned=*/true));
          std::optional<int64_t> folded = foldIntegers(op, {a, b});
          if (expected && folded)
            ASSERT_EQ(*folded, expected->getSExtValue())
                << binary.name << " " << type << " of " << a << " and " << b;
        }
    }
}

TEST_F(FoldIntegersTest, ComparesWithTheSignOfThePredicate) {
  for (auto [type, width] : {std::pair("i8", 8u), std::pair("i32", 32u),
                             std::pair("i64", 64u), std::pair("index", 64u)})
    for (const char *predicate :
         {"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"}) {
      Operation *op = parse(std::string("%r = arith.cmpi ") + predicate +
                                ", %a, %b : " + type,
                            type);
      ASSERT_NE(op, nullptr);
      for (int64_t a : getNumbers(width))
        for (int64_t b : getNumbers(width)) {
          bool expected =
              arith::applyCmpPredicate(cast<arith::CmpIOp>(op).getPredicate(),
                                       APInt(width, a, /*isSigned=*/true),
                                       APInt(width, b, /*isSigned=*/true));
          if (std::optional<int64_t> folded = foldIntegers(op, {a, b}))
            ASSERT_EQ(*folded, int64_t(expected))
                << predicate << " " << type << " of " << a << " and " << b;
        }
    }
}

TEST_F(FoldIntegersTest, CastsExtendAndTruncate) {
  struct Cast {
    const char *text, *from;
    unsigned fromWidth, toWidth;
    bool isSigned;
  };
  for (Cast cast :
       {Cast{"arith.extsi %a : i8 to i32", "i8", 8, 32, true},
        Cast{"arith.extui %a : i8 to i32", "i8", 8, 32, false},
        Cast{"arith.extui %a : i32 to i64", "i32", 32, 64, false},
        Cast{"arith.trunci %a : i32 to i8", "i32", 32, 8, true},
        Cast{"arith.trunci %a : i64 to i32", "i64", 64, 32, true},
        Cast{"arith.index_cast %a : i32 to index", "i32", 32, 64, true},
        Cast{"arith.index_cast %a : index to i32", "index", 64, 32, true},
        Cast{"arith.index_castui %a : i32 to index", "i32", 32, 64, false}}) {
    Operation *op = parse(std::string("%r = ") + cast.text, cast.from);
    ASSERT_NE(op, nullptr);
    for (int64_t number : getNumbers(cast.fromWidth)) {
      APInt value(cast.fromWidth, number, /*isSigned=*/true);
      APInt expected = cast.isSigned ? value.sextOrTrunc(cast.toWidth)
                                     : value.zextOrTrunc(cast.toWidth);
      if (std::optional<int64_t> folded = foldIntegers(op, {number}))
        EXPECT_EQ(*folded, expected.getSExtValue())
            << cast.text << " of " << number;
    }
  }
}

TEST_F(FoldIntegersTest, OneBitIsZeroOrOne) {
  for (const Case &binary : kCases) {
    std::string name = binary.name;
    // Other operations are not used on conditions.
    if (name != "arith.andi" && name != "arith.ori" && name != "arith.xori" &&
        name != "arith.addi" && name != "arith.subi" && name != "arith.muli")
      continue;
    Operation *op = parse("%r = " + name + " %a, %b : i1", "i1");
    ASSERT_NE(op, nullptr);
    for (int64_t a : {0, 1})
      for (int64_t b : {0, 1})
        if (std::optional<int64_t> folded = foldIntegers(op, {a, b}))
          EXPECT_EQ(
              *folded,
              int64_t(binary.get(APInt(1, a), APInt(1, b))->getZExtValue()))
              << name << " of " << a << " and " << b;
  }
}

} // namespace
