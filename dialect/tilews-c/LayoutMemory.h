//===- LayoutMemory.h - C interface of derived accesses ---------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How TMA and wgmma access shared memory in a layout, as in tilews/Layout/Tma.h
// and tilews/Layout/WgmmaDescriptor.h.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_C_LAYOUTMEMORY_H
#define TILEWS_C_LAYOUTMEMORY_H

#include "tilews-c/LayoutAlgebra.h"

#ifdef __cplusplus
extern "C" {
#endif

//===----------------------------------------------------------------------===//
// TMA
//===----------------------------------------------------------------------===//

typedef struct TilewsTmaRegion {
  TilewsSharedLayout layout;
  int64_t elementBits;
  intptr_t rank;
  /// `rank` numbers each; offsets and sizes are null for the whole buffer.
  const int64_t *offsets, *sizes, *globalDims;
  int64_t globalRank, innerDim;
} TilewsTmaRegion;

typedef struct TilewsTmaBoxes {
  void *ptr;
} TilewsTmaBoxes;

MLIR_CAPI_EXPORTED TilewsTmaBoxes tilewsGetTmaBoxes(TilewsTmaRegion region,
                                                    TilewsReport report);
MLIR_CAPI_EXPORTED void tilewsTmaBoxesDestroy(TilewsTmaBoxes boxes);
MLIR_CAPI_EXPORTED intptr_t tilewsTmaBoxesGetRank(TilewsTmaBoxes boxes);
/// Returns the global dimension of a tensor map's dimension, and the extent of
/// the box along it.
MLIR_CAPI_EXPORTED void tilewsTmaBoxesGetDim(TilewsTmaBoxes boxes, intptr_t i,
                                             int64_t *dim, int64_t *extent);
MLIR_CAPI_EXPORTED int64_t tilewsTmaBoxesGetSwizzle(TilewsTmaBoxes boxes);
MLIR_CAPI_EXPORTED intptr_t
tilewsTmaBoxesGetNumInstructions(TilewsTmaBoxes boxes);
/// Writes one coordinate per dimension, and returns the offset in shared memory
/// in bytes.
MLIR_CAPI_EXPORTED int64_t tilewsTmaBoxesGetInstruction(TilewsTmaBoxes boxes,
                                                        intptr_t i,
                                                        int64_t *coords);

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

typedef struct TilewsWgmmaDescriptor {
  bool majorK;
  int64_t swizzleBytes, leadingBytes, strideBytes, bits;
  /// The caller destroys them. Null if there is no descriptor.
  TilewsLayout starts, kStarts;
} TilewsWgmmaDescriptor;

MLIR_CAPI_EXPORTED TilewsWgmmaDescriptor tilewsGetWgmmaDescriptor(
    TilewsSharedLayout layout, int64_t elementBits, int64_t kDim,
    int64_t extent, int64_t k, TilewsReport report);

#ifdef __cplusplus
}
#endif

#endif // TILEWS_C_LAYOUTMEMORY_H
