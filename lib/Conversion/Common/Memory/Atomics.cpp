//===- Atomics.cpp - Atomic accesses and fences ---------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each element of an atomic access is accessed by one thread, the first of
// those that hold it. Its value reaches the others through scratch memory:
//
//   tile.atomic_rmw <add> of tensor<i32>, which all 128 threads hold
//     thread 0:  old = atomicrmw add;  scratch = old
//     barrier
//     all:       old = scratch
//
// The order of LLVM's atomics is that of one thread. For the order of the block
// `--tile-insert-barriers` has put barriers between the access and those of
// other threads before and after it: a barrier and a release are cumulative
// (PTX ISA, "Causality Order"; "Memory Model for AMDGPU" in LLVM's guide).
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "convert-tile"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {

/// Returns the first register of a thread that holds the element of register
/// `value`: that with the digits of replicas set to zero.
int64_t getOriginal(const FragmentLayout &layout, int64_t value) {
  int64_t original = value, rest = value, step = 1;
  for (const Mode &mode : layout.getValueModes()) {
    if (mode.stride == 0)
      original -= rest % mode.extent * step;
    rest /= mode.extent;
    step *= mode.extent;
  }
  return original;
}

LLVM::AtomicOrdering getOrdering(MemoryOrder order) {
  switch (order) {
  case MemoryOrder::Relaxed:
    return LLVM::AtomicOrdering::monotonic;
  case MemoryOrder::Acquire:
    return LLVM::AtomicOrdering::acquire;
  case MemoryOrder::Release:
    return LLVM::AtomicOrdering::release;
  case MemoryOrder::AcqRel:
    return LLVM::AtomicOrdering::acq_rel;
  }
  llvm_unreachable("covered switch");
}

LLVM::AtomicBinOp getBinOp(AtomicKind kind, Type type) {
  bool isFloat = isa<FloatType>(type);
  switch (kind) {
  case AtomicKind::Add:
    return isFloat ? LLVM::AtomicBinOp::fadd : LLVM::AtomicBinOp::add;
  case AtomicKind::Max:
    return isFloat ? LLVM::AtomicBinOp::fmax : LLVM::AtomicBinOp::max;
  case AtomicKind::Min:
    return isFloat ? LLVM::AtomicBinOp::fmin : LLVM::AtomicBinOp::min;
  case AtomicKind::And:
    return LLVM::AtomicBinOp::_and;
  case AtomicKind::Or:
    return LLVM::AtomicBinOp::_or;
  case AtomicKind::Xor:
    return LLVM::AtomicBinOp::_xor;
  case AtomicKind::Exchange:
    return LLVM::AtomicBinOp::xchg;
  case AtomicKind::UMax:
    return LLVM::AtomicBinOp::umax;
  case AtomicKind::UMin:
    return LLVM::AtomicBinOp::umin;
  }
  llvm_unreachable("covered switch");
}

/// Emits what one atomic operation does to each of its elements.
template <typename OpT>
struct AtomicPattern : TilePattern<OpT> {
  using TilePattern<OpT>::TilePattern;
  using Adaptor = typename OpT::Adaptor;
  /// Emits the access to an element at `address`; returns the value read.
  using EmitFn = function_ref<Value(ImplicitLocOpBuilder &b, Value address,
                                    int64_t number)>;

  /// Replaces `op` by accesses to the elements of `fragment`, the type of its
  /// values and result.
  LogicalResult rewrite(OpT op, Adaptor adaptor, Value buffer,
                        RankedTensorType fragment,
                        ConversionPatternRewriter &rewriter, EmitFn emit,
                        ElementPlacement placement = {}) const {
    auto type = cast<MemRefType>(op.getAtomicBuffer().getType());
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value threadId = this->getThreadId(b, op);
    FragmentLayout layout = getFragmentLayout(fragment);
    FragmentIndexer indexer(b, layout, fragment.getShape(), threadId);
    RegionAccess access = this->getAccess(b, op, adaptor, type, buffer, indexer,
                                          std::move(placement));
    Value owner = getOwnerPredicate(b, layout, threadId);
    bool hasResult = !op->use_empty();
    LDBG() << (hasResult ? "with" : "without") << " a result: " << *op;
    if (!hasResult) {
      update(b, access, indexer, owner, emit);
      if (op->getNumResults() > 0)
        rewriter.replaceOp(op, createZero(b, fragment));
      else
        rewriter.eraseOp(op);
      return success();
    }
    Type element = getElement(fragment);
    Value result =
        pack(b, element, read(b, access, indexer, owner, element, emit));
    if (layout.isShared()) {
      auto offset =
          op->template getAttrOfType<IntegerAttr>(TileDialect::kOffset);
      if (!offset)
        return op.emitError("needs scratch memory; run "
                            "--tile-plan-shared-memory first");
      result = share(b, op, fragment, threadId, offset.getInt(), result);
    }
    rewriter.replaceOp(op, result);
    return success();
  }

  /// The same for a read-modify-write. Where these have no order, fences give
  /// it (PTX ISA, "Release and Acquire Patterns").
  LogicalResult rewriteUpdate(OpT op, Adaptor adaptor,
                              ConversionPatternRewriter &rewriter, EmitFn emit,
                              ElementPlacement placement = {}) const {
    auto fragment = cast<RankedTensorType>(op.getValue().getType());
    return rewrite(op, adaptor, adaptor.getDest(), fragment, rewriter, emit,
                   std::move(placement));
  }

  AtomicOpInterface getAtomic(OpT op) const {
    return cast<AtomicOpInterface>(op.getOperation());
  }
  StringRef getScope(OpT op) const {
    return this->getTarget().getSyncScope(getAtomic(op).getEffectiveScope());
  }
  /// Returns the order of the instruction itself.
  LLVM::AtomicOrdering getUpdateOrdering(OpT op) const {
    return this->getTarget().hasOrderedUpdates()
               ? getOrdering(op.getOrder())
               : LLVM::AtomicOrdering::monotonic;
  }
  /// Returns `value` with the bits that it has, as another type.
  static Value castBits(ImplicitLocOpBuilder &b, Value value, Type type) {
    if (value.getType() == type)
      return value;
    return LLVM::BitcastOp::create(b, type, value);
  }
  /// Calls `emit` between the fences that the instruction needs.
  Value emitFenced(ImplicitLocOpBuilder &b, OpT op,
                   function_ref<Value()> emit) const {
    bool fences = !this->getTarget().hasOrderedUpdates();
    if (fences && getAtomic(op).releases())
      LLVM::FenceOp::create(b, LLVM::AtomicOrdering::release, getScope(op));
    Value result = emit();
    if (fences && getAtomic(op).acquires())
      LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acquire, getScope(op));
    return result;
  }

private:
  Type getElement(RankedTensorType fragment) const {
    return this->getTypeConverter()->convertType(fragment.getElementType());
  }
  Value createZero(ImplicitLocOpBuilder &b, RankedTensorType fragment) const {
    Type type = this->getTypeConverter()->convertType(fragment);
    return arith::ConstantOp::create(b, b.getZeroAttr(type));
  }

  /// Accesses the elements of each thread, without a result.
  void update(ImplicitLocOpBuilder &b, RegionAccess &access,
              const FragmentIndexer &indexer, Value owner, EmitFn emit) const {
    createGuarded(b, owner, [&] {
      createVersions(b, access, [&](bool masked) {
        for (int64_t v = 0; v < indexer.getNumValues(); ++v) {
          if (getOriginal(indexer.getLayout(), v) != v)
            continue;
          if (access.hasBounds()) {
            emit(b, access.getBoundedAddress(v, /*withMask=*/true), v);
            continue;
          }
          Value address = access.getAddress(v);
          Value mask = masked ? access.getMask(v) : Value();
          createGuarded(b, mask, [&] { emit(b, address, v); });
        }
      });
    });
  }

  /// Accesses the elements of each thread that owns them, and returns the
  /// values read: zero where the thread accesses nothing.
  SmallVector<Value> read(ImplicitLocOpBuilder &b, RegionAccess &access,
                          const FragmentIndexer &indexer, Value owner,
                          Type element, EmitFn emit) const {
    SmallVector<Value> values;
    for (int64_t v = 0; v < indexer.getNumValues(); ++v) {
      int64_t original = getOriginal(indexer.getLayout(), v);
      if (original != v) {
        values.push_back(values[original]);
        continue;
      }
      bool bounded = access.hasBounds();
      Value address = bounded ? access.getBoundedAddress(v, /*withMask=*/true)
                              : access.getAddress(v);
      Value mask;
      if (!bounded && !access.isAlwaysInside())
        mask = access.getMask(v);
      if (mask && owner)
        mask = arith::AndIOp::create(b, owner, mask);
      else if (owner)
        mask = owner;
      values.push_back(
          mask ? readIf(b, mask, element, [&] { return emit(b, address, v); })
               : emit(b, address, v));
    }
    return values;
  }

  static Value readIf(ImplicitLocOpBuilder &b, Value condition, Type element,
                      function_ref<Value()> emit) {
    auto choice = scf::IfOp::create(b, element, condition,
                                    /*addThenBlock=*/true,
                                    /*addElseBlock=*/true);
    OpBuilder::InsertionGuard restore(b);
    b.setInsertionPointToStart(choice.thenBlock());
    scf::YieldOp::create(b, emit());
    b.setInsertionPointToStart(choice.elseBlock());
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(element));
    scf::YieldOp::create(b, zero);
    return choice.getResult(0);
  }

  /// Passes the values of the threads that own elements on to all threads,
  /// through scratch memory at `offset`.
  Value share(ImplicitLocOpBuilder &b, OpT op, RankedTensorType fragment,
              Value threadId, int64_t offset, Value values) const {
    FragmentLayout layout = getFragmentLayout(fragment);
    SmallVector<int64_t> cover = layout.getCover(fragment.getRank());
    auto type = MemRefType::get(
        cover, getElement(fragment), MemRefLayoutAttrInterface(),
        gpu::AddressSpaceAttr::get(b.getContext(),
                                   gpu::AddressSpace::Workgroup));
    FragmentIndexer indexer(b, layout, cover, threadId);
    RegionAccess access(b, type, createArenaPointer(b, offset),
                        SmallVector<SplitOffset>(cover.size()), cover,
                        /*maxVector=*/1, indexer);
    access.assumeInside();
    createGuarded(b, getOwnerPredicate(b, layout, threadId), [&] {
      access.enterBlock();
      storeFragment(b, access, indexer, values);
    });
    this->emitBarrier(b, op);
    return loadFragment(b, access, indexer, type.getElementType(), Value());
  }
};

/// A read-modify-write of a region, or of elements at indices.
template <typename OpT>
struct UpdatePattern : AtomicPattern<OpT> {
  using AtomicPattern<OpT>::AtomicPattern;

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type element = getElementType(op.getValue());
    ImplicitLocOpBuilder start(op.getLoc(), rewriter);
    SmallVector<Value> registers = unpack(start, adaptor.getValue());
    bool isStore = op.getKind() == AtomicKind::Exchange && op->use_empty() &&
                   !this->getAtomic(op).acquires();
    auto emit = [&](ImplicitLocOpBuilder &b, Value address, int64_t v) {
      if (isStore) {
        LLVM::StoreOp::create(b, registers[v], address,
                              getElementBits(element) / 8,
                              /*isVolatile=*/false, /*isNonTemporal=*/false,
                              /*isInvariantGroup=*/false,
                              getOrdering(op.getOrder()), this->getScope(op));
        return Value();
      }
      return this->emitFenced(b, op, [&]() -> Value {
        Value old;
        if (this->getAtomic(op).getEffectiveScope() == MemoryScope::System)
          old = this->getTarget().emitSystemUpdate(b, op.getKind(), address,
                                                   registers[v]);
        if (old)
          return old;
        Value value = registers[v];
        // Not all back ends exchange floating point.
        if (op.getKind() == AtomicKind::Exchange)
          value = this->castBits(b, value,
                                 b.getIntegerType(getElementBits(element)));
        old = LLVM::AtomicRMWOp::create(
            b, getBinOp(op.getKind(), element), address, value,
            this->getUpdateOrdering(op), this->getScope(op));
        return this->castBits(b, old, registers[v].getType());
      });
    };
    ElementPlacement placement;
    if (auto indexed = dyn_cast<IndexedOpInterface>(op.getOperation())) {
      FailureOr<ElementPlacement> found =
          getPlacement(start, indexed, adaptor.getOperands());
      if (failed(found))
        return failure();
      placement = std::move(*found);
    }
    return this->rewriteUpdate(op, adaptor, rewriter, emit,
                               std::move(placement));
  }
};

struct AtomicCASPattern : AtomicPattern<AtomicCASOp> {
  using AtomicPattern::AtomicPattern;

  LogicalResult
  matchAndRewrite(AtomicCASOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder start(op.getLoc(), rewriter);
    SmallVector<Value> expected = unpack(start, adaptor.getExpected());
    SmallVector<Value> registers = unpack(start, adaptor.getValue());
    LLVM::AtomicOrdering ordering = getUpdateOrdering(op);
    // A comparison that fails stores nothing that could release.
    bool acquires = ordering == LLVM::AtomicOrdering::acquire ||
                    ordering == LLVM::AtomicOrdering::acq_rel;
    LLVM::AtomicOrdering failing = acquires ? LLVM::AtomicOrdering::acquire
                                            : LLVM::AtomicOrdering::monotonic;
    auto emit = [&](ImplicitLocOpBuilder &b, Value address, int64_t v) {
      Type element = registers[v].getType();
      Type bits = b.getIntegerType(element.getIntOrFloatBitWidth());
      return emitFenced(b, op, [&] {
        Value pair = LLVM::AtomicCmpXchgOp::create(
            b, address, castBits(b, expected[v], bits),
            castBits(b, registers[v], bits), ordering, failing, getScope(op));
        return castBits(b, LLVM::ExtractValueOp::create(b, pair, 0), element);
      });
    };
    return rewriteUpdate(op, adaptor, rewriter, emit);
  }
};

struct AtomicLoadPattern : AtomicPattern<AtomicLoadOp> {
  using AtomicPattern::AtomicPattern;

  LogicalResult
  matchAndRewrite(AtomicLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto fragment = cast<RankedTensorType>(op.getResult().getType());
    Type element = getTypeConverter()->convertType(fragment.getElementType());
    auto emit = [&](ImplicitLocOpBuilder &b, Value address, int64_t) -> Value {
      // A bool is a byte in memory.
      Type memory = element.isInteger(1) ? b.getI8Type() : element;
      Value value = LLVM::LoadOp::create(
          b, memory, address, memory.getIntOrFloatBitWidth() / 8,
          /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariant=*/false,
          /*isInvariantGroup=*/false, getOrdering(op.getOrder()), getScope(op));
      return memory == element
                 ? value
                 : arith::TruncIOp::create(b, element, value).getResult();
    };
    return rewrite(op, adaptor, adaptor.getSource(), fragment, rewriter, emit);
  }
};

struct FencePattern : TilePattern<FenceOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(FenceOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    StringRef scope = getTarget().getSyncScope(
        cast<AtomicOpInterface>(op.getOperation()).getEffectiveScope());
    rewriter.replaceOpWithNewOp<LLVM::FenceOp>(op, getOrdering(op.getOrder()),
                                               scope);
    return success();
  }
};

} // namespace

void tilews::populateAtomicPatterns(const TileTypeConverter &converter,
                                    LoweringContext &lowering,
                                    RewritePatternSet &patterns) {
  patterns.add<UpdatePattern<AtomicRMWOp>, UpdatePattern<AtomicScatterOp>,
               AtomicCASPattern, AtomicLoadPattern, FencePattern>(converter,
                                                                  lowering);
}
