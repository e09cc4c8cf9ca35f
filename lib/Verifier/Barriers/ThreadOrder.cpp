//===- ThreadOrder.cpp - Order of the threads of one task -----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A forward dataflow analysis (MLIR's framework). A state has the ranges of
// bytes that some threads may have read, written or updated atomically since
// all of them synchronized. Paths that join take the union. An access is
// ordered if it has no conflict with the state before it.
//
// Each role begins with an empty state: what the kernel's body leaves open is
// compared with all accesses of the roles where these begin. After the roles
// all of their accesses are open, because their barriers are not for all
// threads.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/ThreadOrder.h"

#include "Verifier/Engine/Rules.h"

#include "tilews/Dialect/Tile/Analysis/Memory/ArenaAccesses.h"
#include "tilews/Dialect/Tile/Analysis/Memory/Scratch.h"

#include "mlir/Analysis/DataFlow/ConstantPropagationAnalysis.h"
#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlow/DenseAnalysis.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

using RangeSet = llvm::SmallBitVector;

namespace {
/// Ranges of bytes by what threads do with them.
struct RangeAccesses {
  RangeSet reads, writes, updates;

  void add(const RangeAccesses &other) {
    reads |= other.reads;
    writes |= other.writes;
    updates |= other.updates;
  }
  bool operator==(const RangeAccesses &other) const {
    return reads == other.reads && writes == other.writes &&
           updates == other.updates;
  }
};

/// What one operation accesses. Scratch memory is written, and then read after
/// the threads have synchronized.
struct OwnAccesses {
  RangeAccesses accesses;
  RangeSet scratch;
};

/// The accesses of a kernel to memory without places.
class UnplacedMemory {
public:
  UnplacedMemory(gpu::GPUFuncOp kernel, const SharedPlaces &places,
                 const TargetInfo &target);

  const OwnAccesses *find(Operation *op) const {
    auto it = accesses.find(op);
    return it == accesses.end() ? nullptr : &it->second;
  }
  /// What all roles access together.
  const RangeAccesses &getOfRoles() const { return ofRoles; }
  /// Whether nothing is written.
  bool isConstant() const { return !hasWrites; }
  bool haveConflict(const RangeAccesses &before,
                    const RangeAccesses &after) const;

private:
  void addShared(Operation *op, const SharedBuffers &buffers,
                 const SharedPlaces &places);
  void addScratch(Operation *op, const TargetInfo &target);
  unsigned getNumber(int64_t begin, int64_t end);
  RangeSet getOverlaps(const RangeSet &ranges) const;

  /// The ranges by number, and those that each one has bytes in common with.
  llvm::MapVector<std::pair<int64_t, int64_t>, RangeSet> ranges;
  llvm::MapVector<Operation *, OwnAccesses> accesses;
  RangeAccesses ofRoles;
  bool hasWrites = false;
};
} // namespace

static void insert(RangeSet &set, unsigned number) {
  if (set.size() <= number)
    set.resize(number + 1);
  set.set(number);
}

UnplacedMemory::UnplacedMemory(gpu::GPUFuncOp kernel,
                               const SharedPlaces &places,
                               const TargetInfo &target) {
  SharedBuffers buffers(kernel);
  kernel.walk([&](Operation *op) {
    addShared(op, buffers, places);
    addScratch(op, target);
  });
  for (auto &[bytes, overlaps] : ranges)
    for (auto [number, other] : llvm::enumerate(ranges))
      if (bytes.first < other.first.second && other.first.first < bytes.second)
        insert(overlaps, number);
  for (auto &[op, own] : accesses) {
    hasWrites |= own.accesses.writes.any() || own.accesses.updates.any() ||
                 own.scratch.any();
    if (!op->getParentOfType<RoleOp>())
      continue;
    ofRoles.add(own.accesses);
    ofRoles.writes |= own.scratch;
  }
}

unsigned UnplacedMemory::getNumber(int64_t begin, int64_t end) {
  auto it = ranges.insert({{begin, end}, RangeSet()}).first;
  return it - ranges.begin();
}

void UnplacedMemory::addShared(Operation *op, const SharedBuffers &buffers,
                               const SharedPlaces &places) {
  for (const SharedAccess &access : getSharedAccesses(op))
    for (AllocSharedOp root : buffers.getRoots(access.operand->get())) {
      auto offset = root->getAttrOfType<IntegerAttr>(TileDialect::kOffset);
      if (!offset || places.findBuffer(root.getBuffer()))
        continue;
      ArenaAccess bytes = getArenaBytes(root, offset.getInt(), access);
      unsigned number = getNumber(bytes.begin, bytes.end);
      RangeAccesses &own = accesses[op].accesses;
      if (access.atomic)
        insert(own.updates, number);
      else if (access.writes())
        insert(own.writes, number);
      if (access.reads() && !access.atomic)
        insert(own.reads, number);
    }
}

void UnplacedMemory::addScratch(Operation *op, const TargetInfo &target) {
  auto offset = op->getAttrOfType<IntegerAttr>(TileDialect::kOffset);
  int64_t bytes = offset ? getScratchBytes(op, target) : 0;
  if (bytes > 0)
    insert(accesses[op].scratch,
           getNumber(offset.getInt(), offset.getInt() + bytes));
}

RangeSet UnplacedMemory::getOverlaps(const RangeSet &numbers) const {
  RangeSet result;
  for (unsigned number : numbers.set_bits())
    result |= ranges.begin()[number].second;
  return result;
}

/// Atomic updates commute with each other.
bool UnplacedMemory::haveConflict(const RangeAccesses &before,
                                  const RangeAccesses &after) const {
  RangeSet reads = getOverlaps(after.reads);
  RangeSet writes = getOverlaps(after.writes);
  RangeSet updates = getOverlaps(after.updates);
  return before.reads.anyCommon(writes) || before.reads.anyCommon(updates) ||
         before.writes.anyCommon(reads) || before.writes.anyCommon(writes) ||
         before.writes.anyCommon(updates) || before.updates.anyCommon(reads) ||
         before.updates.anyCommon(writes);
}

//===----------------------------------------------------------------------===//
// The analysis
//===----------------------------------------------------------------------===//

namespace {
class RangeLattice : public dataflow::AbstractDenseLattice {
public:
  using AbstractDenseLattice::AbstractDenseLattice;

  ChangeResult join(const AbstractDenseLattice &rhs) override {
    return join(static_cast<const RangeLattice &>(rhs).open);
  }
  ChangeResult join(const RangeAccesses &other) {
    RangeAccesses before = open;
    open.add(other);
    return open == before ? ChangeResult::NoChange : ChangeResult::Change;
  }
  void print(raw_ostream &os) const override {
    os << open.reads.count() << " ranges read, " << open.writes.count()
       << " written";
  }

  RangeAccesses open;
};

class RangeAnalysis
    : public dataflow::DenseForwardDataFlowAnalysis<RangeLattice> {
public:
  RangeAnalysis(DataFlowSolver &solver, const UnplacedMemory &memory)
      : DenseForwardDataFlowAnalysis(solver), memory(memory) {}

  LogicalResult visitOperation(Operation *op, const RangeLattice &before,
                               RangeLattice *after) override;
  void setToEntryState(RangeLattice *lattice) override {
    propagateIfChanged(lattice, lattice->join(RangeAccesses()));
  }

private:
  const UnplacedMemory &memory;
};
} // namespace

LogicalResult RangeAnalysis::visitOperation(Operation *op,
                                            const RangeLattice &before,
                                            RangeLattice *after) {
  RangeAccesses open = before.open;
  const OwnAccesses *own = memory.find(op);
  bool synchronizes = own && own->scratch.any();
  if (synchronizes ||
      isa<BarrierOp, gpu::BarrierOp, MBarrierReadyOp, ClusterBarrierOp>(op))
    open = {};
  if (isa<SpecializeOp>(op))
    open.add(memory.getOfRoles());
  if (synchronizes)
    open.reads |= own->scratch;
  else if (own)
    open.add(own->accesses);
  propagateIfChanged(after, after->join(open));
  return success();
}

bool verifier::areThreadsOrdered(gpu::GPUFuncOp kernel,
                                 const SharedPlaces &places) {
  FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
  if (failed(target))
    return true;
  UnplacedMemory memory(kernel, places, *target);
  if (memory.isConstant())
    return true;
  DataFlowSolver solver(DataFlowConfig().setInterprocedural(false));
  solver.load<dataflow::DeadCodeAnalysis>();
  solver.load<dataflow::SparseConstantPropagation>();
  solver.load<RangeAnalysis>(memory);
  if (failed(solver.initializeAndRun(kernel)))
    return false;
  WalkResult result = kernel.walk([&](Operation *op) {
    auto *state =
        solver.lookupState<RangeLattice>(solver.getProgramPointBefore(op));
    RangeAccesses next;
    if (isa<SpecializeOp>(op))
      next = memory.getOfRoles();
    if (const OwnAccesses *own = memory.find(op)) {
      next.add(own->accesses);
      next.writes |= own->scratch;
    }
    bool isOrdered = !state || !memory.haveConflict(state->open, next);
    return isOrdered ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}
