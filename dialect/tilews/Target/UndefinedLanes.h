//===- UndefinedLanes.h - Reads of registers without a value ----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_TARGET_UNDEFINEDLANES_H
#define TILEWS_TARGET_UNDEFINEDLANES_H

namespace tilews {

/// Adds a pass to the code generators for AMD GPUs of this process: after
/// registers are coalesced, operands that read a part without a value get the
/// flag `undef`:
///
///     undef %a.sub0 = COPY %b
///     %c = V_ALIGNBIT_B32 %a.sub1, ...  ->  V_ALIGNBIT_B32 undef %a.sub1, ...
void registerUndefinedLanesPass();

} // namespace tilews

#endif // TILEWS_TARGET_UNDEFINEDLANES_H
