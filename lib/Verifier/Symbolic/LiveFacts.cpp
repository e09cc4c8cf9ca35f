//===- LiveFacts.cpp - Facts that later conditions depend on --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reachability in the graph of facts, where two are neighbours if they have an
// atom in common: m - n > 0 and n > 4 say something about m together. It starts
// at live expressions, and at all atoms that an operation may name again
// without a live operand, such as an element of memory or a block's number.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Symbolic/LiveFacts.h"

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace tilews::verifier;

/// Whether `leaf` is an integer argument: later conditions have it only if a
/// live expression has it.
static bool isArgument(const ExpressionTable &table, Expr leaf) {
  ArrayRef<int64_t> name = table.getName(leaf);
  if (name[0] != AtomKind::OutsideValue)
    return false;
  Value value =
      Value::getFromOpaquePointer(reinterpret_cast<const void *>(name[1]));
  return isa<BlockArgument>(value) && value.getType().isIntOrIndex();
}

ArrayRef<Expr> LiveFacts::getLeaves(Expr e) {
  if (auto known = leavesOf.find(e); known != leavesOf.end())
    return known->second;
  table.countWork(1);
  std::vector<Expr> leaves;
  for (Expr operand : table.getOperands(e))
    llvm::append_range(leaves, getLeaves(operand));
  if (table.getKind(e) == ExpressionTable::Kind::Atom && leaves.empty())
    leaves.push_back(e);
  llvm::sort(leaves);
  leaves.erase(llvm::unique(leaves), leaves.end());
  return leavesOf[e] = std::move(leaves);
}

void LiveFacts::keep(PathFacts &facts, ArrayRef<Expr> live) {
  SmallVector<Expr> kept, dropped;
  auto add = [&](Expr fact) {
    bool isOfArguments = llvm::all_of(
        getLeaves(fact), [&](Expr leaf) { return isArgument(table, leaf); });
    (isOfArguments ? dropped : kept).push_back(fact);
  };
  for (auto &[sum, interval] : facts.getIntervals())
    add(sum);
  for (auto [condition, holds] : facts.getTruths())
    add(condition);
  if (dropped.empty())
    return;
  llvm::SmallDenseSet<Expr, 16> reached;
  auto reach = [&](Expr e) { reached.insert_range(getLeaves(e)); };
  llvm::for_each(live, reach);
  // A fact that is kept may keep others.
  while (true) {
    llvm::for_each(kept, reach);
    auto isReached = [&](Expr leaf) { return reached.contains(leaf); };
    table.countWork(dropped.size());
    auto first = llvm::partition(dropped, [&](Expr fact) {
      return llvm::none_of(getLeaves(fact), isReached);
    });
    if (first == dropped.end())
      break;
    kept.assign(first, dropped.end());
    dropped.erase(first, dropped.end());
  }
  if (!dropped.empty())
    facts.eraseIf([&](Expr e) { return llvm::is_contained(dropped, e); });
}
