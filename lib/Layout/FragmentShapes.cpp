//===- FragmentShapes.cpp - Fragments under another shape -----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layouts of fragments under another shape: reduced, broadcast, sliced,
// repeated, transposed, reshaped, of other elements. All but the reshape
// rewrite modes one by one. A reshape numbers the elements row by row and asks
// for each mode whether its steps stay digits of the new coordinates:
//
//   mode 8:1 along columns of 16 x 8, as 16 x 2 x 4: 4:1 along the last
//   dimension and 2:1 along the one before
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/Layout.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace tilews;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::SmallVectorImpl;

FragmentLayout FragmentLayout::collapseDim(int64_t dim) const {
  FragmentLayout result;
  auto along = [&](const Mode &mode) {
    return mode.stride != 0 && mode.dim == dim;
  };
  for (const Mode &mode : thread)
    result.thread.push_back(along(mode) ? Mode{mode.extent, 0, 0} : mode);
  for (const Mode &mode : value)
    if (!along(mode))
      result.value.push_back(mode);
  return result;
}

FragmentLayout FragmentLayout::dropDim(int64_t dim) const {
  FragmentLayout result = collapseDim(dim);
  for (SmallVector<Mode> *modes : {&result.thread, &result.value})
    for (Mode &mode : *modes)
      if (mode.dim > dim)
        --mode.dim;
  return result;
}

int64_t FragmentLayout::getDroppedValue(int64_t index, int64_t dim) const {
  int64_t dropped = 0, weight = 1;
  for (const Mode &mode : value) {
    int64_t digit = index % mode.extent;
    index /= mode.extent;
    if (mode.stride != 0 && mode.dim == dim)
      continue;
    dropped += digit * weight;
    weight *= mode.extent;
  }
  return dropped;
}

FragmentLayout FragmentLayout::insertDim(int64_t dim) const {
  FragmentLayout result = *this;
  for (SmallVector<Mode> *modes : {&result.thread, &result.value})
    for (Mode &mode : *modes)
      if (mode.dim >= dim && mode.stride != 0)
        ++mode.dim;
  return result;
}

std::optional<FragmentLayout> FragmentLayout::slice(int64_t dim,
                                                    int64_t extent) const {
  auto reaches = [&](const Mode &mode) {
    return mode.dim == dim && mode.stride * mode.extent > extent;
  };
  if (llvm::any_of(thread, reaches))
    return std::nullopt;
  FragmentLayout result = *this;
  result.value.clear();
  for (Mode mode : value) {
    if (reaches(mode)) {
      if (mode.stride < extent && extent % mode.stride != 0)
        return std::nullopt;
      mode.extent = mode.stride < extent ? extent / mode.stride : 1;
    }
    if (mode.extent > 1)
      result.value.push_back(mode);
  }
  return result;
}

std::optional<FragmentLayout>
FragmentLayout::repeat(int64_t dim, int64_t extent, int64_t count) const {
  int64_t reach = 1;
  for (ArrayRef<Mode> modes : {ArrayRef<Mode>(thread), ArrayRef<Mode>(value)})
    for (const Mode &mode : modes)
      if (mode.dim == dim)
        reach += (mode.extent - 1) * mode.stride;
  if (reach > extent)
    return std::nullopt;
  FragmentLayout result = *this;
  result.value.push_back({count, extent, dim});
  return result;
}

FragmentLayout FragmentLayout::transpose(ArrayRef<int64_t> permutation) const {
  FragmentLayout result = *this;
  for (SmallVector<Mode> *modes : {&result.thread, &result.value})
    for (Mode &mode : *modes)
      if (mode.stride != 0)
        mode.dim = llvm::find(permutation, mode.dim) - permutation.begin();
  return result;
}

/// Returns the row-major strides of a shape.
static SmallVector<int64_t> getWeights(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> weights(shape.size(), 1);
  for (int64_t dim = int64_t(shape.size()) - 2; dim >= 0; --dim)
    weights[dim] = weights[dim + 1] * shape[dim + 1];
  return weights;
}

/// Appends the modes along `shape` whose values are the row-major numbers 0,
/// `step`, `2 * step`, ..., `extent` of them. Returns false if a step straddles
/// a row.
static bool splitMode(int64_t extent, int64_t step, ArrayRef<int64_t> shape,
                      ArrayRef<int64_t> weights, SmallVectorImpl<Mode> &modes) {
  for (int64_t dim = int64_t(shape.size()) - 1; dim >= 0 && extent > 1; --dim) {
    int64_t weight = weights[dim], size = shape[dim];
    if (step >= weight * size)
      continue;
    if (step % weight != 0)
      return false;
    int64_t stride = step / weight;
    // The digits that fit in this dimension; the others carry to the next.
    int64_t fits = extent * stride <= size ? extent : size / stride;
    if (fits * stride > size || extent % fits != 0 ||
        (fits < extent && fits * stride != size))
      return false;
    modes.push_back({fits, stride, dim});
    extent /= fits;
    step = weight * size;
  }
  return extent == 1;
}

std::optional<FragmentLayout>
FragmentLayout::reshape(ArrayRef<int64_t> from, ArrayRef<int64_t> to) const {
  // A register past an extent would become an element of another row.
  SmallVector<int64_t> cover = getCover(from.size());
  if (ArrayRef<int64_t>(cover) != from)
    return std::nullopt;
  SmallVector<int64_t> fromWeights = getWeights(from), weights = getWeights(to);
  FragmentLayout result;
  auto split = [&](ArrayRef<Mode> modes, SmallVector<Mode> &out) {
    for (const Mode &mode : modes) {
      if (mode.stride == 0)
        out.push_back(mode);
      else if (!splitMode(mode.extent, mode.stride * fromWeights[mode.dim], to,
                          weights, out))
        return false;
    }
    return true;
  };
  if (!split(thread, result.thread) || !split(value, result.value))
    return std::nullopt;
  // Digits of different modes must not carry into each other either.
  cover = result.getCover(to.size());
  if (ArrayRef<int64_t>(cover) != to)
    return std::nullopt;
  return result;
}

FragmentLayout FragmentLayout::splitElements(int64_t dim, int64_t parts) const {
  FragmentLayout result = *this;
  for (SmallVector<Mode> *modes : {&result.thread, &result.value})
    for (Mode &mode : *modes)
      if (mode.dim == dim)
        mode.stride *= parts;
  if (parts > 1)
    result.value.insert(result.value.begin(), {parts, 1, dim});
  return result;
}

std::optional<FragmentLayout>
FragmentLayout::joinElements(int64_t dim, int64_t parts) const {
  FragmentLayout result = *this;
  auto isAlong = [&](const Mode &mode) {
    return mode.dim == dim && mode.stride != 0 && mode.extent != 1;
  };
  while (parts > 1) {
    // Registers that are neighbors: a digit of theirs is joined at a time.
    auto *first = llvm::find_if(result.value, [&](const Mode &mode) {
      return isAlong(mode) && mode.stride == 1;
    });
    int64_t step =
        first == result.value.end() ? 1 : std::gcd(first->extent, parts);
    if (step == 1)
      return std::nullopt;
    first->extent /= step;
    for (SmallVector<Mode> *modes : {&result.thread, &result.value})
      for (Mode &mode : *modes) {
        if (&mode == first || !isAlong(mode))
          continue;
        if (mode.stride % step != 0)
          return std::nullopt;
        mode.stride /= step;
      }
    parts /= step;
  }
  llvm::erase_if(result.value,
                 [](const Mode &mode) { return mode.extent == 1; });
  return result;
}

//===----------------------------------------------------------------------===//
// Broadcasts
//===----------------------------------------------------------------------===//

/// Returns `modes` with replication in place of steps along repeated
/// dimensions, neighboring replications as one.
static SmallVector<Mode> project(ArrayRef<Mode> modes,
                                 ArrayRef<bool> repeated) {
  SmallVector<Mode> result;
  for (Mode mode : modes) {
    if (mode.extent == 1)
      continue;
    if (mode.stride != 0 && repeated[mode.dim])
      mode = {mode.extent, 0, 0};
    if (mode.stride == 0 && !result.empty() && result.back().stride == 0)
      result.back().extent *= mode.extent;
    else
      result.push_back(mode);
  }
  return result;
}

std::optional<SmallVector<int64_t>>
tilews::getBroadcastRegisters(const FragmentLayout &source,
                              const FragmentLayout &result,
                              ArrayRef<bool> repeated) {
  if (project(source.getThreadModes(), repeated) !=
      project(result.getThreadModes(), repeated))
    return std::nullopt;
  int64_t rank = repeated.size();
  SmallVector<int64_t> cover = result.getCover(rank);
  auto linearize = [&](ArrayRef<int64_t> coords) {
    int64_t index = 0;
    for (int64_t dim = 0; dim < rank; ++dim)
      index = index * (cover[dim] + 1) + (repeated[dim] ? 0 : coords[dim]);
    return index;
  };
  // The register of the source for each coordinate that it holds.
  llvm::DenseMap<int64_t, int64_t> held;
  for (int64_t v = 0; v < source.getNumValues(); ++v)
    held.try_emplace(linearize(source.getValueCoords(v, rank)), v);
  SmallVector<int64_t> registers;
  for (int64_t v = 0; v < result.getNumValues(); ++v) {
    auto it = held.find(linearize(result.getValueCoords(v, rank)));
    if (it == held.end())
      return std::nullopt;
    registers.push_back(it->second);
  }
  return registers;
}
