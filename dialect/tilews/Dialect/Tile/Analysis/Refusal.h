//===- Refusal.h - Reasons to refuse a transformation -----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_REFUSAL_H
#define TILEWS_DIALECT_TILE_ANALYSIS_REFUSAL_H

#include "mlir/IR/Operation.h"

#include <optional>
#include <string>

namespace tilews::tile {

/// The reason why an analysis does not allow a transformation. The pass turns
/// it into a remark, for instance tile-pipe-0003: "'tile.copy' is not started
/// ahead of time: the loop writes memory that it reads".
struct Refusal {
  /// The operation that stands in the way.
  mlir::Operation *op;
  /// The number of the remark in the family of the transformation.
  unsigned id;
  std::string reason;
  /// A second operation that takes part, such as the one that writes; or null.
  mlir::Operation *other = nullptr;
  /// The loop that the refusal is about, if the kernel has several; or null.
  mlir::Operation *loop = nullptr;
};
using MaybeRefusal = std::optional<Refusal>;

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_REFUSAL_H
