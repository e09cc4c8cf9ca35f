//===- ThreadOrder.h - Order of the threads of one task ---------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_BARRIERS_THREADORDER_H
#define TILEWS_LIB_VERIFIER_BARRIERS_THREADORDER_H

#include "Verifier/Barriers/SharedPlaces.h"

namespace tilews::verifier {

/// Whether a dataflow analysis shows that a barrier of the threads lies between
/// conflicting accesses to planned memory without places: scratch memory, and
/// buffers that one task alone uses with ordinary accesses. A proof then need
/// not look at this memory. Returns false where paths matter.
///
/// Example:
///
///     tile.store %x to %a
///     tile.barrier
///     %y = tile.load %a    // ordered after the store
///     scf.if %on {
///       tile.barrier
///     }
///     tile.store %z to %a  // not ordered after the load
bool areThreadsOrdered(mlir::gpu::GPUFuncOp kernel, const SharedPlaces &places);

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_BARRIERS_THREADORDER_H
