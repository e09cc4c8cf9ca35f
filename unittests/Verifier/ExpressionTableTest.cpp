//===- ExpressionTableTest.cpp - Sums and conditions have one form --------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifier/Symbolic/Expressions.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilews::verifier;

namespace {

TEST(ExpressionTableTest, EqualSumsAreOneExpression) {
  ExpressionTable table;
  Expr i = table.getInteger(table.getAtom({1}, {}));
  Expr n = table.getInteger(table.getAtom({2}, {}));
  EXPECT_EQ(table.add(i, n), table.add(n, i));
}

} // namespace
