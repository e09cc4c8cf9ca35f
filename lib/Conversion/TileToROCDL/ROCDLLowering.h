//===- ROCDLLowering.h - AMD's instructions ---------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_CONVERSION_TILETOROCDL_ROCDLLOWERING_H
#define TILEWS_LIB_CONVERSION_TILETOROCDL_ROCDLLOWERING_H

#include "tilews/Conversion/Common/Patterns.h"

#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

namespace tilews {

/// The instructions of AMD GPUs, for the conversion that all targets share.
class ROCDLLowering : public TargetLowering {
public:
  using TargetLowering::TargetLowering;

  mlir::Value getThreadId(mlir::ImplicitLocOpBuilder &b) const override;
  mlir::Value getBlockId(mlir::ImplicitLocOpBuilder &b,
                         mlir::gpu::Dimension dim) const override;
  mlir::Value getGridDim(mlir::ImplicitLocOpBuilder &b,
                         mlir::gpu::Dimension dim) const override;
  void emitBarrier(mlir::ImplicitLocOpBuilder &b,
                   const ThreadGroup &threads) const override;
  void emitDrainCopies(mlir::ImplicitLocOpBuilder &b) const override;
  void emitWaitGroup(mlir::ImplicitLocOpBuilder &b, int64_t pending,
                     int64_t younger) const override;
  void emitWaveCopy(mlir::ImplicitLocOpBuilder &b, mlir::Value dest,
                    mlir::Value source, int64_t bytes) const override;
  mlir::Value emitShuffleXor(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                             int64_t mask) const override;
  bool emitSwapHalves(mlir::ImplicitLocOpBuilder &b, mlir::Value &lower,
                      mlir::Value &upper) const override;
  mlir::Value emitShuffle(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                          mlir::Value lane) const override;
  mlir::Value emitMma(mlir::ImplicitLocOpBuilder &b, const MmaOperands &op,
                      mlir::Value lhs, mlir::Value rhs,
                      mlir::Value acc) const override;
  void emitMatmulStart(mlir::ImplicitLocOpBuilder &b) const override;
  void emitStepReads(mlir::ImplicitLocOpBuilder &b,
                     const MatmulRegisters &registers) const override;
  void emitMatmulStep(mlir::ImplicitLocOpBuilder &b,
                      const MatmulRegisters &registers) const override;
  std::unique_ptr<OperandReader>
  createOperandReader(mlir::ImplicitLocOpBuilder &b,
                      const SharedOperand &operand) const override;
  mlir::Value emitTruncFp8(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                           mlir::Type fp8) const override;
  mlir::Value emitExtFp8(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                         mlir::Type fp8) const override;
  mlir::Value emitUniform(mlir::ImplicitLocOpBuilder &b,
                          mlir::Value value) const override;
  bool hasBoundedPointers() const override { return true; }
  mlir::Value createBoundedPointer(mlir::ImplicitLocOpBuilder &b,
                                   mlir::Value base,
                                   mlir::Value bytes) const override;
  llvm::StringRef getSyncScope(tile::MemoryScope scope) const override;
  void setKernelAttributes(mlir::LLVM::LLVMFuncOp kernel,
                           int64_t threads) const override;
};

/// Whether `fence` is the one of a matmul before its first step.
bool isMatmulStart(mlir::ROCDL::SchedBarrier fence);

} // namespace tilews

#endif // TILEWS_LIB_CONVERSION_TILETOROCDL_ROCDLLOWERING_H
