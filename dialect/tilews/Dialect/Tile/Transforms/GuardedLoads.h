//===- GuardedLoads.h - Loads and stores of a copy --------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_TRANSFORMS_GUARDEDLOADS_H
#define TILEWS_DIALECT_TILE_TRANSFORMS_GUARDEDLOADS_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

namespace tilews::tile {

/// Calls `fn` with each operation in `loop` that the loaded value of `op` is
/// computed from, or that the conditions of the guards around `op` are. `op` is
/// a copy or a load, in the body of the loop or in guards.
void forEachNeed(mlir::Operation *op, mlir::scf::ForOp loop,
                 llvm::function_ref<void(mlir::Operation *)> fn);

/// Splits operations of a loop's body into a part that loads and a part that
/// does the rest. A guard is split into two:
///
/// ```mlir
/// %q = scf.if %g -> !c { acquire; copy %A[%k] to %slot; commit; yield .. }
///
/// %f = scf.if %g -> tensor<..> { yield load %A[%k] } else { yield zeros }
/// %q = scf.if %g -> !c { acquire; store %f to %slot; commit; yield .. }
/// ```
///
/// What the first part reads from memory, such as the conditions of inner
/// guards, it yields as well, so that the second part does not read it again.
class GuardedLoads {
public:
  /// `candidates` are the copies to split, which are erased, and loads that
  /// move to the first part as they are.
  GuardedLoads(mlir::RewriterBase &rewriter,
               const llvm::SetVector<mlir::Operation *> &candidates)
      : rewriter(rewriter), candidates(candidates) {}

  /// The first part comes before the rest, which is null if there is none.
  struct Parts {
    mlir::Operation *loads, *rest;
  };
  /// Splits `op`, a candidate or a guard around some. Loads get `stage`.
  Parts split(mlir::Operation *op, int64_t stage);

private:
  /// What a guard of the first part yields: the fragment of a candidate, or
  /// what replaces `original` in the rest.
  struct Carried {
    mlir::Operation *candidate;
    mlir::Value original;
    mlir::Value value;
  };

  bool containsCandidate(mlir::Operation *op) const;
  mlir::Value createLoad(CopyOp copy);
  void replace(CopyOp copy, mlir::Value fragment);
  void findNeeds(mlir::Operation *guard);
  void add(mlir::Operation *candidate, mlir::Operation *load);
  llvm::SmallVector<Carried> cloneLoads(mlir::Block &block);
  mlir::scf::IfOp splitGuard(mlir::scf::IfOp guard,
                             llvm::SmallVectorImpl<Carried> &carried);

  mlir::RewriterBase &rewriter;
  const llvm::SetVector<mlir::Operation *> &candidates;
  int64_t stage = 0;
  /// The operations of a guard that the loads in it need.
  llvm::SmallPtrSet<mlir::Operation *, 16> needs;
  mlir::IRMapping mapping;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_TRANSFORMS_GUARDEDLOADS_H
