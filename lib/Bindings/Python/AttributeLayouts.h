//===- AttributeLayouts.h - Layouts of attributes, for Python ---*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_BINDINGS_PYTHON_ATTRIBUTELAYOUTS_H
#define TILEWS_BINDINGS_PYTHON_ATTRIBUTELAYOUTS_H

#include "LayoutHelpers.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>

namespace tilews::python {

[[noreturn]] inline void fail(const std::string &message) {
  throw nb::value_error(message.c_str());
}

inline void require(bool condition, const char *message) {
  if (!condition)
    fail(message);
}

inline std::vector<TilewsMode> checkModes(const Modes &modes) {
  for (auto [extent, stride, dim] : modes)
    if (extent < 1 || stride < 0 || dim < 0 || dim > 255)
      fail("expected modes (extent, stride, dimension) with a positive extent "
           "and no negative number, found (" +
           std::to_string(extent) + ", " + std::to_string(stride) + ", " +
           std::to_string(dim) + ")");
  return toModes(modes);
}

inline void checkShape(const Ints &shape) {
  for (int64_t extent : shape)
    if (extent < 1)
      fail("expected positive extents, found " + std::to_string(extent));
}

inline void checkBits(int64_t bits) {
  require(bits >= 1 && bits <= 128, "expected elements of 1 to 128 bits");
}

//===----------------------------------------------------------------------===//
// SharedLayout
//===----------------------------------------------------------------------===//

/// The class `SharedLayout` of Python. Owns a layout of the C interface.
class PySharedLayout {
public:
  explicit PySharedLayout(TilewsSharedLayout layout)
      : owner(layout.ptr, [](void *ptr) { tilewsSharedLayoutDestroy({ptr}); }) {
  }
  static PySharedLayout create(const Modes &modes, const ModeTuple &swizzle) {
    std::vector<TilewsMode> checked = checkModes(modes);
    for (size_t i = 0; i < checked.size(); ++i)
      require(checked[i].dim == (i == 0 ? 0 : checked[i - 1].dim) ||
                  (i > 0 && checked[i].dim == checked[i - 1].dim + 1),
              "modes have to be grouped by dimension, from dimension 0");
    auto [bits, base, shift] = swizzle;
    require(bits >= 0 && base >= 0 && bits <= shift &&
                bits + base + shift <= 20,
            "a swizzle (bits, base, shift) needs 0 <= bits <= shift, 0 <= base "
            "and a sum of at most 20");
    return PySharedLayout(tilewsSharedLayoutCreate(
        checked.size(), checked.data(), {bits, base, shift}));
  }
  static PySharedLayout rowMajor(const Ints &shape) {
    checkShape(shape);
    return PySharedLayout(
        tilewsSharedLayoutRowMajor(shape.size(), shape.data()));
  }
  static PySharedLayout panels(const Ints &shape, int64_t bits, int64_t span,
                               int64_t chunk) {
    checkRows(shape, bits, chunk);
    require(span == 0 || span == 16 || span == 32 || span == 64 || span == 128,
            "expected a span of 0, 16, 32, 64 or 128 bytes");
    return PySharedLayout(tilewsSharedLayoutPanels(shape.size(), shape.data(),
                                                   bits, span, chunk));
  }
  static PySharedLayout padded(const Ints &shape, int64_t bits, int64_t chunk) {
    checkRows(shape, bits, chunk);
    return PySharedLayout(
        tilewsSharedLayoutPadded(shape.size(), shape.data(), bits, chunk));
  }

  TilewsSharedLayout get() const { return {owner.get()}; }
  Modes getModes() const {
    Modes modes;
    for (intptr_t i = 0, e = tilewsSharedLayoutGetNumModes(get()); i < e; ++i) {
      TilewsMode mode = tilewsSharedLayoutGetMode(get(), i);
      modes.emplace_back(mode.extent, mode.stride, mode.dim);
    }
    return modes;
  }
  ModeTuple getSwizzle() const {
    TilewsSwizzle swizzle = tilewsSharedLayoutGetSwizzle(get());
    return {swizzle.bits, swizzle.base, swizzle.shift};
  }
  Ints getShape() const {
    Ints shape;
    for (auto [extent, stride, dim] : getModes()) {
      shape.resize(dim + 1, 1);
      shape[dim] *= extent;
    }
    return shape;
  }
  int64_t getOffset(const Ints &coords, int64_t bits) const {
    checkBits(bits);
    Ints shape = getShape();
    require(coords.size() == shape.size(),
            "expected one coordinate a dimension");
    for (size_t dim = 0; dim < shape.size(); ++dim)
      require(coords[dim] >= 0 && coords[dim] < shape[dim],
              "a coordinate is outside of the layout's shape");
    return tilewsSharedLayoutGetOffset(get(), coords.size(), coords.data(),
                                       bits);
  }
  std::optional<PySharedLayout> view(const Ints &shape, int64_t from,
                                     int64_t to) const {
    checkShape(shape);
    checkBits(from);
    checkBits(to);
    int64_t ownBits = from, bits = to;
    for (int64_t extent : getShape())
      ownBits *= extent;
    for (int64_t extent : shape)
      bits *= extent;
    require(ownBits == bits, "a view has as many bits as its source");
    TilewsSharedLayout result =
        tilewsSharedLayoutView(get(), shape.size(), shape.data(), from, to);
    if (!result.ptr)
      return std::nullopt;
    return PySharedLayout(result);
  }

  PySharedLayout expand(int64_t versions, int64_t bits) const {
    Report report;
    TilewsSharedLayout result =
        tilewsSharedLayoutExpand(get(), versions, bits, report.get());
    report.check(result.ptr);
    return PySharedLayout(result);
  }
  PySharedLayout getSlot(int64_t bits) const {
    checkBits(bits);
    require(!getShape().empty(), "expected a leading dimension of versions");
    Report report;
    TilewsSharedLayout result =
        tilewsSharedLayoutGetSlot(get(), bits, report.get());
    report.check(result.ptr);
    return PySharedLayout(result);
  }

private:
  static void checkRows(const Ints &shape, int64_t bits, int64_t chunk) {
    checkShape(shape);
    checkBits(bits);
    require(!shape.empty(), "expected at least one dimension");
    require(chunk == 4 || chunk == 8 || chunk == 16,
            "expected chunks of 4, 8 or 16 bytes");
  }

  std::shared_ptr<void> owner;
};

//===----------------------------------------------------------------------===//
// FragmentLayout
//===----------------------------------------------------------------------===//

/// The class `FragmentLayout` of Python. Owns a layout of the C interface.
class PyFragmentLayout {
public:
  explicit PyFragmentLayout(TilewsFragmentLayout layout)
      : owner(layout.ptr,
              [](void *ptr) { tilewsFragmentLayoutDestroy({ptr}); }) {}
  static PyFragmentLayout create(const Modes &thread, const Modes &value) {
    std::vector<TilewsMode> t = checkModes(thread), v = checkModes(value);
    return PyFragmentLayout(
        tilewsFragmentLayoutCreate(t.size(), t.data(), v.size(), v.data()));
  }
  static PyFragmentLayout blocked(const Ints &shape, int64_t threads,
                                  int64_t vector) {
    checkShape(shape);
    require(threads >= 1 && threads <= 1024, "expected 1 to 1024 threads");
    require(vector >= 1, "expected a vector of at least one element");
    return PyFragmentLayout(tilewsFragmentLayoutBlocked(
        shape.size(), shape.data(), threads, vector));
  }

  TilewsFragmentLayout get() const { return {owner.get()}; }
  Modes getModes(bool ofThread) const {
    Modes modes;
    intptr_t count = tilewsFragmentLayoutGetNumModes(get(), ofThread);
    for (intptr_t i = 0; i < count; ++i) {
      TilewsMode mode = tilewsFragmentLayoutGetMode(get(), ofThread, i);
      modes.emplace_back(mode.extent, mode.stride, mode.dim);
    }
    return modes;
  }
  int64_t getSize(bool ofThread) const {
    int64_t size = 1;
    for (auto [extent, stride, dim] : getModes(ofThread))
      size *= extent;
    return size;
  }
  /// Returns all coordinates, as an array (thread, register, dimension).
  nb::ndarray<nb::numpy, int64_t, nb::ndim<3>> getTable(int64_t rank) const {
    checkRank(rank);
    int64_t threads = getSize(true), values = getSize(false);
    auto data = std::make_unique<int64_t[]>(threads * values * rank);
    for (int64_t thread = 0; thread < threads; ++thread)
      for (int64_t value = 0; value < values; ++value)
        tilewsFragmentLayoutGetCoords(get(), thread, value, rank,
                                      data.get() +
                                          (thread * values + value) * rank);
    nb::capsule holder(data.get(), [](void *ptr) noexcept {
      delete[] static_cast<int64_t *>(ptr);
    });
    return nb::ndarray<nb::numpy, int64_t, nb::ndim<3>>(
        data.release(), {size_t(threads), size_t(values), size_t(rank)},
        holder);
  }
  PyFragmentLayout transpose(const Ints &permutation) const {
    checkRank(permutation.size());
    std::vector<bool> seen(permutation.size(), false);
    for (int64_t dim : permutation) {
      require(dim >= 0 && dim < int64_t(seen.size()) && !seen[dim],
              "expected a permutation of the dimensions");
      seen[dim] = true;
    }
    return PyFragmentLayout(tilewsFragmentLayoutTranspose(
        get(), permutation.size(), permutation.data()));
  }
  std::optional<PyFragmentLayout> reshape(const Ints &from,
                                          const Ints &to) const {
    checkShape(from);
    checkShape(to);
    checkRank(from.size());
    int64_t before = 1, after = 1;
    for (int64_t extent : from)
      before *= extent;
    for (int64_t extent : to)
      after *= extent;
    require(before == after, "shapes differ in their number of elements");
    TilewsFragmentLayout result = tilewsFragmentLayoutReshape(
        get(), from.size(), from.data(), to.size(), to.data());
    if (!result.ptr)
      return std::nullopt;
    return PyFragmentLayout(result);
  }

private:
  void checkRank(int64_t rank) const {
    for (bool ofThread : {true, false})
      for (auto [extent, stride, dim] : getModes(ofThread))
        require(stride == 0 || dim < rank,
                "the layout has a mode along a dimension past the rank");
  }

  std::shared_ptr<void> owner;
};

} // namespace tilews::python

#endif // TILEWS_BINDINGS_PYTHON_ATTRIBUTELAYOUTS_H
