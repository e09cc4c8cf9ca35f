//===- TargetLowering.h - What differs between GPUs -------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The conversions to NVVM and to ROCDL share how tiles become per-thread code.
// What they do not share stands behind this interface.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_CONVERSION_COMMON_TARGETLOWERING_H
#define TILEWS_CONVERSION_COMMON_TARGETLOWERING_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tilews {

/// One matrix instruction of a warp: element types and extents, and of a sparse
/// one the metadata, an i32, and the selector of the lanes that hold it.
struct MmaOperands {
  mlir::Type lhsElement, rhsElement, accElement;
  MmaInstruction mma;
  mlir::Value metadata;
  int64_t selector = 0;
};

/// A shared memory operand of a matrix product that warps read piece by piece.
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
  /// The thread's number among those that compute the product.
  mlir::Value threadId;
};

/// Reads the registers of one instruction's operand.
class OperandReader {
public:
  virtual ~OperandReader() = default;
  /// Registers of repeat `repeat` along M or N and step `step` along K.
  virtual llvm::SmallVector<mlir::Value> read(int64_t repeat, int64_t step) = 0;
};

/// The threads that run an operation: the block's, or those of a role.
struct ThreadGroup {
  /// The number of the first of them in the block, and how many there are.
  int64_t first = 0, count = 0;
  /// The hardware's barrier at which they meet: 0 is the block's, role `i`
  /// (from 0) of a `tile.specialize` has `i + 1`. Others have to number theirs
  /// from 15 down.
  int64_t barrier = 0;
  /// Whether one of them alone runs the operation.
  bool elected = false;
};

class TargetLowering {
public:
  TargetLowering(const TargetInfo &info, unsigned indexBitwidth)
      : info(info), indexBitwidth(indexBitwidth) {}
  virtual ~TargetLowering() = default;

  const TargetInfo info;
  const unsigned indexBitwidth;

  /// The thread's number in its block, an i32. Patterns ask for the number
  /// among the threads of their operation instead: `TilePattern::getThreadId`.
  virtual mlir::Value getThreadId(mlir::ImplicitLocOpBuilder &b) const = 0;
  /// The block's number in the grid, and the grid's extent, along `dim`, i32.
  virtual mlir::Value getBlockId(mlir::ImplicitLocOpBuilder &b,
                                 mlir::gpu::Dimension dim) const = 0;
  virtual mlir::Value getGridDim(mlir::ImplicitLocOpBuilder &b,
                                 mlir::gpu::Dimension dim) const = 0;
  /// The threads of a group meet; their shared and global memory is ordered.
  virtual void emitBarrier(mlir::ImplicitLocOpBuilder &b,
                           const ThreadGroup &threads) const = 0;
  /// Waits for the asynchronous copies this thread has started.
  virtual void emitDrainCopies(mlir::ImplicitLocOpBuilder &b) const {}
  /// Closes a group of these copies, and waits for all but the last `pending`.
  virtual void emitCommitGroup(mlir::ImplicitLocOpBuilder &b) const {}
  virtual void emitWaitGroup(mlir::ImplicitLocOpBuilder &b,
                             int64_t pending) const {}
  /// Orders this thread's shared memory writes before reads by other proxies.
  virtual void emitProxyFence(mlir::ImplicitLocOpBuilder &b) const {}
  /// The 32-bit integer `value` of the lane whose number differs in the bits
  /// of `mask`.
  virtual mlir::Value emitShuffleXor(mlir::ImplicitLocOpBuilder &b,
                                     mlir::Value value, int64_t mask) const = 0;
  /// The 32-bit integer `value` of lane `lane` of the warp.
  virtual mlir::Value emitShuffle(mlir::ImplicitLocOpBuilder &b,
                                  mlir::Value value,
                                  mlir::Value lane) const = 0;
  /// `acc + lhs * rhs` by one warp-wide instruction: operands are vectors of
  /// the registers of one lane, in the order of the instruction's layouts.
  virtual mlir::Value emitMma(mlir::ImplicitLocOpBuilder &b,
                              const MmaOperands &op, mlir::Value lhs,
                              mlir::Value rhs, mlir::Value acc) const = 0;
  /// A reader by the target's own instructions, null if plain loads have to do.
  virtual std::unique_ptr<OperandReader>
  createOperandReader(mlir::ImplicitLocOpBuilder &b,
                      const SharedOperand &operand) const {
    return nullptr;
  }
  /// Loads and stores 1, 2 or 4 matrices (MatrixAccess.h), of each of which a
  /// lane holds a word.
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
  /// Copies `bytes` (4, 8 or 16) from global to shared memory, asynchronously;
  /// where `predicate` (may be null) is false, writes zeros.
  virtual void emitAsyncCopy(mlir::ImplicitLocOpBuilder &b, mlir::Value dest,
                             mlir::Value source, int64_t bytes,
                             mlir::Value predicate) const {
    llvm_unreachable("target has no asynchronous copies");
  }
  /// Converts a vector between fp8 (as i8) and f32, saturating as
  /// `arith.truncf` does; null where the target has no instruction.
  virtual mlir::Value emitTruncFp8(mlir::ImplicitLocOpBuilder &b,
                                   mlir::Value value, mlir::Type fp8) const {
    return {};
  }
  virtual mlir::Value emitExtFp8(mlir::ImplicitLocOpBuilder &b,
                                 mlir::Value value, mlir::Type fp8) const {
    return {};
  }
  /// Prints by C's printf rules; numbers are i32, i64 or f64. False if the
  /// target cannot print.
  virtual bool emitPrintf(mlir::ImplicitLocOpBuilder &b, llvm::StringRef format,
                          mlir::ValueRange values) const {
    return false;
  }
  /// The memory scope of a block (`shared`) or of the device in atomics.
  virtual llvm::StringRef getSyncScope(bool shared) const = 0;
  /// Marks `kernel` as one, with its number of threads and its cluster.
  virtual void setKernelAttributes(mlir::LLVM::LLVMFuncOp kernel,
                                   int64_t threads) const = 0;
  /// Marks the parameters that are tensor maps, and prepares their use.
  virtual void
  setTensorMapParameters(mlir::ImplicitLocOpBuilder &b,
                         mlir::LLVM::LLVMFuncOp kernel,
                         llvm::ArrayRef<mlir::BlockArgument> maps) const {}
};

} // namespace tilews

#endif // TILEWS_CONVERSION_COMMON_TARGETLOWERING_H
