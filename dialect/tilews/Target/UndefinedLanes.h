//===- UndefinedLanes.h - Reads of registers without a value ----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_TARGET_UNDEFINEDLANES_H
#define TILEWS_TARGET_UNDEFINEDLANES_H

namespace llvm {
class Pass;
} // namespace llvm

namespace tilews {

/// Makes a pass on machine code, to run after registers were coalesced. It
/// marks operands that read a part of a register without a value:
///
///     undef %a.sub0 = COPY %b
///     %c = V_ALIGNBIT_B32 %a.sub1, ...  ->  V_ALIGNBIT_B32 undef %a.sub1, ...
llvm::Pass *createUndefinedLanesPass();

/// Adds the pass to the code generators for AMD GPUs of this process.
void registerUndefinedLanesPass();

} // namespace tilews

#endif // TILEWS_TARGET_UNDEFINEDLANES_H
