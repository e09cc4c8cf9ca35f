//===- MemoryAccesses.cpp - Memory accesses of operations -----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether a read is covered by writes is decided with boxes: ranges of elements
// in each dimension. A write at constant offsets is a box; a write at a loop's
// induction variable is a larger box if the loop has a static trip count and
// its iterations leave no gap. A read is covered if cutting the boxes of all
// writes out of its own box leaves nothing. With rows [0, 32) and [32, 64)
// written, all 64 rows are; the first write leaves rows [32, 64), and the
// second nothing. A read at an unknown offset counts as the whole buffer, a
// write at one as nothing.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"

#include "tilews/Dialect/Tile/Analysis/BriefPrinter.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

bool MemoryAccess::mayAlias(const MemoryAccess &other) const {
  if (shared != other.shared)
    return false;
  if (!shared)
    return tile::mayAlias(argument, other.argument);
  return roots.empty() || other.roots.empty() ||
         llvm::any_of(roots, [&](AllocSharedOp root) {
           return other.roots.contains(root);
         });
}

bool MemoryAccess::conflictsWith(const MemoryAccess &other) const {
  if (!(writes() || other.writes()) || !mayAlias(other))
    return false;
  std::optional<AtomicKind> atomic = access.atomic;
  return !atomic || atomic != other.access.atomic ||
         *atomic == AtomicKind::Exchange;
}

AllocSharedOp tile::getViewedAlloc(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  return buffer.getDefiningOp<AllocSharedOp>();
}

std::string MemoryAccess::describeAlias(const MemoryAccess &write) const {
  if (shared)
    return "";
  if (!write.access.operand)
    return ": '" + write.op->getName().getStringRef().str() +
           "' orders all accesses to memory";
  return tile::describeAlias(write.argument, argument);
}

/// Adds what an acquire or a release may order: all global memory.
static void addOrder(Operation *op, SmallVectorImpl<MemoryAccess> &accesses) {
  auto atomic = dyn_cast<AtomicOpInterface>(op);
  if (!atomic || !atomic.orders())
    return;
  AccessKind kind = !atomic.acquires()  ? AccessKind::Read
                    : atomic.releases() ? AccessKind::ReadWrite
                                        : AccessKind::Write;
  accesses.push_back({op,
                      {nullptr, kind, std::nullopt, std::nullopt},
                      /*shared=*/false,
                      {},
                      BlockArgument()});
}

SmallVector<MemoryAccess, 0> MemoryAccesses::get(Operation *op) const {
  SmallVector<MemoryAccess, 0> accesses;
  op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    for (SharedAccess &access : getSharedAccesses(inner))
      accesses.push_back({inner, access, /*shared=*/true,
                          buffers.getRoots(access.operand->get()),
                          BlockArgument()});
    for (SharedAccess &access : getGlobalAccesses(inner))
      accesses.push_back({inner,
                          access,
                          /*shared=*/false,
                          {},
                          getKernelArgument(access.operand->get())});
    addOrder(inner, accesses);
  });
  return accesses;
}

/// Returns whether `buffer` and its views are only accessed, not passed on.
static bool hasOnlyAccesses(Value buffer) {
  SmallVector<Value> buffers = {buffer};
  for (size_t i = 0; i < buffers.size(); ++i)
    for (OpOperand &use : buffers[i].getUses()) {
      Operation *user = use.getOwner();
      if (isa<ViewLikeOpInterface>(user) && user->getNumResults() == 1)
        buffers.push_back(user->getResult(0));
      else if (llvm::none_of(getSharedAccesses(user),
                             [&](const SharedAccess &access) {
                               return access.operand == &use;
                             }))
        return false;
    }
  return true;
}

bool MemoryAccesses::isOnlyAccessed(AllocSharedOp alloc) const {
  auto [it, isNew] = onlyAccessed.try_emplace(alloc);
  if (isNew)
    it->second = hasOnlyAccesses(alloc.getBuffer());
  return it->second;
}

static void printRegion(const TileRegion &region, BriefPrinter &printer) {
  printer << "[";
  llvm::interleaveComma(
      region.offsets, printer.getStream(), [&](OpFoldResult offset) {
        if (std::optional<int64_t> constant = getConstantIntValue(offset))
          printer << *constant;
        else
          printer << cast<Value>(offset);
      });
  printer << "] ";
  llvm::interleave(region.sizes, printer.getStream(), "x");
}

void MemoryAccess::print(BriefPrinter &printer) const {
  printer << (reads() && writes() ? "reads and writes "
              : writes()          ? "writes "
                                  : "reads ")
          << (shared ? "shared " : "global ");
  if (!access.operand) {
    printer << "memory, by its order";
    return;
  }
  Value buffer = access.operand->get();
  printer << buffer;
  if (access.region)
    printRegion(*access.region, printer);
  bool isRoot =
      shared ? roots.size() == 1 && Value(roots.front()->getResult(0)) == buffer
             : argument == buffer;
  if (access.atomic)
    printer << ", atomic " << stringifyAtomicKind(*access.atomic);
  if (isRoot)
    return;
  printer << " of ";
  if (shared && !roots.empty())
    llvm::interleaveComma(roots, printer.getStream(), [&](AllocSharedOp root) {
      printer << root.getBuffer();
    });
  else if (argument)
    printer << argument;
  else
    printer << "unknown memory";
}

void MemoryAccesses::print(raw_ostream &os) const {
  BriefPrinter printer(kernel, os);
  kernel->walk<WalkOrder::PreOrder>([&](Operation *op) {
    SmallVector<MemoryAccess, 0> accesses;
    if (op->getNumRegions() == 0)
      accesses = get(op);
    if (accesses.empty())
      return;
    printer << op << "\n";
    for (const MemoryAccess &access : accesses) {
      printer << "  ";
      access.print(printer);
      printer << "\n";
    }
  });
}

bool tile::onlyReads(Operation *op) {
  if (isMemoryEffectFree(op))
    return true;
  if (op->hasTrait<OpTrait::HasRecursiveMemoryEffects>()) {
    for (mlir::Region &region : op->getRegions())
      for (Operation &inner : region.getOps())
        if (!onlyReads(&inner))
          return false;
    return true;
  }
  return hasSingleEffect<MemoryEffects::Read>(op);
}

//===----------------------------------------------------------------------===//
// Coverage
//===----------------------------------------------------------------------===//

namespace {
/// The elements [begin, end) of a buffer in each dimension.
struct ElementBox {
  SmallVector<int64_t> begin, end;
};
} // namespace

static ElementBox getWhole(MemRefType type) {
  return {SmallVector<int64_t>(type.getRank(), 0),
          SmallVector<int64_t>(type.getShape())};
}

/// Collects the loops from `op` up to `statement`. Returns false if anything
/// else is between the two, or if a loop may have no iteration.
static bool getStaticLoops(Operation *op, Operation *statement,
                           SmallVectorImpl<scf::ForOp> &loops) {
  while (op != statement) {
    op = op->getParentOp();
    auto loop = dyn_cast<scf::ForOp>(op);
    std::optional<llvm::APInt> trips =
        loop ? loop.getStaticTripCount() : std::nullopt;
    if (!trips || trips->isZero())
      return false;
    loops.push_back(loop);
  }
  return true;
}

/// Extends dimension `dim` of `box` to what an access at `offset` touches in
/// all iterations of `loops`. Removes the loop whose induction variable
/// `offset` is.
static bool addDimension(OpFoldResult offset, int64_t size,
                         SmallVectorImpl<scf::ForOp> &loops, unsigned dim,
                         ElementBox &box) {
  if (std::optional<int64_t> constant = getConstantIntValue(offset)) {
    box.begin[dim] = *constant;
    box.end[dim] = *constant + size;
    return true;
  }
  auto *it = llvm::find_if(loops, [&](scf::ForOp loop) {
    return loop.getInductionVar() == dyn_cast<Value>(offset);
  });
  if (it == loops.end())
    return false;
  std::optional<int64_t> lower = getConstantIntValue(it->getLowerBound());
  std::optional<int64_t> step = getConstantIntValue(it->getStep());
  // Iterations must leave no gap.
  if (!lower || !step || *step > size)
    return false;
  int64_t trips = it->getStaticTripCount()->getSExtValue();
  box.begin[dim] = *lower;
  box.end[dim] = *lower + (trips - 1) * *step + size;
  loops.erase(it);
  return true;
}

/// Returns the elements of `alloc` that `write` certainly writes, if they are a
/// box.
static std::optional<ElementBox> getWritten(AllocSharedOp alloc,
                                            const Write &write) {
  const SharedAccess &access = write.access->access;
  SmallVector<scf::ForOp> loops;
  if (!access.region ||
      !getStaticLoops(write.access->op, write.statement, loops))
    return std::nullopt;
  auto type = cast<MemRefType>(access.operand->get().getType());
  ElementBox box = getWhole(type);
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!addDimension(access.region->offsets[dim], access.region->sizes[dim],
                      loops, dim, box))
      return std::nullopt;
  if (access.operand->get() == alloc.getBuffer())
    return box;
  // A view numbers elements differently, but the whole view is the whole
  // buffer.
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (box.begin[dim] > 0 || box.end[dim] < type.getDimSize(dim))
      return std::nullopt;
  return getWhole(alloc.getBuffer().getType());
}

/// Returns a box of all elements of `alloc` that an access may touch.
static ElementBox getTouched(AllocSharedOp alloc,
                             const MemoryAccess &touching) {
  MemRefType type = alloc.getBuffer().getType();
  ElementBox box = getWhole(type);
  const SharedAccess &access = touching.access;
  if (!access.region || access.operand->get() != alloc.getBuffer())
    return box;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (std::optional<int64_t> offset =
            getConstantIntValue(access.region->offsets[dim])) {
      box.begin[dim] = std::max<int64_t>(*offset, 0);
      box.end[dim] =
          std::min(*offset + access.region->sizes[dim], type.getDimSize(dim));
    }
  return box;
}

static bool isEmpty(const ElementBox &box) {
  return llvm::any_of(llvm::zip(box.begin, box.end), [](auto range) {
    return std::get<0>(range) >= std::get<1>(range);
  });
}

static bool overlap(const ElementBox &a, const ElementBox &b) {
  for (unsigned dim = 0; dim < a.begin.size(); ++dim)
    if (a.begin[dim] >= b.end[dim] || b.begin[dim] >= a.end[dim])
      return false;
  return true;
}

/// Returns whether `boxes` cover `box`. Takes the first of them that overlaps
/// `box`, and checks that the others cover each part of `box` below and above
/// it.
static bool covers(ArrayRef<ElementBox> boxes, ElementBox box) {
  if (isEmpty(box))
    return true;
  boxes =
      boxes.drop_while([&](const ElementBox &b) { return !overlap(b, box); });
  if (boxes.empty())
    return false;
  const ElementBox &first = boxes.front();
  for (unsigned dim = 0; dim < box.begin.size(); ++dim) {
    ElementBox below = box, above = box;
    below.end[dim] = std::min(box.end[dim], first.begin[dim]);
    above.begin[dim] = std::max(box.begin[dim], first.end[dim]);
    if (!covers(boxes.drop_front(), below) ||
        !covers(boxes.drop_front(), above))
      return false;
    box.begin[dim] = std::max(box.begin[dim], first.begin[dim]);
    box.end[dim] = std::min(box.end[dim], first.end[dim]);
  }
  return true;
}

bool tile::isCovered(AllocSharedOp alloc, const MemoryAccess &read,
                     ArrayRef<Write> writes) {
  SmallVector<ElementBox> boxes;
  for (const Write &write : writes)
    if (std::optional<ElementBox> box = getWritten(alloc, write))
      boxes.push_back(*box);
  return covers(boxes, getTouched(alloc, read));
}

bool tile::hasReaders(Value buffer) {
  return llvm::any_of(buffer.getUsers(), [&](Operation *user) {
    auto access = dyn_cast<AccessOpInterface>(user);
    // An operation without effects, such as memref.dim, does not.
    if (!access)
      return !isMemoryEffectFree(user) || isa<ViewLikeOpInterface>(user);
    SmallVector<AccessRegion> regions;
    access.getAccessRegions(regions);
    return llvm::any_of(regions, [&](const AccessRegion &region) {
      return region.buffer->get() == buffer && region.reads();
    });
  });
}

bool tile::mayOverlap(AllocSharedOp alloc, const MemoryAccess &a,
                      const MemoryAccess &b) {
  return overlap(getTouched(alloc, a), getTouched(alloc, b));
}
