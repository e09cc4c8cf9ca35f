//===- LayoutAlgebraCAPI.cpp - C interface of the layout algebra ----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layout algebra in C. A handle owns a `SwizzledLayout`. Functions that can
// fail take a `TilewsReport`: on failure its callback receives the message, and
// the result is null. Operations on plain layouts apply to a swizzled one where
// the swizzle can stay outside:
//
//   flatten(Sw o L) = Sw o flatten(L)       inverses need a plain layout
//
// Texts are sent to a callback, so no string changes its owner.
//
//===----------------------------------------------------------------------===//

#include "tilews-c/LayoutAlgebra.h"

#include "tilews/Layout/SwizzledLayout.h"
#include "tilews/Support/TargetInfo.h"

#include "mlir/CAPI/Support.h"
#include "mlir/CAPI/Wrap.h"

using namespace tilews;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::SmallVector;

DEFINE_C_API_PTR_METHODS(TilewsLayout, SwizzledLayout)
DEFINE_C_API_PTR_METHODS(TilewsSharedLayout, SharedLayout)
DEFINE_C_API_PTR_METHODS(TilewsFragmentLayout, FragmentLayout)

static void send(const std::string &text, MlirStringCallback callback,
                 void *userData) {
  callback(wrap(llvm::StringRef(text)), userData);
}

static void fail(Error error, TilewsReport report) {
  send(llvm::toString(std::move(error)), report.callback, report.userData);
}

static TilewsLayout give(Expected<SwizzledLayout> layout, TilewsReport report) {
  if (layout)
    return wrap(new SwizzledLayout(std::move(*layout)));
  fail(layout.takeError(), report);
  return {nullptr};
}

/// Returns a layout with the swizzle and the offset of the operand.
static TilewsLayout giveLike(TilewsLayout operand, Expected<Layout> layout,
                             TilewsReport report) {
  if (!layout)
    return give(layout.takeError(), report);
  const SwizzledLayout *like = unwrap(operand);
  return give(SwizzledLayout::get(like->swizzle, like->offset, *layout),
              report);
}

/// Returns the plain layout. Fails if it has a swizzle or an offset.
static Expected<Layout> getPlain(TilewsLayout layout) {
  const SwizzledLayout *whole = unwrap(layout);
  if (whole->swizzle.isIdentity() && whole->offset == 0)
    return whole->layout;
  return makeLayoutError("expected a layout without a swizzle or an offset, "
                         "found ",
                         whole->str());
}

TilewsLayout tilewsLayoutParse(MlirStringRef text, TilewsReport report) {
  return give(SwizzledLayout::parse(unwrap(text)), report);
}

void tilewsLayoutDestroy(TilewsLayout layout) { delete unwrap(layout); }

void tilewsLayoutPrint(TilewsLayout layout, MlirStringCallback callback,
                       void *userData) {
  send(unwrap(layout)->str(), callback, userData);
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

intptr_t tilewsLayoutGetRank(TilewsLayout layout) {
  return unwrap(layout)->layout.getRank();
}

int64_t tilewsLayoutGetDepth(TilewsLayout layout) {
  return unwrap(layout)->layout.getDepth();
}

int64_t tilewsLayoutGetSize(TilewsLayout layout) {
  return unwrap(layout)->layout.getSize();
}

int64_t tilewsLayoutGetCosize(TilewsLayout layout) {
  return unwrap(layout)->getCosize();
}

TilewsSwizzle tilewsLayoutGetSwizzle(TilewsLayout layout) {
  Swizzle swizzle = unwrap(layout)->swizzle;
  return {swizzle.bits, swizzle.base, swizzle.shift};
}

int64_t tilewsLayoutGetOffset(TilewsLayout layout) {
  return unwrap(layout)->offset;
}

void tilewsLayoutPrintShape(TilewsLayout layout, MlirStringCallback callback,
                            void *userData) {
  send(unwrap(layout)->layout.getShape().str(), callback, userData);
}

void tilewsLayoutPrintStride(TilewsLayout layout, MlirStringCallback callback,
                             void *userData) {
  send(unwrap(layout)->layout.getStride().str(), callback, userData);
}

TilewsLayout tilewsLayoutGetMode(TilewsLayout layout, intptr_t index) {
  return wrap(new SwizzledLayout{{}, 0, unwrap(layout)->layout.getMode(index)});
}

bool tilewsLayoutAt(TilewsLayout layout, MlirStringRef coord, int64_t *offset,
                    TilewsReport report) {
  const SwizzledLayout *whole = unwrap(layout);
  Expected<IntTuple> tuple = IntTuple::parse(unwrap(coord));
  if (!tuple) {
    fail(tuple.takeError(), report);
    return false;
  }
  Expected<int64_t> found = whole->layout.at(*tuple);
  if (!found) {
    fail(found.takeError(), report);
    return false;
  }
  *offset = whole->swizzle(whole->offset + *found);
  return true;
}

void tilewsLayoutPrintCoord(TilewsLayout layout, int64_t index,
                            MlirStringCallback callback, void *userData) {
  send(unwrap(layout)->layout.getCoord(index).str(), callback, userData);
}

void tilewsLayoutGetOffsets(TilewsLayout layout, int64_t *offsets) {
  const SwizzledLayout *whole = unwrap(layout);
  // Leaf by leaf: the offsets so far are repeated at each step of the next
  // leaf.
  int64_t known = 1;
  offsets[0] = whole->offset;
  for (Axis axis : whole->layout.getAxes()) {
    for (int64_t i = 1; i < axis.extent; ++i)
      for (int64_t j = 0; j < known; ++j)
        offsets[i * known + j] = offsets[j] + i * axis.stride;
    known *= axis.extent;
  }
  for (int64_t i = 0; i < known; ++i)
    offsets[i] = whole->swizzle(offsets[i]);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

TilewsLayout tilewsLayoutTransform(TilewsLayoutUnary kind, TilewsLayout layout,
                                   TilewsReport report) {
  const Layout &plain = unwrap(layout)->layout;
  switch (kind) {
  case TilewsLayoutCoalesce:
    return giveLike(layout, coalesce(plain), report);
  case TilewsLayoutCoalesceModes:
    return giveLike(layout, coalesceModes(plain), report);
  case TilewsLayoutFlatten:
    return giveLike(layout, flatten(plain), report);
  case TilewsLayoutRightInverse:
  case TilewsLayoutLeftInverse:
    break;
  }
  Expected<Layout> operand = getPlain(layout);
  if (!operand)
    return give(operand.takeError(), report);
  if (kind == TilewsLayoutRightInverse)
    return give(SwizzledLayout{{}, 0, rightInverse(*operand)}, report);
  return giveLike(layout, leftInverse(*operand), report);
}

TilewsLayout tilewsLayoutCombine(TilewsLayoutBinary kind, TilewsLayout layout,
                                 TilewsLayout other, TilewsReport report) {
  Expected<Layout> operand = getPlain(other);
  if (!operand)
    return give(operand.takeError(), report);
  // The swizzle is applied last, so composition and division apply to the plain
  // layout.
  const Layout &outer = unwrap(layout)->layout;
  if (kind == TilewsLayoutCompose)
    return giveLike(layout, compose(outer, *operand), report);
  if (kind == TilewsLayoutLogicalDivide)
    return giveLike(layout, logicalDivide(outer, *operand), report);
  Expected<Layout> plain = getPlain(layout);
  if (!plain)
    return give(plain.takeError(), report);
  if (kind == TilewsLayoutLogicalProduct)
    return giveLike(layout, logicalProduct(*plain, *operand), report);
  if (kind == TilewsLayoutBlockedProduct)
    return giveLike(layout, blockedProduct(*plain, *operand), report);
  return giveLike(layout, rakedProduct(*plain, *operand), report);
}

TilewsLayout tilewsLayoutTile(TilewsLayoutByMode kind, TilewsLayout layout,
                              intptr_t numTilers, const TilewsLayout *tilers,
                              TilewsReport report) {
  SmallVector<Layout> operands;
  for (intptr_t i = 0; i < numTilers; ++i) {
    Expected<Layout> operand = getPlain(tilers[i]);
    if (!operand)
      return give(operand.takeError(), report);
    operands.push_back(std::move(*operand));
  }
  const Layout &outer = unwrap(layout)->layout;
  ArrayRef<Layout> all = operands;
  switch (kind) {
  case TilewsLayoutByModeCompose:
    return giveLike(layout, compose(outer, all), report);
  case TilewsLayoutByModeLogicalDivide:
    return giveLike(layout, logicalDivide(outer, all), report);
  case TilewsLayoutByModeZippedDivide:
    return giveLike(layout, zippedDivide(outer, all), report);
  case TilewsLayoutByModeTiledDivide:
    return giveLike(layout, tiledDivide(outer, all), report);
  }
  llvm_unreachable("all kinds are handled");
}

TilewsLayout tilewsLayoutComplement(TilewsLayout layout, int64_t size,
                                    TilewsReport report) {
  Expected<Layout> plain = getPlain(layout);
  if (!plain)
    return give(plain.takeError(), report);
  return giveLike(layout, complement(*plain, size), report);
}

TilewsLayout tilewsLayoutRecast(TilewsLayout layout, int64_t fromBits,
                                int64_t toBits, TilewsReport report) {
  return give(recast(*unwrap(layout), fromBits, toBits), report);
}

TilewsLayout tilewsLayoutSlice(TilewsLayout layout, MlirStringRef coord,
                               TilewsReport report) {
  Expected<IntTuple> tuple = IntTuple::parse(unwrap(coord));
  if (!tuple)
    return give(tuple.takeError(), report);
  return give(slice(*unwrap(layout), *tuple), report);
}

TilewsLayout tilewsLayoutExpand(TilewsLayout layout, int64_t count,
                                int64_t alignment, TilewsReport report) {
  return give(expand(*unwrap(layout), count, alignment), report);
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

bool tilewsLayoutFindCollision(TilewsLayout layout, int64_t *offset,
                               MlirStringCallback first,
                               MlirStringCallback second, void *userData,
                               TilewsReport report) {
  const SwizzledLayout *whole = unwrap(layout);
  // Swizzles collide nothing.
  Expected<std::optional<Collision>> result = findCollision(whole->layout);
  if (!result) {
    fail(result.takeError(), report);
    return false;
  }
  *offset = -1;
  if (const std::optional<Collision> &collision = *result) {
    *offset = whole->swizzle(whole->offset + collision->offset);
    send(collision->first.str(), first, userData);
    send(collision->second.str(), second, userData);
  }
  return true;
}

int64_t tilewsLayoutFindGap(TilewsLayout layout) {
  return findGap(unwrap(layout)->layout).value_or(-1);
}

int64_t tilewsLayoutFindSwizzled(TilewsLayout layout) {
  return unwrap(layout)->findSwizzled().value_or(-1);
}

bool tilewsLayoutGetCommonVector(TilewsLayout a, TilewsLayout b, int64_t limit,
                                 int64_t *vector, TilewsReport report) {
  Expected<Layout> first = getPlain(a), second = getPlain(b);
  if (!first || !second) {
    fail(llvm::joinErrors(first.takeError(), second.takeError()), report);
    return false;
  }
  Expected<int64_t> found = getCommonVector(*first, *second, limit);
  if (found)
    *vector = *found;
  else
    fail(found.takeError(), report);
  return bool(found);
}

static bool give(Expected<BankConflicts> conflicts, TilewsBankConflicts *result,
                 TilewsReport report) {
  if (!conflicts) {
    fail(conflicts.takeError(), report);
    return false;
  }
  auto [first, second] =
      conflicts->clash.value_or(std::pair<int64_t, int64_t>(-1, -1));
  *result = {conflicts->phases, conflicts->wavefronts, conflicts->degree, first,
             second};
  return true;
}

static Expected<SharedBanks> getBanks(MlirStringRef chip) {
  llvm::StringRef name = unwrap(chip);
  if (!name.empty() && !llvm::is_contained(TargetInfo::getKnownChips(), name))
    return makeLayoutError("unknown chip '", name, "'");
  return SharedBanks(name);
}

bool tilewsLayoutGetBankConflicts(TilewsLayout layout, int64_t elementBits,
                                  int64_t vector, int64_t warpSize,
                                  TilewsSharedAccess access,
                                  TilewsBankConflicts *result,
                                  TilewsReport report) {
  Expected<SharedBanks> banks = getBanks(access.chip);
  if (!banks)
    return give(banks.takeError(), result, report);
  return give(getBankConflicts(*unwrap(layout), elementBits, vector, warpSize,
                               *banks, access.isWrite),
              result, report);
}

bool tilewsGetBankConflicts(intptr_t numThreads, const int64_t *byteOffsets,
                            int64_t bytes, TilewsSharedAccess access,
                            TilewsBankConflicts *result, TilewsReport report) {
  Expected<SharedBanks> banks = getBanks(access.chip);
  if (!banks)
    return give(banks.takeError(), result, report);
  return give(getBankConflicts({byteOffsets, size_t(numThreads)}, bytes, *banks,
                               access.isWrite),
              result, report);
}

//===----------------------------------------------------------------------===//
// Layouts of attributes
//===----------------------------------------------------------------------===//

TilewsLayout tilewsLayoutFromShared(TilewsSharedLayout layout,
                                    int64_t elementBits, TilewsReport report) {
  return give(getSwizzledLayout(*unwrap(layout), elementBits), report);
}

static TilewsSharedLayout giveShared(Expected<SharedLayout> shared,
                                     TilewsReport report) {
  if (shared)
    return wrap(new SharedLayout(std::move(*shared)));
  fail(shared.takeError(), report);
  return {nullptr};
}

TilewsSharedLayout tilewsLayoutToShared(TilewsLayout layout,
                                        int64_t elementBits,
                                        TilewsReport report) {
  return giveShared(getSharedLayout(*unwrap(layout), elementBits), report);
}

TilewsSharedLayout tilewsSharedLayoutExpand(TilewsSharedLayout layout,
                                            int64_t versions,
                                            int64_t elementBits,
                                            TilewsReport report) {
  return giveShared(expand(*unwrap(layout), versions, elementBits), report);
}

TilewsSharedLayout tilewsSharedLayoutGetSlot(TilewsSharedLayout layout,
                                             int64_t elementBits,
                                             TilewsReport report) {
  return giveShared(getSlotLayout(*unwrap(layout), elementBits), report);
}

TilewsLayout tilewsLayoutFromFragment(TilewsFragmentLayout layout,
                                      intptr_t rank, const int64_t *shape,
                                      TilewsReport report) {
  Expected<Layout> result =
      getThreadValueLayout(*unwrap(layout), {shape, size_t(rank)});
  if (!result)
    return give(result.takeError(), report);
  return give(SwizzledLayout{{}, 0, std::move(*result)}, report);
}

TilewsFragmentLayout tilewsLayoutToFragment(TilewsLayout layout, intptr_t rank,
                                            const int64_t *shape,
                                            TilewsReport report) {
  Expected<Layout> plain = getPlain(layout);
  Expected<FragmentLayout> fragment =
      plain ? getFragmentLayout(*plain, {shape, size_t(rank)})
            : Expected<FragmentLayout>(plain.takeError());
  if (fragment)
    return wrap(new FragmentLayout(std::move(*fragment)));
  fail(fragment.takeError(), report);
  return {nullptr};
}
