//===- Layout.h - C interface of the layouts --------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layouts without IR, as in tilews/Layout. The caller destroys each layout that
// a function returns. Arguments must be valid: positive extents, strides and
// dimensions that are not negative, coordinates inside the layout.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_C_LAYOUT_H
#define TILEWS_C_LAYOUT_H

#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TilewsMode {
  int64_t extent;
  int64_t stride;
  int64_t dim;
} TilewsMode;

typedef struct TilewsSwizzle {
  int64_t bits;
  int64_t base;
  int64_t shift;
} TilewsSwizzle;

typedef struct TilewsSharedLayout {
  void *ptr;
} TilewsSharedLayout;

typedef struct TilewsFragmentLayout {
  void *ptr;
} TilewsFragmentLayout;

/// A matrix instruction with the layouts of its operands; `rhs` is null if the
/// right operand is always in shared memory.
typedef struct TilewsMma {
  int64_t m, n, k;
  TilewsFragmentLayout lhs, rhs, acc;
} TilewsMma;

//===----------------------------------------------------------------------===//
// Shared layouts
//===----------------------------------------------------------------------===//

/// `modes` must be grouped by dimension.
MLIR_CAPI_EXPORTED TilewsSharedLayout tilewsSharedLayoutCreate(
    intptr_t numModes, const TilewsMode *modes, TilewsSwizzle swizzle);
MLIR_CAPI_EXPORTED TilewsSharedLayout
tilewsSharedLayoutRowMajor(intptr_t rank, const int64_t *shape);
MLIR_CAPI_EXPORTED TilewsSharedLayout tilewsSharedLayoutPanels(
    intptr_t rank, const int64_t *shape, int64_t elementBits, int64_t spanBytes,
    int64_t chunkBytes);
MLIR_CAPI_EXPORTED TilewsSharedLayout
tilewsSharedLayoutPadded(intptr_t rank, const int64_t *shape,
                         int64_t elementBits, int64_t chunkBytes);
MLIR_CAPI_EXPORTED void tilewsSharedLayoutDestroy(TilewsSharedLayout layout);

MLIR_CAPI_EXPORTED intptr_t
tilewsSharedLayoutGetNumModes(TilewsSharedLayout layout);
MLIR_CAPI_EXPORTED TilewsMode
tilewsSharedLayoutGetMode(TilewsSharedLayout layout, intptr_t index);
MLIR_CAPI_EXPORTED TilewsSwizzle
tilewsSharedLayoutGetSwizzle(TilewsSharedLayout layout);
MLIR_CAPI_EXPORTED int64_t
tilewsSharedLayoutGetOffset(TilewsSharedLayout layout, intptr_t rank,
                            const int64_t *coords, int64_t elementBits);
MLIR_CAPI_EXPORTED int64_t
tilewsSharedLayoutGetCosize(TilewsSharedLayout layout, int64_t elementBits);
MLIR_CAPI_EXPORTED int64_t
tilewsSharedLayoutGetContiguity(TilewsSharedLayout layout, int64_t elementBits);
/// Returns a null layout if there is none.
MLIR_CAPI_EXPORTED TilewsSharedLayout
tilewsSharedLayoutView(TilewsSharedLayout layout, intptr_t rank,
                       const int64_t *shape, int64_t fromBits, int64_t toBits);

//===----------------------------------------------------------------------===//
// Fragment layouts
//===----------------------------------------------------------------------===//

MLIR_CAPI_EXPORTED TilewsFragmentLayout tilewsFragmentLayoutCreate(
    intptr_t numThreadModes, const TilewsMode *threadModes,
    intptr_t numValueModes, const TilewsMode *valueModes);
MLIR_CAPI_EXPORTED TilewsFragmentLayout tilewsFragmentLayoutBlocked(
    intptr_t rank, const int64_t *shape, int64_t threads, int64_t vector);
MLIR_CAPI_EXPORTED void
tilewsFragmentLayoutDestroy(TilewsFragmentLayout layout);

MLIR_CAPI_EXPORTED intptr_t
tilewsFragmentLayoutGetNumModes(TilewsFragmentLayout layout, bool ofThread);
MLIR_CAPI_EXPORTED TilewsMode tilewsFragmentLayoutGetMode(
    TilewsFragmentLayout layout, bool ofThread, intptr_t index);
/// Writes `rank` coordinates.
MLIR_CAPI_EXPORTED void
tilewsFragmentLayoutGetCoords(TilewsFragmentLayout layout, int64_t thread,
                              int64_t value, intptr_t rank, int64_t *coords);
MLIR_CAPI_EXPORTED int64_t
tilewsFragmentLayoutGetContiguity(TilewsFragmentLayout layout, int64_t dim);
MLIR_CAPI_EXPORTED TilewsFragmentLayout
tilewsFragmentLayoutCoalesce(TilewsFragmentLayout layout);
MLIR_CAPI_EXPORTED TilewsFragmentLayout
tilewsFragmentLayoutCollapseDim(TilewsFragmentLayout layout, int64_t dim);
MLIR_CAPI_EXPORTED TilewsFragmentLayout
tilewsFragmentLayoutDropDim(TilewsFragmentLayout layout, int64_t dim);
MLIR_CAPI_EXPORTED TilewsFragmentLayout
tilewsFragmentLayoutInsertDim(TilewsFragmentLayout layout, int64_t dim);
MLIR_CAPI_EXPORTED TilewsFragmentLayout tilewsFragmentLayoutTranspose(
    TilewsFragmentLayout layout, intptr_t rank, const int64_t *permutation);
/// Returns a null layout if there is none.
MLIR_CAPI_EXPORTED TilewsFragmentLayout tilewsFragmentLayoutReshape(
    TilewsFragmentLayout layout, intptr_t fromRank, const int64_t *from,
    intptr_t toRank, const int64_t *to);

//===----------------------------------------------------------------------===//
// Matrix instructions
//===----------------------------------------------------------------------===//

/// Returns mma.sync for operands of 8, 16, 32 or 64 bits.
MLIR_CAPI_EXPORTED TilewsMma tilewsMmaSync(int64_t operandBits);
MLIR_CAPI_EXPORTED TilewsMma tilewsWgmma(int64_t n, int64_t operandBits);
MLIR_CAPI_EXPORTED TilewsMma tilewsMfma(int64_t size, int64_t k);
MLIR_CAPI_EXPORTED TilewsMma tilewsMfmaSmall(int64_t size, int64_t lhsBits,
                                             int64_t rhsBits);
MLIR_CAPI_EXPORTED TilewsMma tilewsWmmaGfx11(void);
MLIR_CAPI_EXPORTED TilewsMma tilewsWmmaGfx12(void);
MLIR_CAPI_EXPORTED TilewsMma tilewsMfmaF64(void);

typedef struct TilewsSparseMma {
  TilewsMma mma;
  TilewsFragmentLayout metadata;
  int64_t fieldBits, fieldK;
} TilewsSparseMma;
MLIR_CAPI_EXPORTED TilewsSparseMma tilewsMmaSp(int64_t operandBits);
MLIR_CAPI_EXPORTED TilewsSparseMma tilewsWgmmaSp(int64_t n,
                                                 int64_t operandBits);
MLIR_CAPI_EXPORTED TilewsSparseMma tilewsSmfmac(int64_t size, int64_t k,
                                                int64_t operandBits);

//===----------------------------------------------------------------------===//
// Matrices moved by warps
//===----------------------------------------------------------------------===//

typedef struct TilewsMatrixTransfer {
  int64_t matrices, rows, columns;
  TilewsFragmentLayout registers, addresses;
} TilewsMatrixTransfer;
MLIR_CAPI_EXPORTED TilewsMatrixTransfer tilewsMatrix8x8(int64_t matrices,
                                                        bool transposed);
MLIR_CAPI_EXPORTED TilewsMatrixTransfer tilewsMatrix16x16(int64_t matrices);
MLIR_CAPI_EXPORTED TilewsMatrixTransfer tilewsMatrix16x8(int64_t matrices);
/// `shape` is the index in the list 32x32b, 16x64b, 16x128b, 16x256b, 16x32bx2.
MLIR_CAPI_EXPORTED TilewsFragmentLayout
tilewsTensorMemoryTransfer(int shape, int64_t repeat);

typedef enum TilewsMmaOperand {
  TilewsMmaOperandLhs,
  TilewsMmaOperandRhs,
  TilewsMmaOperandAcc
} TilewsMmaOperand;

/// Computes the grid of warps (or warpgroups) for an M x N matmul. `shape` is 0
/// for square, 1 for all along M, 2 for all along N.
MLIR_CAPI_EXPORTED void tilewsMmaGetWarpGrid(TilewsMma mma, int64_t groups,
                                             int64_t m, int64_t n, int shape,
                                             int64_t *gridM, int64_t *gridN);
/// Returns the layout of an operand of `rows` x `columns` over a grid.
MLIR_CAPI_EXPORTED TilewsFragmentLayout
tilewsMmaGetLayout(TilewsMma mma, TilewsMmaOperand operand, int64_t gridM,
                   int64_t gridN, int64_t rows, int64_t columns);

#ifdef __cplusplus
}
#endif

#endif // TILEWS_C_LAYOUT_H
