//===- Regions.h - Regions that operations name -----------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parser, printer, defaults and checks of the regions of tile.copy, tile.load,
// tile.store, the atomic accesses, gathers and scatters. A written region has
// two optional lists:
//
//   %A[%m, 0] [128, 64]      offsets %m and 0, sizes 128 and 64
//   %A[%m, 0]                the sizes follow from the other side
//   %A                       the offsets are zero, too
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_REGIONS_H
#define TILEWS_DIALECT_TILE_IR_REGIONS_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/OpImplementation.h"

namespace tilews::tile {

/// Parses `[%m, 0] [128, 64]`. The sizes, or both lists, may be missing.
mlir::ParseResult parseRegion(
    mlir::OpAsmParser &parser,
    llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &offsets,
    mlir::DenseI64ArrayAttr &staticOffsets, mlir::DenseI64ArrayAttr &sizes);
void printRegion(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                 mlir::OperandRange offsets,
                 mlir::DenseI64ArrayAttr staticOffsets,
                 mlir::DenseI64ArrayAttr sizes);

/// Parses `at(0 = %rows : tensor<64x1xi32>)`: indices along dimensions of a
/// buffer. The list may be missing.
mlir::ParseResult parseIndices(
    mlir::OpAsmParser &parser,
    llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &indices,
    llvm::SmallVectorImpl<mlir::Type> &types, mlir::DenseI64ArrayAttr &dims);
void printIndices(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                  mlir::OperandRange indices, mlir::TypeRange types,
                  mlir::DenseI64ArrayAttr dims);

/// Returns whether a side without written sizes is its whole buffer: it has no
/// offsets, and a static shape.
bool isWholeBuffer(mlir::MemRefType type, llvm::ArrayRef<int64_t> staticOffsets,
                   llvm::ArrayRef<int64_t> sizes);

/// Returns the region with defaults filled in. Offsets default to zero, sizes
/// to `otherSizes` preceded by ones.
TileRegion buildRegion(mlir::MemRefType type, mlir::OperandRange offsets,
                       llvm::ArrayRef<int64_t> staticOffsets,
                       llvm::ArrayRef<int64_t> sizes,
                       llvm::ArrayRef<int64_t> otherSizes);

/// Checks the written offsets and sizes of one side against its buffer. `side`
/// is its name in errors.
mlir::LogicalResult verifyRegion(mlir::Operation *op, llvm::StringRef side,
                                 mlir::MemRefType type,
                                 mlir::OperandRange offsets,
                                 llvm::ArrayRef<int64_t> staticOffsets,
                                 llvm::ArrayRef<int64_t> sizes);

/// Checks that a region has the element type and the sizes of a fragment. Sizes
/// of one are ignored.
mlir::LogicalResult verifyFragmentRegion(mlir::Operation *op,
                                         const TileRegion &region,
                                         mlir::MemRefType buffer,
                                         mlir::RankedTensorType fragment);

/// Adds the memory effects that the regions of `op` say.
void addAccessEffects(
    AccessOpInterface op,
    llvm::SmallVectorImpl<mlir::MemoryEffects::EffectInstance> &effects);

/// Adds effects on all memory if an atomic access orders other accesses.
void addOrderEffects(
    AtomicOpInterface op,
    llvm::SmallVectorImpl<mlir::MemoryEffects::EffectInstance> &effects);

/// Checks that elements of this type can be combined in one step.
mlir::LogicalResult verifyAtomicElement(mlir::Operation *op, mlir::Type element,
                                        AtomicKind kind);

/// Checks that the scope of an atomic access fits its memory.
mlir::LogicalResult verifyAtomicScope(AtomicOpInterface op);

/// Returns sizes for an error, such as `(128, 64)`.
std::string printSizes(llvm::ArrayRef<int64_t> sizes);

/// Returns whether an offset may be static. The bound of 2^48 keeps sums of
/// offsets and sizes from overflowing.
bool isStaticOffset(int64_t offset);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_IR_REGIONS_H
