//===- BufferAccess.cpp - Buffer resources of AMD GPUs --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bounded pointer is a "buffer fat pointer" of LLVM, in address space 7: a
// buffer resource in four scalar registers, and an offset. Loads, stores and
// atomics of it become buffer instructions, whose offset is checked against the
// resource. The words of a raw buffer resource are
//
//   0, 1: the address (48 bits), a stride of 0    2: the bytes    3: flags
//
// ("CDNA3" ISA, "Buffer Resource Descriptor" and "Range Checking"; "RDNA3" and
// "RDNA4" ISA, the same sections, and "OOB_SELECT").
//
//===----------------------------------------------------------------------===//

#include "ROCDLLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

using namespace mlir;
using namespace tilews;

/// LLVM's address spaces of global memory and of buffer fat pointers.
static constexpr unsigned kGlobalSpace = 1, kBufferSpace = 7;

/// Returns the last word of a raw buffer resource. Untyped instructions ignore
/// the format, but a format of 0 would make the resource invalid.
static int64_t getFlags(const TargetInfo &info) {
  // A number format of 7 (float) and a data format of 4 (32 bits).
  if (info.arch < 0x1000)
    return 7 << 12 | 4 << 15;
  // A format of 4; a bit that gfx10 requires and later chips do not use; and 3
  // as OOB_SELECT: offsets are compared with the number of bytes.
  return 4 << 12 | 1 << 24 | 3 << 28;
}

/// LLVM finds that a loaded value is the same in all threads if its address is.
/// It does not for the result of a reduction, and would then execute a loop
/// over the lanes for each access by a resource that depends on it.
Value ROCDLLowering::emitUniform(ImplicitLocOpBuilder &b, Value value) const {
  Type type = value.getType();
  if (!type.isInteger() || type.getIntOrFloatBitWidth() < 32)
    return value;
  return ROCDL::ReadfirstlaneOp::create(b, type, value);
}

Value ROCDLLowering::createBoundedPointer(ImplicitLocOpBuilder &b, Value base,
                                          Value bytes) const {
  MLIRContext *context = b.getContext();
  base = LLVM::AddrSpaceCastOp::create(
      b, LLVM::LLVMPointerType::get(context, kGlobalSpace), base);
  Value stride = arith::ConstantOp::create(b, b.getI16IntegerAttr(0));
  Value flags =
      arith::ConstantOp::create(b, b.getI32IntegerAttr(getFlags(info)));
  return ROCDL::MakeBufferRsrcOp::create(
      b, LLVM::LLVMPointerType::get(context, kBufferSpace), base, stride, bytes,
      flags);
}
