//===- SparseMmaLayouts.h - Sparse matrix instructions ----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrix instructions whose left operand is structurally sparse: half of each
// group of neighbours along K is left out, and metadata says which.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LAYOUT_SPARSEMMALAYOUTS_H
#define TILEWS_LAYOUT_SPARSEMMALAYOUTS_H

#include "tilews/Layout/MmaLayouts.h"

namespace tilews {

struct SparseMmaInstruction {
  /// K counts the elements of the right operand; the left one's fragment has
  /// coordinates (m, k / 2).
  MmaInstruction mma;
  /// The row, and the part of the row, to which each field of a lane's metadata
  /// word belongs, the lowest bits first. Lanes of which a selector chooses one
  /// are replicas.
  FragmentLayout metadata;
  /// The bits of a field, and the elements along K that it describes.
  int64_t fieldBits = 0, fieldK = 0;
};

/// mma.sp (PTX ISA, "Matrix fragments for multiply-accumulate operation with
/// sparse matrix A"): m16n8k32 for operands of 16 bits, m16n8k64 for 8,
/// m16n8k16 for 32 (tf32).
SparseMmaInstruction getMmaSp(int64_t operandBits);
/// wgmma.sp (PTX ISA, "Matrix fragments for wgmma.mma_async.sp"); the right
/// operand is in shared memory.
SparseMmaInstruction getWgmmaSp(int64_t n, int64_t operandBits);
/// smfmac of 16x16 or 32x32 (AMD CDNA4 ISA, 7.5.1 "Details of Sparsity
/// Structure"); lanes hold their part of K in one piece or, where gfx950 has
/// doubled it, in two.
SparseMmaInstruction getSmfmac(int64_t size, int64_t k, int64_t operandBits);

/// How the lanes of NVIDIA's sparse instructions hold the metadata of a whole
/// left operand, as elements of some bits each.
struct MetadataLayout {
  /// Coordinates are (m, element of the row). The registers of one word come
  /// first, then the words along K, then along M.
  FragmentLayout fragment;
  /// How many instructions that follow each other along K take their metadata
  /// from one word, each by a selector of its own.
  int64_t stepsPerWord = 1;
  /// Whether an element has the fields of two neighbouring lanes, those of the
  /// even lane in the lower half. A word of a lane is then made of one half of
  /// each of two elements.
  bool hasHalves = false;
};
/// `metadata` is that of `mma`, and `elementBits` 8, 16 or 32.
MetadataLayout getMetadataLayout(const MmaInstruction &mma,
                                 const FragmentLayout &metadata, WarpGrid grid,
                                 int64_t m, int64_t k, int64_t elementBits);

} // namespace tilews

#endif // TILEWS_LAYOUT_SPARSEMMALAYOUTS_H
