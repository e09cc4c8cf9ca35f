//===- SpecializeWarps.cpp - Give producers warps of their own ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each operation with an effect belongs to one role. What a role needs to get
// there, scalars, loops, guards and cursors, each role computes for itself. So
// that this is possible, a role must not need what another one computes by an
// effect: everything is checked before anything changes.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/RoleSlice.h"
#include "tilews/Dialect/Tile/Analysis/TmaCopy.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/FormatVariadic.h"

namespace tilews::tile {
#define GEN_PASS_DEF_SPECIALIZEWARPSPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {
/// Why a kernel keeps one role. `id` is the number of the remark
/// `tile-ws-00NN`.
struct Refusal {
  Operation *op;
  unsigned id;
  std::string reason;
  /// An operation that is in the way.
  Operation *other = nullptr;
};

/// Who does what in a kernel.
class RoleAssignment {
public:
  RoleAssignment(gpu::GPUFuncOp kernel) : kernel(kernel), memory(kernel) {}

  /// Assigns all operations; nothing has changed if it refuses.
  std::optional<Refusal> run(const TargetInfo &target);

  /// Operations of the kernel's body that all threads execute first.
  const llvm::DenseSet<Operation *> &getPrelude() const { return prelude; }
  const RoleSlice &getLoad() const { return load; }
  const RoleSlice &getMath() const { return math; }
  int64_t getLoadWarps() const { return loadWarps; }

private:
  std::optional<Refusal> assign();
  bool fillsChannel(Operation *op) const;
  bool readsChannel(Operation *op) const;
  void findPrelude();
  void keepInPrelude(Operation *op);
  std::optional<Refusal> checkPrelude() const;
  std::optional<Refusal> checkLoad() const;
  Operation *findWriter(Operation *reader, ArrayRef<Operation *> writers) const;

  gpu::GPUFuncOp kernel;
  MemoryAccesses memory;
  llvm::DenseSet<Operation *> channelBuffers;
  SmallVector<Operation *> loadEffects, mathEffects, preludeEffects;
  llvm::DenseSet<Operation *> prelude;
  RoleSlice load, math;
  int64_t loadWarps = 1;
};
} // namespace

static bool isTransaction(Operation *op) {
  return isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(op);
}

/// Whether an operation has an effect of its own that has to happen once.
static bool hasEffect(Operation *op) {
  if (isa<AllocSharedOp, ChannelOp, scf::ForOp, scf::IfOp, scf::WhileOp>(op) ||
      op->hasTrait<OpTrait::IsTerminator>())
    return false;
  return !onlyReads(op);
}

/// The ancestor of `op` in the kernel's body.
static Operation *getTopLevel(gpu::GPUFuncOp kernel, Operation *op) {
  return kernel.getBody().front().findAncestorOpInBlock(*op);
}

//===----------------------------------------------------------------------===//
// Who does what
//===----------------------------------------------------------------------===//

/// Whether all that `op` writes are buffers of channels.
bool RoleAssignment::fillsChannel(Operation *op) const {
  bool fills = false;
  for (const MemoryAccess &access : memory.get(op)) {
    if (!access.writes())
      continue;
    if (!access.shared || access.roots.empty())
      return false;
    for (AllocSharedOp root : access.roots)
      if (!channelBuffers.contains(root))
        return false;
    fills = true;
  }
  return fills;
}

/// Whether `op` reads a buffer of a channel.
bool RoleAssignment::readsChannel(Operation *op) const {
  return llvm::any_of(memory.get(op), [&](const MemoryAccess &access) {
    return access.reads() && access.shared &&
           llvm::any_of(access.roots, [&](AllocSharedOp root) {
             return channelBuffers.contains(root);
           });
  });
}

std::optional<Refusal> RoleAssignment::assign() {
  std::optional<Refusal> refusal;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == kernel || !hasEffect(op))
      return WalkResult::advance();
    bool holdsTransaction = false;
    for (mlir::Region &region : op->getRegions())
      region.walk(
          [&](Operation *inner) { holdsTransaction |= isTransaction(inner); });
    if (holdsTransaction) {
      refusal = Refusal{op, 4,
                        "channels are used in an operation other than scf.for, "
                        "scf.if and scf.while"};
      return WalkResult::interrupt();
    }
    bool isLoad = isa<AcquireOp, CommitOp>(op) ||
                  (!isTransaction(op) && fillsChannel(op));
    (isLoad ? loadEffects : mathEffects).push_back(op);
    return WalkResult::skip();
  });
  return refusal;
}

/// Keeps an operation of the kernel's body and what it is computed from.
void RoleAssignment::keepInPrelude(Operation *op) {
  if (!prelude.insert(op).second)
    return;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *def = operand.getDefiningOp())
        if (Operation *top = getTopLevel(kernel, def); top && top != op)
          keepInPrelude(top);
  });
}

/// What fills shared memory that the load role reads, if it comes before all
/// channels, is done by all threads together, with all effects before it.
void RoleAssignment::findPrelude() {
  Operation *first = nullptr;
  for (Operation &op : kernel.getBody().front()) {
    op.walk([&](Operation *inner) {
      if (isTransaction(inner) && !first)
        first = &op;
    });
  }
  Operation *last = nullptr;
  for (Operation *op : load.getOps()) {
    if (op->getNumRegions() > 0)
      continue;
    for (const MemoryAccess &read : memory.get(op))
      for (Operation *effect : mathEffects) {
        Operation *top = getTopLevel(kernel, effect);
        if (!read.reads() || !read.shared || !top->isBeforeInBlock(first) ||
            (last && !last->isBeforeInBlock(top)))
          continue;
        for (const MemoryAccess &write : memory.get(effect))
          if (write.writes() && read.conflictsWith(write))
            last = top;
      }
  }
  if (!last)
    return;
  llvm::erase_if(mathEffects, [&](Operation *effect) {
    Operation *top = getTopLevel(kernel, effect);
    if (last->isBeforeInBlock(top))
      return false;
    preludeEffects.push_back(effect);
    keepInPrelude(top);
    return true;
  });
}

//===----------------------------------------------------------------------===//
// Whether it can be
//===----------------------------------------------------------------------===//

/// One of `writers` that writes what `reader` reads; null if there is none.
Operation *RoleAssignment::findWriter(Operation *reader,
                                      ArrayRef<Operation *> writers) const {
  SmallVector<MemoryAccess, 0> reads = memory.get(reader);
  llvm::erase_if(reads, [](const auto &read) { return !read.reads(); });
  if (reads.empty())
    return nullptr;
  for (Operation *writer : writers)
    for (const MemoryAccess &write : memory.get(writer))
      if (write.writes() && llvm::any_of(reads, [&](const auto &read) {
            return read.conflictsWith(write);
          }))
        return writer;
  return nullptr;
}

/// What roles compute again after the prelude has to be the same then.
std::optional<Refusal> RoleAssignment::checkPrelude() const {
  for (const RoleSlice *slice : {&load, &math})
    for (Operation *op : slice->getOps()) {
      if (op->getNumRegions() > 0)
        continue;
      Operation *top = getTopLevel(kernel, op);
      SmallVector<Operation *> later =
          llvm::filter_to_vector(preludeEffects, [&](Operation *effect) {
            return !getTopLevel(kernel, effect)->isBeforeInBlock(top);
          });
      if (Operation *writer = findWriter(op, later))
        return Refusal{
            op, 3,
            "what it reads is overwritten before the first pipelined "
            "loop",
            writer};
    }
  return std::nullopt;
}

/// The load role runs ahead of the math role: it must not need what that one
/// does.
std::optional<Refusal> RoleAssignment::checkLoad() const {
  for (Operation *op : load.getOps()) {
    if (llvm::is_contained(mathEffects, op))
      return Refusal{
          op, 2,
          "a copy that fills a channel, or a guard around one, needs "
          "its result"};
    if (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op))
      continue;
    if (readsChannel(op))
      return Refusal{op, 6,
                     "it is needed to fill a channel, and reads a tile that a "
                     "channel delivers"};
    if (Operation *writer = findWriter(op, mathEffects))
      return Refusal{op, 3,
                     "it is needed to fill a channel, and reads what the "
                     "kernel writes",
                     writer};
  }
  return std::nullopt;
}

std::optional<Refusal> RoleAssignment::run(const TargetInfo &target) {
  bool hasTma = false, isTma = true;
  kernel.walk([&](ChannelOp channel) {
    for (Value buffer : channel.getBuffers())
      if (AllocSharedOp alloc = getViewedAlloc(buffer))
        channelBuffers.insert(alloc);
    hasTma |= llvm::is_contained({ProducerKind::Tma, ProducerKind::Mixed},
                                 channel.getProducer());
    isTma &= channel.getProducer() == ProducerKind::Tma;
  });
  if (!hasTma)
    return Refusal{kernel, 1, "none of its copies can be done by TMA"};
  // One thread starts TMA copies; others need warps to compute addresses.
  loadWarps = isTma ? 1 : 4;
  int64_t threads = getNumThreads(kernel) + loadWarps * target.warpSize;
  if (threads > target.maxThreads)
    return Refusal{
        kernel, 5,
        "with " + std::to_string(loadWarps) + " more warps it would have " +
            std::to_string(threads) + " threads, more than the " +
            std::to_string(target.maxThreads) + " of " + target.chip};
  if (std::optional<Refusal> refusal = assign())
    return refusal;
  for (Operation *op : loadEffects)
    load.add(op);
  findPrelude();
  for (Operation *op : mathEffects)
    math.add(op);
  if (std::optional<Refusal> refusal = checkPrelude())
    return refusal;
  return checkLoad();
}

//===----------------------------------------------------------------------===//
// Splitting a kernel
//===----------------------------------------------------------------------===//

/// Adds a role that executes `slice` of what comes before `specialize`.
static void createRole(SpecializeOp specialize, StringRef name, int64_t warps,
                       const RoleSlice &slice) {
  auto builder = OpBuilder::atBlockEnd(&specialize.getBody().front());
  auto role = RoleOp::create(builder, specialize.getLoc(), name, warps,
                             /*registers=*/IntegerAttr());
  builder.setInsertionPointToStart(&role.getBody().emplaceBlock());
  Block &body = *specialize->getBlock();
  IRMapping mapping;
  // Allocations and channels stay where all roles see them.
  for (Operation &op : body)
    if (isa<AllocSharedOp, ChannelOp>(op))
      mapping.map(op.getResult(0), op.getResult(0));
  slice.clone(builder, body.begin(), specialize->getIterator(), mapping);
  // The schedule is carried out.
  role.walk([](Operation *op) {
    for (StringRef name :
         {TileDialect::kNumStages, TileDialect::kStage, TileDialect::kOrder})
      op->removeDiscardableAttr(name);
  });
}

static void split(gpu::GPUFuncOp kernel, const RoleAssignment &roles,
                  const TargetInfo &target) {
  Block &body = kernel.getBody().front();
  OpBuilder builder(body.getTerminator());
  int64_t mathWarps = getNumThreads(kernel) / target.warpSize;
  auto specialize = SpecializeOp::create(builder, kernel.getLoc());
  specialize.getBody().emplaceBlock();
  // Warpgroups start at multiples of four warps: the math role comes first.
  createRole(specialize, "math", mathWarps, roles.getMath());
  createRole(specialize, "load", roles.getLoadWarps(), roles.getLoad());
  kernel->setAttr(
      TileDialect::kThreads,
      builder.getI32IntegerAttr(specialize.getNumWarps() * target.warpSize));

  SmallVector<Operation *> assigned;
  for (Operation &op :
       llvm::make_range(body.begin(), specialize->getIterator()))
    if (!isa<AllocSharedOp, ChannelOp>(op) && !roles.getPrelude().contains(&op))
      assigned.push_back(&op);
  for (Operation *op : llvm::reverse(assigned))
    op->erase();
}

static void emitRemark(const Refusal &refusal) {
  InFlightDiagnostic remark = refusal.op->emitRemark(
      llvm::formatv("tile-ws-{0:d4}: kernel keeps one role: {1}", refusal.id,
                    refusal.reason)
          .str());
  if (refusal.other)
    remark.attachNote(refusal.other->getLoc()) << "written here";
}

/// The kinds of copies and stores that fill a channel.
static ProducerKind getProducerKind(ChannelOp channel, gpu::GPUFuncOp kernel) {
  std::optional<ProducerKind> kind;
  MemoryAccesses memory(kernel);
  for (const MemoryAccess &access : memory.get(kernel)) {
    bool fills =
        access.writes() && access.shared &&
        llvm::any_of(access.roots, [&](AllocSharedOp root) {
          return llvm::is_contained(channel.getBuffers(), root.getBuffer());
        });
    if (!fills)
      continue;
    auto inst = access.op->getAttrOfType<InstKindAttr>(TileDialect::kInst);
    ProducerKind own = ProducerKind::Simt;
    if (inst && inst.getValue() == InstKind::Tma)
      own = ProducerKind::Tma;
    else if (inst && inst.getValue() == InstKind::CpAsync)
      own = ProducerKind::CpAsync;
    kind = kind && *kind != own ? ProducerKind::Mixed : own;
  }
  return kind.value_or(channel.getProducer());
}

/// TMA copies that no role of their own starts, or that no channel waits for,
/// become other copies.
static void replaceTmaLoads(gpu::GPUFuncOp kernel, const TargetInfo &target,
                            bool hasRoles) {
  bool changed = false;
  kernel.walk([&](CopyOp copy) {
    AllocSharedOp alloc = getViewedAlloc(copy.getDest());
    bool inChannel =
        alloc && llvm::any_of(alloc->getUsers(), llvm::IsaPred<ChannelOp>);
    if (!isTma(copy) || !isShared(copy.getDest()) || (hasRoles && inChannel))
      return;
    replaceTma(copy, target);
    changed = true;
  });
  if (changed && !hasRoles)
    kernel.walk([&](ChannelOp channel) {
      channel.setProducer(getProducerKind(channel, kernel));
    });
}

FailureOr<bool> tile::specializeWarps(gpu::GPUFuncOp kernel) {
  bool hasChannels = false, hasRoles = false;
  kernel.walk([&](Operation *op) {
    hasChannels |= isa<ChannelOp>(op);
    hasRoles |= isa<SpecializeOp>(op);
  });
  if (hasRoles)
    return false;
  FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
  if (failed(target))
    return failure();
  RoleAssignment roles(kernel);
  std::optional<Refusal> refusal;
  // Elsewhere there is nothing to gain, and nothing to say.
  hasChannels &= target->hasTma();
  if (hasChannels)
    refusal = roles.run(*target);
  if (refusal)
    emitRemark(*refusal);
  bool canSplit = hasChannels && !refusal;
  if (canSplit)
    split(kernel, roles, *target);
  replaceTmaLoads(kernel, *target, canSplit);
  return canSplit;
}

namespace {
struct SpecializeWarpsPass
    : tile::impl::SpecializeWarpsPassBase<SpecializeWarpsPass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](gpu::GPUFuncOp kernel) {
      return failed(specializeWarps(kernel)) ? WalkResult::interrupt()
                                             : WalkResult::skip();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
