//===- CounterFacts.cpp - What is known of loops' counters ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expressions.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tilews::tile;
using namespace tilews::tile::schedule;
using Kind = ExpressionTable::Kind;

/// Whether `e` depends on an element counted by `counter`, not on the count
/// alone.
static bool hasElement(const ExpressionTable &table, Expr e, Expr counter) {
  if (table.getKind(e) == Kind::Atom)
    return e != counter && table.mentions(e, counter);
  return llvm::any_of(table.getOperands(e), [&](Expr operand) {
    return hasElement(table, operand, counter);
  });
}

void Facts::relate(ExpressionTable &table, Expr counter, Expr atom,
                   Expr value) {
  Expr zero = table.add(table.getInteger(atom), value, -1);
  for (auto [sum, interval] : std::map<Expr, Interval>(bounds))
    for (auto [element, factor] : table.getTerms(sum))
      if (hasElement(table, element, counter)) {
        // What is asked for is a difference.
        setInterval(table, table.add(sum, zero, factor > 0 ? -1 : 1), interval);
        break;
      }
}

void Facts::keepElements(const ExpressionTable &table, Expr counter,
                         Expr atom) {
  auto isStale = [&](const auto &entry) {
    return table.mentions(entry.first, atom) &&
           !hasElement(table, entry.first, counter);
  };
  eraseIf(bounds, isStale);
  eraseIf(truths, isStale);
}

namespace {
/// Rewrites one sum in an expression, or all, so that it counts from where a
/// counter is, not from where it begins.
class Lifter {
public:
  Lifter(ExpressionTable &table, Expr counter, Expr first,
         const Factors &factors)
      : table(table), counter(table.getInteger(counter)), first(first),
        factors(factors) {}

  /// All ways to do so. From a constant `first` only an index counts that is
  /// asked for with the counter.
  std::vector<Expr> run(Expr e, std::optional<Index> index = std::nullopt) {
    std::vector<Expr> variants;
    if (table.getKind(e) == Kind::Linear)
      addSums(e, index, variants);
    else if (table.getKind(e) == Kind::Atom)
      addAtoms(e, variants);
    return variants;
  }

  /// These, and all at once.
  std::vector<Expr> runOn(Expr e) {
    isAsked = false;
    std::vector<Expr> variants = run(e);
    if (Expr all = replaceAll(e); all != e)
      variants.push_back(all);
    return variants;
  }

  /// Whether the last one is an element that the loop asks for: then it is of
  /// no use but there.
  bool wasAsked() const { return isAsked; }

private:
  /// Solves `first = counter` for an atom and replaces that wherever it occurs.
  Expr replaceAll(Expr e) {
    auto terms = table.getTerms(first);
    auto pivot =
        llvm::find_if(terms, [](auto &term) { return term.second == 1; });
    if (pivot == terms.end())
      return e;
    Expr rest = table.add(first, table.getInteger(pivot->first), -1);
    return table.substitute(e, pivot->first, table.add(counter, rest, -1));
  }

  void addSums(Expr e, std::optional<Index> index,
               std::vector<Expr> &variants) {
    auto terms = table.getTerms(e), firstTerms = table.getTerms(first);
    auto add = [&](int64_t factor) {
      Expr rest = table.add(e, first, -factor);
      variants.push_back(table.add(rest, counter, factor));
    };
    if (index)
      for (const auto &[asked, known] : factors) {
        auto [memory, dim, rest] = asked;
        for (int64_t factor : known)
          if (Index(memory, dim, Expr()) == *index &&
              table.getHomogeneous(table.add(e, first, -factor)) == rest) {
            isAsked = true;
            add(factor);
          }
      }
    for (auto [atom, factor] : terms) {
      if (!index && !firstTerms.empty() && atom == firstTerms.front().first &&
          factor % firstTerms.front().second == 0)
        add(factor / firstTerms.front().second);
      Expr rest = table.add(e, table.getInteger(atom), -factor);
      for (Expr variant : run(atom))
        variants.push_back(table.add(rest, table.getInteger(variant), factor));
    }
  }

  void addAtoms(Expr e, std::vector<Expr> &variants) {
    SmallVector<Expr> operands(table.getOperands(e));
    SmallVector<int64_t> name(table.getName(e));
    bool isElement = name[0] == ExpressionTable::kElement;
    for (auto [i, operand] : llvm::enumerate(operands)) {
      Expr saved = operand;
      std::optional<Index> index;
      if (isElement)
        index = Index(table.getOperands(e)[0], i, Expr());
      for (Expr variant : run(saved, index)) {
        operand = variant;
        variants.push_back(table.getAtom(name, operands));
      }
      operand = saved;
    }
  }

  ExpressionTable &table;
  Expr counter, first;
  const Factors &factors;
  bool isAsked = false;
};
} // namespace

void Facts::lift(ExpressionTable &table, Expr counter, Expr first,
                 const Factors &factors, const Questions &questions) {
  Expr distance = table.add(table.getInteger(counter), first, -1);
  Lifter lifter(table, counter, first, factors);
  auto firstTerms = table.getTerms(first);
  auto isOfFirst = [&](Expr sum) {
    return !firstTerms.empty() && table.getKind(sum) == Kind::Linear &&
           table.getFactor(sum, firstTerms.front().first) != 0;
  };
  std::map<Expr, bool> lifted;
  for (auto [condition, holds] : truths) {
    bool isZero = table.getKind(condition) == Kind::Zero;
    Expr sum = isZero ? table.getOperands(condition)[0] : condition;
    std::vector<Expr> variants = lifter.runOn(sum);
    bool isAsked = lifter.wasAsked() || isOfFirst(sum);
    if (isZero)
      questions.forEachFactor(table, sum, [&](int64_t factor) {
        variants.push_back(table.add(sum, distance, factor));
        isAsked = true;
      });
    for (Expr variant : variants)
      lifted[isZero ? table.getZero(variant) : variant] = holds;
    if (!isAsked)
      lifted[condition] = holds;
  }
  truths = std::move(lifted);
  for (const auto &bound : std::map<Expr, Interval>(bounds)) {
    Expr sum = bound.first;
    std::vector<Expr> variants = lifter.runOn(sum);
    for (Expr variant : variants)
      if (!table.getConstantValue(variant))
        setInterval(table, variant, bound.second);
    questions.forEachFactor(table, sum, [&](int64_t factor) {
      setInterval(table, table.add(sum, distance, factor), bound.second);
    });
    // What is known of `first` itself stays known.
    if (lifter.wasAsked() && !isOfFirst(sum))
      bounds.erase(sum);
  }
}

/// Whether `e` depends on a sum that lies before `counter`: such an element is
/// not asked for again.
static bool liesBefore(const ExpressionTable &table, Expr e, Expr counter,
                       Expr step, bool isIndex = false) {
  if (!table.mentions(e, counter))
    return false;
  if (isIndex && table.getKind(e) == Kind::Linear) {
    int64_t factor = 0, ahead = table.getOffset(e);
    auto terms = table.getTerms(e);
    for (auto [atom, f] : terms)
      if (atom == counter)
        factor = f;
    for (auto [stepAtom, stepFactor] : table.getTerms(step))
      for (auto [atom, f] : terms)
        if (atom == stepAtom)
          ahead = std::min(ahead * factor, f * stepFactor * factor) * factor;
    if (ahead * factor < 0)
      return true;
  }
  bool isAtom = table.getKind(e) == Kind::Atom;
  return llvm::any_of(table.getOperands(e), [&](Expr operand) {
    return operand != counter &&
           liesBefore(table, operand, counter, step, isAtom);
  });
}

/// Whether `condition` compares a sum with `counter` that nobody asks for.
static bool isSettled(ExpressionTable &table, Expr condition, Expr counter,
                      Expr step, int64_t reach, const Questions &questions) {
  if (table.getKind(condition) != Kind::Zero)
    return false;
  Expr sum = table.getOperands(condition)[0];
  bool isTerm = false;
  for (auto [atom, factor] : table.getTerms(sum)) {
    isTerm |= atom == counter;
    if (atom != counter && table.mentions(atom, counter))
      return false;
  }
  std::optional<int64_t> width = table.getConstantValue(step);
  return isTerm &&
         !(width && questions.mayFollow(table, sum, counter, *width, reach));
}

/// Gives up bounds that are further than `reach` from all numbers at which the
/// answer to a question changes: an interval may grow, up to where they matter.
static void loosen(Facts::Interval &interval, ArrayRef<int64_t> constants,
                   int64_t reach) {
  Facts::Interval loose;
  for (int64_t constant : constants) {
    int64_t change = -constant;
    if (interval.low >= change - reach)
      loose.low = std::max(loose.low, std::min(interval.low, change + reach));
    if (interval.high <= change + reach)
      loose.high =
          std::min(loose.high, std::max(interval.high, change - reach));
  }
  interval = loose;
}

void Facts::trim(ExpressionTable &table, Expr counter, Expr step, int64_t start,
                 int64_t reach, const Questions &questions) {
  eraseIf(truths, [&](const auto &entry) {
    return liesBefore(table, entry.first, counter, step) ||
           isSettled(table, entry.first, counter, step, reach, questions);
  });
  eraseIf(bounds, [&](const auto &entry) {
    return liesBefore(table, entry.first, counter, step, /*isIndex=*/true);
  });
  std::optional<int64_t> width = table.getConstantValue(step);
  eraseIf(bounds, [&](auto &entry) {
    if (!table.mentions(entry.first, counter))
      return false;
    Interval &interval = entry.second;
    auto constants = questions.getConstants(table, entry.first, counter);
    // Where all answers are the same from now on the distance does not matter.
    if (!constants.empty() && width) {
      bool grows = table.getFactor(entry.first, counter) * *width > 0;
      if (grows && interval.low > -constants.front())
        interval = {-constants.front() + 1, INT64_MAX};
      if (!grows && interval.high < -constants.back())
        interval = {INT64_MIN, -constants.back() - 1};
    }
    if (constants.empty())
      loosen(interval, {0}, start + reach);
    else
      loosen(interval, constants, reach);
    return interval.low == INT64_MIN && interval.high == INT64_MAX;
  });
}
