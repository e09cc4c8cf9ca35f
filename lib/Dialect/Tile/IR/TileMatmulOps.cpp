//===- TileMatmulOps.cpp - Matmuls ----------------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers and canonicalization of `tile.gemm`, `tile.gemm_sp` and
// `tile.gemm_wait`.
//
// The verifier of an asynchronous matmul follows its result through control
// flow. Each use must be a `tile.gemm_wait`, the accumulator of another
// asynchronous matmul, or a terminator or loop that forwards the value;
// forwarded values are followed with a worklist. For example, the result may be
// yielded by an scf.for whose result only a `tile.gemm_wait` uses.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

static ArrayRef<int64_t> getShape(Value value) {
  return cast<ShapedType>(value.getType()).getShape();
}

//===----------------------------------------------------------------------===//
// Shared checks
//===----------------------------------------------------------------------===//

/// Returns whether the type is one of the 8-bit floating point formats.
static bool isFp8(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type, Float8E4M3FNUZType,
             Float8E5M2FNUZType>(type);
}

/// Returns whether elements of the type are packed in bytes.
static bool isPackedFloat(Type type) {
  return isa<Float4E2M1FNType, Float6E2M3FNType, Float6E3M2FNType>(type);
}

/// Returns whether the type is fp8, fp6 or fp4 of OCP.
static bool isOcpSmall(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(type) || isPackedFloat(type);
}

static LogicalResult verifyElementTypes(Operation *op, Type lhs, Type rhs,
                                        Type acc) {
  bool mixedFp8 = isFp8(lhs) && isFp8(rhs) &&
                  isa<Float8E4M3FNUZType, Float8E5M2FNUZType>(lhs) ==
                      isa<Float8E4M3FNUZType, Float8E5M2FNUZType>(rhs);
  if (lhs != rhs && !mixedFp8 && !(isOcpSmall(lhs) && isOcpSmall(rhs)))
    return op->emitOpError("operands have element types ")
           << lhs << " and " << rhs
           << ", expected the same, or two fp8 types of one family";
  if (lhs.isIndex() || lhs.isInteger(1) || lhs.isInteger(64))
    return op->emitOpError("cannot multiply ")
           << lhs << ", expected i4, i8, i16, i32 or a floating point type";
  bool accFits = false;
  if (lhs.isInteger())
    accFits = acc.isInteger(32);
  else if (lhs.isF64())
    accFits = acc.isF64();
  else
    accFits = acc.isF32() || (lhs.isF16() && acc.isF16());
  if (!accFits)
    return op->emitOpError("cannot accumulate ")
           << lhs << " operands in " << acc << ", expected "
           << (lhs.isInteger() ? "i32"
               : lhs.isF64()   ? "f64"
                               : "f32");
  return success();
}

static LogicalResult verifyOperand(Operation *op, StringRef name, Value value) {
  auto type = cast<ShapedType>(value.getType());
  if (auto memref = dyn_cast<MemRefType>(value.getType()))
    if (!isShared(memref))
      return op->emitOpError()
             << name << " has to be in shared memory or a fragment, found "
             << memref << "; copy it there first";
  if (!type.hasStaticShape() || type.getRank() != 2)
    return op->emitOpError() << name
                             << " has to be a matrix with a static "
                                "shape, found "
                             << Type(type);
  return success();
}

static LogicalResult verifyExtent(Operation *op, StringRef name, StringRef a,
                                  int64_t x, StringRef b, int64_t y) {
  if (x == y)
    return success();
  return op->emitOpError() << name << " is " << x << " in the " << a << ", but "
                           << y << " in the " << b;
}

/// Checks an operand whose elements are packed in bytes, if there is a `type`.
static LogicalResult verifyPacked(GemmOp op, StringRef name,
                                  std::optional<Type> type, Value operand,
                                  bool isAlongK) {
  if (!type) {
    if (isPackedFloat(getElementType(operand)))
      return op.emitOpError()
             << name << " operand has elements of " << getElementType(operand)
             << ", expected i8 in which they are packed, and " << name
             << "_type";
    return success();
  }
  if (!isPackedFloat(*type))
    return op.emitOpError() << name << "_type is " << *type
                            << ", expected f4E2M1FN, f6E2M3FN or f6E3M2FN";
  if (!getElementType(operand).isInteger(8))
    return op.emitOpError()
           << name << " operand has elements of " << getElementType(operand)
           << ", expected i8 in which " << *type << " are packed";
  if (!isAlongK)
    return op.emitOpError()
           << name << " operand is packed along K, expected "
           << (name == "lhs" ? "no transpose_lhs" : "transpose_rhs");
  int64_t bytes = getShape(operand)[1];
  if (bytes * 8 % getElementBits(*type) != 0)
    return op.emitOpError() << name << " operand has rows of " << bytes
                            << " bytes, expected whole elements of " << *type;
  return success();
}

/// Checks the scale of an operand, which is stored like it.
static LogicalResult verifyScale(GemmOp op, StringRef name, Value scale,
                                 int64_t rows, bool isAlongK) {
  Type element = getElementType(scale);
  if (!isa<Float8E8M0FNUType>(element))
    return op.emitOpError()
           << "scale of the " << name << " operand has elements of " << element
           << ", expected f8E8M0FNU";
  SmallVector<int64_t> expected = {rows, op.getK() / 32};
  if (!isAlongK)
    std::swap(expected[0], expected[1]);
  if (op.getK() % 32 != 0 || getShape(scale) != ArrayRef(expected)) {
    InFlightDiagnostic diag = op.emitOpError();
    diag << "scale of the " << name << " operand has shape " << scale.getType()
         << ", expected ";
    if (op.getK() % 32 != 0)
      return diag << "K to be a multiple of 32, found " << op.getK();
    return diag << expected[0] << "x" << expected[1]
                << ": a factor for each 32 elements along K";
  }
  return success();
}

static LogicalResult verifyScales(GemmOp op) {
  OperandRange scales = op.getScales();
  if (scales.empty())
    return success();
  if (scales.size() != 2)
    return op.emitOpError("has ")
           << scales.size() << " scales, expected one for each operand";
  for (Value scale : scales)
    if (failed(verifyOperand(op, "scale", scale)))
      return failure();
  for (Type type : {op.getLhsElementType(), op.getRhsElementType()})
    if (!isOcpSmall(type))
      return op.emitOpError("scales elements of ")
             << type << ", expected fp8 of OCP, fp6 or fp4";
  if (op.getAsync())
    return op.emitOpError("is scaled and asynchronous, which no chip has");
  if (failed(
          verifyScale(op, "left", scales[0], op.getM(), !op.getTransposeLhs())))
    return failure();
  return verifyScale(op, "right", scales[1], op.getN(), op.getTransposeRhs());
}

static TileRegion getWhole(Value buffer) {
  Builder builder(buffer.getContext());
  TileRegion region;
  region.sizes.assign(getShape(buffer).begin(), getShape(buffer).end());
  region.offsets.assign(region.sizes.size(), builder.getIndexAttr(0));
  return region;
}

static void addReads(MutableArrayRef<OpOperand> operands,
                     SmallVectorImpl<AccessRegion> &regions) {
  for (OpOperand &operand : operands)
    if (isa<MemRefType>(operand.get().getType()))
      regions.push_back({&operand, AccessKind::Read, getWhole(operand.get())});
}

static void addReadEffects(
    ArrayRef<AccessRegion> regions,
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (const AccessRegion &region : regions)
    effects.emplace_back(MemoryEffects::Read::get(), region.buffer);
}

//===----------------------------------------------------------------------===//
// GemmOp
//===----------------------------------------------------------------------===//

int64_t GemmOp::getM() { return getShape(getLhs())[getTransposeLhs() ? 1 : 0]; }
int64_t GemmOp::getN() { return getShape(getRhs())[getTransposeRhs() ? 0 : 1]; }
int64_t GemmOp::getK() {
  int64_t extent = getShape(getLhs())[getTransposeLhs() ? 0 : 1];
  return getLhsType() ? extent * 8 / getElementBits(*getLhsType()) : extent;
}
Type GemmOp::getLhsElementType() {
  return getLhsType().value_or(getElementType(getLhs()));
}
Type GemmOp::getRhsElementType() {
  return getRhsType().value_or(getElementType(getRhs()));
}

bool MatmulOpInterface::needsSmallTypes() {
  return !getScaleOperands().empty() || isPackedFloat(getLhsElementType()) ||
         isPackedFloat(getRhsElementType());
}

LogicalResult GemmOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getAcc().getType());
  return success();
}

void GemmOp::getAccessRegions(SmallVectorImpl<AccessRegion> &regions) {
  addReads(getOperation()->getOpOperands(), regions);
}

void GemmOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  SmallVector<AccessRegion> regions;
  getAccessRegions(regions);
  addReadEffects(regions, effects);
}

/// Returns the values that receive `operand` through control flow: region
/// arguments and results of the operation or of its parent.
static SmallVector<Value> getForwarded(OpOperand &operand) {
  Operation *op = operand.getOwner();
  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  if (!branch && op->hasTrait<OpTrait::IsTerminator>())
    branch = dyn_cast<RegionBranchOpInterface>(op->getParentOp());
  if (!branch)
    return {};
  RegionBranchSuccessorMapping mapping;
  branch.getSuccessorOperandInputMapping(mapping);
  return llvm::to_vector(mapping.lookup(&operand));
}

/// Checks that every use of the result of an asynchronous matmul is after its
/// wait, or accumulates in another asynchronous matmul.
static LogicalResult verifyUnfinishedUses(MatmulOpInterface op) {
  llvm::SmallSetVector<Value, 4> unfinished;
  unfinished.insert(op.getAccResult());
  for (size_t i = 0; i < unfinished.size(); ++i)
    for (OpOperand &use : unfinished[i].getUses()) {
      Operation *user = use.getOwner();
      auto other = dyn_cast<MatmulOpInterface>(user);
      if (isa<GemmWaitOp>(user) ||
          (other && other.getAsync() && &use == &other.getAccMutable()))
        continue;
      SmallVector<Value> forwarded = getForwarded(use);
      unfinished.insert_range(forwarded);
      if (!forwarded.empty())
        continue;
      InFlightDiagnostic diag = op->emitOpError(
          "is asynchronous: expected its result to be an accumulator of "
          "another asynchronous matmul or to be finished by tile.gemm_wait");
      diag.attachNote(user->getLoc())
          << "used by '" << user->getName() << "' before it is finished";
      return diag;
    }
  return success();
}

LogicalResult GemmOp::verify() {
  if (failed(verifyOperand(*this, "left operand", getLhs())) ||
      failed(verifyOperand(*this, "right operand", getRhs())) ||
      failed(verifyOperand(*this, "accumulator", getAcc())))
    return failure();
  if (failed(verifyPacked(*this, "lhs", getLhsType(), getLhs(),
                          !getTransposeLhs())) ||
      failed(verifyPacked(*this, "rhs", getRhsType(), getRhs(),
                          getTransposeRhs())))
    return failure();
  int64_t rhsK = getShape(getRhs())[getTransposeRhs() ? 1 : 0];
  if (getRhsType())
    rhsK = rhsK * 8 / getElementBits(*getRhsType());
  ArrayRef<int64_t> acc = getShape(getAcc());
  if (failed(verifyExtent(*this, "K", "left operand", getK(), "right operand",
                          rhsK)) ||
      failed(verifyExtent(*this, "M", "left operand", getM(), "accumulator",
                          acc[0])) ||
      failed(verifyExtent(*this, "N", "right operand", getN(), "accumulator",
                          acc[1])))
    return failure();
  if (failed(verifyElementTypes(*this, getLhsElementType(), getRhsElementType(),
                                getElementType(getAcc()))) ||
      failed(verifyScales(*this)))
    return failure();
  return getAsync() ? verifyUnfinishedUses(*this) : success();
}

namespace {
/// Sets `clear_accumulator` if the accumulator is a zero constant.
template <typename OpT>
struct ClearZeroAccumulator : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    if (op.getClearAccumulator())
      return rewriter.notifyMatchFailure(op, "already clears");
    if (!matchPattern(op.getAcc(), m_AnyZeroFloat()) &&
        !matchPattern(op.getAcc(), m_Zero()))
      return rewriter.notifyMatchFailure(op, "accumulator is not zero");
    rewriter.modifyOpInPlace(op, [&] { op.setClearAccumulator(true); });
    return success();
  }
};

/// Transposes a fragment that is the left operand by `tile.transpose`. wgmma
/// and others take a fragment as left operand only if it is not transposed.
struct TransposeLeftFragment : OpRewritePattern<GemmOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GemmOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getTransposeLhs() ||
        !isa<RankedTensorType>(op.getLhs().getType()) ||
        !op.getScales().empty())
      return rewriter.notifyMatchFailure(op, "no transposed fragment");
    Value transposed =
        TransposeOp::create(rewriter, op.getLoc(), op.getLhs(),
                            rewriter.getDenseI64ArrayAttr({1, 0}));
    rewriter.modifyOpInPlace(op, [&] {
      op.getLhsMutable().assign(transposed);
      op.setTransposeLhs(false);
    });
    return success();
  }
};
} // namespace

void GemmOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *context) {
  patterns.add<ClearZeroAccumulator<GemmOp>, TransposeLeftFragment>(context);
}

//===----------------------------------------------------------------------===//
// GemmSpOp
//===----------------------------------------------------------------------===//

int64_t GemmSpOp::getM() { return getShape(getLhs())[0]; }
int64_t GemmSpOp::getN() {
  return getShape(getRhs())[getTransposeRhs() ? 0 : 1];
}
int64_t GemmSpOp::getK() { return getShape(getLhs())[1] * 2; }
Type GemmSpOp::getLhsElementType() { return getElementType(getLhs()); }
Type GemmSpOp::getRhsElementType() { return getElementType(getRhs()); }

LogicalResult GemmSpOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getAcc().getType());
  return success();
}

void GemmSpOp::getAccessRegions(SmallVectorImpl<AccessRegion> &regions) {
  addReads(getOperation()->getOpOperands(), regions);
}

void GemmSpOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  SmallVector<AccessRegion> regions;
  getAccessRegions(regions);
  addReadEffects(regions, effects);
}

LogicalResult GemmSpOp::verify() {
  if (failed(verifyOperand(*this, "left operand", getLhs())) ||
      failed(verifyOperand(*this, "metadata", getMetadata())) ||
      failed(verifyOperand(*this, "right operand", getRhs())) ||
      failed(verifyOperand(*this, "accumulator", getAcc())))
    return failure();
  Type metadata = getElementType(getMetadata());
  if (!metadata.isInteger(8) && !metadata.isInteger(16) &&
      !metadata.isInteger(32))
    return emitOpError("metadata has to be i8, i16 or i32, found ") << metadata;
  int64_t rhsK = getShape(getRhs())[getTransposeRhs() ? 1 : 0];
  ArrayRef<int64_t> acc = getShape(getAcc());
  // Four bits of metadata describe four dense elements.
  int64_t covered = getShape(getMetadata())[1] * getElementBits(metadata);
  if (failed(verifyExtent(*this, "K", "left operand (dense)", getK(),
                          "right operand", rhsK)) ||
      failed(verifyExtent(*this, "K", "left operand (dense)", getK(),
                          "metadata", covered)) ||
      failed(verifyExtent(*this, "M", "left operand", getM(), "metadata",
                          getShape(getMetadata())[0])) ||
      failed(verifyExtent(*this, "M", "left operand", getM(), "accumulator",
                          acc[0])) ||
      failed(verifyExtent(*this, "N", "right operand", getN(), "accumulator",
                          acc[1])))
    return failure();
  if (failed(verifyElementTypes(*this, getLhsElementType(), getRhsElementType(),
                                getElementType(getAcc()))))
    return failure();
  return getAsync() ? verifyUnfinishedUses(*this) : success();
}

void GemmSpOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<ClearZeroAccumulator<GemmSpOp>>(context);
}
