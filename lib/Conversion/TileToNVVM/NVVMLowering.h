//===- NVVMLowering.h - NVIDIA's instructions -------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_CONVERSION_TILETONVVM_NVVMLOWERING_H
#define TILEWS_LIB_CONVERSION_TILETONVVM_NVVMLOWERING_H

#include "tilews/Conversion/Common/Patterns.h"

namespace tilews {

/// Emits NVIDIA's instructions, as operations of the NVVM dialect where it has
/// them, as inline PTX otherwise.
class NVVMLowering : public TargetLowering {
public:
  using TargetLowering::TargetLowering;

  mlir::Value getThreadId(mlir::ImplicitLocOpBuilder &b) const override;
  mlir::Value getBlockId(mlir::ImplicitLocOpBuilder &b,
                         mlir::gpu::Dimension dim) const override;
  mlir::Value getGridDim(mlir::ImplicitLocOpBuilder &b,
                         mlir::gpu::Dimension dim) const override;
  bool emitPrintf(mlir::ImplicitLocOpBuilder &b, llvm::StringRef format,
                  mlir::ValueRange values) const override;
  void emitBarrier(mlir::ImplicitLocOpBuilder &b,
                   const ThreadGroup &threads) const override;
  void emitCommitGroup(mlir::ImplicitLocOpBuilder &b) const override;
  void emitWaitGroup(mlir::ImplicitLocOpBuilder &b, int64_t pending,
                     int64_t younger) const override;
  void emitDrainCopies(mlir::ImplicitLocOpBuilder &b) const override;
  void emitProxyFence(mlir::ImplicitLocOpBuilder &b) const override;
  mlir::Value emitShuffleXor(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                             int64_t mask) const override;
  mlir::Value emitShuffle(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                          mlir::Value lane) const override;
  mlir::Value emitReduceLanes(mlir::ImplicitLocOpBuilder &b,
                              tile::ReductionKind kind,
                              mlir::Value value) const override;
  mlir::Value emitMma(mlir::ImplicitLocOpBuilder &b, const MmaOperands &op,
                      mlir::Value lhs, mlir::Value rhs,
                      mlir::Value acc) const override;
  std::unique_ptr<OperandReader>
  createOperandReader(mlir::ImplicitLocOpBuilder &b,
                      const SharedOperand &operand) const override;
  llvm::SmallVector<mlir::Value> emitMatrixLoad(mlir::ImplicitLocOpBuilder &b,
                                                mlir::Value address,
                                                int64_t count,
                                                bool transposed) const override;
  void emitMatrixStore(mlir::ImplicitLocOpBuilder &b, mlir::Value address,
                       mlir::ValueRange words, bool transposed) const override;
  void emitAsyncCopy(mlir::ImplicitLocOpBuilder &b, mlir::Value dest,
                     mlir::Value source, int64_t bytes,
                     mlir::Value predicate) const override;
  mlir::Value emitTruncFp8(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                           mlir::Type fp8) const override;
  mlir::Value emitExtFp8(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                         mlir::Type fp8) const override;
  // LLVM's instructions "atom" are relaxed whatever the order.
  bool hasOrderedUpdates() const override { return false; }
  mlir::Value emitSystemUpdate(mlir::ImplicitLocOpBuilder &b,
                               tile::AtomicKind kind, mlir::Value address,
                               mlir::Value value) const override;
  llvm::StringRef getSyncScope(tile::MemoryScope scope) const override;
  void setKernelAttributes(mlir::LLVM::LLVMFuncOp kernel,
                           int64_t threads) const override;
  void setTensorMapParameters(
      mlir::ImplicitLocOpBuilder &b, mlir::LLVM::LLVMFuncOp kernel,
      llvm::ArrayRef<mlir::BlockArgument> maps) const override;
};

/// Returns a constant i32.
mlir::Value constantI32(mlir::ImplicitLocOpBuilder &b, int64_t value);

/// Returns PTX's name for the element type of an operand or accumulator, such
/// as "bf16" or "e4m3". Empty if the tensor cores have no such type.
llvm::StringRef getPtxType(mlir::Type element);

/// Reinterprets a vector as 32-bit words, four f8 or two f16 in each, and back.
llvm::SmallVector<mlir::Value> toWords(mlir::ImplicitLocOpBuilder &b,
                                       mlir::Value vector);
mlir::Value fromWords(mlir::ImplicitLocOpBuilder &b,
                      llvm::ArrayRef<mlir::Value> words, mlir::VectorType type);

/// An operand of inline assembly, and the constraint of its register ("r", "f",
/// "l", or the number of the output that it is tied to).
struct AsmInput {
  mlir::Value value;
  std::string constraint;
};
/// Emits inline assembly `text` with `outputs` results of type `type`, in
/// registers of class `constraint`. In the text `$0` is the first output; the
/// inputs are numbered after the outputs.
llvm::SmallVector<mlir::Value>
createAsm(mlir::ImplicitLocOpBuilder &b, llvm::StringRef text, mlir::Type type,
          llvm::StringRef constraint, int64_t outputs,
          llvm::ArrayRef<AsmInput> inputs, bool hasSideEffects);

/// Adds patterns for matmuls by wgmma, and for waits for asynchronous ones.
void populateWgmmaPatterns(const TileTypeConverter &converter,
                           LoweringContext &lowering,
                           mlir::RewritePatternSet &patterns);

} // namespace tilews

#endif // TILEWS_LIB_CONVERSION_TILETONVVM_NVVMLOWERING_H
