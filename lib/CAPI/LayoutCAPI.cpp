//===- LayoutCAPI.cpp - C interface of the layouts ------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layouts of shared buffers and fragments, and the tables of matrix
// instructions, in C. A handle owns a layout, and the caller destroys it.
// Arguments are not checked here: shapes, dimensions and modes must be valid,
// as the Python bindings make sure. A function that finds no layout returns a
// null handle.
//
//===----------------------------------------------------------------------===//

#include "tilews-c/Layout.h"

#include "tilews/Layout/Layout.h"
#include "tilews/Layout/MatrixTransfers.h"
#include "tilews/Layout/MmaLayouts.h"
#include "tilews/Layout/SparseMmaLayouts.h"

#include "mlir/CAPI/Wrap.h"

using namespace tilews;
using llvm::ArrayRef;
using llvm::SmallVector;

DEFINE_C_API_PTR_METHODS(TilewsSharedLayout, SharedLayout)
DEFINE_C_API_PTR_METHODS(TilewsFragmentLayout, FragmentLayout)

static SmallVector<Mode> toModes(intptr_t count, const TilewsMode *modes) {
  SmallVector<Mode> result;
  for (intptr_t i = 0; i < count; ++i)
    result.push_back({modes[i].extent, modes[i].stride, modes[i].dim});
  return result;
}

static TilewsMode toMode(const Mode &mode) {
  return {mode.extent, mode.stride, mode.dim};
}

static ArrayRef<int64_t> toArray(intptr_t count, const int64_t *data) {
  return {data, size_t(count)};
}

static TilewsSharedLayout give(const SharedLayout &layout) {
  return wrap(new SharedLayout(layout));
}

static TilewsFragmentLayout give(const FragmentLayout &layout) {
  return wrap(new FragmentLayout(layout));
}

//===----------------------------------------------------------------------===//
// Shared layouts
//===----------------------------------------------------------------------===//

TilewsSharedLayout tilewsSharedLayoutCreate(intptr_t numModes,
                                            const TilewsMode *modes,
                                            TilewsSwizzle swizzle) {
  return give(SharedLayout(toModes(numModes, modes),
                           {swizzle.bits, swizzle.base, swizzle.shift}));
}

TilewsSharedLayout tilewsSharedLayoutRowMajor(intptr_t rank,
                                              const int64_t *shape) {
  return give(SharedLayout::getRowMajor(toArray(rank, shape)));
}

TilewsSharedLayout tilewsSharedLayoutPanels(intptr_t rank, const int64_t *shape,
                                            int64_t elementBits,
                                            int64_t spanBytes,
                                            int64_t chunkBytes) {
  return give(SharedLayout::getPanels(toArray(rank, shape), elementBits,
                                      spanBytes, chunkBytes));
}

TilewsSharedLayout tilewsSharedLayoutPadded(intptr_t rank, const int64_t *shape,
                                            int64_t elementBits,
                                            int64_t chunkBytes) {
  return give(
      SharedLayout::getPadded(toArray(rank, shape), elementBits, chunkBytes));
}

void tilewsSharedLayoutDestroy(TilewsSharedLayout layout) {
  delete unwrap(layout);
}

intptr_t tilewsSharedLayoutGetNumModes(TilewsSharedLayout layout) {
  return unwrap(layout)->getModes().size();
}

TilewsMode tilewsSharedLayoutGetMode(TilewsSharedLayout layout,
                                     intptr_t index) {
  return toMode(unwrap(layout)->getModes()[index]);
}

TilewsSwizzle tilewsSharedLayoutGetSwizzle(TilewsSharedLayout layout) {
  Swizzle swizzle = unwrap(layout)->getSwizzle();
  return {swizzle.bits, swizzle.base, swizzle.shift};
}

int64_t tilewsSharedLayoutGetOffset(TilewsSharedLayout layout, intptr_t rank,
                                    const int64_t *coords,
                                    int64_t elementBits) {
  return unwrap(layout)->getOffset(toArray(rank, coords), elementBits);
}

int64_t tilewsSharedLayoutGetCosize(TilewsSharedLayout layout,
                                    int64_t elementBits) {
  return unwrap(layout)->getCosize(elementBits);
}

int64_t tilewsSharedLayoutGetContiguity(TilewsSharedLayout layout,
                                        int64_t elementBits) {
  return unwrap(layout)->getContiguity(elementBits);
}

TilewsSharedLayout tilewsSharedLayoutView(TilewsSharedLayout layout,
                                          intptr_t rank, const int64_t *shape,
                                          int64_t fromBits, int64_t toBits) {
  auto view = unwrap(layout)->view(toArray(rank, shape), fromBits, toBits);
  return view ? give(*view) : TilewsSharedLayout{nullptr};
}

//===----------------------------------------------------------------------===//
// Fragment layouts
//===----------------------------------------------------------------------===//

static ArrayRef<Mode> getModes(TilewsFragmentLayout layout, bool ofThread) {
  return ofThread ? unwrap(layout)->getThreadModes()
                  : unwrap(layout)->getValueModes();
}

TilewsFragmentLayout tilewsFragmentLayoutCreate(intptr_t numThreadModes,
                                                const TilewsMode *threadModes,
                                                intptr_t numValueModes,
                                                const TilewsMode *valueModes) {
  return give(FragmentLayout(toModes(numThreadModes, threadModes),
                             toModes(numValueModes, valueModes)));
}

TilewsFragmentLayout tilewsFragmentLayoutBlocked(intptr_t rank,
                                                 const int64_t *shape,
                                                 int64_t threads,
                                                 int64_t vector) {
  return give(getBlockedLayout(toArray(rank, shape), threads, vector));
}

void tilewsFragmentLayoutDestroy(TilewsFragmentLayout layout) {
  delete unwrap(layout);
}

intptr_t tilewsFragmentLayoutGetNumModes(TilewsFragmentLayout layout,
                                         bool ofThread) {
  return getModes(layout, ofThread).size();
}

TilewsMode tilewsFragmentLayoutGetMode(TilewsFragmentLayout layout,
                                       bool ofThread, intptr_t index) {
  return toMode(getModes(layout, ofThread)[index]);
}

void tilewsFragmentLayoutGetCoords(TilewsFragmentLayout layout, int64_t thread,
                                   int64_t value, intptr_t rank,
                                   int64_t *coords) {
  llvm::copy(unwrap(layout)->getCoords(thread, value, rank), coords);
}

int64_t tilewsFragmentLayoutGetContiguity(TilewsFragmentLayout layout,
                                          int64_t dim) {
  return unwrap(layout)->getContiguity(dim);
}

TilewsFragmentLayout tilewsFragmentLayoutCoalesce(TilewsFragmentLayout layout) {
  return give(unwrap(layout)->coalesce());
}

TilewsFragmentLayout
tilewsFragmentLayoutCollapseDim(TilewsFragmentLayout layout, int64_t dim) {
  return give(unwrap(layout)->collapseDim(dim));
}

TilewsFragmentLayout tilewsFragmentLayoutDropDim(TilewsFragmentLayout layout,
                                                 int64_t dim) {
  return give(unwrap(layout)->dropDim(dim));
}

TilewsFragmentLayout tilewsFragmentLayoutInsertDim(TilewsFragmentLayout layout,
                                                   int64_t dim) {
  return give(unwrap(layout)->insertDim(dim));
}

TilewsFragmentLayout tilewsFragmentLayoutTranspose(TilewsFragmentLayout layout,
                                                   intptr_t rank,
                                                   const int64_t *permutation) {
  return give(unwrap(layout)->transpose(toArray(rank, permutation)));
}

TilewsFragmentLayout tilewsFragmentLayoutReshape(TilewsFragmentLayout layout,
                                                 intptr_t fromRank,
                                                 const int64_t *from,
                                                 intptr_t toRank,
                                                 const int64_t *to) {
  auto result =
      unwrap(layout)->reshape(toArray(fromRank, from), toArray(toRank, to));
  return result ? give(*result) : TilewsFragmentLayout{nullptr};
}

//===----------------------------------------------------------------------===//
// Matrix instructions
//===----------------------------------------------------------------------===//

static TilewsMma give(const MmaInstruction &mma, bool hasRhs = true) {
  return {mma.m,
          mma.n,
          mma.k,
          give(mma.lhs),
          hasRhs ? give(mma.rhs) : TilewsFragmentLayout{nullptr},
          give(mma.acc)};
}

static MmaInstruction take(const TilewsMma &mma) {
  MmaInstruction result;
  result.m = mma.m;
  result.n = mma.n;
  result.k = mma.k;
  result.lhs = *unwrap(mma.lhs);
  if (mma.rhs.ptr)
    result.rhs = *unwrap(mma.rhs);
  result.acc = *unwrap(mma.acc);
  return result;
}

TilewsMma tilewsMmaSync(int64_t operandBits) {
  return give(getMmaSync(operandBits));
}
TilewsMma tilewsWgmma(int64_t n, int64_t operandBits) {
  return give(getWgmma(n, operandBits), /*hasRhs=*/false);
}
TilewsMma tilewsMfma(int64_t size, int64_t k) { return give(getMfma(size, k)); }
TilewsMma tilewsMfmaSmall(int64_t size, int64_t lhsBits, int64_t rhsBits) {
  return give(getMfmaSmall(size, lhsBits, rhsBits));
}
TilewsMma tilewsWmmaGfx11(void) { return give(getWmmaGfx11()); }
TilewsMma tilewsWmmaGfx12(void) { return give(getWmmaGfx12()); }
TilewsMma tilewsMfmaF64(void) { return give(getMfmaF64()); }

static TilewsSparseMma give(const SparseMmaInstruction &sparse,
                            bool hasRhs = true) {
  return {give(sparse.mma, hasRhs), give(sparse.metadata), sparse.fieldBits,
          sparse.fieldK};
}

TilewsSparseMma tilewsMmaSp(int64_t operandBits) {
  return give(getMmaSp(operandBits));
}
TilewsSparseMma tilewsWgmmaSp(int64_t n, int64_t operandBits) {
  return give(getWgmmaSp(n, operandBits), /*hasRhs=*/false);
}
TilewsSparseMma tilewsSmfmac(int64_t size, int64_t k, int64_t operandBits) {
  return give(getSmfmac(size, k, operandBits));
}

static TilewsMatrixTransfer give(const MatrixTransfer &transfer) {
  return {transfer.matrices, transfer.rows, transfer.columns,
          give(transfer.registers), give(transfer.addresses)};
}

TilewsMatrixTransfer tilewsMatrix8x8(int64_t matrices, bool transposed) {
  return give(getMatrix8x8(matrices, transposed));
}
TilewsMatrixTransfer tilewsMatrix16x16(int64_t matrices) {
  return give(getMatrix16x16(matrices));
}
TilewsMatrixTransfer tilewsMatrix16x8(int64_t matrices) {
  return give(getMatrix16x8(matrices));
}
TilewsFragmentLayout tilewsTensorMemoryTransfer(int shape, int64_t repeat) {
  return give(getTensorMemoryTransfer(TensorMemoryShape(shape), repeat));
}

void tilewsMmaGetWarpGrid(TilewsMma mma, int64_t groups, int64_t m, int64_t n,
                          int shape, int64_t *gridM, int64_t *gridN) {
  WarpGrid grid = getWarpGrid(take(mma), groups, m, n, WarpShape(shape));
  *gridM = grid.m;
  *gridN = grid.n;
}

TilewsFragmentLayout tilewsMmaGetLayout(TilewsMma mma, TilewsMmaOperand operand,
                                        int64_t gridM, int64_t gridN,
                                        int64_t rows, int64_t columns) {
  WarpGrid grid = {gridM, gridN};
  switch (operand) {
  case TilewsMmaOperandLhs:
    return give(getLhsLayout(take(mma), grid, rows, columns));
  case TilewsMmaOperandRhs:
    return give(getRhsLayout(take(mma), grid, rows, columns));
  case TilewsMmaOperandAcc:
    return give(getAccLayout(take(mma), grid, rows, columns));
  }
  return {nullptr};
}
