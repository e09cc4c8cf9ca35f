//===- RoleAssignment.cpp - Partition of kernels into roles ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies that fill channels, with their transactions, go to the load role; all
// other effects go to the math role. The backward slice of each role's effects
// is what the role executes. The load role runs ahead of the math role, so that
// its slice must not contain effects or results of the math role, nor reads of
// memory that the math role writes. Four exceptions widen what is accepted:
//
// * Effects before the first channel that fill memory for the load role become
//   a prelude, which all threads execute.
// * Effects that only fill shared memory which nothing but the load role reads,
//   such as computed indices of rows, go to the load role.
// * Reads of shared memory that one copy fills are replaced by reads of the
//   source of the copy (CopiedReads.h).
// * Everything without an effect is computed by both roles.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Roles/RoleAssignment.h"
#include "tilews/Dialect/Tile/Analysis/BriefPrinter.h"
#include "tilews/Dialect/Tile/Analysis/Memory/CopiedReads.h"
#include "tilews/Dialect/Tile/Analysis/Memory/TmaCopy.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

static bool isTransaction(Operation *op) {
  return isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(op);
}

/// Returns whether an operation has an effect of its own, which must happen
/// once.
static bool hasEffect(Operation *op) {
  if (isa<AllocSharedOp, ChannelOp, scf::ForOp, scf::IfOp, scf::WhileOp>(op) ||
      op->hasTrait<OpTrait::IsTerminator>())
    return false;
  return !onlyReads(op);
}

/// Returns the ancestor of `op` in the kernel's body.
static Operation *getTopLevel(gpu::GPUFuncOp kernel, Operation *op) {
  return kernel.getBody().front().findAncestorOpInBlock(*op);
}

//===----------------------------------------------------------------------===//
// Effects of roles
//===----------------------------------------------------------------------===//

/// Returns whether `op` writes buffers of channels and nothing else.
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

/// Returns whether `op` reads a buffer of a channel.
bool RoleAssignment::readsChannel(Operation *op) const {
  return llvm::any_of(memory.get(op), [&](const MemoryAccess &access) {
    return access.reads() && access.shared &&
           llvm::any_of(access.roots, [&](AllocSharedOp root) {
             return channelBuffers.contains(root);
           });
  });
}

MaybeRefusal RoleAssignment::assign() {
  MaybeRefusal refusal;
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

/// Adds an operation of the kernel's body, and what it is computed from, to the
/// prelude.
void RoleAssignment::keepInPrelude(Operation *op) {
  SmallVector<Operation *> pending = {op};
  while (!pending.empty()) {
    Operation *kept = pending.pop_back_val();
    if (!prelude.insert(kept).second)
      continue;
    kept->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *def = operand.getDefiningOp())
          if (Operation *top = getTopLevel(kernel, def))
            pending.push_back(top);
    });
  }
}

/// Finds the prelude: the effects before the first use of a channel that write
/// shared memory which the load role reads, and all effects before them.
void RoleAssignment::findPrelude() {
  Operation *first = nullptr;
  for (Operation &op : kernel.getBody().front()) {
    op.walk([&](Operation *inner) {
      bool fills = isa<CopyOp>(inner) && fillsChannel(inner);
      if ((isTransaction(inner) || fills) && !first)
        first = &op;
    });
  }
  Operation *last = nullptr;
  for (Operation *op : load.getOps()) {
    if (op->getNumRegions() > 0)
      continue;
    for (const MemoryAccess &read : memory.get(op)) {
      if (!read.reads() || !read.shared)
        continue;
      for (Operation *effect : mathEffects) {
        Operation *top = getTopLevel(kernel, effect);
        if (!top->isBeforeInBlock(first) ||
            (last && !last->isBeforeInBlock(top)))
          continue;
        for (const MemoryAccess &write : memory.get(effect))
          if (write.writes() && read.conflictsWith(write))
            last = top;
      }
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

/// Returns the shared buffers without a channel that only effects of the load
/// role read, and that operations without other effects fill.
llvm::DenseSet<Operation *> RoleAssignment::findLoadBuffers() const {
  llvm::DenseSet<Operation *> ofLoad(loadEffects.begin(), loadEffects.end());
  llvm::DenseSet<Operation *> ofMath(mathEffects.begin(), mathEffects.end());
  llvm::DenseSet<Operation *> found, refused;
  llvm::SetVector<Operation *> writers;
  gpu::GPUFuncOp(kernel).walk([&](Operation *op) {
    if (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op) || op == kernel)
      return;
    for (const MemoryAccess &access : memory.get(op))
      for (AllocSharedOp root : access.roots) {
        bool fills = access.writes() && !access.reads() &&
                     !access.access.atomic && ofMath.contains(op);
        if (fills)
          writers.insert(op);
        if (access.reads() && ofLoad.contains(op))
          found.insert(root);
        else if (!fills)
          refused.insert(root);
      }
  });
  for (Operation *root : refused)
    found.erase(root);
  for (Operation *root : llvm::to_vector(found))
    if (channelBuffers.contains(root) ||
        !memory.isOnlyAccessed(cast<AllocSharedOp>(root)))
      found.erase(root);
  // A writer with another effect stays in the math role, and its buffers, too.
  auto staysInMath = [&](Operation *op) {
    return !op->use_empty() ||
           llvm::any_of(memory.get(op), [&](const MemoryAccess &access) {
             return access.writes() &&
                    (!access.shared || access.roots.empty() ||
                     llvm::any_of(access.roots, [&](AllocSharedOp root) {
                       return !found.contains(root);
                     }));
           });
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation *op : writers)
      if (staysInMath(op))
        for (const MemoryAccess &access : memory.get(op))
          for (AllocSharedOp root : access.roots)
            changed |= access.writes() && found.erase(root);
  }
  return found;
}

/// Gives the load role the effects that fill buffers for it alone. They may
/// read other buffers, which are then for it alone, too.
void RoleAssignment::claimLoadBuffers() {
  for (bool claimed = true; claimed;) {
    claimed = false;
    llvm::DenseSet<Operation *> own = findLoadBuffers();
    llvm::erase_if(mathEffects, [&](Operation *effect) {
      SmallVector<MemoryAccess, 0> accesses = memory.get(effect);
      bool fills = llvm::any_of(accesses, [&](const MemoryAccess &access) {
        return access.writes() &&
               llvm::any_of(access.roots, [&](AllocSharedOp root) {
                 return own.contains(root);
               });
      });
      if (!fills)
        return false;
      loadEffects.push_back(effect);
      load.add(effect);
      return claimed = true;
    });
  }
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Returns one write of each memory that `ops` write.
SmallVector<MemoryAccess, 0>
RoleAssignment::findWrites(ArrayRef<Operation *> ops) const {
  SmallVector<MemoryAccess, 0> writes;
  llvm::DenseSet<std::tuple<Operation *, Value, unsigned>> known;
  for (Operation *op : ops)
    for (MemoryAccess &access : memory.get(op)) {
      if (!access.writes())
        continue;
      Operation *root =
          access.roots.size() == 1 ? *access.roots.begin() : AllocSharedOp();
      // Any other write to shared memory is a kind of its own.
      unsigned atomic =
          access.access.atomic ? 1 + unsigned(*access.access.atomic) : 0;
      if ((access.shared && !root) ||
          known.insert({root, access.argument, atomic}).second)
        writes.push_back(std::move(access));
    }
  return writes;
}

/// Returns the refusal, for the given reason, that one of `writers` writes what
/// `reader` reads; nullopt if none does. `writes` has one write of each memory
/// that `writers` write: few reads conflict with one, and all writers are
/// looked at only for those.
MaybeRefusal RoleAssignment::checkWriters(Operation *reader,
                                          ArrayRef<Operation *> writers,
                                          ArrayRef<MemoryAccess> writes,
                                          StringRef reason) const {
  SmallVector<MemoryAccess, 0> reads = memory.get(reader);
  llvm::erase_if(reads, [&](const MemoryAccess &read) {
    return !read.reads() ||
           llvm::none_of(writes, [&](const MemoryAccess &write) {
             return read.conflictsWith(write);
           });
  });
  if (reads.empty())
    return std::nullopt;
  // What is acquired later does not matter to a read.
  auto isLater = [&](const MemoryAccess &write) {
    return !write.access.operand &&
           getTopLevel(kernel, reader)
               ->isBeforeInBlock(getTopLevel(kernel, write.op));
  };
  for (Operation *writer : writers)
    for (const MemoryAccess &write : memory.get(writer))
      for (const MemoryAccess &read : reads)
        if (write.writes() && read.conflictsWith(write) && !isLater(write))
          return Refusal{reader, 3, reason.str() + read.describeAlias(write),
                         writer};
  return std::nullopt;
}

/// Checks that reads that the prelude and the roles both do give the same
/// values in the roles: nothing in the prelude writes that memory later.
MaybeRefusal RoleAssignment::checkPrelude() const {
  SmallVector<MemoryAccess, 0> writes = findWrites(preludeEffects);
  for (const RoleSlice *slice : {&load, &math})
    for (Operation *op : slice->getOps()) {
      if (op->getNumRegions() > 0)
        continue;
      Operation *top = getTopLevel(kernel, op);
      SmallVector<Operation *> later =
          llvm::filter_to_vector(preludeEffects, [&](Operation *effect) {
            return !getTopLevel(kernel, effect)->isBeforeInBlock(top);
          });
      if (MaybeRefusal refusal = checkWriters(
              op, later, writes,
              "memory that this reads is overwritten before the first "
              "pipelined loop"))
        return refusal;
    }
  return std::nullopt;
}

/// Returns the reason why the load role, which runs ahead of the math role,
/// cannot read what `op` reads, if any.
MaybeRefusal
RoleAssignment::checkRead(Operation *op,
                          ArrayRef<MemoryAccess> mathWrites) const {
  if (readsChannel(op))
    return Refusal{op, 6,
                   "filling a channel needs this read of a tile that a "
                   "channel delivers"};
  return checkWriters(op, mathEffects, mathWrites,
                      "filling a channel needs this read of memory that the "
                      "kernel writes");
}

/// Returns whether the load role can read the source of a copy instead of what
/// `op` reads. If so, adds the offsets of the copy to the load role.
bool RoleAssignment::isCopied(Operation *op) {
  CopyOp copy = readsChannel(op) ? CopyOp() : findCopyOf(op, kernel, memory);
  if (!copy)
    return false;
  copiedReads.push_back({op, copy});
  load.add(copy.getSource());
  for (Value offset : copy.getSourceOffsets())
    load.add(offset);
  return true;
}

/// Adds the reads by which the math role decides when to wait.
void RoleAssignment::findPeerReads() {
  RoleSlice waits;
  for (Operation *effect : mathEffects)
    if (isTransaction(effect))
      waits.add(effect);
  llvm::SmallPtrSet<Operation *, 4> known, copies;
  for (const CopiedRead &read : copiedReads) {
    known.insert(read.op);
    copies.insert(read.copy);
  }
  for (Operation *op : waits.getOps())
    if (CopyOp copy = findCopyOf(op, kernel, memory);
        copy && copies.contains(copy) && !known.contains(op))
      copiedReads.push_back({op, copy});
}

/// Checks that the load role needs no result of the math role.
MaybeRefusal RoleAssignment::checkLoad() {
  SmallVector<MemoryAccess, 0> mathWrites = findWrites(mathEffects);
  llvm::DenseSet<Operation *> ofMath(mathEffects.begin(), mathEffects.end());
  // The slice grows during the loop.
  for (size_t i = 0; i < load.getOps().size(); ++i) {
    Operation *op = load.getOps()[i];
    if (ofMath.contains(op))
      return Refusal{
          op, 2,
          "a copy that fills a channel, or a guard around one, needs "
          "this result"};
    if (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op))
      continue;
    if (MaybeRefusal refusal = checkRead(op, mathWrites);
        refusal && !isCopied(op))
      return refusal;
  }
  if (!copiedReads.empty())
    findPeerReads();
  return std::nullopt;
}

/// Returns the first loop whose channels need `op` to be filled, if the kernel
/// has several loops; otherwise null.
Operation *RoleAssignment::findLoop(Operation *op) const {
  llvm::SmallSetVector<Operation *, 4> loops, needing;
  for (Operation *effect : loadEffects) {
    auto loop = effect->getParentOfType<scf::ForOp>();
    while (loop && !loop->hasAttr(TileDialect::kNumStages))
      loop = loop->getParentOfType<scf::ForOp>();
    if (!loop || !isa<AcquireOp>(effect))
      continue;
    RoleSlice slice;
    slice.add(effect);
    loops.insert(loop);
    if (slice.contains(op))
      needing.insert(loop);
  }
  return loops.size() > 1 && !needing.empty() ? needing.front() : nullptr;
}

MaybeRefusal RoleAssignment::checkThreads(const TargetInfo &target) {
  bool hasTma = false, onlyTma = true;
  kernel.walk([&](CopyOp copy) {
    AllocSharedOp dest = getViewedAlloc(copy.getDest());
    hasTma |= isTma(copy) && dest && channelBuffers.contains(dest);
  });
  kernel.walk([&](ChannelOp channel) {
    onlyTma &= channel.getProducer() == ProducerKind::Tma;
  });
  // Copies by cp.async are asynchronous without a role of their own. Copies
  // through registers are best done by all threads of the block: with a role
  // for them, a matmul whose rows have no known alignment was slower on an
  // H200.
  if (!hasTma)
    return Refusal{kernel, 1, "TMA can do none of the kernel's copies"};
  // One thread starts TMA copies. Other copies need a warpgroup to compute
  // addresses, and registers are given to whole warpgroups.
  bool hasRegisters = kernel->hasAttr(TileDialect::kRoleRegisters);
  loadWarps = onlyTma && !hasRegisters ? 1 : 4;
  int64_t own = getNumThreads(kernel);
  int64_t threads = own + loadWarps * target.warpSize;
  if (threads > target.maxThreads)
    return Refusal{kernel, 5,
                   "with " + std::to_string(loadWarps) +
                       " more warps the kernel would have " +
                       std::to_string(threads) + " threads, more than the " +
                       std::to_string(target.maxThreads) + " of " +
                       target.chip};
  if (hasRegisters && own % (int64_t(4) * target.warpSize) != 0)
    return Refusal{kernel, 7,
                   "'tile.role_registers' gives registers to warpgroups of "
                   "4 warps, but the kernel has " +
                       std::to_string(own) + " threads"};
  return std::nullopt;
}

MaybeRefusal RoleAssignment::run(const TargetInfo &target) {
  kernel.walk([&](ChannelOp channel) {
    for (Value buffer : channel.getBuffers())
      if (AllocSharedOp alloc = getViewedAlloc(buffer))
        channelBuffers.insert(alloc);
  });
  if (MaybeRefusal refusal = checkThreads(target))
    return refusal;
  if (MaybeRefusal refusal = assign())
    return refusal;
  for (Operation *op : loadEffects)
    load.add(op);
  findPrelude();
  claimLoadBuffers();
  for (Operation *op : mathEffects)
    math.add(op);
  MaybeRefusal refusal = checkPrelude();
  if (!refusal)
    refusal = checkLoad();
  if (refusal)
    refusal->loop = findLoop(refusal->op);
  return refusal;
}

void RoleAssignment::print(raw_ostream &os) const {
  BriefPrinter printer(kernel, os);
  os << "load warps: " << loadWarps << "\n";
  gpu::GPUFuncOp(kernel).walk<WalkOrder::PreOrder>([&](Operation *op) {
    SmallVector<StringRef> roles;
    if (prelude.contains(op))
      roles.push_back("prelude");
    if (load.contains(op))
      roles.push_back("load");
    if (math.contains(op))
      roles.push_back("math");
    if (roles.empty() || op == kernel)
      return;
    llvm::interleaveComma(roles, os);
    printer << ": " << op << "\n";
  });
  for (const CopiedRead &read : copiedReads)
    printer << "read from source of " << read.copy << ": " << read.op << "\n";
}
