//===- Reduction.h - Combining elements -------------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What reductions and scans share.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_CONVERSION_COMMON_REDUCTION_H
#define TILEWS_LIB_CONVERSION_COMMON_REDUCTION_H

#include "tilews/Conversion/Common/Patterns.h"
#include "tilews/Layout/AxisDigits.h"

namespace tilews {

/// The combination of two values, or of two vectors.
mlir::Value createCombine(mlir::ImplicitLocOpBuilder &b,
                          tile::ReductionKind kind, mlir::Value lhs,
                          mlir::Value rhs);

/// The value that leaves others as they are. NaN does so for the floating
/// point maximum and minimum, even if all elements are NaN.
mlir::Value createIdentity(mlir::ImplicitLocOpBuilder &b,
                           tile::ReductionKind kind, mlir::Type type);

/// The value of the lane whose number differs in the bits of `mask`, whatever
/// its width.
mlir::Value createShuffleXor(mlir::ImplicitLocOpBuilder &b,
                             const TargetLowering &target, mlir::Value value,
                             int64_t mask);

/// Gives registers past the fragment's extent along `axis` the identity.
void fillPastExtent(mlir::ImplicitLocOpBuilder &b, tile::ReductionKind kind,
                    const FragmentIndexer &indexer, int64_t axis,
                    llvm::MutableArrayRef<mlir::Value> registers);

/// The digits of the axis that a reduction or a scan combines; an error if the
/// layout has none.
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
