//===- Expressions.cpp - Values that a schedule is checked with -----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifier/Symbolic/Expressions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
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

Expr ExpressionTable::intern(Kind kind, ArrayRef<int64_t> words,
                             ArrayRef<Expr> operands, bool isVariable) {
  uint64_t hash = getHash(kind, words, operands);
  for (uint64_t i = hash; Expr other = getBucket(i); ++i)
    if (const Node &node = nodes[other];
        node.hash == hash && node.kind == kind &&
        words == ArrayRef(node.words) && operands == ArrayRef(node.operands))
      return other;
  Expr expr = nodes.size();
  Node node;
  node.hash = hash;
  node.kind = kind;
  node.words.assign(words.begin(), words.end());
  node.operands.assign(operands.begin(), operands.end());
  for (Expr operand : operands)
    llvm::append_range(node.variables, nodes[operand].variables);
  if (isVariable)
    node.variables.push_back(expr);
  llvm::sort(node.variables);
  node.variables.erase(llvm::unique(node.variables), node.variables.end());
  nodes.push_back(std::move(node));
  addToBuckets(expr);
  return expr;
}

void ExpressionTable::addToBuckets(Expr expr) {
  if (2 * nodes.size() > buckets.size()) {
    buckets.assign(2 * buckets.size(), 0);
    for (Expr other = 1; other < expr; ++other)
      addToBuckets(other);
  }
  uint64_t i = nodes[expr].hash;
  while (getBucket(i))
    ++i;
  getBucket(i) = expr;
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
  if (llvm::all_of(words, [](int64_t word) { return llvm::isInt<32>(word); }))
    return intern(Kind::Linear, words, operands);
  // Nothing is computed with numbers that could overflow, and bounds of 64 bits
  // stay apart from those of sums.
  words.insert(words.begin(), kLarge);
  for (Expr &operand : operands)
    operand = getInteger(operand);
  return getInteger(getAtom(words, operands));
}

ExpressionTable::Terms ExpressionTable::getTerms(Expr sum) const {
  Terms terms;
  const Node &node = nodes[sum];
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
  const Node &node = nodes[e];
  if (e == 0 || node.kind != Kind::Linear || !node.operands.empty())
    return std::nullopt;
  return node.words[0];
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
  return getInteger(getAtom({kProduct}, {std::min(a, b), std::max(a, b)}));
}

Expr ExpressionTable::getQuotient(Expr sum, int64_t divisor) {
  // What divides evenly is no part of it.
  Expr whole = getConstant(0), rest = getConstant(0);
  for (auto [atom, factor] : getTerms(sum)) {
    bool isEven = factor % divisor == 0;
    Expr &part = isEven ? whole : rest;
    part = add(part, getInteger(atom), isEven ? factor / divisor : factor);
  }
  int64_t quotient = llvm::divideFloorSigned(getOffset(sum), divisor);
  whole = addConstant(whole, quotient);
  rest = addConstant(rest, getOffset(sum) - quotient * divisor);
  if (getConstantValue(rest)) // Less than the divisor.
    return whole;
  return add(whole, getInteger(getAtom({kQuotient, divisor}, {rest})));
}

Expr ExpressionTable::getPositive(Expr sum) {
  if (std::optional<int64_t> value = getConstantValue(sum))
    return getConstant(*value > 0);
  return intern(Kind::Positive, {}, {sum});
}

Expr ExpressionTable::getZero(Expr sum) {
  if (std::optional<int64_t> value = getConstantValue(sum))
    return getConstant(*value == 0);
  // a == b is b == a.
  if (getTerms(sum).front().second < 0)
    sum = add(getConstant(0), sum, -1);
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

Expr ExpressionTable::substituteInTerm(Expr term, Expr atom, Expr by) {
  if (term == atom)
    return by;
  if (!mentions(term, atom))
    return getInteger(term);
  SmallVector<Expr> operands(getOperands(term));
  for (Expr &operand : operands)
    operand = substitute(operand, atom, by);
  SmallVector<int64_t> name(getName(term));
  if (name[0] == kQuotient)
    return getQuotient(operands[0], name[1]);
  if (name[0] == kProduct)
    return getProduct(operands[0], operands[1]);
  return getInteger(getAtom(name, operands));
}

Expr ExpressionTable::substitute(Expr e, Expr atom, Expr by) {
  if (!mentions(e, atom))
    return e;
  if (getKind(e) == Kind::Linear) {
    Expr sum = getConstant(getOffset(e));
    for (auto [term, factor] : getTerms(e))
      sum = add(sum, substituteInTerm(term, atom, by), factor);
    return sum;
  }
  SmallVector<Expr> operands(getOperands(e));
  for (Expr &operand : operands)
    operand = substitute(operand, atom, by);
  switch (getKind(e)) {
  case Kind::Positive:
    return getPositive(operands[0]);
  case Kind::Zero:
    return getZero(operands[0]);
  case Kind::Not:
    return getNot(operands[0]);
  case Kind::And:
  case Kind::Or:
    return getBoth(operands[0], operands[1], getKind(e) == Kind::And);
  default:
    return operands.empty()
               ? e
               : getAtom(SmallVector<int64_t>(getName(e)), operands);
  }
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// Of numbers that are not negative, as if nothing overflowed.
static std::optional<int64_t> foldNaturals(Operation *op, ArrayRef<int64_t> v) {
  using namespace mlir::arith;
  if (isa<DivSIOp, DivUIOp, CeilDivSIOp, CeilDivUIOp, FloorDivSIOp, RemSIOp,
          RemUIOp>(op) &&
      v[1] == 0)
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case([&](AddIOp) { return v[0] + v[1]; })
      .Case([&](SubIOp) { return v[0] - v[1]; })
      .Case([&](MulIOp) { return v[0] * v[1]; })
      .Case<DivSIOp, DivUIOp, FloorDivSIOp>([&](auto) { return v[0] / v[1]; })
      .Case<CeilDivSIOp, CeilDivUIOp>(
          [&](auto) { return (v[0] + v[1] - 1) / v[1]; })
      .Case<RemSIOp, RemUIOp>([&](auto) { return v[0] % v[1]; })
      .Case([&](AndIOp) { return v[0] & v[1]; })
      .Case([&](OrIOp) { return v[0] | v[1]; })
      .Case([&](XOrIOp) { return v[0] ^ v[1]; })
      .Case<MinSIOp, MinUIOp>([&](auto) { return std::min(v[0], v[1]); })
      .Case<MaxSIOp, MaxUIOp>([&](auto) { return std::max(v[0], v[1]); })
      .Case([&](SelectOp) { return v[0] ? v[1] : v[2]; })
      .Case<IndexCastOp, IndexCastUIOp, ExtUIOp, TruncIOp>(
          [&](auto) { return v[0]; })
      .Case([&](CmpIOp cmp) {
        return applyCmpPredicate(cmp.getPredicate(), APInt(64, v[0]),
                                 APInt(64, v[1]));
      })
      .Default([](Operation *) { return std::nullopt; });
}

/// Numbers of one bit are 0 and 1.
static int64_t getNumber(const APInt &value) {
  return value.getBitWidth() == 1 ? value.getZExtValue() : value.getSExtValue();
}

static bool fits(Type type, int64_t value) {
  if (type.isInteger(1))
    return value == 0 || value == 1;
  return llvm::isIntN(type.isIndex() ? 64 : type.getIntOrFloatBitWidth(),
                      value);
}

std::optional<int64_t> tilews::verifier::foldIntegers(Operation *op,
                                                      ArrayRef<int64_t> v) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      !op->getResult(0).getType().isIntOrIndex())
    return std::nullopt;
  // Quickly, what schedules are made of.
  if (llvm::all_of(v, [](int64_t n) { return n >= 0 && n <= INT32_MAX; }))
    if (std::optional<int64_t> folded = foldNaturals(op, v);
        folded && fits(op->getResult(0).getType(), *folded))
      return folded;
  SmallVector<Attribute> operands;
  for (auto [number, type] : llvm::zip(v, op->getOperandTypes())) {
    if (!type.isIntOrIndex())
      return std::nullopt;
    operands.push_back(IntegerAttr::get(type, number));
  }
  SmallVector<OpFoldResult> results;
  if (failed(op->fold(operands, results)) || results.size() != 1)
    return std::nullopt;
  if (auto same = dyn_cast<Value>(results[0])) {
    auto it = llvm::find(op->getOperands(), same);
    return it == op->operand_end() ? std::nullopt
                                   : std::optional(v[it.getIndex()]);
  }
  auto folded = dyn_cast<IntegerAttr>(cast<Attribute>(results[0]));
  return folded ? std::optional(getNumber(folded.getValue())) : std::nullopt;
}
