//===- SplitProducers.cpp - Producers and consumers of a planned loop -----===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Transforms/ChannelBuffers.h"
#include "tilews/Dialect/Tile/Utils/Versions.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {
/// Writes a planned loop anew.
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
  /// One of the two sides of a turn.
  struct Side {
    explicit Side(Part part) : part(part) {}

    Part part;
    llvm::DenseSet<Value> needs;
    IRMapping mapping;
    /// What became of statements and guards.
    llvm::DenseMap<Operation *, Operation *> clones;
  };

  /// Contents of allocations in a body are undefined in each turn.
  void hoistAllocations() {
    SmallVector<AllocSharedOp> allocs;
    loop->walk([&](AllocSharedOp alloc) {
      if (!statements.find(alloc))
        allocs.push_back(alloc);
    });
    for (AllocSharedOp alloc : allocs)
      rewriter.moveOpBefore(alloc, loop);
  }

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
    // What both sides carry is carried twice.
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

  /// Clones what belongs to `side` to the insertion point.
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
        // It may have a stage that others do not need it in.
        Operation *clone = rewriter.clone(op, side.mapping);
        clone->removeAttr(TileDialect::kStage);
        clone->removeAttr(TileDialect::kOrder);
      }
    }
  }

  bool contains(scf::IfOp guard, const Side &side) const {
    return llvm::any_of(statements.getAll(), [&](const Statement &statement) {
      return statement.part == side.part &&
             guard->isProperAncestor(statement.op);
    });
  }

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

  void insertProtocol(ChannelBuffers &channel) {
    SmallVector<const PipedBuffer *> buffers;
    SmallVector<const Statement *> writers, readers;
    for (AllocSharedOp alloc : channel.allocs)
      if (const PipedBuffer *buffer = plan.find(alloc)) {
        buffers.push_back(buffer);
        for (Operation *writer : buffer->writers)
          writers.push_back(statements.find(writer));
        for (Operation *reader : buffer->readers)
          readers.push_back(statements.find(reader));
      }
    if (buffers.empty())
      return;
    // Statements lie in memory as they do in the program.
    auto [firstWriter, lastWriter] =
        std::minmax_element(writers.begin(), writers.end());
    auto [firstRead, lastRead] = getReads(statements, *buffers.front());
    auto byTime = [](const Statement *a, const Statement *b) {
      return std::pair(a->stage, a->order) < std::pair(b->stage, b->order);
    };
    auto [earliestWriter, latestWriter] =
        std::minmax_element(writers.begin(), writers.end(), byTime);
    auto [earliestReader, latestReader] =
        std::minmax_element(readers.begin(), readers.end(), byTime);

    Location loc = loop.getLoc();
    auto advance = [&](Value cursor, const Statement *earliest,
                       const Statement *latest) {
      auto op = AdvanceOp::create(rewriter, loc, cursor);
      // The next turn needs the cursor in the earliest stage.
      if (earliest->stage == latest->stage)
        after[latest].push_back(op);
      else
        before[earliest].push_back(op);
    };
    rewriter.setInsertionPoint(producer.clones.at((*firstWriter)->op));
    before[*earliestWriter].push_back(
        AcquireOp::create(rewriter, loc, channel.channel, channel.producer));
    rewriter.setInsertionPointAfter(producer.clones.at((*lastWriter)->op));
    after[*latestWriter].push_back(
        CommitOp::create(rewriter, loc, channel.channel, channel.producer));
    advance(channel.producer, *earliestWriter, *latestWriter);
    rewriter.setInsertionPoint(consumer.clones.at(firstRead));
    before[*earliestReader].push_back(
        WaitOp::create(rewriter, loc, channel.channel, channel.consumer,
                       /*pending=*/IntegerAttr(), /*proxyFence=*/false));
    rewriter.setInsertionPointAfter(consumer.clones.at(lastRead));
    after[*latestReader].push_back(
        ReleaseOp::create(rewriter, loc, channel.channel, channel.consumer));
    advance(channel.consumer, *earliestReader, *latestReader);

    for (const PipedBuffer *buffer : buffers) {
      Value versions = channel.versions.at(buffer->alloc);
      for (Operation *writer : buffer->writers)
        useVersion(rewriter, producer.clones.at(writer), buffer->alloc,
                   versions, channel.producer);
      for (Operation *reader : buffer->readers)
        useVersion(rewriter,
                   consumer.clones.at(
                       statements.getAtDepth(reader, buffer->guards.size())),
                   buffer->alloc, versions, channel.consumer);
    }
  }

  /// Gives the new operations stages and orders. A wait goes before copies that
  /// directly precede it: its barrier is then theirs as well.
  void number() {
    SmallVector<const Statement *> sorted;
    for (const Statement &statement : statements.getAll())
      if (statement.isScheduled())
        sorted.push_back(&statement);
    llvm::sort(sorted, [](auto *a, auto *b) { return a->order < b->order; });
    SmallVector<std::pair<Operation *, const Statement *>> items;
    for (const Statement *statement : sorted) {
      for (Operation *op : before[statement]) {
        size_t place = items.size();
        if (isa<WaitOp>(op) && op->getParentOp() == newLoop)
          while (place > 0 && items[place - 1].second->part == Part::Produce)
            --place;
        items.insert(items.begin() + place, {op, statement});
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
  /// Operations of the protocol that go with a statement.
  llvm::DenseMap<const Statement *, SmallVector<Operation *, 2>> before, after;
};
} // namespace

void tile::splitTurns(RewriterBase &rewriter, const PipelinePlan &plan,
                      MutableArrayRef<ChannelBuffers> channels) {
  SplitProducers(rewriter, plan, channels).run();
}
