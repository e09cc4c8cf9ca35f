//===- LayoutCosts.cpp - Costs of layouts ---------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Costs count issue slots and memory traffic of all warps of a fragment:
// instructions, wavefronts of shared memory, and sectors of 32 bytes of global
// memory. Latencies count only for round trips through shared memory, for which
// all threads wait. Accesses of a fragment are sampled: the first 8 stand for
// all. The constants are rough; they rank layouts, and do not predict times.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Layout/LayoutCosts.h"

#include "tilews/Dialect/Tile/Analysis/Layout/ConversionPlan.h"
#include "tilews/Dialect/Tile/Analysis/Layout/FragmentGraph.h"
#include "tilews/Dialect/Tile/Analysis/Layout/LayoutRules.h"
#include "tilews/Layout/AxisDigits.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

// In quarters of a cycle. In a cycle a multiprocessor issues one memory access
// of a warp, or one shuffle, or four other instructions.
static constexpr int64_t kInstruction = 1;
static constexpr int64_t kShuffle = 4;
/// An access to memory, with the computation of its address and its mask.
static constexpr int64_t kAccess = 8;
/// An access to 128 bytes of shared memory.
static constexpr int64_t kWavefront = 4;
/// An access to 32 bytes of global memory through the second-level cache.
static constexpr int64_t kSector = 2;
static constexpr int64_t kSectorBytes = 32;
/// The latency of a write to shared memory, a barrier, and a read.
static constexpr int64_t kRoundTrip = 4 * 110;
/// The further costs of a round trip: barriers that order its accesses and
/// those to other buffers, and the memory itself.
static constexpr int64_t kScratch = 4 * 128;
/// The 32-bit registers that one fragment can take without penalty, and the
/// cost of one more.
static constexpr int64_t kFreeRegisters = 96;
static constexpr int64_t kCrowdedRegister = 8;
/// The assumed trip count of a loop, and the most nested loops that count.
static constexpr int64_t kLoopRepeats = 8;
static constexpr int64_t kMaxNests = 5;
/// The accesses of a fragment that are evaluated; they stand for all.
static constexpr int64_t kSampledAccesses = 8;

int64_t LayoutCosts::getWeight(Block *block) {
  int64_t weight = 1, nests = 0;
  for (Operation *op = block->getParentOp(); op && nests < kMaxNests;
       op = op->getParentOp())
    if (isa<LoopLikeOpInterface>(op)) {
      weight *= kLoopRepeats;
      ++nests;
    }
  return weight;
}

int64_t LayoutCosts::getNumWarps(const FragmentLayout &layout) const {
  return llvm::divideCeil(layout.getNumThreads(), target.warpSize);
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

LayoutCosts::Conversion LayoutCosts::planConversion(RankedTensorType type,
                                                    FragmentAttr from,
                                                    FragmentAttr to) {
  if (from == to)
    return {0, false};
  Type plain = RankedTensorType::get(type.getShape(), type.getElementType());
  auto [entry, isNew] = conversions.try_emplace({plain, from, to});
  if (!isNew)
    return entry->second;
  ConversionPlan plan =
      tile::planConversion(from.getLayout(), to.getLayout(), type.getShape(),
                           getConversionBits(type.getElementType()), target);
  bool needsScratch = plan.kind == ConversionKind::Shared;
  return entry->second = {plan.cycles * 4 + (needsScratch ? kScratch : 0),
                          needsScratch};
}

int64_t LayoutCosts::getReshape(RankedTensorType type, FragmentAttr from,
                                FragmentAttr to) {
  FragmentLayout source = from.getLayout();
  int64_t registers = source.getNumValues() + to.getLayout().getNumValues();
  return kRoundTrip + kScratch +
         registers * getNumWarps(source) * (kAccess + kWavefront);
}

//===----------------------------------------------------------------------===//
// Accesses to memory
//===----------------------------------------------------------------------===//

/// Appends the sectors that lanes touch, each with `bytes` from its offset on.
static void addSectors(ArrayRef<int64_t> offsets, int64_t bytes,
                       SmallVectorImpl<int64_t> &sectors) {
  for (int64_t offset : offsets)
    for (int64_t sector = offset / kSectorBytes;
         sector <= (offset + bytes - 1) / kSectorBytes; ++sector)
      sectors.push_back(sector);
}

static int64_t countDistinct(SmallVectorImpl<int64_t> &numbers) {
  llvm::sort(numbers);
  return std::unique(numbers.begin(), numbers.end()) - numbers.begin();
}

int64_t LayoutCosts::computeGlobal(const FragmentAccess &access,
                                   const FragmentLayout &layout) const {
  int64_t vector = access.getVectorElements(layout, /*shared=*/nullptr);
  int64_t bytes = std::max<int64_t>(vector * access.getBits() / 8, 1);
  int64_t values = layout.getNumValues();
  int64_t count = llvm::divideCeil(values, vector);
  int64_t sampled = std::min(count, kSampledAccesses);
  // Loaded sectors stay in the first-level cache; every store goes on to the
  // second level.
  int64_t touched = 0;
  SmallVector<int64_t> sectors;
  for (int64_t i = 0; i < sampled; ++i) {
    addSectors(access.getGlobalOffsets(layout, i * vector, target.warpSize),
               bytes, sectors);
    if (!access.isStore() && i + 1 < sampled)
      continue;
    touched += countDistinct(sectors);
    sectors.clear();
  }
  return count * kAccess + llvm::divideCeil(touched * count, sampled) * kSector;
}

/// Returns the layouts that a buffer in shared memory may get: the one of its
/// type, the one that a matrix instruction requires, or row-major and a
/// swizzled one.
ArrayRef<SharedLayout> LayoutCosts::getLikelyLayouts(Value buffer) {
  auto [entry, isNew] = likely.try_emplace(buffer);
  SmallVector<SharedLayout> &layouts = entry->second;
  if (!isNew)
    return layouts;
  auto type = cast<MemRefType>(buffer.getType());
  layouts.push_back(getSharedLayout(type));
  if (isa<SharedLayoutAttr>(type.getLayout()))
    return layouts;
  for (OpOperand &use : buffer.getUses()) {
    auto op = dyn_cast<LayoutOpInterface>(use.getOwner());
    if (!op)
      continue;
    SmallVector<LayoutRequirement> requirements;
    op.getLayoutRequirements(target, getNumThreads(op.getOperation()),
                             requirements);
    for (const LayoutRequirement &requirement : requirements)
      if (auto attr = dyn_cast<SharedLayoutAttr>(requirement.layout);
          attr && requirement.getValue() == buffer) {
        layouts.assign(1, attr.getLayout());
        return layouts;
      }
  }
  int64_t bits = getStorageBits(type.getElementType());
  if (type.getRank() < 2 || bits < 16)
    return layouts;
  for (int64_t span : {128, 64, 32})
    if (type.getShape().back() * bits % (span * 8) == 0) {
      layouts.push_back(SharedLayout::getPanels(type.getShape(), bits, span));
      break;
    }
  return layouts;
}

int64_t LayoutCosts::computeShared(const FragmentAccess &access,
                                   const FragmentLayout &layout) {
  int64_t best = kImpossible;
  for (const SharedLayout &shared : getLikelyLayouts(access.getBuffer())) {
    int64_t vector = access.getVectorElements(layout, &shared);
    int64_t count = llvm::divideCeil(layout.getNumValues(), vector);
    int64_t wavefronts =
        access.getBankConflicts(layout, shared, target).wavefronts;
    if (auto matrices = access.getMatrices(layout, shared, target)) {
      count = matrices->getNumInstructions();
      wavefronts = wavefronts * matrices->count / 4; // of 4 matrices
    }
    best = std::min(best, count * (kAccess + wavefronts * kWavefront));
  }
  return best;
}

LayoutCosts::AccessKey LayoutCosts::getKey(const FragmentAccess &access,
                                           FragmentAttr layout) const {
  Value buffer = access.getBuffer();
  return {layout, access.getKey(), isShared(buffer) ? buffer : Value()};
}

int64_t LayoutCosts::getAccess(const FragmentAccess &access,
                               FragmentAttr attr) {
  auto [entry, isNew] = accesses.try_emplace(getKey(access, attr));
  if (!isNew)
    return entry->second;
  FragmentLayout layout = attr.getLayout();
  int64_t cost = isShared(access.getBuffer()) ? computeShared(access, layout)
                                              : computeGlobal(access, layout);
  return entry->second = cost * getNumWarps(layout);
}

LayoutCosts::Store LayoutCosts::computeStore(const FragmentAccess &access,
                                             FragmentAttr attr) {
  Store best = {attr, getAccess(access, attr)};
  FragmentLayout layout = attr.getLayout();
  if (!storesRegion(access.getOp()) || isShared(access.getBuffer()) ||
      access.getVectorElements(layout, nullptr) >= access.getMaxVector())
    return best;
  auto wide = getWidestStoreLayout(layout, access.getType().getShape(),
                                   access.getBits(), target);
  if (!wide)
    return best;
  FragmentAttr to = getFragmentAttr(attr.getContext(), *wide);
  Conversion conversion = planConversion(access.getType(), attr, to);
  // Shared memory is too scarce for a conversion that nothing requires.
  int64_t cost = getAccess(access, to) + conversion.cost;
  if (!conversion.needsScratch && cost < best.cost)
    best = {to, cost};
  return best;
}

LayoutCosts::Store LayoutCosts::getStore(const FragmentAccess &access,
                                         FragmentAttr layout) {
  AccessKey key = getKey(access, layout);
  auto known = stores.find(key);
  if (known != stores.end())
    return known->second;
  return stores[key] = computeStore(access, layout);
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

int64_t LayoutCosts::getReduction(ReduceOp op, FragmentAttr attr) {
  FragmentLayout layout = attr.getLayout();
  int64_t axis = op.getAxis();
  auto digits = getAxisDigits(layout, axis, target.warpSize);
  if (!digits)
    return kImpossible;
  int64_t lanes = 1, warps = 1;
  for (const AxisDigit &digit : *digits) {
    if (digit.place == AxisDigit::Place::Lane)
      lanes *= digit.extent;
    else if (digit.place == AxisDigit::Place::Scratch)
      warps *= digit.extent;
  }
  int64_t results = layout.dropDim(axis).getNumValues();
  int64_t cost = layout.getNumValues() * kInstruction +
                 results * llvm::Log2_64(lanes) * (kShuffle + kInstruction);
  if (warps > 1)
    cost += results * (warps + 1) * (kAccess + kWavefront);
  cost *= getNumWarps(layout);
  return warps > 1 ? cost + kRoundTrip : cost;
}

/// Threads combine the prefixes of the axis digit by digit, the lowest digit
/// first, and add the result to their own elements.
int64_t LayoutCosts::getScan(ScanOp op, FragmentAttr attr) const {
  FragmentLayout layout = attr.getLayout();
  auto digits = getAxisDigits(layout, op.getAxis(), target.warpSize);
  if (!digits)
    return kImpossible;
  int64_t values = layout.getNumValues();
  int64_t totals = values, cost = values * kInstruction, latency = 0;
  bool isJoined = false;
  for (const AxisDigit &digit : *digits) {
    if (digit.place == AxisDigit::Place::Register) {
      cost += isJoined ? values * kInstruction : 0;
      totals /= digit.extent;
      continue;
    }
    isJoined = true;
    if (digit.place == AxisDigit::Place::Lane) {
      cost +=
          totals * llvm::Log2_64(digit.extent) * (kShuffle + 3 * kInstruction);
    } else {
      cost += totals * (digit.extent + 1) * (kAccess + kWavefront);
      latency += kRoundTrip;
    }
  }
  if (isJoined)
    cost += values * kInstruction;
  return cost * getNumWarps(layout) + latency;
}

int64_t LayoutCosts::getFlip(FlipOp op, FragmentAttr attr) const {
  auto type = cast<RankedTensorType>(op.getType());
  FlipPlan plan = planFlip(attr.getLayout(), type.getShape(), op.getAxes(),
                           getConversionBits(type.getElementType()), target);
  bool needsScratch = plan.kind == ConversionKind::Shared;
  return plan.cycles * 4 + (needsScratch ? kScratch : 0);
}

int64_t LayoutCosts::getResult(OpResult result, FragmentAttr attr) const {
  FragmentLayout layout = attr.getLayout();
  int64_t values = layout.getNumValues();
  Operation *op = result.getOwner();
  if (auto scan = dyn_cast<ScanOp>(op))
    return getScan(scan, attr);
  if (auto flip = dyn_cast<FlipOp>(op))
    return getFlip(flip, attr);
  int64_t cost = isElementwise(op) ? values * kInstruction : 0;
  int64_t registers =
      llvm::divideCeil(values * getElementBits(getElementType(result)), 32);
  if (registers > kFreeRegisters)
    cost += (registers - kFreeRegisters) * kCrowdedRegister;
  return cost * getNumWarps(layout);
}

void LayoutCosts::print(raw_ostream &os) const {
  for (const auto &[key, conversion] : conversions) {
    auto [type, from, to] = key;
    os << "conversion of " << type << " from " << from << " to " << to << ": "
       << conversion.cost << (conversion.needsScratch ? ", in scratch" : "")
       << "\n";
  }
  for (const auto &[key, cost] : accesses) {
    const auto &[layout, access, shared] = key;
    const auto &[buffer, fragment, sizes, maxVector, isStore] = access;
    os << (isStore ? "writes " : "reads ") << buffer << " as " << fragment
       << ", at most " << maxVector << " elements at a time, in " << layout
       << ": " << cost << "\n";
  }
}
