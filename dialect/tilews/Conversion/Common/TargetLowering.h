//===- TargetLowering.h - Instructions of a target GPU ----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The conversions to NVVM and to ROCDL share the patterns that make per-thread
// code of tiles. This interface has the instructions that differ between the
// two.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_CONVERSION_COMMON_TARGETLOWERING_H
#define TILEWS_CONVERSION_COMMON_TARGETLOWERING_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tilews {

class ModuleVariables;

/// One matrix instruction of a warp: its element types and extents. A sparse
/// one also has the metadata, an i32, and the selector of the lanes that hold
/// it. A scaled one has the scale of each operand, an i32 with an f8E8M0FNU in
/// its lowest byte.
struct MmaOperands {
  mlir::Type lhsElement, rhsElement, accElement;
  MmaInstruction mma;
  mlir::Value metadata;
  int64_t selector = 0;
  mlir::Value lhsScale, rhsScale;
};

/// An operand of a matmul in shared memory, which warps read piece by piece.
struct SharedOperand {
  mlir::MemRefType type;
  mlir::Value buffer;
  /// Whether it is the left operand, and whether it is stored transposed:
  /// (k, m) or (n, k).
  bool isLhs, transposed;
  MmaInstruction mma;
  WarpGrid grid;
  /// The extent along M or N, and along K.
  int64_t extent, extentK;
  /// The thread's number among the threads that compute the matmul.
  mlir::Value threadId;
};

/// The registers of 32 bits of a lane that a matmul takes.
struct MatmulRegisters {
  /// Steps along K, and the tiles of the result that a warp has.
  int64_t steps, tiles;
  /// Operands in shared memory that a step along K reads.
  int64_t perStep;
  /// Accumulators, and operands that are fragments.
  int64_t held;
  /// Whether an operand is a fragment.
  bool hasFragment;
};

/// Reads the registers of one instruction's operand.
class OperandReader {
public:
  virtual ~OperandReader() = default;
  /// Returns the registers of repeat `repeat` along M or N and step `step`
  /// along K.
  virtual llvm::SmallVector<mlir::Value> read(int64_t repeat, int64_t step) = 0;
};

/// The threads that run an operation: the block's, or those of a role.
struct ThreadGroup {
  /// The number of the first thread in the block, and the number of threads.
  int64_t first = 0, count = 0;
  /// The number of the hardware barrier at which the threads synchronize. 0 is
  /// the barrier of the block; role i (from 0) of a `tile.specialize` has i
  /// + 1. Code that needs further barriers must take numbers from 15 down.
  int64_t barrier = 0;
  /// Whether a single one of the threads runs the operation.
  bool elected = false;
};

/// The instructions of a target. Functions that return a null value or false
/// say that the target has no such instruction; the shared patterns then emit
/// others.
class TargetLowering {
public:
  TargetLowering(const TargetInfo &info, unsigned indexBitwidth,
                 ModuleVariables &variables)
      : info(info), indexBitwidth(indexBitwidth), variables(variables) {}
  virtual ~TargetLowering() = default;

  const TargetInfo info;
  const unsigned indexBitwidth;
  /// Those of the module that is lowered.
  ModuleVariables &variables;

  /// Returns the thread's number in its block, an i32. Patterns use
  /// `TilePattern::getThreadId` instead, the number among the operation's
  /// threads.
  virtual mlir::Value getThreadId(mlir::ImplicitLocOpBuilder &b) const = 0;
  /// Return the block's number in the grid, and the grid's extent, along `dim`,
  /// as i32.
  virtual mlir::Value getBlockId(mlir::ImplicitLocOpBuilder &b,
                                 mlir::gpu::Dimension dim) const = 0;
  virtual mlir::Value getGridDim(mlir::ImplicitLocOpBuilder &b,
                                 mlir::gpu::Dimension dim) const = 0;
  /// Synchronizes the threads of a group: their accesses of shared and global
  /// memory before the barrier happen-before those after it.
  virtual void emitBarrier(mlir::ImplicitLocOpBuilder &b,
                           const ThreadGroup &threads) const = 0;
  /// Waits for the asynchronous copies this thread has started.
  virtual void emitDrainCopies(mlir::ImplicitLocOpBuilder &b) const {}
  /// Closes a group of asynchronous copies; waits for all but the last
  /// `pending` groups. A wave has started at least `younger` instructions by
  /// `emitWaveCopy` since the last of the groups that are waited for.
  virtual void emitCommitGroup(mlir::ImplicitLocOpBuilder &b) const {}
  virtual void emitWaitGroup(mlir::ImplicitLocOpBuilder &b, int64_t pending,
                             int64_t younger) const {}
  /// Orders this thread's shared memory writes before reads by other proxies.
  virtual void emitProxyFence(mlir::ImplicitLocOpBuilder &b) const {}
  /// Returns the 32-bit integer `value` of the lane whose number is this lane's
  /// XOR `mask`.
  virtual mlir::Value emitShuffleXor(mlir::ImplicitLocOpBuilder &b,
                                     mlir::Value value, int64_t mask) const = 0;
  /// Exchanges `upper` of the lanes below 32 and `lower` of the others, with
  /// the lane whose number is this lane's XOR 32. Returns false if the target
  /// has no instruction for this.
  virtual bool emitSwapHalves(mlir::ImplicitLocOpBuilder &b, mlir::Value &lower,
                              mlir::Value &upper) const {
    return false;
  }
  /// Returns the 32-bit integer `value` of lane `lane` of the warp.
  virtual mlir::Value emitShuffle(mlir::ImplicitLocOpBuilder &b,
                                  mlir::Value value,
                                  mlir::Value lane) const = 0;
  /// Returns the combination of the 32-bit integers `value` of all lanes of the
  /// warp, by one instruction. Null if the target has none.
  virtual mlir::Value emitReduceLanes(mlir::ImplicitLocOpBuilder &b,
                                      tile::ReductionKind kind,
                                      mlir::Value value) const {
    return nullptr;
  }
  /// Returns `acc + lhs * rhs`, computed by one instruction of a warp. Operands
  /// are vectors of one lane's registers, in the order of the instruction's
  /// layouts.
  virtual mlir::Value emitMma(mlir::ImplicitLocOpBuilder &b,
                              const MmaOperands &op, mlir::Value lhs,
                              mlir::Value rhs, mlir::Value acc) const = 0;
  /// Tell the scheduler of the backend that a matmul starts, that the operands
  /// of a further step of it along K are read next, and that they were read.
  virtual void emitMatmulStart(mlir::ImplicitLocOpBuilder &b) const {}
  virtual void emitStepReads(mlir::ImplicitLocOpBuilder &b,
                             const MatmulRegisters &registers) const {}
  virtual void emitMatmulStep(mlir::ImplicitLocOpBuilder &b,
                              const MatmulRegisters &registers) const {}
  /// Returns a reader that uses instructions of the target (ldmatrix). Null if
  /// the operand must be read by ordinary loads.
  virtual std::unique_ptr<OperandReader>
  createOperandReader(mlir::ImplicitLocOpBuilder &b,
                      const SharedOperand &operand) const {
    return nullptr;
  }
  /// Load and store 1, 2 or 4 matrices (MatrixAccess.h). A lane holds one
  /// 32-bit word of each matrix.
  virtual llvm::SmallVector<mlir::Value>
  emitMatrixLoad(mlir::ImplicitLocOpBuilder &b, mlir::Value address,
                 int64_t count, bool transposed) const {
    llvm_unreachable("target has no loads of matrices");
  }
  virtual void emitMatrixStore(mlir::ImplicitLocOpBuilder &b,
                               mlir::Value address, mlir::ValueRange words,
                               bool transposed) const {
    llvm_unreachable("target has no stores of matrices");
  }
  /// Copies `bytes` (4, 8 or 16) from global to shared memory, asynchronously.
  /// Writes zeros where `predicate` is false; it may be null.
  virtual void emitAsyncCopy(mlir::ImplicitLocOpBuilder &b, mlir::Value dest,
                             mlir::Value source, int64_t bytes,
                             mlir::Value predicate) const {
    llvm_unreachable("target has no asynchronous copies");
  }
  /// Copies `bytes` (4 or 16) of each lane to shared memory, asynchronously.
  /// `source` is a bounded pointer. `dest` is the same in all lanes of a warp,
  /// and lane l writes at `dest` plus l * `bytes`.
  virtual void emitWaveCopy(mlir::ImplicitLocOpBuilder &b, mlir::Value dest,
                            mlir::Value source, int64_t bytes) const {
    llvm_unreachable("target has no copies of waves");
  }
  /// Returns `value`, an integer that all threads hold, where the target has
  /// scalar registers in one of these.
  virtual mlir::Value emitUniform(mlir::ImplicitLocOpBuilder &b,
                                  mlir::Value value) const {
    return value;
  }
  /// Whether the target has pointers whose bounds the hardware checks.
  virtual bool hasBoundedPointers() const { return false; }
  /// Returns such a pointer to `bytes` bytes from `base` on: an i64 less than
  /// 2^31, and a pointer to global memory, which are the same in all threads.
  /// Distances from it are unsigned numbers of 32 bits. Loads past the end give
  /// zeros, and other accesses there do nothing.
  virtual mlir::Value createBoundedPointer(mlir::ImplicitLocOpBuilder &b,
                                           mlir::Value base,
                                           mlir::Value bytes) const {
    llvm_unreachable("target has no bounded pointers");
  }
  /// Convert a vector between fp8 (as i8) and f32, and saturate as
  /// `arith.truncf` does in the dialect. Null if the target has no instruction
  /// for it.
  virtual mlir::Value emitTruncFp8(mlir::ImplicitLocOpBuilder &b,
                                   mlir::Value value, mlir::Type fp8) const {
    return {};
  }
  virtual mlir::Value emitExtFp8(mlir::ImplicitLocOpBuilder &b,
                                 mlir::Value value, mlir::Type fp8) const {
    return {};
  }
  /// Prints `values` (i32, i64 or f64) by the rules of C's printf. Returns
  /// false if the target cannot print.
  virtual bool emitPrintf(mlir::ImplicitLocOpBuilder &b, llvm::StringRef format,
                          mlir::ValueRange values) const {
    return false;
  }
  /// Whether LLVM's read-modify-writes have an order. If not, fences around
  /// relaxed ones give it.
  virtual bool hasOrderedUpdates() const { return true; }
  /// Emits a read-modify-write of one element for all processors of the system,
  /// and returns the old value. Null if LLVM's instruction has this scope.
  virtual mlir::Value emitSystemUpdate(mlir::ImplicitLocOpBuilder &b,
                                       tile::AtomicKind kind,
                                       mlir::Value address,
                                       mlir::Value value) const {
    return mlir::Value();
  }
  /// Returns LLVM's name for the memory scope of an atomic access.
  virtual llvm::StringRef getSyncScope(tile::MemoryScope scope) const = 0;
  /// Marks `kernel` as a kernel, with its number of threads and its cluster.
  virtual void setKernelAttributes(mlir::LLVM::LLVMFuncOp kernel,
                                   int64_t threads) const = 0;
  /// Marks the parameters that are tensor maps, and prefetches them.
  virtual void
  setTensorMapParameters(mlir::ImplicitLocOpBuilder &b,
                         mlir::LLVM::LLVMFuncOp kernel,
                         llvm::ArrayRef<mlir::BlockArgument> maps) const {}
};

} // namespace tilews

#endif // TILEWS_CONVERSION_COMMON_TARGETLOWERING_H
