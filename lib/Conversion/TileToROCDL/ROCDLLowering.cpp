//===- ROCDLLowering.cpp - AMD's instructions -----------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ROCDLLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

using namespace mlir;
using namespace tilews;

Value ROCDLLowering::getThreadId(ImplicitLocOpBuilder &b) const {
  return ROCDL::ThreadIdXOp::create(b, b.getI32Type());
}

void ROCDLLowering::emitBarrier(ImplicitLocOpBuilder &b) const {
  ROCDL::BarrierOp::create(b);
}

Value ROCDLLowering::emitShuffleXor(ImplicitLocOpBuilder &b, Value value,
                                    int64_t mask) const {
  // ds_bpermute addresses lanes by bytes, modulo the warp.
  auto constant = [&](int64_t number) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(number));
  };
  Value lane = arith::XOrIOp::create(b, getThreadId(b), constant(mask));
  Value address = arith::ShLIOp::create(b, lane, constant(2));
  return ROCDL::DsBpermuteOp::create(b, b.getI32Type(), address, value);
}

Value ROCDLLowering::emitMma(ImplicitLocOpBuilder &, const MmaOperands &, Value,
                             Value, Value) const {
  return {};
}

StringRef ROCDLLowering::getSyncScope(bool shared) const {
  return shared ? "workgroup" : "agent";
}

void ROCDLLowering::setKernelAttributes(LLVM::LLVMFuncOp kernel,
                                        int64_t threads) const {
  Builder b(kernel.getContext());
  auto size = static_cast<int32_t>(threads);
  kernel->setAttr(ROCDL::ROCDLDialect::getKernelFuncAttrName(),
                  b.getUnitAttr());
  kernel->setAttr("rocdl.flat_work_group_size",
                  b.getStringAttr(Twine(size) + "," + Twine(size)));
  kernel->setAttr("rocdl.reqd_work_group_size",
                  b.getDenseI32ArrayAttr({size, 1, 1}));
}
