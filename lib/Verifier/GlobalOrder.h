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

/// Finds an access to global memory that is not known to come after a
/// conflicting one of the same kernel; nullopt if there is none.
///
/// Example: a role reads what another one writes,
///
///     tile.role @math { tile.store %x to %C[%i] }
///     tile.role @load { tile.copy %C[%j] to %a {tile.inst = #tile.inst<tma>} }
///
/// or, once memory is planned, a thread what others may have written:
///
///     tile.store %x to %C[%i]
///     %y = tile.load %C[%j]    // no tile.barrier in between
std::optional<Finding> findUnorderedAccess(mlir::gpu::GPUFuncOp kernel);

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_GLOBALORDER_H
