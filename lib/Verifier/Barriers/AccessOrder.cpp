//===- AccessOrder.cpp - Accesses that no barrier has ordered ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A forward dataflow analysis (MLIR's framework). A state has the accesses that
// some threads may have made since all of them synchronized, and the copies
// that may still run. Paths that join take the union. An access is
// ordered if it has no conflict with the state before it.
//
// Each role begins with an empty state: what the kernel's body leaves open is
// compared with all accesses of the roles where these begin. After the roles
// all of their accesses are open, because their barriers are not for all
// threads. Their copies still run if a role ends before it drains them.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/AccessOrder.h"

#include "Verifier/Engine/Rules.h"

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Analysis/DataFlow/ConstantPropagationAnalysis.h"
#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlow/DenseAnalysis.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

namespace {
/// Accesses of threads, and copies that may still run: those in groups of
/// cp.async, and all others.
struct UnorderedSets {
  AccessSet open, running, grouped = {};

  bool operator==(const UnorderedSets &other) const {
    return open == other.open && running == other.running &&
           grouped == other.grouped;
  }
  void add(const UnorderedSets &other) {
    open |= other.open;
    running |= other.running;
    grouped |= other.grouped;
  }
  void synchronize(bool drains) {
    open = {};
    if (drains)
      running = grouped = {};
  }
  void closeGroup(const AccessSet &cpAsync) {
    AccessSet closed = running;
    closed &= cpAsync;
    grouped |= closed;
    running.reset(closed);
  }
  /// Each thread has waited for its own copies.
  void waitForGroups() {
    open |= grouped;
    grouped = {};
  }
};

class UnorderedLattice : public dataflow::AbstractDenseLattice {
public:
  using AbstractDenseLattice::AbstractDenseLattice;

  ChangeResult join(const AbstractDenseLattice &rhs) override {
    return join(static_cast<const UnorderedLattice &>(rhs).sets);
  }
  ChangeResult join(const UnorderedSets &other) {
    UnorderedSets before = sets;
    sets.add(other);
    return sets == before ? ChangeResult::NoChange : ChangeResult::Change;
  }
  void print(raw_ostream &os) const override {
    os << sets.open.count() << " accesses open, " << sets.running.count()
       << " copies running";
  }

  UnorderedSets sets;
};

class UnorderedAnalysis
    : public dataflow::DenseForwardDataFlowAnalysis<UnorderedLattice> {
public:
  UnorderedAnalysis(DataFlowSolver &solver, const NumberedAccesses &accesses)
      : DenseForwardDataFlowAnalysis(solver), accesses(accesses) {}

  LogicalResult visitOperation(Operation *op, const UnorderedLattice &before,
                               UnorderedLattice *after) override;
  void setToEntryState(UnorderedLattice *lattice) override {
    propagateIfChanged(lattice, lattice->join(UnorderedSets()));
  }

private:
  void addRoles(SpecializeOp op, UnorderedSets &sets);

  const NumberedAccesses &accesses;
};
} // namespace

/// Whether all threads of the task that executes `op` synchronize there.
static bool synchronizes(Operation *op) {
  return isa<BarrierOp, gpu::BarrierOp, MBarrierReadyOp, ClusterBarrierOp>(
             op) ||
         synchronizesInScratch(op) ||
         (isa<WaitOp>(op) && !op->getParentOfType<RoleOp>());
}

/// Whether the threads wait for all groups of their copies by cp.async.
static bool waitsForAllGroups(Operation *op) {
  auto wait = dyn_cast<CopyGroupWaitOp>(op);
  auto channelWait = dyn_cast<WaitOp>(op);
  return (wait && wait.getPending() == 0) ||
         (channelWait && channelWait.getPending() == 0);
}

/// Adds what the roles leave.
void UnorderedAnalysis::addRoles(SpecializeOp op, UnorderedSets &sets) {
  op->walk([&](Operation *inner) {
    auto it = accesses.ofOps.find(inner);
    if (it != accesses.ofOps.end())
      sets.open |= it->second.makes;
  });
  for (RoleOp role : op.getRoles()) {
    Block &block = role.getBody().front();
    if (!block.empty())
      sets.add(static_cast<const UnorderedLattice *>(
                   getLatticeFor(getProgramPointAfter(op),
                                 getProgramPointAfter(&block.back())))
                   ->sets);
  }
}

LogicalResult UnorderedAnalysis::visitOperation(Operation *op,
                                                const UnorderedLattice &before,
                                                UnorderedLattice *after) {
  UnorderedSets sets = before.sets;
  auto it = accesses.ofOps.find(op);
  bool hasOwn = it != accesses.ofOps.end();
  if (isa<CommitGroupOp>(op))
    sets.closeGroup(accesses.cpAsync);
  if (waitsForAllGroups(op))
    sets.waitForGroups();
  if (synchronizes(op) || (hasOwn && it->second.synchronizes)) {
    auto barrier = dyn_cast<BarrierOp>(op);
    sets.synchronize(barrier && barrier.getDrainCopies());
  }
  if (auto specialize = dyn_cast<SpecializeOp>(op))
    addRoles(specialize, sets);
  if (hasOwn) {
    AccessSet threads = it->second.leaves, copies = threads;
    threads.reset(accesses.copies);
    copies &= accesses.copies;
    sets.add({threads, copies});
  }
  propagateIfChanged(after, after->join(sets));
  return success();
}

/// The first of the accesses of `op` that conflicts with one in `sets`.
static std::optional<AccessConflict>
findConflict(Operation *op, const UnorderedSets &sets,
             const NumberedAccesses &accesses) {
  auto it = accesses.ofOps.find(op);
  if (it == accesses.ofOps.end())
    return std::nullopt;
  AccessSet before = sets.open;
  before |= sets.running;
  before |= sets.grouped;
  for (unsigned access : it->second.makes.set_bits()) {
    AccessSet found = before;
    found &= accesses.conflicts[access];
    if (int open = found.find_first(); open >= 0)
      return AccessConflict{op, access, unsigned(open)};
  }
  return std::nullopt;
}

std::optional<AccessConflict>
verifier::findUnorderedConflict(gpu::GPUFuncOp kernel,
                                const NumberedAccesses &accesses) {
  if (llvm::none_of(accesses.conflicts,
                    [](const AccessSet &set) { return set.any(); }))
    return std::nullopt;
  DataFlowSolver solver(DataFlowConfig().setInterprocedural(false));
  solver.load<dataflow::DeadCodeAnalysis>();
  solver.load<dataflow::SparseConstantPropagation>();
  solver.load<UnorderedAnalysis>(accesses);
  if (failed(solver.initializeAndRun(kernel)))
    return AccessConflict{kernel, 0, 0};
  std::optional<AccessConflict> conflict;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto *state =
        solver.lookupState<UnorderedLattice>(solver.getProgramPointBefore(op));
    if (!state)
      return WalkResult::advance();
    conflict = findConflict(op, state->sets, accesses);
    if (isa<SpecializeOp>(op))
      op->walk([&](Operation *inner) {
        if (!conflict)
          conflict = findConflict(inner, state->sets, accesses);
      });
    return conflict ? WalkResult::interrupt() : WalkResult::advance();
  });
  return conflict;
}
