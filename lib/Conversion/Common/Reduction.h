//===- Reduction.h - Combining elements -------------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parts of the conversion of reductions and of scans.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_CONVERSION_COMMON_REDUCTION_H
#define TILEWS_LIB_CONVERSION_COMMON_REDUCTION_H

#include "tilews/Conversion/Common/Patterns.h"
#include "tilews/Layout/AxisDigits.h"

namespace tilews {

/// Combines two values, or two vectors, by the operation of `kind`.
mlir::Value createCombine(mlir::ImplicitLocOpBuilder &b,
                          tile::ReductionKind kind, mlir::Value lhs,
                          mlir::Value rhs);

/// Returns the identity of the operation: 0 for a sum. For the maximum and the
/// minimum of floats it is NaN, which is right even if all elements are NaN.
mlir::Value createIdentity(mlir::ImplicitLocOpBuilder &b,
                           tile::ReductionKind kind, mlir::Type type);

/// Reads a value of any width from the lane whose number differs in the bits of
/// `mask`.
mlir::Value createShuffleXor(mlir::ImplicitLocOpBuilder &b,
                             const TargetLowering &target, mlir::Value value,
                             int64_t mask);

/// Sets registers past the fragment's extent along `axis` to the identity.
void fillPastExtent(mlir::ImplicitLocOpBuilder &b, tile::ReductionKind kind,
                    const FragmentIndexer &indexer, int64_t axis,
                    llvm::MutableArrayRef<mlir::Value> registers);

/// Returns the digits of the axis that a reduction or a scan combines. Emits an
/// error if the layout does not split the axis into digits.
template <typename OpT>
llvm::FailureOr<llvm::SmallVector<AxisDigit>>
getAxisDigits(OpT op, const TargetLowering &target) {
  mlir::Type type = op.getSource().getType();
  std::optional<llvm::SmallVector<AxisDigit>> digits = getAxisDigits(
      tile::getFragmentLayout(type), op.getAxis(), target.info.warpSize);
  if (!digits)
    return op.emitError("cannot combine along axis ")
           << op.getAxis() << " of " << type
           << ": expected modes along it that begin where others end, so that "
              "each element is held once";
  return std::move(*digits);
}

} // namespace tilews

#endif // TILEWS_LIB_CONVERSION_COMMON_REDUCTION_H
