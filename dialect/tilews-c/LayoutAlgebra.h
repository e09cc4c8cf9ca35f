//===- LayoutAlgebra.h - C interface of the layout algebra ------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hierarchical shape:stride layouts, possibly after a swizzle, as in
// tilews/Layout/SwizzledLayout.h. Tuples are passed as text, such as
// `((2,4),8)` or, where places may be open, `(_,3)`.
//
// A function that fails returns a null layout, or false, and reports one
// message. The caller destroys each layout that a function returns.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_C_LAYOUTALGEBRA_H
#define TILEWS_C_LAYOUTALGEBRA_H

#include "tilews-c/Layout.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TilewsLayout {
  void *ptr;
} TilewsLayout;

/// Receives the message of a failure.
typedef struct TilewsReport {
  MlirStringCallback callback;
  void *userData;
} TilewsReport;

MLIR_CAPI_EXPORTED TilewsLayout tilewsLayoutParse(MlirStringRef text,
                                                  TilewsReport report);
MLIR_CAPI_EXPORTED void tilewsLayoutDestroy(TilewsLayout layout);
MLIR_CAPI_EXPORTED void tilewsLayoutPrint(TilewsLayout layout,
                                          MlirStringCallback callback,
                                          void *userData);

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

MLIR_CAPI_EXPORTED intptr_t tilewsLayoutGetRank(TilewsLayout layout);
MLIR_CAPI_EXPORTED int64_t tilewsLayoutGetDepth(TilewsLayout layout);
MLIR_CAPI_EXPORTED int64_t tilewsLayoutGetSize(TilewsLayout layout);
MLIR_CAPI_EXPORTED int64_t tilewsLayoutGetCosize(TilewsLayout layout);
MLIR_CAPI_EXPORTED TilewsSwizzle tilewsLayoutGetSwizzle(TilewsLayout layout);
MLIR_CAPI_EXPORTED int64_t tilewsLayoutGetOffset(TilewsLayout layout);
MLIR_CAPI_EXPORTED void tilewsLayoutPrintShape(TilewsLayout layout,
                                               MlirStringCallback callback,
                                               void *userData);
MLIR_CAPI_EXPORTED void tilewsLayoutPrintStride(TilewsLayout layout,
                                                MlirStringCallback callback,
                                                void *userData);
/// Returns a mode of the layout, without swizzle and offset.
MLIR_CAPI_EXPORTED TilewsLayout tilewsLayoutGetMode(TilewsLayout layout,
                                                    intptr_t index);
/// Computes the offset at a coordinate.
MLIR_CAPI_EXPORTED bool tilewsLayoutAt(TilewsLayout layout, MlirStringRef coord,
                                       int64_t *offset, TilewsReport report);
/// Prints the coordinate of an index from 0 to the size, exclusive.
MLIR_CAPI_EXPORTED void tilewsLayoutPrintCoord(TilewsLayout layout,
                                               int64_t index,
                                               MlirStringCallback callback,
                                               void *userData);
/// Writes the offset of every index.
MLIR_CAPI_EXPORTED void tilewsLayoutGetOffsets(TilewsLayout layout,
                                               int64_t *offsets);

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

typedef enum TilewsLayoutUnary {
  TilewsLayoutCoalesce,
  TilewsLayoutCoalesceModes,
  TilewsLayoutFlatten,
  TilewsLayoutRightInverse,
  TilewsLayoutLeftInverse
} TilewsLayoutUnary;

typedef enum TilewsLayoutBinary {
  TilewsLayoutCompose,
  TilewsLayoutLogicalDivide,
  TilewsLayoutLogicalProduct,
  TilewsLayoutBlockedProduct,
  TilewsLayoutRakedProduct
} TilewsLayoutBinary;

/// Operations with a tiler for each of the first modes.
typedef enum TilewsLayoutByMode {
  TilewsLayoutByModeCompose,
  TilewsLayoutByModeLogicalDivide,
  TilewsLayoutByModeZippedDivide,
  TilewsLayoutByModeTiledDivide
} TilewsLayoutByMode;

MLIR_CAPI_EXPORTED TilewsLayout tilewsLayoutTransform(TilewsLayoutUnary kind,
                                                      TilewsLayout layout,
                                                      TilewsReport report);
MLIR_CAPI_EXPORTED TilewsLayout tilewsLayoutCombine(TilewsLayoutBinary kind,
                                                    TilewsLayout layout,
                                                    TilewsLayout other,
                                                    TilewsReport report);
MLIR_CAPI_EXPORTED TilewsLayout tilewsLayoutTile(TilewsLayoutByMode kind,
                                                 TilewsLayout layout,
                                                 intptr_t numTilers,
                                                 const TilewsLayout *tilers,
                                                 TilewsReport report);
MLIR_CAPI_EXPORTED TilewsLayout tilewsLayoutComplement(TilewsLayout layout,
                                                       int64_t size,
                                                       TilewsReport report);
MLIR_CAPI_EXPORTED TilewsLayout tilewsLayoutRecast(TilewsLayout layout,
                                                   int64_t fromBits,
                                                   int64_t toBits,
                                                   TilewsReport report);
/// Slices with an offset keep it in the result.
MLIR_CAPI_EXPORTED TilewsLayout tilewsLayoutSlice(TilewsLayout layout,
                                                  MlirStringRef coord,
                                                  TilewsReport report);
MLIR_CAPI_EXPORTED TilewsLayout tilewsLayoutExpand(TilewsLayout layout,
                                                   int64_t count,
                                                   int64_t alignment,
                                                   TilewsReport report);

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

/// Prints two coordinates with the same offset; the offset is -1 if there are
/// none. Returns false on failure.
MLIR_CAPI_EXPORTED bool
tilewsLayoutFindCollision(TilewsLayout layout, int64_t *offset,
                          MlirStringCallback first, MlirStringCallback second,
                          void *userData, TilewsReport report);
/// Returns the smallest offset below the cosize that is not reached, or -1. The
/// layout must have no swizzle and no offset.
MLIR_CAPI_EXPORTED int64_t tilewsLayoutFindGap(TilewsLayout layout);
/// Returns an index whose offset the swizzle changes, or -1.
MLIR_CAPI_EXPORTED int64_t tilewsLayoutFindSwizzled(TilewsLayout layout);
/// Returns false on failure. Both layouts must have no swizzle and no offset.
MLIR_CAPI_EXPORTED bool
tilewsLayoutGetCommonVector(TilewsLayout a, TilewsLayout b, int64_t limit,
                            int64_t *vector, TilewsReport report);

typedef struct TilewsBankConflicts {
  int64_t phases, wavefronts, degree;
  int64_t first, second; // threads that clash, or -1
} TilewsBankConflicts;

/// How a chip accesses its shared memory. Without a name it is one of NVIDIA.
typedef struct TilewsSharedAccess {
  MlirStringRef chip;
  bool isWrite;
} TilewsSharedAccess;

/// Computes the worst access of a layout (thread, value) by vectors of values.
MLIR_CAPI_EXPORTED bool
tilewsLayoutGetBankConflicts(TilewsLayout layout, int64_t elementBits,
                             int64_t vector, int64_t warpSize,
                             TilewsSharedAccess access,
                             TilewsBankConflicts *result, TilewsReport report);
/// Computes the conflicts of one access of `bytes` by each thread, at the given
/// byte offsets; threads with an offset below zero access nothing.
MLIR_CAPI_EXPORTED bool
tilewsGetBankConflicts(intptr_t numThreads, const int64_t *byteOffsets,
                       int64_t bytes, TilewsSharedAccess access,
                       TilewsBankConflicts *result, TilewsReport report);

//===----------------------------------------------------------------------===//
// Layouts of attributes
//===----------------------------------------------------------------------===//

MLIR_CAPI_EXPORTED TilewsLayout tilewsLayoutFromShared(
    TilewsSharedLayout layout, int64_t elementBits, TilewsReport report);
MLIR_CAPI_EXPORTED TilewsSharedLayout tilewsLayoutToShared(TilewsLayout layout,
                                                           int64_t elementBits,
                                                           TilewsReport report);
/// Return the layout of versions of a shared buffer, and that of one version.
MLIR_CAPI_EXPORTED TilewsSharedLayout
tilewsSharedLayoutExpand(TilewsSharedLayout layout, int64_t versions,
                         int64_t elementBits, TilewsReport report);
MLIR_CAPI_EXPORTED TilewsSharedLayout tilewsSharedLayoutGetSlot(
    TilewsSharedLayout layout, int64_t elementBits, TilewsReport report);
MLIR_CAPI_EXPORTED TilewsLayout
tilewsLayoutFromFragment(TilewsFragmentLayout layout, intptr_t rank,
                         const int64_t *shape, TilewsReport report);
MLIR_CAPI_EXPORTED TilewsFragmentLayout
tilewsLayoutToFragment(TilewsLayout layout, intptr_t rank, const int64_t *shape,
                       TilewsReport report);

#ifdef __cplusplus
}
#endif

#endif // TILEWS_C_LAYOUTALGEBRA_H
