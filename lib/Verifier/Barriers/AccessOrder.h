//===- AccessOrder.h - Accesses that no barrier has ordered ----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_BARRIERS_ACCESSORDER_H
#define TILEWS_LIB_VERIFIER_BARRIERS_ACCESSORDER_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace tilews::verifier {

/// A set of accesses, by number.
using AccessSet = llvm::SmallBitVector;

/// Adds a number to a set, which grows if need be.
inline void insert(AccessSet &set, unsigned number) {
  if (set.size() <= number)
    set.resize(number + 1);
  set.set(number);
}

/// The accesses of a kernel's threads to some memory. Equal accesses have one
/// number.
///
/// Example: 0 is a load of %a, 1 a store to it. They conflict, and so do two
/// stores.
///
///     %x = tile.load %a        // makes {0}, leaves {0}
///     tile.store %y to %a      // makes {1}, leaves {1}
struct NumberedAccesses {
  /// What one operation does. The accesses that it leaves are those that other
  /// threads may still be at after it.
  struct Own {
    AccessSet makes, leaves;
    /// All threads of its task synchronize after `makes`.
    bool synchronizes = false;
  };

  llvm::MapVector<mlir::Operation *, Own> ofOps;
  /// By number: the accesses that have to be ordered before it.
  llvm::SmallVector<AccessSet, 0> conflicts;
  /// Accesses by asynchronous copies, which end where these are drained. Those
  /// by cp.async also end where a task waits for their group.
  AccessSet copies, cpAsync;
};

/// An access that may be made while another one is open.
struct AccessConflict {
  mlir::Operation *op;
  unsigned access, open;
};

/// Finds the first access in the kernel that conflicts with one that is not
/// ordered before it, by a barrier of the task's threads; nullopt if there is
/// none. An access by a copy has to be drained before that barrier, too, or
/// waited for.
///
/// Example: the load is a conflict, with the store.
///
///     tile.store %x to %a
///     scf.if %on {
///       tile.barrier
///     }
///     %y = tile.load %a
std::optional<AccessConflict>
findUnorderedConflict(mlir::gpu::GPUFuncOp kernel,
                      const NumberedAccesses &accesses);

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_BARRIERS_ACCESSORDER_H
