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

/// A broken rule, or an obstacle to a proof, and the operation that it is
/// about.
struct Finding {
  mlir::Operation *op = nullptr;
  std::string text;
  /// An operation that a note points to, if there is one.
  mlir::Operation *other = nullptr;
  std::string otherText = {};
  /// The schedule is wrong for all arguments.
  bool isCertain = false;
  /// There is no fault if two regions that `op` and an earlier write access are
  /// apart, which the offsets alone do not show.
  bool mayBeApart = false;
  /// The rule is stricter than necessary here: breaking it is an obstacle to a
  /// proof, and no evidence of a fault.
  bool isSuspicion = false;
};

/// The number of the task that runs `op`: 0 outside of roles, then the roles in
/// order.
unsigned getTask(mlir::Operation *op);

/// Whether `read`, of global memory, may come after `acquire`, and so see what
/// other blocks had written until then.
///
/// Example: the last block to add to a ticket adds up what the others have
/// stored. The copies of the role `load` have ended before, because the role
/// `math` waits for all of them:
///
///     tile.role @load { scf.for ... { tile.copy %A[%k] to %slot } }
///     tile.role @math {
///       scf.for ... { tile.wait %ch[%q] ... }
///       %old = tile.atomic_rmw <add> %one to %Tickets[%t]
///           {order = #tile.order<acq_rel>}
///     }
bool mayFollowAcquire(mlir::Operation *read, mlir::Operation *acquire);

/// Describes an access in an event: "reads slot 0".
std::string describeAccess(bool writes, const llvm::Twine &memory);
/// Returns the accesses one after the other, equal ones once: a matmul may read
/// two buffers in the slot of one channel. "reads slot 0, writes slot 1"
std::string joinAccesses(llvm::ArrayRef<std::string> accesses);
/// The obstacle that `op` accesses `buffer`, a result or an argument of control
/// flow, as in a loop that swaps two buffers in each iteration.
Finding getSelectedBuffer(mlir::Operation *op, mlir::Value buffer);

/// Whether the threads that execute `op` synchronize in it, between their
/// writes to its scratch memory and their reads.
bool synchronizesInScratch(mlir::Operation *op);

/// The branches (scf.if) around operations.
///
/// Example: in `scf.if %a { x; scf.if %b { y } }`, after `add(x)`, the branches
/// contain all of those around x, and not all of those around y.
class Branches {
public:
  void add(mlir::Operation *op);
  /// Whether each branch around `op` is also around an operation that was
  /// added.
  bool haveAllOf(mlir::Operation *op) const;

private:
  llvm::DenseSet<mlir::Operation *> branches;
};

/// What has happened on one path through a kernel. Only the rules give the
/// words a meaning. Two paths with equal states have the same future.
using State = std::vector<int64_t>;

enum class Outcome {
  Done,
  /// The task must wait for other tasks. The text of the finding says what for:
  /// "slot 0 in phase 0 to be filled".
  Blocked,
  /// The step breaks a rule.
  Wrong
};

/// Sets `finding` to a fault of `op`, or to what `op` waits for, and returns
/// `outcome`.
inline Outcome fail(Finding &finding, mlir::Operation *op,
                    const llvm::Twine &text, Outcome outcome = Outcome::Wrong) {
  finding = {op, text.str()};
  return outcome;
}

/// The rules for one form of schedules: with channels, or with barriers in
/// memory. They define which operations are events, and how an event changes
/// the state. A unit is a group of links and buffers with rules of their own:
/// no event of one unit breaks a rule of another, or blocks because of it. Each
/// unit can be checked alone.
///
/// Example: a kernel with two channels has two links and two units. In unit 0,
/// `tile.acquire` of channel 0 is an event with one input, the cursor, and a
/// step of link 0.
class Rules {
public:
  virtual ~Rules() = default;

  /// Whether the kernel has nothing to check.
  virtual bool isEmpty() const = 0;

  virtual unsigned getNumUnits() const = 0;
  /// Selects the events of a unit and those that belong to every unit. With
  /// `isLean`, selects the latter only under branches that have events of the
  /// unit, and lets synchronization order fewer accesses. A lean selection only
  /// omits happens-before knowledge, so a proof for it holds.
  virtual void select(unsigned unit, bool isLean) = 0;
  virtual void selectAll() = 0;
  /// The limit that the selected events exceed, if they exceed one.
  virtual std::optional<Finding> getLimit() const { return std::nullopt; }
  /// The largest number of versions of a buffer, or slots of a link, among
  /// those selected. That many iterations may be under way at once.
  virtual int64_t getDepth() const = 0;
  /// Whether `op` is a selected event.
  virtual bool isEvent(mlir::Operation *op) const = 0;
  /// Whether `op` is an event of any unit.
  virtual bool isEventOfAny(mlir::Operation *op) const = 0;
  /// The number of links between tasks: channels, or barriers.
  virtual unsigned getNumLinks() const = 0;
  /// The integers that an event depends on: cursors, slot numbers, parities.
  virtual llvm::SmallVector<mlir::Value>
  getInputs(mlir::Operation *op) const = 0;
  /// For each input of an event, the link that it is a place of.
  virtual llvm::SmallVector<unsigned>
  getInputLinks(mlir::Operation *op) const = 0;
  /// The links that an event is a step of.
  virtual llvm::SmallVector<unsigned> getLinks(mlir::Operation *op) const = 0;

  virtual State getInitial() const = 0;
  /// Lets `task` perform `op`. Unless the outcome is `Done`, the state is
  /// unchanged and `finding` holds the reason.
  Outcome step(State &state, unsigned task, mlir::Operation *op,
               llvm::ArrayRef<int64_t> inputs, Finding &finding) const;
  /// Whether writes in `loop` have bytes of their own in each iteration. If so,
  /// the rules have to know when a task begins it.
  virtual bool hasFreshWrites(mlir::Operation *loop) const { return false; }
  /// A task begins the first iteration of `loop`.
  virtual void enterLoop(State &state, mlir::Operation *loop) const {}
  /// Checks the state after all tasks have ended. Returns false, with a
  /// finding, if a transaction or phase is left incomplete.
  virtual bool finish(const State &state, Finding &finding) const = 0;
  /// Clears words that no later step depends on. With `inRoles` the body of the
  /// kernel waits for its roles.
  virtual void reduce(State &state, bool inRoles) const {}
  /// Clears happens-before knowledge in links that all receivers already have.
  virtual void dropKnown(State &state) const {}
  /// The words of a state that hold happens-before knowledge, as sets of bits.
  /// A proof that starts at a state also holds for each state with additional
  /// bits set in these words.
  virtual llvm::ArrayRef<unsigned> getKnowledge() const { return {}; }
  /// The next place of `link`. The rules are symmetric in the places of a
  /// channel: they hold for a state if they hold for the state with all places
  /// rotated. 0 for links without this symmetry.
  virtual int64_t getBase(const State &state, unsigned link) const { return 0; }
  /// Renumbers the places of `link` from `base` on, in a state.
  virtual void rotate(State &state, unsigned link, int64_t base) const {}
  /// Renumbers an input of events likewise.
  virtual int64_t rotateInput(int64_t input, unsigned link,
                              int64_t base) const {
    return input;
  }
  /// The number of slots of all selected buffers, if the rules are symmetric in
  /// them; 0 otherwise. All inputs of events are then slots.
  virtual int64_t getSlotPeriod() const { return 0; }
  /// Renumbers these slots from `base` on, in a state.
  virtual void rotateSlots(State &state, int64_t base) const {}
  /// Prints a state for debugging.
  virtual void print(llvm::raw_ostream &os, const State &state) const = 0;
  /// An event as a line of a trace, without the name of the task.
  virtual std::string describe(mlir::Operation *op,
                               llvm::ArrayRef<int64_t> inputs) const = 0;

private:
  /// The step itself.
  virtual Outcome perform(State &state, unsigned task, mlir::Operation *op,
                          llvm::ArrayRef<int64_t> inputs,
                          Finding &finding) const = 0;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_RULES_H
