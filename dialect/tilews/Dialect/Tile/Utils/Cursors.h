//===- Cursors.h - Cursors that control flow carries ------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_UTILS_CURSORS_H
#define TILEWS_DIALECT_TILE_UTILS_CURSORS_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"

namespace tilews::tile {

/// Makes `scf.for`, `scf.if` and `scf.while` carry cursors: SSA construction
/// for cursors that passes write as variables.
///
/// A pass uses the result of a `tile.cursor` everywhere, as if each
/// `tile.advance` of it changed its value. `carry` then rewrites every use to
/// the value that reaches it:
///
///   scf.for ... {                   %r = scf.for ... iter_args(%p = %c) {
///     tile.wait %ch[%c]               tile.wait %ch[%p]
///     tile.advance %c                 %n = tile.advance %p
///   }                                 scf.yield %n
///                                   }
///   tile.wait %ch[%c]               tile.wait %ch[%r]
class Cursors {
public:
  explicit Cursors(mlir::RewriterBase &rewriter) : rewriter(rewriter) {}

  /// Adds a cursor, given by the `tile.cursor` that is its initial value.
  void add(mlir::Value initial) {
    numbers.insert({initial, unsigned(numbers.size())});
  }
  /// Adds a cursor `last` with the value that `of` had before its last
  /// `tile.advance`.
  void addLast(mlir::Value last, mlir::Value of) {
    add(last);
    lasts.insert({of, last});
  }

  /// Rewrites the uses in `region`. All cursors have their initial values at
  /// its entry.
  void carry(mlir::Region &region);

private:
  /// The current value of each cursor, by its index.
  using State = llvm::SmallVector<mlir::Value>;
  using Numbers = llvm::SmallVector<unsigned>;

  void visit(mlir::Block &block, State &state);
  void visit(mlir::Operation *op, State &state);
  Numbers getAssigned(mlir::Operation *op) const;
  mlir::Operation *extend(mlir::Operation *op, const Numbers &carried,
                          const State &state);
  void visitBranch(mlir::Region &region, const Numbers &carried, State state,
                   unsigned firstArgument);

  mlir::RewriterBase &rewriter;
  llvm::MapVector<mlir::Value, unsigned> numbers;
  llvm::DenseMap<mlir::Value, mlir::Value> lasts;
};

/// Constants of type i32 at the start of a kernel. Each is created once.
class I32Constants {
public:
  explicit I32Constants(mlir::gpu::GPUFuncOp kernel)
      : block(&kernel.getBody().front()) {}

  mlir::Value get(mlir::OpBuilder &b, int64_t value);

private:
  mlir::Block *block;
  llvm::DenseMap<int64_t, mlir::Value> values;
};

/// A cursor as two values of type i32: the slot, and the phase (0 or 1).
struct CursorNumbers {
  mlir::Value slot, phase;
};
/// Returns the numbers of a cursor as an unrealized cast, which `lowerCursors`
/// resolves.
CursorNumbers castCursor(mlir::ImplicitLocOpBuilder &b, mlir::Value cursor);
/// Fails with an error if an operation carries a cursor that `lowerCursors`
/// cannot convert, such as a call.
mlir::LogicalResult checkCursors(mlir::gpu::GPUFuncOp kernel);
/// Converts each cursor to its two numbers. Cursors may be used only by
/// operations that carry or advance them, and by casts of `castCursor`.
mlir::LogicalResult lowerCursors(mlir::gpu::GPUFuncOp kernel,
                                 I32Constants &constants);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_UTILS_CURSORS_H
