//===- ConversionPlan.cpp - Plans of layout conversions -------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three ways to convert are compared. If getWarpExchange finds an exchange
// within warps, it costs its shuffles and selections; renaming registers is
// free. Otherwise, or if that is slower, elements go through scratch memory.
// The candidates for its layout are all choices of the innermost dimension with
// several paddings; the one with the fewest wavefronts for a warp's writes and
// reads wins, then the smallest. For a 64x64 f32 transpose, rows of 64 elements
// would put a column into one bank; padding each row by 4 bytes spreads it over
// all banks.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Layout/ConversionPlan.h"
#include "tilews/Layout/SwizzledLayout.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <numeric>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// The bytes that shared memory moves in a cycle, on GPUs of both vendors.
static constexpr int64_t kBytesPerCycle = 128;
/// The cycles from the first write to scratch memory to the first value read
/// after the barrier, and a barrier before the next use of the memory.
static constexpr int64_t kRoundTripLatency = 110;
static constexpr int64_t kShuffleLatency = 25;
/// The selections that a multiprocessor does in a cycle (CUDA C++ Programming
/// Guide, "Arithmetic instructions": compare, minimum, maximum).
static constexpr int64_t kSelectsPerCycle = 64;
/// The bytes of the widest access of a thread.
static constexpr int64_t kVectorBytes = 16;

static int64_t getExchangeCycles(const WarpExchange &exchange, int64_t warps,
                                 int64_t elementBits) {
  if (exchange.isRename())
    return 0;
  int64_t words = llvm::divideCeil(exchange.getNumKept() * elementBits, 32);
  int64_t shuffles = exchange.getNumShuffleRounds() * words;
  int64_t selects = exchange.getNumSelects() * words;
  int64_t perWarp = shuffles * exchange.warpSize * 4 * kSelectsPerCycle +
                    selects * exchange.warpSize * kBytesPerCycle;
  int64_t cycles =
      llvm::divideCeil(warps * perWarp, kBytesPerCycle * kSelectsPerCycle);
  return cycles + (shuffles ? kShuffleLatency : 0);
}

//===----------------------------------------------------------------------===//
// Scratch layouts
//===----------------------------------------------------------------------===//

/// Returns the number of registers that hold adjacent elements along `dim`, in
/// any order.
static int64_t getRegisterRun(const FragmentLayout &layout, int64_t dim) {
  int64_t run = 1;
  for (bool found = true; found;) {
    found = false;
    for (const Mode &mode : layout.getValueModes())
      if (mode.dim == dim && mode.stride == run && mode.extent > 1) {
        run *= mode.extent;
        found = true;
      }
  }
  return run;
}

/// Counts the wavefronts in which a warp writes or reads all of its registers
/// in `scratch`. Other registers lie at a constant distance from the first
/// ones, so that they have the same conflicts.
static int64_t countWavefronts(const FragmentLayout &layout,
                               const ScratchLayout &scratch,
                               int64_t elementBits, int64_t warpSize) {
  int64_t rank = scratch.shape.size(), bytes = elementBits / 8;
  int64_t run = 1;
  if (rank > 0)
    run = std::gcd(std::gcd(getRegisterRun(layout, scratch.permutation.back()),
                            std::max<int64_t>(kVectorBytes / bytes, 1)),
                   scratch.layout.getContiguity(elementBits));
  SmallVector<int64_t> offsets;
  int64_t lanes = std::min(warpSize, layout.getNumThreads());
  for (int64_t lane = 0; lane < lanes; ++lane) {
    SmallVector<int64_t> coords = layout.getCoords(lane, 0, rank), permuted;
    for (int64_t dim : scratch.permutation)
      permuted.push_back(coords[dim]);
    offsets.push_back(scratch.layout.getOffset(permuted, elementBits) * bytes);
  }
  int64_t accesses = llvm::divideCeil(layout.getNumValues(), run);
  auto conflicts = getBankConflicts(offsets, run * bytes);
  if (!conflicts) {
    // A run that is not aligned takes an access for each element and lane.
    llvm::consumeError(conflicts.takeError());
    return accesses * run * lanes;
  }
  return accesses * conflicts->wavefronts;
}

/// Returns the layout whose rows run along dimension `inner`, with `pad`
/// elements after each `block` of a row.
static ScratchLayout getScratch(ArrayRef<int64_t> shape, int64_t inner,
                                int64_t block, int64_t pad) {
  ScratchLayout scratch;
  int64_t rank = shape.size();
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != inner)
      scratch.permutation.push_back(dim);
  if (rank > 0)
    scratch.permutation.push_back(inner);
  scratch.shape = llvm::map_to_vector(scratch.permutation,
                                      [&](int64_t dim) { return shape[dim]; });
  if (rank == 0)
    return scratch;
  int64_t last = rank - 1, blocks = shape[inner] / block;
  SmallVector<Mode> modes = {{block, 1, last}};
  if (blocks > 1)
    modes.push_back({blocks, block + pad, last});
  int64_t stride = blocks * (block + pad);
  for (int64_t dim = last - 1; dim >= 0; --dim) {
    modes.insert(modes.begin(), {scratch.shape[dim], stride, dim});
    stride *= scratch.shape[dim];
  }
  scratch.layout = SharedLayout(modes);
  return scratch;
}

/// Returns the layout of scratch memory with the fewest wavefronts; among
/// equals the smallest, then the first found.
static ScratchLayout chooseScratch(const FragmentLayout &from,
                                   const FragmentLayout &to,
                                   ArrayRef<int64_t> shape, int64_t elementBits,
                                   const TargetInfo &target) {
  int64_t rank = shape.size(), bytes = elementBits / 8;
  std::optional<ScratchLayout> best;
  int64_t bestSize = 0;
  auto consider = [&](int64_t inner, int64_t block, int64_t pad) {
    ScratchLayout next = getScratch(shape, inner, block, pad);
    int64_t size = next.layout.getCosize(elementBits) * bytes;
    if (pad && size > target.maxSharedBytes / 4)
      return;
    next.wavefronts =
        countWavefronts(from, next, elementBits, target.warpSize) +
        countWavefronts(to, next, elementBits, target.warpSize);
    if (!best || std::make_pair(next.wavefronts, size) <
                     std::make_pair(best->wavefronts, bestSize)) {
      best = next;
      bestSize = size;
    }
  };
  if (rank == 0) {
    consider(0, 1, 0);
    return *best;
  }
  for (int64_t inner = rank - 1; inner >= 0; --inner) {
    if (inner != rank - 1 && getRegisterRun(from, inner) == 1 &&
        getRegisterRun(to, inner) == 1)
      continue;
    consider(inner, shape[inner], 0);
    // Padding after whole rows, and after each 1, 2 or 4 rounds of all banks.
    SmallVector<int64_t> blocks = {shape[inner]};
    for (int64_t block : {4, 2, 1})
      if (int64_t elements = block * kBytesPerCycle / bytes;
          elements < shape[inner] && shape[inner] % elements == 0)
        blocks.push_back(elements);
    for (int64_t block : blocks)
      for (int64_t padBytes : {4, 8, 16, 32, 64})
        if (padBytes % bytes == 0)
          consider(inner, block, padBytes / bytes);
  }
  return *best;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

static void setExchange(ConversionPlan &plan, const WarpExchange &exchange,
                        int64_t warps, int64_t elementBits) {
  plan.exchange = exchange;
  plan.kind = exchange.getNumShuffleRounds() == 0 ? ConversionKind::Registers
                                                  : ConversionKind::Shuffles;
  plan.cycles = getExchangeCycles(exchange, warps, elementBits);
}

static void setScratch(ConversionPlan &plan, const ScratchLayout &scratch,
                       int64_t elementBits) {
  plan.kind = ConversionKind::Shared;
  plan.written = plan.read = scratch;
  plan.scratchBytes = scratch.layout.getCosize(elementBits) * elementBits / 8;
}

ConversionPlan tile::planConversion(const FragmentLayout &from,
                                    const FragmentLayout &to,
                                    ArrayRef<int64_t> shape,
                                    int64_t elementBits,
                                    const TargetInfo &target) {
  ConversionPlan plan;
  int64_t warps = llvm::divideCeil(from.getNumThreads(), target.warpSize);
  int64_t values = from.getNumValues() + to.getNumValues();
  // A lower bound for all scratch layouts.
  int64_t cycles =
      kRoundTripLatency +
      llvm::divideCeil(warps * values * target.warpSize * elementBits,
                       8 * kBytesPerCycle);
  if (auto exchange = getWarpExchange(from, to, shape, target.warpSize)) {
    setExchange(plan, *exchange, warps, elementBits);
    if (plan.kind == ConversionKind::Registers || plan.cycles <= cycles)
      return plan;
  }
  ScratchLayout scratch = chooseScratch(from, to, shape, elementBits, target);
  cycles = kRoundTripLatency + warps * scratch.wavefronts;
  if (plan.exchange && plan.cycles <= cycles)
    return plan;
  plan.exchange.reset();
  plan.cycles = cycles;
  setScratch(plan, scratch, elementBits);
  return plan;
}

FlipPlan tile::planFlip(const FragmentLayout &layout, ArrayRef<int64_t> shape,
                        ArrayRef<int64_t> axes, int64_t elementBits,
                        const TargetInfo &target) {
  FlipPlan plan;
  plan.mirror = getMirror(layout, shape, axes);
  int64_t threads = layout.getNumThreads();
  int64_t warps = llvm::divideCeil(threads, target.warpSize);
  if (plan.mirror)
    if (auto exchange = plan.mirror->getExchange(threads, target.warpSize)) {
      setExchange(plan, *exchange, warps, elementBits);
      return plan;
    }
  ScratchLayout scratch =
      chooseScratch(layout, layout, shape, elementBits, target);
  plan.cycles = kRoundTripLatency + warps * scratch.wavefronts;
  if (!plan.mirror) // Elements are read one by one.
    plan.cycles += warps * layout.getNumValues();
  setScratch(plan, scratch, elementBits);
  return plan;
}

FlipPlan tile::planFlip(FlipOp op, const TargetInfo &target) {
  auto type = cast<RankedTensorType>(op.getType());
  return planFlip(getFragmentLayout(type), type.getShape(), op.getAxes(),
                  getConversionBits(type.getElementType()), target);
}

int64_t tile::getConversionBits(Type elementType) {
  if (elementType.isIndex())
    return 64;
  return std::max<int64_t>(elementType.getIntOrFloatBitWidth(), 8);
}

ConversionPlan tile::planConversion(ConvertLayoutOp op,
                                    const TargetInfo &target) {
  auto source = cast<RankedTensorType>(op.getSource().getType());
  return planConversion(getFragmentLayout(source),
                        getFragmentLayout(op.getType()), source.getShape(),
                        getConversionBits(source.getElementType()), target);
}

ConversionPlan tile::planConversion(ReshapeOp op, const TargetInfo &target) {
  auto source = cast<RankedTensorType>(op.getSource().getType());
  auto result = cast<RankedTensorType>(op.getType());
  FragmentLayout from = getFragmentLayout(source),
                 to = getFragmentLayout(result);
  int64_t bits = getConversionBits(source.getElementType());
  if (std::optional<FragmentLayout> seen =
          from.reshape(source.getShape(), result.getShape()))
    if (auto plan = planConversion(*seen, to, result.getShape(), bits, target);
        plan.kind != ConversionKind::Shared)
      return plan;
  ConversionPlan plan;
  auto rows = [&](ArrayRef<int64_t> shape) {
    return getScratch(shape, int64_t(shape.size()) - 1,
                      shape.empty() ? 1 : shape.back(), 0);
  };
  plan.written = rows(source.getShape());
  plan.read = rows(result.getShape());
  int64_t wavefronts =
      countWavefronts(from, plan.written, bits, target.warpSize) +
      countWavefronts(to, plan.read, bits, target.warpSize);
  plan.scratchBytes = source.getNumElements() * bits / 8;
  plan.cycles =
      kRoundTripLatency +
      llvm::divideCeil(from.getNumThreads(), target.warpSize) * wavefronts;
  return plan;
}

std::optional<FragmentLayout>
tile::getWidestStoreLayout(const FragmentLayout &layout,
                           ArrayRef<int64_t> shape, int64_t elementBits,
                           const TargetInfo &target) {
  if (shape.empty() || layout.getNumThreads() % target.warpSize != 0)
    return std::nullopt;
  int64_t dim = shape.size() - 1, run = getRegisterRun(layout, dim);
  int64_t widest = std::max<int64_t>(kVectorBytes * 8 / elementBits, 1);
  for (int64_t elements = widest; elements > run; elements /= 2)
    if (auto wide =
            getWideLayout(layout, shape, dim, elements, target.warpSize))
      return wide;
  return std::nullopt;
}

void ScratchLayout::print(raw_ostream &os) const {
  llvm::interleave(shape, os, "x");
  os << " permuted by (";
  llvm::interleaveComma(permutation, os);
  os << "), " << wavefronts << " wavefronts";
}

void ConversionPlan::print(raw_ostream &os) const {
  switch (kind) {
  case ConversionKind::Registers:
    os << "registers, " << cycles << " cycles";
    return;
  case ConversionKind::Shuffles:
    os << "shuffles in " << exchange->getNumShuffleRounds() << " rounds, "
       << cycles << " cycles";
    return;
  case ConversionKind::Shared:
    os << "shared, " << cycles << " cycles, " << scratchBytes
       << " bytes: written as ";
    written.print(os);
    os << ", read as ";
    read.print(os);
    return;
  }
}
