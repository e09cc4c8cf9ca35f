//===- PathValues.cpp - Symbolic values of a path -------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The values of a path are a flat array, indexed by the numbers that the slice
// gives to the values that matter. Values from outside of the slice have no
// number; their atoms are made when they are read, and hash-consing finds the
// same atom again.
//
// Long chains of arithmetic make deep expressions, and walks over expressions
// are recursive and see each node once for each use. So an expression with more
// than `kMaxTreeSize` nodes is cut off: an atom with the number of the
// expression takes its place. Two roles that compute the same one, however
// large, still have the same atom, and a condition of n terms takes time linear
// in n. What is lost is how the parts of the expression relate to other facts.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/PathValues.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

/// Some ten times what conditions of schedules have.
static constexpr uint32_t kMaxTreeSize = 512;

bool verifier::isSum(Type type) {
  return type.isIndex() || isa<CursorType>(type) ||
         (type.isInteger() && !type.isInteger(1));
}

Expr PathValues::getThread() const {
  return context.table.getAtom({AtomKind::ThreadPlace}, {},
                               /*isVariable=*/true);
}

Expr PathValues::getOutside(Value value) const {
  return context.table.getAtom(
      {AtomKind::OutsideValue,
       reinterpret_cast<int64_t>(value.getAsOpaquePointer())},
      {});
}

Expr PathValues::get(const Path &path, Value value) const {
  int64_t number = context.program.getNumber(value);
  if (number >= 0 && path.values[number])
    return path.values[number];
  Expr atom = getOutside(value);
  return isSum(value.getType())
             ? path.facts.resolve(context.table, context.table.getInteger(atom))
             : atom;
}

SmallVector<Expr> PathValues::getAll(const Path &path,
                                     ValueRange values) const {
  return llvm::map_to_vector(values,
                             [&](Value value) { return get(path, value); });
}

/// An atom in place of an expression that is too large. Its operands are the
/// variables, so facts about it move and are forgotten as those about `e` are.
static Expr cutOff(ExpressionTable &table, Expr e) {
  SmallVector<Expr> operands(table.getVariables(e));
  for (Expr &operand : operands)
    operand = table.getInteger(operand);
  return table.getAtom({AtomKind::LargeExpression, e}, operands);
}

void PathValues::set(Path &path, Value value, Expr expr) const {
  int64_t number = context.program.getNumber(value);
  if (number < 0)
    return;
  expr = path.facts.resolve(context.table, expr);
  if (context.table.getTreeSize(expr) > kMaxTreeSize) {
    Expr atom = cutOff(context.table, expr);
    expr = isSum(value.getType()) ? context.table.getInteger(atom) : atom;
  }
  path.values[number] = expr;
}

void PathValues::clearInner(Path &path, Operation *op) const {
  for (unsigned number : context.program.getInnerValues(op))
    path.values[number] = 0;
}
