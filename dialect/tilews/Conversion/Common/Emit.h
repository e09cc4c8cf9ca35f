//===- Emit.h - Building blocks of per-thread code --------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions that emit the code of one thread: pointers into shared memory,
// loads and stores of vectors and whole fragments, predicates, guarded code.
// Patterns call them with a builder placed where the code belongs; each returns
// values of the LLVM dialect or of arith.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_CONVERSION_COMMON_EMIT_H
#define TILEWS_CONVERSION_COMMON_EMIT_H

#include "tilews/Conversion/Common/Indexing.h"
#include "tilews/Conversion/Common/TargetLowering.h"
#include "tilews/Layout/WarpExchange.h"

namespace tilews {

/// Name of the arena's symbol in its gpu.module.
constexpr llvm::StringLiteral kArenaName = "tile_shared";

/// The widest vector of any access, in elements of one byte.
constexpr int64_t kMaxVector = 16;

/// The number of the thread in `threads`.
mlir::Value createThreadId(mlir::ImplicitLocOpBuilder &b,
                           const TargetLowering &target,
                           const ThreadGroup &threads);

/// A pointer to byte `offset` of the arena of shared memory.
mlir::Value createArenaPointer(mlir::ImplicitLocOpBuilder &b, int64_t offset);

/// The registers of a vector, and a vector of registers.
llvm::SmallVector<mlir::Value> unpack(mlir::ImplicitLocOpBuilder &b,
                                      mlir::Value vector);
mlir::Value pack(mlir::ImplicitLocOpBuilder &b, mlir::Type element,
                 llvm::ArrayRef<mlir::Value> registers);

/// Whether this is the first thread of those numbered by `threadId`.
mlir::Value isFirstThread(mlir::ImplicitLocOpBuilder &b, mlir::Value threadId);

/// Splits offsets into values of the index width and constants.
llvm::SmallVector<SplitOffset>
splitOffsets(mlir::ImplicitLocOpBuilder &b,
             llvm::ArrayRef<int64_t> staticOffsets, mlir::ValueRange dynamic,
             int64_t rank);

/// A pointer `index * stride` bytes behind `base`.
mlir::Value createElementPointer(mlir::ImplicitLocOpBuilder &b,
                                 mlir::Value base, mlir::Value index,
                                 int64_t stride);

/// Loads `count` neighbours as values of `element`, and stores them.
mlir::Value createLoad(mlir::ImplicitLocOpBuilder &b, mlir::Value address,
                       mlir::Type element, int64_t count);
void createStore(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                 mlir::Value address, mlir::Type element, int64_t count);
/// Emits `then` where `mask` holds, everywhere if it is null.
void createGuarded(mlir::ImplicitLocOpBuilder &b, mlir::Value mask,
                   llvm::function_ref<void()> then);
/// Whether a thread is the first of those that hold the same elements of a
/// fragment; null if each element is one thread's. Others need not store it.
mlir::Value getOwnerPredicate(mlir::ImplicitLocOpBuilder &b,
                              const FragmentLayout &layout,
                              mlir::Value threadId);
/// Emits `body(masked)`: once for regions inside the buffer without masks and
/// once with, as far as both can happen.
void createVersions(mlir::ImplicitLocOpBuilder &b, RegionAccess &access,
                    llvm::function_ref<void(bool)> body);
/// Loads registers `first` to `first + count` of a fragment; with `masked`,
/// those that may not be touched become `padding`.
llvm::SmallVector<mlir::Value>
loadRegisters(mlir::ImplicitLocOpBuilder &b, RegionAccess &access,
              const FragmentIndexer &indexer, mlir::Type element,
              mlir::Value padding, int64_t first, int64_t count, bool masked);
/// Loads all registers of a fragment; those that may not be touched become
/// `padding` (zero if it is null).
mlir::Value loadFragment(mlir::ImplicitLocOpBuilder &b, RegionAccess &access,
                         const FragmentIndexer &indexer, mlir::Type element,
                         mlir::Value padding);
/// Stores the registers of a fragment where the region allows.
void storeFragment(mlir::ImplicitLocOpBuilder &b, RegionAccess &access,
                   const FragmentIndexer &indexer, mlir::Value vector);

/// The registers of a fragment, a vector, in another layout: by an exchange
/// within each warp.
mlir::Value createWarpExchange(mlir::ImplicitLocOpBuilder &b,
                               const TargetLowering &target,
                               const WarpExchange &exchange, mlir::Value vector,
                               mlir::Value threadId);

} // namespace tilews

#endif // TILEWS_CONVERSION_COMMON_EMIT_H
