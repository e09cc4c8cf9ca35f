//===- ViewedRegions.h - Accesses through parts of buffers ------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_SYMBOLIC_VIEWEDREGIONS_H
#define TILEWS_LIB_VERIFIER_SYMBOLIC_VIEWEDREGIONS_H

#include "tilews/Dialect/Tile/Analysis/Memory/SharedBuffers.h"

namespace tilews::verifier {

/// The elements that an access names, in the memory that `tile.subview` has
/// taken its operand from.
///
/// Example:
///
///     %h = tile.subview %s[8, 0] [8, 16]
///     tile.copy %A[%k] to %h[%i, 0] [1, 16]
///
/// is an access to row %i + 8 of %s: offsets %i and 0, starts 8 and 0.
struct ViewedRegion {
  /// An allocation, a slot, or a `tile.view` of one; the operand itself if it
  /// is no part of another memory.
  mlir::Value memory;
  /// An element of each dimension is at the sum of both, or one of the next.
  llvm::SmallVector<mlir::OpFoldResult> offsets;
  llvm::SmallVector<int64_t> starts;
  llvm::SmallVector<int64_t> sizes;
  /// Whether some elements may be outside of a part, and not be accessed.
  bool mayBeCut = false;

  /// The offsets that are no constants.
  llvm::SmallVector<mlir::Value> getValues() const;
};

/// The region of an access; nullopt if its elements are not known, or if it is
/// to a `tile.view` of a part.
std::optional<ViewedRegion> getViewedRegion(const tile::SharedAccess &access);

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_SYMBOLIC_VIEWEDREGIONS_H
