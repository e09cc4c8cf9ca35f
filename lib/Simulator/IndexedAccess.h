//===- IndexedAccess.h - Places of gathers and scatters ---------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_INDEXEDACCESS_H
#define TILEWS_LIB_SIMULATOR_INDEXEDACCESS_H

#include "Access.h"

namespace tilews::sim {

/// Calls `fn` for each run of elements of a gather or a scatter that are
/// neighbors in the fragment and in memory and whose mask is true, until a call
/// fails. `first` is the number of the run's first element in the fragment.
///
/// Example: a gather of rows 7 and 2 of 64 columns has two runs, the boxes
/// (7, 0) and (2, 0) of 1 x 64, with the first elements 0 and 64.
mlir::LogicalResult forEachIndexedRun(
    const Frame &frame, const Instruction &inst,
    llvm::function_ref<mlir::LogicalResult(const Box &box, int64_t first)> fn);

/// Returns the buffer of a gather or a scatter, ended at its limit.
MemRef getIndexedMemRef(const Frame &frame, const Instruction &inst);

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_INDEXEDACCESS_H
