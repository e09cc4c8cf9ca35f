//===- PathConditions.cpp - Decide conditions on paths --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A condition is decided by the path condition, or else it is open. An open
// condition is taken apart (conjunction, disjunction, negation) until a part is
// found that has to be decided first. The path forks on this part, each side
// adds it to its path condition, and the decision is tried again.
//
// A part that two facts imply together becomes a fact of its own: it stays
// known when one of the two is given up.
//
// Before the fork the part is noted with the induction variables that it
// depends on. Facts from before a loop, where the variable was a constant, are
// then carried into the loop for it. A new note makes the search start over,
// with paths that carry these facts from the start.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/PathConditions.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::verifier;

/// A remainder is decided by forks for divisors up to this.
static constexpr int64_t kMostRemainders = 16;

/// Adds the value of an undecided part. Where it makes an equation, the path
/// goes on with a new name of an atom. A branch makes one of a remainder only:
/// conditions on other sums are known by their old names.
void PathConditions::assume(Path &path, Expr part, bool holds,
                            bool isAsserted) {
  ExpressionTable &table = context.table;
  path.facts.assume(table, part, holds);
  if (!isComparison(table.getKind(part)))
    return;
  Expr sum = table.getOperands(part)[0];
  Interval interval = path.facts.getInterval(table, sum);
  if (interval.low != interval.high ||
      !(isAsserted || table.getRemainderOf(sum)))
    return;
  auto definition =
      PathFacts::findDefinition(table, table.addConstant(sum, -interval.low));
  if (!definition)
    return;
  Expr atom = definition->first, by = definition->second;
  LDBG_OS([&](raw_ostream &os) {
    table.print(table.getInteger(atom), os);
    os << " is ";
    table.print(by, os);
  });
  path.facts.define(table, atom, by);
  auto rename = [&](Expr &value) {
    if (value)
      value = table.substitute(value, atom, by);
  };
  llvm::for_each(path.values, rename);
  for (auto &frames : path.tasks)
    for (TaskFrame &frame : frames)
      rename(frame.end);
  for (PeeledLoop &rest : path.peeled) {
    rename(rest.lower);
    llvm::for_each(rest.carried, rename);
  }
}

/// The atoms of a sum and of its quotients that are one of two sums, as {atom,
/// condition, then, else}.
///
///     select(c, n, m)     c ? n : m
///     max(n - m, 0)       n - m > 0 ? n - m : 0
///     (n + 15) / 16       n - 16 * (n / 16) > 0 ? n / 16 + 1 : n / 16
SmallVector<PathConditions::AtomChoice, 2>
PathConditions::findChoices(Expr sum) {
  ExpressionTable &table = context.table;
  SmallVector<AtomChoice, 2> choices;
  for (auto [atom, factor] : table.getTerms(sum)) {
    SmallVector<int64_t, 2> name(table.getName(atom));
    SmallVector<Expr> operands(table.getOperands(atom));
    if (name[0] == AtomKind::Choice)
      choices.push_back({atom, operands[0], operands[1], operands[2]});
    if (name[0] == AtomKind::PositivePart)
      choices.push_back({atom, table.getPositive(operands[0]), operands[0],
                         table.getConstant(0)});
    if (name[0] != AtomKind::Quotient)
      continue;
    SmallVector<AtomChoice, 2> inner = findChoices(operands[0]);
    llvm::append_range(choices, inner);
    int64_t offset = table.getOffset(operands[0]), divisor = name[1];
    if (offset == 0 || !inner.empty())
      continue;
    Expr whole = dropConstant(table, operands[0]);
    Expr quotient = table.getQuotient(whole, divisor);
    Expr remainder = table.add(whole, quotient, -divisor);
    Expr isNext =
        table.getPositive(table.addConstant(remainder, offset + 1 - divisor));
    choices.push_back({atom, isNext, table.addConstant(quotient, 1), quotient});
  }
  return choices;
}

Expr PathConditions::simplify(const Path &path, Expr sum) {
  auto apply = [&](const AtomChoice &choice) {
    std::optional<bool> holds = path.facts.decide(
        context.table, path.facts.resolve(context.table, choice.condition));
    if (!holds)
      return false;
    sum = context.table.substitute(sum, choice.atom,
                                   *holds ? choice.then : choice.otherwise);
    sum = path.facts.resolve(context.table, sum);
    return true;
  };
  while (llvm::any_of(findChoices(sum), apply))
    ;
  return sum;
}

/// A comparison of another sum with 0, of the same kind.
static Expr getComparison(ExpressionTable &table, Expr comparison, Expr sum) {
  return table.getKind(comparison) == ExpressionTable::Kind::Zero
             ? table.getZero(sum)
             : table.getPositive(sum);
}

Expr PathConditions::simplifyPart(const Path &path, Expr part) {
  ExpressionTable &table = context.table;
  if (!isComparison(table.getKind(part)))
    return part;
  return getComparison(table, part, simplify(path, table.getOperands(part)[0]));
}

/// The value of an open comparison that is the same for both values of an atom.
std::optional<bool> PathConditions::decideByCases(const Path &path, Expr part) {
  ExpressionTable &table = context.table;
  if (!isComparison(table.getKind(part)))
    return std::nullopt;
  Expr sum = table.getOperands(part)[0];
  auto decideFor = [&](const AtomChoice &choice, Expr value) {
    Expr replaced = table.substitute(sum, choice.atom, value);
    return path.facts.decide(table, getComparison(table, part, replaced));
  };
  for (const AtomChoice &choice : findChoices(sum)) {
    std::optional<bool> known = decideFor(choice, choice.then);
    if (known && known == decideFor(choice, choice.otherwise))
      return known;
  }
  return std::nullopt;
}

bool PathConditions::decidePart(Path &path, Expr sum) {
  auto choices = findChoices(simplify(path, sum));
  if (!choices.empty())
    decide(path, choices.front().condition);
  return !choices.empty();
}

std::optional<int64_t> PathConditions::splitRemainder(Path &path, Expr sum,
                                                      int64_t divisor) {
  ExpressionTable &table = context.table;
  auto getRemainder = [&](Expr dividend) {
    return table.add(dividend, table.getQuotient(dividend, divisor), -divisor);
  };
  Expr remainder = getRemainder(sum);
  bool mayDefine = divisor <= kMostRemainders &&
                   table.getRemainderOf(remainder) &&
                   PathFacts::findDefinition(table, remainder).has_value();
  if (!mayDefine)
    return table.getConstantValue(remainder);
  for (int64_t number = 0; number + 1 < divisor; ++number)
    if (!decide(path,
                table.getPositive(table.addConstant(remainder, -number))) ||
        context.startsOver())
      break;
  return table.getConstantValue(getRemainder(path.facts.resolve(table, sum)));
}

bool PathConditions::require(Path &path, Expr condition, bool holds) {
  using Kind = ExpressionTable::Kind;
  ExpressionTable &table = context.table;
  condition = path.facts.resolve(table, condition);
  if (std::optional<bool> known = path.facts.decide(table, condition))
    return *known == holds;
  // Where only one part of a conjunction is open, this is that part.
  condition = path.facts.simplify(table, condition);
  Kind kind = table.getKind(condition);
  SmallVector<Expr> operands(table.getOperands(condition));
  if (kind == Kind::Not)
    return require(path, operands[0], !holds);
  if (kind == Kind::And && holds)
    return llvm::all_of(operands,
                        [&](Expr part) { return require(path, part); });
  assume(path, condition, holds, /*isAsserted=*/true);
  return true;
}

bool PathConditions::decide(Path &path, Expr condition) {
  ExpressionTable &table = context.table;
  for (;;) {
    context.countQuestion();
    condition = path.facts.resolve(table, condition);
    if (std::optional<bool> known = path.facts.decide(table, condition))
      return *known;
    Expr part =
        path.facts.findUndecided(table, condition, context.mayJoinGuards());
    if (table.getKind(part) == ExpressionTable::Kind::And)
      context.joinGuards();
    if (inductions.note(part)) {
      LDBG_OS([&](raw_ostream &os) {
        os << "start over, as conditions ask for ";
        table.print(part, os);
      });
      context.startOver();
      return false;
    }
    std::optional<bool> implied = path.facts.infer(table, part);
    if (!implied)
      implied = decideByCases(path, part);
    if (Expr simpler = simplifyPart(path, part); !implied && simpler != part) {
      implied = decide(path, simpler);
      if (context.startsOver())
        return false;
    }
    if (implied) {
      // A definition may have been made since. What is implied defines nothing:
      // a quotient of it may have a name in what implies it.
      part = path.facts.resolve(table, part);
      if (!path.facts.decide(table, part))
        path.facts.assume(table, part, *implied);
      continue;
    }
    // (n + 1) % 4 becomes n % 4 + 1 or n % 4 - 3.
    Expr sum =
        isComparison(table.getKind(part)) ? table.getOperands(part)[0] : 0;
    if (sum && table.getRemainderOf(sum) && decidePart(path, sum)) {
      if (context.startsOver())
        return false;
      continue;
    }
    LDBG_OS([&](raw_ostream &os) {
      os << "path forks on ";
      table.print(part, os);
    });
    Path other = path;
    assume(other, part, false, /*isAsserted=*/false);
    assume(path, part, true, /*isAsserted=*/false);
    if (path.facts.areContradictory())
      path = std::move(other);
    else if (!other.facts.areContradictory())
      context.fork(std::move(other));
  }
}

bool PathConditions::checkUniform(Operation *op, Expr condition) {
  if (!context.table.mentions(condition, values.getThread()))
    return true;
  context.fail(op,
               "threads of a role may take different paths here, but all of "
               "them must make the same transactions",
               /*isCertain=*/true);
  return false;
}
