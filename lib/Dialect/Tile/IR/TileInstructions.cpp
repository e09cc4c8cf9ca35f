//===- TileInstructions.cpp - Instructions an operation can become --------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/SharedOperands.h"
#include "tilews/Dialect/Tile/IR/Tile.h"
#include "tilews/Layout/OperandAccess.h"

#include "mlir/IR/Builders.h"

#include <numeric>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using llvm::Error;
using llvm::Expected;

static bool isOcpFp8(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(type);
}
static bool isFnuzFp8(Type type) {
  return isa<Float8E4M3FNUZType, Float8E5M2FNUZType>(type);
}
static bool isHalf(Type type) { return type.isF16() || type.isBF16(); }

//===----------------------------------------------------------------------===//
// Matrix instructions of a target
//===----------------------------------------------------------------------===//

/// The operand types mma.sync takes on `sm` (PTX ISA, "mma": target notes).
static bool hasMmaSync(unsigned sm, Type type) {
  if (isHalf(type) || type.isF32() || type.isF64() || type.isInteger(8))
    return sm >= 80;
  return isOcpFp8(type) && sm >= 89;
}

/// The mfma of a CDNA chip ("CDNA2", "CDNA3" and "CDNA4 Instruction Set
/// Architecture", chapter "Matrix Arithmetic Instructions"), none if `arch`
/// multiplies no such elements.
static std::optional<MmaInstruction> getMfmaFor(unsigned arch, Type type,
                                                int64_t n) {
  // The larger shape needs fewer operand reads a product. Of f64 there is only
  // the smaller one.
  int64_t size = n % 32 == 0 && !type.isF64() ? 32 : 16;
  int64_t lanesK = 64 / size;
  if (isHalf(type))
    return getMfma(size, lanesK * (arch == 0x950 ? 8 : 4));
  if (type.isInteger(8))
    return getMfma(size, lanesK * (arch == 0x950 ? 16 : arch == 0x942 ? 8 : 4));
  // The same opcodes read one family on gfx942, the other one on gfx950.
  if ((isFnuzFp8(type) && arch == 0x942) || (isOcpFp8(type) && arch == 0x950))
    return getMfma(size, lanesK * 8);
  if (type.isF32())
    return getMfma(size, lanesK);
  if (type.isF64())
    return getMfmaF64();
  return std::nullopt;
}

/// The wmma of an RDNA chip ("RDNA3" and "RDNA4 Instruction Set Architecture",
/// chapter "WMMA").
static std::optional<MmaInstruction> getWmmaFor(unsigned arch, Type type) {
  if (arch >= 0x1200) {
    if (isHalf(type) || type.isInteger(8) || isOcpFp8(type))
      return getWmmaGfx12();
  } else if (isHalf(type) || type.isInteger(8)) {
    return getWmmaGfx11();
  }
  return std::nullopt;
}

/// The columns a wgmma can have that divide `n`, most first; s8 knows fewer
/// (PTX ISA, "wgmma.mma_async": shapes).
static SmallVector<int64_t> getWgmmaWidths(int64_t n, Type operand) {
  SmallVector<int64_t> widths;
  int64_t step = operand.isInteger() ? 16 : 8;
  for (int64_t width = std::min<int64_t>(n, 256); width >= 8; --width)
    if (n % width == 0 && width % 8 == 0 &&
        (width % step == 0 || width == 8 || width == 24))
      widths.push_back(width);
  return widths;
}

std::optional<MmaInstruction> tile::getMmaInstruction(const TargetInfo &target,
                                                      InstKind kind, Type lhs,
                                                      Type acc, int64_t n) {
  switch (kind) {
  case InstKind::Mma:
    if (target.isNVIDIA() && hasMmaSync(target.arch, lhs))
      return getMmaSync(getElementBits(lhs));
    return std::nullopt;
  case InstKind::Wgmma: {
    if (!target.hasWgmma() || lhs.isF64())
      return std::nullopt;
    SmallVector<int64_t> widths = getWgmmaWidths(n, lhs);
    if (widths.empty())
      return std::nullopt;
    return getWgmma(widths.front(), getElementBits(lhs));
  }
  case InstKind::Mfma:
    if (target.hasMfma() && !acc.isF16())
      return getMfmaFor(target.arch, lhs, n);
    return std::nullopt;
  case InstKind::Wmma:
    if (target.hasWmma() && !acc.isF16())
      return getWmmaFor(target.arch, lhs);
    return std::nullopt;
  case InstKind::Simt:
  case InstKind::CpAsync:
  case InstKind::Tma:
    return std::nullopt;
  }
  llvm_unreachable("covered switch");
}

//===----------------------------------------------------------------------===//
// GemmOp
//===----------------------------------------------------------------------===//

/// The instruction the operation was given, or simt.
static InstKind getInst(Operation *op) {
  auto inst = op->getAttrOfType<InstKindAttr>(TileDialect::kInst);
  return inst ? inst.getValue() : InstKind::Simt;
}

static WarpShape getWarpShape(WarpPolicy policy) {
  switch (policy) {
  case WarpPolicy::Square:
    return WarpShape::Square;
  case WarpPolicy::FullRow:
    return WarpShape::AlongM;
  case WarpPolicy::FullCol:
    return WarpShape::AlongN;
  }
  llvm_unreachable("covered switch");
}

/// The layout wgmma wants for a shared operand: panels as wide as the largest
/// swizzle that divides a row, or of single 16-byte rows without one.
static SharedLayout getSwizzledPanels(MemRefType type) {
  int64_t bits = getElementBits(type.getElementType());
  int64_t rowBytes = type.getShape().back() * bits / 8;
  for (int64_t span : {128, 64, 32, 16})
    if (rowBytes % span == 0)
      return SharedLayout::getPanels(type.getShape(), bits, span);
  return SharedLayout::getRowMajor(type.getShape());
}

/// Whether ldmatrix can read a shared operand: rows of whole 16 bytes, and
/// transposed ones only of 16-bit elements.
static bool hasMatrixRows(MemRefType type, bool alongK) {
  int64_t bits = getElementBits(type.getElementType());
  return bits <= 32 && (alongK || bits == 16) &&
         type.getShape().back() * bits % 128 == 0;
}

/// The layout in which an operand is read best.
static SharedLayout getWantedLayout(GemmOp op, OpOperand &operand,
                                    const MmaInstruction &mma,
                                    int64_t threads) {
  auto type = cast<MemRefType>(operand.get().getType());
  InstKind kind = getInst(op);
  if (kind == InstKind::Wgmma)
    return getSwizzledPanels(type);
  bool isLhs = &operand == &op.getLhsMutable();
  bool transposed = isLhs ? op.getTransposeLhs() : op.getTransposeRhs();
  OperandAccess access =
      kind == InstKind::Mma && hasMatrixRows(type, isLhs != transposed)
          ? getMatrixRowAccess(mma, isLhs, transposed)
          : getRegisterAccess(mma, isLhs, transposed);
  return getOperandLayout(
      type.getShape(), getStorageBits(type.getElementType()), access, threads);
}

/// Why wgmma cannot read one of the shared operands, in the layout that is
/// given or else in the one it wants.
static Error checkOperands(GemmOp op, const MmaInstruction &mma) {
  for (OpOperand *operand : {&op.getLhsMutable(), &op.getRhsMutable()}) {
    auto type = dyn_cast<MemRefType>(operand->get().getType());
    if (!type)
      continue;
    bool isGiven = isa<SharedLayoutAttr>(type.getLayout());
    SharedLayout layout =
        isGiven ? getSharedLayout(type) : getSwizzledPanels(type);
    Expected<WgmmaDescriptor> descriptor =
        getWgmmaDescriptor(op, *operand, mma, layout);
    if (!descriptor)
      return descriptor.takeError();
  }
  return Error::success();
}

/// Warpgroups take rows of 64 first, then columns. An instruction is as wide as
/// the layouts of the operands permit.
static Expected<GemmPlan> planWgmma(GemmOp op, int64_t groups) {
  Type type = op.getLhsElementType();
  int64_t m = op.getM(), n = op.getN();
  int64_t alongM = std::gcd(groups, m / 64);
  if (op.getPolicy() == WarpPolicy::FullCol && (n / 8) % groups == 0)
    alongM = 1;
  WarpGrid grid = {alongM, groups / alongM};
  SmallVector<int64_t> widths;
  if (n % grid.n == 0)
    widths = getWgmmaWidths(n / grid.n, type);
  if (widths.empty())
    return makeLayoutError(groups, " warpgroups cannot share ", m, " rows and ",
                           n, " columns evenly");
  std::optional<std::string> reason;
  for (int64_t width : widths) {
    MmaInstruction mma = getWgmma(width, getElementBits(type));
    Error error = checkOperands(op, mma);
    if (!error)
      return GemmPlan{mma, grid};
    std::string text = llvm::toString(std::move(error));
    if (!reason)
      reason = text;
  }
  return makeLayoutError(*reason);
}

static std::optional<GemmPlan>
planGemm(GemmOp op, InstKind kind, const TargetInfo &target, int64_t threads) {
  Type lhs = op.getLhsElementType(), acc = op.getAccType().getElementType();
  int64_t m = op.getM(), n = op.getN();
  std::optional<MmaInstruction> mma =
      getMmaInstruction(target, kind, lhs, acc, n);
  if (!mma || threads % mma->getNumLanes() != 0)
    return std::nullopt;
  int64_t groups = threads / mma->getNumLanes();
  if (kind != InstKind::Wgmma)
    return GemmPlan{
        *mma, getWarpGrid(*mma, groups, m, n, getWarpShape(op.getPolicy()))};
  Expected<GemmPlan> plan = planWgmma(op, groups);
  if (plan)
    return *plan;
  llvm::consumeError(plan.takeError());
  return std::nullopt;
}

std::optional<GemmPlan> tile::getGemmPlan(GemmOp op, const TargetInfo &target,
                                          int64_t threads) {
  return planGemm(op, getInst(op), target, threads);
}

/// Why `kind` cannot compute the product; empty if it can.
static std::string rejectGemm(GemmOp op, InstKind kind,
                              const TargetInfo &target, int64_t threads) {
  Type lhs = op.getLhsElementType();
  auto say = [](const Twine &text) { return text.str(); };
  std::optional<MmaInstruction> mma = getMmaInstruction(
      target, kind, lhs, op.getAccType().getElementType(), op.getN());
  if (!mma) {
    std::string type;
    llvm::raw_string_ostream(type) << lhs;
    return say(target.chip + " has none for " + type + " operands and " +
               Twine(op.getN()) + " columns");
  }
  if (lhs.isF32() && target.isNVIDIA() && !op.getAllowTf32())
    return "f32 operands would be rounded to tf32; set allow_tf32";
  if (op.getK() % mma->k != 0)
    return say("K is " + Twine(op.getK()) + ", not a multiple of " +
               Twine(mma->k));
  int64_t lanes = mma->getNumLanes();
  if (threads % lanes != 0)
    return say(Twine(threads) + " threads are not a multiple of " +
               Twine(lanes));
  if (kind != InstKind::Wgmma)
    return "";
  if (!isa<MemRefType>(op.getRhs().getType()))
    return "the right operand is a fragment";
  if (op.getM() % mma->m != 0)
    return say("M is " + Twine(op.getM()) + ", not a multiple of 64");
  if (op.getTransposeLhs() && !isa<MemRefType>(op.getLhs().getType()))
    return "the left operand is a transposed fragment";
  Expected<GemmPlan> plan = planWgmma(op, threads / lanes);
  return plan ? "" : llvm::toString(plan.takeError());
}

void GemmOp::getInstructionCandidates(const TargetInfo &target, int64_t threads,
                                      SmallVectorImpl<InstKind> &candidates,
                                      RejectFn rejected) {
  SmallVector<InstKind> known;
  if (target.isAMD())
    known = {target.hasMfma() ? InstKind::Mfma : InstKind::Wmma};
  else if (target.hasWgmma())
    known = {InstKind::Wgmma, InstKind::Mma};
  else
    known = {InstKind::Mma};
  for (InstKind kind : known) {
    std::string reason = rejectGemm(*this, kind, target, threads);
    if (reason.empty())
      candidates.push_back(kind);
    else if (rejected)
      rejected(kind, reason);
  }
  candidates.push_back(InstKind::Simt);
}

void GemmOp::getLayoutRequirements(
    const TargetInfo &target, int64_t threads,
    SmallVectorImpl<LayoutRequirement> &requirements) {
  MLIRContext *context = getContext();
  std::optional<GemmPlan> plan = getGemmPlan(*this, target, threads);
  auto require = [&](LayoutRequirement::Place place,
                     const FragmentLayout &layout) {
    requirements.push_back({place, FragmentAttr::get(context, layout)});
  };
  OpResult result = getOperation()->getResult(0);
  if (!plan) {
    // Without a matrix instruction each thread computes what it holds.
    FragmentLayout layout =
        getBlockedLayout(getAccType().getShape(), threads, 4);
    require(&getAccMutable(), layout);
    require(result, layout);
    return;
  }
  FragmentLayout acc = getAccLayout(plan->mma, plan->grid, getM(), getN());
  require(&getAccMutable(), acc);
  require(result, acc);
  for (OpOperand *operand : {&getLhsMutable(), &getRhsMutable()})
    if (auto buffer = dyn_cast<MemRefType>(operand->get().getType()))
      requirements.push_back(
          {operand,
           SharedLayoutAttr::get(
               context, getWantedLayout(*this, *operand, plan->mma, threads))});
  if (isa<RankedTensorType>(getLhs().getType())) {
    FragmentLayout layout = getLhsLayout(plan->mma, plan->grid, getM(), getK());
    require(&getLhsMutable(),
            getTransposeLhs() ? layout.transpose({1, 0}) : layout);
  }
  if (isa<RankedTensorType>(getRhs().getType())) {
    FragmentLayout layout = getRhsLayout(plan->mma, plan->grid, getK(), getN());
    require(&getRhsMutable(),
            getTransposeRhs() ? layout.transpose({1, 0}) : layout);
  }
}

Error GemmOp::checkSharedLayout(const TargetInfo &, int64_t, OpOperand &operand,
                                const SharedLayout &layout) {
  if (getInst(*this) != InstKind::Wgmma)
    return Error::success();
  // The other operand does not matter: any width that this one permits will do.
  Error first = Error::success();
  for (int64_t width : getWgmmaWidths(getN(), getLhsElementType())) {
    MmaInstruction mma = getWgmma(width, getElementBits(getLhsElementType()));
    Error error =
        tile::getWgmmaDescriptor(*this, operand, mma, layout).takeError();
    if (!error) {
      llvm::consumeError(std::move(first));
      return Error::success();
    }
    if (first)
      llvm::consumeError(std::move(error));
    else
      first = std::move(error);
  }
  return first;
}

//===----------------------------------------------------------------------===//
// GemmSpOp
//===----------------------------------------------------------------------===//

void GemmSpOp::getInstructionCandidates(const TargetInfo &, int64_t,
                                        SmallVectorImpl<InstKind> &candidates,
                                        RejectFn) {
  candidates.push_back(InstKind::Simt);
}

void GemmSpOp::getLayoutRequirements(
    const TargetInfo &, int64_t threads,
    SmallVectorImpl<LayoutRequirement> &requirements) {
  FragmentLayout layout = getBlockedLayout(getAccType().getShape(), threads, 4);
  Attribute attr = FragmentAttr::get(getContext(), layout);
  requirements.push_back({&getAccMutable(), attr});
  requirements.push_back({getOperation()->getResult(0), attr});
}

//===----------------------------------------------------------------------===//
// CopyOp
//===----------------------------------------------------------------------===//

void CopyOp::getInstructionCandidates(const TargetInfo &target, int64_t,
                                      SmallVectorImpl<InstKind> &candidates,
                                      RejectFn rejected) {
  auto source = cast<MemRefType>(getSource().getType());
  auto dest = cast<MemRefType>(getDest().getType());
  auto consider = [&](InstKind kind, bool isThere, bool isBetween,
                      StringRef name, StringRef memories) {
    if (isThere && isBetween)
      candidates.push_back(kind);
    else if (rejected)
      rejected(kind, isThere ? "it copies " + memories
                             : target.chip + " has no " + name);
  };
  bool isLoad = isGlobal(source) && isShared(dest);
  bool isStore = isShared(source) && isGlobal(dest);
  consider(InstKind::Tma, target.hasTma(), isLoad || isStore, "TMA",
           "between global and shared memory");
  consider(InstKind::CpAsync, target.hasCpAsync(), isLoad, "cp.async",
           "from global to shared memory");
  candidates.push_back(InstKind::Simt);
}

void CopyOp::getLayoutRequirements(
    const TargetInfo &target, int64_t threads,
    SmallVectorImpl<LayoutRequirement> &requirements) {
  // Plain and cp.async copies write any layout, TMA boxes of it.
  if (getInst(*this) != InstKind::Tma)
    return;
  OpOperand &shared =
      isShared(getDest()) ? getDestMutable() : getSourceMutable();
  auto type = cast<MemRefType>(shared.get().getType());
  if (!isShared(type) || type.getRank() < 2)
    return;
  // Rows that are too long for a box have to be cut into panels.
  auto accepts = [&](const SharedLayout &layout) {
    Error error = checkSharedLayout(target, threads, shared, layout);
    bool isAccepted = !error;
    llvm::consumeError(std::move(error));
    return isAccepted;
  };
  SharedLayout panels = getSwizzledPanels(type);
  if (!accepts(SharedLayout::getRowMajor(type.getShape())) && accepts(panels))
    requirements.push_back(
        {&shared, SharedLayoutAttr::get(getContext(), panels)});
}

Error CopyOp::checkSharedLayout(const TargetInfo &, int64_t, OpOperand &,
                                const SharedLayout &layout) {
  if (getInst(*this) != InstKind::Tma)
    return Error::success();
  return tile::getTmaBoxes(*this, layout).takeError();
}
