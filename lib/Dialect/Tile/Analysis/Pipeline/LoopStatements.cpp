//===- LoopStatements.cpp - The statements of a pipelined loop ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Pipeline/PipelinePlan.h"

#include "mlir/Transforms/RegionUtils.h"

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

/// The values from outside of `op` that it and its regions use.
static SmallVector<Value> getUsedValues(Operation *op) {
  SmallVector<Value> values(op->getOperands());
  SetVector<Value> above;
  getUsedValuesDefinedAbove(op->getRegions(), above);
  llvm::append_range(values, above);
  return values;
}

LoopStatements::Distances LoopStatements::getUses(const Statement &statement,
                                                  int64_t distance) const {
  Distances values;
  for (Value value : getUsedValues(statement.op))
    values.push_back({value, distance});
  for (auto &[condition, branch] : getGuards(statement.op))
    values.push_back({condition, distance});
  return values;
}

SmallVector<LoopStatements::Need>
LoopStatements::getNeeds(const Statement &statement,
                         function_ref<bool(const Statement &)> enter) const {
  llvm::DenseSet<std::pair<Value, int64_t>> seen;
  return follow(getUses(statement, 0), enter, seen);
}

SmallVector<LoopStatements::Need>
LoopStatements::getNeeds(Value value,
                         function_ref<bool(const Statement &)> enter) const {
  llvm::DenseSet<std::pair<Value, int64_t>> seen;
  return follow({{value, 0}}, enter, seen);
}

llvm::DenseSet<Value>
LoopStatements::getNeededValues(ArrayRef<const Statement *> statements,
                                ArrayRef<Value> yielded) const {
  Distances values;
  for (const Statement *statement : statements)
    llvm::append_range(values, getUses(*statement, 0));
  for (Value value : yielded)
    values.push_back({value, 0});
  llvm::DenseSet<std::pair<Value, int64_t>> seen;
  (void)follow(values, [](const Statement &) { return true; }, seen);
  llvm::DenseSet<Value> needed;
  for (auto &[value, distance] : seen)
    needed.insert(value);
  return needed;
}

SmallVector<LoopStatements::Need>
LoopStatements::follow(Distances values,
                       function_ref<bool(const Statement &)> enter,
                       llvm::DenseSet<std::pair<Value, int64_t>> &seen) const {
  SmallVector<Need> needs;
  Block *body = scf::ForOp(loop).getBody();
  auto yield = cast<scf::YieldOp>(body->getTerminator());
  while (!values.empty()) {
    auto [value, distance] = values.pop_back_val();
    if (!seen.insert({value, distance}).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      // The first argument is the counter.
      if (argument.getOwner() == body && argument.getArgNumber() > 0)
        values.push_back({yield.getOperand(argument.getArgNumber() - 1), 1});
      continue;
    }
    Operation *def = value.getDefiningOp();
    if (isGuard(def)) {
      auto branch = cast<scf::IfOp>(def);
      unsigned number = cast<OpResult>(value).getResultNumber();
      values.push_back({branch.getCondition(), distance});
      values.push_back({branch.thenYield().getOperand(number), distance});
      values.push_back({branch.elseYield().getOperand(number), distance});
      continue;
    }
    const Statement *statement = find(def);
    if (!statement)
      continue;
    needs.push_back({statement, distance});
    if (!enter(*statement))
      continue;
    llvm::append_range(values, getUses(*statement, distance));
  }
  return needs;
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
