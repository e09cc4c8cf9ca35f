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
// are recursive. So an expression with more than `kMaxTreeSize` nodes is cut
// off: its value becomes a variable that forgets its facts whenever it is set.
// This loses precision only.
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

void PathValues::set(Path &path, Value value, Expr expr) const {
  int64_t number = context.program.getNumber(value);
  if (number < 0)
    return;
  expr = path.facts.resolve(context.table, expr);
  if (context.table.getTreeSize(expr) > kMaxTreeSize) {
    Expr atom = context.table.getAtom(
        {AtomKind::OpaqueValue,
         reinterpret_cast<int64_t>(value.getAsOpaquePointer())},
        {}, /*isVariable=*/true);
    path.facts.forget(context.table, atom);
    expr = isSum(value.getType()) ? context.table.getInteger(atom) : atom;
  }
  path.values[number] = expr;
}

void PathValues::clearInner(Path &path, Operation *op) const {
  for (unsigned number : context.program.getInnerValues(op))
    path.values[number] = 0;
}
