//===- BarrierRules.h - Rules of barriers in memory -------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What channels have become: barriers with phases, arrivals and bytes. No
// transaction is left to check accesses against; instead each task knows of
// some accesses of others that they come before its own, and passes on what it
// knows by arriving at a barrier. An access has to know of all that conflict.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_BARRIERS_BARRIERRULES_H
#define TILEWS_LIB_VERIFIER_BARRIERS_BARRIERRULES_H

#include "Verifier/Engine/Rules.h"

#include "tilews/Dialect/Tile/Analysis/Memory/SharedBuffers.h"
#include "tilews/Dialect/Tile/IR/Cluster.h"

namespace tilews::verifier {

class BarrierRules : public Rules {
public:
  explicit BarrierRules(mlir::gpu::GPUFuncOp kernel);

  const std::optional<Finding> &getObstacle() const { return obstacle; }

  bool isEmpty() const override { return !isBarrierForm; }
  unsigned getNumUnits() const override { return numUnits; }
  void select(unsigned unit, bool isLean) override;
  void selectAll() override;
  std::optional<Finding> getLimit() const override { return limit; }
  int64_t getDepth() const override { return depth; }
  bool isEvent(mlir::Operation *op) const override {
    return events.contains(op);
  }
  bool isEventOfAny(mlir::Operation *op) const override {
    return allEvents.contains(op);
  }
  unsigned getNumLinks() const override { return barriers.size(); }
  llvm::SmallVector<mlir::Value> getInputs(mlir::Operation *op) const override;
  llvm::SmallVector<unsigned> getInputLinks(mlir::Operation *op) const override;
  llvm::SmallVector<unsigned> getLinks(mlir::Operation *op) const override;
  State getInitial() const override;
  Outcome step(State &state, unsigned task, mlir::Operation *op,
               llvm::ArrayRef<int64_t> inputs, Finding &finding) const override;
  bool finish(const State &state, Finding &finding) const override;
  void reduce(State &state, bool inRoles) const override;
  void dropKnown(State &state) const override;
  llvm::ArrayRef<unsigned> getKnowledge() const override { return knowledge; }
  std::string describe(mlir::Operation *op,
                       llvm::ArrayRef<int64_t> inputs) const override;

private:
  /// A set of places in shared memory: versions of buffers, or their parts.
  using Places = uint64_t;

  /// Offsets and sizes of a region.
  using Box = llvm::SmallVector<std::pair<int64_t, int64_t>, 4>;
  struct Buffer {
    AllocSharedOp alloc;
    unsigned first;
    int64_t versions;
    /// Regions that do not overlap; behind them comes what is in none.
    llvm::SmallVector<Box> parts = {};
    unsigned unit = 0;

    unsigned getNumPlaces() const {
      return parts.empty() ? versions : parts.size() + 1;
    }
  };
  struct Access {
    unsigned buffer;
    /// The version's number; null for all of the buffer, or for a part.
    mlir::Value slot;
    bool reads, writes;
    std::optional<unsigned> part = {};
  };
  enum class Unit { Threads, CpAsync, Tma, Wgmma };
  struct Event {
    unsigned number;
    Unit unit = Unit::Threads;
    llvm::SmallVector<Access, 2> accesses = {};
    /// TMA loads: bytes that land, and the barrier they are reported to.
    int64_t bytes = 0;
    unsigned barrier = 0;
    mlir::Value barrierSlot = {};
    /// Threads meet in it.
    bool meets = false;
    /// Every unit depends on it.
    bool isCommon = false;
    /// Multicast: the ranks of the first block's peers.
    uint32_t peers = 0;
    /// AsyncProducts whose results are waited for.
    llvm::SmallVector<unsigned, 2> products = {};
  };
  struct Barrier {
    MBarrierOp op;
    int64_t depth;
    unsigned first;
    /// The tasks that wait for it.
    uint64_t waiters = 0;
    /// By slot: the versions that are accessed by the same slot number.
    llvm::SmallVector<Places> subjects = {};
    unsigned unit = 0;
    /// The number of its first slot among those of all barriers that are
    /// selected.
    unsigned firstSlot = 0;
    /// The ranks of the blocks that reach into the first block's.
    uint32_t peers = 0;
    /// If several tasks wait for it, which may take turns: the first of the
    /// places that stand for what is known of the phases of its slots.
    std::optional<unsigned> places = {};
  };

  /// The words of a task, then what it knows.
  enum TaskWord : unsigned {
    /// Read, and written, by some thread since all of the task met.
    UnmetReads,
    UnmetWrites,
    /// Written by copies of which no arrival tells.
    Copies,
    /// Written by threads, and by cp.async, and not fenced.
    UnfencedStores,
    UnfencedCopies,
    /// Read by copies to global memory that may be under way.
    StoreReads,
    /// Written since the task last told others of it.
    Untold,
    /// Where the task was the last to write.
    Owned,
    NumTaskWords
  };
  /// The words of a barrier: whether it is initialized, who began by waiting
  /// for the phase before the first; then those of its slots.
  enum BarrierWord : unsigned { Stage, Starters, NumBarrierWords };
  enum BarrierStage : int64_t { Unmade, Made, Ready, ReadyInCluster };
  /// The words of a slot; then what its arrivals have told in this phase, what
  /// those of the last phase did, and for each task that waits how many phases
  /// have been completed that it has not waited for.
  enum SlotWord : unsigned {
    /// The parity of the present phase, and whether there was one before.
    Parity,
    Begun,
    Arrived,
    Expected,
    InFlight,
    Landing,
    /// Multicast: which blocks' copies are under way, and the phases that those
    /// who started them knew to be complete.
    Senders,
    SenderPhases,
    NumSlotWords
  };
  /// What is known: of writes by threads, of writes by copies, of the reads of
  /// each task; then, of each slot of a barrier, that its last phase is
  /// complete, and that the one task that waits for it has waited for that; in
  /// clusters then the same of the peers. Of a barrier's slot that several
  /// tasks wait for also: that its last phase is complete, that the one before
  /// is, the last wait of each task.
  enum KnownWord : unsigned { OfThreads, OfCopies, OfReads };
  static constexpr unsigned kMaxPlaces = 62;
  static constexpr int64_t kLanded = -1, kOpenGroup = 1000;

  static std::optional<Box> getBox(const SharedAccess &access);
  static bool areDisjoint(llvm::ArrayRef<Box> boxes);
  void addBuffers();
  void addEvents();
  void addAccesses(mlir::Operation *op);
  bool addSignals(CopyOp copy, Event &event);
  void findUnits();
  void findUses();
  void findSubjects();
  bool orders(const Barrier &barrier) const;
  void numberSlots(llvm::function_ref<bool(const Barrier &)> isSelected);
  bool hasRoles() const { return tasks > 1; }

  /// Of the block itself, and of its peers.
  unsigned getOwnWords() const { return OfReads + tasks + 2; }
  unsigned getKnownWords() const { return getOwnWords() * (1 + hasPeers()); }
  unsigned getPhases() const { return OfReads + tasks; }
  unsigned getWaits() const { return OfReads + tasks + 1; }
  unsigned getTaskWord(unsigned task, unsigned word) const;
  unsigned getKnown(unsigned task) const;
  unsigned getProducts(unsigned task) const;
  unsigned getSlot(unsigned barrier, int64_t slot) const;
  unsigned getTold(unsigned slot) const { return slot + NumSlotWords; }
  unsigned getPublished(unsigned slot) const;
  unsigned getLag(unsigned slot, unsigned task) const;
  unsigned getAge(unsigned place) const;
  void forEachKnown(llvm::function_ref<void(unsigned)> fn) const;
  void forget(State &, unsigned word, Places places, unsigned self) const;

  // BarrierCluster.cpp
  void addPeers();
  void checkDivergence();
  bool hasPeers() const { return reaching != nullptr; }
  bool covers(uint32_t peers, uint32_t others) const {
    return (others & ~peers) == 0;
  }
  Places getCovered(uint32_t peers) const;
  Places getCoveredPhases(uint32_t peers) const;
  Places getPhase(unsigned barrier, int64_t slot) const {
    return Places(1) << (barriers[barrier].firstSlot + slot);
  }
  bool checkReach(State &, unsigned task, mlir::Operation *op, uint32_t peers,
                  unsigned barrier, int64_t slot, Finding &) const;
  bool checkPeers(const State &, unsigned task, const Event &, Places places,
                  Places others, Finding &) const;
  void send(State &, unsigned task, unsigned slot, uint32_t peers) const;
  void receive(State &, unsigned slot) const;
  void meetPeers(State &) const;

  Places getVersions(unsigned buffer) const {
    return ((Places(1) << buffers[buffer].getNumPlaces()) - 1)
           << buffers[buffer].first;
  }
  void findKnowledge();
  Places getPlaces(const Access &access, llvm::ArrayRef<int64_t> inputs,
                   unsigned &next) const;
  std::string getName(Places places) const;

  Outcome access(State &, unsigned task, mlir::Operation *op, const Event &,
                 llvm::ArrayRef<int64_t> inputs, Finding &) const;
  Places getUnwritten(const State &, Places) const;
  Outcome read(State &, unsigned task, const Event &, Places, Finding &) const;
  Outcome write(State &, unsigned task, const Event &, Places, Finding &) const;
  Outcome startCopy(State &, unsigned task, const Event &, Places, int64_t slot,
                    Finding &) const;
  Outcome arrive(State &, unsigned task, MBarrierArriveOp, int64_t slot,
                 Finding &) const;
  Outcome wait(State &, unsigned task, MBarrierWaitOp, int64_t slot,
               int64_t parity, Finding &) const;
  Places getPhasePlace(unsigned barrier, int64_t slot) const;
  int64_t countUnseen(const State &, unsigned task, unsigned barrier,
                      int64_t slot) const;
  void see(State &, unsigned task, unsigned barrier, int64_t slot) const;
  void noteWait(State &, unsigned task, unsigned barrier, int64_t slot) const;
  bool checkPhase(const State &, unsigned task, mlir::Operation *op,
                  unsigned barrier, int64_t slot, Finding &) const;
  bool canComplete(const State &, unsigned barrier, int64_t slot,
                   mlir::Operation *op, Finding &) const;
  bool checkUse(const State &, mlir::Operation *op, unsigned barrier,
                int64_t slot, Finding &) const;
  void land(State &, unsigned slot) const;
  bool complete(State &, unsigned barrier, int64_t slot, mlir::Operation *op,
                Finding &) const;
  void tell(State &, unsigned task, unsigned barrier, int64_t number,
            bool ofOneThread, uint32_t peers) const;
  void meet(State &, unsigned task) const;
  void fence(State &, unsigned task) const;
  void closeGroup(State &) const;
  int64_t findDepth(std::optional<unsigned> unit = std::nullopt) const;
  void landGroups(State &, int64_t pending, bool openToo) const;
  Places getRunningReads(const State &, unsigned task) const;
  Places getUnfenced(const State &, unsigned task) const;

  mlir::gpu::GPUFuncOp kernel;
  bool isBarrierForm = false;
  /// Whether an arrival tells all that a task knows, not only of its subject.
  bool tellsAll = true;
  std::optional<Finding> obstacle, limit;
  llvm::SmallVector<Buffer> buffers;
  llvm::DenseMap<mlir::Value, unsigned> bufferNumbers, barrierNumbers;
  llvm::SmallVector<Barrier> barriers;
  llvm::DenseMap<mlir::Operation *, Event> allEvents, events;
  llvm::SmallVector<mlir::Operation *> eventOps;
  llvm::SmallVector<std::string> taskNames;
  /// By task: where it matters whether its threads have met since some of them
  /// read, or wrote; what no other task writes.
  llvm::SmallVector<Places> orderedReads, orderedWrites, ownWrites;
  /// What the asynchronous proxy accesses, which fences are for.
  Places byProxy = 0;
  /// All places that stand for phases.
  Places phasePlaces = 0;
  /// Whether anything happens in the body of the kernel behind its roles.
  bool goesOnBehindRoles = false;
  unsigned tasks = 1, numPlaces = 0, numWords = 0, firstAge = 0, numUnits = 0;
  Cluster cluster;
  /// The first operation that reaches into other blocks; null if none does.
  mlir::Operation *reaching = nullptr;
  /// Of each place, the ranks of the blocks that copy to the first block's.
  llvm::SmallVector<uint32_t> placePeers;
  /// The word that says whether peers may still reach into the block, and the
  /// one of all that was ever written.
  unsigned reached = 0, written = 0;
  llvm::SmallVector<unsigned> knowledge;
  int64_t depth = 1;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_BARRIERS_BARRIERRULES_H
