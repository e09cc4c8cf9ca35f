//===- Values.h - Scalars, fragments and memory -----------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The simulator's values: scalars, fragments, and memory. For example
// `memref<?x8xf16>` is a `MemRef` with strides (8, 1) into a `Buffer`, and
// `tensor<4x8xf16>` a `Fragment` with 32 doubles.
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

/// Returns the strides of a row-major layout: (32, 8, 1) for shape 2 x 4 x 8.
llvm::SmallVector<int64_t> getRowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// Calls `fn(coords)` for each coordinate of a shape, the last dimension
/// fastest, until a call returns false. Returns whether all calls returned
/// true.
bool forEachCoordinate(llvm::ArrayRef<int64_t> shape,
                       llvm::function_ref<bool(llvm::ArrayRef<int64_t>)> fn);

/// `(1, 2, 3)`.
std::string toString(llvm::ArrayRef<int64_t> values);

struct BarrierArray;
class Cells;
struct ChannelBarriers;
struct Instruction;

/// A tile in registers, row by row. One of the two lists is used.
struct Fragment {
  llvm::SmallVector<int64_t> shape;
  std::vector<int64_t> integers;
  std::vector<double> reals;
  /// The number of the asynchronous matmul that writes it, among those of its
  /// agent; 0 if none does.
  uint32_t matmul = 0;
};

/// The bytes at which a layout places the elements of a shared buffer; elements
/// are numbered row by row.
struct Places {
  /// The first byte of each element.
  std::vector<int32_t> bytes;
  int64_t elementBytes = 1;
  /// Bits from one element to the next in the buffer's data.
  unsigned storageBits = 8;
};

/// Memory that memrefs refer to: an argument or a shared buffer.
struct Buffer {
  uint8_t *data = nullptr;
  bool writable = true;
  /// The memory, if it is not the caller's.
  std::vector<uint8_t> storage;
  /// For memory that starts undefined: the bits of each byte that were written.
  std::vector<uint8_t> written;
  /// Shared memory: the shadow of its bytes, which start at byte `firstCell`.
  /// `places` is set if a layout places the elements.
  std::shared_ptr<Cells> cells;
  int64_t firstCell = 0;
  const Places *places = nullptr;
  /// The instruction that allocates it; null for arguments.
  const Instruction *alloc = nullptr;
  /// Global memory: the byte of cell 0, which other arguments may share.
  const uint8_t *origin = nullptr;
  /// Global memory: whether the kernel writes it.
  bool isWritten = false;
  /// The channel that synchronizes the buffer's versions.
  std::shared_ptr<ChannelBarriers> channel;
};

/// A strided view of a buffer. Offset and strides count elements, which take
/// `storageBits` each.
struct MemRef {
  std::shared_ptr<Buffer> buffer;
  ElementType type;
  unsigned storageBits = 8;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> shape, strides;
  /// The version of the buffer to which it belongs; -1 if there are none.
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

/// The value of an SSA value. Its type says which member is used. A cursor is
/// an integer: the number of transactions before it.
struct Datum {
  union {
    int64_t integer = 0;
    double real;
  };
  std::shared_ptr<Fragment> fragment;
  std::shared_ptr<const MemRef> memref;
  std::shared_ptr<ChannelBarriers> channel;
  std::shared_ptr<BarrierArray> barriers;

  /// Returns the elements of a fragment; a scalar is one element.
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
