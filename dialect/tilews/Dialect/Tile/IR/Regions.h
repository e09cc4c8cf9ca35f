//===- Regions.h - Regions that operations name -----------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_REGIONS_H
#define TILEWS_DIALECT_TILE_IR_REGIONS_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/OpImplementation.h"

namespace tilews::tile {

/// Parses `[%m, 0] [128, 64]`; both lists may be missing.
mlir::ParseResult parseRegion(
    mlir::OpAsmParser &parser,
    llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &offsets,
    mlir::DenseI64ArrayAttr &staticOffsets, mlir::DenseI64ArrayAttr &sizes);
void printRegion(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                 mlir::OperandRange offsets,
                 mlir::DenseI64ArrayAttr staticOffsets,
                 mlir::DenseI64ArrayAttr sizes);

/// Whether the operation gives no sizes and they follow from the buffer alone:
/// a static shape taken from its first element.
bool isWholeBuffer(mlir::MemRefType type, llvm::ArrayRef<int64_t> staticOffsets,
                   llvm::ArrayRef<int64_t> sizes);

/// The region with its defaults: offsets zero, sizes those of `otherSizes`
/// with leading ones.
TileRegion buildRegion(mlir::MemRefType type, mlir::OperandRange offsets,
                       llvm::ArrayRef<int64_t> staticOffsets,
                       llvm::ArrayRef<int64_t> sizes,
                       llvm::ArrayRef<int64_t> otherSizes);

/// Checks one side's written offsets and sizes against its buffer.
mlir::LogicalResult verifyRegion(mlir::Operation *op, llvm::StringRef side,
                                 mlir::MemRefType type,
                                 mlir::OperandRange offsets,
                                 llvm::ArrayRef<int64_t> staticOffsets,
                                 llvm::ArrayRef<int64_t> sizes);

/// Checks that a region holds the elements of a fragment.
mlir::LogicalResult verifyFragmentRegion(mlir::Operation *op,
                                         const TileRegion &region,
                                         mlir::MemRefType buffer,
                                         mlir::RankedTensorType fragment);

/// `(128, 64)`.
std::string printSizes(llvm::ArrayRef<int64_t> sizes);

/// Whether an offset can be written as a static one: sums of offsets and sizes
/// must not overflow.
bool isStaticOffset(int64_t offset);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_IR_REGIONS_H
