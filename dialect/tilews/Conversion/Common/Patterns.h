//===- Patterns.h - From tiles to per-thread code ---------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The patterns that the conversions to NVVM and to ROCDL share. A fragment
// becomes a vector of the registers of one thread, a shared buffer a pointer
// into the kernel's one arena, a kernel an llvm.func.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_CONVERSION_COMMON_PATTERNS_H
#define TILEWS_CONVERSION_COMMON_PATTERNS_H

#include "tilews/Conversion/Common/Emit.h"
#include "tilews/Dialect/Tile/IR/Kernel.h"
#include "tilews/Layout/LdsDma.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Transforms/DialectConversion.h"

namespace tilews {

/// Converts fragments to vectors and shared buffers to pointers, and has
/// upstream's conversions to LLVM for all other types.
class TileTypeConverter : public mlir::LLVMTypeConverter {
public:
  TileTypeConverter(mlir::MLIRContext *context, unsigned indexBitwidth);
};

/// Facts about the kernel and the target that patterns need besides the
/// operation.
struct LoweringContext {
  LoweringContext(const TargetLowering &target, mlir::gpu::GPUFuncOp kernel);

  /// Returns the threads that run `op`. They are recorded before the conversion
  /// starts, because the role around `op` may be converted first.
  const ThreadGroup &getThreads(mlir::Operation *op) const {
    auto role = roles.find(op);
    return role == roles.end() ? block : role->second;
  }

  const TargetLowering &target;
  /// The kernel's threads, and those of the operations in roles.
  ThreadGroup block;
  llvm::DenseMap<mlir::Operation *, ThreadGroup> roles;
  /// The kernel's tensor maps, which become its last parameters.
  llvm::SmallVector<tile::TensorMap> tensorMaps;
  /// The arguments that must not overlap.
  llvm::SmallVector<tile::ArgumentPair> disjoint;
  /// For each region an operation accesses, in the order of its access
  /// regions, the elements that can be accessed at once; taken before the
  /// conversion starts.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int64_t>> maxVectors;
  /// For each region, whether the hardware can check its bounds, and whether
  /// the region never begins at a negative index of the first dimension.
  struct RegionBounds {
    bool areChecked, startsInside;
  };
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<RegionBounds>> bounds;
  /// The copies that become `emitWaveCopy`, and for each wait for groups of
  /// copies the least number of those that a wave has started since.
  llvm::DenseMap<mlir::Operation *, LdsDma> waveCopies;
  llvm::DenseMap<mlir::Operation *, int64_t> youngerCopies;

  /// Lets the hardware check the bounds of region `number` of `op` if it can;
  /// with `always` even if none needs a check.
  void useBounds(mlir::Operation *op, unsigned number, RegionAccess &access,
                 bool always = false) const {
    auto found = bounds.find(op);
    if (found != bounds.end() && found->second[number].areChecked)
      access.useBounds(target, found->second[number].startsInside, always);
  }
};

/// Finds the copies that waves write linearly, and counts the instructions that
/// waits leave in flight. Other asynchronous copies get a remark.
void collectWaveCopies(mlir::gpu::GPUFuncOp kernel, LoweringContext &lowering);

/// A conversion pattern with access to the context.
template <typename OpT, typename BaseT = mlir::OpConversionPattern<OpT>>
class TilePattern : public BaseT {
public:
  TilePattern(const TileTypeConverter &converter, LoweringContext &lowering,
              mlir::PatternBenefit benefit = 1)
      : BaseT(converter, &converter.getContext(), benefit), lowering(lowering) {
  }

protected:
  const TargetLowering &getTarget() const { return lowering.target; }
  int64_t getNumThreads(OpT op) const { return lowering.getThreads(op).count; }
  /// Returns the number of the thread among those that run `op`.
  mlir::Value getThreadId(mlir::ImplicitLocOpBuilder &b, OpT op) const {
    return createThreadId(b, getTarget(), lowering.getThreads(op));
  }
  void emitBarrier(mlir::ImplicitLocOpBuilder &b, OpT op) const {
    getTarget().emitBarrier(b, lowering.getThreads(op));
  }
  /// Returns how the registers of `indexer` access the region of `op` in
  /// `buffer`, the converted operand of a type `type`. A copy has two regions,
  /// and is none of these operations.
  template <typename AdaptorT>
  RegionAccess getAccess(mlir::ImplicitLocOpBuilder &b, OpT op,
                         AdaptorT adaptor, mlir::MemRefType type,
                         mlir::Value buffer, const FragmentIndexer &indexer,
                         ElementPlacement placement = {}) const {
    RegionAccess access(b, type, buffer,
                        splitOffsets(b, op.getStaticOffsets(),
                                     adaptor.getOffsets(), type.getRank()),
                        op.getRegion().sizes, lowering.maxVectors.at(op)[0],
                        indexer, std::move(placement));
    lowering.useBounds(op, 0, access);
    return access;
  }
  LoweringContext &lowering;
};

/// A conversion pattern for dense and sparse matmuls.
class MatmulPattern
    : public TilePattern<
          tile::MatmulOpInterface,
          mlir::OpInterfaceConversionPattern<tile::MatmulOpInterface>> {
public:
  using TilePattern::TilePattern;

protected:
  /// Returns the converted operand.
  static mlir::Value getConverted(mlir::OpOperand &operand,
                                  llvm::ArrayRef<mlir::Value> operands) {
    return operands[operand.getOperandNumber()];
  }
};

/// The kernel's function, and the arena in its module.
void populateKernelPatterns(const TileTypeConverter &converter,
                            LoweringContext &lowering,
                            mlir::RewritePatternSet &patterns);
/// The results of structured control flow. Operations of scf are legal in
/// `legal` when their operands and results have types of thread code.
void populateRegionPatterns(const mlir::TypeConverter &converter,
                            mlir::RewritePatternSet &patterns,
                            mlir::ConversionTarget &legal);
/// arith and math on fragments, constants, splats, shape changes, iota.
void populateElementwisePatterns(const TileTypeConverter &converter,
                                 LoweringContext &lowering,
                                 mlir::RewritePatternSet &patterns);
/// Inline assembly.
void populateAssemblyPatterns(const TileTypeConverter &converter,
                              LoweringContext &lowering,
                              mlir::RewritePatternSet &patterns);
/// Conversions from and to elements of at most 8 bits, and `tile.bitcast`.
void populateSmallTypePatterns(const TileTypeConverter &converter,
                               LoweringContext &lowering,
                               mlir::RewritePatternSet &patterns);
/// Allocation, views, loads, stores, copies, gathers, scatters, atomics, scalar
/// accesses, and barriers for all threads.
void populateCopyPatterns(const TileTypeConverter &converter,
                          LoweringContext &lowering,
                          mlir::RewritePatternSet &patterns);
void populateAtomicPatterns(const TileTypeConverter &converter,
                            LoweringContext &lowering,
                            mlir::RewritePatternSet &patterns);
void populateGatherPatterns(const TileTypeConverter &converter,
                            LoweringContext &lowering,
                            mlir::RewritePatternSet &patterns);
void populateMemoryPatterns(const TileTypeConverter &converter,
                            LoweringContext &lowering,
                            mlir::RewritePatternSet &patterns);
/// Reductions, and scans.
void populateReductionPatterns(const TileTypeConverter &converter,
                               LoweringContext &lowering,
                               mlir::RewritePatternSet &patterns);
void populateScanPatterns(const TileTypeConverter &converter,
                          LoweringContext &lowering,
                          mlir::RewritePatternSet &patterns);
/// Conversions between fragment layouts, and reshapes.
void populateConvertLayoutPatterns(const TileTypeConverter &converter,
                                   LoweringContext &lowering,
                                   mlir::RewritePatternSet &patterns);
/// Matmuls by instructions of a warp and by plain arithmetic, and waits.
void populateMatmulPatterns(const TileTypeConverter &converter,
                            LoweringContext &lowering,
                            mlir::RewritePatternSet &patterns);
/// Matmuls by plain arithmetic.
void populateSimtMatmulPatterns(const TileTypeConverter &converter,
                                LoweringContext &lowering,
                                mlir::RewritePatternSet &patterns);
/// Printing and assertions.
void populateDebugPatterns(const TileTypeConverter &converter,
                           LoweringContext &lowering,
                           mlir::RewritePatternSet &patterns);
void populatePrintRecordPatterns(const TileTypeConverter &converter,
                                 LoweringContext &lowering,
                                 mlir::RewritePatternSet &patterns);
void populateAssertionPatterns(const TileTypeConverter &converter,
                               LoweringContext &lowering,
                               mlir::RewritePatternSet &patterns);
/// Shifts, divisions and conversions to integers that have a result for all
/// operands, as operations of LLVM.
void populateTotalArithmeticPatterns(const mlir::LLVMTypeConverter &converter,
                                     const TargetInfo &target,
                                     mlir::RewritePatternSet &patterns);

/// Looks at a kernel before it is converted and adds patterns of one target.
using AddPatternsFn = llvm::function_ref<mlir::LogicalResult(
    mlir::gpu::GPUFuncOp, const TileTypeConverter &, LoweringContext &,
    mlir::RewritePatternSet &)>;

/// Converts all kernels of a gpu.module; `addPatterns` adds the target's own.
mlir::LogicalResult convertTileModule(mlir::Operation *module,
                                      const TargetLowering &target,
                                      AddPatternsFn addPatterns = nullptr);

} // namespace tilews

#endif // TILEWS_CONVERSION_COMMON_PATTERNS_H
