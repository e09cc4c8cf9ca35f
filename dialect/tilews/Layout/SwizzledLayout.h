//===- SwizzledLayout.h - Layouts followed by a swizzle ---------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The composition of an XOR swizzle with a layout of the algebra, and its
// connection to the layouts that attributes hold: those of shared buffers and
// of fragments.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LAYOUT_SWIZZLEDLAYOUT_H
#define TILEWS_LAYOUT_SWIZZLEDLAYOUT_H

#include "tilews/Layout/Algebra.h"
#include "tilews/Layout/Layout.h"
#include "tilews/Layout/SharedBanks.h"

namespace tilews {

/// Fails if the numbers are not a valid swizzle.
llvm::Error checkSwizzle(Swizzle swizzle);
/// Returns `Sw<bits,base,shift>`.
std::string toString(Swizzle swizzle);
/// Converts a swizzle of offsets in units of `fromBits` to units of `toBits`.
/// It permutes the same bytes.
llvm::Expected<Swizzle> recast(Swizzle swizzle, int64_t fromBits,
                               int64_t toBits);

/// The function c -> swizzle(offset + layout(c)), all in elements.
struct SwizzledLayout {
  Swizzle swizzle;
  int64_t offset = 0;
  Layout layout;

  /// Reads a layout, possibly after `Sw<...> o `, `offset o ` or both.
  static llvm::Expected<SwizzledLayout> parse(llvm::StringRef text);
  static llvm::Expected<SwizzledLayout> get(Swizzle swizzle, int64_t offset,
                                            Layout layout);

  int64_t operator()(int64_t index) const {
    return swizzle(offset + layout(index));
  }
  /// Returns a bound of the offsets, a multiple of the swizzle's atom.
  int64_t getCosize() const;
  /// Returns an index whose offset the swizzle changes, if there is one.
  std::optional<int64_t> findSwizzled() const;
  std::string str() const;
};

llvm::Expected<SwizzledLayout> recast(const SwizzledLayout &layout,
                                      int64_t fromBits, int64_t toBits);
/// Returns the layout of the elements with the given coordinates fixed.
llvm::Expected<SwizzledLayout> slice(const SwizzledLayout &layout,
                                     const IntTuple &coord);
/// Returns the layout of `count` versions of a buffer. The distance of versions
/// is a multiple of the swizzle's atom and of `alignment`.
llvm::Expected<SwizzledLayout> expand(const SwizzledLayout &layout,
                                      int64_t count, int64_t alignment);

/// Returns the layout of one dimension of a shared buffer, without its swizzle.
llvm::Expected<Layout> getDimLayout(const SharedLayout &layout, int64_t dim);
/// Returns a shared buffer's layout in elements of `elementBits`, with one mode
/// per dimension.
llvm::Expected<SwizzledLayout> getSwizzledLayout(const SharedLayout &layout,
                                                 int64_t elementBits);
llvm::Expected<SharedLayout> getSharedLayout(const SwizzledLayout &layout,
                                             int64_t elementBits);

/// Two elements of a shared buffer in one place.
struct SharedCollision {
  llvm::SmallVector<int64_t> first, second;
  int64_t offset; // in elements, before the swizzle
};
llvm::Expected<std::optional<SharedCollision>>
findCollision(const SharedLayout &layout);

/// Returns the layout of `count` versions of a shared buffer, with a new
/// leading dimension. The distance of versions is a multiple of the swizzle's
/// atom and of 128 bytes, the alignment that TMA needs.
llvm::Expected<SharedLayout> expand(const SharedLayout &layout, int64_t count,
                                    int64_t elementBits);
/// Returns the layout of one version of such a buffer. Fails if versions do not
/// start at multiples of the swizzle's atom.
llvm::Expected<SharedLayout> getSlotLayout(const SharedLayout &layout,
                                           int64_t elementBits);

/// Returns a fragment's layout as a function (thread, value) -> number of the
/// element in a fragment of `shape`, row by row.
llvm::Expected<Layout> getThreadValueLayout(const FragmentLayout &layout,
                                            llvm::ArrayRef<int64_t> shape);
llvm::Expected<FragmentLayout> getFragmentLayout(const Layout &layout,
                                                 llvm::ArrayRef<int64_t> shape);

/// The cost of an access to shared memory by its banks.
///
/// Example: 32 threads read 4 bytes each, 8 bytes apart: 1 phase, degree 2,
/// 2 wavefronts, and threads 0 and 16 clash.
struct BankConflicts {
  int64_t phases = 0;     // groups of threads that are served together
  int64_t wavefronts = 0; // cycles they need in all
  int64_t degree = 1;     // the most words that one bank serves in a phase
  /// Threads of the worst phase that need different words of one bank.
  std::optional<std::pair<int64_t, int64_t>> clash;
};
/// Returns the conflicts of one access of `bytes` (a power of two up to 16) by
/// each thread of a warp, at these byte offsets; a thread with an offset below
/// zero accesses nothing.
llvm::Expected<BankConflicts>
getBankConflicts(llvm::ArrayRef<int64_t> byteOffsets, int64_t bytes,
                 SharedBanks banks = {}, bool isWrite = false);
/// Returns the conflicts of the worst access of a layout (thread, value) whose
/// threads access `vector` values at a time, warp by warp.
llvm::Expected<BankConflicts> getBankConflicts(const SwizzledLayout &layout,
                                               int64_t elementBits,
                                               int64_t vector, int64_t warpSize,
                                               SharedBanks banks = {},
                                               bool isWrite = false);

} // namespace tilews

#endif // TILEWS_LAYOUT_SWIZZLEDLAYOUT_H
