//===- BriefPrinter.h - Short texts for results of analyses -----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_BRIEFPRINTER_H
#define TILEWS_DIALECT_TILE_ANALYSIS_BRIEFPRINTER_H

#include "mlir/IR/AsmState.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/Operation.h"

#include "llvm/Support/raw_ostream.h"

namespace tilews::tile {

/// A stream for the `print` functions of analyses. It names values as the
/// printed IR does, and prints an operation without attributes and types:
///
/// ```
/// BriefPrinter printer(kernel, os);
/// printer << alloc.getBuffer() << " is written by " << copy << "\n";
/// // %3 is written by tile.copy %arg0, %3, %c0
/// ```
class BriefPrinter {
public:
  /// Values are named as in the isolated operation (the kernel) that `scope`
  /// is or lies in.
  BriefPrinter(mlir::Operation *scope, llvm::raw_ostream &os);

  template <typename T>
  BriefPrinter &operator<<(const T &piece) {
    if constexpr (std::is_base_of_v<mlir::OpState, T> ||
                  std::is_convertible_v<T, mlir::Operation *>)
      printOp(piece);
    else if constexpr (std::is_base_of_v<mlir::Value, T>)
      printValue(piece);
    else
      os << piece;
    return *this;
  }

  /// The stream itself, for what prints without names.
  llvm::raw_ostream &getStream() { return os; }

private:
  void printOp(mlir::Operation *op);
  void printValue(mlir::Value value);

  llvm::raw_ostream &os;
  mlir::AsmState names;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_BRIEFPRINTER_H
