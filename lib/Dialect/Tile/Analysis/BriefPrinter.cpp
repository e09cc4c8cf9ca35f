//===- BriefPrinter.cpp - Short texts for results of analyses -------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The printer numbers the values of a kernel once, when it is made. MLIR
// numbers values by the operation that isolates them from above, so that the
// names are those of the printed module. An operation is printed as its
// results, name and operands: `%5 = tile.load %3, %c0`. Attributes, types and
// regions are left out, so that texts stay short and tests of them do not
// depend on the assembly format.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/BriefPrinter.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tilews::tile;

static Operation *findIsolated(Operation *op) {
  while (!op->hasTrait<OpTrait::IsIsolatedFromAbove>() && op->getParentOp())
    op = op->getParentOp();
  return op;
}

BriefPrinter::BriefPrinter(Operation *scope, llvm::raw_ostream &os)
    : os(os), names(findIsolated(scope)) {}

void BriefPrinter::printValue(Value value) {
  if (value)
    value.printAsOperand(os, names);
  else
    os << "nothing";
}

void BriefPrinter::printOp(Operation *op) {
  auto print = [&](Value value) { printValue(value); };
  llvm::interleaveComma(op->getResults(), os, print);
  os << (op->getNumResults() ? " = " : "") << op->getName();
  if (op->getNumOperands())
    os << " ";
  llvm::interleaveComma(op->getOperands(), os, print);
}
