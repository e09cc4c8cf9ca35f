//===- Refusal.h - Why something is declined --------------------*- C++ -*-===//
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

/// Why a kernel keeps the form it has, and at which operation.
struct Refusal {
  mlir::Operation *op;
  /// Of the remark, in the family of the transformation.
  unsigned id;
  std::string reason;
  /// Another operation that is in the way.
  mlir::Operation *other = nullptr;
  /// Which of several loops it is about.
  mlir::Operation *loop = nullptr;
};
using MaybeRefusal = std::optional<Refusal>;

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_REFUSAL_H
