//===- SharedOverlaps.h - Buffers and scratch that share bytes --*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_BARRIERS_SHAREDOVERLAPS_H
#define TILEWS_LIB_VERIFIER_BARRIERS_SHAREDOVERLAPS_H

#include "Verifier/Barriers/SharedPlaces.h"

namespace tilews::verifier {

/// Which accesses share bytes with the places of other buffers, by the memory
/// plan of a kernel. A write to one buffer destroys the other: it has to be
/// ordered after all accesses to it.
///
/// Example:
///
///     %a = tile.alloc_shared {tile.offset = 0}     // sent by TMA: place 0
///     %b = tile.alloc_shared {tile.offset = 0}     // loaded and stored only
///     tile.reduce ... {tile.offset = 512}          // 256 bytes of scratch
///
/// %b has no place of its own. Accesses to it and to the scratch memory share
/// bytes with place 0: they are accesses to its *neighbour*, which is place 1.
class SharedOverlaps {
public:
  SharedOverlaps() = default;
  /// Adds places for neighbours to `places`.
  SharedOverlaps(mlir::gpu::GPUFuncOp kernel, SharedPlaces &places);

  /// The places of other buffers, and the neighbours, that share bytes with
  /// what is accessed through `operand`, a buffer with places.
  PlaceSet getSharing(mlir::OpOperand *operand) const {
    return sharing.lookup(operand);
  }
  /// The same for the scratch memory of an operation, if it has a place.
  PlaceSet getScratchSharing(mlir::Operation *op) const {
    return scratchSharing.lookup(op);
  }
  /// The memory without places that an operation accesses: the neighbours that
  /// stand for this memory, the places that share bytes with it, and whether
  /// the operation writes to it.
  struct Neighbour {
    PlaceSet place = 0, sharing = 0;
    bool isWritten = false;
  };
  Neighbour getNeighbour(mlir::Operation *op) const {
    return neighbours.lookup(op);
  }
  /// The places of all neighbours.
  PlaceSet getNeighbours() const { return allNeighbours; }

private:
  llvm::DenseMap<mlir::OpOperand *, PlaceSet> sharing;
  llvm::DenseMap<mlir::Operation *, PlaceSet> scratchSharing;
  llvm::DenseMap<mlir::Operation *, Neighbour> neighbours;
  PlaceSet allNeighbours = 0;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_BARRIERS_SHAREDOVERLAPS_H
