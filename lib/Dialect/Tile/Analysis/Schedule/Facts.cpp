//===- Facts.cpp - What is known on a way through a schedule --------------===//
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

namespace {
/// A sum as a factor of 1 or -1 and a sum that begins with a positive term.
struct Oriented {
  Oriented(ExpressionTable &table, Expr sum) : offset(table.getOffset(sum)) {
    homogeneous = table.getHomogeneous(sum);
    auto terms = table.getTerms(sum);
    if (!terms.empty() && terms.front().second < 0) {
      sign = -1;
      homogeneous = table.add(table.getConstant(0), homogeneous, -1);
    }
  }
  Expr homogeneous;
  int64_t offset;
  int64_t sign = 1;
};
} // namespace

static int64_t addBound(int64_t bound, int64_t value) {
  return bound == INT64_MIN || bound == INT64_MAX ? bound : bound + value;
}
static int64_t negateBound(int64_t bound) {
  if (bound == INT64_MIN)
    return INT64_MAX;
  return bound == INT64_MAX ? INT64_MIN : -bound;
}

Facts::Interval Facts::getInterval(ExpressionTable &table, Expr sum) const {
  if (std::optional<int64_t> value = table.getConstantValue(sum))
    return {*value, *value};
  Oriented oriented(table, sum);
  auto it = bounds.find(oriented.homogeneous);
  Interval interval = it == bounds.end() ? Interval() : it->second;
  if (oriented.sign < 0)
    interval = {negateBound(interval.high), negateBound(interval.low)};
  return {addBound(interval.low, oriented.offset),
          addBound(interval.high, oriented.offset)};
}

void Facts::setInterval(ExpressionTable &table, Expr sum, Interval interval) {
  Oriented oriented(table, sum);
  interval = {addBound(interval.low, -oriented.offset),
              addBound(interval.high, -oriented.offset)};
  if (oriented.sign < 0)
    interval = {negateBound(interval.high), negateBound(interval.low)};
  if (interval.low == INT64_MIN && interval.high == INT64_MAX)
    bounds.erase(oriented.homogeneous);
  else
    bounds[oriented.homogeneous] = interval;
}

std::optional<bool> Facts::decide(ExpressionTable &table,
                                  Expr condition) const {
  if (std::optional<int64_t> value = table.getConstantValue(condition))
    return *value != 0;
  SmallVector<Expr, 2> operands(table.getOperands(condition));
  switch (table.getKind(condition)) {
  case Kind::Positive: {
    Interval interval = getInterval(table, operands[0]);
    if (interval.low > 0)
      return true;
    return interval.high <= 0 ? std::optional(false) : std::nullopt;
  }
  case Kind::Zero: {
    Interval interval = getInterval(table, operands[0]);
    if (interval.low > 0 || interval.high < 0)
      return false;
    if (interval.low == 0 && interval.high == 0)
      return true;
    break;
  }
  case Kind::Not: {
    std::optional<bool> inner = decide(table, operands[0]);
    return inner ? std::optional(!*inner) : std::nullopt;
  }
  case Kind::And:
  case Kind::Or: {
    bool decisive = table.getKind(condition) == Kind::Or;
    std::optional<bool> a = decide(table, operands[0]);
    std::optional<bool> b = decide(table, operands[1]);
    if (a == decisive || b == decisive)
      return decisive;
    return a && b ? std::optional(!decisive) : std::nullopt;
  }
  default:
    break;
  }
  auto it = truths.find(condition);
  return it == truths.end() ? std::nullopt : std::optional(it->second);
}

Expr Facts::findUndecided(ExpressionTable &table, Expr condition) const {
  Kind kind = table.getKind(condition);
  if (kind == Kind::Not)
    return findUndecided(table, table.getOperands(condition)[0]);
  if (kind != Kind::And && kind != Kind::Or)
    return condition;
  SmallVector<Expr, 2> operands(table.getOperands(condition));
  return findUndecided(table,
                       decide(table, operands[0]) ? operands[1] : operands[0]);
}

void Facts::assume(ExpressionTable &table, Expr part, bool holds) {
  Kind kind = table.getKind(part);
  if (kind != Kind::Positive && kind != Kind::Zero) {
    truths[part] = holds;
    return;
  }
  Expr sum = table.getOperands(part)[0];
  Interval interval = getInterval(table, sum);
  if (kind == Kind::Positive) {
    if (holds)
      interval.low = std::max<int64_t>(interval.low, 1);
    else
      interval.high = std::min<int64_t>(interval.high, 0);
  } else if (holds) {
    interval = {0, 0};
  } else {
    truths[part] = false;
    return;
  }
  setInterval(table, sum, interval);
}

/// std::erase_if is of C++20.
template <typename MapT, typename FnT>
static void eraseIf(MapT &map, FnT matches) {
  for (auto it = map.begin(); it != map.end();)
    it = matches(*it) ? map.erase(it) : std::next(it);
}

void Facts::forget(const ExpressionTable &table, Expr atom) {
  auto depends = [&](const auto &entry) {
    return table.mentions(entry.first, atom);
  };
  eraseIf(bounds, depends);
  eraseIf(truths, depends);
}

void Facts::keepOnly(const ExpressionTable &table,
                     const std::set<Expr> &variables) {
  auto depends = [&](const auto &entry) {
    return llvm::any_of(table.getVariables(entry.first), [&](Expr variable) {
      return !variables.count(variable);
    });
  };
  eraseIf(bounds, depends);
  eraseIf(truths, depends);
}

void Facts::shift(ExpressionTable &table, Expr atom, Expr by) {
  std::map<Expr, Interval> oldBounds = std::move(bounds);
  std::map<Expr, bool> oldTruths = std::move(truths);
  bounds.clear();
  truths.clear();
  for (auto &[sum, interval] : oldBounds) {
    Expr shifted = table.substitute(sum, atom, by);
    if (!table.getConstantValue(shifted))
      setInterval(table, shifted, interval);
  }
  for (auto &[condition, holds] : oldTruths) {
    Expr shifted = table.substitute(condition, atom, by);
    if (!table.getConstantValue(shifted))
      truths[shifted] = holds;
  }
}

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
/// Rewrites one sum in an expression so that it counts from where a counter is,
/// not from where it begins.
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

private:
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
              table.getHomogeneous(table.add(e, first, -factor)) == rest)
            add(factor);
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
};
} // namespace

static int64_t getFactor(const ExpressionTable &table, Expr sum, Expr atom) {
  for (auto [other, factor] : table.getTerms(sum))
    if (other == atom)
      return factor;
  return 0;
}

namespace {
/// A sum as a multiple of a counter and the rest.
struct Split {
  Split(ExpressionTable &table, Expr sum, Expr counter)
      : factor(getFactor(table, sum, counter)) {
    Oriented rest(table, table.add(sum, table.getInteger(counter), -factor));
    homogeneous = rest.homogeneous;
    bool isAlone = table.getTerms(homogeneous).empty();
    sign = isAlone && factor < 0 ? -1 : rest.sign;
    factor *= sign;
    offset = rest.offset * sign;
  }
  Expr homogeneous;
  int64_t factor, offset, sign;
};
} // namespace

bool Questions::add(ExpressionTable &table, Expr sum, Expr counter,
                    bool forZero) {
  Split split(table, sum, counter);
  Constants &constants = asked[{split.homogeneous, split.factor}];
  bool isNew = constants.all.insert(split.offset).second;
  return (forZero && constants.forZero.insert(split.offset).second) || isNew;
}

void Questions::forEachFactor(ExpressionTable &table, Expr sum,
                              llvm::function_ref<void(int64_t)> fn) const {
  Oriented oriented(table, sum);
  for (auto &[question, constants] : asked)
    if (question.first == oriented.homogeneous)
      fn(question.second * oriented.sign);
}

SmallVector<int64_t> Questions::getConstants(ExpressionTable &table, Expr sum,
                                             Expr counter) const {
  Split split(table, sum, counter);
  auto it = asked.find({split.homogeneous, split.factor});
  if (it == asked.end())
    return {};
  SmallVector<int64_t> constants(it->second.all.begin(), it->second.all.end());
  if (split.sign < 0) {
    std::reverse(constants.begin(), constants.end());
    for (int64_t &constant : constants)
      constant = -constant;
  }
  return constants;
}

bool Questions::mayFollow(ExpressionTable &table, Expr sum, Expr counter,
                          int64_t step, int64_t reach) const {
  Split split(table, sum, counter);
  auto it = asked.find({split.homogeneous, split.factor});
  return it != asked.end() &&
         llvm::any_of(it->second.forZero, [&](int64_t constant) {
           int64_t distance = split.offset - constant;
           if (split.factor * step < 0)
             distance = -distance;
           return distance >= 0 && distance < reach;
         });
}

void Facts::lift(ExpressionTable &table, Expr counter, Expr first,
                 const Factors &factors, const Questions &questions) {
  Expr distance = table.add(table.getInteger(counter), first, -1);
  Lifter lifter(table, counter, first, factors);
  std::map<Expr, bool> lifted;
  for (auto [condition, holds] : truths) {
    bool isZero = table.getKind(condition) == Kind::Zero;
    Expr sum = isZero ? table.getOperands(condition)[0] : condition;
    std::vector<Expr> variants = lifter.run(sum);
    if (isZero)
      questions.forEachFactor(table, sum, [&](int64_t factor) {
        variants.push_back(table.add(sum, distance, factor));
      });
    for (Expr variant : variants)
      lifted[isZero ? table.getZero(variant) : variant] = holds;
    if (variants.empty())
      lifted[condition] = holds;
  }
  truths = std::move(lifted);
  auto firstTerms = table.getTerms(first);
  for (const auto &bound : std::map<Expr, Interval>(bounds)) {
    Expr sum = bound.first;
    std::vector<Expr> variants = lifter.run(sum);
    for (Expr variant : variants)
      if (!table.getConstantValue(variant))
        setInterval(table, variant, bound.second);
    questions.forEachFactor(table, sum, [&](int64_t factor) {
      setInterval(table, table.add(sum, distance, factor), bound.second);
    });
    // What is known of `first` itself stays known.
    bool isOfFirst = llvm::any_of(table.getTerms(sum), [&](auto &term) {
      return !firstTerms.empty() && term.first == firstTerms.front().first;
    });
    if (!variants.empty() && !isOfFirst)
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
  bool isTerm = llvm::any_of(table.getTerms(sum),
                             [&](auto &term) { return term.first == counter; });
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
      bool grows = getFactor(table, entry.first, counter) * *width > 0;
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

void schedule::appendTo(std::string &key, int64_t value) {
  constexpr int64_t kEscape = -128;
  bool isShort = value > kEscape && value <= 127;
  key.push_back(char(isShort ? value : kEscape));
  if (!isShort)
    key.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

void Facts::appendTo(std::string &key) const {
  auto append = [&](int64_t value) { schedule::appendTo(key, value); };
  append(bounds.size());
  for (auto &[sum, interval] : bounds) {
    append(sum);
    append(interval.low);
    append(interval.high);
  }
  for (auto [condition, holds] : truths)
    append(int64_t(condition) * 2 + holds);
}
