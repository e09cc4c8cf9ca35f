//===- PipelineStages.cpp - Stages and orders of a loop's statements ------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Iteration `t` of the pipelined loop runs each statement for iteration
// `t - stage` of the original loop, in ascending `order`. A dependence between
// two statements over `distance` iterations is kept if (stage, order) of the
// first is less than (stage + distance, order) of the second. For example, a
// store in stage 1 may use a value that a statement in stage 2 computed two
// iterations ago: (2, o1) < (1 + 2, o2) for any orders.
//
// A plan is chosen by one rule: producers get stage 0, and go right after the
// last reader of the buffers that they refill; consumers get the last stage, in
// program order. A plan that is given as attributes is verified against the
// dependences of values and of memory.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Pipeline/PipelinePlan.h"

#include "tilews/Dialect/Tile/Analysis/BriefPrinter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// The order of an automatic plan
//===----------------------------------------------------------------------===//

namespace {
/// Statements that stay together: an operation of the loop's body, the
/// producers of a guard, or its consumers.
struct Unit {
  bool produces;
  SmallVector<Statement *> members;
  /// The producers that refill buffers after this unit has read them.
  SmallVector<Unit *> refills;
};
} // namespace

static SmallVector<std::unique_ptr<Unit>> getUnits(LoopStatements &statements) {
  SmallVector<std::unique_ptr<Unit>> units;
  llvm::DenseMap<std::pair<Operation *, unsigned>, Unit *> known;
  for (Statement &statement : statements.getAll()) {
    if (!statement.isScheduled())
      continue;
    bool produces = statement.part == Part::Produce;
    Operation *top = statements.getAtDepth(statement.op, 0);
    Unit *&unit = known[{top, produces}];
    if (!unit)
      unit = units.emplace_back(std::make_unique<Unit>(Unit{produces, {}, {}}))
                 .get();
    unit->members.push_back(&statement);
  }
  return units;
}

/// Places each producer right after the last reader of its buffers. A producer
/// for other producers goes with the first of them.
void PipelinePlan::assignOrder() {
  SmallVector<std::unique_ptr<Unit>> units = getUnits(statements);
  llvm::DenseMap<Operation *, unsigned> number;
  for (auto [i, unit] : llvm::enumerate(units))
    for (Statement *member : unit->members)
      number[member->op] = i;

  const Unit *lastConsumer = nullptr;
  unsigned lastNumber = 0;
  for (auto [i, unit] : llvm::enumerate(units))
    if (!unit->produces) {
      lastConsumer = unit.get();
      lastNumber = i;
    }
  SmallVector<std::optional<unsigned>> last(units.size());
  for (const PipedBuffer &buffer : buffers)
    for (Operation *writer : buffer.writers)
      for (Operation *reader : buffer.readers) {
        auto &unit = last[number.at(writer)];
        unit = std::max(unit.value_or(0), number.at(reader));
      }
  // In reverse, so that one pass resolves chains of producers.
  unsigned next = lastNumber;
  for (size_t i = units.size(); i-- > 0;)
    if (units[i]->produces) {
      last[i] = last[i].value_or(next);
      next = std::min(next, *last[i]);
    }
  for (size_t i = 0; i < units.size(); ++i)
    if (units[i]->produces)
      units[*last[i]]->refills.push_back(units[i].get());

  int64_t numStages = getStatements().getNumStages(), order = 0;
  auto place = [&](Unit &unit, int64_t stage) {
    for (Statement *member : unit.members) {
      member->stage = stage;
      member->order = order++;
    }
  };
  // If all refills come at the end of an iteration, they can as well start the
  // next one.
  bool rotate = numStages >= 2;
  for (auto &unit : units)
    rotate &= unit->refills.empty() || unit.get() == lastConsumer;
  if (rotate)
    for (Unit *refill : lastConsumer->refills)
      place(*refill, 0);
  for (auto &unit : units) {
    if (unit->produces)
      continue;
    place(*unit, rotate ? numStages - 1 : numStages);
    if (!rotate)
      for (Unit *refill : unit->refills)
        place(*refill, 0);
  }
}

/// Counts the versions that are live at once: from an iteration's write to its
/// last read, or one less if writers come after the readers of the version that
/// they overwrite.
void PipelinePlan::countVersions() {
  for (PipedBuffer &buffer : buffers) {
    int64_t versions = 1;
    for (Operation *w : buffer.writers)
      for (Operation *r : buffer.readers) {
        const Statement &writer = *statements.find(w);
        const Statement &reader = *statements.find(r);
        versions = std::max(versions, reader.stage - writer.stage +
                                          (writer.order < reader.order));
      }
    buffer.versions = versions;
  }
}

bool PipelinePlan::canDelay() const {
  llvm::SmallPtrSet<Operation *, 4> writers;
  for (const PipedBuffer &buffer : buffers) {
    if (!buffer.guards.empty())
      return false;
    for (Operation *writer : buffer.writers)
      if (!writers.insert(writer).second)
        return false;
  }
  int64_t lastProducer = -1, firstConsumer = statements.getAll().size();
  for (const Statement &statement : statements.getAll()) {
    if (!statement.isScheduled())
      continue;
    if (statement.part != Part::Produce) {
      firstConsumer = std::min(firstConsumer, statement.order);
      continue;
    }
    if (statement.stage != 0 || !writers.contains(statement.op))
      return false;
    lastProducer = std::max(lastProducer, statement.order);
  }
  return getStatements().getNumStages() > 1 && lastProducer < firstConsumer;
}

void PipelinePlan::delay(const llvm::SmallPtrSetImpl<Operation *> &allocs) {
  SmallVector<Operation *> late, others;
  for (const PipedBuffer &buffer : buffers)
    llvm::append_range(allocs.contains(buffer.alloc) ? late : others,
                       buffer.writers);
  llvm::DenseMap<Operation *, int64_t> orders;
  for (Operation *writer : llvm::concat<Operation *>(late, others))
    orders.try_emplace(writer, orders.size());
  for (Statement &statement : statements.getAll())
    if (auto it = orders.find(statement.op); it != orders.end()) {
      statement.order = it->second;
      statement.stage = statement.order < int64_t(late.size()) ? 1 : 0;
    }
  countVersions();
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

static bool isAnnotated(Operation *op) {
  return op->hasAttr(TileDialect::kStage) || op->hasAttr(TileDialect::kOrder);
}

/// Returns whether an operation in `op`, but not in an inner loop, is
/// annotated.
static bool containsAnnotated(Operation *op) {
  WalkResult result = op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    if (inner != op && isAnnotated(inner))
      return WalkResult::interrupt();
    bool enter = inner == op || isa<scf::IfOp>(inner);
    return enter ? WalkResult::advance() : WalkResult::skip();
  });
  return result.wasInterrupted();
}

bool PipelinePlan::isAnnotated(scf::ForOp loop) {
  return containsAnnotated(loop);
}

void PipelinePlan::annotate() const {
  Builder builder(getLoop().getContext());
  for (const Statement &statement : statements.getAll()) {
    if (!statement.isScheduled())
      continue;
    statement.op->setAttr(TileDialect::kStage,
                          builder.getI32IntegerAttr(statement.stage));
    statement.op->setAttr(TileDialect::kOrder,
                          builder.getI32IntegerAttr(statement.order));
  }
}

/// Returns whether all statements have the attributes that they need.
bool PipelinePlan::readAttributes(RefuseFn refuse) {
  bool complete = true;
  llvm::DenseMap<int64_t, Operation *> seen;
  for (Statement &statement : statements.getAll()) {
    auto stage = statement.op->getAttrOfType<IntegerAttr>(TileDialect::kStage);
    auto order = statement.op->getAttrOfType<IntegerAttr>(TileDialect::kOrder);
    if (!stage && !order && statements.isReplayable(statement)) {
      statement.part = Part::Replay;
      continue;
    }
    auto fail = [&](const Twine &reason) {
      refuse({statement.op, 14, reason.str()});
      complete = false;
    };
    if (!stage || !order) {
      fail("the operation lacks 'tile.stage' and 'tile.order', which others in "
           "the loop have");
      continue;
    }
    statement.stage = stage.getInt();
    statement.order = order.getInt();
    if (statement.stage > statements.getNumStages())
      fail("stage " + Twine(statement.stage) + " is too late: the loop has " +
           Twine(statements.getNumStages()) + " stages");
    if (!seen.insert({statement.order, statement.op}).second)
      fail("another operation of the loop has order " + Twine(statement.order) +
           " too");
  }
  return complete;
}

/// Derives the parts from the stages. A statement produces if it only fills
/// shared memory, and runs in an earlier stage than all consumers that read
/// that memory; at least one statement must read it. Statements that producers
/// need are replayed if both sides can compute them, whatever stage they have.
void PipelinePlan::readParts() {
  auto feedsOnlyLater = [&](const Statement &statement) {
    bool isRead = false;
    for (const MemoryAccess &write : statement.accesses) {
      if (!write.writes())
        continue;
      if (!write.shared)
        return false;
      for (const Statement &other : statements.getAll())
        for (const MemoryAccess &read : other.accesses) {
          if (!read.reads() || !read.mayAlias(write))
            continue;
          isRead = true;
          if (other.part != Part::Produce && other.stage <= statement.stage)
            return false;
        }
    }
    return isRead;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (Statement &statement : statements.getAll()) {
      if (statement.part != Part::Consume || !feedsOnlyLater(statement))
        continue;
      statement.part = Part::Produce;
      changed = true;
      auto enter = [](const Statement &needed) {
        return needed.part != Part::Produce;
      };
      for (auto [needed, distance] : statements.getNeeds(statement, enter)) {
        if (needed->part != Part::Consume)
          continue;
        if (statements.isReplayable(*needed))
          statements.setPart(needed->op, Part::Replay);
        else if (isa<memref::LoadOp>(needed->op))
          statements.setPart(needed->op, Part::Produce);
      }
    }
  }
}

PipelinePlan PipelinePlan::read(scf::ForOp loop, const MemoryAccesses &memory,
                                const ForbiddenBuffers &forbidden,
                                RefuseFn refuse) {
  PipelinePlan plan(LoopStatements(
      loop, memory, [](scf::IfOp op) { return containsAnnotated(op); }));
  if (!plan.readAttributes(refuse))
    return plan;
  plan.readParts();
  if (MaybeRefusal refusal = plan.findBuffers(memory, forbidden)) {
    refuse(*refusal);
    plan.buffers.clear();
    return plan;
  }
  plan.countVersions();
  plan.verify(refuse);
  return plan;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

void PipelinePlan::print(raw_ostream &os) const {
  BriefPrinter printer(getLoop(), os);
  printer << getLoop() << ": " << statements.getNumStages() << " stages\n";
  for (const Statement &statement : statements.getAll()) {
    os << "  ";
    statement.print(printer);
    os << "\n";
  }
  auto count = [&](size_t number, StringRef what) {
    os << ", " << number << " " << what << (number == 1 ? "" : "s");
  };
  for (const PipedBuffer &buffer : buffers) {
    printer << "  " << AllocSharedOp(buffer.alloc).getBuffer() << ": "
            << buffer.versions << " versions";
    count(buffer.writers.size(), "writer");
    count(buffer.readers.size(), "reader");
    count(buffer.guards.size(), "guard");
    os << "\n";
  }
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Returns whether `first` runs before `second` does `distance` iterations
/// later.
static bool isBefore(const Statement &first, const Statement &second,
                     int64_t distance) {
  return std::pair(first.stage, first.order) <
         std::pair(second.stage + distance, second.order);
}

/// Returns whether `second` can use a result of `first` of `distance`
/// iterations ago. Each argument that a value passes through on its way is
/// copied at the end of an iteration, in the stage of its users
/// (`PipelineItems::defineYields`). The value must exist by then, so that it
/// can be one stage late at most, however many iterations it has to spare.
static bool isAvailable(const Statement &first, const Statement &second,
                        int64_t distance) {
  return isBefore(first, second, distance) &&
         (distance < 2 || first.stage <= second.stage + 1);
}

static Refusal makeOrderRefusal(const Statement &first, const Statement &second,
                                int64_t distance, StringRef why) {
  std::string reason;
  llvm::raw_string_ostream(reason)
      << "stage " << second.stage << " and order " << second.order
      << " are too early: '" << first.op->getName() << "'"
      << (distance == 0 ? std::string()
          : distance == 1
              ? " of the previous iteration"
              : " of " + std::to_string(distance) + " iterations earlier")
      << " (stage " << first.stage << ", order " << first.order << "), " << why
      << ", must come first";
  return {second.op, 14, reason};
}

void PipelinePlan::verify(RefuseFn refuse) {
  auto enter = [](const Statement &needed) { return !needed.isScheduled(); };
  for (Statement &statement : statements.getAll()) {
    if (!statement.isScheduled())
      continue;
    for (auto [needed, distance] : statements.getNeeds(statement, enter))
      if (needed->isScheduled() && !isAvailable(*needed, statement, distance))
        refuse(makeOrderRefusal(
            *needed, statement, distance,
            distance < 2 ? "whose result it uses"
                         : "whose result it uses at most one stage later"));
  }
  verifySides(refuse);
  verifyMemory(refuse);
  verifyGuards(refuse);
  for (PipedBuffer &buffer : buffers)
    if (buffer.versions > statements.getNumStages())
      refuse({buffer.writers.front(), 14,
              "the stages and orders keep " + std::to_string(buffer.versions) +
                  " versions of the buffer, but the loop has " +
                  std::to_string(statements.getNumStages()) + " stages"});
}

/// Verifies that producers and consumers exchange data through memory only.
void PipelinePlan::verifySides(RefuseFn refuse) {
  auto enter = [](const Statement &needed) { return !needed.isScheduled(); };
  auto check = [&](Operation *op, Part side,
                   ArrayRef<LoopStatements::Need> all) {
    for (auto [needed, distance] : all)
      if (needed->isScheduled() && needed->part != side)
        refuse({op, 14,
                ((side == Part::Produce ? "a consumer, '" : "a producer, '") +
                 needed->op->getName().getStringRef() +
                 "', computes a value that it needs")
                    .str()});
  };
  for (const Statement &statement : std::as_const(statements).getAll())
    if (statement.isScheduled())
      check(statement.op, statement.part,
            statements.getNeeds(statement, enter));
  auto yield = getLoop().getBody()->getTerminator();
  for (auto [result, value] :
       llvm::zip(getLoop().getResults(), yield->getOperands()))
    if (!result.use_empty())
      check(getLoop(), Part::Consume, statements.getNeeds(value, enter));
}

void PipelinePlan::verifyMemory(RefuseFn refuse) {
  // Versions order the writers of a piped buffer after the readers of earlier
  // iterations; the readers of an iteration must come after its writers.
  auto isPiped = [&](const MemoryAccess &access) {
    return access.roots.size() == 1 && find(*access.roots.begin());
  };
  auto check = [&](const Statement &first, const Statement &second) {
    bool conflict = false, piped = true;
    for (const MemoryAccess &a : first.accesses)
      for (const MemoryAccess &b : second.accesses)
        if (a.conflictsWith(b)) {
          conflict = true;
          piped &= isPiped(a) && isPiped(b);
        }
    if (!conflict)
      return;
    if (!isBefore(first, second, 0))
      refuse(
          makeOrderRefusal(first, second, 0, "which accesses the same memory"));
    else if (!piped && !isBefore(second, first, 1))
      refuse(
          makeOrderRefusal(second, first, 1, "which accesses the same memory"));
  };
  // Most statements compute, and access no memory.
  SmallVector<const Statement *> accessing;
  for (const Statement &statement : std::as_const(statements).getAll())
    if (statement.isScheduled() && !statement.accesses.empty())
      accessing.push_back(&statement);
  for (size_t i = 0; i < accessing.size(); ++i)
    for (size_t j = i + 1; j < accessing.size(); ++j)
      check(*accessing[i], *accessing[j]);
}

/// Verifies that the producers of a guard can run under one `scf.if`, and its
/// consumers under another one.
void PipelinePlan::verifyGuards(RefuseFn refuse) {
  SmallVector<const Statement *> sorted;
  for (const Statement &statement : std::as_const(statements).getAll())
    if (statement.isScheduled())
      sorted.push_back(&statement);
  llvm::sort(sorted, [](const Statement *a, const Statement *b) {
    return a->order < b->order;
  });
  llvm::DenseMap<std::pair<Operation *, unsigned>, const Statement *> last;
  const Statement *previous = nullptr;
  for (const Statement *statement : sorted) {
    Operation *top = statements.getAtDepth(statement->op, 0);
    bool produces = statement->part == Part::Produce;
    const Statement *&known = last[{top, produces}];
    if (known && (known != previous || known->stage != statement->stage))
      refuse({statement->op, 14,
              "the producers of a guard must have one stage, and orders "
              "without others in between; so must its consumers"});
    known = previous = statement;
  }
}
