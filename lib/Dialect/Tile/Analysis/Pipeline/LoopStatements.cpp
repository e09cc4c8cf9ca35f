//===- LoopStatements.cpp - Statements of a pipelined loop ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The statements of a loop and what they need from each other. Needs are found
// by a search backward from the values that a statement uses. It goes through
// the operations that make them, and through guards (to the condition and to
// what both branches yield). From a carried value it goes to what the loop
// yields for it, one iteration earlier.
//
// A statement can be needed at many distances: `%x` below is needed by the
// store of the same iteration, and, by way of %a and %b, of 1 and of 2
// iterations later.
//
//   scf.for ... iter_args(%a = ..., %b = ...) {
//     %x = ...
//     tile.store (%x + %a + %b) to ...
//     scf.yield %x, %a
//
// The constraint on the schedule is the stricter, the smaller the distance. So
// two distances of each value matter: 0, and the smallest one greater than 0,
// which a breadth-first search finds.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Pipeline/LoopStatements.h"

#include "tilews/Dialect/Tile/Analysis/BriefPrinter.h"

#include "mlir/Transforms/RegionUtils.h"

#include <deque>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

LoopStatements::LoopStatements(scf::ForOp loop, const MemoryAccesses &memory,
                               function_ref<bool(scf::IfOp)> isGuard)
    : loop(loop) {
  flatten(*loop.getBody(), memory, isGuard);
  for (auto [i, statement] : llvm::enumerate(statements))
    indices[statement.op] = i;
}

void LoopStatements::flatten(Block &block, const MemoryAccesses &memory,
                             function_ref<bool(scf::IfOp)> isGuard) {
  for (Operation &op : block.without_terminator()) {
    auto branch = dyn_cast<scf::IfOp>(op);
    if (branch && isGuard(branch)) {
      guards.insert(branch);
      for (mlir::Region &region : branch->getRegions())
        if (!region.empty())
          flatten(region.front(), memory, isGuard);
    } else if (!isa<AllocSharedOp>(op)) {
      Statement &statement = statements.emplace_back();
      statement.op = &op;
      statement.accesses = memory.get(&op);
    }
  }
}

int64_t LoopStatements::getNumStages() const {
  auto stages = loop->getAttrOfType<IntegerAttr>(TileDialect::kNumStages);
  return stages ? stages.getInt() : 1;
}

const Statement *LoopStatements::find(Operation *op) const {
  while (op && op != loop) {
    auto it = indices.find(op);
    if (it != indices.end())
      return &statements[it->second];
    op = op->getParentOp();
  }
  return nullptr;
}

GuardPath LoopStatements::getGuards(Operation *op) const {
  GuardPath path;
  for (; op->getParentOp() != loop; op = op->getParentOp())
    if (isGuard(op->getParentOp()))
      path.push_back({cast<scf::IfOp>(op->getParentOp()).getCondition(),
                      op->getParentRegion()->getRegionNumber()});
  std::reverse(path.begin(), path.end());
  return path;
}

Operation *LoopStatements::getAtDepth(Operation *op, unsigned depth) const {
  while (!isGuard(op->getParentOp()) && op->getParentOp() != loop)
    op = op->getParentOp();
  for (size_t around = getGuards(op).size(); around > depth; --around)
    op = op->getParentOp();
  return op;
}

//===----------------------------------------------------------------------===//
// Needs
//===----------------------------------------------------------------------===//

/// Returns the values from outside of `op` that it and its regions use.
static SmallVector<Value> getUsedValues(Operation *op) {
  SmallVector<Value> values(op->getOperands());
  SetVector<Value> above;
  getUsedValuesDefinedAbove(op->getRegions(), above);
  llvm::append_range(values, above);
  return values;
}

LoopStatements::Uses LoopStatements::getUses(const Statement &statement,
                                             int64_t distance) const {
  Uses uses;
  for (Value value : getUsedValues(statement.op))
    uses.push_back({value, distance});
  for (auto &[condition, branch] : getGuards(statement.op))
    uses.push_back({condition, distance});
  return uses;
}

/// The backward search for needs.
class LoopStatements::NeedSearch {
public:
  NeedSearch(const LoopStatements &statements, EnterFn enter)
      : statements(statements), enter(enter) {}

  SmallVector<Need> run(const Uses &uses);

  /// A value, and 1 if the loop carries it on the path to its use.
  using State = std::pair<Value, unsigned>;
  static State getState(const Use &use) { return {use.value, use.isCarried()}; }
  /// The states that the search has reached.
  llvm::DenseSet<State> seen;

private:
  Uses expand(const Use &use, const Statement *&statement) const;
  void computeDistances(const Uses &uses);

  const LoopStatements &statements;
  EnterFn enter;
  /// The smallest distance of each carried value.
  llvm::DenseMap<Value, int64_t> distances;
};

/// Returns the uses that the value of `use` is computed from. Sets `statement`
/// to the statement that makes the value, if it is made in the loop.
LoopStatements::Uses
LoopStatements::NeedSearch::expand(const Use &use,
                                   const Statement *&statement) const {
  scf::ForOp loop = statements.loop;
  auto [value, distance] = use;
  statement = nullptr;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    // The first argument is the induction variable.
    if (argument.getOwner() != loop.getBody() || argument.getArgNumber() == 0)
      return {};
    return {
        {loop.getYieldedValues()[argument.getArgNumber() - 1], distance + 1}};
  }
  Operation *def = value.getDefiningOp();
  if (statements.isGuard(def)) {
    auto branch = cast<scf::IfOp>(def);
    unsigned number = cast<OpResult>(value).getResultNumber();
    return {{branch.getCondition(), distance},
            {branch.thenYield().getOperand(number), distance},
            {branch.elseYield().getOperand(number), distance}};
  }
  statement = statements.find(def);
  return statement && enter(*statement)
             ? statements.getUses(*statement, distance)
             : Uses();
}

/// Computes the distances by a breadth-first search in which a step costs 0
/// or 1.
void LoopStatements::NeedSearch::computeDistances(const Uses &uses) {
  std::deque<Use> queue(uses.begin(), uses.end());
  llvm::DenseSet<State> done;
  while (!queue.empty()) {
    Use use = queue.front();
    queue.pop_front();
    if (!done.insert(getState(use)).second)
      continue;
    if (use.isCarried())
      distances[use.value] = use.distance;
    const Statement *statement;
    for (const Use &next : expand(use, statement)) {
      if (next.distance == use.distance)
        queue.push_front(next);
      else
        queue.push_back(next);
    }
  }
}

SmallVector<LoopStatements::Need>
LoopStatements::NeedSearch::run(const Uses &uses) {
  computeDistances(uses);
  SmallVector<Need> needs;
  Uses pending = uses;
  while (!pending.empty()) {
    Use use = pending.pop_back_val();
    if (!seen.insert(getState(use)).second)
      continue;
    const Statement *statement;
    llvm::append_range(pending, expand(use, statement));
    if (statement)
      needs.push_back(
          {statement, use.isCarried() ? distances.at(use.value) : 0});
  }
  return needs;
}

SmallVector<LoopStatements::Need>
LoopStatements::getNeeds(const Statement &statement, EnterFn enter) const {
  return NeedSearch(*this, enter).run(getUses(statement, 0));
}

SmallVector<LoopStatements::Need>
LoopStatements::getNeeds(Value value, EnterFn enter) const {
  return NeedSearch(*this, enter).run({{value, 0}});
}

llvm::DenseSet<Value>
LoopStatements::getNeededValues(ArrayRef<const Statement *> statements,
                                ArrayRef<Value> yielded) const {
  Uses uses;
  for (const Statement *statement : statements)
    llvm::append_range(uses, getUses(*statement, 0));
  for (Value value : yielded)
    uses.push_back({value, 0});
  NeedSearch search(*this, [](const Statement &) { return true; });
  (void)search.run(uses);
  llvm::DenseSet<Value> needed;
  for (auto &[value, isCarried] : search.seen)
    needed.insert(value);
  return needed;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

const Statement *LoopStatements::findWriter(const MemoryAccess &access) const {
  const auto *it = llvm::find_if(statements, [&](const Statement &other) {
    return llvm::any_of(other.accesses, [&](const MemoryAccess &write) {
      return write.writes() && write.mayAlias(access);
    });
  });
  return it == statements.end() ? nullptr : it;
}

bool LoopStatements::isReplayable(const Statement &statement) const {
  return onlyReads(statement.op) &&
         llvm::none_of(statement.accesses, [&](const MemoryAccess &read) {
           return findWriter(read) != nullptr;
         });
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

static StringRef getName(Part part) {
  switch (part) {
  case Part::Replay:
    return "replay";
  case Part::Produce:
    return "produce";
  case Part::Consume:
    return "consume";
  }
  llvm_unreachable("all parts are handled");
}

void Statement::print(BriefPrinter &printer) const {
  printer << getName(part);
  if (isScheduled())
    printer << ", stage " << stage << ", order " << order;
  printer << ": " << op;
}

void LoopStatements::print(raw_ostream &os) const {
  BriefPrinter printer(loop, os);
  auto enter = [](const Statement &) { return false; };
  for (const Statement &statement : statements) {
    statement.print(printer);
    os << "\n";
    for (auto [needed, distance] : getNeeds(statement, enter)) {
      os << "  needs " << getName(needed->part);
      if (distance)
        os << ", " << distance << (distance == 1 ? " iteration" : " iterations")
           << " ago";
      printer << ": " << needed->op << "\n";
    }
  }
}
