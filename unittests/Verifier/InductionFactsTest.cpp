//===- InductionFactsTest.cpp - Facts along a loop ------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Soundness by enumeration, for loops over the variable i:
//
//   * facts that enter a loop hold if i has its first value;
//   * facts that are renamed at the end of an iteration and trimmed hold if i
//     has taken a step;
//   * facts about a loop-carried value hold if it has the value that it was
//     related to.
//
// OpenConditions must have all constants at which conditions change, and must
// keep every comparison with zero that a later iteration makes.
//
//===----------------------------------------------------------------------===//

#include "Evaluate.h"

#include "Verifier/Symbolic/InductionFacts.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilews::verifier;
using namespace tilews::verifier::test;

namespace {

constexpr int64_t kBound = 3;

/// Facts about parts that hold for one assignment.
struct KnownParts {
  KnownParts(ExpressionTable &table, const Assignment &chosen,
             llvm::ArrayRef<Expr> parts) {
    for (Expr part : parts)
      if (!facts.decide(table, part)) {
        bool holds = Evaluator(table, chosen).get(part) != 0;
        facts.assume(table, part, holds);
        assumed.push_back({part, holds});
      }
  }
  bool admit(const Evaluator &evaluate) const {
    return llvm::all_of(assumed, [&](auto &entry) {
      return (evaluate.get(entry.first) != 0) == entry.second;
    });
  }

  PathFacts facts;
  std::vector<std::pair<Expr, bool>> assumed;
};

Assignment chooseValues(RandomExpressions &make) {
  Assignment chosen;
  for (Expr atom : make.getAtoms())
    chosen[atom] = make.getNumber(-kBound, kBound);
  return chosen;
}

std::vector<Expr> chooseParts(RandomExpressions &make, unsigned number) {
  std::vector<Expr> parts(number);
  for (Expr &part : parts)
    part = make.getPart();
  return parts;
}

/// Whether `facts` decide conditions as they are for `moved(values)`, for all
/// values that `known` admits.
template <typename FnT>
void expectSound(ExpressionTable &table, RandomExpressions &make,
                 const PathFacts &facts, const KnownParts &known,
                 llvm::ArrayRef<Expr> conditions, FnT moved) {
  for (Expr condition : conditions) {
    std::optional<bool> decided = facts.decide(table, condition);
    if (!decided)
      continue;
    forEachAssignment(make.getAtoms(), kBound, [&](const Assignment &values) {
      if (!known.admit(Evaluator(table, values)))
        return;
      ASSERT_EQ(Evaluator(table, moved(values)).get(condition) != 0, *decided);
    });
  }
}

TEST(InductionFactsTest, EnteredFactsHoldForTheFirstValue) {
  ExpressionTable table;
  RandomExpressions make(table, /*seed=*/21);
  unsigned numDecided = 0;
  for (unsigned round = 0; round < 300; ++round) {
    OpenConditions asked;
    std::vector<Expr> inside = chooseParts(make, 4);
    for (Expr part : inside)
      if (table.mentions(part, make.i))
        asked.add(table, part, make.i);
    Expr first = make.getNumber(0, 1) ? table.getConstant(make.getNumber(-2, 2))
                                      : table.getInteger(make.n);
    int64_t step = make.getNumber(0, 1) ? 1 : make.getNumber(-2, 3);
    // Before the loop, conditions are about its first iterations.
    std::vector<Expr> before;
    for (Expr part : inside) {
      Expr moved = table.addConstant(first, step * make.getNumber(-1, 2));
      before.push_back(table.substitute(part, make.i, moved));
    }
    KnownParts known(table, chooseValues(make), before);
    PathFacts facts = known.facts;
    InductionFacts(table, facts, make.i)
        .enter(first, table.getConstant(step), /*iterations=*/3, asked);
    for (Expr part : inside)
      numDecided += facts.decide(table, part).has_value();
    expectSound(
        table, make, facts, known, inside, [&](const Assignment &values) {
          Assignment entered = values;
          entered[make.i] = int64_t(Evaluator(table, values).get(first));
          return entered;
        });
  }
  EXPECT_GT(numDecided, 100u);
}

TEST(InductionFactsTest, TrimmedFactsHoldInTheNextIteration) {
  ExpressionTable table;
  RandomExpressions make(table, /*seed=*/22);
  unsigned numDecided = 0;
  for (unsigned round = 0; round < 300; ++round) {
    OpenConditions asked;
    std::vector<Expr> parts = chooseParts(make, 5);
    for (Expr part : parts)
      if (table.mentions(part, make.i))
        asked.add(table, part, make.i);
    KnownParts known(table, chooseValues(make), parts);
    PathFacts facts = known.facts;
    int64_t width = make.getNumber(0, 1) ? 1 : make.getNumber(-3, 3);
    Expr step = table.getConstant(width);
    facts.substitute(table, make.i,
                     table.add(table.getInteger(make.i), step, -1));
    InductionFacts::Window window;
    window.step = step;
    window.start = make.getNumber(0, 2);
    window.reach = make.getNumber(0, 4) * std::abs(width);
    window.isShort = make.getNumber(0, 1);
    window.iterations = make.getNumber(0, 3);
    window.forgetsRepeats = make.getNumber(0, 1);
    PathFacts untrimmed = facts;
    InductionFacts(table, facts, make.i).trim(window, asked);
    std::vector<Expr> conditions = chooseParts(make, 10);
    conditions.insert(conditions.end(), parts.begin(), parts.end());
    for (Expr condition : conditions)
      if (std::optional<bool> decided = facts.decide(table, condition)) {
        EXPECT_EQ(untrimmed.decide(table, condition), decided);
        ++numDecided;
      }
    expectSound(table, make, facts, known, conditions,
                [&](const Assignment &values) {
                  Assignment next = values;
                  next[make.i] += width;
                  return next;
                });
  }
  EXPECT_GT(numDecided, 100u);
}

/// Whether `n - (i - 1) % 3 > 0` is forgotten, a fact of the iteration before,
/// in a loop that asks for `n - (i + ahead) % 3 > 0` for each number ahead. The
/// same fact is `n - (i + 2) % 3 > 0`.
bool isForgotten(llvm::ArrayRef<int64_t> asks, bool forgetsRepeats) {
  ExpressionTable table;
  RandomExpressions make(table, /*seed=*/0);
  auto getCondition = [&](int64_t ahead) {
    Expr sum = table.addConstant(table.getInteger(make.i), ahead);
    Expr rest = table.add(sum, table.getQuotient(sum, 3), -3);
    return table.getPositive(table.add(table.getInteger(make.n), rest, -1));
  };
  OpenConditions asked;
  for (int64_t ahead : asks)
    asked.add(table, getCondition(ahead), make.i);
  PathFacts facts;
  facts.assume(table, getCondition(0), true);
  Expr one = table.getConstant(1);
  facts.substitute(table, make.i, table.add(table.getInteger(make.i), one, -1));
  InductionFacts::Window window;
  window.step = one;
  window.start = 0;
  window.reach = 5;
  window.isShort = false;
  window.iterations = 3;
  window.forgetsRepeats = forgetsRepeats;
  bool hasForgotten = InductionFacts(table, facts, make.i).trim(window, asked);
  EXPECT_EQ(hasForgotten, !facts.decide(table, getCondition(-1)));
  EXPECT_EQ(hasForgotten, !facts.decide(table, getCondition(2)));
  return hasForgotten;
}

TEST(InductionFactsTest, AComparisonThatOnlyRepeatsIsForgotten) {
  EXPECT_TRUE(isForgotten({0}, /*forgetsRepeats=*/true));
  EXPECT_FALSE(isForgotten({0}, /*forgetsRepeats=*/false));
  // A condition that looks ahead, or back, asks for it as well.
  EXPECT_FALSE(isForgotten({0, 1}, /*forgetsRepeats=*/true));
  EXPECT_FALSE(isForgotten({0, -2}, /*forgetsRepeats=*/true));
  // The present iteration asks for it.
  EXPECT_FALSE(isForgotten({-1}, /*forgetsRepeats=*/true));
}

TEST(InductionFactsTest, RelatedFactsHoldForTheValue) {
  ExpressionTable table;
  RandomExpressions make(table, /*seed=*/23);
  for (unsigned round = 0; round < 300; ++round) {
    std::vector<Expr> parts;
    for (unsigned i = 0; i < 3; ++i) {
      Expr element =
          table.addConstant(make.getElement(), make.getNumber(-4, 4));
      parts.push_back(table.getPositive(element));
    }
    KnownParts known(table, chooseValues(make), parts);
    PathFacts facts = known.facts;
    facts.forget(table, make.m);
    Expr value =
        table.addConstant(table.getInteger(make.n), make.getNumber(-2, 2));
    InductionFacts(table, facts, make.i).relate(make.m, value);
    std::vector<Expr> conditions;
    for (unsigned i = 0; i < 10; ++i) {
      Expr difference =
          table.add(make.getElement(), table.getInteger(make.m), -1);
      conditions.push_back(table.getPositive(
          table.add(table.getConstant(make.getNumber(-3, 3)), difference,
                    make.getNumber(0, 1) ? 1 : -1)));
    }
    expectSound(
        table, make, facts, known, conditions, [&](const Assignment &values) {
          Assignment related = values;
          related[make.m] = int64_t(Evaluator(table, values).get(value));
          return related;
        });
  }
}

TEST(OpenConditionsTest, HasTheConstantsOfAllConditions) {
  ExpressionTable table;
  RandomExpressions make(table, /*seed=*/24);
  for (unsigned round = 0; round < 200; ++round) {
    Expr sum = table.add(table.getInteger(make.i), table.getInteger(make.n),
                         make.getNumber(-2, 2));
    OpenConditions asked;
    std::set<int64_t> expected;
    for (unsigned i = 0; i < 4; ++i) {
      int64_t constant = make.getNumber(-9, 9);
      expected.insert(constant);
      // The sign does not matter: n - i - 3 and i - n + 3 are one sum.
      Expr shifted = table.addConstant(sum, constant);
      if (make.getNumber(0, 1))
        shifted = table.add(table.getConstant(0), shifted, -1);
      asked.add(table,
                make.getNumber(0, 1) ? table.getPositive(shifted)
                                     : table.getZero(shifted),
                make.i);
    }
    EXPECT_THAT(asked.getConstants(table, sum, make.i),
                testing::ElementsAreArray(expected));
    Expr negated = table.add(table.getConstant(0), sum, -1);
    std::set<int64_t> opposite;
    for (int64_t constant : expected)
      opposite.insert(-constant);
    EXPECT_THAT(asked.getConstants(table, negated, make.i),
                testing::ElementsAreArray(opposite));
  }
}

TEST(OpenConditionsTest, ASumMayBeComparedWithZeroLater) {
  ExpressionTable table;
  RandomExpressions make(table, /*seed=*/25);
  for (unsigned round = 0; round < 500; ++round) {
    int64_t factor = make.getNumber(0, 1) ? 1 : -1;
    if (make.getNumber(0, 3) == 0)
      factor *= 2;
    // A compared sum has no common factor.
    bool hasRest = std::abs(factor) > 1 || make.getNumber(0, 1);
    Expr rest = hasRest ? table.getInteger(make.n) : table.getConstant(0);
    Expr sum = table.add(table.addConstant(rest, make.getNumber(-5, 5)),
                         table.getInteger(make.i), factor);
    OpenConditions asked;
    asked.add(table, table.getZero(sum), make.i);
    // After `later` iterations, which rename i to i - step, it is `sum`.
    int64_t step = make.getNumber(0, 1) ? 1 : -2;
    int64_t later = make.getNumber(0, 4);
    Expr now = table.addConstant(sum, factor * step * later);
    int64_t moved = std::abs(step) * later;
    EXPECT_TRUE(
        asked.mayAskForZero(table, now, make.i, step, /*reach=*/moved + 1));
    EXPECT_FALSE(
        asked.mayAskForZero(table, now, make.i, step, /*reach=*/moved));
  }
}

} // namespace
