//===- Expressions.cpp - Values that a schedule is checked with -----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expressions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tilews::tile;
using namespace tilews::tile::schedule;
using Kind = ExpressionTable::Kind;

//===----------------------------------------------------------------------===//
// Making expressions
//===----------------------------------------------------------------------===//

Expr ExpressionTable::intern(Kind kind, ArrayRef<int64_t> words,
                             ArrayRef<Expr> operands, bool isVariable) {
  std::vector<int64_t> key;
  key.reserve(2 + words.size() + operands.size());
  key.push_back(int64_t(kind));
  key.push_back(words.size());
  key.insert(key.end(), words.begin(), words.end());
  key.insert(key.end(), operands.begin(), operands.end());
  auto [it, isNew] = known.try_emplace(std::move(key), nodes.size());
  if (!isNew)
    return it->second;
  Node node;
  node.kind = kind;
  node.words.assign(words.begin(), words.end());
  node.operands.assign(operands.begin(), operands.end());
  for (Expr operand : operands)
    llvm::append_range(node.variables, nodes[operand].variables);
  if (isVariable)
    node.variables.push_back(it->second);
  llvm::sort(node.variables);
  node.variables.erase(llvm::unique(node.variables), node.variables.end());
  nodes.push_back(std::move(node));
  return it->second;
}

Expr ExpressionTable::getAtom(ArrayRef<int64_t> name, ArrayRef<Expr> operands,
                              bool isVariable) {
  return intern(Kind::Atom, name, operands, isVariable);
}

Expr ExpressionTable::getLinear(Terms terms, int64_t constant) {
  SmallVector<int64_t> words = {constant};
  SmallVector<Expr> operands;
  for (auto [atom, factor] : terms) {
    operands.push_back(atom);
    words.push_back(factor);
  }
  return intern(Kind::Linear, words, operands);
}

ExpressionTable::Terms ExpressionTable::getTerms(Expr sum) const {
  Terms terms;
  const Node &node = nodes[sum];
  for (auto [i, atom] : llvm::enumerate(node.operands))
    terms.push_back({atom, node.words[i + 1]});
  return terms;
}

std::optional<int64_t> ExpressionTable::getConstantValue(Expr e) const {
  const Node &node = nodes[e];
  if (e == 0 || node.kind != Kind::Linear || !node.operands.empty())
    return std::nullopt;
  return node.words[0];
}

Expr ExpressionTable::add(Expr a, Expr b, int64_t factor) {
  std::map<Expr, int64_t> sum;
  for (auto [atom, f] : getTerms(a))
    sum[atom] += f;
  for (auto [atom, f] : getTerms(b))
    sum[atom] += f * factor;
  Terms terms;
  for (auto [atom, f] : sum)
    if (f != 0)
      terms.push_back({atom, f});
  return getLinear(terms, getOffset(a) + factor * getOffset(b));
}

Expr ExpressionTable::addConstant(Expr a, int64_t value) {
  return getLinear(getTerms(a), getOffset(a) + value);
}

Expr ExpressionTable::getPositive(Expr sum) {
  if (std::optional<int64_t> value = getConstantValue(sum))
    return getConstant(*value > 0);
  return intern(Kind::Positive, {}, {sum});
}

Expr ExpressionTable::getZero(Expr sum) {
  if (std::optional<int64_t> value = getConstantValue(sum))
    return getConstant(*value == 0);
  return intern(Kind::Zero, {}, {sum});
}

Expr ExpressionTable::getNot(Expr condition) {
  if (std::optional<int64_t> value = getConstantValue(condition))
    return getConstant(*value == 0);
  if (getKind(condition) == Kind::Not)
    return getOperands(condition)[0];
  return intern(Kind::Not, {}, {condition});
}

Expr ExpressionTable::getBoth(Expr a, Expr b, bool isAnd) {
  for (auto [x, y] : {std::pair(a, b), std::pair(b, a)})
    if (std::optional<int64_t> value = getConstantValue(x))
      return (*value != 0) == isAnd ? y : x;
  return intern(isAnd ? Kind::And : Kind::Or, {}, {a, b});
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

bool ExpressionTable::mentions(Expr e, Expr atom) const {
  return llvm::is_contained(nodes[e].variables, atom);
}

Expr ExpressionTable::substitute(Expr e, Expr atom, Expr by) {
  if (!mentions(e, atom))
    return e;
  // Interning may move the nodes.
  Node node = nodes[e];
  if (node.kind == Kind::Linear) {
    Expr sum = getConstant(node.words[0]);
    for (auto [i, operand] : llvm::enumerate(node.operands)) {
      Expr term =
          operand == atom ? by : getInteger(substitute(operand, atom, by));
      sum = add(sum, term, node.words[i + 1]);
    }
    return sum;
  }
  SmallVector<Expr> operands;
  for (Expr operand : node.operands)
    operands.push_back(substitute(operand, atom, by));
  switch (node.kind) {
  case Kind::Positive:
    return getPositive(operands[0]);
  case Kind::Zero:
    return getZero(operands[0]);
  case Kind::Not:
    return getNot(operands[0]);
  case Kind::And:
  case Kind::Or:
    return getBoth(operands[0], operands[1], node.kind == Kind::And);
  default:
    return getAtom(node.words, operands);
  }
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

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
         const std::set<int64_t> &factors)
      : table(table), counter(table.getInteger(counter)), first(first),
        factors(factors) {}

  /// All ways to do so. A constant counts from `first` only as an index.
  std::vector<Expr> run(Expr e, bool isIndex = false) {
    std::vector<Expr> variants;
    if (table.getKind(e) == Kind::Linear)
      addSums(e, isIndex, variants);
    else if (table.getKind(e) == Kind::Atom)
      addAtoms(e, variants);
    return variants;
  }

private:
  void addSums(Expr e, bool isIndex, std::vector<Expr> &variants) {
    auto terms = table.getTerms(e), firstTerms = table.getTerms(first);
    auto add = [&](int64_t factor) {
      Expr rest = table.add(e, first, -factor);
      variants.push_back(table.add(rest, counter, factor));
    };
    if (isIndex && firstTerms.empty() && terms.empty())
      for (int64_t factor : factors)
        add(factor);
    for (auto [atom, factor] : terms) {
      if (!firstTerms.empty() && atom == firstTerms.front().first &&
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
    for (Expr &operand : operands) {
      Expr saved = operand;
      for (Expr variant : run(saved, isElement)) {
        operand = variant;
        variants.push_back(table.getAtom(name, operands));
      }
      operand = saved;
    }
  }

  ExpressionTable &table;
  Expr counter, first;
  const std::set<int64_t> &factors;
};
} // namespace

void Facts::lift(ExpressionTable &table, Expr counter, Expr first,
                 const std::set<int64_t> &factors) {
  Lifter lifter(table, counter, first, factors);
  std::map<Expr, bool> lifted;
  for (auto [condition, holds] : truths) {
    std::vector<Expr> variants = lifter.run(condition);
    for (Expr variant : variants)
      lifted[variant] = holds;
    if (variants.empty())
      lifted[condition] = holds;
  }
  truths = std::move(lifted);
  auto firstTerms = table.getTerms(first);
  for (auto [sum, interval] : std::map<Expr, Interval>(bounds)) {
    std::vector<Expr> variants = lifter.run(sum);
    for (Expr variant : variants)
      if (!table.getConstantValue(variant))
        setInterval(table, variant, interval);
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
                       Expr step) {
  if (!table.mentions(e, counter))
    return false;
  if (table.getKind(e) == Kind::Linear) {
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
  return llvm::any_of(table.getOperands(e), [&](Expr operand) {
    return operand != counter && liesBefore(table, operand, counter, step);
  });
}

void Facts::trim(ExpressionTable &table, Expr counter, Expr step,
                 int64_t reach) {
  eraseIf(truths, [&](const auto &entry) {
    return liesBefore(table, entry.first, counter, step);
  });
  eraseIf(bounds, [&](const auto &entry) {
    return liesBefore(table, entry.first, counter, step);
  });
  eraseIf(bounds, [&](auto &entry) {
    if (!table.mentions(entry.first, counter))
      return false;
    Interval &interval = entry.second;
    if (interval.low < -reach)
      interval.low = INT64_MIN;
    interval.low = std::min(interval.low, reach);
    if (interval.high > reach)
      interval.high = INT64_MAX;
    interval.high = std::max(interval.high, -reach);
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

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static bool compare(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  using P = arith::CmpIPredicate;
  uint64_t ua = a, ub = b;
  switch (predicate) {
  case P::eq:
    return a == b;
  case P::ne:
    return a != b;
  case P::slt:
    return a < b;
  case P::sle:
    return a <= b;
  case P::sgt:
    return a > b;
  case P::sge:
    return a >= b;
  case P::ult:
    return ua < ub;
  case P::ule:
    return ua <= ub;
  case P::ugt:
    return ua > ub;
  case P::uge:
    return ua >= ub;
  }
  llvm_unreachable("all predicates are handled");
}

static int64_t floorDiv(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

std::optional<int64_t>
tilews::tile::schedule::foldIntegers(Operation *op, ArrayRef<int64_t> v) {
  using namespace mlir::arith;
  if (isa<DivSIOp, DivUIOp, CeilDivSIOp, CeilDivUIOp, FloorDivSIOp, RemSIOp,
          RemUIOp>(op) &&
      v[1] == 0)
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case([&](AddIOp) { return v[0] + v[1]; })
      .Case([&](SubIOp) { return v[0] - v[1]; })
      .Case([&](MulIOp) { return v[0] * v[1]; })
      .Case<DivSIOp, DivUIOp>([&](auto) { return v[0] / v[1]; })
      .Case<CeilDivSIOp, CeilDivUIOp>(
          [&](auto) { return -floorDiv(-v[0], v[1]); })
      .Case([&](FloorDivSIOp) { return floorDiv(v[0], v[1]); })
      .Case<RemSIOp, RemUIOp>([&](auto) { return v[0] % v[1]; })
      .Case([&](AndIOp) { return v[0] & v[1]; })
      .Case([&](OrIOp) { return v[0] | v[1]; })
      .Case([&](XOrIOp) { return v[0] ^ v[1]; })
      .Case<MinSIOp, MinUIOp>([&](auto) { return std::min(v[0], v[1]); })
      .Case<MaxSIOp, MaxUIOp>([&](auto) { return std::max(v[0], v[1]); })
      .Case([&](SelectOp) { return v[0] ? v[1] : v[2]; })
      .Case([&](ShLIOp) { return v[0] << (v[1] & 63); })
      .Case<ShRSIOp, ShRUIOp>([&](auto) { return v[0] >> (v[1] & 63); })
      .Case<IndexCastOp, IndexCastUIOp, ExtUIOp>([&](auto) { return v[0]; })
      .Case([&](ExtSIOp cast) {
        return cast.getIn().getType().isInteger(1) ? -v[0] : v[0];
      })
      .Case([&](TruncIOp cast) {
        return cast.getType().isInteger(1) ? v[0] & 1 : v[0];
      })
      .Case([&](CmpIOp cmp) { return compare(cmp.getPredicate(), v[0], v[1]); })
      .Default([](Operation *) { return std::nullopt; });
}
