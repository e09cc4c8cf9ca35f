//===- SplitProducers.cpp - Producers and consumers of a planned loop -----===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rewrites a planned loop as a sequence of two halves in each iteration: the
// statements that produce, then those that consume. The body is cloned twice,
// each time with only the statements of one side and a backward slice of the
// scalars, guards and carried values which that side needs. The protocol of
// each channel is then inserted around the clones:
//
//   copy A -> As;  gemm As    becomes    acquire; copy A -> slot; commit;
//                                        wait;    gemm slot;      release
//
// Last, all scheduled operations are numbered again, so that the protocol has
// stages and orders too. The new loop runs as it stands, one half after the
// other; warp specialization or software pipelining overlaps them later.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Transforms/ChannelBuffers.h"
#include "tilews/Dialect/Tile/Utils/Versions.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-multi-version"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {
/// Replaces one planned loop by a loop whose iterations produce, then consume.
class SplitProducers {
public:
  SplitProducers(RewriterBase &rewriter, const PipelinePlan &plan,
                 MutableArrayRef<ChannelBuffers> channels)
      : rewriter(rewriter), plan(plan), statements(plan.getStatements()),
        loop(plan.getLoop()), channels(channels) {}

  void run() {
    hoistAllocations();
    findNeeds();
    createLoop();
    for (ChannelBuffers &channel : channels)
      insertProtocol(channel);
    number();
    rewriter.replaceOp(loop,
                       newLoop.getResults().take_front(loop.getNumResults()));
  }

private:
  /// The producers or the consumers of an iteration.
  struct Side {
    explicit Side(Part part) : part(part) {}

    Part part;
    llvm::DenseSet<Value> needs;
    IRMapping mapping;
    /// The clone of each statement and guard in the new loop.
    llvm::DenseMap<Operation *, Operation *> clones;
  };

  /// Moves allocations out of the loop. This changes nothing, because their
  /// contents are undefined at the start of each iteration.
  void hoistAllocations() {
    SmallVector<AllocSharedOp> allocs;
    loop->walk([&](AllocSharedOp alloc) {
      if (!statements.find(alloc))
        allocs.push_back(alloc);
    });
    for (AllocSharedOp alloc : allocs)
      rewriter.moveOpBefore(alloc, loop);
  }

  /// Computes the backward slice of each side. Results of the loop belong to
  /// the consumers.
  void findNeeds() {
    auto yield = loop.getBody()->getTerminator();
    SmallVector<Value> used;
    for (auto [result, value] :
         llvm::zip(loop.getResults(), yield->getOperands()))
      if (!result.use_empty())
        used.push_back(value);
    for (Side *side : {&producer, &consumer}) {
      SmallVector<const Statement *> own;
      for (const Statement &statement : statements.getAll())
        if (statement.part == side->part)
          own.push_back(&statement);
      side->needs = statements.getNeededValues(
          own, side == &consumer ? ArrayRef(used) : ArrayRef<Value>());
    }
  }

  void createLoop() {
    rewriter.setInsertionPoint(loop);
    // A value that both sides need is carried twice, once for each side, so
    // that no side depends on the other's iteration.
    SmallVector<Value> inits(loop.getInitArgs());
    SmallVector<unsigned> twice;
    for (BlockArgument argument : loop.getRegionIterArgs()) {
      unsigned i = argument.getArgNumber() - 1;
      bool consumed =
          consumer.needs.contains(argument) || !loop.getResult(i).use_empty();
      if (producer.needs.contains(argument) && consumed) {
        twice.push_back(i);
        inits.push_back(loop.getInitArgs()[i]);
      }
    }
    newLoop = scf::ForOp::create(
        rewriter, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(),
        loop.getStep(), inits, /*bodyBuilder=*/nullptr, loop.getUnsignedCmp());
    newLoop->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    Block *body = newLoop.getBody();
    if (inits.empty())
      rewriter.eraseOp(body->getTerminator());

    for (Side *side : {&producer, &consumer})
      side->mapping.map(
          loop.getBody()->getArguments(),
          body->getArguments().take_front(loop.getBody()->getNumArguments()));
    for (auto [position, i] : llvm::enumerate(twice))
      producer.mapping.map(
          loop.getRegionIterArg(i),
          newLoop.getRegionIterArg(loop.getNumRegionIterArgs() + position));
    rewriter.setInsertionPointToEnd(body);
    cloneInto(*loop.getBody(), producer);
    cloneInto(*loop.getBody(), consumer);

    auto yield = loop.getBody()->getTerminator();
    SmallVector<Value> yielded;
    for (auto [i, value] : llvm::enumerate(yield->getOperands())) {
      bool produced = producer.needs.contains(loop.getRegionIterArg(i)) &&
                      !llvm::is_contained(twice, i);
      bool dead = !produced && loop.getResult(i).use_empty() &&
                  !consumer.needs.contains(loop.getRegionIterArg(i));
      Value lookup = (produced ? producer : consumer)
                         .mapping.lookupOrDefault(
                             dead ? Value(loop.getRegionIterArg(i)) : value);
      yielded.push_back(lookup);
    }
    for (unsigned i : twice)
      yielded.push_back(producer.mapping.lookupOrDefault(yield->getOperand(i)));
    scf::YieldOp::create(rewriter, loop.getLoc(), yielded);
  }

  bool isNeeded(Operation *op, const Side &side) const {
    return llvm::any_of(op->getResults(), [&](Value result) {
      return side.needs.contains(result);
    });
  }

  /// Clones the operations of `block` that belong to `side`, or that it needs,
  /// to the insertion point.
  void cloneInto(Block &block, Side &side) {
    for (Operation &op : block.without_terminator()) {
      if (statements.isGuard(&op)) {
        cloneGuard(cast<scf::IfOp>(op), side);
        continue;
      }
      const Statement &statement = *statements.find(&op);
      if (statement.part == side.part) {
        side.clones[&op] = rewriter.clone(op, side.mapping);
      } else if (statement.part == Part::Replay && isNeeded(&op, side)) {
        // Both sides compute it for themselves, so a stage that was set for one
        // of them does not hold for the other.
        Operation *clone = rewriter.clone(op, side.mapping);
        clone->removeAttr(TileDialect::kStage);
        clone->removeAttr(TileDialect::kOrder);
      }
    }
  }

  /// Whether a statement of `side` is in `guard`.
  bool contains(scf::IfOp guard, const Side &side) const {
    return llvm::any_of(statements.getAll(), [&](const Statement &statement) {
      return statement.part == side.part &&
             guard->isProperAncestor(statement.op);
    });
  }

  /// Clones a guard with the statements of `side` in it, and with only those
  /// results that `side` needs.
  void cloneGuard(scf::IfOp guard, Side &side) {
    if (!contains(guard, side) && !isNeeded(guard, side))
      return;
    SmallVector<unsigned> kept;
    SmallVector<Type> types;
    for (OpResult result : guard->getResults())
      if (side.needs.contains(result)) {
        kept.push_back(result.getResultNumber());
        types.push_back(result.getType());
      }
    auto clone = scf::IfOp::create(
        rewriter, guard.getLoc(), types,
        side.mapping.lookupOrDefault(guard.getCondition()),
        /*addThenBlock=*/true, /*addElseBlock=*/guard.elseBlock() != nullptr);
    OpBuilder::InsertionGuard insertion(rewriter);
    for (auto [from, to] :
         llvm::zip(guard->getRegions(), clone->getRegions())) {
      if (from.empty())
        continue;
      Block &block = to.front();
      if (!block.empty())
        rewriter.eraseOp(&block.back());
      rewriter.setInsertionPointToEnd(&block);
      cloneInto(from.front(), side);
      SmallVector<Value> yielded;
      for (unsigned i : kept)
        yielded.push_back(side.mapping.lookupOrDefault(
            from.front().getTerminator()->getOperand(i)));
      scf::YieldOp::create(rewriter, guard.getLoc(), yielded);
    }
    for (auto [i, result] : llvm::zip(kept, clone.getResults()))
      side.mapping.map(guard.getResult(i), result);
    side.clones[guard] = clone;
  }

  /// A writer or reader statement set of one channel: the statements that come
  /// first and last in the program, and in the pipeline (by stage and order).
  struct Span {
    const Statement *first, *last, *earliest, *latest;
  };

  /// Index of a statement in the program order of the loop body, guards
  /// flattened.
  size_t getPosition(const Statement *statement) const {
    return std::distance(statements.getAll().begin(), statement);
  }

  Span getSpan(ArrayRef<Operation *> ops) const {
    SmallVector<const Statement *> all;
    for (Operation *op : ops)
      all.push_back(statements.find(op));
    auto [first, last] = std::minmax_element(
        all.begin(), all.end(), [&](const Statement *a, const Statement *b) {
          return getPosition(a) < getPosition(b);
        });
    auto [earliest, latest] = std::minmax_element(
        all.begin(), all.end(), [](const Statement *a, const Statement *b) {
          return std::pair(a->stage, a->order) < std::pair(b->stage, b->order);
        });
    return {*first, *last, *earliest, *latest};
  }

  /// Advances a cursor after the use of its slot. The next iteration reads the
  /// cursor in the stage of the earliest statement. If the statements are in
  /// several stages, the advance therefore goes with the earliest one.
  void insertAdvance(Value cursor, const Span &span) {
    auto op = AdvanceOp::create(rewriter, loop.getLoc(), cursor);
    if (span.earliest->stage == span.latest->stage)
      after[span.latest].push_back(op);
    else
      before[span.earliest].push_back(op);
  }

  /// Inserts the protocol of a channel around the clones of the statements that
  /// fill and read its buffers, and lets these use the slots.
  void insertProtocol(ChannelBuffers &channel) {
    SmallVector<const PipedBuffer *> buffers;
    SmallVector<Operation *> writers, readers;
    for (AllocSharedOp alloc : channel.allocs)
      if (const PipedBuffer *buffer = plan.find(alloc)) {
        buffers.push_back(buffer);
        llvm::append_range(writers, buffer->writers);
        llvm::append_range(readers, buffer->readers);
      }
    if (buffers.empty())
      return;
    LDBG() << "channel at " << channel.channel.getLoc() << ": "
           << buffers.size() << " buffers, " << writers.size() << " writers, "
           << readers.size() << " readers";
    insertProducerSide(channel, getSpan(writers));
    Span span = getSpan(readers);
    unsigned depth = buffers.front()->guards.size();
    insertConsumerSide(channel, span,
                       {statements.getAtDepth(span.first->op, depth),
                        statements.getAtDepth(span.last->op, depth)});
    for (const PipedBuffer *buffer : buffers)
      useSlots(*buffer, channel);
  }

  void insertProducerSide(ChannelBuffers &channel, const Span &writers) {
    Location loc = loop.getLoc();
    rewriter.setInsertionPoint(producer.clones.at(writers.first->op));
    before[writers.earliest].push_back(
        AcquireOp::create(rewriter, loc, channel.channel, channel.producer));
    rewriter.setInsertionPointAfter(producer.clones.at(writers.last->op));
    after[writers.latest].push_back(
        CommitOp::create(rewriter, loc, channel.channel, channel.producer));
    insertAdvance(channel.producer, writers);
  }

  /// `reads` are the first and the last operation that read, at the depth of
  /// the guards around the channel's writers.
  void insertConsumerSide(ChannelBuffers &channel, const Span &readers,
                          std::pair<Operation *, Operation *> reads) {
    Location loc = loop.getLoc();
    rewriter.setInsertionPoint(consumer.clones.at(reads.first));
    before[readers.earliest].push_back(
        WaitOp::create(rewriter, loc, channel.channel, channel.consumer,
                       /*pending=*/IntegerAttr(), /*proxy_fence=*/false));
    rewriter.setInsertionPointAfter(consumer.clones.at(reads.second));
    after[readers.latest].push_back(
        ReleaseOp::create(rewriter, loc, channel.channel, channel.consumer));
    insertAdvance(channel.consumer, readers);
  }

  void useSlots(const PipedBuffer &buffer, const ChannelBuffers &channel) {
    Value versions = channel.versions.at(buffer.alloc);
    for (Operation *writer : buffer.writers)
      useVersion(rewriter, producer.clones.at(writer), buffer.alloc, versions,
                 channel.producer);
    for (Operation *reader : buffer.readers) {
      Operation *outer = statements.getAtDepth(reader, buffer.guards.size());
      useVersion(rewriter, consumer.clones.at(outer), buffer.alloc, versions,
                 channel.consumer);
    }
  }

  /// Gives the new operations stages and orders. A wait moves in front of the
  /// producers that directly precede it in the pipeline's order: its barrier
  /// then also orders them after the reads of the iteration before.
  void number() {
    SmallVector<const Statement *> sorted;
    for (const Statement &statement : statements.getAll())
      if (statement.isScheduled())
        sorted.push_back(&statement);
    llvm::sort(sorted, [](auto *a, auto *b) { return a->order < b->order; });
    SmallVector<std::pair<Operation *, const Statement *>> items;
    for (const Statement *statement : sorted) {
      for (Operation *op : before[statement]) {
        size_t index = items.size();
        if (isa<WaitOp>(op) && op->getParentOp() == newLoop)
          while (index > 0 && items[index - 1].second->part == Part::Produce)
            --index;
        items.insert(items.begin() + index, {op, statement});
      }
      Side &side = statement->part == Part::Produce ? producer : consumer;
      items.push_back({side.clones.at(statement->op), statement});
      for (Operation *op : after[statement])
        items.push_back({op, statement});
    }
    for (auto [order, item] : llvm::enumerate(items)) {
      auto &[op, statement] = item;
      op->setAttr(TileDialect::kStage,
                  rewriter.getI32IntegerAttr(statement->stage));
      op->setAttr(TileDialect::kOrder, rewriter.getI32IntegerAttr(order));
    }
  }

  RewriterBase &rewriter;
  const PipelinePlan &plan;
  const LoopStatements &statements;
  scf::ForOp loop, newLoop;
  MutableArrayRef<ChannelBuffers> channels;
  Side producer{Part::Produce}, consumer{Part::Consume};
  /// Operations of the protocol, by the statement whose stage they take, and
  /// which they come before or after in the pipeline's order.
  llvm::DenseMap<const Statement *, SmallVector<Operation *, 2>> before, after;
};
} // namespace

void tile::splitProducers(RewriterBase &rewriter, const PipelinePlan &plan,
                          MutableArrayRef<ChannelBuffers> channels) {
  SplitProducers(rewriter, plan, channels).run();
}
