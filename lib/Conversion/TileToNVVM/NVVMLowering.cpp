//===- NVVMLowering.cpp - NVIDIA's instructions ---------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The instructions of NVIDIA's GPUs for the interface `TargetLowering`: numbers
// of threads and blocks, barriers, groups of cp.async, shuffles, conversions of
// fp8, and printing. Each function emits one instruction, or the few that stand
// for it on chips that lack it.
//
//===----------------------------------------------------------------------===//

#include "NVVMLowering.h"
#include "tilews/Conversion/Common/DeviceVariables.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

Value tilews::constantI32(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
}

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

StringRef tilews::getPtxType(Type element) {
  if (element.isF16())
    return "f16";
  if (element.isBF16())
    return "bf16";
  if (element.isF32())
    return "tf32";
  if (element.isF64())
    return "f64";
  if (isa<Float8E4M3FNType>(element))
    return "e4m3";
  if (isa<Float8E5M2Type>(element))
    return "e5m2";
  if (element.isInteger(8))
    return "s8";
  return "";
}

SmallVector<Value> tilews::toWords(ImplicitLocOpBuilder &b, Value vector) {
  auto type = cast<VectorType>(vector.getType());
  int64_t words = type.getNumElements() * type.getElementTypeBitWidth() / 32;
  auto asWords = VectorType::get({words}, b.getI32Type());
  if (type != asWords)
    vector = LLVM::BitcastOp::create(b, asWords, vector);
  return unpack(b, vector);
}

Value tilews::fromWords(ImplicitLocOpBuilder &b, ArrayRef<Value> words,
                        VectorType type) {
  Value vector = pack(b, words.front().getType(), words);
  if (vector.getType() != type)
    vector = LLVM::BitcastOp::create(b, type, vector);
  return vector;
}

SmallVector<Value> tilews::createAsm(ImplicitLocOpBuilder &b, StringRef text,
                                     Type type, StringRef constraint,
                                     int64_t outputs, ArrayRef<AsmInput> inputs,
                                     bool hasSideEffects) {
  std::string constraints;
  auto add = [&](const Twine &next) {
    if (!constraints.empty())
      constraints += ",";
    constraints += next.str();
  };
  for (int64_t i = 0; i < outputs; ++i)
    add("=" + constraint);
  SmallVector<Value> operands;
  for (const AsmInput &input : inputs) {
    add(input.constraint);
    operands.push_back(input.value);
  }
  Type result = type;
  if (outputs == 0)
    result = Type();
  else if (outputs > 1)
    result = LLVM::LLVMStructType::getLiteral(b.getContext(),
                                              SmallVector<Type>(outputs, type));
  auto assembly = LLVM::InlineAsmOp::create(
      b, result ? TypeRange(result) : TypeRange(), operands, text, constraints,
      hasSideEffects, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
  if (outputs == 0)
    return {};
  if (outputs == 1)
    return {assembly.getResult(0)};
  SmallVector<Value> results;
  for (int64_t i = 0; i < outputs; ++i)
    results.push_back(
        LLVM::ExtractValueOp::create(b, assembly.getResult(0), i));
  return results;
}

//===----------------------------------------------------------------------===//
// Threads and memory
//===----------------------------------------------------------------------===//

Value NVVMLowering::getThreadId(ImplicitLocOpBuilder &b) const {
  return NVVM::ThreadIdXOp::create(b, b.getI32Type());
}

Value NVVMLowering::getBlockId(ImplicitLocOpBuilder &b,
                               gpu::Dimension dim) const {
  switch (dim) {
  case gpu::Dimension::x:
    return NVVM::BlockIdXOp::create(b, b.getI32Type());
  case gpu::Dimension::y:
    return NVVM::BlockIdYOp::create(b, b.getI32Type());
  case gpu::Dimension::z:
    return NVVM::BlockIdZOp::create(b, b.getI32Type());
  }
  llvm_unreachable("covered switch");
}

Value NVVMLowering::getGridDim(ImplicitLocOpBuilder &b,
                               gpu::Dimension dim) const {
  switch (dim) {
  case gpu::Dimension::x:
    return NVVM::GridDimXOp::create(b, b.getI32Type());
  case gpu::Dimension::y:
    return NVVM::GridDimYOp::create(b, b.getI32Type());
  case gpu::Dimension::z:
    return NVVM::GridDimZOp::create(b, b.getI32Type());
  }
  llvm_unreachable("covered switch");
}

/// Calls the device's `vprintf`, which takes a format and a pointer to the
/// arguments packed as a struct (CUDA C++ Programming Guide, "Formatted
/// Output").
bool NVVMLowering::emitPrintf(ImplicitLocOpBuilder &b, StringRef format,
                              ValueRange values) const {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  LLVM::LLVMFuncOp function = variables.getFunction(
      "vprintf",
      LLVM::LLVMFunctionType::get(b.getI32Type(), {pointer, pointer}));
  // The registers of a fragment print with one format.
  Value text =
      LLVM::AddressOfOp::create(b, variables.getString(b.getLoc(), format));
  auto record = LLVM::LLVMStructType::getLiteral(
      b.getContext(), llvm::to_vector(values.getTypes()));
  Value arguments;
  {
    // In a loop, the stack would grow with each iteration.
    OpBuilder::InsertionGuard guard(b);
    auto kernel = b.getInsertionBlock()
                      ->getParent()
                      ->getParentOfType<FunctionOpInterface>();
    b.setInsertionPointToStart(&kernel.getFunctionBody().front());
    Value one = LLVM::ConstantOp::create(b, b.getI32IntegerAttr(1));
    arguments = LLVM::AllocaOp::create(b, pointer, record, one);
  }
  for (auto [i, value] : llvm::enumerate(values)) {
    Value field =
        LLVM::GEPOp::create(b, pointer, record, arguments,
                            ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(i)});
    LLVM::StoreOp::create(b, value, field);
  }
  LLVM::CallOp::create(b, function, ValueRange{text, arguments});
  return true;
}

void NVVMLowering::emitBarrier(ImplicitLocOpBuilder &b,
                               const ThreadGroup &threads) const {
  if (threads.barrier == 0) {
    NVVM::Barrier0Op::create(b);
    return;
  }
  NVVM::BarrierOp::create(b, TypeRange(), constantI32(b, threads.barrier),
                          constantI32(b, threads.count),
                          NVVM::BarrierReductionAttr(), Value());
}

void NVVMLowering::emitDrainCopies(ImplicitLocOpBuilder &b) const {
  NVVM::CpAsyncCommitGroupOp::create(b);
  NVVM::CpAsyncWaitGroupOp::create(b, 0);
}

void NVVMLowering::emitCommitGroup(ImplicitLocOpBuilder &b) const {
  NVVM::CpAsyncCommitGroupOp::create(b);
}

void NVVMLowering::emitWaitGroup(ImplicitLocOpBuilder &b, int64_t pending,
                                 int64_t) const {
  NVVM::CpAsyncWaitGroupOp::create(b, pending);
}

void NVVMLowering::emitProxyFence(ImplicitLocOpBuilder &b) const {
  NVVM::FenceProxyOp::create(
      b,
      NVVM::ProxyKindAttr::get(b.getContext(), NVVM::ProxyKind::async_shared),
      NVVM::SharedSpaceAttr::get(b.getContext(),
                                 NVVM::SharedSpace::shared_cta));
}

static Value createShuffle(ImplicitLocOpBuilder &b, Value value, Value lane,
                           NVVM::ShflKind kind) {
  return NVVM::ShflOp::create(b, b.getI32Type(), constantI32(b, -1), value,
                              lane, constantI32(b, 31), kind, UnitAttr());
}

Value NVVMLowering::emitShuffleXor(ImplicitLocOpBuilder &b, Value value,
                                   int64_t mask) const {
  return createShuffle(b, value, constantI32(b, mask), NVVM::ShflKind::bfly);
}

Value NVVMLowering::emitShuffle(ImplicitLocOpBuilder &b, Value value,
                                Value lane) const {
  return createShuffle(b, value, lane, NVVM::ShflKind::idx);
}

static NVVM::ReduxKind getReduxKind(ReductionKind kind) {
  switch (kind) {
  case ReductionKind::Sum:
    return NVVM::ReduxKind::ADD;
  case ReductionKind::Max:
  case ReductionKind::AbsMax:
    return NVVM::ReduxKind::MAX;
  case ReductionKind::Min:
  case ReductionKind::AbsMin:
    return NVVM::ReduxKind::MIN;
  case ReductionKind::UMax:
    return NVVM::ReduxKind::UMAX;
  case ReductionKind::UMin:
    return NVVM::ReduxKind::UMIN;
  case ReductionKind::And:
  case ReductionKind::All:
    return NVVM::ReduxKind::AND;
  case ReductionKind::Or:
  case ReductionKind::Any:
    return NVVM::ReduxKind::OR;
  case ReductionKind::Xor:
    return NVVM::ReduxKind::XOR;
  }
  llvm_unreachable("covered switch");
}

Value NVVMLowering::emitReduceLanes(ImplicitLocOpBuilder &b, ReductionKind kind,
                                    Value value) const {
  return NVVM::ReduxOp::create(b, value.getType(), value, getReduxKind(kind),
                               constantI32(b, -1));
}

void NVVMLowering::emitAsyncCopy(ImplicitLocOpBuilder &b, Value dest,
                                 Value source, int64_t bytes,
                                 Value predicate) const {
  auto global = LLVM::LLVMPointerType::get(b.getContext(), 1);
  if (source.getType() != global)
    source = LLVM::AddrSpaceCastOp::create(b, global, source);
  // Only copies of 16 bytes can bypass the L1 cache (PTX ISA, "cp.async").
  auto cache = bytes == 16 ? NVVM::LoadCacheModifierKind::CG
                           : NVVM::LoadCacheModifierKind::CA;
  Value size;
  if (predicate)
    size = arith::SelectOp::create(b, predicate, constantI32(b, bytes),
                                   constantI32(b, 0));
  NVVM::CpAsyncOp::create(
      b, dest, source, b.getI32IntegerAttr(bytes),
      NVVM::LoadCacheModifierKindAttr::get(b.getContext(), cache), size);
}

StringRef NVVMLowering::getSyncScope(tile::MemoryScope scope) const {
  switch (scope) {
  case tile::MemoryScope::Block:
    return "block";
  case tile::MemoryScope::Cluster: // Chips before sm_90 have no clusters.
    return info.arch >= 90 ? "cluster" : "device";
  case tile::MemoryScope::Device:
    return "device";
  case tile::MemoryScope::System:
    return "";
  }
  llvm_unreachable("covered switch");
}

/// Returns the operation and the type of PTX's instruction `atom`; empty if it
/// has none, so that LLVM makes a loop with `atom.cas`.
static std::string getPtxUpdate(AtomicKind kind, Type type, int64_t arch) {
  unsigned bits = type.getIntOrFloatBitWidth();
  std::string width = std::to_string(bits);
  bool isFloat = isa<FloatType>(type);
  switch (kind) {
  case AtomicKind::Add:
    if (bits < 32)
      return type.isF16()                  ? "add.noftz.f16"
             : type.isBF16() && arch >= 90 ? "add.noftz.bf16"
                                           : "";
    return (isFloat ? "add.f" : "add.u") + width;
  case AtomicKind::Exchange:
    return bits >= 32 ? "exch.b" + width : "";
  case AtomicKind::And:
  case AtomicKind::Or:
  case AtomicKind::Xor:
    return bits < 32 ? "" : (stringifyAtomicKind(kind) + ".b" + width).str();
  case AtomicKind::Max:
  case AtomicKind::Min:
    return bits < 32 || isFloat
               ? ""
               : (stringifyAtomicKind(kind) + ".s" + width).str();
  case AtomicKind::UMax:
  case AtomicKind::UMin:
    return bits < 32
               ? ""
               : (stringifyAtomicKind(kind).drop_front() + ".u" + width).str();
  }
  llvm_unreachable("covered switch");
}

// LLVM 22 selects `atom` without a scope for most read-modify-writes, which is
// the scope of the device (PTX ISA, "atom").
Value NVVMLowering::emitSystemUpdate(ImplicitLocOpBuilder &b, AtomicKind kind,
                                     Value address, Value value) const {
  auto pointer = cast<LLVM::LLVMPointerType>(address.getType());
  std::string update = getPtxUpdate(kind, value.getType(), info.arch);
  // Shared memory has no other users than its block or cluster.
  if (update.empty() ||
      pointer.getAddressSpace() == unsigned(NVVM::NVVMMemorySpace::Shared))
    return Value();
  Type type = value.getType();
  Type bits = b.getIntegerType(type.getIntOrFloatBitWidth());
  bool isFloat = isa<FloatType>(type);
  Value word = isFloat ? LLVM::BitcastOp::create(b, bits, value) : value;
  unsigned width = bits.getIntOrFloatBitWidth();
  std::string constraint = width == 64 ? "l" : width == 32 ? "r" : "h";
  Value old =
      createAsm(b, "atom.relaxed.sys." + update + " $0, [$1], $2;", bits,
                constraint, 1, {{address, "l"}, {word, constraint}},
                /*hasSideEffects=*/true)
          .front();
  return isFloat ? LLVM::BitcastOp::create(b, type, old) : old;
}

void NVVMLowering::setKernelAttributes(LLVM::LLVMFuncOp kernel,
                                       int64_t threads) const {
  Builder b(kernel.getContext());
  kernel->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  kernel->setAttr(
      NVVM::NVVMDialect::getReqntidAttrName(),
      b.getDenseI32ArrayAttr({static_cast<int32_t>(threads), 1, 1}));
  if (auto cluster =
          kernel->getAttrOfType<DenseI32ArrayAttr>(TileDialect::kCluster))
    kernel->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(), cluster);
}

//===----------------------------------------------------------------------===//
// fp8
//===----------------------------------------------------------------------===//

/// Returns the elements in pairs, for instructions that convert two at a time.
/// With an odd number of elements, the last one is paired with itself.
static SmallVector<std::pair<Value, Value>> getPairs(ArrayRef<Value> values) {
  SmallVector<std::pair<Value, Value>> pairs;
  for (size_t i = 0; i < values.size(); i += 2)
    pairs.push_back({values[i], values[std::min(i + 1, values.size() - 1)]});
  return pairs;
}

static bool hasFp8Casts(const TargetInfo &info, Type fp8) {
  return info.arch >= 89 && isa<Float8E4M3FNType, Float8E5M2Type>(fp8);
}

Value NVVMLowering::emitTruncFp8(ImplicitLocOpBuilder &b, Value value,
                                 Type fp8) const {
  if (!hasFp8Casts(info, fp8))
    return {};
  SmallVector<Value> values = unpack(b, value), bytes;
  // PTX ISA, "cvt": the first source goes into the upper half.
  std::string text =
      ("cvt.rn.satfinite." + getPtxType(fp8) + "x2.f32 $0, $2, $1;").str();
  for (auto [low, high] : getPairs(values)) {
    Value pair = createAsm(b, text, b.getI16Type(), "h", 1,
                           {{low, "f"}, {high, "f"}}, false)[0];
    Value both =
        LLVM::BitcastOp::create(b, VectorType::get({2}, b.getI8Type()), pair);
    llvm::append_range(bytes, unpack(b, both));
  }
  bytes.resize(values.size());
  return pack(b, b.getI8Type(), bytes);
}

Value NVVMLowering::emitExtFp8(ImplicitLocOpBuilder &b, Value value,
                               Type fp8) const {
  if (!hasFp8Casts(info, fp8))
    return {};
  SmallVector<Value> bytes = unpack(b, value), values;
  std::string text = ("cvt.rn.f16x2." + getPtxType(fp8) + "x2 $0, $1;").str();
  for (auto [low, high] : getPairs(bytes)) {
    Value pair = LLVM::BitcastOp::create(b, b.getI16Type(),
                                         pack(b, b.getI8Type(), {low, high}));
    Value halves =
        createAsm(b, text, b.getI32Type(), "r", 1, {{pair, "h"}}, false)[0];
    halves = LLVM::BitcastOp::create(b, VectorType::get({2}, b.getF16Type()),
                                     halves);
    for (Value half : unpack(b, halves))
      values.push_back(arith::ExtFOp::create(b, b.getF32Type(), half));
  }
  values.resize(bytes.size());
  return pack(b, b.getF32Type(), values);
}
