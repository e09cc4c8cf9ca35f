//===- ChannelRules.h - Rules of channels -----------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Slots take turns: each is acquired, filled, committed, waited for, read and
// released. With roles, an acquire and a wait block; without, they have to find
// what they need, copies are waited for by groups, and the threads meet at
// waits and barriers.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_CHANNELS_CHANNELRULES_H
#define TILEWS_LIB_VERIFIER_CHANNELS_CHANNELRULES_H

#include "Verifier/Engine/Rules.h"

namespace tilews::verifier {

class ChannelRules : public Rules {
public:
  explicit ChannelRules(mlir::gpu::GPUFuncOp kernel);

  /// What it does not know how to follow, if there is anything.
  const std::optional<Finding> &getObstacle() const { return obstacle; }
  /// What is wrong whatever happens.
  llvm::ArrayRef<Finding> getErrors() const { return errors; }
  unsigned getNumLinks() const override { return channels.size(); }
  bool isEmpty() const override { return channels.empty(); }
  unsigned getNumUnits() const override { return channels.size(); }
  void select(unsigned unit, bool isLean) override;
  void selectAll() override;
  int64_t getDepth() const override { return depth; }
  bool isEvent(mlir::Operation *op) const override {
    return events.contains(op);
  }
  bool isEventOfAny(mlir::Operation *op) const override {
    return allEvents.contains(op);
  }
  llvm::SmallVector<mlir::Value> getInputs(mlir::Operation *op) const override;
  llvm::SmallVector<unsigned> getInputLinks(mlir::Operation *op) const override;
  llvm::SmallVector<unsigned> getLinks(mlir::Operation *op) const override;
  State getInitial() const override;
  Outcome step(State &state, unsigned task, mlir::Operation *op,
               llvm::ArrayRef<int64_t> inputs, Finding &finding) const override;
  bool finish(const State &state, Finding &finding) const override;
  int64_t getBase(const State &state, unsigned link) const override {
    return state[channels[link].first];
  }
  void rotate(State &state, unsigned link, int64_t base) const override;
  int64_t rotateInput(int64_t input, unsigned link,
                      int64_t base) const override;
  std::string describe(mlir::Operation *op,
                       llvm::ArrayRef<int64_t> inputs) const override;

private:
  /// An access to the slot of a channel's buffer.
  struct Access {
    unsigned channel, buffer;
    mlir::Value cursor;
    bool reads, writes;
    /// Lands some time later: cp.async, TMA.
    bool isCopy;
    /// By a unit that reads shared memory on its own (wgmma, TMA).
    bool byProxy;
  };
  struct Event {
    unsigned number;
    /// Of transactions.
    unsigned channel = 0;
    llvm::SmallVector<Access, 2> accesses = {};
    /// Waits for products: those that its fragments may belong to.
    llvm::SmallVector<unsigned> products = {};
    /// Every channel depends on it.
    bool isCommon = false;
    /// A wait for another channel: copies land, and threads meet.
    bool isForeign = false;
  };
  struct Channel {
    ChannelOp op;
    int64_t depth;
    /// Where its words begin; the slots' follow.
    unsigned first;
    int64_t consumers = 0;
    /// Of each fill one consumer.
    bool alternating = false;
    mlir::Operation *commit = nullptr, *wait = nullptr, *release = nullptr;
  };
  /// The words of a slot.
  enum SlotWord : unsigned {
    /// The task that fills it, plus 1.
    Filler,
    /// The cursor of the acquire; kNone when released.
    Cursor,
    /// Consumers that have yet to release what was committed.
    Full,
    /// Consumers that have waited and not released.
    Open,
    /// The read outside of a transaction, an event's number plus 1.
    Loose,
    /// Buffers written since the acquire.
    Filled,
    /// Groups of copies closed since the one that fills it; or one of below.
    Age,
    /// Ordinary writes that the asynchronous proxy may not see.
    Unfenced,
    /// Read since the threads met.
    Dirty,
    /// What the commit, and the releases, tell of the order of waits.
    Committed,
    Released,
    NumSlotWords
  };
  static constexpr int64_t kLanded = -1, kOpenGroup = 1000, kNone = -1;
  /// Of a task: how many products run, then what each reads and its event.
  /// These, and the alternating channels of which the task knows that all waits
  /// so far come before what it does next.
  static constexpr unsigned kTaskWords = AsyncProducts::kWords + 1;

  void addChannels();
  void addEvents();
  void addAccesses(mlir::Operation *op);
  void followProducts();
  bool hasRoles() const { return tasks > 1; }
  std::string getTaskName(unsigned task) const;
  std::string getPlace(unsigned channel, int64_t cursor) const;

  unsigned getSlot(unsigned channel, int64_t cursor) const;
  unsigned getNextWait(unsigned channel, unsigned task) const;
  unsigned getProducts(unsigned task) const;
  unsigned getOrdered(unsigned task) const {
    return getProducts(task) + AsyncProducts::kWords;
  }
  /// The bit of a slot in the words of products.
  int64_t getSlotBit(unsigned channel, int64_t cursor) const;
  template <typename FnT>
  void forEachSlot(FnT fn) const;

  Outcome acquire(State &, unsigned task, const Event &, int64_t cursor,
                  Finding &) const;
  Outcome commit(State &, unsigned task, const Event &, int64_t cursor,
                 Finding &) const;
  Outcome wait(State &, unsigned task, const Event &, WaitOp, int64_t cursor,
               Finding &) const;
  Outcome release(State &, unsigned task, const Event &, int64_t cursor,
                  Finding &) const;
  Outcome access(State &, unsigned task, mlir::Operation *op, const Event &,
                 llvm::ArrayRef<int64_t> cursors, Finding &) const;
  Outcome accessSlot(State &, unsigned task, const Event &, const Access &,
                     int64_t cursor, Finding &) const;
  Outcome accessLoosely(State &, unsigned task, const Event &, const Access &,
                        int64_t cursor, Finding &) const;
  bool takeTurn(State &, unsigned task, unsigned channel) const;
  void startProduct(State &, unsigned task, const Event &,
                    llvm::ArrayRef<int64_t> cursors) const;
  void closeGroup(State &) const;
  void land(State &, int64_t pending, bool openToo) const;
  void landAndMeet(State &, WaitOp, const Channel &) const;
  void meet(State &, bool fence) const;

  mlir::gpu::GPUFuncOp kernel;
  std::optional<Finding> obstacle;
  llvm::SmallVector<Finding> errors;
  llvm::SmallVector<Channel> channels;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  llvm::DenseMap<mlir::Operation *, Event> allEvents, events;
  llvm::SmallVector<mlir::Operation *> eventOps;
  llvm::SmallVector<std::string> taskNames;
  unsigned tasks = 1, numWords = 0;
  int64_t depth = 1;
  /// Whether barriers have been placed.
  bool isPlanned = false;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_CHANNELS_CHANNELRULES_H
