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

#include "tilews/Conversion/Common/Indexing.h"
#include "tilews/Conversion/Common/TargetLowering.h"
#include "tilews/Dialect/Tile/IR/Kernel.h"
#include "tilews/Layout/MatrixAccess.h"
#include "tilews/Layout/WarpExchange.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Transforms/DialectConversion.h"

namespace tilews {

/// Converts fragments, shared buffers and all that LLVM's converter knows.
class TileTypeConverter : public mlir::LLVMTypeConverter {
public:
  TileTypeConverter(mlir::MLIRContext *context, unsigned indexBitwidth);
};

/// What patterns know beside the operation at hand.
struct LoweringContext {
  LoweringContext(const TargetLowering &target, mlir::gpu::GPUFuncOp kernel);

  /// The threads that run `op`. Known from before the conversion, so that it
  /// does not matter whether the role around `op` is converted already.
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
  /// For each region an operation accesses, in the order of its access
  /// regions, the elements that can be accessed at once; taken before the
  /// conversion starts.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int64_t>> maxVectors;
};

/// The number of the thread in `threads`.
mlir::Value createThreadId(mlir::ImplicitLocOpBuilder &b,
                           const TargetLowering &target,
                           const ThreadGroup &threads);

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
  /// The number of the thread among those that run `op`.
  mlir::Value getThreadId(mlir::ImplicitLocOpBuilder &b, OpT op) const {
    return createThreadId(b, getTarget(), lowering.getThreads(op));
  }
  void emitBarrier(mlir::ImplicitLocOpBuilder &b, OpT op) const {
    getTarget().emitBarrier(b, lowering.getThreads(op));
  }
  LoweringContext &lowering;
};

/// A conversion pattern for dense and sparse matrix products.
class MatmulPattern
    : public TilePattern<
          tile::MatmulOpInterface,
          mlir::OpInterfaceConversionPattern<tile::MatmulOpInterface>> {
public:
  using TilePattern::TilePattern;

protected:
  /// The converted operand.
  static mlir::Value getConverted(mlir::OpOperand &operand,
                                  llvm::ArrayRef<mlir::Value> operands) {
    return operands[operand.getOperandNumber()];
  }
};

/// Name of the arena's symbol in its gpu.module.
constexpr llvm::StringLiteral kArenaName = "tile_shared";

/// The widest vector of any access, in elements of one byte.
constexpr int64_t kMaxVector = 16;

/// A pointer to byte `offset` of the arena of shared memory.
mlir::Value createArenaPointer(mlir::ImplicitLocOpBuilder &b, int64_t offset);

/// The registers of a vector, and a vector of registers.
llvm::SmallVector<mlir::Value> unpack(mlir::ImplicitLocOpBuilder &b,
                                      mlir::Value vector);
mlir::Value pack(mlir::ImplicitLocOpBuilder &b, mlir::Type element,
                 llvm::ArrayRef<mlir::Value> registers);

/// Whether this is the first thread of those numbered by `threadId`.
mlir::Value isFirstThread(mlir::ImplicitLocOpBuilder &b, mlir::Value threadId);

/// Splits offsets into values of the index width and constants.
llvm::SmallVector<SplitOffset>
splitOffsets(mlir::ImplicitLocOpBuilder &b,
             llvm::ArrayRef<int64_t> staticOffsets, mlir::ValueRange dynamic,
             int64_t rank);

/// A pointer `index * stride` bytes behind `base`.
mlir::Value createElementPointer(mlir::ImplicitLocOpBuilder &b,
                                 mlir::Value base, mlir::Value index,
                                 int64_t stride);

/// Loads `count` neighbours as values of `element`, and stores them.
mlir::Value createLoad(mlir::ImplicitLocOpBuilder &b, mlir::Value address,
                       mlir::Type element, int64_t count);
void createStore(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                 mlir::Value address, mlir::Type element, int64_t count);
/// Emits `then` where `mask` holds, everywhere if it is null.
void createGuarded(mlir::ImplicitLocOpBuilder &b, mlir::Value mask,
                   llvm::function_ref<void()> then);
/// Whether a thread is the first of those that hold the same elements of a
/// fragment; null if each element is one thread's. Others need not store it.
mlir::Value getOwnerPredicate(mlir::ImplicitLocOpBuilder &b,
                              const FragmentLayout &layout,
                              mlir::Value threadId);
/// Emits `body(masked)`: once for regions inside the buffer without masks and
/// once with, as far as both can happen.
void createVersions(mlir::ImplicitLocOpBuilder &b, RegionAccess &access,
                    llvm::function_ref<void(bool)> body);
/// Loads registers `first` to `first + count` of a fragment; with `masked`,
/// those that may not be touched become `padding`.
llvm::SmallVector<mlir::Value>
loadRegisters(mlir::ImplicitLocOpBuilder &b, RegionAccess &access,
              const FragmentIndexer &indexer, mlir::Type element,
              mlir::Value padding, int64_t first, int64_t count, bool masked);
/// Loads all registers of a fragment; those that may not be touched become
/// `padding` (zero if it is null).
mlir::Value loadFragment(mlir::ImplicitLocOpBuilder &b, RegionAccess &access,
                         const FragmentIndexer &indexer, mlir::Type element,
                         mlir::Value padding);
/// Stores the registers of a fragment where the region allows.
void storeFragment(mlir::ImplicitLocOpBuilder &b, RegionAccess &access,
                   const FragmentIndexer &indexer, mlir::Value vector);

/// Moves a fragment between registers and shared memory in 8x8 matrices.
class MatrixMover {
public:
  /// None if the target has no such instruction, if the layouts of fragment and
  /// buffer do not fit it, or if elements have to be masked. The arguments are
  /// those of RegionAccess.
  static std::optional<MatrixMover>
  get(mlir::ImplicitLocOpBuilder &b, const TargetLowering &target,
      mlir::MemRefType type, mlir::Value buffer,
      llvm::ArrayRef<SplitOffset> offsets, llvm::ArrayRef<int64_t> sizes,
      int64_t maxVector, const FragmentLayout &layout,
      llvm::ArrayRef<int64_t> shape, mlir::Value threadId, bool isStore);

  mlir::Value load(mlir::Type element, int64_t numRegisters);
  void store(mlir::Value vector);

private:
  /// The addresses of the rows; the region refers to the indexer.
  struct Rows {
    Rows(mlir::ImplicitLocOpBuilder &b, mlir::MemRefType type,
         mlir::Value buffer, llvm::ArrayRef<SplitOffset> offsets,
         llvm::ArrayRef<int64_t> sizes, int64_t maxVector,
         const MatrixAccess &access, llvm::ArrayRef<int64_t> shape,
         mlir::Value threadId)
        : indexer(b, access.rows, shape, threadId),
          region(b, type, buffer, offsets, sizes, maxVector, indexer) {}

    FragmentIndexer indexer;
    RegionAccess region;
  };

  MatrixMover(mlir::ImplicitLocOpBuilder &b, const TargetLowering &target,
              MatrixAccess access, std::unique_ptr<Rows> rows)
      : b(b), target(target), access(std::move(access)), rows(std::move(rows)) {
  }
  mlir::Value getAddress(int64_t instruction) {
    return rows->region.getAddress(rows->indexer.getConstants(instruction));
  }

  mlir::ImplicitLocOpBuilder &b;
  const TargetLowering &target;
  MatrixAccess access;
  std::unique_ptr<Rows> rows;
};

/// Reads the metadata of a sparse product, from shared memory or a fragment, as
/// the words that its instructions take.
class MetadataReader {
public:
  /// The converted operand is `metadata`.
  MetadataReader(mlir::ImplicitLocOpBuilder &b, tile::MatmulOpInterface op,
                 const tile::MatmulPlan &plan, mlir::Value metadata,
                 mlir::Value threadId);

  /// The words along K of one repeat along M, each an i32.
  llvm::SmallVector<mlir::Value> read(int64_t repeat);
  /// How many steps along K take their metadata from one word: with selectors
  /// from zero on.
  int64_t getStepsPerWord() const { return layout.stepsPerWord; }

private:
  mlir::Value makeWord(llvm::ArrayRef<mlir::Value> registers);

  mlir::ImplicitLocOpBuilder &b;
  MetadataLayout layout;
  /// Of a repeat along M, and of a word.
  int64_t perRepeat, perWord;
  llvm::SmallVector<mlir::Value> registers;
  mlir::Value threadId;
};

/// The registers of a fragment, a vector, in another layout: by an exchange
/// within each warp.
mlir::Value createWarpExchange(mlir::ImplicitLocOpBuilder &b,
                               const TargetLowering &target,
                               const WarpExchange &exchange, mlir::Value vector,
                               mlir::Value threadId);

/// The kernel's function, and the arena in its module.
void populateKernelPatterns(const TileTypeConverter &converter,
                            LoweringContext &lowering,
                            mlir::RewritePatternSet &patterns);
/// arith and math on fragments, constants, splats, shape changes, iota.
void populateElementwisePatterns(const TileTypeConverter &converter,
                                 LoweringContext &lowering,
                                 mlir::RewritePatternSet &patterns);
/// Allocation, views, loads, stores, copies, atomics, scalar accesses, and
/// barriers for all threads.
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
/// Matrix products by warp-wide instructions, and by plain arithmetic.
void populateMatmulPatterns(const TileTypeConverter &converter,
                            LoweringContext &lowering,
                            mlir::RewritePatternSet &patterns);
/// Printing and assertions.
void populateDebugPatterns(const TileTypeConverter &converter,
                           LoweringContext &lowering,
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
