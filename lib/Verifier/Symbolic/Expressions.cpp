//===- Expressions.cpp - Symbolic scalars of a schedule -------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expressions are made bottom up in a canonical form and then interned: a hash
// table maps kind, words and operands to the one node that has them, so
// equality of expressions is equality of numbers. The canonical form is:
//
//   * a sum has its terms in the order of their atoms, none with coefficient 0;
//   * a quotient keeps only what its divisor does not divide, next to 0, and
//     has no common factor: (4 * n + i + 9) / 4 is n + 2 + (i + 1) / 4;
//   * the first coefficient of a quotient without variables is positive: -n / 4
//     is -((n + 3) / 4);
//   * a quotient of a maximum is the maximum of the quotients, and one of a
//     quotient has both divisors;
//   * the larger one of two sums is one of them and a positive part, of which
//     the first coefficient is positive: max(a, n) is a + max(n - a, 0);
//   * compared sums have no common factor: 2 * i - 3 > 0 is i - 1 > 0, and no
//     lone quotient: i / 2 - 3 > 0 is i - 7 > 0;
//   * `a - b == 0` has a positive first coefficient, as b == a is a == b;
//   * constants are folded in conditions, and two negations cancel;
//   * a conjunction has its parts in the order of their numbers, and `a or b`
//     is not (not a and not b).
//
// Each node lists the variables that it depends on, so that a substitution
// leaves subtrees without the variable as they are.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Symbolic/Expressions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace tilews;
using namespace tilews::verifier;
using Kind = ExpressionTable::Kind;

//===----------------------------------------------------------------------===//
// Making expressions
//===----------------------------------------------------------------------===//

static uint64_t getHash(Kind kind, ArrayRef<int64_t> words,
                        ArrayRef<Expr> operands) {
  uint64_t hash = uint64_t(kind) + 8 * words.size();
  auto add = [&](uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  };
  llvm::for_each(words, add);
  llvm::for_each(operands, add);
  return hash;
}

/// Whether two short lists are equal. Most lists have at most two entries, for
/// which a call of `memcmp` takes longer than a loop.
template <typename T>
static bool areEqual(ArrayRef<T> one, ArrayRef<T> other) {
  if (one.size() != other.size())
    return false;
  for (size_t i = 0; i < one.size(); ++i)
    if (one[i] != other[i])
      return false;
  return true;
}

Expr ExpressionTable::intern(Kind kind, ArrayRef<int64_t> words,
                             ArrayRef<Expr> operands, bool isVariable,
                             bool isNatural) {
  countWork(1);
  uint64_t hash = getHash(kind, words, operands);
  uint64_t mask = buckets.size() - 1;
  for (uint64_t i = hash; Expr other = buckets[i & mask]; ++i)
    if (const ExpressionNode &node = nodes[other];
        node.hash == hash && node.kind == kind &&
        areEqual(words, ArrayRef(node.words)) &&
        areEqual(operands, ArrayRef(node.operands)))
      return other;
  Expr expr = nodes.size();
  ExpressionNode node;
  node.hash = hash;
  node.kind = kind;
  node.words.assign(words.begin(), words.end());
  node.operands.assign(operands.begin(), operands.end());
  for (Expr operand : operands) {
    llvm::append_range(node.variables, nodes[operand].variables);
    node.treeSize = llvm::SaturatingAdd(node.treeSize, nodes[operand].treeSize);
  }
  if (kind == Kind::Atom && words[0] == AtomKind::LargeExpression)
    node.treeSize = 1;
  if (isVariable)
    node.variables.push_back(expr);
  llvm::sort(node.variables);
  node.variables.erase(llvm::unique(node.variables), node.variables.end());
  if (isNatural)
    node.bounds.low = 0;
  nodes.push_back(std::move(node));
  nodes[expr].bounds = findBounds(expr);
  addToBuckets(expr);
  return expr;
}

void ExpressionTable::addToBuckets(Expr expr) {
  if (2 * nodes.size() > buckets.size()) {
    buckets.assign(2 * buckets.size(), 0);
    for (Expr other = 1; other < expr; ++other)
      addToBuckets(other);
  }
  uint64_t i = nodes[expr].hash, mask = buckets.size() - 1;
  while (buckets[i & mask])
    ++i;
  buckets[i & mask] = expr;
}

Expr ExpressionTable::getAtom(ArrayRef<int64_t> name, ArrayRef<Expr> operands,
                              bool isVariable, bool isNatural) {
  return intern(Kind::Atom, name, operands, isVariable, isNatural);
}

Expr ExpressionTable::getLinear(const Terms &terms, int64_t constant) {
  SmallVector<int64_t> words = {constant};
  SmallVector<Expr> operands;
  for (auto [atom, factor] : terms) {
    operands.push_back(atom);
    words.push_back(factor);
  }
  if (llvm::all_of(words, [](int64_t word) { return llvm::isInt<32>(word); }))
    return intern(Kind::Linear, words, operands);
  // With 32 bits no sum of two terms overflows, and bounds of sums do not reach
  // the 64-bit numbers that stand for infinity.
  words.insert(words.begin(), AtomKind::LargeSum);
  for (Expr &operand : operands)
    operand = getInteger(operand);
  return getInteger(getAtom(words, operands));
}

ExpressionTable::Terms ExpressionTable::getTerms(Expr sum) const {
  Terms terms;
  const ExpressionNode &node = nodes[sum];
  for (auto [i, atom] : llvm::enumerate(node.operands))
    terms.push_back({atom, node.words[i + 1]});
  return terms;
}

int64_t ExpressionTable::getFactor(Expr sum, Expr atom) const {
  for (auto [other, factor] : getTerms(sum))
    if (other == atom)
      return factor;
  return 0;
}

std::optional<int64_t> ExpressionTable::getConstantValue(Expr e) const {
  const ExpressionNode &node = nodes[e];
  if (e == 0 || node.kind != Kind::Linear || !node.operands.empty())
    return std::nullopt;
  return node.words[0];
}

int64_t ExpressionTable::getScale(Expr sum) const {
  int64_t scale = 0;
  for (auto [atom, factor] : getTerms(sum))
    scale = std::gcd(scale, factor);
  return std::max<int64_t>(scale, 1);
}

Expr ExpressionTable::divideExactly(Expr sum, int64_t divisor) {
  if (divisor == 1)
    return sum;
  Terms terms = getTerms(sum);
  for (auto &[atom, factor] : terms)
    factor /= divisor;
  return getLinear(terms, getOffset(sum) / divisor);
}

ExpressionTable::Multiple ExpressionTable::getMultiple(Expr sum) {
  if (nodes[sum].multiple.primitive)
    return nodes[sum].multiple;
  int64_t factor = getScale(sum);
  Terms terms = getTerms(sum);
  if (!terms.empty() && terms.front().second < 0)
    factor = -factor;
  Expr primitive = divideExactly(dropConstant(*this, sum), factor);
  return nodes[sum].multiple = {primitive, factor};
}

Expr ExpressionTable::add(Expr a, Expr b, int64_t factor) {
  Terms left = getTerms(a), right = getTerms(b), terms;
  auto l = left.begin(), r = right.begin();
  while (l != left.end() || r != right.end()) {
    bool hasLeft =
        r == right.end() || (l != left.end() && l->first <= r->first);
    bool hasRight =
        l == left.end() || (r != right.end() && r->first <= l->first);
    Expr atom = hasLeft ? l->first : r->first;
    int64_t sum = 0;
    if (hasLeft)
      sum += l++->second;
    if (hasRight)
      sum += factor * r++->second;
    if (sum != 0)
      terms.push_back({atom, sum});
  }
  return getLinear(terms, getOffset(a) + factor * getOffset(b));
}

Expr ExpressionTable::addConstant(Expr a, int64_t value) {
  return getLinear(getTerms(a), getOffset(a) + value);
}

Expr ExpressionTable::getProduct(Expr a, Expr b) {
  for (auto [x, y] : {std::pair(a, b), std::pair(b, a)})
    if (std::optional<int64_t> factor = getConstantValue(y))
      return add(getConstant(0), x, *factor);
  return getInteger(
      getAtom({AtomKind::ProductOfSums}, {std::min(a, b), std::max(a, b)}));
}

/// The quotient of a sum of which the divisor divides nothing.
static Expr getReducedQuotient(ExpressionTable &table, Expr sum,
                               int64_t divisor) {
  for (auto [atom, factor] : table.getTerms(sum)) {
    if (table.getName(atom)[0] != AtomKind::PositivePart ||
        std::abs(factor) != 1)
      continue;
    // The quotient of a maximum or minimum is that of the quotients.
    Expr one = table.add(sum, table.getInteger(atom), -factor);
    Expr other = table.add(one, table.getOperands(atom)[0], factor);
    Expr first = table.getQuotient(one, divisor);
    Expr more = table.add(table.getQuotient(other, divisor), first, -1);
    more = table.getPositivePart(table.add(table.getConstant(0), more, factor));
    return table.add(first, more, factor);
  }
  // The quotient of a quotient is one of both divisors:
  // ((i / 2) + 3) / 4 is (i + 6) / 8.
  for (auto [atom, factor] : table.getTerms(sum)) {
    if (table.getName(atom)[0] != AtomKind::Quotient || std::abs(factor) != 1)
      continue;
    int64_t inner = table.getName(atom)[1];
    if (!llvm::isInt<31>(inner * divisor))
      continue;
    Expr rest = table.add(sum, table.getInteger(atom), -factor);
    Expr scaled = table.add(table.getConstant(0), rest, inner);
    // -(i / 2) is (1 - i) / 2.
    scaled = table.addConstant(scaled, factor < 0 ? inner - 1 : 0);
    return table.getQuotient(
        table.add(scaled, table.getOperands(atom)[0], factor), inner * divisor);
  }
  // A remainder of i - n is found by the sum itself, so sums of variables stay.
  if (table.getTerms(sum).front().second < 0 &&
      table.getVariables(sum).empty()) {
    Expr minus = table.add(table.getConstant(divisor - 1), sum, -1);
    return table.add(table.getConstant(0), table.getQuotient(minus, divisor),
                     -1);
  }
  return table.getInteger(table.getAtom({AtomKind::Quotient, divisor}, {sum}));
}

Expr ExpressionTable::getQuotient(Expr sum, int64_t divisor) {
  // Multiples of the divisor leave the quotient, so that the rest of each
  // factor is next to 0. Half of the divisor is positive: -3 * n / 6 is
  // 3 * n / 6 - n. By 2, these keep their sign: variables, as a remainder of
  // n - i is found by the sum itself, and what is added to a quotient, which
  // is merged below.
  Expr whole = getConstant(0), rest = getConstant(0);
  bool hasQuotient = llvm::any_of(getTerms(sum), [&](auto term) {
    return getName(term.first)[0] == AtomKind::Quotient;
  });
  for (auto [atom, factor] : getTerms(sum)) {
    int64_t even = llvm::divideFloorSigned(factor, divisor);
    int64_t left = factor - even * divisor;
    bool isLone = std::abs(factor) == 1 && divisor == 2 &&
                  (hasQuotient || !getVariables(atom).empty());
    if (isLone || 2 * left > divisor) {
      even = isLone ? 0 : even + 1;
      left = factor - even * divisor;
    }
    whole = add(whole, getInteger(atom), even);
    rest = add(rest, getInteger(atom), left);
  }
  int64_t quotient = llvm::divideFloorSigned(getOffset(sum), divisor);
  whole = addConstant(whole, quotient);
  rest = addConstant(rest, getOffset(sum) - quotient * divisor);
  if (getConstantValue(rest)) // Less than the divisor.
    return whole;
  // (2 * n + 3) / 4 is (n + 1) / 2.
  int64_t common = std::gcd(getScale(rest), divisor);
  rest = addConstant(divideExactly(dropConstant(*this, rest), common),
                     getOffset(rest) / common);
  divisor /= common;
  return add(whole, getReducedQuotient(*this, rest, divisor));
}

Expr ExpressionTable::getPositivePart(Expr sum) {
  if (getBounds(sum).low >= 0)
    return sum;
  if (getBounds(sum).high <= 0)
    return getConstant(0);
  if (getTerms(sum).front().second < 0)
    return add(getPositivePart(add(getConstant(0), sum, -1)), sum);
  return getInteger(getAtom({AtomKind::PositivePart}, {sum}));
}

namespace {
/// The one quotient s / d in a sum that is `factor * (s / d) + rest`, where the
/// factor is 1 or -1. There is none if the divisor is 0.
struct LoneQuotient {
  LoneQuotient(ExpressionTable &table, Expr sum);

  Expr dividend = 0;
  int64_t divisor = 0, factor = 0;
  /// d * rest
  Expr scaled = 0;
};
} // namespace

LoneQuotient::LoneQuotient(ExpressionTable &table, Expr sum) {
  Expr quotient = 0;
  for (auto [atom, coefficient] : table.getTerms(sum)) {
    if (table.getName(atom)[0] != AtomKind::Quotient)
      continue;
    if (quotient || std::abs(coefficient) != 1)
      return;
    quotient = atom;
    factor = coefficient;
  }
  if (!quotient)
    return;
  int64_t d = table.getName(quotient)[1];
  Expr rest = table.add(sum, table.getInteger(quotient), -factor);
  auto fits = [&](int64_t number) { return llvm::isInt<32>(number * d); };
  if (!fits(table.getOffset(rest)) ||
      !llvm::all_of(llvm::make_second_range(table.getTerms(rest)), fits))
    return;
  divisor = d;
  dividend = table.getOperands(quotient)[0];
  scaled = table.add(table.getConstant(0), rest, d);
}

Expr ExpressionTable::getPositive(Expr sum) {
  if (std::optional<int64_t> value = getConstantValue(sum))
    return getConstant(*value > 0);
  // s / d > r if s is at least d * (r + 1), and r > s / d if d * r > s.
  if (LoneQuotient lone(*this, sum); lone.divisor) {
    Expr scaled = add(lone.scaled, lone.dividend, lone.factor);
    return getPositive(
        addConstant(scaled, lone.factor > 0 ? 1 - lone.divisor : 0));
  }
  // g * h + c > 0 if h is at least (1 - c) / g, rounded up.
  int64_t scale = getScale(sum), offset = getOffset(sum);
  sum = divideExactly(dropConstant(*this, sum), scale);
  int64_t least = llvm::divideCeilSigned(1 - offset, scale);
  return intern(Kind::Positive, {}, {addConstant(sum, 1 - least)});
}

Expr ExpressionTable::getZero(Expr sum) {
  if (std::optional<int64_t> value = getConstantValue(sum))
    return getConstant(*value == 0);
  // s / d == r if s is d * r or at most d - 1 more.
  if (LoneQuotient lone(*this, sum); lone.divisor) {
    Expr more = add(lone.dividend, lone.scaled, lone.factor);
    Expr less = add(getConstant(lone.divisor), more, -1);
    return getConjunction(
        {getPositive(addConstant(more, 1)), getPositive(less)});
  }
  int64_t scale = getScale(sum);
  if (getOffset(sum) % scale != 0)
    return getConstant(false);
  if (getTerms(sum).front().second < 0)
    scale = -scale;
  return intern(Kind::Zero, {}, {divideExactly(sum, scale)});
}

Expr ExpressionTable::getNot(Expr condition) {
  if (std::optional<int64_t> value = getConstantValue(condition))
    return getConstant(*value == 0);
  if (getKind(condition) == Kind::Not)
    return getOperands(condition)[0];
  return intern(Kind::Not, {}, {condition});
}

Expr ExpressionTable::getBoth(Expr a, Expr b, bool isAnd) {
  return isAnd ? getConjunction({a, b})
               : getNot(getConjunction({getNot(a), getNot(b)}));
}

Expr ExpressionTable::getConjunction(ArrayRef<Expr> conditions) {
  SmallVector<Expr> parts;
  for (Expr condition : conditions)
    if (getKind(condition) == Kind::And)
      llvm::append_range(parts, getOperands(condition));
    else if (getConstantValue(condition).value_or(0) == 0)
      parts.push_back(condition);
  countWork(parts.size() / 8);
  llvm::sort(parts);
  parts.erase(llvm::unique(parts), parts.end());
  for (Expr part : parts)
    if (getConstantValue(part) ||
        (getKind(part) == Kind::Not &&
         std::binary_search(parts.begin(), parts.end(), getOperands(part)[0])))
      return getConstant(false);
  if (parts.size() < 2)
    return parts.empty() ? getConstant(true) : parts.front();
  return intern(Kind::And, {}, parts);
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

bool ExpressionTable::mentions(Expr e, Expr atom) const {
  return llvm::is_contained(nodes[e].variables, atom);
}

bool ExpressionTable::contains(Expr e, Expr atom) const {
  if (e == atom || nodes[atom].variables == ArrayRef(atom))
    return e == atom || mentions(e, atom);
  return llvm::any_of(getOperands(e),
                      [&](Expr operand) { return contains(operand, atom); });
}

Expr ExpressionTable::substituteInTerm(Expr term, Expr atom, Expr by) {
  if (term == atom)
    return by;
  if (!contains(term, atom))
    return getInteger(term);
  SmallVector<Expr> operands(getOperands(term));
  for (Expr &operand : operands)
    operand = substitute(operand, atom, by);
  SmallVector<int64_t> name(getName(term));
  if (name[0] == AtomKind::Quotient)
    return getQuotient(operands[0], name[1]);
  if (name[0] == AtomKind::PositivePart)
    return getPositivePart(operands[0]);
  if (name[0] == AtomKind::Choice)
    return getChoice(*this, operands[0], operands[1], operands[2]);
  if (name[0] == AtomKind::ProductOfSums)
    return getProduct(operands[0], operands[1]);
  return getInteger(getAtom(name, operands));
}

Expr ExpressionTable::substitute(Expr e, Expr atom, Expr by) {
  if (!contains(e, atom))
    return e;
  auto known = substituted.find({e, {atom, by}});
  if (known != substituted.end())
    return known->second;
  SmallVector<Expr> operands;
  if (getKind(e) != Kind::Linear)
    for (Expr operand : SmallVector<Expr>(getOperands(e)))
      operands.push_back(substitute(operand, atom, by));
  Expr result = e;
  switch (getKind(e)) {
  case Kind::Linear:
    result = getConstant(getOffset(e));
    for (auto [term, factor] : getTerms(e))
      result = add(result, substituteInTerm(term, atom, by), factor);
    break;
  case Kind::Positive:
    result = getPositive(operands[0]);
    break;
  case Kind::Zero:
    result = getZero(operands[0]);
    break;
  case Kind::Not:
    result = getNot(operands[0]);
    break;
  case Kind::And:
    result = getConjunction(operands);
    break;
  case Kind::Atom:
    if (isPredicate(*this, e))
      result = getPredicate(*this, operands[0]);
    else if (!operands.empty())
      result = getAtom(SmallVector<int64_t>(getName(e)), operands);
    break;
  }
  substituted[{e, {atom, by}}] = result;
  return result;
}
