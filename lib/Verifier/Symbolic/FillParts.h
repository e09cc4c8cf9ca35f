//===- FillParts.h - Which writes to a buffer may overlap -------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_SYMBOLIC_FILLPARTS_H
#define TILEWS_LIB_VERIFIER_SYMBOLIC_FILLPARTS_H

#include "Verifier/Symbolic/LinearOffsets.h"
#include "Verifier/Symbolic/ViewedRegions.h"

namespace tilews::verifier {

/// The operations that write to one buffer, and which of them may write to the
/// same bytes of one version. Writes of a task to different bytes are parts of
/// one fill: nothing has to order them among each other.
///
/// Example: with %r the induction variable of a loop,
///
///     write 0: tile.copy %A[%i, 0] to %a[0, 0]      // rows 0 to 7
///     write 1: tile.copy %A[%j, 0] to %a[8, 0]      // rows 8 to 15
///     write 2: tile.copy %A[%k, 0] to %a[%r, 0]     // row %r
///
/// writes 0 and 1 do not overlap, write 2 may overlap both. Two executions of
/// write 2 in one run of its loop do not overlap each other: it is fresh there.
class FillParts {
public:
  /// Elements of one dimension, from an offset on. None if it is not known.
  struct Range {
    std::optional<LinearOffset> offset;
    int64_t size;

    bool operator==(const Range &other) const {
      return offset && offset == other.offset && size == other.size;
    }
    bool isConstant() const { return offset && offset->terms.empty(); }
  };

  /// What writes to memory. Each kind ends in a way of its own.
  enum Writer : unsigned { Threads = 1, CpAsync = 2, Tma = 4 };

  /// The number that all further writes share, which are taken to overlap all
  /// others.
  static constexpr unsigned kMax = 31;

  /// Adds a write by `op` of `task` and returns its number, which writes of the
  /// same kind to the same bytes share.
  unsigned add(mlir::Operation *op, unsigned task,
               const tile::SharedAccess &access);

  /// Whether two writes may access the same bytes. Two executions of one write
  /// do.
  bool overlap(unsigned a, unsigned b) const;
  /// Whether two writes that may overlap do so for all values of their offsets.
  bool overlapAlways(unsigned a, unsigned b) const;
  /// Whether different threads may make two overlapping writes: not if both
  /// are stores of the same distribution of elements to threads.
  bool clash(unsigned a, unsigned b) const;
  /// The outermost loop around a write in a run of which all executions have
  /// bytes of their own; null if there is none.
  mlir::scf::ForOp getFreshLoop(unsigned write) const {
    return writes[write].freshLoop;
  }
  /// The writes that are fresh in a loop, as a set of bits.
  uint32_t getFresh(mlir::Operation *loop) const;
  /// Whether a copy makes the write, and not the threads of the task.
  bool isCopy(unsigned write) const { return isBy(write, CpAsync | Tma); }
  /// Whether one of `writers` makes the write.
  bool isBy(unsigned write, unsigned writers) const {
    return writes[write].writers & writers;
  }
  /// Whether it is an atomic update, which any task may make.
  bool isUpdate(unsigned write) const { return writes[write].isUpdate; }
  bool isByTask(unsigned write, unsigned task) const {
    return writes[write].task == task || write == kMax;
  }
  unsigned size() const { return writes.size(); }
  /// Whether there are parts, or clashes: it matters which write was made.
  bool isMixed() const { return mixed; }

  /// Prints a line for each write: "write 1 of task 2 by TMA, overlaps 0 2".
  void print(llvm::raw_ostream &os) const;

private:
  struct PartWrite {
    unsigned task;
    /// A set of `Writer`: one, but for the write that stands for several.
    unsigned writers;
    bool isUpdate;
    /// Whether its elements may be anywhere, those of a scatter.
    bool isScattered;
    mlir::scf::ForOp freshLoop = {};
    /// Whether any two executions write the same elements, or no common one.
    bool isSteady = false;
    /// What distributes the elements to threads; null if unknown.
    mlir::Type stored = {};
    /// The type of the memory as the write sees it, with its layout. That of
    /// a part is the type of what the part is taken from.
    mlir::MemRefType memory = {};
    /// The type of the version or buffer that `memory` is a view of.
    mlir::MemRefType base = {};
    /// Elements of `memory`; none if they are not known.
    std::optional<llvm::SmallVector<Range, 4>> ranges = {};
    /// Whether these are all elements, or some of them may not be written.
    bool isWhole = false, mayBeCut = false;

    bool operator==(const PartWrite &other) const {
      return task == other.task && writers == other.writers &&
             freshLoop == other.freshLoop && isUpdate == other.isUpdate &&
             isScattered == other.isScattered && stored == other.stored &&
             memory == other.memory && base == other.base &&
             ranges == other.ranges && mayBeCut == other.mayBeCut;
    }
  };

  static void setRanges(PartWrite &write, const tile::SharedAccess &access);
  /// Whether the ranges of two writes are of elements at the same places.
  bool areComparable(unsigned a, unsigned b) const;
  static bool areDisjoint(const Range &a, const Range &b);
  static mlir::scf::ForOp findFreshLoop(mlir::Operation *op,
                                        llvm::ArrayRef<Range> ranges);
  static bool isSteady(mlir::scf::ForOp loop, llvm::ArrayRef<Range> ranges);

  llvm::SmallVector<PartWrite, 2> writes;
  bool mixed = false;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_SYMBOLIC_FILLPARTS_H
