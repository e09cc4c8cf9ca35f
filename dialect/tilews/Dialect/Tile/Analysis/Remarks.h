//===- Remarks.h - Remarks, and the refusals that they report ---*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_REMARKS_H
#define TILEWS_DIALECT_TILE_ANALYSIS_REMARKS_H

#include "mlir/IR/Diagnostics.h"
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

/// Begins a remark at `op`. The text starts with an id, which docs/remarks.md
/// explains. Use this and not `op->emitRemark()`, which attaches `op` as text:
/// for that MLIR verifies and numbers the whole kernel, so that n remarks take
/// n^2 time, and the text of a loop hides the remark.
mlir::InFlightDiagnostic remarkAt(mlir::Operation *op,
                                  const llvm::Twine &text = {});

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_REMARKS_H
