//===- BufferLayouts.cpp - Layouts of a kernel's shared buffers -----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A buffer and its views form a group. Each demand of a type or an instruction
// on a member is translated into a layout of the buffer. It goes backward
// through views, which place the same bytes, and through slots and subviews,
// which are one version or part of the buffer. The translated layouts are tried
// in order of strength, and after them narrower panels. One fits if it gives
// every view a layout, and if every operation that has requirements accepts the
// layout of its operand. Row-major comes last; if even that does not fit, the
// error shows what stood against the strongest demand.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Layout/BufferLayouts.h"

#include "tilews/Dialect/Tile/Analysis/BriefPrinter.h"
#include "tilews/Layout/PartLayout.h"
#include "tilews/Layout/SwizzledLayout.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using llvm::Expected;

static MemRefType getMemRef(Value value) {
  return cast<MemRefType>(value.getType());
}
static int64_t getBits(Value value) {
  return getStorageBits(getMemRef(value).getElementType());
}
/// Returns whether the instruction accesses shared memory by itself, so that it
/// supports few layouts.
static bool isParticular(Operation *op) {
  auto inst = op->getAttrOfType<InstKindAttr>(TileDialect::kInst);
  return inst &&
         llvm::is_contained({InstKind::Wgmma, InstKind::Tma}, inst.getValue());
}

/// Returns the panels with the widest swizzle, of at least `leastSpan` bytes,
/// that divide a row.
static std::optional<SharedLayout> getWidestPanels(Value buffer,
                                                   int64_t leastSpan) {
  ArrayRef<int64_t> shape = getMemRef(buffer).getShape();
  int64_t rowBits = shape.back() * getBits(buffer);
  for (int64_t span : {128, 64, 32, 16})
    if (span >= leastSpan && rowBits % (span * 8) == 0)
      return SharedLayout::getPanels(shape, getBits(buffer), span);
  return std::nullopt;
}

BufferLayouts::BufferLayouts(gpu::GPUFuncOp kernel, const TargetInfo &target,
                             const LayoutInference &fragments)
    : kernel(kernel), target(target), fragments(fragments) {}

LogicalResult BufferLayouts::run() {
  kernel.walk([&](LayoutOpInterface op) {
    SmallVector<LayoutRequirement> requirements;
    op.getLayoutRequirements(target, getNumThreads(op), requirements);
    for (const LayoutRequirement &requirement : requirements)
      if (isa<SharedLayoutAttr>(requirement.layout))
        required[requirement.getValue()].push_back(requirement);
  });
  WalkResult result = kernel.walk([&](AllocSharedOp alloc) {
    return failed(choose(collect(alloc))) ? WalkResult::interrupt()
                                          : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Demands
//===----------------------------------------------------------------------===//

/// Returns whether an operation can access elements in any layout.
static bool takesAnyLayout(Operation *op) {
  return isa<AccessOpInterface, ChannelOp, memref::LoadOp, memref::StoreOp,
             memref::DimOp, memref::AtomicRMWOp>(op);
}

/// Returns whether the result of an operation is a view of its first operand.
static bool isView(Operation *op) { return isa<ViewOp, SlotOp, SubviewOp>(op); }

/// Returns the layout of a view of a buffer with `layout`, or why it has none.
static Expected<SharedLayout> getLayoutOfView(Operation *view,
                                              const SharedLayout &layout) {
  Value source = view->getOperand(0), result = view->getResult(0);
  if (isa<SlotOp>(view))
    return getSlotLayout(layout, getBits(source));
  if (auto part = dyn_cast<SubviewOp>(view))
    return getPartLayout(layout, part.getSizes(), getBits(source));
  if (auto own = layout.view(getMemRef(result).getShape(), getBits(source),
                             getBits(result)))
    return *own;
  return makeLayoutError("no layout of its type places the same bytes");
}

/// Returns the layout of the buffer with which `value`, a view of it, has
/// `layout`; none if there is none.
static std::optional<SharedLayout> getLayoutOfBuffer(Value value,
                                                     SharedLayout layout) {
  for (Operation *view = value.getDefiningOp(); view && isView(view);
       view = value.getDefiningOp()) {
    Value source = view->getOperand(0);
    ArrayRef<int64_t> shape = getMemRef(source).getShape();
    std::optional<SharedLayout> outer;
    if (isa<SlotOp>(view))
      outer = llvm::expectedToOptional(
          expand(layout, shape.front(), getBits(source)));
    else if (auto part = dyn_cast<SubviewOp>(view))
      outer = llvm::expectedToOptional(
          repeatPart(layout, shape, part.getSizes(), getBits(source)));
    else
      outer = layout.view(shape, getBits(value), getBits(source));
    if (!outer)
      return std::nullopt;
    layout = *outer;
    value = source;
  }
  return layout;
}

BufferLayouts::Group BufferLayouts::collect(AllocSharedOp alloc) {
  Group group;
  group.alloc = alloc;
  group.values = {alloc.getBuffer()};
  for (size_t i = 0; i < group.values.size(); ++i)
    for (Operation *user : group.values[i].getUsers()) {
      if (isView(user))
        group.values.push_back(user->getResult(0));
      else if (!takesAnyLayout(user))
        group.isOpaque = true;
    }
  collectDemands(group);
  return group;
}

/// Collects the demands: first types, then instructions that support few
/// layouts, then those that support all.
void BufferLayouts::collectDemands(Group &group) {
  for (Value value : group.values)
    if (isa<SharedLayoutAttr>(getMemRef(value).getLayout()))
      group.demands.push_back({value.getDefiningOp(), value,
                               getSharedLayout(getMemRef(value)),
                               /*isType=*/true});
  for (bool particular : {true, false})
    for (Value value : group.values)
      for (const LayoutRequirement &requirement : required.lookup(value)) {
        Operation *op = cast<OpOperand *>(requirement.place)->getOwner();
        if (isParticular(op) == particular)
          group.demands.push_back(
              {op, value,
               cast<SharedLayoutAttr>(requirement.layout).getLayout(),
               /*isType=*/false});
      }
}

/// Returns why the value with this index cannot have `layout`, if so.
std::optional<BufferLayouts::Misfit>
BufferLayouts::findUnmet(const Group &group, size_t index,
                         const SharedLayout &layout) {
  Value value = group.values[index];
  for (const BufferDemand &demand : group.demands)
    if (demand.isType && demand.value == value && !(demand.layout == layout))
      return Misfit{demand.op, "the buffer's type has another layout",
                    demand.layout};
  for (OpOperand &use : value.getUses()) {
    auto op = dyn_cast<LayoutOpInterface>(use.getOwner());
    if (!op)
      continue;
    llvm::Error error =
        op.checkSharedLayout(target, getNumThreads(op), use, layout);
    if (!error)
      continue;
    Misfit misfit = {op, llvm::toString(std::move(error)), std::nullopt};
    for (const BufferDemand &demand : group.demands)
      if (demand.op == op && demand.value == value &&
          !(demand.layout == layout))
        misfit.wanted = demand.layout;
    return misfit;
  }
  return std::nullopt;
}

/// Returns why the buffer cannot have `layout`, if so. Otherwise sets
/// `assignment` to the layouts of the buffer and its views.
std::optional<BufferLayouts::Misfit>
BufferLayouts::findMisfit(const Group &group, const SharedLayout &layout,
                          Assignment &assignment) {
  assignment = {layout};
  for (Value value : ArrayRef(group.values).drop_front()) {
    Operation *view = value.getDefiningOp();
    size_t source =
        llvm::find(group.values, view->getOperand(0)) - group.values.begin();
    Expected<SharedLayout> own = getLayoutOfView(view, assignment[source]);
    if (!own)
      return Misfit{view, llvm::toString(own.takeError()), std::nullopt};
    assignment.push_back(*own);
  }
  for (size_t i = 0; i < group.values.size(); ++i)
    if (std::optional<Misfit> unmet = findUnmet(group, i, assignment[i]))
      return unmet;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// Returns whether the lanes of a warp access several rows in pieces of less
/// than 16 bytes. In row-major order such pieces tend to fall into the same
/// banks.
bool BufferLayouts::isScattered(Value buffer) {
  auto isBad = [&](Value fragment) {
    FragmentAttr attr = fragments.getLayout(fragment);
    auto type = cast<RankedTensorType>(fragment.getType());
    if (!attr || type.getRank() != 2)
      return false;
    FragmentLayout layout = attr.getLayout();
    if (layout.getContiguity(1) * getBits(buffer) >= 128)
      return false;
    int64_t lastLane =
        std::min<int64_t>(target.warpSize, layout.getNumThreads()) - 1;
    return layout.getCoords(lastLane, 0, 2)[0] != layout.getCoords(0, 0, 2)[0];
  };
  return llvm::any_of(buffer.getUsers(), [&](Operation *user) {
    if (auto load = dyn_cast<LoadOp>(user))
      return isBad(load.getResult());
    if (auto store = dyn_cast<StoreOp>(user))
      return isBad(store.getValue());
    return false;
  });
}

SharedLayout BufferLayouts::getDefault(const Group &group) {
  // Operations access the buffer, or its versions one by one.
  Value tile = group.values.front();
  for (Operation *user : tile.getUsers())
    if (auto slot = dyn_cast<SlotOp>(user))
      tile = slot.getResult();
  ArrayRef<int64_t> shape = getMemRef(tile).getShape();
  SharedLayout layout = SharedLayout::getRowMajor(shape);
  bool isViewed = llvm::any_of(group.values, [](Value value) {
    return value.getDefiningOp<ViewOp>() != nullptr;
  });
  if (shape.size() == 2 && getBits(tile) >= 16 && !isViewed &&
      llvm::any_of(group.values,
                   [&](Value value) { return isScattered(value); }))
    layout = getWidestPanels(tile, 32).value_or(layout);
  return getLayoutOfBuffer(tile, layout)
      .value_or(SharedLayout::getRowMajor(
          getMemRef(group.values.front()).getShape()));
}

/// Appends layouts of the buffer in which `value` has narrow panels. An
/// instruction that prefers wide panels may take these, too. Parts of the
/// buffer begin at any multiple of a panel: columns 16 to 31 of bytes have no
/// layout in panels of 32 bytes, but one in panels of 16 bytes.
static void appendNarrowPanels(Value value,
                               SmallVectorImpl<SharedLayout> &options) {
  ArrayRef<int64_t> shape = getMemRef(value).getShape();
  if (shape.size() != 2)
    return;
  for (int64_t span : {64, 32, 16})
    if (shape.back() * getBits(value) % (span * 8) == 0)
      if (auto layout = getLayoutOfBuffer(
              value, SharedLayout::getPanels(shape, getBits(value), span)))
        options.push_back(*layout);
}

LogicalResult BufferLayouts::choose(const Group &group) {
  SharedLayout rowMajor =
      SharedLayout::getRowMajor(getMemRef(group.values.front()).getShape());
  // The layouts to try, the strongest demand first.
  SmallVector<SharedLayout> options;
  if (!group.isOpaque) {
    for (const BufferDemand &demand : group.demands)
      if (auto layout = getLayoutOfBuffer(demand.value, demand.layout))
        options.push_back(*layout);
    for (const BufferDemand &demand : group.demands)
      if (!demand.isType)
        appendNarrowPanels(demand.value, options);
    options.push_back(getDefault(group));
  }
  options.push_back(rowMajor);
  std::optional<Misfit> first;
  for (const SharedLayout &layout : options) {
    Assignment assignment;
    std::optional<Misfit> misfit = findMisfit(group, layout, assignment);
    if (misfit) {
      if (!first)
        first = misfit;
      continue;
    }
    if (!group.isOpaque)
      for (auto [value, own] : llvm::zip_equal(group.values, assignment))
        chosen.emplace_back(value,
                            SharedLayoutAttr::get(value.getContext(), own));
    return success();
  }
  return emitMisfit(group, options.front(), *first);
}

/// Emits the error that says what prevents the strongest demand.
LogicalResult BufferLayouts::emitMisfit(const Group &group,
                                        const SharedLayout &layout,
                                        const Misfit &misfit) {
  AllocSharedOp alloc = group.alloc;
  auto toAttr = [&](const SharedLayout &layout) {
    return SharedLayoutAttr::get(alloc.getContext(), layout);
  };
  InFlightDiagnostic diag = misfit.op->emitOpError();
  if (group.isOpaque) {
    diag << "needs a layout of its own for a buffer that other dialects' "
            "operations take as row-major: "
         << misfit.reason;
    diag.attachNote(alloc.getLoc()) << "the buffer is allocated here";
    return diag;
  }
  diag << "cannot use shared memory with layout " << toAttr(layout) << ": "
       << misfit.reason;
  if (misfit.wanted)
    diag << "; it wants " << toAttr(*misfit.wanted);
  diag << "; copy the tile to a buffer of its own";
  Operation *first = group.demands.empty() ? alloc : group.demands.front().op;
  diag.attachNote(first->getLoc()) << "the layout is fixed here";
  return diag;
}

void BufferLayouts::print(raw_ostream &os) const {
  BriefPrinter printer(kernel, os);
  for (auto [value, layout] : chosen)
    printer << value << ": " << layout << "\n";
}
