//===- DeviceVariables.h - What a launch shares with kernels ----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_CONVERSION_COMMON_DEVICEVARIABLES_H
#define TILEWS_CONVERSION_COMMON_DEVICEVARIABLES_H

#include "tilews/Conversion/Common/TargetLowering.h"

namespace tilews {

/// Two i32 in the memory of the GPU: the number of lines that were printed
/// since the launch, and their limit.
inline constexpr llvm::StringLiteral kPrintedVariable = "__tilews_printed";
/// The address of a `FailureReport` that the host can read, as an i64; 0 if
/// nobody reads it. The attribute `kAssertions` on the variable has a
/// dictionary for each assertion: `message`, and `shape` for fragments.
inline constexpr llvm::StringLiteral kFailureVariable = "__tilews_failure";
inline constexpr llvm::StringLiteral kAssertions = "assertions";

/// Escapes a text for a format of printf.
std::string escapeFormat(llvm::StringRef text);

/// Returns the coordinates of the block, three i32.
llvm::SmallVector<mlir::Value>
getBlockCoordinates(mlir::ImplicitLocOpBuilder &b,
                    const TargetLowering &target);

/// Counts a line that is about to be printed. Returns the number of lines
/// before it, and their limit.
std::pair<mlir::Value, mlir::Value>
countPrintedLine(mlir::ImplicitLocOpBuilder &b);

/// Adds an assertion to the list. Returns its number.
int64_t addAssertion(mlir::ImplicitLocOpBuilder &b, llvm::StringRef message,
                     std::optional<llvm::ArrayRef<int64_t>> shape);

/// Reports that an assertion failed at an element of its fragment, an i64 of
/// row major order; null for a scalar. The first report since the launch stays:
///
///   word 0: 1 in bit 63, the block's y in 16 bits and x in 31, the number of
///           the assertion in 16 bits
///   word 1: the block's z in 16 bits, and in 48 bits the element plus 1
void reportFailure(mlir::ImplicitLocOpBuilder &b, const TargetLowering &target,
                   int64_t assertion, mlir::Value element);

} // namespace tilews

#endif // TILEWS_CONVERSION_COMMON_DEVICEVARIABLES_H
