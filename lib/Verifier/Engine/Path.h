//===- Path.h - A path through all tasks of a kernel ------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_PATH_H
#define TILEWS_LIB_VERIFIER_ENGINE_PATH_H

#include "Verifier/Engine/TaskProgram.h"
#include "Verifier/Symbolic/PathFacts.h"

namespace tilews::verifier {

/// The position of a task in the body of an operation: one level of the task's
/// stack. Inside of `scf.for { scf.if { x } }` in role @load, the stack is the
/// role, the loop and the branch, each with the next operation in its body.
struct TaskFrame {
  /// `group` of a frame that is no loop, and of a loop's peeled iteration.
  static constexpr int kNoGroup = -1, kPeeled = -2;

  mlir::Operation *op = nullptr;
  /// The next operation; null at the end of a task.
  mlir::Operation *next = nullptr;
  /// Loops: the number of the group of loops that they run in.
  int group = kNoGroup;
  /// Loops of a group: how many iterations have ended in this iteration of the
  /// group.
  int64_t done = 0;
  /// Loops that run together for a part of their iterations: the value of the
  /// induction variable after this part, and whether more iterations may
  /// follow.
  Expr end = 0;
  bool hasRest = false;
};

/// A loop whose first iterations have been peeled: the start of the rest.
struct PeeledLoop {
  mlir::Operation *loop;
  unsigned iterations;
  Expr lower;
  llvm::SmallVector<Expr> carried;
};

/// A path through all tasks of a kernel, up to some point: where each task is,
/// the symbolic values that it has computed, the path condition, and the state
/// of the rules. While @load fills the slot of the next iteration, and @math
/// stands before its loop:
///
///     task 0: at tile.specialize
///     task 1: at tile.commit in scf.for      values: %i = i0, %slot = 1
///     task 2: at scf.for                     facts:  n - i0 in [1, inf)
///                                            state:  slot 1 is being filled
struct Path {
  /// The frames of each task, the outermost first; none of a task that has
  /// ended or not begun.
  std::vector<llvm::SmallVector<TaskFrame, 6>> tasks;
  /// The expressions of SSA values, by number; 0 where there is none.
  std::vector<Expr> values;
  PathFacts facts;
  State state;
  /// The remainders of induction variables, by group.
  std::map<int, int64_t> remainders;
  llvm::SmallVector<PeeledLoop, 2> peeled;
  /// Where the tasks were before iterations were peeled; empty if none were
  /// since loops ran together. If peeling ends in a deadlock, the search starts
  /// over, and peels only what cannot run together there: `triesPeeling` is
  /// false until loops run together again.
  std::vector<mlir::Operation *> peeledFrom;
  bool triesPeeling = true;
  /// The deadlock as it was before iterations were peeled.
  Finding stuck;
  bool rolesBegun = false;

  /// The loop before which a task stands; null if there is none in the slice.
  mlir::Operation *getLoopAhead(const TaskProgram &program,
                                unsigned task) const;
  const PeeledLoop *findPeeled(mlir::Operation *loop) const;
  void forgetPeeled(mlir::Operation *loop);
  /// Whether a task is in a peeled iteration, or in a loop's rest.
  bool hasPeeled() const;
  /// The next operation of each task; null at the end of a body.
  std::vector<mlir::Operation *> getPlaces() const;

  /// Whether it has left a loop since it was last compared with other paths.
  bool hasLeftLoop = false;

  void print(const TaskProgram &program, const Rules &rules,
             const ExpressionTable &table, llvm::raw_ostream &os) const;
};

/// The result of a step of a path.
enum class Progress {
  /// Something was done.
  Made,
  /// A group of loops has begun its next iteration, where paths join.
  Iterated,
  /// Nothing can be done now.
  None,
  /// The path has ended, or another one stands for it.
  Ended,
  /// The proof has failed, or starts over.
  Failed
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_PATH_H
