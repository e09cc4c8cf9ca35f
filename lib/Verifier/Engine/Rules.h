//===- Rules.h - Rules that events of tasks have to keep --------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_RULES_H
#define TILEWS_LIB_VERIFIER_ENGINE_RULES_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallSet.h"

#include <memory>
#include <string>
#include <vector>

namespace tilews::verifier {

using namespace tile;

/// Something wrong, or something in the way, and where.
struct Finding {
  mlir::Operation *op = nullptr;
  std::string text;
  /// Another operation that has to do with it.
  mlir::Operation *other = nullptr;
  std::string otherText = {};
  /// It is wrong whatever arguments are.
  bool isCertain = false;
};

/// The number of the task that runs `op`: 0 outside of roles, then the roles in
/// order.
unsigned getTask(mlir::Operation *op);

/// Whether the threads that execute `op` meet in it, between their writes to
/// its scratch memory and their reads.
bool meetsInScratch(mlir::Operation *op);

/// The branches (scf.if) around operations.
class Branches {
public:
  void add(mlir::Operation *op);
  /// Whether all branches around `op` are around one that was added.
  bool haveAllOf(mlir::Operation *op) const;

private:
  llvm::DenseSet<mlir::Operation *> branches;
};

/// What has happened on one way through a kernel. The words are of the
/// rules; equal words have the same future.
using State = std::vector<int64_t>;

enum class Outcome {
  Done,
  /// The task has to wait for others.
  Blocked,
  /// A rule is broken.
  Wrong
};

/// Says what is wrong with `op`, or what it waits for.
inline Outcome fail(Finding &finding, mlir::Operation *op,
                    const llvm::Twine &text, Outcome outcome = Outcome::Wrong) {
  finding = {op, text.str()};
  return outcome;
}

/// The asynchronous products of a task that may be under way, the oldest first,
/// in words of a state: how many, then of each a set of what it reads and the
/// number of its event.
class AsyncProducts {
public:
  static constexpr unsigned kMax = 8, kWords = 1 + 2 * kMax;

  explicit AsyncProducts(int64_t *words) : words(words) {}
  void start(int64_t reads, unsigned event);
  /// Ends all but the last `pending`.
  void end(int64_t pending);
  /// Does what `op` does. Wrong, and nothing ends, if one of `awaited`, whose
  /// results it names, may go on; `eventOps` are all events.
  Outcome wait(GemmWaitOp op, llvm::ArrayRef<unsigned> awaited,
               llvm::ArrayRef<mlir::Operation *> eventOps, Finding &finding);
  static int64_t getReads(const int64_t *words);

private:
  int64_t *words;
};

/// By `tile.gemm_wait`: the asynchronous products whose results it may name.
llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *, 2>>
findAwaitedProducts(mlir::gpu::GPUFuncOp kernel);

/// The rules of one form of schedules: which operations are events, and what
/// they do to the state.
class Rules {
public:
  virtual ~Rules() = default;

  /// Whether the kernel has anything to check.
  virtual bool isEmpty() const = 0;

  /// Units are links and buffers with rules of their own: no event of one unit
  /// breaks a rule of another or makes it wait. Each can be checked alone.
  virtual unsigned getNumUnits() const = 0;
  /// Restricts events to those of a unit and those that are everybody's, of
  /// these with `isLean` only where the unit has events, too, and lets them
  /// tell less. What is left out lets tasks know less.
  virtual void select(unsigned unit, bool isLean) = 0;
  virtual void selectAll() = 0;
  /// Why what is selected is too much to be checked, if it is.
  virtual std::optional<Finding> getLimit() const { return std::nullopt; }
  /// The most versions of a buffer, or slots of a link, that are selected: as
  /// many turns may be under way.
  virtual int64_t getDepth() const = 0;
  /// Whether `op` is an event that is selected, and one at all.
  virtual bool isEvent(mlir::Operation *op) const = 0;
  virtual bool isEventOfAny(mlir::Operation *op) const = 0;
  /// Links between tasks: channels, or barriers.
  virtual unsigned getNumLinks() const = 0;
  /// The integers whose values an event depends on: cursors, slots, parities.
  virtual llvm::SmallVector<mlir::Value>
  getInputs(mlir::Operation *op) const = 0;
  /// The link that each input is a place of.
  virtual llvm::SmallVector<unsigned>
  getInputLinks(mlir::Operation *op) const = 0;
  /// The links between tasks, by number, that an event is a step of.
  virtual llvm::SmallVector<unsigned> getLinks(mlir::Operation *op) const = 0;

  virtual State getInitial() const = 0;
  /// Lets `task` do `op`. If the outcome is not `Done` the state is as it was,
  /// and `finding` says why.
  virtual Outcome step(State &state, unsigned task, mlir::Operation *op,
                       llvm::ArrayRef<int64_t> inputs,
                       Finding &finding) const = 0;
  /// Whether all is settled after all tasks have ended.
  virtual bool finish(const State &state, Finding &finding) const = 0;
  /// Forgets in a state what makes no difference any more; `inRoles`: the body
  /// of the kernel waits for its roles.
  virtual void reduce(State &state, bool inRoles) const {}
  /// The same for what is told to those who know it already.
  virtual void dropKnown(State &state) const {}
  /// The words of a state that are sets of what tasks know. A proof from a
  /// state on in which they tell less holds for the others, too.
  virtual llvm::ArrayRef<unsigned> getKnowledge() const { return {}; }
  /// Channels take turns through their slots: a state in which all of `link`'s
  /// places are moved on by one is as good as the other. The place from which
  /// on they may be counted; 0 where that does not hold.
  virtual int64_t getBase(const State &state, unsigned link) const { return 0; }
  /// Counts the places of `link` from `base` on.
  virtual void rotate(State &state, unsigned link, int64_t base) const {}
  /// The same for an input of events.
  virtual int64_t rotateInput(int64_t input, unsigned link,
                              int64_t base) const {
    return input;
  }
  /// Prints a state for debugging.
  virtual void print(const State &state, llvm::raw_ostream &os) const;
  /// An event as a line of a trace, without the task's name.
  virtual std::string describe(mlir::Operation *op,
                               llvm::ArrayRef<int64_t> inputs) const = 0;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_RULES_H
