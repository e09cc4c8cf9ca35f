//===- TaskProgram.h - The slice of a kernel for a proof --------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_TASKPROGRAM_H
#define TILEWS_LIB_VERIFIER_ENGINE_TASKPROGRAM_H

#include "Verifier/Engine/ExtentPremises.h"
#include "Verifier/Engine/FilledReads.h"
#include "Verifier/Engine/Rules.h"

#include "tilews/Dialect/Tile/Analysis/Memory/CopiedReads.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilews::verifier {

/// A part of the kernel with a control flow of its own: the kernel's body, or a
/// role.
struct Task {
  mlir::Operation *op;
  mlir::Block *body;
  /// The name in messages.
  std::string name;
};

/// The backward slice of a kernel (Weiser, "Program slicing", 1981) on which a
/// schedule is checked: concurrent tasks, and in each the operations on which
/// the order of its events depends. Task 0 is the body of the kernel, the
/// others are its roles.
///
/// Example: events are marked with E; only the other lines with a number are in
/// the slice.
///
///     tile.role @math {
///       %p = tile.cursor : !tile.cursor<2>      // 1: input of an event
///       scf.for %i = %c0 to %n iter_args(%q = %p, %acc = %zero) {  // 2
///         tile.wait %c[%q]                      // E
///         %a = tile.load %slot                  // E
///         %d = tile.gemm %a, %b, %acc
///         tile.release %c[%q]                   // E
///         %r = tile.advance %q                  // 3: input of the next wait
///         scf.yield %r, %d
///       }
///     }
class TaskProgram {
public:
  TaskProgram(mlir::gpu::GPUFuncOp kernel, const Rules &rules)
      : kernel(kernel), rules(rules), memory(kernel), extents(kernel),
        filledReads(kernel) {}

  /// Computes the slice. Returns an obstacle if the kernel cannot be checked.
  /// Assertions whose control flow is in the slice are in it, too. To execute
  /// the slice, it gets all assertions, and the copies that write what it
  /// reads.
  std::optional<Finding> build(bool toExecute = false);

  llvm::ArrayRef<Task> getTasks() const { return tasks; }
  /// Whether `op` is in the slice.
  bool matters(mlir::Operation *op) const { return relevant.contains(op); }
  /// The number of a value in the slice, from 0; -1 for others.
  int64_t getNumber(mlir::Value value) const;
  unsigned getNumValues() const { return values.size(); }
  /// Whether `value` has few values (a cursor, slot, parity or condition), so
  /// that paths may fork on them.
  bool isTracked(mlir::Value value) const;
  /// The links of which a value, given by its number, is a place.
  const llvm::SmallSet<unsigned, 2> &getPlacesOf(unsigned number) const {
    return places[number];
  }
  /// The operations that start cursors.
  llvm::ArrayRef<CursorOp> getCursors() const { return cursors; }
  /// Whether `loop` uses a link that a loop of another task uses, so that they
  /// may have to run together.
  bool isLinked(mlir::Operation *loop) const { return linked.contains(loop); }
  mlir::Value getValue(unsigned number) const { return byNumber[number]; }
  /// The numbers of the values that the regions of `op` define.
  llvm::ArrayRef<unsigned> getInnerValues(mlir::Operation *op) const;
  /// The links whose steps are in the regions of `op`.
  const llvm::SmallSet<unsigned, 4> &getLinks(mlir::Operation *op) const;
  /// Where nothing writes to the memory that `op` reads after it, a number:
  /// equal reads with equal numbers give equal values.
  std::optional<unsigned> getEpoch(mlir::Operation *op) const {
    return stableReads.getEpoch(op);
  }
  /// Whether `op` reads an input of the kernel: global memory that the kernel
  /// does not write, or what `getCopyOf` copied from there.
  bool readsInput(mlir::Operation *op) const {
    return stableReads.readsInput(op) || getCopyOf(op);
  }
  /// The steps of the loops in `block` that are defined outside of it. They are
  /// positive if the block is executed: another step has undefined behavior.
  llvm::ArrayRef<mlir::Value> getSteps(mlir::Block *block) const;
  /// The copy that wrote what `op` reads from shared memory. The read gives the
  /// value that the copy's source has at the place that was copied.
  CopyOp getCopyOf(mlir::Operation *op) const { return copiedReads.lookup(op); }
  /// The reads of shared memory whose copy has `value` as a source offset.
  llvm::ArrayRef<mlir::Operation *> getCopiedReads(mlir::Value value) const;
  mlir::gpu::GPUFuncOp getKernel() const { return kernel; }
  const ExtentPremises &getExtents() const { return extents; }
  /// The reads in a slice to execute.
  const FilledReads &getFilledReads() const { return filledReads; }

  void print(llvm::raw_ostream &os) const;

private:
  std::optional<Finding> addTasks();
  std::optional<Finding> addOperation(mlir::Operation *op);
  void addLinks(mlir::Operation *op);
  void linkCountingLoops();
  void need(mlir::Value value);
  void needControl(mlir::Operation *op);
  void needAssertions(bool withAll);
  void needOperandsOfControl(mlir::Operation *op);
  void drain();
  void track();
  void findLinked();
  void collectSteps();
  void collectInner();
  void collectPlaces();
  void findStableReads();
  void needCopied(mlir::Operation *op);
  void needOrigins();
  void printOperation(mlir::Operation *op, llvm::raw_ostream &os) const;

  mlir::gpu::GPUFuncOp kernel;
  const Rules &rules;
  MemoryAccesses memory;
  ExtentPremises extents;
  FilledReads filledReads;
  llvm::SmallVector<Task> tasks;
  llvm::DenseSet<mlir::Operation *> relevant, linked;
  StableReads stableReads;
  llvm::DenseMap<mlir::Block *, llvm::SmallVector<mlir::Value, 1>> steps;
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

/// The identity of a result of an operation without effects. Results with equal
/// identities have equal values, whatever their layouts are.
///
/// Example: two `memref.dim %a, %c0` in different roles have equal identities:
/// the words are the operation's name, its properties and its type, the
/// operands are %a and %c0.
struct Identity {
  llvm::SmallVector<int64_t> words;
  llvm::SmallVector<mlir::OpFoldResult> operands;
};
Identity getIdentity(mlir::OpResult result);

/// The innermost operation around `op` that is neither a role nor a loop or
/// branch that a slice may have; null if there is none.
mlir::Operation *findOtherControl(mlir::Operation *op, mlir::Operation *kernel);

/// The flag that `op` asserts; null for other operations and for fragments.
mlir::Value getAsserted(mlir::Operation *op);

/// The values that flow into `value`: operands of what computes it, or what
/// control flow passes on.
llvm::SmallVector<mlir::Value> getSources(mlir::Value value);

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_TASKPROGRAM_H
