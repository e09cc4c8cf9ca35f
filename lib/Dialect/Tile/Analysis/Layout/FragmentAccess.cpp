//===- FragmentAccess.cpp - Memory accesses of fragments ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An access is a region of a buffer whose dimensions of extent one are dropped:
// the remaining ones correspond, in order, to those of the fragment. The width
// of a vector is the greatest common divisor of what three sides allow: the
// region (known divisors of offsets and strides), the layout (a run of
// registers along the last dimension), and the layout of a shared buffer. Bank
// conflicts and sectors follow from the addresses of the first warp's lanes for
// one register; other registers only shift all addresses by the same distance.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Layout/FragmentAccess.h"

#include "tilews/Dialect/Tile/Analysis/BriefPrinter.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <numeric>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

int64_t tile::getVectorRun(const FragmentLayout &layout, int64_t dim,
                           int64_t limit) {
  int64_t run = std::gcd(layout.getContiguity(dim), limit);
  // Every run must start at a multiple of its length.
  for (const Mode &mode : layout.getThreadModes())
    if (mode.dim == dim && mode.extent > 1)
      run = std::gcd(run, mode.stride);
  for (const Mode &mode : layout.getValueModes())
    if (mode.dim == dim && mode.stride >= run)
      run = std::gcd(run, mode.stride);
  return run;
}

FragmentAccess::FragmentAccess(const AccessRegion &access,
                               RankedTensorType type)
    : op(access.buffer->getOwner()), buffer(access.buffer->get()), type(type),
      store(access.writes()),
      sizes(DenseI64ArrayAttr::get(op->getContext(), access.region.sizes)) {
  // The dimensions of the region and of the fragment whose extents are not one
  // correspond in order, from the last one on. Indices may make others.
  ArrayRef<int64_t> shape = type.getShape();
  size_t next = 0;
  int64_t others = llvm::count_if(shape, [](int64_t x) { return x != 1; }) -
                   int64_t(access.region.getSqueezedSizes().size());
  for (; others > 0; ++next)
    others -= shape[next] != 1;
  for (auto [size, offset] :
       llvm::zip(access.region.sizes, access.region.offsets)) {
    while (next < shape.size() && shape[next] == 1)
      ++next;
    dims.push_back(size == 1 ? -1 : int64_t(next++));
    offsets.push_back(getConstantIntValue(offset).value_or(0));
  }
}

bool tile::storesRegion(Operation *op) {
  auto scatter = dyn_cast<ScatterOp>(op);
  return isa<StoreOp>(op) ||
         (scatter && scatter.getIndices().empty() && !scatter.getMask());
}

/// Returns the fragment that an access writes or, if it reads memory, makes.
static Value getAccessedFragment(Operation *op) {
  return op->getNumResults() > 0 ? Value(op->getResult(0)) : op->getOperand(0);
}

std::optional<FragmentAccess> FragmentAccess::get(Operation *op,
                                                  Divisibility &divisibility) {
  if (!isa<LoadOp, StoreOp, AtomicRMWOp, AtomicCASOp, AtomicLoadOp,
           IndexedOpInterface>(op))
    return std::nullopt;
  SmallVector<AccessRegion> regions;
  cast<AccessOpInterface>(op).getAccessRegions(regions);
  const AccessRegion &only = regions.front();
  FragmentAccess access(
      only, cast<RankedTensorType>(getAccessedFragment(op).getType()));
  access.maxVector = divisibility.getVectorElements(only);
  return access;
}

std::array<FragmentAccess, 2>
FragmentAccess::getSides(CopyOp op, Divisibility &divisibility) {
  auto source = cast<MemRefType>(op.getSource().getType());
  TileRegion from = op.getSourceRegion(), to = op.getDestRegion();
  auto type =
      RankedTensorType::get(from.getSqueezedSizes(), source.getElementType());
  std::array<FragmentAccess, 2> sides = {
      FragmentAccess({&op.getSourceMutable(), AccessKind::Read, from}, type),
      FragmentAccess({&op.getDestMutable(), AccessKind::Write, to}, type)};
  for (FragmentAccess &side : sides)
    side.maxVector = getCopyVectorElements(op, divisibility);
  return sides;
}

Value FragmentAccess::getFragment() const { return getAccessedFragment(op); }

int64_t FragmentAccess::getBits() const {
  return getStorageBits(getElementType(buffer));
}

int64_t FragmentAccess::getVectorElements(const FragmentLayout &layout,
                                          const SharedLayout *shared) const {
  if (isa<AtomicOpInterface>(op) || dims.empty() || dims.back() < 0)
    return 1;
  int64_t limit = std::gcd(maxVector, std::max<int64_t>(128 / getBits(), 1));
  int64_t run = getVectorRun(layout, dims.back(), limit);
  return shared ? std::gcd(run, shared->getContiguity(getBits())) : run;
}

void FragmentAccess::forEachLane(
    const FragmentLayout &layout, int64_t value, int64_t warpSize,
    function_ref<void(int64_t, ArrayRef<int64_t>)> visit) const {
  ArrayRef<int64_t> shape = type.getShape();
  int64_t lanes = std::min(warpSize, layout.getNumThreads());
  SmallVector<int64_t> place(dims.size());
  for (int64_t lane = 0; lane < lanes; ++lane) {
    SmallVector<int64_t> coords = layout.getCoords(lane, value, shape.size());
    // Registers past the end of the fragment are not accessed.
    if (llvm::any_of(llvm::zip(coords, shape), [](auto pair) {
          return std::get<0>(pair) >= std::get<1>(pair);
        }))
      continue;
    for (auto [i, dim] : llvm::enumerate(dims))
      place[i] = dim < 0 ? 0 : coords[dim];
    visit(lane, place);
  }
}

SmallVector<int64_t>
FragmentAccess::getGlobalOffsets(const FragmentLayout &layout, int64_t value,
                                 int64_t warpSize) const {
  constexpr int64_t kLongStride = int64_t(1) << 24;
  SmallVector<int64_t> strides =
      cast<MemRefType>(buffer.getType()).getStridesAndOffset().first;
  SmallVector<int64_t> result;
  forEachLane(layout, value, warpSize, [&](int64_t, ArrayRef<int64_t> coords) {
    int64_t offset = 0;
    for (auto [dim, coord] : llvm::enumerate(coords)) {
      int64_t stride = ShapedType::isDynamic(strides[dim])
                           ? kLongStride << (8 * (coords.size() - 1 - dim) % 32)
                           : strides[dim];
      offset += coord * stride;
    }
    result.push_back(offset * getBits() / 8);
  });
  return result;
}

/// PTX ISA, "ldmatrix" and "stmatrix": Target ISA Notes.
bool tile::hasMatrixAccess(const TargetInfo &target, bool isStore) {
  return target.isNVIDIA() && target.arch >= (isStore ? 90 : 75);
}

std::optional<MatrixAccess>
FragmentAccess::getMatrices(const FragmentLayout &layout,
                            const SharedLayout &shared,
                            const TargetInfo &target) const {
  if (!isa<LoadOp, StoreOp>(op) || !hasMatrixAccess(target, store) ||
      dims.empty() || dims.back() < 0)
    return std::nullopt;
  return getMatrixAccess(layout, type.getShape(), shared, maxVector, getBits());
}

BankConflicts FragmentAccess::getBankConflicts(const FragmentLayout &own,
                                               const SharedLayout &shared,
                                               const TargetInfo &target) const {
  FragmentLayout layout = own;
  int64_t bytes = getVectorElements(layout, &shared) * getBits() / 8;
  if (auto matrices = getMatrices(layout, shared, target)) {
    // Each lane gives the address of 16 bytes.
    layout = matrices->rows;
    bytes = 16;
  }
  ArrayRef<int64_t> extents = cast<MemRefType>(buffer.getType()).getShape();
  SmallVector<int64_t> bytesOf(target.warpSize, -1);
  forEachLane(
      layout, 0, target.warpSize, [&](int64_t lane, ArrayRef<int64_t> coords) {
        SmallVector<int64_t> place;
        for (auto [coord, offset, extent] :
             llvm::zip(coords, offsets, extents)) {
          place.push_back(coord + offset);
          if (place.back() < 0 || place.back() >= extent)
            return;
        }
        bytesOf[lane] = shared.getOffset(place, getBits()) * getBits() / 8;
      });
  llvm::Expected<BankConflicts> conflicts =
      tilews::getBankConflicts(bytesOf, bytes, SharedBanks(target.chip), store);
  if (!conflicts) {
    llvm::consumeError(conflicts.takeError());
    return {};
  }
  return *conflicts;
}

FragmentLayout tile::getCopyLayout(CopyOp op, int64_t numThreads,
                                   int64_t sourceVector, int64_t destVector) {
  int64_t vector = 128 / getStorageBits(getElementType(op.getSource()));
  for (auto [buffer, own] : {std::pair(op.getSource(), sourceVector),
                             std::pair(op.getDest(), destVector)})
    if (!isShared(buffer))
      vector = std::min(vector, own);
  return getBlockedLayout(op.getSourceRegion().getSqueezedSizes(), numThreads,
                          std::max<int64_t>(vector, 1));
}

void FragmentAccess::print(BriefPrinter &printer) const {
  printer << (store ? "writes " : "reads ") << buffer << " ";
  llvm::interleave(type.getShape(), printer.getStream(), "x");
  printer << ", at most " << maxVector << " elements at a time";
}
