//===- LayoutRemarks.cpp - Remarks on chosen layouts ----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Remarks about finished layouts. Conversions that move elements between
// threads are reported once for each operation that requires them, with both
// reasons. Accesses are checked with the same functions that estimate costs: a
// degree of bank conflicts above one, or a vector narrower than the region
// allows, is reported. The reason for a buffer's layout is found afterwards
// from its users, in the order in which BufferLayouts considers them.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Layout/LayoutRemarks.h"

#include "tilews/Dialect/Tile/Analysis/Layout/ConversionPlan.h"
#include "tilews/Dialect/Tile/Analysis/Layout/LayoutRules.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// Explanation
//===----------------------------------------------------------------------===//

static void explainValue(Value value, const LayoutInference &inference) {
  if (!isFragment(value))
    return;
  std::optional<LayoutCandidate> choice = inference.getChoice(value);
  if (!choice) {
    emitRemark(value.getLoc(), "fragment is made in each layout it is used in");
    return;
  }
  InFlightDiagnostic diag = emitRemark(value.getLoc());
  diag << "layout " << choice->layout << ": " << describe(choice->reason);
  if (choice->via)
    diag << ", through '" << choice->via->getName() << "'";
  if (unsigned count = inference.getNumCandidates(value); count > 1)
    diag << "; cheapest of " << count << " candidates";
  if (Operation *op = choice->reason.op; op != getMaker(value))
    diag.attachNote(op->getLoc()) << "required by this operation";
}

void tile::explainLayouts(gpu::GPUFuncOp kernel,
                          const LayoutInference &inference) {
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults())
      explainValue(result, inference);
    for (mlir::Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          explainValue(argument, inference);
  });
}

/// Returns an operation that requires `layout` for `buffer`; null if none does.
static Operation *findReader(Value buffer, SharedLayoutAttr layout,
                             const TargetInfo &target) {
  for (Operation *user : buffer.getUsers()) {
    auto op = dyn_cast<LayoutOpInterface>(user);
    if (!op)
      continue;
    SmallVector<LayoutRequirement> requirements;
    op.getLayoutRequirements(target, getNumThreads(user), requirements);
    for (const LayoutRequirement &requirement : requirements)
      if (requirement.getValue() == buffer && requirement.layout == layout)
        return user;
  }
  return nullptr;
}

void tile::explainLayouts(ArrayRef<std::pair<Value, SharedLayoutAttr>> buffers,
                          const TargetInfo &target) {
  for (auto [buffer, layout] : buffers) {
    InFlightDiagnostic diag = emitRemark(buffer.getLoc());
    diag << "layout " << layout << ": ";
    auto isView = [](Operation *user) {
      return isa<ViewLikeOpInterface>(user);
    };
    if (isa<SharedLayoutAttr>(cast<MemRefType>(buffer.getType()).getLayout())) {
      diag << "given by the type of the buffer";
    } else if (Operation *op = findReader(buffer, layout, target)) {
      diag << "required by '" << op->getName() << "'";
      diag.attachNote(op->getLoc()) << "required by this operation";
    } else if (!buffer.getDefiningOp<AllocSharedOp>()) {
      diag << "the buffer is a view and places the bytes of its source";
    } else if (layout.getLayout().isRowMajor()) {
      diag << "default layout";
    } else if (llvm::any_of(buffer.getUsers(), isView)) {
      diag << "required by a view of the buffer";
    } else {
      diag << "fewest bank conflicts of accesses";
    }
  }
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

static void remarkConversion(const InsertedConversion &conversion,
                             const ConversionPlan &plan) {
  ConvertLayoutOp op = conversion.op;
  InFlightDiagnostic diag = emitRemark(conversion.user->getLoc());
  auto type = cast<RankedTensorType>(op.getType());
  diag << "tile-layout-0001: a fragment of type "
       << RankedTensorType::get(type.getShape(), type.getElementType());
  if (plan.kind == ConversionKind::Shuffles)
    diag << " is exchanged between the lanes of each warp, to have ";
  else
    diag << " goes through " << plan.scratchBytes
         << " bytes of shared memory, to have ";
  diag << type.getEncoding() << ": " << describe(conversion.to);
  diag.attachNote(conversion.from.op->getLoc())
      << "the fragment has layout "
      << cast<RankedTensorType>(op.getSource().getType()).getEncoding() << ": "
      << describe(conversion.from);
  if (conversion.to.op != conversion.user)
    diag.attachNote(conversion.to.op->getLoc())
        << "the other layout is required by this operation";
}

void tile::remarkConversions(ArrayRef<InsertedConversion> conversions,
                             const TargetInfo &target) {
  llvm::DenseSet<Operation *> seen;
  for (const InsertedConversion &conversion : conversions) {
    // A conversion before a store makes the kernel faster.
    if (conversion.to.kind == LayoutReason::Kind::Store)
      continue;
    ConversionPlan plan = planConversion(conversion.op, target);
    if (plan.kind != ConversionKind::Registers &&
        seen.insert(conversion.user).second)
      remarkConversion(conversion, plan);
  }
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// Emits a remark if bank conflicts slow down an access. Returns whether they
/// do.
static bool remarkBanks(const FragmentAccess &access,
                        const FragmentLayout &layout,
                        const TargetInfo &target) {
  auto type = cast<MemRefType>(access.getBuffer().getType());
  if (!isShared(type))
    return false;
  BankConflicts conflicts =
      access.getBankConflicts(layout, getSharedLayout(type), target);
  if (conflicts.degree <= 1)
    return false;
  emitRemark(access.getOp()->getLoc())
      << "tile-layout-0002: " << conflicts.degree
      << "-way bank conflicts in shared memory: threads "
      << conflicts.clash->first << " and " << conflicts.clash->second
      << " access different words of one bank; give the buffer a swizzled or "
         "padded layout, or the fragment another one";
  return true;
}

/// Emits a remark if an access is narrower than its region allows.
static void remarkWidth(const FragmentAccess &access,
                        const FragmentLayout &layout,
                        const TargetInfo &target) {
  auto type = cast<MemRefType>(access.getBuffer().getType());
  std::optional<SharedLayout> shared;
  if (isShared(type))
    shared = getSharedLayout(type);
  if (shared && access.getMatrices(layout, *shared, target))
    return;
  int64_t vector =
      access.getVectorElements(layout, shared ? &*shared : nullptr);
  int64_t allowed = access.getMaxVector();
  // Small fragments have shorter vectors, so that every thread has some.
  if (isa<AtomicOpInterface>(access.getOp()) || vector >= allowed ||
      access.getType().getNumElements() < allowed * layout.getNumThreads())
    return;
  emitRemark(access.getOp()->getLoc())
      << "tile-layout-0003: accesses " << vector * access.getBits() / 8
      << " bytes at a time, its region allows "
      << allowed * access.getBits() / 8
      << "; a thread has no more neighbouring elements in "
      << FragmentAttr::get(access.getOp()->getContext(), layout);
}

void tile::remarkAccesses(gpu::GPUFuncOp kernel, const TargetInfo &target) {
  Divisibility divisibility;
  kernel.walk([&](Operation *op) {
    if (auto access = FragmentAccess::get(op, divisibility)) {
      FragmentLayout layout = getFragmentLayout(access->getType());
      // Nobody knows the banks of elements at indices.
      if (isa<IndexedOpInterface>(op) || !remarkBanks(*access, layout, target))
        remarkWidth(*access, layout, target);
      return;
    }
    auto copy = dyn_cast<CopyOp>(op);
    if (!copy)
      return;
    SmallVector<AccessRegion> regions;
    copy.getAccessRegions(regions);
    FragmentLayout layout = getCopyLayout(
        copy, getNumThreads(copy), divisibility.getVectorElements(regions[0]),
        divisibility.getVectorElements(regions[1]));
    for (const FragmentAccess &access :
         FragmentAccess::getSides(copy, divisibility))
      if (remarkBanks(access, layout, target))
        return;
  });
}
