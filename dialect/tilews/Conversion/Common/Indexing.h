//===- Indexing.h - Memory addresses of fragment registers ------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The coordinates of a fragment's registers are split into a part that depends
// on the thread and a part that depends on the register. The first part is
// computed once and the second is a constant, so most accesses become one
// address and an immediate offset.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_CONVERSION_COMMON_INDEXING_H
#define TILEWS_CONVERSION_COMMON_INDEXING_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tilews {

struct Axis;
class TargetLowering;

/// The coordinates of a fragment's registers. For the layout
///
///     #tile.fragment<thread = (8, 4):(1*d0, 2*d1), value = (2):(1*d1)>
///
/// of an 8x8 tile, `getBase(0)` is `thread % 8`, `getBase(1)` is
/// `thread / 8 % 4 * 2`, and `getConstants(1)` is (0, 1).
class FragmentIndexer {
public:
  FragmentIndexer(mlir::ImplicitLocOpBuilder &b, const FragmentLayout &layout,
                  llvm::ArrayRef<int64_t> shape, mlir::Value threadId);

  int64_t getRank() const { return shape.size(); }
  int64_t getNumValues() const { return layout.getNumValues(); }
  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  const FragmentLayout &getLayout() const { return layout; }

  /// Returns the thread's part of the coordinate along `dim`, an i32; null for
  /// 0.
  mlir::Value getBase(int64_t dim) const { return bases[dim]; }
  /// Returns the constant part of the coordinates of register `value`.
  llvm::SmallVector<int64_t> getConstants(int64_t value) const {
    return layout.getValueCoords(value, getRank());
  }
  /// Computes the coordinate of register `value` along `dim`, an i32.
  mlir::Value createCoord(mlir::ImplicitLocOpBuilder &b, int64_t value,
                          int64_t dim) const;
  /// Computes whether that coordinate is less than the fragment's extent, an
  /// i1. It may not be where the layout over-covers the dimension.
  mlir::Value createIsInside(mlir::ImplicitLocOpBuilder &b, int64_t value,
                             int64_t dim) const;
  /// Returns a mask of the bits that the base along `dim` may have set, or -1
  /// if any bit may be set.
  int64_t getBaseBits(int64_t dim) const { return baseBits[dim]; }
  /// Returns whether the layout has coordinates past the fragment's extent
  /// along `dim`, as a layout of 8 rows has for a fragment of 5.
  bool overCovers(int64_t dim) const { return cover[dim] > shape[dim]; }

private:
  FragmentLayout layout;
  llvm::SmallVector<int64_t> shape, cover, baseBits;
  llvm::SmallVector<mlir::Value> bases;
};

/// Returns the offset that a layout with the leaves `axes` maps `index` to: the
/// sum of the index's digits times their strides. Null for zero.
mlir::Value createOffset(mlir::ImplicitLocOpBuilder &b,
                         llvm::ArrayRef<Axis> axes, mlir::Value index);

/// The first element of a region along one dimension: a value (an integer of
/// the index width, null for zero) plus a constant.
struct SplitOffset {
  mlir::Value value;
  int64_t constant = 0;
};

/// What places the elements of a gather or a scatter besides the region.
struct ElementPlacement {
  /// An indexed dimension of the buffer, and the index of each register.
  struct Indices {
    int64_t dim;
    llvm::SmallVector<mlir::Value> registers;
  };
  llvm::SmallVector<Indices> indices;
  /// The mask of each register, an i1; empty if all elements are accessed.
  llvm::SmallVector<mlir::Value> mask;
  /// The index along `limitDim` at which the buffer ends, if not before; an
  /// integer of the index width, or null.
  mlir::Value limit = {};
  int64_t limitDim = 0;

  bool isEmpty() const { return indices.empty() && mask.empty() && !limit; }
};

/// Returns where a buffer with `extent` ends for a region that begins at
/// `first` and has a `limit`: a number from 0 to `extent`, 0 if `first` is
/// negative. All are integers of one type.
mlir::Value createLimitedExtent(mlir::ImplicitLocOpBuilder &b,
                                mlir::Value extent, mlir::Value limit,
                                mlir::Value first);

/// A region of a buffer as one thread accesses it: the address of the element
/// of each register of a fragment, and the mask under which it may be accessed.
/// For the 8x8 region of a row-major 64x64 f16 buffer at (16, %j) and the
/// layout above, register 1 is at `base + 2`, where `base` is the address of
/// element (16 + thread % 8, %j + thread / 8 % 4 * 2).
class RegionAccess {
public:
  /// `buffer` is the converted buffer: a pointer for shared memory, otherwise a
  /// memref descriptor. `offsets` and `sizes` have one entry for each
  /// dimension. The offsets allow vectors of `maxVector` elements: such a run,
  /// from a multiple of its length on, is contiguous and aligned in memory, and
  /// lies inside the buffer or outside as a whole
  /// (Divisibility::getVectorElements).
  RegionAccess(mlir::ImplicitLocOpBuilder &b, mlir::MemRefType type,
               mlir::Value buffer, llvm::ArrayRef<SplitOffset> offsets,
               llvm::ArrayRef<int64_t> sizes, int64_t maxVector,
               const FragmentIndexer &indexer, ElementPlacement placement = {});

  /// Lets the hardware check bounds, if the target and this access allow it:
  /// addresses are then those of a bounded pointer, and no access needs a
  /// guard. `startsInside` says that the region never begins at a negative
  /// index of the buffer's first dimension. Without `always` nothing changes if
  /// no element can be outside.
  void useBounds(const TargetLowering &target, bool startsInside,
                 bool always = false);
  /// Returns whether the hardware checks bounds.
  bool hasBounds() const { return bounds.has_value(); }
  /// Returns the address of the element of register `value`, past the end of a
  /// bounded pointer if the element lies outside of the buffer or of the
  /// fragment; with `withMask` also if its own mask is false.
  mlir::Value getBoundedAddress(int64_t value, bool withMask);
  /// Returns whether the element of a register is outside of the fragment in
  /// every thread.
  bool isNeverInside(int64_t value) const;

  /// Forgets values that were created in another block and may not dominate the
  /// present one.
  void enterBlock() { swizzledBases.clear(); }
  /// Returns the address of the element of register `value`.
  mlir::Value getAddress(int64_t value);
  /// Returns whether the element lies in the buffer and the fragment, and its
  /// mask is true: an i1. Null if that always holds.
  mlir::Value getMask(int64_t value);
  /// Returns whether `count` registers from `value` on have one mask, apart
  /// from the buffer's and the fragment's bounds.
  bool hasOneMask(int64_t value, int64_t count) const;

  /// Drops all masks: the caller guarantees that the region lies in the buffer,
  /// and that the fragment has no register past its extents.
  void assumeInside();
  /// Says for debug output who checks bounds.
  llvm::StringRef describeChecks() const {
    if (hasBounds())
      return "checked by hardware";
    return isAlwaysInside() ? "inside of the buffer" : "masked";
  }
  /// Returns whether no register ever needs a mask.
  bool isAlwaysInside() const { return alwaysInside; }
  /// Returns whether the whole region lies in the buffer, an i1 that is the
  /// same in all threads. Null if some registers need a mask in any case.
  mlir::Value getInsidePredicate();

  /// Returns how many registers one access can move: neighbors in memory at an
  /// aligned address, at most 16 bytes.
  int64_t getVectorElements() const;
  /// Returns whether all elements of such a vector have the same mask.
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
    /// Whether coordinates may lie outside of the buffer, or of the fragment.
    bool checkBuffer = false, checkFragment = false;
    /// The limit of an ElementPlacement, or null.
    mlir::Value limit;
    /// The index of each register, which is added to the offset; empty if the
    /// coordinate follows from the fragment's.
    llvm::SmallVector<mlir::Value> indices;
  };

  void initDims(llvm::ArrayRef<SplitOffset> offsets,
                llvm::ArrayRef<int64_t> sizes);
  void initShared();
  void initGlobal();
  void initLimits();
  /// The register's constant coordinates in the buffer, offsets included.
  llvm::SmallVector<int64_t>
  getBufferConstants(llvm::ArrayRef<int64_t> constants) const;
  bool isSeparable(llvm::ArrayRef<int64_t> constants) const;
  mlir::Value getSharedAddress(int64_t value);
  mlir::Value getGlobalAddress(int64_t value);
  /// Returns whether an indexed coordinate lies in the buffer.
  mlir::Value isIndexInside(const Dim &dim, int64_t value);
  /// Return whether a register's coordinate lies in the buffer, and in the
  /// fragment; null if it always does. `constants` are those of the register in
  /// the fragment.
  mlir::Value getBufferMask(const Dim &dim, int64_t value,
                            llvm::ArrayRef<int64_t> constants);
  mlir::Value getFragmentMask(int64_t d, int64_t constant);
  // Parts of bounded addresses.
  bool canCountRows(bool startsInside) const;
  bool hasMask(const Dim &dim) const;
  bool isCommon(int64_t fragmentDim) const;
  /// Returns whether all registers have one coordinate along a dimension of the
  /// fragment, apart from the thread's part.
  bool isFixed(int64_t fragmentDim) const;
  mlir::Value createResource(const TargetLowering &target);
  mlir::Value createByteStride(const Dim &dim);
  mlir::Value createThreadBytes();
  mlir::Value createRegisterBytes(llvm::ArrayRef<int64_t> constants,
                                  int64_t &known);
  /// Replaces an offset by one past the end where `mask` is false.
  mlir::Value createBoundedOffset(mlir::Value mask, mlir::Value offset);
  mlir::Value getLinearOffset(llvm::ArrayRef<mlir::Value> coords);
  mlir::Value addConstant(mlir::Value base, int64_t constant);
  mlir::Value getExtent(const Dim &dim);
  /// Returns the distance in elements of `coord` steps along a dimension.
  mlir::Value createStep(const Dim &dim, mlir::Value coord);

  /// How the hardware checks bounds.
  struct Bounds {
    /// A pointer to the region's first element, with the bytes from there to
    /// the end of the buffer.
    mlir::Value pointer;
    /// The thread's distance from it in bytes, past the end where a mask that
    /// all registers share is false.
    mlir::Value offset;
    /// Whether the number of bytes decides about the first dimension.
    bool countsRows = false;
    /// Whether strides may be negative. The pointer then points before the
    /// region, and offsets are larger by as much.
    bool isSigned = false;
  };

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
  /// The mask of each register, or none.
  llvm::SmallVector<mlir::Value> elementMask;
  SharedLayout layout;
  /// The thread's address; registers add a constant to it.
  mlir::Value basePointer;
  /// Shared memory: whether the offset of thread part plus register part is the
  /// sum (with a swizzle: the XOR) of their two offsets, wherever the parts
  /// have no bit in common. `linearBits` are the bits that the thread's part
  /// may have before the swizzle, in elements; `baseBits` those after it, in
  /// bytes. Both are zero without a swizzle.
  bool separable = false;
  mlir::Value baseBytes;
  int64_t linearBits = 0, baseBits = 0;
  /// The thread's address with some bits flipped, by these bits.
  llvm::DenseMap<int64_t, mlir::Value> swizzledBases;
  std::optional<Bounds> bounds;
};

} // namespace tilews

#endif // TILEWS_CONVERSION_COMMON_INDEXING_H
