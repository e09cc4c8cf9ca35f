//===- Indexing.h - Where a thread's registers lie in memory ----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Coordinates of a fragment's registers split into a part that depends on the
// thread and a part that depends on the register. The first is computed once,
// the second is a constant, so that most accesses become one address and an
// immediate offset.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_CONVERSION_COMMON_INDEXING_H
#define TILEWS_CONVERSION_COMMON_INDEXING_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tilews {

struct Axis;

/// Coordinates of a fragment's registers.
class FragmentIndexer {
public:
  FragmentIndexer(mlir::ImplicitLocOpBuilder &b, const FragmentLayout &layout,
                  llvm::ArrayRef<int64_t> shape, mlir::Value threadId);

  int64_t getRank() const { return shape.size(); }
  int64_t getNumValues() const { return layout.getNumValues(); }
  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  const FragmentLayout &getLayout() const { return layout; }

  /// The thread's part of the coordinate along `dim`, an i32.
  mlir::Value getBase(int64_t dim) const { return bases[dim]; }
  /// The register's part of the coordinates.
  llvm::SmallVector<int64_t> getConstants(int64_t value) const {
    return layout.getValueCoords(value, getRank());
  }
  /// The bits a base may have set, or -1 if any.
  int64_t getBaseBits(int64_t dim) const { return baseBits[dim]; }
  /// Whether some coordinates along `dim` are past the fragment's extent.
  bool overCovers(int64_t dim) const { return cover[dim] > shape[dim]; }

private:
  FragmentLayout layout;
  llvm::SmallVector<int64_t> shape, cover, baseBits;
  llvm::SmallVector<mlir::Value> bases;
};

/// The offset that a layout with these leaves gives to an index, null for zero.
mlir::Value createOffset(mlir::ImplicitLocOpBuilder &b,
                         llvm::ArrayRef<Axis> axes, mlir::Value index);

/// The first element of a region along one dimension: a value (an integer of
/// the index width, null for zero) plus a constant.
struct SplitOffset {
  mlir::Value value;
  int64_t constant = 0;
};

/// A region of a buffer as a thread sees it: for each register of a fragment
/// the address of its element, and whether it may be touched.
class RegionAccess {
public:
  /// `buffer` is the converted buffer: a pointer for shared memory, else a
  /// memref descriptor. `offsets` and `sizes` have one entry a dimension.
  /// Runs of `maxVector` elements, from a multiple of that number on, are
  /// adjacent and aligned in memory as far as the offsets go, and inside the
  /// buffer or outside as a whole (Divisibility::getVectorElements).
  RegionAccess(mlir::ImplicitLocOpBuilder &b, mlir::MemRefType type,
               mlir::Value buffer, llvm::ArrayRef<SplitOffset> offsets,
               llvm::ArrayRef<int64_t> sizes, int64_t maxVector,
               const FragmentIndexer &indexer);

  /// Forgets values made in another block, which need not dominate this one.
  void enterBlock() { swizzledBases.clear(); }
  /// The address of the element with the register's constant coordinates.
  mlir::Value getAddress(llvm::ArrayRef<int64_t> constants);
  /// Whether the element may be touched; null if that is certain.
  mlir::Value getMask(llvm::ArrayRef<int64_t> constants);

  /// Promises that the region lies in the buffer and the fragment has no
  /// register past its extents.
  void assumeInside();
  /// Whether every register holds an element that may be touched.
  bool isAlwaysInside() const { return alwaysInside; }
  /// Whether the whole region lies in the buffer, the same for all threads;
  /// null if some registers hold no element in any case.
  mlir::Value getInsidePredicate();

  /// Registers that can be accessed at once: neighbours in memory at an
  /// aligned address, at most 16 bytes.
  int64_t getVectorElements() const;
  /// Whether such a run is inside or outside as a whole.
  bool isMaskUniform(int64_t vectorElements) const;

private:
  /// One dimension of the buffer.
  struct Dim {
    /// The fragment's dimension, or -1 if the region's size is one.
    int64_t fragmentDim = -1;
    /// The region's offset, and that plus the thread's coordinate, both
    /// without the offset's constant part; null for zero.
    mlir::Value offset, base;
    int64_t constant = 0;
    /// Extent and stride of the buffer: static, or a value.
    int64_t staticExtent, staticStride = 0;
    mlir::Value extent, stride;
    /// Shared memory: whether offsets are a multiple of the coordinate.
    bool isLinear = false;
    /// Whether coordinates may pass the buffer's end, or the fragment's.
    bool checkBuffer = false, checkFragment = false;
  };

  void initShared();
  void initGlobal();
  /// The register's constant coordinates in the buffer, offsets included.
  llvm::SmallVector<int64_t>
  getBufferConstants(llvm::ArrayRef<int64_t> constants) const;
  bool isSeparable(llvm::ArrayRef<int64_t> constants) const;
  mlir::Value getSharedAddress(llvm::ArrayRef<int64_t> constants);
  mlir::Value getGlobalAddress(llvm::ArrayRef<int64_t> constants);
  mlir::Value getLinearOffset(llvm::ArrayRef<mlir::Value> coords);
  mlir::Value addConstant(mlir::Value base, int64_t constant);
  mlir::Value getExtent(const Dim &dim);

  mlir::ImplicitLocOpBuilder &b;
  mlir::MemRefType type;
  mlir::Value buffer;
  int64_t maxVector;
  const FragmentIndexer &indexer;
  mlir::Type indexType;
  int64_t elementBytes;
  bool shared;
  bool alwaysInside = true;
  llvm::SmallVector<Dim> dims;
  SharedLayout layout;
  /// The thread's address; registers add a constant to it.
  mlir::Value basePointer;
  /// Shared memory: whether register and thread parts of the offset can be
  /// computed apart where they have no digit in common, and the bits that the
  /// thread's part may have before the swizzle (in elements) and behind it (in
  /// bytes); none without a swizzle.
  bool separable = false;
  mlir::Value baseBytes;
  int64_t linearBits = 0, baseBits = 0;
  llvm::DenseMap<int64_t, mlir::Value> swizzledBases;
};

} // namespace tilews

#endif // TILEWS_CONVERSION_COMMON_INDEXING_H
