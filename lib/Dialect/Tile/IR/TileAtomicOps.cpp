//===- TileAtomicOps.cpp - Atomic accesses and fences ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Regions, memory effects and verifiers of the atomic accesses and the fence.
//
// A relaxed access reads and writes its own buffer. That a load writes, too,
// keeps passes from merging it with another one, and from removing a loop that
// only waits. An access that acquires or releases has effects on all memory, so
// that no pass moves another access across it:
//
//   %0 = memref.load %data[%i]         stays before
//   tile.atomic_rmw <add> ... {order = #tile.order<acq_rel>}
//   %1 = memref.load %data[%i]         stays after, and is not %0
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/Regions.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

using Effects = SmallVectorImpl<MemoryEffects::EffectInstance>;

//===----------------------------------------------------------------------===//
// All operations
//===----------------------------------------------------------------------===//

MemoryScope AtomicOpInterface::getEffectiveScope() {
  if (std::optional<MemoryScope> scope = getScope())
    return *scope;
  Value buffer = getAtomicBuffer();
  return buffer && isShared(buffer) ? MemoryScope::Block : MemoryScope::Device;
}

void tile::addOrderEffects(AtomicOpInterface op, Effects &effects) {
  if (!op.orders())
    return;
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}

LogicalResult tile::verifyAtomicScope(AtomicOpInterface op) {
  Value buffer = op.getAtomicBuffer();
  MemoryScope scope = op.getEffectiveScope();
  if (!buffer || !isShared(buffer) || scope == MemoryScope::Block ||
      scope == MemoryScope::Cluster)
    return success();
  return op->emitOpError("expected scope 'block' or 'cluster' for shared "
                         "memory, found '")
         << stringifyMemoryScope(scope) << "'";
}

LogicalResult tile::verifyAtomicElement(Operation *op, Type element,
                                        AtomicKind kind) {
  if (getElementBits(element) < 8)
    return op->emitOpError("cannot combine single elements of ")
           << element << ", expected at least 8 bits";
  bool takesIntegers =
      llvm::is_contained({AtomicKind::And, AtomicKind::Or, AtomicKind::Xor,
                          AtomicKind::UMax, AtomicKind::UMin},
                         kind);
  if (takesIntegers && !element.isInteger())
    return op->emitOpError("'") << stringifyAtomicKind(kind)
                                << "' takes integers, found " << element;
  if (kind != AtomicKind::Exchange && !element.isInteger() &&
      getElementBits(element) < 16)
    return op->emitOpError("'")
           << stringifyAtomicKind(kind)
           << "' takes integers, or floating point of at least 16 bits, found "
           << element;
  return success();
}

/// Checks the region of `op`, its scope, and that its elements can be accessed
/// in one step.
template <typename OpT>
static LogicalResult verifyAtomic(OpT op, StringRef side,
                                  RankedTensorType fragment) {
  auto buffer = cast<MemRefType>(op.getAtomicBuffer().getType());
  if (failed(verifyRegion(op, side, buffer, op.getOffsets(),
                          op.getStaticOffsets(), op.getSizes())) ||
      failed(verifyFragmentRegion(op, op.getRegion(), buffer, fragment)))
    return failure();
  // A bool is a byte in memory, which can be read in one step.
  Type element = buffer.getElementType();
  bool isLoad = isa<AtomicLoadOp>(op);
  if (getElementBits(element) < 8 && !(isLoad && element.isInteger(1)))
    return op.emitOpError("cannot ")
           << (isLoad ? "load" : "combine") << " single elements of " << element
           << ", expected at least 8 bits";
  return verifyAtomicScope(cast<AtomicOpInterface>(op.getOperation()));
}

template <typename OpT>
static TileRegion getAtomicRegion(OpT op, Value fragment) {
  return buildRegion(cast<MemRefType>(op.getAtomicBuffer().getType()),
                     op.getOffsets(), op.getStaticOffsets(), op.getSizes(),
                     cast<RankedTensorType>(fragment.getType()).getShape());
}

//===----------------------------------------------------------------------===//
// AtomicRMWOp
//===----------------------------------------------------------------------===//

TileRegion AtomicRMWOp::getRegion() {
  return getAtomicRegion(*this, getValue());
}

Value AtomicRMWOp::getAtomicBuffer() { return getDest(); }

void AtomicRMWOp::getAccessRegions(SmallVectorImpl<AccessRegion> &regions) {
  regions.push_back({&getDestMutable(), AccessKind::ReadWrite, getRegion()});
}

void AtomicRMWOp::getEffects(Effects &effects) {
  addAccessEffects(*this, effects);
  addOrderEffects(*this, effects);
}

LogicalResult AtomicRMWOp::verify() {
  auto fragment = cast<RankedTensorType>(getValue().getType());
  if (failed(verifyAtomic(*this, "destination", fragment)) ||
      failed(verifyAtomicElement(*this, fragment.getElementType(), getKind())))
    return failure();
  if (getOld() && getOld().getType() != fragment)
    return emitOpError("the old values have type ")
           << getOld().getType() << ", expected that of the new ones, "
           << fragment;
  return success();
}

namespace {
/// Removes a result without uses.
struct DropOldValues : OpRewritePattern<AtomicRMWOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AtomicRMWOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getOld() || !op.getOld().use_empty())
      return failure();
    AtomicRMWOp::create(rewriter, op.getLoc(), TypeRange(), op->getOperands(),
                        op->getAttrs());
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void AtomicRMWOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<DropOldValues>(context);
}

//===----------------------------------------------------------------------===//
// AtomicCASOp
//===----------------------------------------------------------------------===//

TileRegion AtomicCASOp::getRegion() {
  return getAtomicRegion(*this, getValue());
}

Value AtomicCASOp::getAtomicBuffer() { return getDest(); }

void AtomicCASOp::getAccessRegions(SmallVectorImpl<AccessRegion> &regions) {
  regions.push_back({&getDestMutable(), AccessKind::ReadWrite, getRegion()});
}

void AtomicCASOp::getEffects(Effects &effects) {
  addAccessEffects(*this, effects);
  addOrderEffects(*this, effects);
}

LogicalResult AtomicCASOp::verify() {
  return verifyAtomic(*this, "destination",
                      cast<RankedTensorType>(getValue().getType()));
}

//===----------------------------------------------------------------------===//
// AtomicLoadOp
//===----------------------------------------------------------------------===//

TileRegion AtomicLoadOp::getRegion() {
  return getAtomicRegion(*this, getResult());
}

Value AtomicLoadOp::getAtomicBuffer() { return getSource(); }

void AtomicLoadOp::getAccessRegions(SmallVectorImpl<AccessRegion> &regions) {
  regions.push_back({&getSourceMutable(), AccessKind::ReadWrite, getRegion()});
}

void AtomicLoadOp::getEffects(Effects &effects) {
  addAccessEffects(*this, effects);
  addOrderEffects(*this, effects);
}

LogicalResult AtomicLoadOp::verify() {
  if (failed(verifyAtomic(*this, "source",
                          cast<RankedTensorType>(getResult().getType()))))
    return failure();
  if (cast<AtomicOpInterface>(getOperation()).releases())
    return emitOpError("expected order 'relaxed' or 'acquire', found '")
           << stringifyMemoryOrder(getOrder()) << "': a load releases nothing";
  return success();
}

//===----------------------------------------------------------------------===//
// FenceOp
//===----------------------------------------------------------------------===//

void FenceOp::getEffects(Effects &effects) { addOrderEffects(*this, effects); }

LogicalResult FenceOp::verify() {
  if (getOrder() == MemoryOrder::Relaxed)
    return emitOpError("expected order 'acquire', 'release' or 'acq_rel', "
                       "found 'relaxed', which orders nothing");
  return success();
}
