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

/// Makes `scf.for`, `scf.if` and `scf.while` carry cursors.
///
/// A cursor starts as the value of a `tile.cursor`. Code may be written as if
/// that value were a variable which a `tile.advance` of it changes; `carry`
/// makes each use see the value that the variable has there.
class Cursors {
public:
  explicit Cursors(mlir::RewriterBase &rewriter) : rewriter(rewriter) {}

  void add(mlir::Value initial) {
    numbers.insert({initial, unsigned(numbers.size())});
  }
  /// Whenever `of` is advanced, `last` becomes what `of` was before.
  void addLast(mlir::Value last, mlir::Value of) {
    add(last);
    lasts.insert({of, last});
  }

  /// Rewrites `region`, at whose entry all cursors have their initial values.
  void carry(mlir::Region &region);

private:
  /// The value of each cursor, by number.
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

/// Constants of type i32 at the begin of a kernel, each of which is made once.
class I32Constants {
public:
  explicit I32Constants(mlir::gpu::GPUFuncOp kernel)
      : block(&kernel.getBody().front()) {}

  mlir::Value get(mlir::OpBuilder &b, int64_t value);

private:
  mlir::Block *block;
  llvm::DenseMap<int64_t, mlir::Value> values;
};

/// A cursor as two i32: the slot, and its phase as 0 or 1.
struct CursorNumbers {
  mlir::Value slot, phase;
};
/// The numbers of a cursor, which `lowerCursors` puts in the place of a cast.
CursorNumbers castCursor(mlir::ImplicitLocOpBuilder &b, mlir::Value cursor);
/// Fails with an error if something carries a cursor that `lowerCursors` does
/// not know.
mlir::LogicalResult checkCursors(mlir::gpu::GPUFuncOp kernel);
/// Makes two numbers of each cursor. No operation may be left that uses one but
/// those that carry and advance it, and casts.
mlir::LogicalResult lowerCursors(mlir::gpu::GPUFuncOp kernel,
                                 I32Constants &constants);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_UTILS_CURSORS_H
