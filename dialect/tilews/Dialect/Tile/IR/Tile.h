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
#include "mlir/IR/SymbolTable.h"
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

/// The warps of the roles of a block. A role writes to them, so that none is
/// erased because its body is empty: the threads of the others would change.
struct RoleWarps : mlir::SideEffects::Resource::Base<RoleWarps> {
  llvm::StringRef getName() final { return "RoleWarps"; }
};

/// A box of a buffer: an offset and a static size for each dimension, such as
/// offsets [%m, 0] and sizes [128, 64].
struct TileRegion {
  llvm::SmallVector<mlir::OpFoldResult> offsets;
  llvm::SmallVector<int64_t> sizes;

  /// The sizes other than one.
  llvm::SmallVector<int64_t> getSqueezedSizes() const;
};

enum class AccessKind { Read, Write, ReadWrite };

/// A region of a buffer, and whether an operation reads or writes it.
struct AccessRegion {
  mlir::OpOperand *buffer;
  AccessKind kind;
  TileRegion region;
  /// The dimensions along which the elements may be anywhere in the buffer, and
  /// whether some elements of the region may not be accessed at all.
  llvm::SmallVector<int64_t> indexedDims = {};
  bool isMasked = false;
  /// The index along `limitDim` at which the buffer ends, if not before; or
  /// null.
  mlir::Value limit = {};
  int64_t limitDim = 0;

  /// Whether the region has the accessed elements, and no others.
  bool isExact() const { return indexedDims.empty() && !isMasked && !limit; }
  bool reads() const { return kind != AccessKind::Write; }
  bool writes() const { return kind != AccessKind::Read; }
};

/// A layout that an instruction requires of an operand or a result: a
/// `#tile.shared` or a `#tile.fragment`.
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

/// Called with an instruction that an operation cannot become, and the reason.
using RejectFn = llvm::function_ref<void(InstKind, const llvm::Twine &reason)>;

class MatmulOpInterface;
/// The matrix instruction of a matmul, as given by its `tile.inst`, and the
/// grid of warps that executes it. For example wgmma m64n128k16 in a grid of
/// 2x1 warpgroups computes a tile of 128x128.
struct MatmulPlan {
  MmaInstruction mma;
  WarpGrid grid;
  /// The layout of the metadata of a sparse instruction
  /// (SparseMmaInstruction::metadata): 4 bits for 4 elements, as in
  /// `tile.gemm_sp`.
  std::optional<FragmentLayout> metadata;

  /// The instruction with the K of an operand in memory: half the K if it is
  /// sparse, the bytes if it is packed.
  MmaInstruction getOperandMma(MatmulOpInterface op, bool isLhs) const;
  /// The places of the scales of a scaled matmul as those of operands with an
  /// element for 32 along K: each lane has one.
  MmaInstruction getScaleMma() const;
};
/// Returns the plan of `op` for `threads` threads. None if its `tile.inst` is
/// simt, or an instruction that the target, the types, the layouts or the
/// number of threads rule out.
std::optional<MatmulPlan>
getMatmulPlan(MatmulOpInterface op, const TargetInfo &target, int64_t threads);
/// Returns the layout in which the threads hold the metadata of a sparse
/// matmul.
MetadataLayout getMetadataLayout(MatmulOpInterface op, const MatmulPlan &plan);

/// The maximal number of elements of a fragment or a copied region. Neither the
/// registers nor the shared memory of a block hold more on any target.
constexpr int64_t kMaxTileElements = 1 << 19;
/// Returns the number of elements of a region with `sizes`; nothing if it is
/// not in [1, limit].
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> sizes,
                                     int64_t limit);
/// Returns whether fragments and buffers can have elements of this type.
bool isTileElement(mlir::Type type);
/// Returns whether inline assembly can have operands of this type: scalars and
/// fragments of 16 to 64 bits, no index.
bool isAsmType(mlir::Type type);
/// Returns whether `type` is a fragment: a tensor with a static shape without
/// empty dimensions, an element type of the dialect, and no encoding other than
/// `#tile.fragment`.
bool isFragmentType(mlir::Type type);
/// Returns whether `type` is a buffer: a memref in global memory with a strided
/// layout, or in shared memory with a static shape and no layout other than
/// `#tile.shared`. A buffer has no empty dimension, and an element type of the
/// dialect.
bool isBufferType(mlir::Type type);

/// Returns whether a memref is in shared (workgroup) memory.
bool isShared(mlir::MemRefType type);
inline bool isShared(mlir::Value value) {
  auto type = llvm::dyn_cast<mlir::MemRefType>(value.getType());
  return type && isShared(type);
}
/// Returns whether a memref is in global memory.
bool isGlobal(mlir::MemRefType type);
/// Returns the element type of a memref or tensor.
mlir::Type getElementType(mlir::Value value);
/// Returns the size in bits of an integer, index (32) or floating point type.
int64_t getElementBits(mlir::Type elementType);
/// Returns the bits that an element occupies in memory: at least 8.
int64_t getStorageBits(mlir::Type elementType);
/// Returns the size in bytes of a buffer with a static shape, including gaps of
/// its layout.
int64_t getBufferBytes(mlir::MemRefType type);
/// Returns the layout of a shared buffer: its `#tile.shared`, or row-major.
SharedLayout getSharedLayout(mlir::MemRefType type);
/// Returns `layout` with a new leading dimension of `versions` versions, each
/// at a multiple of the atom of the swizzle. Fails with an error if the offsets
/// overflow. Returns null for a null layout.
mlir::FailureOr<SharedLayoutAttr>
expandLayout(SharedLayoutAttr layout, mlir::Type elementType, int64_t versions,
             llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
/// Returns the type of `versions` versions of a shared buffer:
/// memref<64x64xf16> becomes memref<3x64x64xf16> for 3 versions. An explicit
/// layout is extended.
mlir::FailureOr<mlir::MemRefType>
getVersionedType(mlir::MemRefType type, int64_t versions,
                 llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
/// The number of 32-bit registers of a multiprocessor, NVIDIA sm_90 and later.
constexpr int64_t kRegisterFile = 65536;
/// Returns whether a role can request this number of registers per thread.
inline bool isRegisterCount(int64_t registers) {
  return registers >= 24 && registers <= 256 && registers % 8 == 0;
}
/// Returns the layout of a fragment, which must have one.
FragmentLayout getFragmentLayout(mlir::Type tensorType);
bool hasFragmentLayout(mlir::Type type);
/// Returns whether the scratch memory of the kernel around `op` is planned. An
/// operation that needs none must not become one that does from then on.
bool isScratchPlanned(mlir::Operation *op);
/// Returns the number of threads that execute `op`: those of the enclosing role
/// or, outside of roles, of the kernel (`tile.threads`, 128 if absent).
int64_t getNumThreads(mlir::Operation *op);
/// Returns whether `tile.schedule_limit` of `kernel` is `limit` or a stricter
/// one.
bool isLimitedTo(mlir::Operation *kernel, ScheduleLimit limit);
/// Returns the kind in `tile.inst`, simt without it.
InstKind getInst(mlir::Operation *op);
/// Returns whether `op` has `tile.inst = #tile.inst<kind>`.
bool hasInst(mlir::Operation *op, InstKind kind);
/// Returns whether one thread can execute `op` on behalf of its role, such as a
/// TMA copy. Does not look into the regions of `op`.
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
