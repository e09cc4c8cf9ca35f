//===- PipelinePlan.cpp - Producers and consumers of a loop ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every statement that only fills shared memory is a producer at first. Those
// that cannot run ahead of the consumers are given up one by one, each with a
// refusal that says why, until all that are left can. With a producer go all
// others that fill the same buffers. For example, the copy in
//
//   %n = tile.reduce <sum> %x ...        // a consumer
//   tile.copy %A[%n, 0] to %s[0, 0]      // needs its result: given up
//
// becomes a consumer. Then all statements that producers need, and all scalars,
// are replayed on both sides if that is possible.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Pipeline/PipelinePlan.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// Returns whether a fragment is computed by pure operations from one that was
/// loaded from global memory.
static bool comesFromGlobal(Value fragment) {
  SmallVector<Value> values = {fragment};
  llvm::SmallDenseSet<Value> seen;
  while (!values.empty()) {
    Value value = values.pop_back_val();
    Operation *def = value.getDefiningOp();
    if (!def || !isa<RankedTensorType>(value.getType()) ||
        !seen.insert(value).second)
      continue;
    if (auto load = dyn_cast<LoadOp>(def)) {
      if (isGlobal(load.getSource().getType()))
        return true;
    } else if (def->getNumRegions() == 0 && isPure(def)) {
      llvm::append_range(values, def->getOperands());
    }
  }
  return false;
}

/// Returns whether `op`, or an operation in it, moves data from global to
/// shared memory. Inner loops with a pipeline of their own do not count.
static bool movesToShared(Operation *op) {
  WalkResult result = op->walk<WalkOrder::PreOrder>([](Operation *inner) {
    if (inner->hasAttr(TileDialect::kNumStages))
      return WalkResult::skip();
    if (auto copy = dyn_cast<CopyOp>(inner))
      if (isGlobal(copy.getSource().getType()) && isShared(copy.getDest()))
        return WalkResult::interrupt();
    if (auto store = dyn_cast<StoreOp>(inner))
      if (isShared(store.getDest()) && comesFromGlobal(store.getValue()))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Returns whether `op` has no effect except reads and writes of buffers.
static bool onlyAccesses(Operation *op) {
  if (isMemoryEffectFree(op) || isa<AccessOpInterface>(op))
    return true;
  if (op->hasTrait<OpTrait::HasRecursiveMemoryEffects>()) {
    for (mlir::Region &region : op->getRegions())
      for (Operation &inner : region.getOps())
        if (!onlyAccesses(&inner))
          return false;
    return true;
  }
  return isa<memref::LoadOp, memref::StoreOp>(op);
}

/// Returns whether `statement` only writes to shared buffers, and no other one
/// uses its results.
static bool onlyFillsShared(const Statement &statement) {
  bool writes = false;
  for (const MemoryAccess &access : statement.accesses) {
    writes |= access.writes();
    if (access.writes() && (access.reads() || !access.shared ||
                            !getViewedAlloc(access.access.operand->get())))
      return false;
  }
  return writes && statement.op->use_empty() && onlyAccesses(statement.op) &&
         !statement.op->hasAttr(TileDialect::kNumStages);
}

static llvm::SmallSetVector<AllocSharedOp, 1>
getWrittenAllocs(const Statement &statement) {
  llvm::SmallSetVector<AllocSharedOp, 1> allocs;
  for (const MemoryAccess &access : statement.accesses)
    if (access.writes() && access.shared)
      if (AllocSharedOp alloc = getViewedAlloc(access.access.operand->get()))
        allocs.insert(alloc);
  return allocs;
}

/// Makes producers of the statements that move data to shared memory, of those
/// that fill the same buffers by other means, and of those that fill buffers
/// which producers read: a copy finds computed indices of its rows there.
static void findCandidates(LoopStatements &statements) {
  llvm::SmallSetVector<AllocSharedOp, 4> filled;
  for (Statement &statement : statements.getAll())
    if (onlyFillsShared(statement) && movesToShared(statement.op))
      filled.insert_range(getWrittenAllocs(statement));
  for (size_t known = 0; known != filled.size();) {
    known = filled.size();
    for (Statement &statement : statements.getAll()) {
      if (!onlyFillsShared(statement) ||
          !llvm::all_of(getWrittenAllocs(statement), [&](AllocSharedOp alloc) {
            return filled.contains(alloc);
          }))
        continue;
      statement.part = Part::Produce;
      for (const MemoryAccess &access : statement.accesses)
        if (access.reads() && access.shared)
          if (AllocSharedOp a = getViewedAlloc(access.access.operand->get()))
            filled.insert(a);
    }
  }
}

//===----------------------------------------------------------------------===//
// Producers
//===----------------------------------------------------------------------===//

static bool isScalarRead(const Statement &statement) {
  auto load = dyn_cast<memref::LoadOp>(statement.op);
  return load && isShared(load.getMemref());
}

/// Returns the reason why `statement` cannot read ahead of the consumers, if
/// any.
MaybeRefusal PipelinePlan::checkReads(const Statement &statement) {
  for (const MemoryAccess &read : statement.accesses) {
    if (!read.reads())
      continue;
    for (const Statement &other : statements.getAll())
      for (const MemoryAccess &write : other.accesses) {
        if (!write.writes() || !write.mayAlias(read) ||
            (read.shared && other.part == Part::Produce))
          continue;
        return Refusal{statement.op, 3,
                       "the loop writes memory that it reads" +
                           read.describeAlias(write)};
      }
  }
  return std::nullopt;
}

/// Returns why a read of `statement` must come after a write of the loop, if
/// that is an overlap of two arguments; empty otherwise.
static std::string explainNeed(const LoopStatements &statements,
                               const Statement &statement) {
  for (const MemoryAccess &read : statement.accesses)
    if (const Statement *writer = statements.findWriter(read))
      for (const MemoryAccess &write : writer->accesses)
        if (read.reads() && write.writes() && write.mayAlias(read))
          return read.describeAlias(write);
  return "";
}

/// Returns the reason why the results that `statement` needs are not available
/// ahead of the consumers, if any. Scalar reads from shared memory that it
/// needs become producers.
MaybeRefusal PipelinePlan::checkProducer(const Statement &statement) {
  if (MaybeRefusal refusal = checkReads(statement))
    return refusal;
  auto enter = [](const Statement &) { return true; };
  for (auto [needed, distance] : statements.getNeeds(statement, enter)) {
    if (needed->part == Part::Produce || statements.isReplayable(*needed))
      continue;
    if (!isScalarRead(*needed) || pinned.contains(needed->op) ||
        checkReads(*needed))
      return Refusal{statement.op, 4,
                     ("a consumer, '" + needed->op->getName().getStringRef() +
                      "', computes a value that it needs")
                             .str() +
                         explainNeed(statements, *needed)};
    statements.setPart(needed->op, Part::Produce);
  }
  return std::nullopt;
}

/// Pins the scalar reads from shared memory that both producers and consumers
/// need to the consumers. Returns whether there are new ones.
bool PipelinePlan::pinSharedReads() {
  SmallVector<LoopStatements::Need> needs;
  auto enter = [](const Statement &needed) {
    return needed.part != Part::Produce;
  };
  for (Statement &statement : statements.getAll())
    if (statement.part != Part::Produce && !isMemoryEffectFree(statement.op))
      llvm::append_range(needs, statements.getNeeds(statement, enter));
  auto yield = getLoop().getBody()->getTerminator();
  for (auto [result, value] :
       llvm::zip(getLoop().getResults(), yield->getOperands()))
    if (!result.use_empty())
      llvm::append_range(needs, statements.getNeeds(value, enter));
  bool found = false;
  for (auto [needed, distance] : needs)
    if (needed->part == Part::Produce)
      found |= pinned.insert(needed->op).second;
  return found;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

const PipedBuffer *PipelinePlan::find(AllocSharedOp alloc) const {
  const auto *it = llvm::find_if(
      buffers, [&](const PipedBuffer &b) { return b.alloc == alloc; });
  return it == buffers.end() ? nullptr : it;
}

/// Returns the reason why the readers of an iteration might not see exactly
/// what its writers wrote, if any.
MaybeRefusal PipelinePlan::checkOrderOfAccesses(const PipedBuffer &buffer) {
  SmallVector<Write> writes;
  bool read = false;
  for (Statement &statement : statements.getAll()) {
    for (const MemoryAccess &access : statement.accesses) {
      if (!access.roots.contains(buffer.alloc))
        continue;
      if (access.writes()) {
        if (read)
          return Refusal{
              buffer.writers.front(), 5,
              "the buffer is written after it was read in the same iteration"};
        // Nothing orders the writers of one slot, so that they must write
        // different elements.
        for (const Write &earlier : writes)
          if (earlier.statement != statement.op &&
              mayOverlap(buffer.alloc, *earlier.access, access))
            return Refusal{statement.op, 15,
                           "other operations write the same elements in the "
                           "same iteration"};
        writes.push_back({&access, statement.op});
      } else if (writes.empty()) {
        return Refusal{buffer.writers.front(), 5,
                       "the buffer is read before it is written: it "
                       "carries data between iterations"};
      } else if (!isCovered(buffer.alloc, access, writes)) {
        return Refusal{buffer.writers.front(), 6,
                       "more of the buffer is read than an iteration "
                       "surely writes"};
      }
    }
    read |= llvm::is_contained(buffer.readers, statement.op);
  }
  return std::nullopt;
}

MaybeRefusal PipelinePlan::checkBuffer(PipedBuffer &buffer,
                                       const MemoryAccesses &memory) {
  Operation *writer = buffer.writers.front();
  if (!memory.isOnlyAccessed(buffer.alloc))
    return Refusal{writer, 7,
                   "the buffer is passed on as a value, or used by an "
                   "operation that is not known"};
  buffer.guards = statements.getGuards(writer);
  for (Operation *other : buffer.writers)
    if (statements.getGuards(other) != buffer.guards)
      return Refusal{other, 8, "the buffer is written under different guards"};
  for (Operation *reader : buffer.readers) {
    GuardPath path = statements.getGuards(reader);
    if (ArrayRef(path).take_front(buffer.guards.size()) !=
        ArrayRef(buffer.guards))
      return Refusal{
          writer, 8,
          "the buffer is also read where the guard of the write does "
          "not hold"};
  }
  return checkOrderOfAccesses(buffer);
}

/// Finds the buffers that are piped. Returns the reason why a buffer that
/// producers write cannot be piped, if any.
MaybeRefusal PipelinePlan::findBuffers(const MemoryAccesses &memory,
                                       const ForbiddenBuffers &forbidden) {
  buffers.clear();
  llvm::SmallSetVector<AllocSharedOp, 4> filled;
  for (Statement &statement : statements.getAll())
    if (statement.part == Part::Produce)
      filled.insert_range(getWrittenAllocs(statement));
  for (AllocSharedOp alloc : filled) {
    PipedBuffer buffer;
    buffer.alloc = alloc;
    Operation *producerReads = nullptr, *consumerWrites = nullptr;
    for (Statement &statement : statements.getAll()) {
      bool produces = statement.part == Part::Produce;
      auto touches = [&](bool (MemoryAccess::*does)() const) {
        return llvm::any_of(statement.accesses, [&](const MemoryAccess &a) {
          return a.roots.contains(alloc) && (a.*does)();
        });
      };
      if (touches(&MemoryAccess::writes)) {
        if (produces)
          buffer.writers.push_back(statement.op);
        else
          consumerWrites = statement.op;
      }
      if (touches(&MemoryAccess::reads)) {
        if (produces)
          producerReads = statement.op;
        else
          buffer.readers.push_back(statement.op);
      }
    }
    Operation *writer = buffer.writers.front();
    auto it = forbidden.find(alloc);
    if (consumerWrites)
      return Refusal{writer, 9, "consumers write to the buffer too"};
    if (producerReads && buffer.readers.empty())
      continue; // Only producers use it, and they keep their order.
    if (producerReads)
      return Refusal{writer, 10,
                     "both producers and consumers read the buffer"};
    if (buffer.readers.empty())
      return Refusal{writer, 11, "nothing in the loop reads the buffer"};
    if (it != forbidden.end())
      return Refusal{writer, it->second.id, it->second.reason};
    if (MaybeRefusal refusal = checkBuffer(buffer, memory))
      return refusal;
    buffers.push_back(buffer);
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

static bool isFragment(Value value) {
  return isa<RankedTensorType>(value.getType());
}

/// Returns whether `statement` computes nothing but scalars.
static bool isScalar(const Statement &statement) {
  return llvm::none_of(statement.op->getResults(), isFragment) &&
         statement.op->getNumRegions() == 0;
}

/// Makes replayed statements of scalars and of statements that producers need,
/// if both sides can compute them.
void PipelinePlan::classifyRest() {
  llvm::SmallPtrSet<const Statement *, 8> needed;
  auto enter = [](const Statement &) { return true; };
  for (Statement &statement : statements.getAll())
    if (statement.part == Part::Produce)
      for (auto need : statements.getNeeds(statement, enter))
        needed.insert(need.statement);
  for (Statement &statement : statements.getAll()) {
    if (statement.part == Part::Produce || !statements.isReplayable(statement))
      continue;
    if (isScalar(statement) || needed.contains(&statement))
      statement.part = Part::Replay;
  }
}

/// Returns the reason why `op` does not produce, given the refusal of an
/// operation that fills the same buffer. Reasons 3 and 4 are about what that
/// operation needs; for `op` the reason is then that it shares the buffer.
static Refusal adapt(const Refusal &refusal, Operation *op) {
  bool isOfBuffer = refusal.id != 3 && refusal.id != 4;
  if (op == refusal.op || isOfBuffer)
    return {op, refusal.id, refusal.reason};
  return {op, 9,
          ("another operation, '" + refusal.op->getName().getStringRef() +
           "', also writes the buffer and is not started ahead of time: " +
           refusal.reason)
              .str(),
          refusal.op};
}

void PipelinePlan::choose(const MemoryAccesses &memory,
                          const ForbiddenBuffers &forbidden, RefuseFn refuse) {
  findCandidates(statements);
  llvm::SmallSetVector<Operation *, 4> candidates;
  for (Statement &statement : statements.getAll())
    if (statement.part == Part::Produce)
      candidates.insert(statement.op);

  // Gives up a producer and all others that fill its buffers. Returns false if
  // all producers can stay.
  auto giveUp = [&] {
    for (Statement &statement : statements.getAll())
      statement.part =
          candidates.contains(statement.op) ? Part::Produce : Part::Consume;
    MaybeRefusal refusal;
    for (Operation *op : candidates)
      if ((refusal = checkProducer(*statements.find(op))))
        break;
    if (!refusal && pinSharedReads())
      return true;
    if (!refusal)
      refusal = findBuffers(memory, forbidden);
    if (!refusal)
      return false;
    auto allocs = getWrittenAllocs(*statements.find(refusal->op));
    for (Operation *op : llvm::to_vector(candidates)) {
      auto written = getWrittenAllocs(*statements.find(op));
      if (llvm::none_of(written,
                        [&](AllocSharedOp a) { return allocs.contains(a); }))
        continue;
      if (movesToShared(op))
        refuse(adapt(*refusal, op));
      candidates.remove(op);
    }
    return true;
  };
  while (giveUp())
    ;
}

/// Returns the plan with these producers and fewer guards: an `scf.if` around
/// no producer is a statement like others, unless it is one of `guards`.
PipelinePlan
PipelinePlan::withGuards(const MemoryAccesses &memory,
                         const llvm::SmallPtrSetImpl<Operation *> &producers,
                         const llvm::SmallPtrSetImpl<Operation *> &guards) {
  PipelinePlan plan(LoopStatements(getLoop(), memory, [&](scf::IfOp op) {
    return guards.contains(op) || llvm::any_of(producers, [&](Operation *p) {
             return op->isProperAncestor(p);
           });
  }));
  for (Statement &statement : plan.statements.getAll())
    if (producers.contains(statement.op))
      statement.part = Part::Produce;
  return plan;
}

/// Adds guards for scalars that producers need and that an `scf.if` updates
/// beside other effects: a guard can be split. Returns whether there are any.
bool PipelinePlan::addNeededGuards(
    llvm::SmallPtrSetImpl<Operation *> &guards) const {
  bool found = false;
  auto enter = [](const Statement &) { return true; };
  for (const Statement &statement : statements.getAll())
    if (statement.part == Part::Produce)
      for (auto need : statements.getNeeds(statement, enter))
        if (isa<scf::IfOp>(need.statement->op) &&
            need.statement->part == Part::Consume &&
            !statements.isReplayable(*need.statement))
          found |= guards.insert(need.statement->op).second;
  return found;
}

PipelinePlan PipelinePlan::compute(scf::ForOp loop,
                                   const MemoryAccesses &memory,
                                   const ForbiddenBuffers &forbidden,
                                   RefuseFn refuse) {
  PipelinePlan plan(LoopStatements(
      loop, memory, [](scf::IfOp op) { return movesToShared(op); }));
  plan.choose(memory, forbidden, refuse);
  if (plan.buffers.empty())
    return plan;
  llvm::SmallPtrSet<Operation *, 4> producers, guards;
  for (Statement &statement : plan.statements.getAll())
    if (statement.part == Part::Produce)
      producers.insert(statement.op);
  PipelinePlan result = plan.withGuards(memory, producers, guards);
  while (result.addNeededGuards(guards))
    result = plan.withGuards(memory, producers, guards);
  (void)result.findBuffers(memory, forbidden);
  result.classifyRest();
  result.assignOrder();
  result.countVersions();
  return result;
}

SmallVector<Operation *> tile::getOperationsToSchedule(scf::ForOp loop) {
  MemoryAccesses memory(loop->getParentOfType<FunctionOpInterface>());
  LoopStatements statements(loop, memory,
                            [](scf::IfOp op) { return movesToShared(op); });
  SmallVector<Operation *> operations;
  for (const Statement &statement : statements.getAll())
    if (!isScalar(statement) || !statements.isReplayable(statement))
      operations.push_back(statement.op);
  return operations;
}
