//===- ROCDLLowering.cpp - AMD's instructions -----------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The hooks of the shared conversion for AMD GPUs. Shuffles by XOR use the
// cheapest instruction for the mask: data parallel primitives (DPP) within rows
// of 16 lanes, ds_swizzle within 32 lanes, ds_bpermute otherwise.
//
//   mask 1-3: quad permutation       mask 8: row rotation by 8
//   mask 4 before gfx10: half mirror (lane ^ 7), then quad permutation by 3
//
// Conversions to fp8 clamp to the largest finite number first, because the
// instructions overflow to NaN or infinity.
//
//===----------------------------------------------------------------------===//

#include "ROCDLLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tilews;

static Value constantI32(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
}

Value ROCDLLowering::getThreadId(ImplicitLocOpBuilder &b) const {
  return ROCDL::ThreadIdXOp::create(b, b.getI32Type());
}

Value ROCDLLowering::getBlockId(ImplicitLocOpBuilder &b,
                                gpu::Dimension dim) const {
  switch (dim) {
  case gpu::Dimension::x:
    return ROCDL::BlockIdXOp::create(b, b.getI32Type());
  case gpu::Dimension::y:
    return ROCDL::BlockIdYOp::create(b, b.getI32Type());
  case gpu::Dimension::z:
    return ROCDL::BlockIdZOp::create(b, b.getI32Type());
  }
  llvm_unreachable("covered switch");
}

/// Reads an extent of the grid from the implicit kernel arguments, the first of
/// which are the extents (LLVM's AMDGPU usage guide, "hidden_block_count_x").
Value ROCDLLowering::getGridDim(ImplicitLocOpBuilder &b,
                                gpu::Dimension dim) const {
  auto constant = LLVM::LLVMPointerType::get(b.getContext(), 4);
  Value implicit =
      LLVM::CallIntrinsicOp::create(
          b, constant, b.getStringAttr("llvm.amdgcn.implicitarg.ptr"),
          ValueRange())
          .getResult(0);
  Value address =
      LLVM::GEPOp::create(b, constant, b.getI32Type(), implicit,
                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(dim)});
  return LLVM::LoadOp::create(b, b.getI32Type(), address);
}

/// Waits until the accesses of a wave to shared memory are complete. The fence
/// asks for that as well. But if nothing is pending before a loop, LLVM 22
/// removes the wait of a fence in it when it sees the loop for the first time,
/// and does not know yet what is pending at its end.
static void emitSharedWait(ImplicitLocOpBuilder &b, const TargetInfo &info) {
  if (info.arch >= 0x1200) {
    ROCDL::WaitDscntOp::create(b, b.getI16IntegerAttr(0));
    return;
  }
  // lgkmcnt(0), with the other counters at their largest values ("S_WAITCNT" in
  // the "CDNA3" and "RDNA3" ISA).
  int64_t counters = info.arch >= 0x1100 ? 0xfc07 : 0xc07f;
  ROCDL::SWaitcntOp::create(b, b.getI32IntegerAttr(counters));
}

void ROCDLLowering::emitBarrier(ImplicitLocOpBuilder &b,
                                const ThreadGroup &) const {
  // The fences say what is ordered. LLVM derives wait counters from them. A
  // release in a kernel with copies to shared memory would wait for all of
  // these, also for those that fill other slots. On gfx950 there is nothing
  // else to wait for but accesses to shared memory: the waves of a block share
  // a cache.
  LLVM::FenceOp::create(b, LLVM::AtomicOrdering::release,
                        info.hasCpAsync() ? "singlethread" : "workgroup");
  emitSharedWait(b, info);
  ROCDL::SBarrierOp::create(b);
  LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acquire, "workgroup");
}

//===----------------------------------------------------------------------===//
// Copies to shared memory
//===----------------------------------------------------------------------===//

/// Waits until at most `pending` loads of a wave are not complete, on gfx9.
static void emitLoadWait(ImplicitLocOpBuilder &b, int64_t pending) {
  // The counter has six bits. The other counters are at their largest values
  // ("S_WAITCNT" in the "CDNA4" ISA).
  constexpr int64_t most = 63, others = 0x0f70;
  pending = std::min(pending, most);
  ROCDL::SWaitcntOp::create(
      b, b.getI32IntegerAttr(others | (pending & 15) | (pending >> 4) << 14));
}

void ROCDLLowering::emitDrainCopies(ImplicitLocOpBuilder &b) const {
  emitLoadWait(b, 0);
}

// Accesses complete in order, so that a group is complete if no more are
// pending than were started after it.
void ROCDLLowering::emitWaitGroup(ImplicitLocOpBuilder &b, int64_t,
                                  int64_t younger) const {
  emitLoadWait(b, younger);
}

void ROCDLLowering::emitWaveCopy(ImplicitLocOpBuilder &b, Value dest,
                                 Value source, int64_t bytes) const {
  ROCDL::LoadToLDSOp::create(b, source, dest, b.getI32IntegerAttr(bytes),
                             /*offset=*/b.getI32IntegerAttr(0),
                             /*aux=*/b.getI32IntegerAttr(0), ArrayAttr(),
                             ArrayAttr(), ArrayAttr());
}

//===----------------------------------------------------------------------===//
// Exchange between lanes
//===----------------------------------------------------------------------===//

/// Control words of data parallel primitives ("CDNA3" and "RDNA3 Instruction
/// Set Architecture", "Data Parallel Processing").
constexpr int32_t kDppRowRotate = 0x120, kDppRowHalfMirror = 0x141,
                  kDppRowXMask = 0x160;

/// Returns the control word that exchanges lanes within each group of four.
static int32_t getQuadPermutation(int64_t mask) {
  int32_t control = 0;
  for (int64_t lane = 0; lane < 4; ++lane)
    control |= (lane ^ mask) << (2 * lane);
  return control;
}

static Value createDpp(ImplicitLocOpBuilder &b, Value value, int32_t control) {
  return ROCDL::DPPUpdateOp::create(b, value.getType(), value, value, control,
                                    /*rowMask=*/15, /*bankMask=*/15,
                                    /*boundCtrl=*/true);
}

Value ROCDLLowering::emitShuffleXor(ImplicitLocOpBuilder &b, Value value,
                                    int64_t mask) const {
  if (mask < 4)
    return createDpp(b, value, getQuadPermutation(mask));
  if (mask < 16 && info.arch >= 0x1000)
    return createDpp(b, value, kDppRowXMask + mask);
  if (mask == 4) // lane ^ 7 ^ 3
    return createDpp(b, createDpp(b, value, kDppRowHalfMirror),
                     getQuadPermutation(3));
  if (mask == 8)
    return createDpp(b, value, kDppRowRotate + 8);
  if (mask < 32) // bit mode: and mask 31, or mask 0
    return ROCDL::DsSwizzleOp::create(b, b.getI32Type(), value,
                                      constantI32(b, mask << 10 | 31));
  return emitShuffle(
      b, value, arith::XOrIOp::create(b, getThreadId(b), constantI32(b, mask)));
}

bool ROCDLLowering::emitSwapHalves(ImplicitLocOpBuilder &b, Value &lower,
                                   Value &upper) const {
  if (info.arch != 0x950)
    return false;
  Type i32 = b.getI32Type();
  auto pair = LLVM::LLVMStructType::getLiteral(b.getContext(), {i32, i32});
  Value swapped = ROCDL::Permlane32SwapOp::create(
      b, pair, lower, upper, /*fi=*/false, /*boundControl=*/false);
  lower = LLVM::ExtractValueOp::create(b, swapped, 0);
  upper = LLVM::ExtractValueOp::create(b, swapped, 1);
  return true;
}

Value ROCDLLowering::emitShuffle(ImplicitLocOpBuilder &b, Value value,
                                 Value lane) const {
  // ds_bpermute addresses lanes by bytes, modulo the warp.
  Value address = arith::ShLIOp::create(b, lane, constantI32(b, 2));
  return ROCDL::DsBpermuteOp::create(b, b.getI32Type(), address, value);
}

//===----------------------------------------------------------------------===//
// fp8
//===----------------------------------------------------------------------===//

static bool hasFp8Casts(const TargetInfo &info, Type fp8) {
  if (isa<Float8E4M3FNUZType, Float8E5M2FNUZType>(fp8))
    return info.arch == 0x942;
  return isa<Float8E4M3FNType, Float8E5M2Type>(fp8) &&
         (info.arch == 0x950 || info.arch >= 0x1200);
}

/// Converts two numbers and puts them into the low or the high half of `word`.
static Value packFp8(ImplicitLocOpBuilder &b, Value low, Value high, Value word,
                     bool upper, Type fp8) {
  Type i32 = b.getI32Type();
  if (isa<Float8E4M3FNType, Float8E4M3FNUZType>(fp8))
    return ROCDL::CvtPkFp8F32Op::create(b, i32, low, high, word, upper);
  return ROCDL::CvtPkBf8F32Op::create(b, i32, low, high, word, upper);
}

static Value unpackFp8(ImplicitLocOpBuilder &b, Value word, bool upper,
                       Type fp8) {
  Type pair = VectorType::get({2}, b.getF32Type());
  if (isa<Float8E4M3FNType, Float8E4M3FNUZType>(fp8))
    return ROCDL::CvtPkF32Fp8Op::create(b, pair, word, upper);
  return ROCDL::CvtPkF32Bf8Op::create(b, pair, word, upper);
}

/// Clamps a value to the range of the type, because the instructions overflow
/// to NaN or infinity. NaN stays NaN.
static Value clampToFp8(ImplicitLocOpBuilder &b, Value value, Type fp8) {
  auto largest = APFloat::getLargest(cast<FloatType>(fp8).getFloatSemantics());
  bool exact;
  largest.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &exact);
  auto constant = [&](const APFloat &number) {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(cast<ShapedType>(value.getType()), number));
  };
  Value clamped = arith::MinNumFOp::create(b, value, constant(largest));
  clamped = arith::MaxNumFOp::create(b, clamped, constant(-largest));
  Value isNaN =
      arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, value, value);
  return arith::SelectOp::create(b, isNaN, value, clamped);
}

Value ROCDLLowering::emitTruncFp8(ImplicitLocOpBuilder &b, Value value,
                                  Type fp8) const {
  if (!hasFp8Casts(info, fp8))
    return {};
  SmallVector<Value> values = unpack(b, clampToFp8(b, value, fp8)), bytes;
  Type word = VectorType::get({4}, b.getI8Type());
  for (size_t i = 0; i < values.size(); i += 4) {
    auto get = [&](size_t k) { return values[std::min(k, values.size() - 1)]; };
    Value packed = constantI32(b, 0);
    packed = packFp8(b, get(i), get(i + 1), packed, false, fp8);
    if (i + 2 < values.size())
      packed = packFp8(b, get(i + 2), get(i + 3), packed, true, fp8);
    llvm::append_range(bytes,
                       unpack(b, LLVM::BitcastOp::create(b, word, packed)));
  }
  bytes.resize(values.size());
  return pack(b, b.getI8Type(), bytes);
}

Value ROCDLLowering::emitExtFp8(ImplicitLocOpBuilder &b, Value value,
                                Type fp8) const {
  if (!hasFp8Casts(info, fp8))
    return {};
  SmallVector<Value> bytes = unpack(b, value), values;
  size_t count = bytes.size();
  while (bytes.size() % 4 != 0)
    bytes.push_back(bytes.back());
  for (size_t i = 0; i < count; i += 4) {
    Value word = pack(b, b.getI8Type(), ArrayRef<Value>(bytes).slice(i, 4));
    word = LLVM::BitcastOp::create(b, b.getI32Type(), word);
    for (bool upper : {false, true})
      if (i + (upper ? 2 : 0) < count)
        llvm::append_range(values, unpack(b, unpackFp8(b, word, upper, fp8)));
  }
  values.resize(count);
  return pack(b, b.getF32Type(), values);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

StringRef ROCDLLowering::getSyncScope(tile::MemoryScope scope) const {
  switch (scope) {
  case tile::MemoryScope::Block:
    return "workgroup";
  case tile::MemoryScope::Cluster: // No chip has clusters.
  case tile::MemoryScope::Device:
    return "agent";
  case tile::MemoryScope::System:
    return "";
  }
  llvm_unreachable("covered switch");
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
  // IEEE mode would quiet signaling NaNs by one more instruction for each
  // operand of a maximum or a minimum.
  kernel.setPassthroughAttr(
      b.getArrayAttr(b.getStrArrayAttr({"amdgpu-ieee", "false"})));
}
