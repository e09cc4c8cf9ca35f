//===- SharingFlow.cpp - Order of accesses that share bytes ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A forward dataflow analysis (MLIR's framework). A state has the places whose
// accesses may not be complete, by what completes them:
//
//   threads   accesses of some threads: a barrier of all threads
//   stores    reads by copies to global memory: a barrier that drains them
//   matmuls   reads by asynchronous matmuls: tile.gemm_wait
//   copies    writes by cp.async: a wait for all groups, then a barrier
//
// --tile-insert-barriers places these barriers by a similar analysis
// (BarrierPlacement). The verifier checks its result, and so shares no code
// with it.
//
// Paths that join take the union. A write is ordered if no place that shares
// bytes with it is in the state.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/SharingFlow.h"

#include "mlir/Analysis/DataFlow/ConstantPropagationAnalysis.h"
#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlow/DenseAnalysis.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

namespace {
/// The accesses that may not be complete.
struct OpenAccesses {
  PlaceSet threads = 0, stores = 0, matmuls = 0;
  /// Copies by cp.async: in closed groups, and in the open one.
  PlaceSet grouped = 0, ungrouped = 0;

  PlaceSet getAll() const {
    return threads | stores | matmuls | grouped | ungrouped;
  }
  bool operator==(const OpenAccesses &other) const {
    return std::tie(threads, stores, matmuls, grouped, ungrouped) ==
           std::tie(other.threads, other.stores, other.matmuls, other.grouped,
                    other.ungrouped);
  }
};

class OpenLattice : public dataflow::AbstractDenseLattice {
public:
  using AbstractDenseLattice::AbstractDenseLattice;

  ChangeResult join(const AbstractDenseLattice &rhs) override {
    return join(static_cast<const OpenLattice &>(rhs).open);
  }
  ChangeResult join(const OpenAccesses &other) {
    OpenAccesses before = open;
    open.threads |= other.threads;
    open.stores |= other.stores;
    open.matmuls |= other.matmuls;
    open.grouped |= other.grouped;
    open.ungrouped |= other.ungrouped;
    return open == before ? ChangeResult::NoChange : ChangeResult::Change;
  }
  void print(raw_ostream &os) const override {
    os << "open places " << open.getAll();
  }

  OpenAccesses open;
};

class OpenAnalysis
    : public dataflow::DenseForwardDataFlowAnalysis<OpenLattice> {
public:
  OpenAnalysis(DataFlowSolver &solver, const BarrierModel &model)
      : DenseForwardDataFlowAnalysis(solver), model(model) {}

  LogicalResult visitOperation(Operation *op, const OpenLattice &before,
                               OpenLattice *after) override;
  void setToEntryState(OpenLattice *lattice) override {
    propagateIfChanged(lattice, lattice->join(OpenAccesses()));
  }

private:
  static void synchronize(Operation *op, OpenAccesses &open);
  void addAccesses(const BarrierEvent &event, OpenAccesses &open) const;

  const BarrierModel &model;
};
} // namespace

/// Applies what `op` completes, if it orders anything.
void OpenAnalysis::synchronize(Operation *op, OpenAccesses &open) {
  auto barrier = dyn_cast<BarrierOp>(op);
  if (barrier && barrier.getDrainCopies()) {
    open = {};
  } else if (barrier || isa<gpu::BarrierOp>(op)) {
    open.threads = 0;
  } else if (isa<CommitGroupOp>(op)) {
    open.grouped |= std::exchange(open.ungrouped, 0);
  } else if (auto wait = dyn_cast<CopyGroupWaitOp>(op);
             wait && wait.getPending() == 0) {
    open.threads |= std::exchange(open.grouped, 0);
  } else if (auto wait = dyn_cast<GemmWaitOp>(op);
             wait && wait.getPending() == 0) {
    // Each warp waits for its own matmuls.
    open.threads |= std::exchange(open.matmuls, 0);
  }
}

void OpenAnalysis::addAccesses(const BarrierEvent &event,
                               OpenAccesses &open) const {
  auto gemm = dyn_cast<MatmulOpInterface>(model.eventOps[event.number]);
  for (const PlaceAccess &access : event.accesses) {
    const auto &buffer = model.places.getBuffers()[access.buffer];
    PlaceSet places = access.part ? PlaceSet(1) << (buffer.first + *access.part)
                                  : model.places.getAll(access.buffer);
    if (event.executor == BarrierEvent::Executor::CpAsync)
      open.ungrouped |= places;
    else if (event.executor == BarrierEvent::Executor::Tma)
      open.stores |= places;
    else if (gemm && gemm.getAsync() && !access.isMetadata)
      open.matmuls |= places;
    else
      open.threads |= places;
  }
  open.threads |= event.neighbour.place;
}

LogicalResult OpenAnalysis::visitOperation(Operation *op,
                                           const OpenLattice &before,
                                           OpenLattice *after) {
  OpenAccesses open = before.open;
  synchronize(op, open);
  auto it = model.events.find(op);
  if (it != model.events.end()) {
    // Scratch memory is written before the threads synchronize, and read after.
    if (it->second.synchronizes)
      open.threads = 0;
    addAccesses(it->second, open);
  }
  propagateIfChanged(after, after->join(open));
  return success();
}

bool verifier::isSharingOrdered(const BarrierModel &model) {
  if (model.hasRoles() || !model.barriers.empty())
    return false;
  DataFlowSolver solver(DataFlowConfig().setInterprocedural(false));
  solver.load<dataflow::DeadCodeAnalysis>();
  solver.load<dataflow::SparseConstantPropagation>();
  solver.load<OpenAnalysis>(model);
  if (failed(solver.initializeAndRun(gpu::GPUFuncOp(model.kernel))))
    return false;
  return llvm::all_of(model.events, [&](const auto &entry) {
    const auto &[op, event] = entry;
    PlaceSet destroyed =
        event.neighbour.isWritten ? event.neighbour.sharing : PlaceSet(0);
    for (const PlaceAccess &access : event.accesses)
      destroyed |= access.writes ? access.sharing : 0;
    if (!destroyed)
      return true;
    auto *state =
        solver.lookupState<OpenLattice>(solver.getProgramPointBefore(op));
    return !state || !(state->open.getAll() & destroyed);
  });
}
