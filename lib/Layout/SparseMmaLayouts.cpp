//===- SparseMmaLayouts.cpp - Sparse matrix instructions ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrix instructions with a 2:4 sparse left operand, and the layout of their
// metadata. A field of metadata says which two of four elements along K are
// stored. The documents show metadata as bits of a word of certain lanes; here
// a field is an element of a fragment, so that metadata is loaded like any
// other operand:
//
//   mma.sp m16n8k32 with 16-bit operands: a word has 8 fields of 4 bits, for
//   4 groups along K of each of two rows that are 8 apart; a selector picks
//   the lanes whose words the instruction takes
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/SparseMmaLayouts.h"

using namespace tilews;
using llvm::SmallVector;

/// Sets NVIDIA's metadata: a field of 4 bits describes 4 elements, or 2 of 32
/// bits. A word has fields of one row for 8-bit operands, otherwise of two rows
/// that are 8 apart.
static void setMetadata(SparseMmaInstruction &sparse, int64_t operandBits,
                        bool isWarpgroup) {
  sparse.fieldBits = 4;
  sparse.fieldK = operandBits == 32 ? 2 : 4;
  SmallVector<Mode> thread, value;
  if (operandBits == 8) {
    thread = {{2, 8, 0}, {2, 8, 1}, {8, 1, 0}};
    value = {{8, 1, 1}};
  } else {
    // The selector picks one of two pairs of lanes.
    thread = {{2, 4, 1}, {2, 0, 0}, {8, 1, 0}};
    value = {{4, 1, 1}, {2, 8, 0}};
  }
  if (isWarpgroup)
    thread.push_back({4, 16, 0});
  sparse.metadata = FragmentLayout(thread, value);
}

SparseMmaInstruction tilews::getMmaSp(int64_t operandBits) {
  SparseMmaInstruction sparse;
  MmaInstruction &mma = sparse.mma;
  mma = getMmaSync(operandBits);
  mma.k *= 2;
  // A 32-bit register holds `p` neighbours along K.
  int64_t p = 32 / operandBits;
  SmallVector<Mode> rhsValues = {{4, 4 * p, 0}};
  if (p > 1)
    rhsValues.insert(rhsValues.begin(), {p, 1, 0});
  mma.rhs = FragmentLayout({{4, p, 0}, {8, 1, 1}}, rhsValues);
  setMetadata(sparse, operandBits, /*isWarpgroup=*/false);
  return sparse;
}

SparseMmaInstruction tilews::getWgmmaSp(int64_t n, int64_t operandBits) {
  SparseMmaInstruction sparse;
  sparse.mma = getWgmma(n, operandBits);
  sparse.mma.k *= 2;
  setMetadata(sparse, operandBits, /*isWarpgroup=*/true);
  return sparse;
}

SparseMmaInstruction tilews::getSmfmac(int64_t size, int64_t k,
                                       int64_t operandBits) {
  SparseMmaInstruction sparse;
  MmaInstruction &mma = sparse.mma;
  mma = getMfma(size, k);
  int64_t lanesK = 64 / size;
  // Neighbours along K that a lane holds of the right operand: 16 bytes.
  int64_t run = 128 / operandBits;
  SmallVector<Mode> lhsValues = {{run / 2, 1, 1}}, rhsValues = {{run, 1, 0}};
  if (int64_t pieces = k / (lanesK * run); pieces > 1) {
    lhsValues.push_back({pieces, lanesK * run / 2, 1});
    rhsValues.push_back({pieces, lanesK * run, 0});
  }
  mma.lhs = FragmentLayout({{size, 1, 0}, {lanesK, run / 2, 1}}, lhsValues);
  mma.rhs = FragmentLayout({{size, 1, 1}, {lanesK, run, 0}}, rhsValues);
  // Two bits for each stored element: its place among four.
  sparse.metadata = mma.lhs;
  sparse.fieldBits = 2;
  sparse.fieldK = 2;
  return sparse;
}

MetadataLayout tilews::getMetadataLayout(const MmaInstruction &mma,
                                         const FragmentLayout &metadata,
                                         WarpGrid grid, int64_t m, int64_t k,
                                         int64_t elementBits) {
  // A field of 4 bits describes 4 elements along K.
  int64_t fieldsPerElement = elementBits / 4;
  int64_t elementsPerStep = mma.k / elementBits, steps = k / mma.k;
  MetadataLayout result;
  SmallVector<Mode> thread, value;
  auto add = [](SmallVector<Mode> &modes, Mode mode) {
    if (mode.extent > 1)
      modes.push_back(mode);
  };
  for (Mode mode : metadata.getThreadModes()) {
    // Lanes that the selector of one instruction skips hold the metadata of the
    // next one.
    if (mode.stride == 0 && steps % mode.extent == 0) {
      result.stepsPerWord = mode.extent;
      mode = {mode.extent, elementsPerStep, 1};
    } else if (mode.dim == 1) {
      result.hasHalves |= mode.stride < fieldsPerElement;
      mode.stride /= fieldsPerElement;
    }
    thread.push_back(mode);
  }
  for (Mode mode : metadata.getValueModes()) {
    if (mode.dim == 1)
      mode.extent /= fieldsPerElement;
    add(value, mode);
  }
  MmaRepeats repeats = getRepeats(mma, grid, m, 1);
  add(thread, {grid.m, repeats.m * mma.m, 0});
  add(thread, {grid.n, 0, 0});
  add(value,
      {steps / result.stepsPerWord, result.stepsPerWord * elementsPerStep, 1});
  add(value, {repeats.m, mma.m, 0});
  result.fragment = FragmentLayout(thread, value);
  return result;
}
