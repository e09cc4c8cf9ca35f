//===- GlobalOrder.h - Accesses of roles to global memory -------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_GLOBALORDER_H
#define TILEWS_LIB_VERIFIER_GLOBALORDER_H

#include "Verifier/Engine/Rules.h"

namespace tilews::verifier {

/// Finds a read of global memory whose order with a write of the same kernel
/// the rules do not follow; nullopt if there is none.
///
/// Example:
///
///     tile.role @math { tile.store %x to %C[%i] }
///     tile.role @load { tile.copy %C[%j] to %a {tile.inst = #tile.inst<tma>} }
///
/// The finding is the copy, with the store as the other operation.
std::optional<Finding> findUnfollowedRead(mlir::gpu::GPUFuncOp kernel);

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_GLOBALORDER_H
