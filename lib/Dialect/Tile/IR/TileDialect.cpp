//===- TileDialect.cpp - The tile dialect ---------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers of the discardable attributes of the dialect (`tile.threads`,
// `tile.stage`, ...), and queries on types and values that all passes share.
//
// One hook of MLIR verifies all attributes of operations, and another one those
// of arguments. Each dispatches on the name of the attribute. An attribute with
// the prefix `tile.` and an unknown name is an error, so a misspelled
// attribute is not ignored.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/Kernel.h"
#include "tilews/Dialect/Tile/IR/Tile.h"
#include "tilews/Layout/SwizzledLayout.h"
#include "tilews/Support/TargetInfo.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

#include "tilews/Dialect/Tile/IR/TileDialect.cpp.inc"
#include "tilews/Dialect/Tile/IR/TileInterfaces.cpp.inc"

Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                            Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

//===----------------------------------------------------------------------===//
// Discardable attributes
//===----------------------------------------------------------------------===//

static LogicalResult verifyGrid(FunctionOpInterface kernel, Attribute attr) {
  auto map = dyn_cast<AffineMapAttr>(attr);
  if (!map)
    return kernel.emitError("'tile.grid' expects an affine map, found ")
           << attr;
  AffineMap grid = map.getAffineMap();
  unsigned symbols = countGridSymbols(kernel);
  if (grid.getNumDims() != 0 || grid.getNumSymbols() != symbols)
    return kernel.emitError("'tile.grid' expects no dimensions and ")
           << symbols
           << " symbols (the dynamic extents of memref arguments and the "
              "integer arguments, in order), found "
           << grid.getNumDims() << " dimensions and " << grid.getNumSymbols()
           << " symbols";
  if (grid.getNumResults() < 1 || grid.getNumResults() > 3)
    return kernel.emitError("'tile.grid' expects 1 to 3 results, found ")
           << grid.getNumResults();
  return success();
}

static LogicalResult verifyArguments(FunctionOpInterface kernel,
                                     Attribute attr) {
  auto arguments = dyn_cast<ArrayAttr>(attr);
  if (!arguments || isa<gpu::GPUFuncOp>(kernel))
    return kernel.emitError("'tile.arguments' expects an array of dictionaries "
                            "on the llvm.func of a kernel, found ")
           << attr;
  for (Attribute argument : arguments)
    if (failed(
            verifyKernelArgument(argument, [&] { return kernel.emitError(); })))
      return failure();
  size_t parameters = getKernelParameters(getKernelArguments(kernel)).size() +
                      getTensorMaps(kernel).size();
  if (parameters != kernel.getNumArguments())
    return kernel.emitError("'tile.arguments' describes ")
           << parameters << " parameters, found " << kernel.getNumArguments();
  return success();
}

static LogicalResult verifyThreads(FunctionOpInterface kernel, Attribute attr) {
  auto threads = dyn_cast<IntegerAttr>(attr);
  int64_t warp = TargetInfo::getWarpSize(kernel);
  if (threads && threads.getType().isInteger(32) && threads.getInt() > 0 &&
      threads.getInt() <= 1024 && threads.getInt() % warp == 0)
    return success();
  return kernel.emitError("'tile.threads' expects an i32 from ")
         << warp << " to 1024 that is a multiple of " << warp
         << (warp == 32 ? "" : ", the threads of a wave") << ", found " << attr;
}

static LogicalResult verifyCluster(FunctionOpInterface kernel, Attribute attr) {
  auto dims = dyn_cast<DenseI32ArrayAttr>(attr);
  auto isValid = [](ArrayRef<int32_t> d) {
    return d.size() == 3 &&
           llvm::all_of(
               d, [](int32_t extent) { return extent >= 1 && extent <= 16; }) &&
           d[0] * d[1] * d[2] <= 16;
  };
  if (!dims || !isValid(dims))
    return kernel.emitError("'tile.cluster' expects array<i32: x, y, z> with 1 "
                            "to 16 blocks, found ")
           << attr;
  return success();
}

static LogicalResult verifyRoleRegisters(FunctionOpInterface kernel,
                                         Attribute attr) {
  auto isRole = [](NamedAttribute entry) {
    auto registers = dyn_cast<IntegerAttr>(entry.getValue());
    return (entry.getName() == "math" || entry.getName() == "load") &&
           registers && registers.getType().isInteger(64) &&
           isRegisterCount(registers.getInt());
  };
  auto roles = dyn_cast<DictionaryAttr>(attr);
  if (!roles || roles.size() != 2 || !llvm::all_of(roles, isRole))
    return kernel.emitError("'tile.role_registers' expects i64 registers for "
                            "'math' and 'load', multiples of 8 from 24 to 256, "
                            "found ")
           << attr;
  return success();
}

static LogicalResult verifyLoopCount(Operation *op, NamedAttribute attr) {
  StringRef name = attr.getName();
  auto count = dyn_cast<IntegerAttr>(attr.getValue());
  if (!isa<scf::ForOp>(op))
    return op->emitError("'") << name << "' belongs on an scf.for";
  if (!count || !count.getType().isInteger(32) || count.getInt() < 1)
    return op->emitError("'")
           << name << "' expects an i32 of at least 1, found "
           << attr.getValue();
  return success();
}

static LogicalResult verifyStreamK(Operation *op, Attribute value) {
  if (!isa<scf::ForOp>(op))
    return op->emitError("'tile.stream_k' belongs on an scf.for");
  if (op->hasAttr(TileDialect::kSplitK))
    return op->emitError(
        "'tile.stream_k' and 'tile.split_k' exclude each "
        "other: both share the loop's iterations among blocks");
  if (!isa<UnitAttr>(value))
    return op->emitError("'tile.stream_k' is a unit attribute, found ")
           << value;
  return success();
}

static LogicalResult verifyPingPong(Operation *op, Attribute attr) {
  if (!isa<scf::ForOp, PersistentOp>(op))
    return op->emitError(
        "'tile.ping_pong' belongs on a tile.persistent or an scf.for");
  if (!isa<UnitAttr>(attr))
    return op->emitError("'tile.ping_pong' has no value, found ") << attr;
  return success();
}

/// A loop has at most 64 stages, and its consumers run one stage later if a
/// buffer is refilled between them (`PipelinePlan::assignOrder`).
static constexpr int64_t kLastStage = 64;

static LogicalResult verifyStageOrOrder(Operation *op, NamedAttribute attr) {
  auto number = dyn_cast<IntegerAttr>(attr.getValue());
  // The enclosing loop may have been canonicalized away, so it is not required.
  if (!op->getParentOfType<FunctionOpInterface>())
    return op->emitError("'") << attr.getName().getValue()
                              << "' belongs on an operation in a kernel's loop";
  if (!number || !number.getType().isInteger(32) || number.getInt() < 0)
    return op->emitError("'")
           << attr.getName().getValue()
           << "' expects a non-negative i32, found " << attr.getValue();
  if (attr.getName() == TileDialect::kStage && number.getInt() > kLastStage)
    return op->emitError("'tile.stage' expects at most ")
           << kLastStage << ", found " << number.getInt();
  return success();
}

static LogicalResult verifyInst(Operation *op, Attribute attr) {
  if (!isa<InstructionOpInterface>(op))
    return op->emitError("'tile.inst' belongs on an operation that can become "
                         "different instructions");
  if (!isa<InstKindAttr>(attr))
    return op->emitError("'tile.inst' expects a #tile.inst, found ") << attr;
  return success();
}

/// `tile.layout` must be a valid layout of the only result of the operation.
static LogicalResult verifyLayout(Operation *op, Attribute value) {
  auto layout = dyn_cast<FragmentAttr>(value);
  if (!layout)
    return op->emitError("'tile.layout' expects a #tile.fragment, found ")
           << value;
  if (op->getNumResults() != 1 || !isFragmentType(op->getResult(0).getType()))
    return op->emitError(
        "'tile.layout' belongs on an operation that makes one fragment");
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (type.getEncoding() && type.getEncoding() != value)
    return op->emitError("'tile.layout' is ")
           << value << ", but the type has " << type.getEncoding();
  return layout.verifyEncoding(type.getShape(), type.getElementType(), [&] {
    return op->emitError("'tile.layout': ");
  });
}

static LogicalResult verifyBytes(Operation *op, StringRef name,
                                 Attribute value) {
  auto bytes = dyn_cast<IntegerAttr>(value);
  if (!bytes || !bytes.getType().isInteger(64) || bytes.getInt() < 0)
    return op->emitError("'")
           << name << "' expects a non-negative i64, found " << value;
  return success();
}

static LogicalResult verifyOffset(Operation *op, Attribute value) {
  if (!isa<AllocSharedOp, ChannelOp, MBarrierOp, ReduceOp, ScanOp, FlipOp,
           ConvertLayoutOp, ReshapeOp, PrintOp, AtomicOpInterface>(op))
    return op->emitError("'tile.offset' belongs on an operation that needs "
                         "shared memory");
  return verifyBytes(op, TileDialect::kOffset, value);
}

LogicalResult TileDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attr) {
  StringRef name = attr.getName();
  Attribute value = attr.getValue();
  if (name == kNumStages || name == kSplitK)
    return verifyLoopCount(op, attr);
  if (name == kStreamK)
    return verifyStreamK(op, value);
  if (name == kPingPong)
    return verifyPingPong(op, value);
  if (name == kStage || name == kOrder)
    return verifyStageOrOrder(op, attr);
  if (name == kInst)
    return verifyInst(op, value);
  if (name == kLayout)
    return verifyLayout(op, value);
  if (name == kOffset)
    return verifyOffset(op, value);
  // The operation checks the values.
  if ((name == kUnsigned || name == kBlock) && isa<PrintOp>(op))
    return success();

  auto kernel = dyn_cast<FunctionOpInterface>(op);
  bool onKernel = llvm::is_contained(
      ArrayRef<StringRef>{kThreads, kGrid, kCluster, kRasterize, kSharedBytes,
                          kArguments, kTensorMaps, kRoleRegisters, kMayAlias,
                          kDisjoint, kScheduleLimit},
      name);
  if (!onKernel)
    return op->emitError("unknown attribute '") << name << "'";
  if (!kernel)
    return op->emitError("'") << name << "' belongs on a kernel (gpu.func)";
  if (name == kThreads)
    return verifyThreads(kernel, value);
  if (name == kSharedBytes)
    return verifyBytes(kernel, name, value);
  if (name == kArguments)
    return verifyArguments(kernel, value);
  if (name == kTensorMaps)
    return verifyTensorMaps(kernel, value, [&] { return op->emitError(); });
  if (name == kMayAlias || name == kDisjoint)
    return verifyArgumentPairs(kernel, attr, [&] { return op->emitError(); });
  if (name == kGrid)
    return verifyGrid(kernel, value);
  if (name == kCluster)
    return verifyCluster(kernel, value);
  if (name == kRoleRegisters)
    return verifyRoleRegisters(kernel, value);
  if (name == kScheduleLimit && !isa<ScheduleLimitAttr>(value))
    return op->emitError(
               "'tile.schedule_limit' expects a #tile.schedule_limit, found ")
           << value;
  if (name == kRasterize && !isa<RasterizeAttr>(value))
    return op->emitError("'tile.rasterize' expects a #tile.rasterize, found ")
           << value;
  return success();
}

LogicalResult TileDialect::verifyRegionArgAttribute(Operation *op,
                                                    unsigned /*region*/,
                                                    unsigned argIndex,
                                                    NamedAttribute attr) {
  auto emitError = [&] { return op->emitError(); };
  auto kernel = dyn_cast<FunctionOpInterface>(op);
  StringRef name = attr.getName();
  if (kernel && name == kName) {
    if (isa<StringAttr>(attr.getValue()))
      return success();
    return op->emitError("'tile.name' expects a string, found ")
           << attr.getValue();
  }
  Type type = kernel ? kernel.getArgumentTypes()[argIndex] : Type();
  if (name != kUnsigned && !isa_and_present<MemRefType>(type))
    return op->emitError("'") << name << "' belongs on a memref argument";
  return verifyArgumentAttribute(type, attr, emitError);
}

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

bool tile::isTileElement(Type type) {
  if (isa<IndexType, Float64Type, Float32Type, Float16Type, BFloat16Type,
          Float8E4M3FNType, Float8E5M2Type, Float8E4M3FNUZType,
          Float8E5M2FNUZType, Float8E8M0FNUType, Float6E2M3FNType,
          Float6E3M2FNType, Float4E2M1FNType>(type))
    return true;
  return llvm::any_of(ArrayRef<unsigned>{1, 4, 8, 16, 32, 64},
                      [&](unsigned w) { return type.isSignlessInteger(w); });
}

std::optional<int64_t> tile::countElements(ArrayRef<int64_t> sizes,
                                           int64_t limit) {
  int64_t count = 1;
  for (int64_t size : sizes) {
    if (size < 1 || size > limit / count)
      return std::nullopt;
    count *= size;
  }
  return count;
}

/// Larger buffers could overflow the arithmetic on sizes.
static constexpr int64_t kMaxBufferElements =
    std::numeric_limits<int32_t>::max();

bool tile::isFragmentType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() &&
         countElements(tensor.getShape(), kMaxTileElements) &&
         isTileElement(tensor.getElementType()) &&
         (!tensor.getEncoding() || isa<FragmentAttr>(tensor.getEncoding()));
}

bool tile::isBufferType(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || !isTileElement(memref.getElementType()) ||
      llvm::is_contained(memref.getShape(), 0))
    return false;
  MemRefLayoutAttrInterface layout = memref.getLayout();
  if (isShared(memref))
    return memref.hasStaticShape() &&
           countElements(memref.getShape(), kMaxBufferElements) &&
           (layout.isIdentity() || isa<SharedLayoutAttr>(layout));
  return isGlobal(memref) && !isa<SharedLayoutAttr>(layout) &&
         (layout.isIdentity() || isa<StridedLayoutAttr>(layout));
}

bool tile::isShared(MemRefType type) {
  return gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(type);
}

bool tile::isGlobal(MemRefType type) {
  Attribute space = type.getMemorySpace();
  if (!space)
    return true;
  auto gpuSpace = dyn_cast<gpu::AddressSpaceAttr>(space);
  return gpuSpace && gpuSpace.getValue() == gpu::AddressSpace::Global;
}

Type tile::getElementType(Value value) {
  return cast<ShapedType>(value.getType()).getElementType();
}

int64_t tile::getElementBits(Type elementType) {
  return elementType.isIndex() ? 32 : elementType.getIntOrFloatBitWidth();
}

int64_t tile::getStorageBits(Type elementType) {
  return std::max<int64_t>(getElementBits(elementType), 8);
}

int64_t tile::getBufferBytes(MemRefType type) {
  int64_t bits = getStorageBits(type.getElementType());
  return llvm::divideCeil(getSharedLayout(type).getCosize(bits) * bits, 8);
}

SharedLayout tile::getSharedLayout(MemRefType type) {
  if (auto layout = dyn_cast<SharedLayoutAttr>(type.getLayout()))
    return layout.getLayout();
  return SharedLayout::getRowMajor(type.getShape());
}

FailureOr<SharedLayoutAttr>
tile::expandLayout(SharedLayoutAttr layout, Type elementType, int64_t versions,
                   llvm::function_ref<InFlightDiagnostic()> emitError) {
  if (!layout)
    return layout;
  llvm::Expected<SharedLayout> expanded =
      expand(layout.getLayout(), versions, getStorageBits(elementType));
  if (!expanded) {
    emitError() << "cannot hold " << versions << " versions with layout "
                << layout << ": " << llvm::toString(expanded.takeError());
    return failure();
  }
  auto result = SharedLayoutAttr::getChecked(emitError, layout.getContext(),
                                             expanded->getModes(),
                                             expanded->getSwizzle());
  if (!result)
    return failure();
  return result;
}

FailureOr<MemRefType>
tile::getVersionedType(MemRefType type, int64_t versions,
                       llvm::function_ref<InFlightDiagnostic()> emitError) {
  FailureOr<SharedLayoutAttr> layout =
      expandLayout(dyn_cast<SharedLayoutAttr>(type.getLayout()),
                   type.getElementType(), versions, emitError);
  if (failed(layout))
    return failure();
  SmallVector<int64_t> shape = {versions};
  llvm::append_range(shape, type.getShape());
  return MemRefType::getChecked(
      emitError, shape, type.getElementType(),
      MemRefLayoutAttrInterface(
          dyn_cast_if_present<MemRefLayoutAttrInterface>(Attribute(*layout))),
      type.getMemorySpace());
}

bool tile::hasFragmentLayout(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa_and_present<FragmentAttr>(tensor.getEncoding());
}

FragmentLayout tile::getFragmentLayout(Type type) {
  return cast<FragmentAttr>(cast<RankedTensorType>(type).getEncoding())
      .getLayout();
}

InstKind tile::getInst(Operation *op) {
  auto inst = op->getAttrOfType<InstKindAttr>(TileDialect::kInst);
  return inst ? inst.getValue() : InstKind::Simt;
}

bool tile::hasInst(Operation *op, InstKind kind) {
  auto inst = op->getAttrOfType<InstKindAttr>(TileDialect::kInst);
  return inst && inst.getValue() == kind;
}

bool tile::isScratchPlanned(Operation *op) {
  auto kernel = op->getParentOfType<FunctionOpInterface>();
  return kernel && kernel->hasAttr(TileDialect::kSharedBytes);
}

int64_t tile::getNumThreads(Operation *op) {
  auto role = dyn_cast<RoleOp>(op);
  if (!role)
    role = op->getParentOfType<RoleOp>();
  if (role)
    return role.getNumThreads();
  auto kernel = dyn_cast<FunctionOpInterface>(op);
  if (!kernel)
    kernel = op->getParentOfType<FunctionOpInterface>();
  if (kernel)
    if (auto threads =
            kernel->getAttrOfType<IntegerAttr>(TileDialect::kThreads))
      return threads.getInt();
  return 128;
}
