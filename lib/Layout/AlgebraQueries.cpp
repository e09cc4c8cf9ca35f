//===- AlgebraQueries.cpp - Inverses, recasts, slices, proofs -------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inverses, injectivity, recasts, slices and versions. Most walk the leaves in
// the order of their strides: the right inverse takes leaves as long as each
// continues where the ones before end, a gap is the first offset that no leaf
// reaches.
//
// Injectivity is a subset sum. Two coordinates collide if differences d_i, not
// all 0 and each below its extent, have sum d_i * stride_i = 0. The search sets
// the largest leaf first and bounds the rest by what smaller leaves can reach
// and by their common divisor. Visited states are kept, and the search gives up
// after 2^18 of them.
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/Algebra.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

#include <algorithm>
#include <numeric>
#include <tuple>

using namespace tilews;
using llvm::ArrayRef;
using llvm::Expected;
using llvm::SmallVector;

namespace {
/// A leaf with more than one element. One step of it adds `weight` to the index
/// and `stride` to the offset.
struct WeighedLeaf {
  int64_t extent, stride, weight;
  size_t number;
};
} // namespace

/// Returns the leaves with more than one element by stride, and the longest
/// first at equal strides.
static SmallVector<WeighedLeaf> getLeaves(const Layout &layout) {
  SmallVector<WeighedLeaf> leaves;
  int64_t weight = 1;
  for (auto [number, axis] : llvm::enumerate(layout.getAxes())) {
    if (axis.extent > 1)
      leaves.push_back({axis.extent, axis.stride, weight, number});
    weight *= axis.extent;
  }
  llvm::sort(leaves, [](const WeighedLeaf &a, const WeighedLeaf &b) {
    return std::tuple(a.stride, -a.extent, a.number) <
           std::tuple(b.stride, -b.extent, b.number);
  });
  return leaves;
}

//===----------------------------------------------------------------------===//
// Inverses
//===----------------------------------------------------------------------===//

Layout tilews::rightInverse(const Layout &layout) {
  SmallVector<Axis> result;
  int64_t next = 1;
  for (const WeighedLeaf &leaf : getLeaves(coalesce(layout))) {
    if (leaf.stride != next)
      continue;
    result.push_back({leaf.extent, leaf.weight});
    next *= leaf.extent;
  }
  // Indices of the layout, each at most once, so the result is within limits.
  return coalesce(llvm::cantFail(Layout::getFlat(result)));
}

Expected<Layout> tilews::leftInverse(const Layout &layout) {
  SmallVector<WeighedLeaf> leaves = getLeaves(layout);
  SmallVector<Axis> result;
  if (!leaves.empty() && leaves.front().stride > 1)
    result.push_back({leaves.front().stride, 0});
  for (size_t i = 0; i < leaves.size(); ++i) {
    const WeighedLeaf &leaf = leaves[i];
    int64_t extent = leaf.extent;
    if (i + 1 < leaves.size()) {
      int64_t above = leaves[i + 1].stride;
      if (leaf.stride == 0 || above % leaf.stride != 0 ||
          above < leaf.extent * leaf.stride)
        return makeLayoutError(
            "the layout ", layout.str(), " has no left inverse: ", leaf.extent,
            ":", leaf.stride, " does not fit below the step of ", above);
      extent = above / leaf.stride;
    } else if (leaf.stride == 0) {
      return makeLayoutError("the layout ", layout.str(),
                             " has no left inverse: it repeats offset 0");
    }
    result.push_back({extent, leaf.weight});
  }
  Expected<Layout> inverse = Layout::getFlat(result);
  if (!inverse)
    return inverse;
  return coalesce(*inverse);
}

//===----------------------------------------------------------------------===//
// Injectivity and surjectivity
//===----------------------------------------------------------------------===//

namespace {
/// Searches for the difference of two coordinates with the same offset: one
/// number per leaf, below its extent, not all 0, whose steps cancel.
///
/// Example: (4,4):(1,2) has the difference (-2, 1): -2 * 1 + 1 * 2 = 0.
class CollisionSearch {
public:
  explicit CollisionSearch(const Layout &layout) : leaves(getLeaves(layout)) {
    int64_t reach = 0, divisor = 0;
    for (const WeighedLeaf &leaf : leaves) {
      reaches.push_back(reach);
      divisors.push_back(divisor);
      reach += (leaf.extent - 1) * leaf.stride;
      divisor = std::gcd(divisor, leaf.stride);
    }
    differences.resize(leaves.size(), 0);
  }

  /// Returns whether there is a difference.
  bool run() {
    // The difference of the largest leaf is positive without loss of
    // generality.
    for (size_t i = 0; i < leaves.size(); ++i) {
      for (int64_t d = 1; d < leaves[i].extent; ++d) {
        int64_t rest = d * leaves[i].stride;
        if (rest > reaches[i])
          break;
        differences[i] = d;
        if (cancel(i, rest))
          return true;
      }
      differences[i] = 0;
    }
    return false;
  }

  /// Returns whether `run` ended without an answer.
  bool isGivenUp() const { return tried.size() > maxTried; }
  ArrayRef<WeighedLeaf> getSearchedLeaves() const { return leaves; }
  ArrayRef<int64_t> getDifferences() const { return differences; }

private:
  /// Chooses differences of the leaves below `count` whose steps sum to
  /// `-rest`.
  bool cancel(size_t count, int64_t rest) {
    if (rest == 0) {
      std::fill_n(differences.begin(), count, 0);
      return true;
    }
    if (count == 0 || divisors[count] == 0 || rest % divisors[count] != 0)
      return false;
    if (isGivenUp() || !tried.insert({int64_t(count), rest}).second)
      return false;
    const WeighedLeaf &leaf = leaves[count - 1];
    if (leaf.stride == 0)
      return false;
    // Only differences whose remainder the leaves below can reach.
    int64_t below = reaches[count - 1];
    int64_t first = ceilDiv(-below - rest, leaf.stride);
    int64_t last = floorDiv(below - rest, leaf.stride);
    first = std::max(first, -(leaf.extent - 1));
    last = std::min(last, leaf.extent - 1);
    for (int64_t d = first; d <= last; ++d) {
      differences[count - 1] = d;
      if (cancel(count - 1, rest + d * leaf.stride))
        return true;
    }
    return false;
  }

  static constexpr size_t maxTried = 1 << 18;

  static int64_t floorDiv(int64_t a, int64_t b) {
    return a >= 0 ? a / b : -((-a + b - 1) / b);
  }
  static int64_t ceilDiv(int64_t a, int64_t b) { return -floorDiv(-a, b); }

  SmallVector<WeighedLeaf> leaves;
  SmallVector<int64_t> reaches;  // the largest sum of the leaves before
  SmallVector<int64_t> divisors; // the common divisor of those sums
  SmallVector<int64_t> differences;
  llvm::DenseSet<std::pair<int64_t, int64_t>> tried;
};
} // namespace

Expected<std::optional<Collision>> tilews::findCollision(const Layout &layout) {
  CollisionSearch search(layout);
  bool found = search.run();
  if (search.isGivenUp())
    return makeLayoutError("whether ", layout.str(),
                           " is injective takes too long to decide: it has "
                           "many leaves with unrelated strides");
  if (!found)
    return std::nullopt;
  SmallVector<int64_t> first(layout.getAxes().size(), 0), second = first;
  int64_t offset = 0;
  for (auto [leaf, difference] :
       llvm::zip(search.getSearchedLeaves(), search.getDifferences())) {
    (difference > 0 ? first : second)[leaf.number] = std::abs(difference);
    offset += std::max<int64_t>(difference, 0) * leaf.stride;
  }
  const IntTuple &shape = layout.getShape();
  return std::optional(
      Collision{shape.nest(second), shape.nest(first), offset});
}

std::optional<int64_t> tilews::findGap(const Layout &layout) {
  int64_t reached = 0; // every offset up to here is
  for (const WeighedLeaf &leaf : getLeaves(layout)) {
    // Later leaves step at least as far.
    if (leaf.stride > reached + 1)
      return reached + 1;
    reached += (leaf.extent - 1) * leaf.stride;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Recast
//===----------------------------------------------------------------------===//

static Expected<Layout> rebuild(const Layout &layout, ArrayRef<Axis> axes) {
  SmallVector<int64_t> extents, strides;
  for (Axis axis : axes) {
    extents.push_back(axis.extent);
    strides.push_back(axis.extent == 1 ? 0 : axis.stride);
  }
  const IntTuple &shape = layout.getShape();
  return Layout::get(shape.nest(extents), shape.nest(strides));
}

Expected<Layout> tilews::upcast(const Layout &layout, int64_t factor) {
  if (factor < 1)
    return makeLayoutError("expected a positive factor, found ", factor);
  SmallVector<Axis> axes = layout.getAxes();
  int64_t unit = 1; // elements of a unit that the leaves so far make up
  for (const WeighedLeaf &leaf : getLeaves(layout)) {
    Axis &axis = axes[leaf.number];
    if (axis.stride == unit && unit < factor) {
      int64_t count = std::min(axis.extent, factor / unit);
      if (factor % (unit * count) != 0 || axis.extent % count != 0)
        return makeLayoutError("the layout ", layout.str(), " has no units of ",
                               factor, " elements: ", axis.extent, ":",
                               axis.stride, " does not divide into them");
      unit *= count;
      axis = {axis.extent / count, 1};
    } else if (axis.stride % factor == 0) {
      axis.stride /= factor;
    } else {
      return makeLayoutError("the layout ", layout.str(), " has no units of ",
                             factor, " elements: ", axis.extent, ":",
                             axis.stride, " steps by a part of one");
    }
  }
  if (unit != factor)
    return makeLayoutError("the layout ", layout.str(), " has no units of ",
                           factor, " elements: only ", unit,
                           " lie side by side");
  return rebuild(layout, axes);
}

Expected<Layout> tilews::downcast(const Layout &layout, int64_t factor) {
  if (factor < 1)
    return makeLayoutError("expected a positive factor, found ", factor);
  SmallVector<Axis> axes = layout.getAxes();
  Axis *fastest = llvm::find_if(
      axes, [](Axis axis) { return axis.extent > 1 && axis.stride == 1; });
  if (factor > 1 && fastest == axes.end())
    return makeLayoutError("the layout ", layout.str(),
                           " has no leaf of stride 1 that parts of its "
                           "elements could extend");
  for (Axis &axis : axes) {
    if (&axis == fastest)
      axis.extent = multiply(axis.extent, factor);
    else
      axis.stride = multiply(axis.stride, factor);
  }
  return rebuild(layout, axes);
}

Expected<Layout> tilews::recast(const Layout &layout, int64_t fromBits,
                                int64_t toBits) {
  if (fromBits < 1 || toBits < 1)
    return makeLayoutError("expected positive widths, found ", fromBits,
                           " and ", toBits);
  int64_t common = std::gcd(fromBits, toBits);
  Expected<Layout> parts = downcast(layout, fromBits / common);
  if (!parts)
    return parts;
  return upcast(*parts, toBits / common);
}

//===----------------------------------------------------------------------===//
// Slices, versions, vectors
//===----------------------------------------------------------------------===//

/// The open part of a layout, if any; adds the rest to the offset.
static Expected<std::optional<Layout>>
sliceOpen(const Layout &layout, const IntTuple &coord, int64_t &offset) {
  if (coord.isOpen())
    return std::optional(layout);
  if (coord.isLeaf()) {
    Expected<int64_t> fixed = layout.at(coord);
    if (!fixed)
      return fixed.takeError();
    offset += *fixed;
    return std::nullopt;
  }
  if (layout.getShape().isLeaf() || coord.getRank() != layout.getRank())
    return makeLayoutError("coordinate ", coord.str(), " does not fit shape ",
                           layout.getShape().str());
  SmallVector<Layout> kept;
  for (auto [part, mode] : llvm::zip(coord.getParts(), layout.getModes())) {
    Expected<std::optional<Layout>> rest = sliceOpen(mode, part, offset);
    if (!rest)
      return rest;
    if (*rest)
      kept.push_back(**rest);
  }
  if (kept.empty())
    return std::nullopt;
  if (kept.size() == 1)
    return std::optional(kept.front());
  Expected<Layout> joined = Layout::join(kept);
  if (!joined)
    return joined.takeError();
  return std::optional(*joined);
}

Expected<Slice> tilews::slice(const Layout &layout, const IntTuple &coord) {
  Slice result;
  Expected<std::optional<Layout>> rest =
      sliceOpen(layout, coord, result.offset);
  if (!rest)
    return rest.takeError();
  if (*rest)
    result.layout = **rest;
  return result;
}

Expected<Layout> tilews::expand(const Layout &layout, int64_t count,
                                int64_t alignment) {
  if (count < 1 || alignment < 1 || alignment > Layout::maxSize)
    return makeLayoutError("expected a positive number of versions and a "
                           "positive alignment, found ",
                           count, " and ", alignment);
  int64_t slot =
      multiply((layout.getCosize() + alignment - 1) / alignment, alignment);
  Expected<Layout> versions = Layout::get(count, count == 1 ? 0 : slot);
  if (!versions)
    return versions;
  std::vector<Layout> modes = layout.getModes();
  modes.insert(modes.begin(), *versions);
  return Layout::join(modes);
}

/// Drops the message of an operation that is only tried.
static bool succeeds(Expected<Layout> result) {
  if (result)
    return true;
  llvm::consumeError(result.takeError());
  return false;
}

Expected<int64_t> tilews::getCommonVector(const Layout &a, const Layout &b,
                                          int64_t limit) {
  if (a.getSize() != b.getSize())
    return makeLayoutError("the layouts ", a.str(), " and ", b.str(),
                           " differ in their number of elements");
  Layout inverse = rightInverse(b);
  for (int64_t count = std::min(limit, inverse.getSize()); count > 1; --count) {
    if (!succeeds(upcast(a, count)) || !succeeds(upcast(b, count)))
      continue;
    // The indices that `b` maps to 0, 1, ...; `a` must map them to the same.
    Expected<Layout> run =
        compose(inverse, llvm::cantFail(Layout::get(count, 1)));
    if (!run || !(run = compose(a, *run))) {
      llvm::consumeError(run.takeError());
      continue;
    }
    if (coalesce(*run) == llvm::cantFail(Layout::get(count, 1)))
      return count;
  }
  return 1;
}
