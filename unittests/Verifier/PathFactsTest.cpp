//===- PathFactsTest.cpp - Tests of path conditions -----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Soundness by enumeration. A random path assumes parts of conditions that hold
// for one assignment of small numbers. Whatever the facts then decide must be
// so for every assignment for which all assumed parts hold. The same must be
// true after facts were forgotten, and after an assignment to a variable.
//
//===----------------------------------------------------------------------===//

#include "Evaluate.h"

#include "Verifier/Symbolic/PathFacts.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilews::verifier;
using namespace tilews::verifier::test;

namespace {

constexpr int64_t kBound = 4;

/// A path with the parts that it has assumed.
struct RandomPath {
  RandomPath(ExpressionTable &table, RandomExpressions &make,
             unsigned numConditions)
      : table(table) {
    Assignment chosen;
    for (Expr atom : make.getAtoms())
      chosen[atom] = make.getNumber(-kBound, kBound);
    Evaluator evaluate(table, chosen);
    bool joinsGuards = make.getNumber(0, 1);
    for (unsigned i = 0; i < numConditions; ++i) {
      Expr condition = make.getCondition();
      while (!facts.decide(table, condition)) {
        Expr part = facts.findUndecided(table, condition, joinsGuards);
        bool holds = evaluate.get(part) != 0;
        facts.assume(table, part, holds);
        assumed.push_back({part, holds});
      }
      EXPECT_EQ(*facts.decide(table, condition), evaluate.get(condition) != 0);
    }
  }

  bool admits(const Assignment &values) const {
    Evaluator evaluate(table, values);
    return llvm::all_of(assumed, [&](auto &entry) {
      return (evaluate.get(entry.first) != 0) == entry.second;
    });
  }

  ExpressionTable &table;
  PathFacts facts;
  std::vector<std::pair<Expr, bool>> assumed;
};

TEST(PathFactsTest, DecidedConditionsHold) {
  ExpressionTable table;
  RandomExpressions make(table, /*seed=*/11);
  unsigned numDecided = 0;
  for (unsigned round = 0; round < 400; ++round) {
    RandomPath path(table, make, /*numConditions=*/5);
    for (unsigned i = 0; i < 10; ++i) {
      Expr condition = make.getCondition();
      std::optional<bool> decided = path.facts.decide(table, condition);
      numDecided += decided.has_value();
      forEachAssignment(make.getAtoms(), kBound, [&](const Assignment &values) {
        if (decided && path.admits(values))
          ASSERT_EQ(Evaluator(table, values).get(condition) != 0, *decided);
      });
    }
  }
  // The test is about something only if many conditions are decided.
  EXPECT_GT(numDecided, 400u);
}

TEST(PathFactsTest, InferredConditionsHold) {
  ExpressionTable table;
  RandomExpressions make(table, /*seed=*/14);
  unsigned numInferred = 0;
  for (unsigned round = 0; round < 400; ++round) {
    RandomPath path(table, make, /*numConditions=*/5);
    for (unsigned i = 0; i < 10; ++i) {
      Expr part = make.getPart();
      if (table.getConstantValue(part) || path.facts.decide(table, part))
        continue;
      std::optional<bool> inferred = path.facts.infer(table, part);
      numInferred += inferred.has_value();
      forEachAssignment(make.getAtoms(), kBound, [&](const Assignment &values) {
        if (inferred && path.admits(values))
          ASSERT_EQ(Evaluator(table, values).get(part) != 0, *inferred);
      });
    }
  }
  EXPECT_GT(numInferred, 50u);
}

/// The value of a definition where `atom` has the value `number`.
static Wide evaluateDefinition(const ExpressionTable &table, Expr by,
                               Assignment values, int64_t number) {
  for (auto [known, factor] : table.getTerms(by))
    if (auto name = table.getName(known); name[0] == AtomKind::KnownQuotient)
      values[known] = int64_t((number - table.getOffset(by)) / factor);
  return Evaluator(table, values).get(by);
}

TEST(PathFactsTest, DefinitionsAreEquations) {
  ExpressionTable table;
  Expr k = table.getAtom({AtomKind::OutsideValue, 1}, {});
  Expr n = table.getAtom({AtomKind::OutsideValue, 2}, {});
  std::mt19937 random(15);
  auto getNumber = [&](int64_t low, int64_t high) {
    return low + int64_t(random() % uint64_t(high - low + 1));
  };
  unsigned numDefinitions = 0;
  for (unsigned round = 0; round < 400; ++round) {
    Expr first = table.add(table.getConstant(getNumber(-4, 4)),
                           table.getInteger(k), getNumber(0, 1) ? 1 : -1);
    Expr sum = table.add(first, table.getInteger(n), getNumber(-1, 1));
    if (getNumber(0, 1)) {
      int64_t divisor = getNumber(2, 5);
      Expr remainder =
          table.add(first, table.getQuotient(first, divisor), -divisor);
      sum = table.addConstant(remainder, -getNumber(0, divisor - 1));
    }
    auto definition = PathFacts::findDefinition(table, sum);
    ASSERT_TRUE(definition);
    auto [atom, by] = *definition;
    ASSERT_FALSE(table.contains(by, atom));
    PathFacts facts;
    facts.define(table, atom, by);
    EXPECT_EQ(table.getConstantValue(facts.resolve(table, sum)), 0);
    forEachAssignment({k, n}, 9, [&, atom = atom, by = by](Assignment values) {
      if (Evaluator(table, values).get(sum) != 0)
        return;
      ++numDefinitions;
      int64_t number = values[atom];
      ASSERT_TRUE(evaluateDefinition(table, by, values, number) == number);
    });
  }
  EXPECT_GT(numDefinitions, 1000u);
}

TEST(PathFactsTest, IntervalsContainAllValues) {
  ExpressionTable table;
  RandomExpressions make(table, /*seed=*/12);
  unsigned numFinite = 0;
  for (unsigned round = 0; round < 400; ++round) {
    RandomPath path(table, make, /*numConditions=*/5);
    Expr sum = make.getSimpleSum();
    Interval interval = path.facts.getInterval(table, sum);
    numFinite += interval.low != INT64_MIN || interval.high != INT64_MAX;
    forEachAssignment(make.getAtoms(), kBound, [&](const Assignment &values) {
      if (!path.admits(values))
        return;
      Wide value = Evaluator(table, values).get(sum);
      ASSERT_TRUE(interval.low == INT64_MIN || interval.low <= value);
      ASSERT_TRUE(interval.high == INT64_MAX || value <= interval.high);
    });
  }
  EXPECT_GT(numFinite, 40u);
}

TEST(PathFactsTest, AnIntervalIsOneForEachSignAndConstant) {
  ExpressionTable table;
  RandomExpressions make(table, /*seed=*/13);
  for (unsigned round = 0; round < 200; ++round) {
    Expr sum = make.getSimpleSum();
    // The bounds of 2 * n are even.
    if (table.getConstantValue(sum) || table.getScale(sum) > 1)
      continue;
    PathFacts facts;
    int64_t low = make.getNumber(-9, 9), high = low + make.getNumber(0, 9);
    facts.setInterval(table, sum, {low, high});
    int64_t constant = make.getNumber(-9, 9);
    Expr shifted = table.addConstant(sum, constant);
    Expr negated = table.add(table.getConstant(constant), sum, -1);
    EXPECT_EQ(facts.getInterval(table, shifted).low, low + constant);
    EXPECT_EQ(facts.getInterval(table, shifted).high, high + constant);
    EXPECT_EQ(facts.getInterval(table, negated).low, constant - high);
    EXPECT_EQ(facts.getInterval(table, negated).high, constant - low);
    // Infinite bounds stay infinite.
    facts.setInterval(table, sum, {low, INT64_MAX});
    EXPECT_EQ(facts.getInterval(table, negated).low, INT64_MIN);
    EXPECT_EQ(facts.getInterval(table, negated).high, constant - low);
  }
}

TEST(PathFactsTest, BoundsOfLargeSumsStayBelowInfinity) {
  ExpressionTable table;
  Expr n = table.getInteger(table.getAtom({AtomKind::OutsideValue, 1}, {}));
  for (int64_t constant : {INT32_MAX, INT32_MIN}) {
    PathFacts facts;
    Expr sum = table.addConstant(n, constant);
    facts.assume(table, table.getPositive(sum), true);
    EXPECT_EQ(facts.getInterval(table, n).low, 1 - constant);
    EXPECT_EQ(facts.getInterval(table, n).high, INT64_MAX);
    EXPECT_EQ(facts.decide(table, table.getPositive(sum)), true);
    // Another sum, which does not fit into 32 bits, is an atom without facts.
    Expr large = table.addConstant(sum, constant);
    EXPECT_EQ(facts.decide(table, table.getPositive(large)), std::nullopt);
  }
}

TEST(PathFactsTest, ForgettingAdmitsAllValues) {
  ExpressionTable table;
  RandomExpressions make(table, /*seed=*/14);
  for (unsigned round = 0; round < 200; ++round) {
    RandomPath path(table, make, /*numConditions=*/5);
    PathFacts forgotten = path.facts, kept = path.facts;
    forgotten.forget(table, make.i);
    VariableSet others;
    others.insert(make.n);
    others.insert(make.m);
    kept.keepOnly(table, others);
    for (unsigned i = 0; i < 5; ++i) {
      Expr condition = make.getCondition();
      std::optional<bool> decided = forgotten.decide(table, condition);
      EXPECT_EQ(decided, kept.decide(table, condition));
      if (!decided)
        continue;
      forEachAssignment(make.getAtoms(), 3, [&](const Assignment &values) {
        if (!path.admits(values))
          return;
        for (int64_t other = -kBound; other <= kBound; ++other) {
          Assignment assigned = values;
          assigned[make.i] = other;
          ASSERT_EQ(Evaluator(table, assigned).get(condition) != 0, *decided);
        }
      });
    }
  }
}

TEST(PathFactsTest, AnOpenConditionIsLookedAtOnce) {
  ExpressionTable table;
  // ((f0 or f1) and f2) or ...: nothing is known about any of them.
  auto getFlag = [&](int64_t i) {
    return table.getAtom({AtomKind::OutsideValue, i + 1}, {});
  };
  constexpr int64_t kTerms = 100;
  Expr condition = getFlag(0);
  for (int64_t i = 1; i < kTerms; ++i)
    condition = table.getBoth(condition, getFlag(i), /*isAnd=*/i % 2 == 0);
  PathFacts facts;
  table.takeWork();
  EXPECT_EQ(facts.decide(table, condition), std::nullopt);
  EXPECT_EQ(facts.simplify(table, condition), condition);
  EXPECT_LT(table.takeWork(), unsigned(20 * kTerms));
}

TEST(PathFactsTest, SubstitutionRenamesAfterAnAssignment) {
  ExpressionTable table;
  RandomExpressions make(table, /*seed=*/15);
  for (unsigned round = 0; round < 300; ++round) {
    RandomPath path(table, make, /*numConditions=*/5);
    // i = i + step, so what was called i is now called i - step.
    Expr step = make.getNumber(0, 1) ? table.getConstant(make.getNumber(-3, 3))
                                     : table.getInteger(make.n);
    Expr before = table.add(table.getInteger(make.i), step, -1);
    path.facts.substitute(table, make.i, before);
    for (unsigned i = 0; i < 10; ++i) {
      Expr condition = make.getCondition();
      std::optional<bool> decided = path.facts.decide(table, condition);
      if (!decided)
        continue;
      forEachAssignment(make.getAtoms(), 3, [&](const Assignment &values) {
        if (!path.admits(values))
          return;
        Assignment assigned = values;
        assigned[make.i] += int64_t(Evaluator(table, values).get(step));
        ASSERT_EQ(Evaluator(table, assigned).get(condition) != 0, *decided);
      });
    }
  }
}

} // namespace
