//===- SmallTypes.h - Registers of elements of at most 8 bits ---*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the conversions of small integers and of small floats share: the widths
// of registers, and elements of 4 bits of which two are converted at once.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_CONVERSION_COMMON_SMALLTYPES_H
#define TILEWS_LIB_CONVERSION_COMMON_SMALLTYPES_H

#include "tilews/Conversion/Common/Patterns.h"

namespace tilews {

/// Returns the vector type `type` with other elements.
mlir::Type withElements(mlir::Type type, mlir::Type element);

/// Returns a floating point constant, in all elements of a vector.
mlir::Value createNumber(mlir::ImplicitLocOpBuilder &b, mlir::Type type,
                         double value);

/// Returns integers of another width, without sign.
mlir::Value resizeIntegers(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                           mlir::Type to);
/// Returns the lowest `width` bits of integers, and zeros above them.
mlir::Value maskBits(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                     unsigned width);
/// Converts between floating point types that LLVM has.
mlir::Value resizeFloats(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                         mlir::Type element);

/// Returns whether elements of 4 bits fill words of 32 bits.
bool fillsWords(mlir::Value vector);
/// Converts elements of 4 bits to halves. `convert` gets a word with eight of
/// them, and the place `k` from 0 to 3 of elements `k` and `k + 4`; it returns
/// two numbers of 16 bits in one i32.
mlir::Value
convertNibbles(mlir::ImplicitLocOpBuilder &b, mlir::Value vector,
               mlir::FloatType half,
               llvm::function_ref<mlir::Value(mlir::Value, unsigned)> convert);
/// Returns the bits of both halves of a word that `mask` keeps after they were
/// moved left, or right if `left` is negative.
mlir::Value moveBits(mlir::ImplicitLocOpBuilder &b, mlir::Value word, int left,
                     uint32_t mask);

/// Conversions from and to floating point types of at most 8 bits.
void populateSmallFloatPatterns(const TileTypeConverter &converter,
                                LoweringContext &lowering,
                                mlir::RewritePatternSet &patterns);

} // namespace tilews

#endif // TILEWS_LIB_CONVERSION_COMMON_SMALLTYPES_H
