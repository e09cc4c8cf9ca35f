//===- Tile.h - The tile dialect --------------------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILE_H
#define TILEWS_DIALECT_TILE_IR_TILE_H

#include "tilews/Layout/Layout.h"
#include "tilews/Layout/MmaLayouts.h"
#include "tilews/Layout/SparseMmaLayouts.h"
#include "tilews/Support/TargetInfo.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/Support/Error.h"

#include "tilews/Dialect/Tile/IR/TileDialect.h.inc"
#include "tilews/Dialect/Tile/IR/TileEnums.h.inc"

namespace tilews::tile {

class SharedLayoutAttr;

/// A box of a buffer: one offset and one static size a dimension.
struct TileRegion {
  llvm::SmallVector<mlir::OpFoldResult> offsets;
  llvm::SmallVector<int64_t> sizes;

  /// The sizes without the dimensions of size one.
  llvm::SmallVector<int64_t> getSqueezedSizes() const;
};

enum class AccessKind { Read, Write, ReadWrite };

/// A region of a buffer and what an operation does to it.
struct AccessRegion {
  mlir::OpOperand *buffer;
  AccessKind kind;
  TileRegion region;

  bool reads() const { return kind != AccessKind::Write; }
  bool writes() const { return kind != AccessKind::Read; }
};

/// A layout an instruction demands of an operand or a result.
struct LayoutRequirement {
  using Place = llvm::PointerUnion<mlir::OpOperand *, mlir::OpResult>;
  Place place;
  mlir::Attribute layout;

  mlir::Value getValue() const {
    if (auto *operand = llvm::dyn_cast<mlir::OpOperand *>(place))
      return operand->get();
    return llvm::cast<mlir::OpResult>(place);
  }
};

/// Receives an instruction that was considered and why it cannot be used.
using RejectFn = llvm::function_ref<void(InstKind, const llvm::Twine &reason)>;

class MatmulOpInterface;
/// The instruction in the `tile.inst` of a matrix product and the grid of warps
/// that executes it.
struct MatmulPlan {
  MmaInstruction mma;
  WarpGrid grid;
  /// The metadata of a sparse instruction (SparseMmaInstruction::metadata),
  /// which has a field of 4 bits for 4 elements, as `tile.gemm_sp` has.
  std::optional<FragmentLayout> metadata;

  /// The instruction as its left operand sees it: of half the K if that is
  /// sparse.
  MmaInstruction getLhsMma() const;
};
std::optional<MatmulPlan>
getMatmulPlan(MatmulOpInterface op, const TargetInfo &target, int64_t threads);
/// How a sparse product's threads hold its metadata.
MetadataLayout getMetadataLayout(MatmulOpInterface op, const MatmulPlan &plan);

/// The most elements a fragment or a copied region has. The registers of a
/// block, and its shared memory, hold no more on any target.
constexpr int64_t kMaxTileElements = 1 << 19;
/// The product of `sizes` if it is from 1 to `limit`.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> sizes,
                                     int64_t limit);
/// Whether elements of fragments and buffers can have this type.
bool isTileElement(mlir::Type type);
/// Whether operations take a tensor as a fragment: a static shape without
/// empty dimensions, a known element type, no encoding but `#tile.fragment`.
bool isFragmentType(mlir::Type type);
/// Whether operations take a memref as a buffer: global memory with a strided
/// layout, or shared memory with a static shape and no layout but
/// `#tile.shared`; no empty dimension, and a known element type.
bool isBufferType(mlir::Type type);

/// Whether a memref lies in shared (workgroup) memory.
bool isShared(mlir::MemRefType type);
inline bool isShared(mlir::Value value) {
  auto type = llvm::dyn_cast<mlir::MemRefType>(value.getType());
  return type && isShared(type);
}
/// Whether a memref lies in global memory.
bool isGlobal(mlir::MemRefType type);
/// The element type of a memref or tensor.
mlir::Type getElementType(mlir::Value value);
/// The size in bits of an integer, index (32) or floating point type.
int64_t getElementBits(mlir::Type elementType);
/// The bits an element takes in memory: no less than a byte.
int64_t getStorageBits(mlir::Type elementType);
/// The size in bytes of a buffer with a static shape, gaps of its layout
/// included.
int64_t getBufferBytes(mlir::MemRefType type);
/// The layout of a shared buffer: its `#tile.shared`, or row-major.
SharedLayout getSharedLayout(mlir::MemRefType type);
/// The layout of `versions` of a buffer with `layout` behind a leading
/// dimension, each at a multiple of the swizzle's atom; fails with an error if
/// that reaches too far. Null stays null.
mlir::FailureOr<SharedLayoutAttr>
expandLayout(SharedLayoutAttr layout, mlir::Type elementType, int64_t versions,
             llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
/// The type of `versions` of a shared buffer, of which a layout that was given
/// is kept.
mlir::FailureOr<mlir::MemRefType>
getVersionedType(mlir::MemRefType type, int64_t versions,
                 llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
/// Registers of a multiprocessor, NVIDIA sm_90 and later.
constexpr int64_t kRegisterFile = 65536;
/// Whether a role can ask for this number of registers a thread.
inline bool isRegisterCount(int64_t registers) {
  return registers >= 24 && registers <= 256 && registers % 8 == 0;
}
/// The layout of a fragment; it must have one.
FragmentLayout getFragmentLayout(mlir::Type tensorType);
bool hasFragmentLayout(mlir::Type type);
/// The number of threads that execute `op`: those of the role around it or, if
/// there is none, of the kernel (`tile.threads`, 128 if absent).
int64_t getNumThreads(mlir::Operation *op);
/// Whether `op` has `tile.inst = #tile.inst<kind>`.
bool hasInst(mlir::Operation *op, InstKind kind);
/// Whether one thread alone can do what `op` does for its role, without regard
/// to its regions.
bool runsOnOneThread(mlir::Operation *op);

} // namespace tilews::tile

#define GET_ATTRDEF_CLASSES
#include "tilews/Dialect/Tile/IR/TileAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "tilews/Dialect/Tile/IR/TileTypes.h.inc"

#include "tilews/Dialect/Tile/IR/TileInterfaces.h.inc"

#define GET_OP_CLASSES
#include "tilews/Dialect/Tile/IR/TileOps.h.inc"

#endif // TILEWS_DIALECT_TILE_IR_TILE_H
