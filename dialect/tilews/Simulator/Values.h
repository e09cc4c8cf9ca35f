//===- Values.h - What a kernel computes with -------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The simulator's values: scalars, fragments, and buffers in memory.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_SIMULATOR_VALUES_H
#define TILEWS_SIMULATOR_VALUES_H

#include "tilews/Simulator/ElementType.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <type_traits>
#include <vector>

namespace tilews::sim {

/// Number of elements of a static shape.
inline int64_t countElements(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

/// Distances between neighbours along each dimension, in row-major order.
llvm::SmallVector<int64_t> getRowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// Calls `fn(coords)` for each coordinate of a box, the last dimension fastest,
/// until it returns false. Returns whether it never did.
bool forEachCoordinate(llvm::ArrayRef<int64_t> shape,
                       llvm::function_ref<bool(llvm::ArrayRef<int64_t>)> fn);

/// `(1, 2, 3)`.
std::string toString(llvm::ArrayRef<int64_t> values);

struct BarrierArray;
class Cells;
struct Channel;
struct Instruction;

/// A tile in registers, row by row.
struct Fragment {
  llvm::SmallVector<int64_t> shape;
  std::vector<int64_t> integers;
  std::vector<double> reals;
  /// The number among its role's asynchronous products of the one that writes
  /// it; 0 if none does.
  uint32_t product = 0;
};

/// Where the layout of a shared buffer puts its elements, numbered row by row.
struct Places {
  /// The first byte of each element.
  std::vector<int32_t> bytes;
  int64_t elementBytes = 1;
  /// Bits from one element to the next in the buffer's data.
  unsigned storageBits = 8;
};

/// Bytes that memrefs look into.
struct Buffer {
  uint8_t *data = nullptr;
  bool writable = true;
  /// Memory of its own, if it is not the caller's.
  std::vector<uint8_t> storage;
  /// For memory that starts undefined: the bits of each byte that were written.
  std::vector<uint8_t> written;
  /// Shared memory: who touched which byte, from byte `firstCell` on; `places`
  /// says where the elements are that the layout does not leave in order.
  std::shared_ptr<Cells> cells;
  int64_t firstCell = 0;
  const Places *places = nullptr;
  /// What allocated it, if that is part of the kernel.
  const Instruction *alloc = nullptr;
  /// Global memory: whether the kernel writes it.
  bool isWritten = false;
  /// The channel that hands the buffer's versions on.
  std::shared_ptr<Channel> channel;
};

/// A strided view of a buffer. Offset and strides count elements, which take
/// `storageBits` each.
struct MemRef {
  std::shared_ptr<Buffer> buffer;
  ElementType type;
  unsigned storageBits = 8;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> shape, strides;
  /// The version of the buffer that it is or lies in; -1 if it is none.
  int64_t slot = -1;

  int64_t getElementOffset(llvm::ArrayRef<int64_t> coords) const;

  /// Reads elements that start at `first` (an element offset) and lie `stride`
  /// apart. Returns the number read before the first that was never written.
  template <typename T>
  int64_t read(int64_t first, int64_t stride, int64_t count, T *values) const;
  template <typename T>
  void write(int64_t first, int64_t stride, int64_t count,
             const T *values) const;
};

/// The value of an SSA value. A cursor is the number of transactions before
/// it. Which member counts follows from its type.
struct Datum {
  union {
    int64_t integer = 0;
    double real;
  };
  std::shared_ptr<Fragment> fragment;
  std::shared_ptr<const MemRef> memref;
  std::shared_ptr<Channel> channel;
  std::shared_ptr<BarrierArray> barriers;

  /// The elements of a fragment; a scalar is its only one.
  template <typename T>
  T *elements() {
    if constexpr (std::is_same_v<T, double>)
      return fragment ? fragment->reals.data() : &real;
    else
      return fragment ? fragment->integers.data() : &integer;
  }
  template <typename T>
  const T *elements() const {
    return const_cast<Datum *>(this)->elements<T>();
  }
};

} // namespace tilews::sim

#endif // TILEWS_SIMULATOR_VALUES_H
