//===- BufferLayouts.cpp - Layouts of a kernel's shared buffers -----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/BufferLayouts.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

static MemRefType getMemRef(Value value) {
  return cast<MemRefType>(value.getType());
}
static int64_t getBits(Value value) {
  return getStorageBits(getMemRef(value).getElementType());
}
static bool isWgmma(Operation *op) {
  auto inst = op->getAttrOfType<InstKindAttr>(TileDialect::kInst);
  return inst && inst.getValue() == InstKind::Wgmma;
}

/// The panels with the widest swizzle of at least `leastSpan` bytes that divide
/// a row.
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

/// Operations that read or write elements wherever the layout puts them.
static bool takesAnyLayout(Operation *op) {
  return isa<AccessOpInterface, memref::LoadOp, memref::StoreOp, memref::DimOp,
             memref::AtomicRMWOp>(op);
}

BufferLayouts::Group BufferLayouts::collect(AllocSharedOp alloc) {
  Group group;
  group.alloc = alloc;
  group.values = {alloc.getBuffer()};
  for (size_t i = 0; i < group.values.size(); ++i) {
    Value value = group.values[i];
    if (isa<SharedLayoutAttr>(getMemRef(value).getLayout()))
      group.demands.push_back({value.getDefiningOp(), value,
                               getSharedLayout(getMemRef(value)),
                               /*isType=*/true, /*isExact=*/true});
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (auto view = dyn_cast<ViewOp>(user))
        group.values.push_back(view.getResult());
      else if (!takesAnyLayout(user))
        group.isOpaque = true;
    }
  }
  for (bool isExact : {true, false}) {
    for (Value value : group.values) {
      for (const LayoutRequirement &requirement : required.lookup(value)) {
        Operation *op = cast<OpOperand *>(requirement.place)->getOwner();
        if (isWgmma(op) == isExact)
          group.demands.push_back(
              {op, value,
               cast<SharedLayoutAttr>(requirement.layout).getLayout(),
               /*isType=*/false, isExact});
      }
    }
  }
  return group;
}

/// The layout of the buffer that gives `value`, a view of it, `layout`.
std::optional<SharedLayout>
BufferLayouts::getWholeLayout(const Group &group, const SharedLayout &layout,
                              Value value) {
  Value buffer = group.values.front();
  if (value == buffer)
    return layout;
  return layout.view(getMemRef(buffer).getShape(), getBits(value),
                     getBits(buffer));
}

/// Whether every view has a layout if the buffer has `layout`, and every demand
/// that has to be met is; `unmet` or `badView` say what is not.
bool BufferLayouts::fits(const Group &group, const SharedLayout &layout,
                         const Demand *&unmet, Value &badView) {
  unmet = nullptr;
  badView = Value();
  Value buffer = group.values.front();
  auto getLayoutOf = [&](Value value) -> std::optional<SharedLayout> {
    if (value == buffer)
      return layout;
    return layout.view(getMemRef(value).getShape(), getBits(buffer),
                       getBits(value));
  };
  for (Value value : group.values) {
    if (getLayoutOf(value))
      continue;
    badView = value;
    return false;
  }
  for (const Demand &demand : group.demands) {
    if (!demand.isExact)
      continue;
    SharedLayout own = *getLayoutOf(demand.value);
    bool met = demand.isType ? own == demand.layout
                             : own.isPanels(getBits(demand.value));
    if (met)
      continue;
    unmet = &demand;
    return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// Whether the lanes of a warp access several rows in pieces of less than 16
/// bytes, which in row-major order tend to fall into the same banks.
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
  Value buffer = group.values.front();
  if (getMemRef(buffer).getRank() == 2 && getBits(buffer) >= 16 &&
      group.values.size() == 1 && isScattered(buffer))
    if (auto panels = getWidestPanels(buffer, 32))
      return *panels;
  return SharedLayout::getRowMajor(getMemRef(buffer).getShape());
}

LogicalResult BufferLayouts::choose(const Group &group) {
  AllocSharedOp alloc = group.alloc;
  const Demand *unmet;
  Value badView;
  SharedLayout rowMajor =
      SharedLayout::getRowMajor(getMemRef(group.values.front()).getShape());
  auto accept = [&](const SharedLayout &layout) {
    Value buffer = group.values.front();
    for (Value value : group.values) {
      auto own = value == buffer
                     ? layout
                     : *layout.view(getMemRef(value).getShape(),
                                    getBits(buffer), getBits(value));
      chosen.emplace_back(value,
                          SharedLayoutAttr::get(alloc.getContext(), own));
    }
    return success();
  };
  // The strongest demand that all others can live with.
  SmallVector<SharedLayout> options;
  if (!group.isOpaque) {
    for (const Demand &demand : group.demands)
      if (auto layout = getWholeLayout(group, demand.layout, demand.value))
        options.push_back(*layout);
    options.push_back(getDefault(group));
  }
  options.push_back(rowMajor);
  for (const SharedLayout &layout : options)
    if (fits(group, layout, unmet, badView))
      return group.isOpaque ? success() : accept(layout);

  // Say what stands against the strongest one.
  fits(group, options.front(), unmet, badView);
  if (group.isOpaque && unmet)
    return unmet->op
               ->emitOpError("needs a layout of its own for a buffer that "
                             "other dialects' operations take as "
                             "row-major")
               .attachNote(alloc.getLoc())
           << "the buffer is allocated here";
  Operation *other = unmet ? unmet->op : badView.getDefiningOp();
  InFlightDiagnostic diag = other->emitOpError();
  diag << "cannot use shared memory with layout "
       << SharedLayoutAttr::get(alloc.getContext(), options.front());
  if (unmet && !unmet->isType)
    diag << "; wgmma needs panels of 16, 32, 64 or 128 bytes, such as "
         << SharedLayoutAttr::get(alloc.getContext(), unmet->layout);
  else if (unmet)
    diag << "; its type has "
         << SharedLayoutAttr::get(alloc.getContext(), unmet->layout);
  else
    diag << "; no layout of its type places the same bytes";
  diag << "; copy the tile to a buffer of its own";
  Operation *first = group.demands.empty() ? alloc : group.demands.front().op;
  diag.attachNote(first->getLoc()) << "the layout is fixed here";
  return diag;
}
