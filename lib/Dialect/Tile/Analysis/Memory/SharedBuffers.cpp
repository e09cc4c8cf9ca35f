//===- SharedBuffers.cpp - Points-to sets of shared buffers ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inclusion-based points-to analysis (Andersen, "Program Analysis and
// Specialization for the C Programming Language", 1994). Memrefs are never
// stored in memory, so that only copies of values make inclusions. Each
// `tile.alloc_shared` points to itself; a result of an operation may be
// whatever its shared operands are; control flow passes the sets on from
// operands to arguments and results. Loops make the relation cyclic, so that
// the kernel is walked until no set grows. Two walks suffice without loops, one
// more for each level of loops that exchange buffers.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/SharedBuffers.h"

#include "tilews/Dialect/Tile/Analysis/BriefPrinter.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

static std::optional<AccessKind> getKind(bool reads, bool writes) {
  if (reads && writes)
    return AccessKind::ReadWrite;
  if (reads)
    return AccessKind::Read;
  if (writes)
    return AccessKind::Write;
  return std::nullopt;
}

/// Returns what an operation of another dialect does to `operand` according to
/// its memory effects.
static std::optional<AccessKind>
getEffect(ArrayRef<MemoryEffects::EffectInstance> effects, OpOperand &operand) {
  bool reads = false, writes = false;
  for (const MemoryEffects::EffectInstance &effect : effects) {
    if (effect.getValue() && effect.getValue() != operand.get())
      continue;
    reads |= isa<MemoryEffects::Read>(effect.getEffect());
    writes |= isa<MemoryEffects::Write>(effect.getEffect());
  }
  return getKind(reads, writes);
}

/// Returns the kind that decides which atomic accesses commute: those of the
/// same kind, unless it is an exchange.
static std::optional<AtomicKind> getAtomicKind(Operation *op) {
  if (auto update = dyn_cast<AtomicRMWOp>(op))
    // The old value tells which of two updates was the first.
    return update.getOld() ? AtomicKind::Exchange : update.getKind();
  if (auto update = dyn_cast<AtomicScatterOp>(op))
    return update.getOld() ? AtomicKind::Exchange : update.getKind();
  if (isa<AtomicCASOp>(op))
    return AtomicKind::Exchange;
  // A load is an update that changes nothing, as `or` with zero.
  if (isa<AtomicLoadOp>(op))
    return AtomicKind::Or;
  return std::nullopt;
}

/// Returns whether a buffer is a part of another one, so that a region of it
/// says little about that one.
static bool isPart(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) {
    if (isa<SubviewOp>(view))
      return true;
    buffer = view.getViewSource();
  }
  return false;
}

/// Returns what `op` does to the buffers that `counts` accepts.
static SmallVector<SharedAccess> getAccesses(Operation *op,
                                             function_ref<bool(Value)> counts) {
  SmallVector<SharedAccess> accesses;
  if (auto access = dyn_cast<AccessOpInterface>(op)) {
    SmallVector<AccessRegion> regions;
    access.getAccessRegions(regions);
    std::optional<AtomicKind> atomic = getAtomicKind(op);
    for (AccessRegion &access : regions) {
      if (!counts(access.buffer->get()))
        continue;
      std::optional<TileRegion> region;
      if (access.isExact() && !isPart(access.buffer->get()))
        region = std::move(access.region);
      accesses.push_back(
          {access.buffer, access.kind, std::move(region), atomic});
    }
    return accesses;
  }
  // Control flow and views pass buffers on without touching them.
  if (op->getNumRegions() > 0 || op->hasTrait<OpTrait::IsTerminator>() ||
      isMemoryEffectFree(op))
    return accesses;
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  SmallVector<MemoryEffects::EffectInstance> effects;
  if (interface)
    interface.getEffects(effects);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!counts(operand.get()))
      continue;
    std::optional<AccessKind> kind =
        interface ? getEffect(effects, operand) : AccessKind::ReadWrite;
    if (kind)
      accesses.push_back({&operand, *kind, std::nullopt, std::nullopt});
  }
  return accesses;
}

SmallVector<SharedAccess> tile::getSharedAccesses(Operation *op) {
  return getAccesses(op, [](Value value) { return isShared(value); });
}

SmallVector<SharedAccess> tile::getGlobalAccesses(Operation *op) {
  return getAccesses(op, [](Value value) {
    auto type = dyn_cast<MemRefType>(value.getType());
    return type && !isShared(type);
  });
}

//===----------------------------------------------------------------------===//
// Aliases
//===----------------------------------------------------------------------===//

SharedBuffers::SharedBuffers(Operation *kernel) {
  kernel->walk<WalkOrder::PreOrder>([&](AllocSharedOp alloc) {
    allocs.push_back(alloc);
    roots[alloc.getBuffer()].insert(alloc);
  });
  // Loops pass buffers back to values seen before: iterate to a fixpoint.
  bool changed = true;
  while (changed) {
    changed = false;
    kernel->walk<WalkOrder::PreOrder>(
        [&](Operation *op) { changed |= visit(op); });
  }
  // The order in which control flow was followed depends on addresses.
  llvm::DenseMap<Operation *, size_t> numbers;
  for (auto [i, alloc] : llvm::enumerate(allocs))
    numbers[alloc] = i;
  for (auto &[buffer, own] : roots) {
    auto sorted = own.takeVector();
    llvm::sort(sorted, [&](AllocSharedOp a, AllocSharedOp b) {
      return numbers.at(a) < numbers.at(b);
    });
    own.insert_range(sorted);
  }
}

const SharedBuffers::Roots &SharedBuffers::getRoots(Value buffer) const {
  static const Roots none;
  auto it = roots.find(buffer);
  return it == roots.end() ? none : it->second;
}

bool SharedBuffers::flow(Value from, Value to) {
  if (!isShared(from) || !isShared(to) || from == to)
    return false;
  Roots source = getRoots(from);
  if (source.empty())
    return false;
  bool changed = false;
  Roots &dest = roots[to];
  for (AllocSharedOp root : source)
    changed |= dest.insert(root);
  return changed;
}

bool SharedBuffers::visit(Operation *op) {
  bool changed = false;
  if (auto branch = dyn_cast<RegionBranchOpInterface>(op)) {
    RegionBranchSuccessorMapping mapping;
    branch.getSuccessorOperandInputMapping(mapping);
    for (auto &[operand, inputs] : mapping)
      for (Value input : inputs)
        changed |= flow(operand->get(), input);
    return changed;
  }
  for (Value operand : op->getOperands())
    for (Value result : op->getResults())
      changed |= flow(operand, result);
  return changed;
}

void SharedBuffers::print(raw_ostream &os) const {
  if (allocs.empty())
    return;
  auto kernel =
      AllocSharedOp(allocs.front())->getParentOfType<gpu::GPUFuncOp>();
  BriefPrinter printer(kernel, os);
  auto printRoots = [&](Value value) {
    auto it = roots.find(value);
    if (it == roots.end())
      return;
    printer << value << ": ";
    llvm::interleaveComma(it->second, os, [&](AllocSharedOp root) {
      printer << root.getBuffer();
    });
    os << "\n";
  };
  kernel->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isa<AllocSharedOp>(op))
      llvm::for_each(op->getResults(), printRoots);
    for (mlir::Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        printRoots(argument);
  });
}

int64_t tile::countSharedBytes(gpu::GPUFuncOp kernel) {
  constexpr int64_t alignment = 1024, barriers = 16;
  int64_t bytes = 0;
  kernel.walk([&](Operation *op) {
    if (auto alloc = dyn_cast<AllocSharedOp>(op))
      bytes += llvm::alignTo(getBufferBytes(alloc.getType()), alignment);
    else if (auto channel = dyn_cast<ChannelOp>(op))
      bytes += barriers * channel.getChannel().getType().getDepth();
  });
  return bytes;
}
