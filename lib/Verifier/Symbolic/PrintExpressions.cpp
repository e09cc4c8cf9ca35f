//===- PrintExpressions.cpp - Printing of symbolic scalars ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints expressions in the notation of Expressions.h, for debugging. Atoms are
// printed by the kind of their names, with their operands. A number
// distinguishes atoms of one kind: it may be another one in another run of the
// compiler.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Symbolic/Expressions.h"

#include "mlir/IR/Operation.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tilews::verifier;
using Kind = ExpressionTable::Kind;

/// The word of an atom's name that is a pointer.
template <typename T>
static T *getPointer(ArrayRef<int64_t> name, unsigned word) {
  return reinterpret_cast<T *>(name[word]);
}

/// What an atom is called that its operands distinguish.
static StringRef getFunction(int64_t kind) {
  switch (kind) {
  case AtomKind::ThreadPlace:
    return "thread";
  case AtomKind::PositivePart:
    return "max0";
  case AtomKind::Choice:
    return "choose";
  default:
    return "product";
  }
}

static void printAtom(const ExpressionTable &table, Expr atom,
                      raw_ostream &os) {
  ArrayRef<int64_t> name = table.getName(atom);
  switch (name[0]) {
  case AtomKind::OutsideValue:
    os << "value" << atom;
    break;
  case AtomKind::LargeExpression:
    os << "expression" << name[1];
    break;
  case AtomKind::PureResult:
  case AtomKind::Element:
    os << OperationName::getFromOpaquePointer(getPointer<void>(name, 1)) << "#"
       << atom;
    break;
  case AtomKind::OpaqueResult:
    os << getPointer<Operation>(name, 1)->getName() << "#" << atom;
    break;
  case AtomKind::Induction:
    os << "i" << name[1];
    break;
  case AtomKind::Carried:
    os << "carried" << name[1] << "." << name[2];
    break;
  case AtomKind::LoopResult:
    os << "result" << name[1] << "." << name[2];
    break;
  case AtomKind::Quotient:
    os << "floor" << name[1];
    break;
  case AtomKind::KnownQuotient:
    os << "value" << name[2] << "/" << name[1];
    break;
  case AtomKind::Extent:
    os << "extent" << atom;
    break;
  case AtomKind::LargeSum:
    os << "large" << atom;
    break;
  case AtomKind::ThreadPlace:
  case AtomKind::PositivePart:
  case AtomKind::Choice:
  case AtomKind::ProductOfSums:
    os << getFunction(name[0]);
    break;
  default:
    os << "atom" << atom;
  }
  if (table.getOperands(atom).empty())
    return;
  os << "(";
  llvm::interleaveComma(table.getOperands(atom), os,
                        [&](Expr operand) { table.print(operand, os); });
  os << ")";
}

static void printSum(const ExpressionTable &table, Expr sum, raw_ostream &os) {
  bool isFirst = true;
  auto sign = [&](int64_t number) {
    if (!isFirst)
      os << (number < 0 ? " - " : " + ");
    else if (number < 0)
      os << "-";
    isFirst = false;
    return std::abs(number);
  };
  for (auto [atom, factor] : table.getTerms(sum)) {
    if (int64_t size = sign(factor); size != 1)
      os << size << "*";
    printAtom(table, atom, os);
  }
  if (int64_t offset = table.getOffset(sum); isFirst || offset != 0)
    os << sign(offset);
}

void ExpressionTable::print(Expr e, raw_ostream &os) const {
  if (e == 0) {
    os << "none";
    return;
  }
  auto printOperand = [&](unsigned number) {
    print(getOperands(e)[number], os);
  };
  switch (getKind(e)) {
  case Kind::Linear:
    return printSum(*this, e, os);
  case Kind::Atom:
    if (!isPredicate(*this, e))
      return printAtom(*this, e, os);
    os << "is(";
    printOperand(0);
    os << ")";
    return;
  case Kind::Positive:
  case Kind::Zero:
    printOperand(0);
    os << (getKind(e) == Kind::Zero ? " == 0" : " > 0");
    return;
  case Kind::Not:
    os << "!(";
    printOperand(0);
    os << ")";
    return;
  case Kind::And:
    os << "(";
    llvm::interleave(
        getOperands(e), os, [&](Expr operand) { print(operand, os); },
        ") && (");
    os << ")";
    return;
  }
}
