//===- SharingFlow.h - Order of accesses that share bytes -------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_BARRIERS_SHARINGFLOW_H
#define TILEWS_LIB_VERIFIER_BARRIERS_SHARINGFLOW_H

#include "Verifier/Barriers/BarrierModel.h"

namespace tilews::verifier {

/// Whether a dataflow analysis shows that each write of a kernel without roles
/// is ordered after all accesses to other memory that shares bytes with it. A
/// proof then need not look at buffers that share bytes together. Returns false
/// where paths matter, and for kernels with roles or barriers in memory.
///
/// Example: %a and %b have the same bytes.
///
///     tile.copy %a to %C {tile.inst = #tile.inst<tma>}   // stores {%a}
///     tile.barrier {drain_copies}                        // stores {}
///     tile.store %x to %b                                // ordered
bool isSharingOrdered(const BarrierModel &model);

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_BARRIERS_SHARINGFLOW_H
