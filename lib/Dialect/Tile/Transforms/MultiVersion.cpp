//===- MultiVersion.cpp - Versions of buffers, and their channels ---------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A planned loop is written anew: in each turn first what producers do, then
// what consumers do, each with a copy of the guards and scalars it needs. Both
// sides meet in channels only.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/PipelinePlan.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"
#include "tilews/Dialect/Tile/Utils/Cursors.h"

#include "mlir/IR/IRMapping.h"

namespace tilews::tile {
#define GEN_PASS_DEF_MULTIVERSIONPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

namespace {
/// Buffers that are read from the same first to the same last operation in all
/// loops.
struct ChannelBuffers {
  /// The first and the last operation that reads them, loop by loop.
  SmallVector<Operation *> reads;
  SmallVector<AllocSharedOp> allocs;
  SmallVector<ProducerKind> kinds;
  int64_t depth = 1;

  Value channel, producer, consumer, last;
  llvm::DenseMap<Operation *, Value> versions;
};
} // namespace

/// The operations at the depth of the buffer's guards that hold its first and
/// its last reader.
static std::pair<Operation *, Operation *>
getReads(const LoopStatements &statements, const PipedBuffer &buffer) {
  unsigned depth = buffer.guards.size();
  return {statements.getAtDepth(buffer.readers.front(), depth),
          statements.getAtDepth(buffer.readers.back(), depth)};
}

static void addKind(Operation *writer, SmallVectorImpl<ProducerKind> &kinds) {
  writer->walk([&](Operation *op) {
    auto inst = op->getAttrOfType<InstKindAttr>(TileDialect::kInst);
    ProducerKind kind = ProducerKind::Simt;
    if (isa<CopyOp>(op) && inst && inst.getValue() == InstKind::CpAsync)
      kind = ProducerKind::CpAsync;
    if (isa<CopyOp>(op) && inst && inst.getValue() == InstKind::Tma)
      kind = ProducerKind::Tma;
    bool writes = llvm::any_of(getSharedAccesses(op),
                               [](auto &access) { return access.writes(); });
    if (writes && !llvm::is_contained(kinds, kind))
      kinds.push_back(kind);
  });
}

static SmallVector<ChannelBuffers, 0>
groupBuffers(ArrayRef<PipelinePlan> plans) {
  // What each buffer is like by itself, then those that are alike together.
  llvm::MapVector<Operation *, ChannelBuffers> single;
  for (auto [i, plan] : llvm::enumerate(plans))
    for (const PipedBuffer &buffer : plan.getBuffers()) {
      ChannelBuffers &channel = single[buffer.alloc];
      channel.reads.resize(2 * plans.size());
      std::tie(channel.reads[2 * i], channel.reads[2 * i + 1]) =
          getReads(plan.getStatements(), buffer);
      channel.depth = std::max(channel.depth, buffer.versions);
      for (Operation *writer : buffer.writers)
        addKind(writer, channel.kinds);
    }
  SmallVector<ChannelBuffers, 0> channels;
  for (auto &[alloc, own] : single) {
    auto *it = llvm::find_if(channels, [&, &own = own](const auto &channel) {
      return channel.reads == own.reads;
    });
    if (it == channels.end()) {
      channels.push_back(own);
      it = &channels.back();
    }
    it->allocs.push_back(cast<AllocSharedOp>(alloc));
    it->depth = std::max(it->depth, own.depth);
    for (ProducerKind kind : own.kinds)
      if (!llvm::is_contained(it->kinds, kind))
        it->kinds.push_back(kind);
  }
  return channels;
}

/// Makes the versions, the channel and its cursors at the kernel's entry.
static LogicalResult create(RewriterBase &rewriter, Block &entry,
                            ChannelBuffers &buffers, Cursors &cursors) {
  MLIRContext *context = rewriter.getContext();
  SmallVector<Value> versions;
  rewriter.setInsertionPointToStart(&entry);
  for (AllocSharedOp alloc : buffers.allocs) {
    FailureOr<MemRefType> type =
        getVersionedType(alloc.getBuffer().getType(), buffers.depth,
                         [&] { return alloc.emitOpError(); });
    if (failed(type))
      return failure();
    Value buffer = AllocSharedOp::create(rewriter, alloc.getLoc(), *type,
                                         alloc.getAlignmentAttr());
    versions.push_back(buffer);
    buffers.versions[alloc] = buffer;
  }
  Location loc = buffers.allocs.front().getLoc();
  ProducerKind kind =
      buffers.kinds.size() == 1 ? buffers.kinds.front() : ProducerKind::Mixed;
  buffers.channel =
      ChannelOp::create(rewriter, loc, ChannelType::get(context, buffers.depth),
                        versions, ProducerKindAttr::get(context, kind));
  auto cursor = CursorType::get(context, buffers.depth);
  for (Value *value : {&buffers.producer, &buffers.consumer}) {
    *value = CursorOp::create(rewriter, loc, cursor);
    cursors.add(*value);
  }
  return success();
}

/// The cursor of the last transaction that was consumed.
static Value getLast(RewriterBase &rewriter, ChannelBuffers &buffers,
                     Cursors &cursors) {
  if (!buffers.last) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointAfterValue(buffers.consumer);
    buffers.last = CursorOp::create(rewriter, buffers.channel.getLoc(),
                                    buffers.consumer.getType());
    cursors.addLast(buffers.last, buffers.consumer);
  }
  return buffers.last;
}

//===----------------------------------------------------------------------===//
// Uses of buffers
//===----------------------------------------------------------------------===//

/// What `buffer`, a view of an allocation, is when that is `version`.
static Value rebuildView(OpBuilder &builder, Value buffer, Value version) {
  auto view = buffer.getDefiningOp<ViewLikeOpInterface>();
  if (!view)
    return version;
  Value source = rebuildView(builder, view.getViewSource(), version);
  Operation *clone = builder.clone(*view);
  clone->replaceUsesOfWith(view.getViewSource(), source);
  return clone->getResult(0);
}

/// Lets `op` and its regions use the version that `cursor` points at.
static void useVersion(RewriterBase &rewriter, Operation *op,
                       AllocSharedOp alloc, Value versions, Value cursor) {
  SmallVector<OpOperand *> uses;
  op->walk([&](Operation *inner) {
    for (OpOperand &operand : inner->getOpOperands()) {
      Operation *def = operand.get().getDefiningOp();
      if (def && !op->isAncestor(def) && isShared(operand.get()) &&
          getViewedAlloc(operand.get()) == alloc)
        uses.push_back(&operand);
    }
  });
  if (uses.empty())
    return;
  rewriter.setInsertionPoint(op);
  Value slot = SlotOp::create(rewriter, op->getLoc(), versions, cursor);
  llvm::DenseMap<Value, Value> known;
  for (OpOperand *use : uses) {
    Value &value = known[use->get()];
    if (!value)
      value = rebuildView(rewriter, use->get(), slot);
    use->set(value);
  }
}

static void eraseWithViews(RewriterBase &rewriter, Operation *op) {
  for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
    eraseWithViews(rewriter, user);
  rewriter.eraseOp(op);
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

namespace {
/// Writes a planned loop anew.
class LoopRewrite {
public:
  LoopRewrite(RewriterBase &rewriter, const PipelinePlan &plan,
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
      if (statement.part == side.part ||
          (statement.part == Part::Replay && isNeeded(&op, side)))
        side.clones[&op] = rewriter.clone(op, side.mapping);
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
    auto byOrder = [](const Statement *a, const Statement *b) {
      return a->order < b->order;
    };
    auto [earliestWriter, latestWriter] =
        std::minmax_element(writers.begin(), writers.end(), byOrder);
    auto [earliestReader, latestReader] =
        std::minmax_element(readers.begin(), readers.end(), byOrder);

    Location loc = loop.getLoc();
    rewriter.setInsertionPoint(producer.clones.at((*firstWriter)->op));
    before[*earliestWriter].push_back(
        AcquireOp::create(rewriter, loc, channel.channel, channel.producer));
    rewriter.setInsertionPointAfter(producer.clones.at((*lastWriter)->op));
    after[*latestWriter].append(
        {CommitOp::create(rewriter, loc, channel.channel, channel.producer),
         AdvanceOp::create(rewriter, loc, channel.producer)});
    rewriter.setInsertionPoint(consumer.clones.at(firstRead));
    before[*earliestReader].push_back(
        WaitOp::create(rewriter, loc, channel.channel, channel.consumer,
                       /*pending=*/IntegerAttr(), /*proxyFence=*/false));
    rewriter.setInsertionPointAfter(consumer.clones.at(lastRead));
    after[*latestReader].append(
        {ReleaseOp::create(rewriter, loc, channel.channel, channel.consumer),
         AdvanceOp::create(rewriter, loc, channel.consumer)});

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

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// Lets what uses a buffer outside of its loop read the last version.
static void useLastVersions(RewriterBase &rewriter, gpu::GPUFuncOp kernel,
                            ChannelBuffers &channel, Cursors &cursors) {
  SmallVector<std::pair<Operation *, AllocSharedOp>> uses;
  kernel.walk([&](Operation *op) {
    for (const SharedAccess &access : getSharedAccesses(op)) {
      AllocSharedOp alloc = getViewedAlloc(access.operand->get());
      if (llvm::is_contained(channel.allocs, alloc))
        uses.push_back({op, alloc});
    }
  });
  for (auto [op, alloc] : uses)
    useVersion(rewriter, op, alloc, channel.versions.at(alloc),
               getLast(rewriter, channel, cursors));
}

LogicalResult tile::multiVersion(gpu::GPUFuncOp kernel) {
  SmallVector<ChannelBuffers, 0> channels;
  SmallVector<scf::ForOp> loops;
  {
    KernelPipelines pipelines(kernel, /*annotatedOnly=*/true);
    if (failed(pipelines.emitErrors()))
      return failure();
    channels = groupBuffers(pipelines.getPlans());
    for (const PipelinePlan &plan : pipelines.getPlans())
      loops.push_back(plan.getLoop());
  }
  IRRewriter rewriter(kernel.getContext());
  Cursors cursors(rewriter);
  for (ChannelBuffers &channel : channels)
    if (failed(create(rewriter, kernel.getBody().front(), channel, cursors)))
      return failure();
  // Inner loops come first: for an outer one they are statements.
  for (scf::ForOp loop : loops) {
    MemoryAccesses memory(kernel);
    PipelinePlan plan = PipelinePlan::read(loop, memory, ForbiddenBuffers(),
                                           [](const PipelineRefusal &) {});
    LoopRewrite(rewriter, plan, channels).run();
  }
  for (ChannelBuffers &channel : channels) {
    useLastVersions(rewriter, kernel, channel, cursors);
    for (AllocSharedOp alloc : channel.allocs)
      eraseWithViews(rewriter, alloc);
  }
  cursors.carry(kernel.getBody());
  return success();
}

namespace {
struct MultiVersionPass : tile::impl::MultiVersionPassBase<MultiVersionPass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk(
        [](gpu::GPUFuncOp kernel) { return WalkResult(multiVersion(kernel)); });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
