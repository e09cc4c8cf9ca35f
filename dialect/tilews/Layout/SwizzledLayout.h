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

namespace tilews {

/// Why the numbers are no swizzle.
llvm::Error checkSwizzle(Swizzle swizzle);
/// Reads `Sw<bits,base,shift>`.
llvm::Expected<Swizzle> parseSwizzle(llvm::StringRef text);
std::string toString(Swizzle swizzle);
/// The swizzle of the same bytes when its offsets, in units of `fromBits`, are
/// counted in units of `toBits`.
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
  /// Offsets are below this: the layout's reach, in whole atoms of the swizzle.
  int64_t getCosize() const;
  /// An index whose offset the swizzle changes.
  std::optional<int64_t> findSwizzled() const;
  std::string str() const;
};

llvm::Expected<SwizzledLayout> recast(const SwizzledLayout &layout,
                                      int64_t fromBits, int64_t toBits);
/// The elements that stay at fixed coordinates.
llvm::Expected<SwizzledLayout> slice(const SwizzledLayout &layout,
                                     const IntTuple &coord);
/// Versions of a buffer; a slot is a multiple of the swizzle's atom.
llvm::Expected<SwizzledLayout> expand(const SwizzledLayout &layout,
                                      int64_t count, int64_t alignment);

/// One dimension of a shared buffer, without its swizzle.
llvm::Expected<Layout> getDimLayout(const SharedLayout &layout, int64_t dim);
/// A shared buffer's layout in elements of `elementBits`: one mode a dimension.
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

/// The layout of `count` versions of a shared buffer behind a new leading
/// dimension. A slot is a multiple of the swizzle's atom and of 128 bytes,
/// where TMA copies to.
llvm::Expected<SharedLayout> expand(const SharedLayout &layout, int64_t count,
                                    int64_t elementBits);
/// The layout of each version of such a buffer, or why they have none of their
/// own.
llvm::Expected<SharedLayout> getSlotLayout(const SharedLayout &layout,
                                           int64_t elementBits);

/// A fragment's layout as (thread, value) -> number of the element in a box of
/// `shape`, row by row.
llvm::Expected<Layout> getThreadValueLayout(const FragmentLayout &layout,
                                            llvm::ArrayRef<int64_t> shape);
llvm::Expected<FragmentLayout> getFragmentLayout(const Layout &layout,
                                                 llvm::ArrayRef<int64_t> shape);

/// How the accesses of threads to shared memory fall on its banks.
struct BankConflicts {
  int64_t phases = 0;     // groups of threads that are served together
  int64_t wavefronts = 0; // cycles they need in all
  int64_t degree = 1;     // the most words that one bank serves in a phase
  /// Threads of the worst phase that need different words of one bank.
  std::optional<std::pair<int64_t, int64_t>> clash;
};
/// The conflicts of one access of `bytes` (a power of two up to 16) by each
/// thread of a warp, at these byte offsets. There are 32 banks of 4 bytes;
/// 8-byte accesses are served by 16 threads at a time, 16-byte accesses by 8.
llvm::Expected<BankConflicts>
getBankConflicts(llvm::ArrayRef<int64_t> byteOffsets, int64_t bytes);
/// The worst access of a layout (thread, value) whose threads access `vector`
/// values at a time, warp by warp.
llvm::Expected<BankConflicts> getBankConflicts(const SwizzledLayout &layout,
                                               int64_t elementBits,
                                               int64_t vector,
                                               int64_t warpSize);

} // namespace tilews

#endif // TILEWS_LAYOUT_SWIZZLEDLAYOUT_H
