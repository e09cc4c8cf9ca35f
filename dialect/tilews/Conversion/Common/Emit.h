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

/// Name of the symbol, in the gpu.module, of the arena: the one array in shared
/// memory that holds all buffers.
constexpr llvm::StringLiteral kArenaName = "tile_shared";

/// The widest vector of any access, in elements of one byte.
constexpr int64_t kMaxVector = 16;

/// Returns the number of the thread in `threads`, an i32 from 0 on.
mlir::Value createThreadId(mlir::ImplicitLocOpBuilder &b,
                           const TargetLowering &target,
                           const ThreadGroup &threads);

/// Returns a pointer to byte `offset` of the arena.
mlir::Value createArenaPointer(mlir::ImplicitLocOpBuilder &b, int64_t offset);

/// `unpack` returns the elements of a vector; `pack` makes a vector of
/// elements.
llvm::SmallVector<mlir::Value> unpack(mlir::ImplicitLocOpBuilder &b,
                                      mlir::Value vector);
mlir::Value pack(mlir::ImplicitLocOpBuilder &b, mlir::Type element,
                 llvm::ArrayRef<mlir::Value> registers);

/// Returns an integer constant, in all elements if `type` is a vector.
mlir::Value createInteger(mlir::ImplicitLocOpBuilder &b, mlir::Type type,
                          int64_t value);

/// Returns whether `threadId` is 0, an i1.
mlir::Value isFirstThread(mlir::ImplicitLocOpBuilder &b, mlir::Value threadId);

/// Splits the offsets of a region into values of the index width and constants.
llvm::SmallVector<SplitOffset>
splitOffsets(mlir::ImplicitLocOpBuilder &b,
             llvm::ArrayRef<int64_t> staticOffsets, mlir::ValueRange dynamic,
             int64_t rank);

/// Returns the pointer `base + index * stride`, in bytes.
mlir::Value createElementPointer(mlir::ImplicitLocOpBuilder &b,
                                 mlir::Value base, mlir::Value index,
                                 int64_t stride);

/// Returns whether a type is floating point of at most 8 bits.
bool isSmallFloat(mlir::Type type);
/// Returns whether elements of a fragment take a byte in registers although
/// they have 2 to 7 bits: backends would keep vectors of such types in memory.
/// Integers are extended by their sign, others by zeros.
bool isBelowByte(mlir::Type element);
/// Convert a scalar of a type of 2 to 7 bits to a register of a fragment, and
/// back; scalars of other types stay as they are.
mlir::Value toRegister(mlir::ImplicitLocOpBuilder &b, mlir::Value scalar,
                       mlir::Type element);
mlir::Value fromRegister(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                         mlir::Type element);
/// Extends the lowest bits of registers, which other bits may follow.
mlir::Value normalizeRegister(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                              mlir::Type element);

/// Converts a vector of a floating point type of at most 8 bits to f32 or f16,
/// which hold all of its numbers. Null if the target cannot.
mlir::Value createSmallExtension(mlir::ImplicitLocOpBuilder &b,
                                 const TargetLowering &target,
                                 mlir::Value value, mlir::Type from);

/// Load `count` neighbors as a vector of `element`, and store such a vector.
mlir::Value createLoad(mlir::ImplicitLocOpBuilder &b, mlir::Value address,
                       mlir::Type element, int64_t count);
void createStore(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                 mlir::Value address, mlir::Type element, int64_t count);
/// Emits `then` under the condition `mask`, or without a condition if it is
/// null.
void createGuarded(mlir::ImplicitLocOpBuilder &b, mlir::Value mask,
                   llvm::function_ref<void()> then);
/// Returns whether a thread is the first one that holds its elements of a
/// fragment; the other threads need not store them. Null if no two threads hold
/// the same element.
mlir::Value getOwnerPredicate(mlir::ImplicitLocOpBuilder &b,
                              const FragmentLayout &layout,
                              mlir::Value threadId);
/// Emits `body(false)` for a region that lies inside the buffer and
/// `body(true)` for one that does not, each only if that can happen; with both,
/// under an `scf.if`.
void createVersions(mlir::ImplicitLocOpBuilder &b, RegionAccess &access,
                    llvm::function_ref<void(bool)> body);
/// Loads registers `first` to `first + count` of a fragment. With `masked`,
/// registers whose element may not be accessed become `padding`.
llvm::SmallVector<mlir::Value>
loadRegisters(mlir::ImplicitLocOpBuilder &b, RegionAccess &access,
              const FragmentIndexer &indexer, mlir::Type element,
              mlir::Value padding, int64_t first, int64_t count, bool masked);
/// Loads all registers of a fragment. Registers whose element may not be
/// accessed become `padding`, or zero if it is null.
mlir::Value loadFragment(mlir::ImplicitLocOpBuilder &b, RegionAccess &access,
                         const FragmentIndexer &indexer, mlir::Type element,
                         mlir::Value padding);
/// Loads the registers of `fragment`, which have the type `element`. `padding`
/// is a scalar of the fragment's own type, or null.
mlir::Value loadElements(mlir::ImplicitLocOpBuilder &b, RegionAccess &access,
                         const FragmentIndexer &indexer,
                         mlir::RankedTensorType fragment, mlir::Type element,
                         mlir::Value padding);
/// Stores the registers of a fragment whose elements may be accessed.
void storeFragment(mlir::ImplicitLocOpBuilder &b, RegionAccess &access,
                   const FragmentIndexer &indexer, mlir::Value vector);

/// Returns indices and mask of a gather or scatter for each register of the
/// accessed fragment. `operands` are the converted ones. Fails with an error if
/// they are not spread over the threads like that fragment.
mlir::FailureOr<ElementPlacement> getPlacement(mlir::ImplicitLocOpBuilder &b,
                                               tile::IndexedOpInterface op,
                                               mlir::ValueRange operands);

/// Returns the registers of a fragment, a vector, in another layout. All
/// elements move by shuffles among the lanes of a warp.
mlir::Value createWarpExchange(mlir::ImplicitLocOpBuilder &b,
                               const TargetLowering &target,
                               const WarpExchange &exchange, mlir::Value vector,
                               mlir::Value threadId);

} // namespace tilews

#endif // TILEWS_CONVERSION_COMMON_EMIT_H
