//===- AsyncMatmuls.h - Asynchronous matmuls under way ----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_ASYNCMATMULS_H
#define TILEWS_LIB_VERIFIER_ENGINE_ASYNCMATMULS_H

#include "Verifier/Engine/Rules.h"

namespace tilews::verifier {

/// The queue of asynchronous matmuls of one task that may be under way, the
/// oldest first, in words of a state.
///
///     word 0          the length of the queue
///     word 1 + 2 * i  the places that matmul i reads, one bit each
///     word 2 + 2 * i  the number of its event
///
/// Example: events 4 and 7 are `tile.gemm` with `async`, which read the places
/// 0 and 1.
///
///     step                        words
///     gemm (event 4)              1, {0}, 4
///     gemm (event 7)              2, {0}, 4, {1}, 7
///     tile.gemm_wait {pending=1}  1, {1}, 7
class AsyncMatmuls {
public:
  /// A longer queue merges its oldest two matmuls.
  static constexpr unsigned kMax = 8;
  static constexpr unsigned kWords = 1 + 2 * kMax;

  explicit AsyncMatmuls(int64_t *words) : words(words) {}

  unsigned size() const { return words[0]; }
  /// Event `event` starts a matmul that reads the places `reads`.
  void start(uint64_t reads, unsigned event);
  /// All but the last `pending` matmuls end.
  void end(int64_t pending);
  /// Performs `op`. The outcome is `Wrong`, and no matmul ends, if one of the
  /// events `awaited` may go on although `op` uses its result. `eventOps` are
  /// the operations of all events.
  Outcome wait(GemmWaitOp op, llvm::ArrayRef<unsigned> awaited,
               llvm::ArrayRef<mlir::Operation *> eventOps, Finding &finding);
  /// Replaces the set of places that each matmul reads.
  void renamePlaces(llvm::function_ref<uint64_t(uint64_t)> rename);

  /// The places that matmuls in the queue at `words` read.
  static uint64_t getReads(const int64_t *words);
  /// Prints the queue as "event 4 reads {0}, event 7 reads {1}".
  static void print(llvm::raw_ostream &os, const int64_t *words);

private:
  int64_t *words;
};

/// Maps each `tile.gemm_wait` to the asynchronous matmuls whose results may
/// reach it, directly or through control flow.
llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *, 2>>
findAwaitedMatmuls(mlir::gpu::GPUFuncOp kernel);

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_ASYNCMATMULS_H
