//===- ExpressionTableTest.cpp - Expressions and their values -------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Canonical forms must not change values. Random expressions are made twice: by
// the table, and as the number that they stand for. Both must be equal for all
// assignments of small numbers, negative ones included, also where
// coefficients do not fit into 32 bits.
//
//===----------------------------------------------------------------------===//

#include "Evaluate.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilews::verifier;
using namespace tilews::verifier::test;

namespace {

TEST(ExpressionTableTest, EqualSumsAreOneExpression) {
  ExpressionTable table;
  Expr i = table.getInteger(table.getAtom({1}, {}));
  Expr n = table.getInteger(table.getAtom({2}, {}));
  EXPECT_EQ(table.add(i, n), table.add(n, i));
}

TEST(ExpressionTableTest, ArithmeticKeepsValues) {
  ExpressionTable table;
  RandomExpressions make(table, /*seed=*/1);
  for (unsigned round = 0; round < 300; ++round) {
    Expr a = make.getSum(), b = make.getSum();
    int64_t factor = make.getNumber(-5, 5), divisor = make.getNumber(1, 7);
    Expr sum = table.add(a, b, factor);
    Expr product = table.getProduct(a, b);
    Expr quotient = table.getQuotient(a, divisor);
    // The remainder of a division that rounds down.
    Expr remainder = table.add(a, quotient, -divisor);
    Expr larger = table.add(a, table.getPositivePart(table.add(b, a, -1)));
    forEachAssignment(make.getAtoms(), 3, [&](const Assignment &values) {
      Evaluator evaluate(table, values);
      Wide left = evaluate.get(a), right = evaluate.get(b);
      ASSERT_TRUE(evaluate.get(sum) == left + factor * right);
      ASSERT_TRUE(evaluate.get(product) == left * right);
      ASSERT_TRUE(evaluate.get(quotient) == floorDivide(left, divisor));
      ASSERT_TRUE(evaluate.get(remainder) >= 0 &&
                  evaluate.get(remainder) < divisor);
      ASSERT_TRUE(evaluate.get(larger) == std::max(left, right));
      for (Expr e : {sum, product, quotient, remainder, larger}) {
        Interval bounds = table.getBounds(e);
        ASSERT_TRUE(evaluate.get(e) >= bounds.low &&
                    evaluate.get(e) <= bounds.high);
      }
      ASSERT_GE(table.getBounds(remainder).low, 0);
      ASSERT_LT(table.getBounds(remainder).high, divisor);
    });
  }
}

TEST(ExpressionTableTest, LargeCoefficientsKeepValues) {
  ExpressionTable table;
  RandomExpressions make(table, /*seed=*/2);
  const int64_t numbers[] = {INT32_MAX, INT32_MIN, INT32_MAX - 1, 1 << 30, -7};
  for (unsigned round = 0; round < 200; ++round) {
    Expr sum = make.getSum();
    // The third multiplication is beyond 64 bits.
    for (unsigned i = 0; i < 3; ++i) {
      int64_t number = numbers[make.getNumber(0, 4)];
      Expr before = sum;
      sum = table.getProduct(sum, table.getConstant(number));
      Expr shifted = table.addConstant(sum, number);
      forEachAssignment(make.getAtoms(), 1, [&](const Assignment &values) {
        Evaluator evaluate(table, values);
        ASSERT_TRUE(evaluate.get(sum) == evaluate.get(before) * number);
        ASSERT_TRUE(evaluate.get(shifted) == evaluate.get(sum) + number);
      });
    }
  }
}

TEST(ExpressionTableTest, NumbersBeyond32BitsAreNoConstants) {
  ExpressionTable table;
  EXPECT_EQ(table.getConstantValue(table.getConstant(INT32_MAX)), INT32_MAX);
  for (int64_t number : {int64_t(INT32_MAX) + 1, INT64_MAX, INT64_MIN}) {
    Expr large = table.getConstant(number);
    EXPECT_EQ(table.getConstantValue(large), std::nullopt);
    EXPECT_EQ(large, table.getConstant(number));
    EXPECT_TRUE(Evaluator(table, {}).get(large) == number);
  }
}

TEST(ExpressionTableTest, ConditionsKeepTruth) {
  ExpressionTable table;
  RandomExpressions make(table, /*seed=*/3);
  for (unsigned round = 0; round < 300; ++round) {
    Expr sum = make.getSum();
    Expr a = make.getCondition(), b = make.getCondition();
    Expr positive = table.getPositive(sum), zero = table.getZero(sum);
    Expr negation = table.getNot(a);
    Expr both = table.getBoth(a, b, /*isAnd=*/true);
    Expr either = table.getBoth(a, b, /*isAnd=*/false);
    forEachAssignment(make.getAtoms(), 3, [&](const Assignment &values) {
      Evaluator evaluate(table, values);
      bool left = evaluate.get(a) != 0, right = evaluate.get(b) != 0;
      ASSERT_EQ(evaluate.get(positive) != 0, evaluate.get(sum) > 0);
      ASSERT_EQ(evaluate.get(zero) != 0, evaluate.get(sum) == 0);
      ASSERT_EQ(evaluate.get(negation) != 0, !left);
      ASSERT_EQ(evaluate.get(both) != 0, left && right);
      ASSERT_EQ(evaluate.get(either) != 0, left || right);
    });
  }
}

TEST(ExpressionTableTest, NaturalAtomsAreNotNegative) {
  ExpressionTable table;
  Expr n = table.getInteger(table.getAtom({1}, {}, /*isVariable=*/false,
                                          /*isNatural=*/true));
  Expr m = table.getInteger(table.getAtom({2}, {}));
  Expr sum = table.addConstant(table.add(n, n, 2), 4);
  EXPECT_EQ(table.getBounds(sum).low, 4);
  EXPECT_EQ(table.getBounds(table.getQuotient(n, 16)).low, 0);
  EXPECT_EQ(table.getBounds(table.getProduct(n, n)).low, 0);
  EXPECT_EQ(table.getBounds(table.add(table.getConstant(3), n, -1)).high, 3);
  EXPECT_EQ(table.getPositivePart(sum), sum);
  EXPECT_TRUE(table.getBounds(table.add(n, m)).isFull());
  EXPECT_TRUE(table.getBounds(table.add(n, n, -2)).high == 0);
}

TEST(ExpressionTableTest, SubstitutionIsAnAssignment) {
  ExpressionTable table;
  RandomExpressions make(table, /*seed=*/4);
  for (unsigned round = 0; round < 300; ++round) {
    Expr sum = make.getSum();
    Expr quotient = table.getQuotient(sum, make.getNumber(1, 5));
    Expr product = table.getProduct(make.getSum(), quotient);
    Expr by = make.getSum();
    for (Expr e :
         {sum, quotient, product, make.getCondition(), make.getElement()}) {
      Expr replaced = table.substitute(e, make.i, by);
      forEachAssignment(make.getAtoms(), 2, [&](const Assignment &values) {
        Assignment assigned = values;
        assigned[make.i] = int64_t(Evaluator(table, values).get(by));
        ASSERT_TRUE(Evaluator(table, values).get(replaced) ==
                    Evaluator(table, assigned).get(e));
      });
    }
  }
}

} // namespace
