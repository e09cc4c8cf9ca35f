//===- Prover.h - All ways through a schedule -------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs all tasks on symbolic scalars, on every way that conditions may turn
// out, until nothing new comes up. Loops with the same bounds that are linked
// are run turn by turn in all tasks. One order of events stands for all: what a
// task may do once it can, no other task takes away (docs/verifier.md).
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_PROVER_H
#define TILEWS_LIB_VERIFIER_ENGINE_PROVER_H

#include "Verifier/Engine/TaskProgram.h"
#include "Verifier/Symbolic/Expressions.h"

#include <deque>
#include <set>
#include <unordered_map>

namespace tilews::verifier {

/// Whether values of a type are sums, not conditions or anything else.
bool isSum(mlir::Type type);

class Prover {
public:
  Prover(const TaskProgram &program, const Rules &rules)
      : program(program), rules(rules) {
    for (unsigned word = 0; word < rules.getInitial().size(); ++word)
      exactWords.push_back(word);
    for (unsigned task = 0; task < program.getTasks().size(); ++task)
      order.push_back(task);
  }
  /// Lets tasks go on in an order that depends on control flow alone, in which
  /// none may have to wait.
  void setOrder(llvm::ArrayRef<unsigned> order) {
    this->order.assign(order.begin(), order.end());
    mayWait = false;
  }

  /// Follows carried numbers together that differ by small numbers, which tells
  /// what one role counts ahead of another.
  void relateCounts() { relatesCounts = true; }
  /// Whether loops carry numbers that may be related.
  bool hasCounts() const;

  /// Follows ways that differ in nothing but what tasks know as one, on which
  /// they know what they do on all of them.
  void joinKnowledge() {
    joins = true;
    llvm::DenseSet<unsigned> joined;
    joined.insert_range(rules.getKnowledge());
    llvm::erase_if(exactWords,
                   [&](unsigned word) { return joined.contains(word); });
  }
  /// Whether something was wrong that may be right on each of these ways.
  bool hasLostKnowledge() const { return hasLost && isWrong; }

  /// What keeps it from a proof: not always a fault of the schedule.
  std::optional<Finding> run();
  /// The task that had to wait in an order in which none may.
  std::optional<unsigned> getWaiting() const { return waiting; }
  /// How many states it went through.
  unsigned getNumStates() const { return numStates; }
  /// Whether it gave up because there were too many.
  bool isExhausted() const { return numStates > kMaxStates; }

private:
  /// Where a task is in the body of an operation.
  struct Frame {
    mlir::Operation *op = nullptr;
    /// The next operation; null at the end of a task.
    mlir::Operation *next = nullptr;
    /// Loops: the number of the set of loops that run together, or `kPeeled`.
    int group = -1;
  };
  /// The group of a loop of which a single turn is run.
  static constexpr int kPeeled = -2;
  /// A loop some of whose turns have been run: where it goes on.
  struct Rest {
    mlir::Operation *loop;
    unsigned turns;
    Expr lower;
    llvm::SmallVector<Expr> carried;
  };
  /// A way through the kernel, up to some point.
  struct Path {
    std::vector<llvm::SmallVector<Frame, 6>> tasks;
    std::vector<Expr> values;
    PathFacts facts;
    State state;
    /// Of counters, by group, after division by `moduli`.
    std::map<int, int64_t> remainders;
    llvm::SmallVector<Rest, 2> rests;
    /// Where the tasks stood before turns were run alone.
    Finding stuck;
    bool rolesBegun = false;
  };
  /// Loops of different tasks that run turn by turn.
  struct Group {
    llvm::SmallVector<unsigned> tasks;
    llvm::SmallVector<mlir::Operation *> loops;
    Expr counter = 0;
    /// Carried values of all loops, one after the other: which are always the
    /// same, or differ by small numbers only, by number.
    std::vector<int64_t> classes;
    /// Carried numbers, by place, that have become too large to be told apart.
    std::set<unsigned> widened;
    /// Whether it matters how many turns are made.
    bool isCounted = true;
    /// Whether each of its few turns is told apart.
    bool isShort = false;
  };
  /// Where paths come by that differ in what tasks know only.
  struct Visit {
    /// What tasks know on all of them.
    State known;
    /// The path that has yet to go on from there.
    std::optional<Path> path;
  };
  static constexpr unsigned kMaxStates = 200000;
  enum class Progress { Made, None, Ended, Failed };

  bool explore();
  Path takePath();
  /// Runs `path` until it ends or fails; other ways to go are left in `paths`.
  Progress advance(Path &path);
  Progress advanceTask(Path &path, unsigned task);
  Progress advanceAlone(Path &path, unsigned task);
  Progress perform(Path &path, unsigned task, mlir::Operation *op);
  Progress evaluate(Path &path, unsigned task, mlir::Operation *op);
  Progress meet(Path &path);
  Finding describeStuck(const Path &path) const;
  void leaveBranch(Path &path, unsigned task);

  /// Whether `condition` holds; where it is open, the other way is left in
  /// `paths`.
  bool decide(Path &path, Expr condition);
  bool noteCounters(Expr part);
  std::optional<int64_t> getRemainder(const Path &path, Expr sum,
                                      int64_t divisor);
  Expr divideEvenly(const Path &path, Expr sum);
  std::optional<int64_t> getExact(const Path &path, Expr sum) const;
  void beginRemainder(Path &path, int group, Expr first);
  void stepRemainder(Path &path, int group, Expr step);
  bool checkUniform(mlir::Operation *op, Expr condition);
  Expr getThreadVariable() const;

  Expr getLower(const Path &path, mlir::scf::ForOp loop) const;
  llvm::SmallVector<Expr> getInits(const Path &path,
                                   mlir::Operation *loop) const;
  bool isAhead(const Path &path, unsigned task) const;
  Progress peelTurns(Path &path);
  Progress peelTurn(Path &path, unsigned task);
  void endPeeledTurn(Path &path, unsigned task);
  static const Rest *findRest(const Path &path, mlir::Operation *loop);
  static bool hasPeeled(const Path &path);
  static void forgetRest(Path &path, mlir::Operation *loop);

  Progress enterLoops(Path &path);
  std::optional<Group> findGroup(const Path &path, unsigned task) const;
  bool isParked(const Path &path, unsigned task) const;
  bool haveSameBounds(const Path &path, mlir::Operation *a,
                      mlir::Operation *b) const;
  bool hasFewTurns(const Path &path, mlir::scf::ForOp loop) const;
  Progress enter(Path &path, int group);
  Progress turnLoops(Path &path, int group);
  Progress turnFor(Path &path, int group);
  Progress turnWhile(Path &path, int group);
  Progress chooseWhile(Path &path, int group);
  void beginTurn(Path &path, int group, llvm::ArrayRef<Expr> carried,
                 bool isFirst);
  void endLoops(Path &path, int group, llvm::ArrayRef<Expr> results,
                bool wasEntered);
  Expr getCount(const Path &path, mlir::Operation *loop, unsigned number) const;
  void clearInner(Path &path, int group);
  int getGroup(Group group);
  bool isCounted(const Group &group) const;
  llvm::SmallVector<mlir::Value> getCarried(const Group &group) const;
  llvm::SmallVector<Expr> getOperands(const Path &path,
                                      mlir::ValueRange operands) const;
  llvm::SmallVector<Expr> collect(const Path &path, int group) const;
  bool splitClasses(Group &group, llvm::ArrayRef<Expr> values);
  bool areOfOneClass(mlir::Value carried, Expr a, Expr b) const;
  void moveClass(Path &path, const Group &group, Expr atom, Expr value,
                 bool isFirst);
  bool isExact(const Group &group, unsigned place, mlir::Value carried,
               Expr value) const;
  bool widen(Group &group, llvm::ArrayRef<Expr> values);
  bool isLive(const Path &path, mlir::Value value) const;
  const std::vector<unsigned> &getLive(const Path &path,
                                       const std::string &place);
  bool mayBegin(const Path &path, unsigned link) const;
  std::string getKey(Path &path);
  Progress visit(Path &path);
  bool join(State &state, State &known);
  VariableSet getCounters(const Path &path) const;
  Progress fail(mlir::Operation *op, const llvm::Twine &text);

  Expr get(const Path &path, mlir::Value value) const;
  void set(Path &path, mlir::Value value, Expr expr) const;

  const TaskProgram &program;
  const Rules &rules;
  llvm::SmallVector<unsigned> order;
  bool mayWait = true, relatesCounts = false, joins = false;
  std::optional<unsigned> waiting;
  mutable ExpressionTable table;
  std::vector<Group> groups;
  std::map<std::vector<mlir::Operation *>, int> groupNumbers;
  std::vector<Path> paths;
  /// The words of states that are not joined.
  llvm::SmallVector<unsigned> exactWords;
  /// By key; if what is known is joined, the number of a visit.
  std::unordered_map<std::string, unsigned> seen;
  std::vector<Visit> visits;
  /// The visits with paths, in order.
  std::deque<unsigned> open;
  std::unordered_map<std::string, std::vector<unsigned>> liveByPlace;
  /// By group.
  std::map<int, OpenConditions> questions;
  /// The groups whose counters are divided in conditions.
  std::set<int> divided;
  /// By what counters are divided.
  std::map<int, int64_t> moduli;
  unsigned numStates = 0, numSteps = 0;
  bool restart = false, hasLost = false, isWrong = false;
  std::optional<Finding> finding;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_PROVER_H
