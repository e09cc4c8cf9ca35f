//===- Promela.h - The schedule of a kernel as a Spin model -----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_TARGET_PROMELA_H
#define TILEWS_TARGET_PROMELA_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <map>
#include <string>
#include <vector>

namespace mlir {
class AsmParserState;
} // namespace mlir

namespace tilews {

/// The values for which a model is checked.
struct PromelaOptions {
  /// The largest number that a model chooses for an input without a value:
  /// tiles of an extent, or an integer. Without it, twice around the deepest
  /// ring of slots and one more.
  std::optional<int64_t> bound;
  /// Values of inputs by name; several for the elements of an argument.
  std::map<std::string, std::vector<int64_t>> values;
};

/// Writes the schedule of `kernel`, with channels or with barriers, as a model
/// in Promela (docs/promela.md). Names and comments are those of the source
/// text if `source` is what its parser recorded. Fails with an error at an
/// operation that has no model.
mlir::FailureOr<std::string>
exportPromela(mlir::gpu::GPUFuncOp kernel, const PromelaOptions &options,
              const mlir::AsmParserState *source = nullptr);

} // namespace tilews

#endif // TILEWS_TARGET_PROMELA_H
