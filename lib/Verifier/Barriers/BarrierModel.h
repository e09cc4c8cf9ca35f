//===- BarrierModel.h - Static model of kernels with barriers ---*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_BARRIERS_BARRIERMODEL_H
#define TILEWS_LIB_VERIFIER_BARRIERS_BARRIERMODEL_H

#include "Verifier/Barriers/ClockRows.h"
#include "Verifier/Barriers/SharedOverlaps.h"
#include "Verifier/Barriers/SharedPlaces.h"
#include "Verifier/Engine/Rules.h"
#include "Verifier/Symbolic/FillParts.h"

#include "tilews/Dialect/Tile/IR/Cluster.h"

namespace tilews::verifier {

/// A slot of a `tile.mbarrier`: one barrier in memory. `barrier` is the index
/// in `BarrierModel::barriers`.
struct BarrierSlot {
  unsigned barrier;
  int64_t number;
};

/// An access to the places of a shared buffer.
struct PlaceAccess {
  unsigned buffer;
  /// The number of the version; null for all of the buffer, or for a part.
  mlir::Value slot;
  bool reads, writes;
  std::optional<unsigned> part = {};
  /// The places of other memory that shares bytes with it.
  PlaceSet sharing = 0;
  /// It updates the places atomically.
  bool isAtomic = false;
  /// Through the asynchronous proxy.
  bool isAsyncProxy = false;
  /// Threads read the metadata of a sparse matmul when it starts.
  bool isMetadata = false;
  /// Writes: the number in `BarrierModel::fills`.
  unsigned write = 0;
};

/// An operation of a kernel with barriers that changes the state.
///
/// Example: `tile.copy %A[%k] to %a signals(%full[%s]) {tile.inst = tma}`,
/// where %a is slot %s of a buffer, has the executor `Tma` and one access,
/// which writes the version %s. Its bytes are counted by slot %s of barrier
/// %full.
struct BarrierEvent {
  /// What performs an access. TMA and wgmma access memory through the
  /// asynchronous proxy.
  enum class Executor { Threads, CpAsync, Tma, Wgmma };

  /// The index in `BarrierModel::eventOps`.
  unsigned number;
  Executor executor = Executor::Threads;
  llvm::SmallVector<PlaceAccess, 2> accesses = {};
  /// Memory without places that it accesses, and shares bytes with places.
  SharedOverlaps::Neighbour neighbour = {};
  /// TMA loads: how many bytes land, and the barrier and slot that counts them.
  int64_t bytes = 0;
  unsigned barrier = 0;
  mlir::Value barrierSlot = {};
  /// The threads of the task synchronize in it.
  bool synchronizes = false;
  /// The place of its scratch memory, if that has one. The threads read it
  /// after they have synchronized.
  PlaceSet scratch = 0;
  /// It belongs to every unit.
  bool isCommon = false;
  /// Multicast: the cluster ranks that the first block copies to.
  uint32_t peers = 0;
  /// tile.gemm_wait: the numbers of the asynchronous matmuls whose results it
  /// may name.
  llvm::SmallVector<unsigned, 2> matmuls = {};

  bool isAsyncProxy() const {
    return executor == Executor::Tma || executor == Executor::Wgmma;
  }
};

/// The static model of a kernel with barriers in memory: its tasks, places,
/// barriers and events. It is made once from the kernel and does not change.
///
/// Example: a producer that fills two versions of a buffer by TMA,
///
///     %a = tile.alloc_shared : memref<2x64xf16>
///     %full = tile.mbarrier {count = 1} : !tile.mbarrier<2>
///     %empty = tile.mbarrier {count = 1} : !tile.mbarrier<2>
///     tile.role @load { ... }
///     tile.role @math { ... }
///
/// has the tasks 0 (the kernel), 1 (@load) and 2 (@math), and the places 0 and
/// 1 (the versions of %a). It has the barriers 0 (%full, @math waits) and 1
/// (%empty, @load waits) with four slots in all. It has one unit if the same
/// slot numbers are used for all three.
struct BarrierModel {
  struct Barrier {
    MBarrierOp op;
    int64_t depth;
    /// How many arrivals complete a phase.
    int64_t count;
    /// The index of its first slot among the slots of all barriers.
    unsigned firstSlot;
    /// The tasks that wait for it, one bit each.
    uint64_t waiters = 0;
    /// By slot: the places that are accessed by the same slot number. An
    /// arrival at the slot is about these.
    llvm::SmallVector<PlaceSet> subjects = {};
    unsigned unit = 0;
    /// The cluster ranks of the blocks that arrive at, or copy to, the first
    /// block's.
    uint32_t peers = 0;
    /// Several tasks wait for it: the first of the places that stand for the
    /// phases of its slots.
    std::optional<unsigned> phasePlaces = {};

    bool isAwaitedBy(unsigned task) const { return waiters >> task & 1; }
  };

  explicit BarrierModel(mlir::gpu::GPUFuncOp kernel) : kernel(kernel) {}
  /// Reads the kernel. If the result has an obstacle it is not complete.
  static BarrierModel build(mlir::gpu::GPUFuncOp kernel);

  unsigned getNumTasks() const { return taskNames.size(); }
  bool hasRoles() const { return getNumTasks() > 1; }
  /// Whether warps of a task run apart.
  bool hasWarps(unsigned task) const { return severalWarps >> task & 1; }
  /// Whether blocks of a cluster arrive at, or copy to, each other.
  bool hasPeers() const { return reaching != nullptr; }
  /// The rows that clocks need.
  ClockRows::Kinds getRowKinds() const {
    return {fencedPlaces != 0, fencedReadPlaces != 0, hasAtomics,
            hasExpectations, hasPeers()};
  }

  unsigned getNumSlots() const { return numSlots; }
  /// The index of a slot among the slots of all barriers.
  unsigned getIndex(BarrierSlot slot) const {
    return barriers[slot.barrier].firstSlot + slot.number;
  }
  const Barrier &getBarrier(BarrierSlot slot) const {
    return barriers[slot.barrier];
  }
  /// The place that stands for the phases of a slot; none unless several tasks
  /// wait for them.
  PlaceSet getPhasePlace(BarrierSlot slot) const {
    std::optional<unsigned> first = barriers[slot.barrier].phasePlaces;
    return first ? PlaceSet(1) << (*first + slot.number) : 0;
  }
  void forEachSlot(llvm::function_ref<void(BarrierSlot)> fn) const;
  /// The barrier that tile.mbarrier_arrive, _expect or _wait is a step of.
  unsigned getBarrierOf(mlir::Operation *op) const {
    return barrierNumbers.lookup(op->getOperand(0));
  }
  /// Whether no buffer belongs to the barrier's unit: it orders tasks only.
  bool isWithoutBuffers(const Barrier &barrier) const {
    return !llvm::is_contained(bufferUnits, barrier.unit);
  }
  /// Whether `op` is a tile.mbarrier_arrive, _expect or _wait.
  static bool isStep(mlir::Operation *op) {
    return mlir::isa<MBarrierArriveOp, MBarrierExpectOp, MBarrierWaitOp>(op);
  }

  void print(llvm::raw_ostream &os) const;

  mlir::gpu::GPUFuncOp kernel;
  /// Whether there is anything to check.
  bool isBarrierForm = false;
  /// Why the kernel cannot be checked, if it cannot.
  std::optional<Finding> obstacle;
  llvm::SmallVector<std::string> taskNames = {"the kernel"};
  /// The tasks of more than one warp, one bit each.
  uint64_t severalWarps = 0;
  SharedPlaces places;
  SharedOverlaps overlaps;
  /// By buffer: its writes, and which of them may overlap.
  std::vector<FillParts> fills;
  llvm::SmallVector<Barrier> barriers;
  llvm::DenseMap<mlir::Value, unsigned> barrierNumbers;
  unsigned numSlots = 0;
  /// All places that stand for phases.
  PlaceSet phasePlaces = 0;
  llvm::DenseMap<mlir::Operation *, BarrierEvent> events;
  llvm::SmallVector<mlir::Operation *> eventOps;
  /// Barriers and buffers that use the same slot numbers are a unit.
  unsigned numUnits = 0;
  llvm::SmallVector<unsigned> bufferUnits;

  Cluster cluster;
  /// The first operation that arrives at, or copies to, other blocks of the
  /// cluster; null if none does.
  mlir::Operation *reaching = nullptr;
  /// The places that threads or cp.async write, and TMA or wgmma access.
  PlaceSet fencedPlaces = 0;
  /// The places that threads read, and TMA loads write.
  PlaceSet fencedReadPlaces = 0;
  /// The places that nothing writes, except for atomic updates.
  PlaceSet neverWritten = 0;
  /// Whether there are atomic updates of places, and tile.mbarrier_expect.
  bool hasAtomics = false, hasExpectations = false;
  /// By place: the cluster ranks of the blocks that copy to the first block's.
  llvm::SmallVector<uint32_t> placePeers;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_BARRIERS_BARRIERMODEL_H
