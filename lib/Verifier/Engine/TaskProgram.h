//===- TaskProgram.h - What a schedule is checked on ------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel as tasks that run beside each other: task 0 is the body of the
// kernel, the others are roles. Of each only those operations count that the
// order of events depends on.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_TASKPROGRAM_H
#define TILEWS_LIB_VERIFIER_ENGINE_TASKPROGRAM_H

#include "Verifier/Engine/Rules.h"

#include "tilews/Dialect/Tile/Analysis/Memory/CopiedReads.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilews::verifier {

struct Task {
  mlir::Operation *op;
  mlir::Block *body;
  /// As messages name it.
  std::string name;
};

class TaskProgram {
public:
  TaskProgram(mlir::gpu::GPUFuncOp kernel, const Rules &rules)
      : kernel(kernel), rules(rules), memory(kernel) {}

  /// What is in the way if the kernel cannot be checked.
  std::optional<Finding> build();

  llvm::ArrayRef<Task> getTasks() const { return tasks; }
  /// Whether the order of events depends on `op`.
  bool matters(mlir::Operation *op) const { return relevant.contains(op); }
  /// The number of a value that matters, from 0; -1 for others.
  int64_t getNumber(mlir::Value value) const;
  unsigned getNumValues() const { return values.size(); }
  /// Whether the number of states stays small if `value` is known exactly.
  bool isTracked(mlir::Value value) const;
  /// The links whose places `value`, by number, tells.
  const llvm::SmallSet<unsigned, 2> &getPlacesOf(unsigned number) const {
    return places[number];
  }
  /// Where cursors begin.
  llvm::ArrayRef<CursorOp> getCursors() const { return cursors; }
  /// Whether `loop` may have to run together with those of other tasks.
  bool isLinked(mlir::Operation *loop) const { return linked.contains(loop); }
  mlir::Value getValue(unsigned number) const { return byNumber[number]; }
  /// The numbers of the values that the regions of `op` define.
  llvm::ArrayRef<unsigned> getInnerValues(mlir::Operation *op) const;
  /// The links of which steps are in the regions of `op`.
  const llvm::SmallSet<unsigned, 4> &getLinks(mlir::Operation *op) const;
  /// Whether the memory that `op` reads stays as it is from there on, so that
  /// every such read gives the same.
  bool readsStableMemory(mlir::Operation *op) const {
    return stableReads.contains(op);
  }
  /// The copy that brings what `op` reads from shared memory: every such read
  /// gives what the copy's source has at the place it was made for.
  CopyOp getCopyOf(mlir::Operation *op) const { return copiedReads.lookup(op); }
  /// Reads that depend on where such a copy copies from, which `value` tells.
  llvm::ArrayRef<mlir::Operation *> getCopiedReads(mlir::Value value) const;
  mlir::gpu::GPUFuncOp getKernel() const { return kernel; }

private:
  std::optional<Finding> addTasks();
  std::optional<Finding> addOperation(mlir::Operation *op);
  void addLinks(mlir::Operation *op);
  void linkCountingLoops();
  void need(mlir::Value value);
  void needControl(mlir::Operation *op);
  void drain();
  void track();
  void findLinked();
  void collectInner();
  void collectPlaces();
  void findStableReads();
  void needCopied(mlir::Operation *op);

  mlir::gpu::GPUFuncOp kernel;
  const Rules &rules;
  MemoryAccesses memory;
  llvm::SmallVector<Task> tasks;
  llvm::DenseSet<mlir::Operation *> relevant, stableReads, linked;
  llvm::DenseMap<mlir::Operation *, CopyOp> copiedReads;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Operation *, 1>>
      readsByPlace;
  llvm::DenseMap<mlir::Value, unsigned> values;
  std::vector<mlir::Value> byNumber;
  std::vector<llvm::SmallSet<unsigned, 2>> places;
  llvm::SmallVector<CursorOp> cursors;
  llvm::SmallVector<mlir::Value> pending;
  llvm::DenseSet<mlir::Value> tracked;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<unsigned>> inner;
  llvm::DenseMap<mlir::Operation *, llvm::SmallSet<unsigned, 4>> links;
};

/// What tells the results of operations without effects apart: equal ones have
/// the same value, whatever their layouts are.
struct Identity {
  llvm::SmallVector<int64_t> words;
  llvm::SmallVector<mlir::OpFoldResult> operands;
};
Identity getIdentity(mlir::OpResult result);

/// The values that flow into `value`: operands of what computes it, or what
/// control flow passes on.
llvm::SmallVector<mlir::Value> getSources(mlir::Value value);

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_TASKPROGRAM_H
