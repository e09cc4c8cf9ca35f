//===- SharedPlaces.h - Places of shared memory as bits ---------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_BARRIERS_SHAREDPLACES_H
#define TILEWS_LIB_VERIFIER_BARRIERS_SHAREDPLACES_H

#include "tilews/Dialect/Tile/Analysis/Memory/SharedBuffers.h"

#include "llvm/ADT/DenseMap.h"

namespace tilews::verifier {

/// A set of places: bit b stands for place b.
using PlaceSet = uint64_t;

/// Numbers the places of shared memory whose accesses barriers have to order. A
/// place is a version of a buffer, or a part of a buffer without versions.
///
/// Example:
///
///     %a = tile.alloc_shared : memref<3x16xf32>  // used through tile.slot
///     %b = tile.alloc_shared : memref<16x16xf32> // rows 0..7 and 8..15 apart
///
///     place 0, 1, 2: the versions of %a
///     place 3, 4:    the two parts of %b that operations name
///     place 5:       the rest of %b
///
/// A buffer that only one role accesses, with ordinary loads and stores, needs
/// no places where `areThreadsOrdered`, nor does scratch memory.
class SharedPlaces {
public:
  /// A state has a word of 64 bits for a set of places.
  static constexpr unsigned kMax = 62;

  struct PlacedBuffer {
    /// Null for scratch memory.
    tile::AllocSharedOp alloc;
    /// The number of its first place.
    unsigned first;
    /// The number of versions; 1 for a buffer that is not used by slots.
    int64_t versions;
    /// Offset and size in each dimension of regions that do not overlap. The
    /// place after theirs stands for the rest of the buffer, and so for
    /// accesses to unknown regions together with all others.
    llvm::SmallVector<llvm::SmallVector<std::pair<int64_t, int64_t>, 4>> parts =
        {};

    unsigned getNumPlaces() const {
      return parts.empty() ? versions : parts.size() + 1;
    }
  };

  SharedPlaces() = default;
  /// Finds the buffers of `kernel` and numbers their places: those whose
  /// accesses threads alone cannot order, or with `withAll` all of them, and
  /// planned scratch memory.
  explicit SharedPlaces(mlir::gpu::GPUFuncOp kernel, bool withAll = false);

  llvm::ArrayRef<PlacedBuffer> getBuffers() const { return buffers; }
  /// The number of an allocation; nullopt if it has no places.
  std::optional<unsigned> findBuffer(mlir::Value alloc) const;
  /// The number of the scratch memory of an operation; nullopt if it has no
  /// places.
  std::optional<unsigned> findScratch(mlir::Operation *op) const;
  /// The part of buffer `number` that an access names; nullopt if its region is
  /// not known, or is all of the buffer.
  std::optional<unsigned> findPart(unsigned number,
                                   const tile::SharedAccess &access) const;
  /// All places of a buffer.
  PlaceSet getAll(unsigned number) const {
    const PlacedBuffer &buffer = buffers[number];
    return ((PlaceSet(1) << buffer.getNumPlaces()) - 1) << buffer.first;
  }

  /// Renumbers the versions of buffers in a set, from version `base` on.
  PlaceSet rotate(PlaceSet places, llvm::ArrayRef<unsigned> rotated,
                  int64_t base) const;

  /// The number of places. May be more than `kMax`, which is an obstacle.
  unsigned size() const { return numPlaces; }
  /// Adds `count` places that are not of memory and returns the first.
  unsigned addOthers(unsigned count) {
    unsigned first = numPlaces;
    numPlaces += count;
    return first;
  }

  /// The first of `places` in the words of a message: "slot 1 of a buffer".
  std::string getName(PlaceSet places) const;
  void print(llvm::raw_ostream &os) const;

private:
  /// Which allocations have places.
  struct Uses;
  void addBuffer(tile::AllocSharedOp alloc, const Uses &uses);
  void addScratch(mlir::gpu::GPUFuncOp kernel);

  llvm::SmallVector<PlacedBuffer> buffers;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  llvm::DenseMap<mlir::Operation *, unsigned> scratchNumbers;
  unsigned numPlaces = 0;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_BARRIERS_SHAREDPLACES_H
