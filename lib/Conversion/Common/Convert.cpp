//===- Convert.cpp - Conversion of a module of kernels --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The conversion of all kernels of a module, shared by the targets. Each kernel
// is checked first, so that an error names the pass that has not run: every
// fragment needs a layout over the threads that execute it, channels must have
// become barriers, constants must fit the width of indices. Facts that need the
// whole kernel are computed before the rewriting starts: the threads of each
// role, and the widest vector that alignment allows for each access.
//
// Then one dialect conversion replaces fragments by vectors of registers:
//
//   tensor<64x64xf32, layout of 128 threads>  ->  vector<32xf32>
//   memref<?x64xf32> as an argument           ->  pointer and one extent
//
// Annotations that no pass has used become remarks.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/DeviceVariables.h"
#include "tilews/Conversion/Common/Patterns.h"
#include "tilews/Dialect/Tile/Analysis/Divisibility.h"
#include "tilews/Dialect/Tile/Analysis/IndexSigns.h"
#include "tilews/Dialect/Tile/Analysis/Memory/ArgumentAliases.h"
#include "tilews/Dialect/Tile/Analysis/Remarks.h"
#include "tilews/Dialect/Tile/Utils/Stages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/InterleavedRange.h"

#define DEBUG_TYPE "convert-tile"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ALWAYS_ENABLED_STATISTIC(numKernels, "Kernels converted to code of one thread");

/// Declares the arena: shared memory of size 0 here, whose size the launch
/// sets.
static void createArena(gpu::GPUModuleOp module) {
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), 0);
  LLVM::GlobalOp::create(b, module.getLoc(), type, /*isConstant=*/false,
                         LLVM::Linkage::External, kArenaName,
                         /*value=*/Attribute(), /*alignment=*/1024,
                         /*addrSpace=*/3);
}

/// The maximal number of elements of a fragment in one thread. LLVM scalarizes
/// fragments, and takes time in proportion to the square of their number: 1024
/// take seconds, 2048 on AMD minutes and gigabytes. A thread has 255 (NVIDIA)
/// or 512 (AMD) registers.
static constexpr int64_t kMaxRegisters = 1024;

static LogicalResult checkFragments(gpu::GPUFuncOp kernel) {
  WalkResult result = kernel.walk([&](Operation *op) {
    for (Type type : op->getResultTypes()) {
      if (!isa<RankedTensorType>(type))
        continue;
      if (!hasFragmentLayout(type)) {
        op->emitError("fragment has no layout; run --tile-infer-layouts");
        return WalkResult::interrupt();
      }
      int64_t threads = getNumThreads(op);
      FragmentLayout layout = getFragmentLayout(type);
      if (layout.getNumThreads() != threads) {
        op->emitError("fragment is spread over ")
            << layout.getNumThreads() << " threads, but the operation runs on "
            << threads;
        return WalkResult::interrupt();
      }
      if (layout.getNumValues() > kMaxRegisters) {
        auto tensor = cast<RankedTensorType>(type);
        op->emitError("fragment ")
            << RankedTensorType::get(tensor.getShape(), tensor.getElementType())
            << " has " << layout.getNumValues() << " elements in each of "
            << threads << " threads, the limit is " << kMaxRegisters
            << "; use smaller fragments or more threads";
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Fails if a channel has not become barriers.
static LogicalResult checkChannels(gpu::GPUFuncOp kernel) {
  WalkResult result = kernel.walk([](Operation *op) {
    if (!isa<ChannelOp, CursorOp>(op))
      return WalkResult::advance();
    op->emitOpError("is for schedules; run --tile-lower-channels first");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Fails at an atomic operation of another dialect: each thread would execute
/// it, but the block makes one update. `tile.atomic_rmw` lets one thread do so.
static LogicalResult checkAtomics(gpu::GPUFuncOp kernel) {
  WalkResult result = kernel.walk([](Operation *op) {
    if (!isa<memref::AtomicRMWOp, memref::GenericAtomicRMWOp, LLVM::AtomicRMWOp,
             LLVM::AtomicCmpXchgOp>(op))
      return WalkResult::advance();
    op->emitOpError("in a kernel would be executed by each thread; use "
                    "tile.atomic_rmw or tile.atomic_cas (in Python: "
                    "tl.atomic_add and the like), which the block executes "
                    "once");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Fails if a load or store of one element is of a type without a width, such
/// as a complex number.
static LogicalResult checkElements(gpu::GPUFuncOp kernel) {
  WalkResult result = kernel.walk([](Operation *op) {
    if (!isa<memref::LoadOp, memref::StoreOp>(op))
      return WalkResult::advance();
    unsigned position = isa<memref::LoadOp>(op) ? 0 : 1;
    auto type = cast<MemRefType>(op->getOperand(position).getType());
    if (type.getElementType().isIntOrIndexOrFloat())
      return WalkResult::advance();
    op->emitOpError("cannot access an element of ")
        << type << ": expected integers, indices or floats, found "
        << type.getElementType();
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LoweringContext::LoweringContext(const TargetLowering &target,
                                 gpu::GPUFuncOp kernel)
    : target(target), block({0, getNumThreads(kernel), 0}),
      disjoint(findDisjointArguments(kernel)) {
  kernel.walk([&](SpecializeOp specialize) {
    // Hardware barrier 0 synchronizes the block; roles get the following ones.
    int64_t barrier = 0;
    for (RoleOp role : specialize.getRoles()) {
      ThreadGroup group = {role.getFirstThread(), role.getNumThreads(),
                           ++barrier};
      group.elected = role.getElected();
      role->walk([&](Operation *op) { roles[op] = group; });
    }
  });
}

/// Fails if a constant of type index does not fit the width of indices.
static LogicalResult checkConstants(gpu::GPUFuncOp kernel,
                                    unsigned indexBitwidth) {
  WalkResult result = kernel.walk([&](arith::ConstantIndexOp op) {
    if (llvm::isIntN(indexBitwidth, op.value()))
      return WalkResult::advance();
    op->emitError("index ")
        << op.value() << " does not fit the " << indexBitwidth
        << " bits of index arithmetic; use "
           "index-bitwidth=64 (in Python: "
           "compile(index_bitwidth=64))";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Whether a number is the same as an index of 32 bits, because it had at most
/// as many before.
static bool fitsIndex(Value number, bool isSigned) {
  auto getBits = [](Value value) -> unsigned {
    Type type = getElementTypeOrSelf(value);
    return type.isIndex() ? 32 : type.getIntOrFloatBitWidth();
  };
  if (auto extended = number.getDefiningOp<arith::ExtUIOp>())
    return getBits(extended.getIn()) < 32;
  if (auto extended = number.getDefiningOp<arith::ExtSIOp>())
    return isSigned && getBits(extended.getIn()) <= 32;
  if (auto index = number.getDefiningOp<arith::IndexCastOp>())
    return isSigned && getBits(index.getIn()) <= 32;
  return getBits(number) < (isSigned ? 33 : 32);
}

/// Remarks on numbers that may not fit the indices that they become. The
/// interpreter has indices of 64 bits.
static void remarkCutIndices(gpu::GPUFuncOp kernel, unsigned indexBitwidth) {
  if (indexBitwidth != 32)
    return;
  kernel.walk([](Operation *op) {
    bool isSigned = isa<arith::IndexCastOp>(op);
    if ((!isSigned && !isa<arith::IndexCastUIOp>(op)) ||
        !getElementTypeOrSelf(op->getResult(0)).isIndex() ||
        fitsIndex(op->getOperand(0), isSigned))
      return;
    remarkAt(op, "tile-index-0001: a number of type ")
        << getElementTypeOrSelf(op->getOperand(0))
        << (isSigned ? "" : " without sign")
        << " becomes an index of 32 bits: what does not fit is cut off, and "
           "the interpreter has other results";
  });
}

/// Fails if an operation on tiles accesses a buffer of indices of 64 bits.
/// Layouts and the plan of shared memory took them for 32 bits.
static LogicalResult checkIndexBuffers(gpu::GPUFuncOp kernel,
                                       unsigned indexBitwidth) {
  WalkResult result = kernel.walk([&](AccessOpInterface op) {
    for (Type type : op->getOperandTypes()) {
      auto buffer = dyn_cast<MemRefType>(type);
      if (indexBitwidth == 32 || !buffer || !buffer.getElementType().isIndex())
        continue;
      op->emitError("accesses elements of type index, which have 32 bits in "
                    "memory, with index-bitwidth=64; use elements of i32 or "
                    "i64, and arith.index_cast");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

static LogicalResult checkRoles(gpu::GPUFuncOp kernel, const TargetInfo &info) {
  WalkResult result = kernel.walk(
      [&](SpecializeOp op) { return WalkResult(op.verifyTarget(info)); });
  return failure(result.wasInterrupted());
}

static void collectMaxVectors(gpu::GPUFuncOp kernel,
                              LoweringContext &lowering) {
  Divisibility divisibility;
  kernel.walk([&](AccessOpInterface op) {
    SmallVector<AccessRegion> regions;
    op.getAccessRegions(regions);
    SmallVector<int64_t> &maxVectors = lowering.maxVectors[op];
    for (const AccessRegion &region : regions)
      maxVectors.push_back(divisibility.getVectorElements(region));
    LDBG() << "alignment allows vectors of "
           << llvm::interleaved(maxVectors, " and ") << " elements: " << *op;
  });
}

/// Adds a region to `tile.reach` of the kernel's argument that it accesses: the
/// extents within which the launch checks that 32-bit offsets in bytes suffice.
static void addReach(gpu::GPUFuncOp kernel, BlockArgument buffer,
                     const AccessRegion &region) {
  constexpr int64_t kWholeExtent = 0;
  unsigned number = buffer.getArgNumber();
  SmallVector<int64_t> reach(region.region.sizes.size(), 1);
  if (auto last = kernel.getArgAttrOfType<DenseI64ArrayAttr>(
          number, TileDialect::kReach))
    reach.assign(last.asArrayRef().begin(), last.asArrayRef().end());
  for (auto [d, extent] : llvm::enumerate(reach)) {
    if (extent == kWholeExtent)
      continue;
    extent = llvm::is_contained(region.indexedDims, d)
                 ? kWholeExtent
                 : std::max(extent, region.region.sizes[d]);
  }
  kernel.setArgAttr(number, TileDialect::kReach,
                    DenseI64ArrayAttr::get(kernel.getContext(), reach));
}

/// Whether an operation updates parts of words. LLVM updates aligned words by
/// compare-and-swap, and writes the rest of it back. The word is that of the
/// address, not of the offset in a region, and the end of a buffer may cut it.
static bool updatesPartsOfWords(Operation *op, Value buffer) {
  return isa<AtomicRMWOp, AtomicScatterOp, AtomicCASOp>(op) &&
         getElementBits(getElementType(buffer)) < 32;
}

/// Finds the regions whose bounds the hardware can check.
static void collectBounds(gpu::GPUFuncOp kernel, LoweringContext &lowering) {
  if (!lowering.target.hasBoundedPointers())
    return;
  IndexSigns signs;
  kernel.walk([&](AccessOpInterface op) {
    SmallVector<AccessRegion> regions;
    op.getAccessRegions(regions);
    for (const AccessRegion &region : regions) {
      Value buffer = region.buffer->get();
      auto argument = dyn_cast<BlockArgument>(buffer);
      bool isArgument =
          argument && argument.getOwner() == &kernel.getBody().front();
      bool checked = isArgument && !isShared(buffer) &&
                     !updatesPartsOfWords(op, buffer) &&
                     lowering.target.indexBitwidth == 32;
      bool startsInside = checked && !region.region.offsets.empty() &&
                          signs.isNonNegative(region.region.offsets.front());
      lowering.bounds[op].push_back({checked, startsInside});
      if (checked)
        addReach(kernel, argument, region);
      else if (!isShared(buffer))
        LDBG() << "bounds are checked by branches: " << *op;
    }
  });
}

/// Drops annotations of loops that no pass has used, each with a remark.
static void remarkUnscheduledLoops(gpu::GPUFuncOp kernel) {
  dropStrayStages(kernel);
  kernel.walk([](scf::ForOp loop) {
    auto stages = loop->getAttrOfType<IntegerAttr>(TileDialect::kNumStages);
    if (stages && stages.getInt() > 1)
      remarkAt(loop, "tile-pipe-0001: loop runs without a software pipeline: "
                     "no pass has scheduled its ")
          << stages.getInt() << " stages";
    if (stages)
      forgetPlan(loop);
    auto blocks = loop->getAttrOfType<IntegerAttr>(TileDialect::kSplitK);
    if (blocks && blocks.getInt() > 1)
      remarkAt(loop, "tile-split-0002: loop is not split: no pass has shared "
                     "its iterations among ")
          << blocks.getInt() << " blocks";
    if (loop->hasAttr(TileDialect::kStreamK))
      remarkAt(loop, "tile-split-0002: loop is not split: no pass has shared "
                     "its iterations among the blocks");
    if (loop->hasAttr(TileDialect::kPingPong))
      remarkAt(loop, "tile-pp-0007: one role executes all iterations of a "
                     "loop: no pass has split them");
  });
}

/// Drops `tile.role_registers` with a remark. Roles that existed from the start
/// have `registers` of their own, and without roles there is nothing to set.
static void remarkRoleRegisters(gpu::GPUFuncOp kernel) {
  if (kernel->removeAttr(TileDialect::kRoleRegisters))
    remarkAt(kernel, "tile-ws-0010: 'tile.role_registers' is not used: no pass "
                     "has made roles of this kernel to give them to");
}

/// Drops `tile.cluster` with a remark on targets without clusters.
static void remarkClusters(gpu::GPUFuncOp kernel, const TargetInfo &info) {
  auto cluster =
      kernel->getAttrOfType<DenseI32ArrayAttr>(TileDialect::kCluster);
  if (!cluster || llvm::all_of(cluster.asArrayRef(),
                               [](int32_t extent) { return extent == 1; }))
    return;
  if (!info.isNVIDIA() || info.arch < 90) {
    remarkAt(kernel, "tile-cluster-0001: blocks are not launched in clusters: ")
        << info.chip << " has none";
    kernel->removeAttr(TileDialect::kCluster);
  }
}

static LogicalResult convertKernel(gpu::GPUFuncOp kernel,
                                   const TargetLowering &target,
                                   const TileTypeConverter &converter,
                                   AddPatternsFn addPatterns) {
  MLIRContext *context = kernel.getContext();
  LoweringContext lowering(target, kernel);
  if (failed(checkRoles(kernel, target.info)) ||
      failed(checkFragments(kernel)) || failed(checkChannels(kernel)) ||
      failed(checkAtomics(kernel)) || failed(checkElements(kernel)) ||
      failed(checkConstants(kernel, target.indexBitwidth)) ||
      failed(checkIndexBuffers(kernel, target.indexBitwidth)))
    return failure();
  collectMaxVectors(kernel, lowering);
  collectBounds(kernel, lowering);
  collectWaveCopies(kernel, lowering);
  remarkUnscheduledLoops(kernel);
  remarkCutIndices(kernel, target.indexBitwidth);
  remarkClusters(kernel, target.info);
  remarkRoleRegisters(kernel);

  RewritePatternSet patterns(context);
  ConversionTarget legal(*context);
  populateKernelPatterns(converter, lowering, patterns);
  populateElementwisePatterns(converter, lowering, patterns);
  populateAssemblyPatterns(converter, lowering, patterns);
  populateSmallTypePatterns(converter, lowering, patterns);
  populateAtomicPatterns(converter, lowering, patterns);
  populateGatherPatterns(converter, lowering, patterns);
  populateMemoryPatterns(converter, lowering, patterns);
  populateCopyPatterns(converter, lowering, patterns);
  populateReductionPatterns(converter, lowering, patterns);
  populateScanPatterns(converter, lowering, patterns);
  populateConvertLayoutPatterns(converter, lowering, patterns);
  populateMatmulPatterns(converter, lowering, patterns);
  populateDebugPatterns(converter, lowering, patterns);
  populateAssertionPatterns(converter, lowering, patterns);
  if (addPatterns && failed(addPatterns(kernel, converter, lowering, patterns)))
    return failure();
  populateRegionPatterns(converter, patterns, legal);
  legal.addIllegalDialect<TileDialect, tensor::TensorDialect>();
  legal.addIllegalOp<gpu::GPUFuncOp, gpu::ReturnOp, gpu::BlockIdOp,
                     gpu::GridDimOp>();
  legal.addIllegalOp<memref::LoadOp, memref::StoreOp, memref::DimOp,
                     memref::CollapseShapeOp>();
  legal.addDynamicallyLegalDialect<arith::ArithDialect, math::MathDialect>(
      [](Operation *op) {
        // Bits of small types can be moved; LLVM has no conversions of them.
        bool moves =
            isa<arith::ConstantOp, arith::BitcastOp, arith::SelectOp>(op);
        auto isScalar = [&](Type type) {
          return !isa<RankedTensorType, MemRefType, MBarrierType>(type) &&
                 (moves || !isSmallFloat(type));
        };
        return llvm::all_of(op->getResultTypes(), isScalar) &&
               llvm::all_of(op->getOperandTypes(), isScalar);
      });
  legal.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  return applyPartialConversion(kernel, legal, std::move(patterns));
}

/// Erases the definitions of inline assembly, which no kernel needs any more.
static void eraseDefinitions(gpu::GPUModuleOp module) {
  SymbolTableCollection tables;
  SymbolUserMap users(tables, module);
  for (auto function :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (function.isPrivate() && users.useEmpty(function))
      function.erase();
}

LogicalResult tilews::convertTileModule(Operation *op,
                                        const TargetLowering &target,
                                        AddPatternsFn addPatterns) {
  auto module = cast<gpu::GPUModuleOp>(op);
  TileTypeConverter converter(module.getContext(), target.indexBitwidth);
  SmallVector<gpu::GPUFuncOp> kernels(module.getOps<gpu::GPUFuncOp>());
  if (!kernels.empty())
    createArena(module);
  for (gpu::GPUFuncOp kernel : kernels)
    if (failed(convertKernel(kernel, target, converter, addPatterns)))
      return failure();
  target.variables.finish();
  eraseDefinitions(module);
  numKernels += kernels.size();
  return success();
}
