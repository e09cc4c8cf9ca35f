//===- OverlapProducts.cpp - Products beside arithmetic -------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A turn of an attention loop is a product, arithmetic on its result, and a
// second product of what that gives. Within a turn each needs the one before,
// so that tensor cores and other units of a warpgroup take turns. Here the loop
// is rotated: the second part of a turn, "late", runs in the next turn, beside
// the first part of that one, "early", whose product is started before and
// whose arithmetic is done while the late product runs (Shah et al.,
// "FlashAttention-3", section 3.2).
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Pipeline/RegisterPressure.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace tilews::tile {
#define GEN_PASS_DEF_OVERLAPPRODUCTSPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

static bool isWgmma(GemmOp op) {
  return hasInst(op, InstKind::Wgmma) && !op.getAsync();
}

namespace {
/// A loop whose body is an early and a late part.
class Rotation {
public:
  explicit Rotation(scf::ForOp loop) : loop(loop), body(*loop.getBody()) {}

  /// Whether the loop has two products to overlap, and may be rotated.
  bool find();
  void rewrite(RewriterBase &rewriter);

private:
  bool findProducts();
  bool isLate(Value value);
  bool usesLate(Operation &op);
  void addChannel(GemmOp gemm);
  void closeLate();
  void sinkIntoLate();
  bool mayReorder();
  bool splitLate();
  bool fitsRegisters();
  void findCarried();

  void cloneEarly(OpBuilder &b, IRMapping &mapping, bool behindProduct);
  SmallVector<Value> getYielded(const IRMapping &early, const IRMapping &late);
  scf::ForOp createLoop(OpBuilder &b, const IRMapping &prologue);
  void createTurn(OpBuilder &b, scf::ForOp rotated);
  SmallVector<Value> createEpilogue(OpBuilder &b, ValueRange results);

  scf::ForOp loop;
  Block &body;
  /// The early product; those of the late part.
  GemmOp first;
  SmallVector<GemmOp> second;
  llvm::SmallPtrSet<Operation *, 16> late;
  llvm::SmallPtrSet<Value, 4> lateArgs;
  llvm::SmallPtrSet<Operation *, 2> lateChannels;
  /// The late operations in front of the wait for the late products, and those
  /// behind it.
  SmallVector<Operation *> before, behind;
  /// Values of the early part that the late part uses, one turn later.
  llvm::SetVector<Value> carried;
};
} // namespace

//===----------------------------------------------------------------------===//
// Early and late
//===----------------------------------------------------------------------===//

/// Finds a product of shared buffers that starts from zero, and a later one
/// that multiplies what follows from it and accumulates over the loop.
bool Rotation::findProducts() {
  llvm::SmallPtrSet<Operation *, 16> following;
  for (Operation &op : body.without_terminator()) {
    auto gemm = dyn_cast<GemmOp>(op);
    bool follows = llvm::any_of(op.getOperands(), [&](Value operand) {
      return following.contains(operand.getDefiningOp());
    });
    if (!gemm) {
      // What an operation's regions use counts as used by it.
      op.walk([&](Operation *inner) {
        follows |= llvm::any_of(inner->getOperands(), [&](Value operand) {
          return following.contains(operand.getDefiningOp());
        });
      });
    } else if (!isWgmma(gemm)) {
      return false;
    } else if (!first) {
      if (!gemm.getClearAccumulator() || !isShared(gemm.getLhs()))
        return false;
      first = gemm;
      follows = true;
    } else {
      if (isShared(gemm.getLhs()) ||
          !following.contains(gemm.getLhs().getDefiningOp()))
        return false;
      second.push_back(gemm);
    }
    if (follows)
      following.insert(&op);
  }
  return !second.empty();
}

bool Rotation::isLate(Value value) {
  if (Operation *op = value.getDefiningOp())
    return late.contains(op);
  return lateArgs.contains(value);
}

/// Whether `op` or an operation in it uses a late value or a channel of the
/// late part.
bool Rotation::usesLate(Operation &op) {
  return op
      .walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (isLate(operand) || lateChannels.contains(operand.getDefiningOp()))
            return WalkResult::interrupt();
        if (auto slot = dyn_cast<SlotOp>(inner))
          for (Operation *user : slot.getSource().getUsers())
            if (lateChannels.contains(user))
              return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

/// The channel whose slot a late product reads is waited for with the product,
/// and its cursor advances there.
void Rotation::addChannel(GemmOp gemm) {
  Value buffer = gemm.getRhs();
  while (auto view = buffer.getDefiningOp<ViewOp>())
    buffer = view.getSource();
  auto slot = buffer.getDefiningOp<SlotOp>();
  if (!slot || slot->getBlock() != &body)
    return;
  for (Operation *user : slot.getSource().getUsers())
    if (isa<ChannelOp>(user))
      lateChannels.insert(user);
  Value cursor = slot.getCursor();
  while (auto advance = cursor.getDefiningOp<AdvanceOp>()) {
    late.insert(advance);
    cursor = advance.getCursor();
  }
  if (auto argument = dyn_cast<BlockArgument>(cursor);
      argument && argument.getOwner() == &body)
    lateArgs.insert(argument);
}

/// Whatever follows from the late part is late.
void Rotation::closeLate() {
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation &op : body.without_terminator())
      if (!late.contains(&op) && usesLate(op)) {
        late.insert(&op);
        changed = true;
      }
    for (auto [argument, yielded] :
         llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues()))
      if (isLate(yielded))
        changed |= lateArgs.insert(argument).second;
  }
}

/// What only the late part uses moves there if that carries no more from turn
/// to turn.
void Rotation::sinkIntoLate() {
  auto getBits = [](Value value) -> int64_t {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type ? type.getNumElements() * getStorageBits(type.getElementType())
                : 64;
  };
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (late.contains(&op) || !isMemoryEffectFree(&op) || op.use_empty() ||
        op.getNumRegions() != 0)
      continue;
    bool onlyLate = llvm::all_of(op.getUsers(), [&](Operation *user) {
      return late.contains(body.findAncestorOpInBlock(*user));
    });
    int64_t results = 0, operands = 0;
    for (Value result : op.getResults())
      results += getBits(result);
    for (Value operand : op.getOperands())
      if (!loop.isDefinedOutsideOfLoop(operand))
        operands += getBits(operand);
    if (onlyLate && operands <= results)
      late.insert(&op);
  }
}

/// Whether the parts of different turns may change places: nothing in the loop
/// has an effect but its channels and products.
bool Rotation::mayReorder() {
  for (Operation &op : body.without_terminator())
    if (!isa<WaitOp, ReleaseOp, GemmOp>(op) && !isMemoryEffectFree(&op))
      return false;
  for (auto [argument, yielded] :
       llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues()))
    if (lateArgs.contains(argument) && !isLate(yielded))
      return false;
  // Arithmetic between the products belongs to the early part.
  return !late.contains(first) && llvm::none_of(second, [&](GemmOp gemm) {
    return isLate(gemm.getLhs());
  });
}

/// The late products are waited for where something uses their results or
/// gives back what they read.
bool Rotation::splitLate() {
  for (Operation &op : body.without_terminator()) {
    if (!late.contains(&op))
      continue;
    bool ends = isa<ReleaseOp>(op);
    for (GemmOp gemm : second)
      ends |= llvm::is_contained(gemm.getResult().getUsers(), &op);
    if (ends || !behind.empty())
      behind.push_back(&op);
    else
      before.push_back(&op);
  }
  return llvm::all_of(second, [&](GemmOp gemm) {
    return llvm::is_contained(before, gemm.getOperation());
  });
}

void Rotation::findCarried() {
  auto add = [&](Value value) {
    bool inLoop = value.getParentRegion() == &loop.getRegion();
    if (inLoop && !isLate(value))
      carried.insert(value);
  };
  for (Operation &op : body.without_terminator())
    if (late.contains(&op))
      op.walk(
          [&](Operation *inner) { llvm::for_each(inner->getOperands(), add); });
}

/// Whether the early and the late part fit a thread's registers together.
bool Rotation::fitsRegisters() {
  auto role = loop->getParentOfType<RoleOp>();
  RegisterPressure pressure(role.getNumThreads());
  int64_t added = 0;
  for (Value value : carried)
    added += pressure.count(value);
  return pressure.findPeak(loop.getRegion()) + added <=
         getDonatedLimit(role.getWarps()) - kOtherRegisters;
}

bool Rotation::find() {
  if (loop.getUnsignedCmp() || !findProducts())
    return false;
  for (GemmOp gemm : second) {
    late.insert(gemm);
    addChannel(gemm);
  }
  closeLate();
  if (!mayReorder())
    return false;
  sinkIntoLate();
  findCarried();
  return splitLate() && fitsRegisters();
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Clones the early operations behind the first product, or the others.
void Rotation::cloneEarly(OpBuilder &b, IRMapping &mapping,
                          bool behindProduct) {
  for (Operation &op : body.without_terminator())
    if (!late.contains(&op) && (behindProduct == first->isBeforeInBlock(&op)))
      b.clone(op, mapping);
}

/// What the rotated loop carries: the values of the loop, then those of the
/// early part for the late part.
SmallVector<Value> Rotation::getYielded(const IRMapping &early,
                                        const IRMapping &lateMapping) {
  SmallVector<Value> values;
  for (Value value : loop.getYieldedValues())
    values.push_back(
        (isLate(value) ? lateMapping : early).lookupOrDefault(value));
  for (Value value : carried)
    values.push_back(early.lookup(value));
  return values;
}

scf::ForOp Rotation::createLoop(OpBuilder &b, const IRMapping &prologue) {
  Location loc = loop.getLoc();
  IRMapping none;
  SmallVector<Value> inits = getYielded(prologue, none);
  // No late part has run yet.
  for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs()))
    if (lateArgs.contains(argument))
      inits[i] = loop.getInitArgs()[i];
  Value start =
      arith::AddIOp::create(b, loc, loop.getLowerBound(), loop.getStep());
  auto rotated = scf::ForOp::create(b, loc, start, loop.getUpperBound(),
                                    loop.getStep(), inits);
  rotated->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  return rotated;
}

/// Maps what the late part uses to what the rotated loop carries.
static void mapLate(IRMapping &mapping, Block::BlockArgListType arguments,
                    ArrayRef<Value> carried, ValueRange values) {
  mapping.map(arguments, values.take_front(arguments.size()));
  mapping.map(carried, values.drop_front(arguments.size()));
}

void Rotation::createTurn(OpBuilder &b, scf::ForOp rotated) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(rotated.getBody());
  ValueRange arguments = rotated.getRegionIterArgs();
  IRMapping early, lateMapping;
  early.map(loop.getInductionVar(), rotated.getInductionVar());
  early.map(loop.getRegionIterArgs(),
            arguments.take_front(loop.getNumRegionIterArgs()));
  mapLate(lateMapping, loop.getRegionIterArgs(), carried.getArrayRef(),
          arguments);

  auto start = [&](GemmOp gemm, const IRMapping &mapping) {
    auto clone = mapping.lookup(gemm.getResult()).getDefiningOp<GemmOp>();
    clone.setAsync(true);
    return clone;
  };
  cloneEarly(b, early, /*behindProduct=*/false);
  GemmOp started = start(first, early);
  for (Operation *op : before)
    b.clone(*op, lateMapping);
  auto firstDone =
      GemmWaitOp::create(b, first.getLoc(), started.getResult().getType(),
                         started.getResult(), second.size());
  early.map(first.getResult(), firstDone.getResult(0));
  cloneEarly(b, early, /*behindProduct=*/true);

  // Their left operands are registers, which stay as they are until then.
  SmallVector<Value> running;
  for (GemmOp gemm : second)
    running.push_back(start(gemm, lateMapping).getResult());
  for (GemmOp gemm : second)
    if (Value lhs = lateMapping.lookupOrDefault(gemm.getLhs());
        !llvm::is_contained(running, lhs))
      running.push_back(lhs);
  auto done = GemmWaitOp::create(b, second.back().getLoc(),
                                 TypeRange(ValueRange(running)), running,
                                 /*pending=*/0);
  for (auto [gemm, result] : llvm::zip(second, done.getResults()))
    lateMapping.map(gemm.getResult(), result);
  for (Operation *op : behind)
    b.clone(*op, lateMapping);
  scf::YieldOp::create(b, loop.getLoc(), getYielded(early, lateMapping));
}

/// The late part of the last turn; returns the results of the loop.
SmallVector<Value> Rotation::createEpilogue(OpBuilder &b, ValueRange results) {
  IRMapping mapping;
  mapLate(mapping, loop.getRegionIterArgs(), carried.getArrayRef(), results);
  for (Operation *op : before)
    b.clone(*op, mapping);
  for (Operation *op : behind)
    b.clone(*op, mapping);
  SmallVector<Value> values(results.take_front(loop.getNumResults()));
  for (auto [i, yielded] : llvm::enumerate(loop.getYieldedValues()))
    if (isLate(yielded))
      values[i] = mapping.lookup(yielded);
  return values;
}

void Rotation::rewrite(RewriterBase &rewriter) {
  Location loc = loop.getLoc();
  rewriter.setInsertionPoint(loop);
  Value any = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt,
                                    loop.getLowerBound(), loop.getUpperBound());
  auto create = [&](OpBuilder &b, Location loc) {
    IRMapping prologue;
    prologue.map(loop.getInductionVar(), loop.getLowerBound());
    prologue.map(loop.getRegionIterArgs(), loop.getInitArgs());
    cloneEarly(b, prologue, /*behindProduct=*/false);
    cloneEarly(b, prologue, /*behindProduct=*/true);
    scf::ForOp rotated = createLoop(b, prologue);
    createTurn(b, rotated);
    scf::YieldOp::create(b, loc, createEpilogue(b, rotated.getResults()));
  };
  auto guarded = scf::IfOp::create(
      rewriter, loc, any, create, [&](OpBuilder &b, Location loc) {
        scf::YieldOp::create(b, loc, loop.getInitArgs());
      });
  rewriter.replaceOp(loop, guarded.getResults());
}

void tile::overlapProducts(gpu::GPUFuncOp kernel) {
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) {
    if (loop->getParentOfType<RoleOp>())
      loops.push_back(loop);
  });
  IRRewriter rewriter(kernel.getContext());
  for (scf::ForOp loop : loops)
    if (Rotation rotation(loop); rotation.find())
      rotation.rewrite(rewriter);
}

namespace {
struct OverlapProductsPass
    : tile::impl::OverlapProductsPassBase<OverlapProductsPass> {
  void runOnOperation() override {
    getOperation()->walk(
        [](gpu::GPUFuncOp kernel) { overlapProducts(kernel); });
  }
};
} // namespace
