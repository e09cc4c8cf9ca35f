//===- MatmulInstructions.cpp - Instructions of matmuls -------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrix instructions of matmuls: the candidates on a target, the plan of the
// chosen one, and the layouts that it requires.
//
// `getInstruction` selects an instruction of a family by target and element
// type, such as mma.sync m16n8k16 for f16 on sm_80. `getMatmulPlan` distributes
// the result over a grid of warps or warpgroups. A wgmma can have up to 256
// columns; `planWgmma` tries widths in descending order, because an operand in
// a given layout may permit only a narrow one. The plan requires layouts: that
// of the accumulator, and for shared operands those that are read best.
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

/// Returns whether mma.sync has this operand type on `sm` (PTX ISA, "mma":
/// target notes).
static bool hasMmaSync(unsigned sm, Type type) {
  if (isHalf(type) || type.isF32() || type.isF64() || type.isInteger(8))
    return sm >= 80;
  return isOcpFp8(type) && sm >= 89;
}

/// Returns whether the sparse instructions of NVIDIA take two of four elements
/// of this type. For f32 they take one of two.
static bool isSparseOperand(Type type) {
  return isHalf(type) || type.isInteger(8) || isOcpFp8(type);
}

/// Returns the instruction of CDNA4 for small types, none if it cannot compute
/// `op`. It multiplies fp8 twice as fast as the instruction for fp8 alone.
static std::optional<MmaInstruction> getSmallMfmaFor(unsigned arch,
                                                     MatmulOpInterface op) {
  Type lhs = op.getLhsElementType(), rhs = op.getRhsElementType();
  if (arch != 0x950 || !(op.needsSmallTypes() || isOcpFp8(lhs)))
    return std::nullopt;
  for (int64_t size : {32, 16})
    if ((size == 16 || op.getN() % size == 0) && op.getK() % (2048 / size) == 0)
      return getMfmaSmall(size, getElementBits(lhs), getElementBits(rhs));
  return std::nullopt;
}

/// Returns the mfma of a CDNA chip, none if `arch` has none for this type
/// ("CDNA2", "CDNA3" and "CDNA4 Instruction Set Architecture", chapter "Matrix
/// Arithmetic Instructions").
static std::optional<MmaInstruction> getMfmaFor(unsigned arch,
                                                MatmulOpInterface op) {
  // The larger shape reads fewer operands for each multiplication. f64 only has
  // the smaller shape.
  Type type = op.getLhsElementType();
  int64_t size = op.getN() % 32 == 0 && !type.isF64() ? 32 : 16;
  if (std::optional<MmaInstruction> mma = getSmallMfmaFor(arch, op))
    return mma;
  if (op.needsSmallTypes())
    return std::nullopt;
  int64_t lanesK = 64 / size;
  if (isHalf(type))
    return getMfma(size, lanesK * (arch == 0x950 ? 8 : 4));
  if (type.isInteger(8))
    return getMfma(size, lanesK * (arch == 0x950 ? 16 : arch == 0x942 ? 8 : 4));
  // The same opcodes take the FNUZ family on gfx942 and the OCP family on
  // gfx950.
  if ((isFnuzFp8(type) && arch == 0x942) || (isOcpFp8(type) && arch == 0x950))
    return getMfma(size, lanesK * 8);
  if (type.isF32())
    return getMfma(size, lanesK);
  if (type.isF64())
    return getMfmaF64();
  return std::nullopt;
}

/// Returns the wmma of an RDNA chip ("RDNA3" and "RDNA4 Instruction Set
/// Architecture", chapter "WMMA").
static std::optional<MmaInstruction> getWmmaFor(unsigned arch, Type type) {
  if (arch >= 0x1200) {
    if (isHalf(type) || type.isInteger(8) || isOcpFp8(type))
      return getWmmaGfx12();
  } else if (isHalf(type) || type.isInteger(8)) {
    return getWmmaGfx11();
  }
  return std::nullopt;
}

/// Returns the numbers of columns of wgmma that divide `n`, in descending
/// order. Integer operands permit fewer (PTX ISA, "wgmma.mma_async": shapes).
static SmallVector<int64_t> getWgmmaWidths(int64_t n, Type operand) {
  SmallVector<int64_t> widths;
  int64_t step = operand.isInteger() ? 16 : 8;
  for (int64_t width = std::min<int64_t>(n, 256); width >= 8; --width)
    if (n % width == 0 && width % 8 == 0 &&
        (width % step == 0 || width == 8 || width == 24))
      widths.push_back(width);
  return widths;
}

/// PTX ISA, "wgmma.mma_async": Multiplicand data types. f32 is rounded to tf32.
static bool isWgmmaOperand(Type type) {
  return type.isF16() || type.isBF16() || type.isF32() || type.isInteger(8) ||
         isa<Float8E4M3FNType, Float8E5M2Type>(type);
}

/// Returns the plan of a wgmma with `n` columns; the caller sets the grid.
static MatmulPlan getWgmmaFor(MatmulOpInterface op, int64_t n) {
  int64_t bits = getElementBits(op.getLhsElementType());
  if (!op.isSparse())
    return {getWgmma(n, bits), {}, std::nullopt};
  SparseMmaInstruction sparse = getWgmmaSp(n, bits);
  return {sparse.mma, {}, sparse.metadata};
}

static std::optional<MatmulPlan> getMmaFor(MatmulOpInterface op, unsigned sm) {
  Type lhs = op.getLhsElementType();
  if (!hasMmaSync(sm, lhs))
    return std::nullopt;
  if (!op.isSparse())
    return MatmulPlan{getMmaSync(getElementBits(lhs)), {}, std::nullopt};
  SparseMmaInstruction sparse = getMmaSp(getElementBits(lhs));
  return MatmulPlan{sparse.mma, {}, sparse.metadata};
}

/// Returns the widest matrix instruction of family `kind` for `op`, none if the
/// target lacks it.
static std::optional<MatmulPlan>
getInstruction(MatmulOpInterface op, InstKind kind, const TargetInfo &target) {
  Type lhs = op.getLhsElementType();
  if ((op.isSparse() && !isSparseOperand(lhs)) ||
      (op.needsSmallTypes() && kind != InstKind::Mfma))
    return std::nullopt;
  auto makeDense =
      [&](std::optional<MmaInstruction> mma) -> std::optional<MatmulPlan> {
    if (!mma || op.isSparse() || op.getAccType().getElementType().isF16())
      return std::nullopt;
    return MatmulPlan{*mma, {}, std::nullopt};
  };
  switch (kind) {
  case InstKind::Mma:
    return target.isNVIDIA() ? getMmaFor(op, target.arch) : std::nullopt;
  case InstKind::Wgmma: {
    if (!target.hasWgmma() || !isWgmmaOperand(lhs))
      return std::nullopt;
    SmallVector<int64_t> widths = getWgmmaWidths(op.getN(), lhs);
    if (widths.empty())
      return std::nullopt;
    return getWgmmaFor(op, widths.front());
  }
  case InstKind::Mfma:
    return target.hasMfma() ? makeDense(getMfmaFor(target.arch, op))
                            : std::nullopt;
  case InstKind::Wmma:
    return target.hasWmma() ? makeDense(getWmmaFor(target.arch, lhs))
                            : std::nullopt;
  case InstKind::Simt:
  case InstKind::CpAsync:
  case InstKind::Tma:
    return std::nullopt;
  }
  llvm_unreachable("covered switch");
}

MmaInstruction MatmulPlan::getOperandMma(MatmulOpInterface op,
                                         bool isLhs) const {
  MmaInstruction operand = mma;
  operand.k = mma.k * (isLhs ? op.getLhsK() : op.getRhsK()) / op.getK();
  return operand;
}

MmaInstruction MatmulPlan::getScaleMma() const {
  return getMfma(mma.m, 64 / mma.m);
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

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

/// Returns whether ldmatrix can read a shared operand. Rows must be multiples
/// of 16 bytes, and transposed operands must have 16-bit elements.
static bool hasMatrixRows(MemRefType type, bool alongK) {
  int64_t bits = getElementBits(type.getElementType());
  return bits <= 32 && (alongK || bits == 16) &&
         type.getShape().back() * bits % 128 == 0;
}

/// Returns the layout that suits the reads of a shared operand best.
static SharedLayout getWantedLayout(MatmulOpInterface op, OpOperand &operand,
                                    const MatmulPlan &plan,
                                    const TargetInfo &target, int64_t threads) {
  auto type = cast<MemRefType>(operand.get().getType());
  if (getInst(op) == InstKind::Wgmma)
    return getSwizzledPanels(type);
  bool isLhs = &operand == &op.getLhsMutable();
  bool transposed = isLhs ? op.getTransposeLhs() : op.getTransposeRhs();
  MmaInstruction mma = plan.getOperandMma(op, isLhs);
  int64_t bits = getStorageBits(type.getElementType());
  OperandAccess access = getRegisterAccess(mma, isLhs, transposed);
  if (getInst(op) == InstKind::Mma && hasMatrixRows(type, isLhs != transposed))
    access = getMatrixRowAccess(mma, isLhs, transposed);
  else if (target.isAMD() && isLhs == transposed)
    access = getTransposedAccess(mma, isLhs, transposed, bits,
                                 target.hasTransposedReads());
  return chooseOperandLayout(type.getShape(), bits, access, threads,
                             SharedBanks(target.chip));
}

/// Returns an error with the reason if wgmma cannot read a shared operand in
/// the layout of its type or, without one, in swizzled panels.
static Error checkOperands(MatmulOpInterface op, const MatmulPlan &plan) {
  for (OpOperand *operand : {&op.getLhsMutable(), &op.getRhsMutable()}) {
    auto type = dyn_cast<MemRefType>(operand->get().getType());
    if (!type)
      continue;
    bool isGiven = isa<SharedLayoutAttr>(type.getLayout());
    SharedLayout layout =
        isGiven ? getSharedLayout(type) : getSwizzledPanels(type);
    Expected<WgmmaDescriptor> descriptor =
        getWgmmaDescriptor(op, *operand, plan, layout);
    if (!descriptor)
      return descriptor.takeError();
  }
  return Error::success();
}

/// Distributes rows of 64 over warpgroups first, then columns. Chooses the
/// widest instruction that the layouts of the operands permit.
static Expected<MatmulPlan> planWgmma(MatmulOpInterface op, int64_t groups) {
  int64_t m = op.getM(), n = op.getN();
  int64_t alongM = std::gcd(groups, m / 64);
  if (op.getPolicy() == WarpPolicy::FullCol && (n / 8) % groups == 0)
    alongM = 1;
  WarpGrid grid = {alongM, groups / alongM};
  SmallVector<int64_t> widths;
  if (n % grid.n == 0)
    widths = getWgmmaWidths(n / grid.n, op.getLhsElementType());
  if (widths.empty())
    return makeLayoutError(groups, " warpgroups cannot share ", m, " rows and ",
                           n, " columns evenly");
  std::optional<std::string> reason;
  for (int64_t width : widths) {
    MatmulPlan plan = getWgmmaFor(op, width);
    plan.grid = grid;
    Error error = checkOperands(op, plan);
    if (!error)
      return plan;
    std::string text = llvm::toString(std::move(error));
    if (!reason)
      reason = text;
  }
  return makeLayoutError(*reason);
}

std::optional<MatmulPlan> tile::getMatmulPlan(MatmulOpInterface op,
                                              const TargetInfo &target,
                                              int64_t threads) {
  InstKind kind = getInst(op);
  std::optional<MatmulPlan> plan = getInstruction(op, kind, target);
  if (!plan || threads % plan->mma.getNumLanes() != 0)
    return std::nullopt;
  int64_t groups = threads / plan->mma.getNumLanes();
  if (kind == InstKind::Wgmma)
    return llvm::expectedToOptional(planWgmma(op, groups));
  plan->grid = getWarpGrid(plan->mma, groups, op.getM(), op.getN(),
                           getWarpShape(op.getPolicy()));
  return plan;
}

MetadataLayout tile::getMetadataLayout(MatmulOpInterface op,
                                       const MatmulPlan &plan) {
  return tilews::getMetadataLayout(
      plan.mma, *plan.metadata, plan.grid, op.getM(), op.getK(),
      getElementBits(getElementType(op.getMetadataOperand()->get())));
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// Returns the reason why `kind` cannot compute `op`, empty if it can.
static std::string rejectMatmul(MatmulOpInterface op, InstKind kind,
                                const TargetInfo &target, int64_t threads) {
  Type lhs = op.getLhsElementType();
  auto say = [](const Twine &text) { return text.str(); };
  std::optional<MatmulPlan> plan = getInstruction(op, kind, target);
  if (!plan && op.needsSmallTypes())
    return "only gfx950 multiplies packed and scaled operands, with K a "
           "multiple of 64 if N is one of 32, or else of 128";
  if (!plan) {
    std::string type;
    llvm::raw_string_ostream(type) << lhs;
    return say(target.chip + " has none for " +
               (op.isSparse() ? "2:4 sparse " : "") + type + " operands and " +
               Twine(op.getN()) + " columns");
  }
  const MmaInstruction &mma = plan->mma;
  if (lhs.isF32() && target.isNVIDIA() && !op.getAllowTf32())
    return "f32 operands would be rounded to tf32; set allow_tf32";
  if (op.getK() % mma.k != 0)
    return say("K is " + Twine(op.getK()) + ", not a multiple of " +
               Twine(mma.k));
  int64_t lanes = mma.getNumLanes();
  if (threads % lanes != 0)
    return say(Twine(threads) + " threads are not a multiple of " +
               Twine(lanes));
  if (kind != InstKind::Wgmma)
    return "";
  if (!isa<MemRefType>(op.getRhs().getType()))
    return "the right operand is a fragment";
  if (op.getM() % mma.m != 0)
    return say("M is " + Twine(op.getM()) + ", not a multiple of 64");
  if (op.getTransposeLhs() && !isa<MemRefType>(op.getLhs().getType()))
    return "the left operand is a transposed fragment";
  auto role = op->getParentOfType<RoleOp>();
  if (int64_t first = role ? role.getFirstThread() : 0; first % lanes)
    return say("role @" + role.getName() + " begins at warp " +
               Twine(first / 32) + ", and warpgroups at each fourth one");
  Expected<MatmulPlan> wgmma = planWgmma(op, threads / lanes);
  return wgmma ? "" : llvm::toString(wgmma.takeError());
}

static void getCandidates(MatmulOpInterface op, const TargetInfo &target,
                          int64_t threads,
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
    std::string reason = rejectMatmul(op, kind, target, threads);
    if (reason.empty())
      candidates.push_back(kind);
    else if (rejected)
      rejected(kind, reason);
  }
  candidates.push_back(InstKind::Simt);
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

static void getRequirements(MatmulOpInterface op, const TargetInfo &target,
                            int64_t threads,
                            SmallVectorImpl<LayoutRequirement> &requirements) {
  MLIRContext *context = op.getContext();
  std::optional<MatmulPlan> plan = getMatmulPlan(op, target, threads);
  auto require = [&](LayoutRequirement::Place place,
                     const FragmentLayout &layout) {
    requirements.push_back({place, FragmentAttr::get(context, layout)});
  };
  if (!plan) {
    // Without a matrix instruction, each thread computes the elements it holds.
    FragmentLayout layout =
        getBlockedLayout(op.getAccType().getShape(), threads, 4);
    require(&op.getAccMutable(), layout);
    require(op.getAccResult(), layout);
    return;
  }
  FragmentLayout acc =
      getAccLayout(plan->mma, plan->grid, op.getM(), op.getN());
  require(&op.getAccMutable(), acc);
  require(op.getAccResult(), acc);
  for (OpOperand *operand : {&op.getLhsMutable(), &op.getRhsMutable()})
    if (isa<MemRefType>(operand->get().getType()))
      requirements.push_back(
          {operand,
           SharedLayoutAttr::get(context, getWantedLayout(op, *operand, *plan,
                                                          target, threads))});
  auto requireOperand = [&](OpOperand &operand, const FragmentLayout &layout,
                            bool transposed) {
    if (isa<RankedTensorType>(operand.get().getType()))
      require(&operand, transposed ? layout.transpose({1, 0}) : layout);
  };
  requireOperand(op.getLhsMutable(),
                 getLhsLayout(plan->getOperandMma(op, true), plan->grid,
                              op.getM(), op.getLhsK()),
                 op.getTransposeLhs());
  requireOperand(op.getRhsMutable(),
                 getRhsLayout(plan->getOperandMma(op, false), plan->grid,
                              op.getRhsK(), op.getN()),
                 op.getTransposeRhs());
  MmaInstruction scaleMma = plan->getScaleMma();
  for (auto [i, scale] : llvm::enumerate(op.getScaleOperands())) {
    int64_t m = op.getM(), n = op.getN(), blocks = op.getK() / 32;
    requireOperand(scale,
                   i == 0 ? getLhsLayout(scaleMma, plan->grid, m, blocks)
                          : getRhsLayout(scaleMma, plan->grid, blocks, n),
                   i == 0 ? op.getTransposeLhs() : op.getTransposeRhs());
  }
  if (op.isSparse())
    requireOperand(*op.getMetadataOperand(),
                   tile::getMetadataLayout(op, *plan).fragment, false);
}

static Error checkLayout(MatmulOpInterface op, OpOperand &operand,
                         const SharedLayout &layout) {
  // Threads load metadata with ordinary loads.
  if (getInst(op) != InstKind::Wgmma || &operand == op.getMetadataOperand())
    return Error::success();
  // The other operand is checked on its own: any width that suits this one
  // suffices.
  Error first = Error::success();
  for (int64_t width : getWgmmaWidths(op.getN(), op.getLhsElementType())) {
    Error error =
        getWgmmaDescriptor(op, operand, getWgmmaFor(op, width), layout)
            .takeError();
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
// Operations
//===----------------------------------------------------------------------===//

void GemmOp::getInstructionCandidates(const TargetInfo &target, int64_t threads,
                                      SmallVectorImpl<InstKind> &candidates,
                                      RejectFn rejected) {
  getCandidates(*this, target, threads, candidates, rejected);
}

void GemmOp::getLayoutRequirements(
    const TargetInfo &target, int64_t threads,
    SmallVectorImpl<LayoutRequirement> &requirements) {
  getRequirements(*this, target, threads, requirements);
}

Error GemmOp::checkSharedLayout(const TargetInfo &, int64_t, OpOperand &operand,
                                const SharedLayout &layout) {
  return checkLayout(*this, operand, layout);
}

void GemmSpOp::getInstructionCandidates(const TargetInfo &target,
                                        int64_t threads,
                                        SmallVectorImpl<InstKind> &candidates,
                                        RejectFn rejected) {
  getCandidates(*this, target, threads, candidates, rejected);
}

void GemmSpOp::getLayoutRequirements(
    const TargetInfo &target, int64_t threads,
    SmallVectorImpl<LayoutRequirement> &requirements) {
  getRequirements(*this, target, threads, requirements);
}

Error GemmSpOp::checkSharedLayout(const TargetInfo &, int64_t,
                                  OpOperand &operand,
                                  const SharedLayout &layout) {
  return checkLayout(*this, operand, layout);
}
