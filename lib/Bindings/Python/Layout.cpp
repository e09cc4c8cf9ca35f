//===- Layout.cpp - Layouts for Python ------------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews-c/Layout.h"

#include "LayoutHelpers.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>

using namespace tilews::python;

namespace {
[[noreturn]] void fail(const std::string &message) {
  throw nb::value_error(message.c_str());
}

void require(bool condition, const char *message) {
  if (!condition)
    fail(message);
}

std::vector<TilewsMode> checkModes(const Modes &modes) {
  for (auto [extent, stride, dim] : modes)
    if (extent < 1 || stride < 0 || dim < 0 || dim > 255)
      fail("expected modes (extent, stride, dimension) with a positive extent "
           "and no negative number, found (" +
           std::to_string(extent) + ", " + std::to_string(stride) + ", " +
           std::to_string(dim) + ")");
  return toModes(modes);
}

void checkShape(const Ints &shape) {
  for (int64_t extent : shape)
    if (extent < 1)
      fail("expected positive extents, found " + std::to_string(extent));
}

void checkBits(int64_t bits) {
  require(bits >= 1 && bits <= 128, "expected elements of 1 to 128 bits");
}

//===----------------------------------------------------------------------===//
// SharedLayout
//===----------------------------------------------------------------------===//

/// Owns a layout of the C interface.
class SharedLayout {
public:
  explicit SharedLayout(TilewsSharedLayout layout)
      : owner(layout.ptr, [](void *ptr) { tilewsSharedLayoutDestroy({ptr}); }) {
  }
  static SharedLayout create(const Modes &modes, const ModeTuple &swizzle) {
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
    return SharedLayout(tilewsSharedLayoutCreate(checked.size(), checked.data(),
                                                 {bits, base, shift}));
  }
  static SharedLayout rowMajor(const Ints &shape) {
    checkShape(shape);
    return SharedLayout(tilewsSharedLayoutRowMajor(shape.size(), shape.data()));
  }
  static SharedLayout panels(const Ints &shape, int64_t bits, int64_t span,
                             int64_t chunk) {
    checkRows(shape, bits, chunk);
    require(span == 0 || span == 16 || span == 32 || span == 64 || span == 128,
            "expected a span of 0, 16, 32, 64 or 128 bytes");
    return SharedLayout(tilewsSharedLayoutPanels(shape.size(), shape.data(),
                                                 bits, span, chunk));
  }
  static SharedLayout padded(const Ints &shape, int64_t bits, int64_t chunk) {
    checkRows(shape, bits, chunk);
    return SharedLayout(
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
  std::optional<SharedLayout> view(const Ints &shape, int64_t from,
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
    return SharedLayout(result);
  }

  SharedLayout expand(int64_t versions, int64_t bits) const {
    Report report;
    TilewsSharedLayout result =
        tilewsSharedLayoutExpand(get(), versions, bits, report.get());
    report.check(result.ptr);
    return SharedLayout(result);
  }
  SharedLayout getSlot(int64_t bits) const {
    checkBits(bits);
    require(!getShape().empty(), "expected a leading dimension of versions");
    Report report;
    TilewsSharedLayout result =
        tilewsSharedLayoutGetSlot(get(), bits, report.get());
    report.check(result.ptr);
    return SharedLayout(result);
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

/// Owns a layout of the C interface.
class FragmentLayout {
public:
  explicit FragmentLayout(TilewsFragmentLayout layout)
      : owner(layout.ptr,
              [](void *ptr) { tilewsFragmentLayoutDestroy({ptr}); }) {}
  static FragmentLayout create(const Modes &thread, const Modes &value) {
    std::vector<TilewsMode> t = checkModes(thread), v = checkModes(value);
    return FragmentLayout(
        tilewsFragmentLayoutCreate(t.size(), t.data(), v.size(), v.data()));
  }
  static FragmentLayout blocked(const Ints &shape, int64_t threads,
                                int64_t vector) {
    checkShape(shape);
    require(threads >= 1 && threads <= 1024, "expected 1 to 1024 threads");
    require(vector >= 1, "expected a vector of at least one element");
    return FragmentLayout(tilewsFragmentLayoutBlocked(
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
  /// All coordinates, as an array (thread, register, dimension).
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
  FragmentLayout transpose(const Ints &permutation) const {
    checkRank(permutation.size());
    std::vector<bool> seen(permutation.size(), false);
    for (int64_t dim : permutation) {
      require(dim >= 0 && dim < int64_t(seen.size()) && !seen[dim],
              "expected a permutation of the dimensions");
      seen[dim] = true;
    }
    return FragmentLayout(tilewsFragmentLayoutTranspose(
        get(), permutation.size(), permutation.data()));
  }
  std::optional<FragmentLayout> reshape(const Ints &from,
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
    return FragmentLayout(result);
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

/// A matrix instruction, which shares its layouts with Python.
struct Mma {
  explicit Mma(TilewsMma mma) : mma(mma), lhs(mma.lhs), acc(mma.acc) {
    if (mma.rhs.ptr)
      rhs = FragmentLayout(mma.rhs);
  }
  FragmentLayout getLayout(const std::string &operand,
                           std::tuple<int64_t, int64_t> grid, int64_t rows,
                           int64_t columns) const {
    TilewsMmaOperand which = TilewsMmaOperandAcc;
    if (operand == "lhs")
      which = TilewsMmaOperandLhs;
    else if (operand == "rhs")
      which = TilewsMmaOperandRhs;
    else
      require(operand == "acc", "expected 'lhs', 'rhs' or 'acc'");
    require(which != TilewsMmaOperandRhs || rhs,
            "the right operand of this instruction is in shared memory");
    auto [m, n] = grid;
    require(m > 0 && n > 0 && rows > 0 && columns > 0,
            "expected positive extents");
    return FragmentLayout(tilewsMmaGetLayout(mma, which, m, n, rows, columns));
  }
  std::tuple<int64_t, int64_t> getGrid(int64_t groups, int64_t m, int64_t n,
                                       const std::string &policy) const {
    int shape = policy == "full_row" ? 1 : policy == "full_col" ? 2 : 0;
    require(shape != 0 || policy == "square",
            "expected 'square', 'full_row' or 'full_col'");
    require(groups > 0 && m > 0 && n > 0, "expected positive extents");
    int64_t gridM, gridN;
    tilewsMmaGetWarpGrid(mma, groups, m, n, shape, &gridM, &gridN);
    return {gridM, gridN};
  }

  TilewsMma mma;
  FragmentLayout lhs, acc;
  std::optional<FragmentLayout> rhs;
};
} // namespace

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

static void bindSharedLayout(nb::module_ &m) {
  nb::class_<SharedLayout>(
      m, "SharedLayout",
      "Where each element of a shared memory buffer lies.\n\n"
      "Modes are (extent, stride, dimension), grouped by dimension, a group's\n"
      "first mode fastest. The swizzle (bits, base, shift) XORs bits of the\n"
      "byte offset. Raises ValueError for modes that are no layout.")
      .def(nb::new_(&SharedLayout::create), nb::arg("modes"),
           nb::arg("swizzle") = ModeTuple(0, 4, 3))
      .def_static("row_major", &SharedLayout::rowMajor, nb::arg("shape"),
                  "The layout without gaps, last dimension fastest.")
      .def_static("panels", &SharedLayout::panels, nb::arg("shape"),
                  nb::arg("element_bits"), nb::arg("span_bytes"),
                  nb::arg("chunk_bytes") = 16,
                  "Rows cut into panels of `span_bytes`, whose chunks are\n"
                  "swizzled; row-major where the span does not divide a row.")
      .def_static("padded", &SharedLayout::padded, nb::arg("shape"),
                  nb::arg("element_bits"), nb::arg("chunk_bytes") = 16,
                  "Rows that begin at odd multiples of `chunk_bytes`.")
      .def_prop_ro("modes", &SharedLayout::getModes)
      .def_prop_ro("swizzle", &SharedLayout::getSwizzle)
      .def_prop_ro("shape", &SharedLayout::getShape)
      .def("offset", &SharedLayout::getOffset, nb::arg("coords"),
           nb::arg("element_bits"), "The offset of an element, in elements.")
      .def(
          "cosize",
          [](const SharedLayout &self, int64_t bits) {
            checkBits(bits);
            return tilewsSharedLayoutGetCosize(self.get(), bits);
          },
          nb::arg("element_bits"), "One more than the largest offset.")
      .def(
          "contiguity",
          [](const SharedLayout &self, int64_t bits) {
            checkBits(bits);
            return tilewsSharedLayoutGetContiguity(self.get(), bits);
          },
          nb::arg("element_bits"),
          "Elements along the last dimension that are adjacent and aligned,\n"
          "starting at any multiple of that number.")
      .def("view", &SharedLayout::view, nb::arg("shape"), nb::arg("from_bits"),
           nb::arg("to_bits"),
           "The layout that places the same bytes under another shape and\n"
           "element width; None if there is none.")
      .def(
          "expand", &SharedLayout::expand, nb::arg("versions"),
          nb::arg("element_bits"),
          "The layout of versions behind a new leading dimension; a slot is a\n"
          "multiple of the swizzle's atom and of 128 bytes.")
      .def("slot", &SharedLayout::getSlot, nb::arg("element_bits"),
           "The layout of one version. Raises ValueError if slots are no\n"
           "multiple of the swizzle's atom.")
      .def("__eq__", [](const SharedLayout &a, const SharedLayout &b) {
        return a.getModes() == b.getModes() && a.getSwizzle() == b.getSwizzle();
      });
}

static void bindFragmentLayout(nb::module_ &m) {
  auto derive = [](auto function) {
    return [function](const FragmentLayout &self, int64_t dim) {
      require(dim >= 0, "expected a dimension that is not negative");
      return FragmentLayout(function(self.get(), dim));
    };
  };
  nb::class_<FragmentLayout>(
      m, "FragmentLayout",
      "Which register of which thread holds which element of a fragment.\n\n"
      "Modes are (extent, stride, dimension), the first one fastest; stride 0\n"
      "repeats. Raises ValueError for modes that are no layout.")
      .def(nb::new_(&FragmentLayout::create), nb::arg("thread"),
           nb::arg("value"))
      .def_static("blocked", &FragmentLayout::blocked, nb::arg("shape"),
                  nb::arg("threads"), nb::arg("vector") = 1,
                  "A layout for plain access by vectors along the last\n"
                  "dimension; covers any shape with any number of threads.")
      .def_prop_ro(
          "thread",
          [](const FragmentLayout &self) { return self.getModes(true); })
      .def_prop_ro(
          "value",
          [](const FragmentLayout &self) { return self.getModes(false); })
      .def_prop_ro(
          "threads",
          [](const FragmentLayout &self) { return self.getSize(true); })
      .def_prop_ro(
          "registers",
          [](const FragmentLayout &self) { return self.getSize(false); })
      .def("table", &FragmentLayout::getTable, nb::arg("rank"),
           "All coordinates as an int64 array (thread, register, dimension).")
      .def(
          "contiguity",
          [](const FragmentLayout &self, int64_t dim) {
            return tilewsFragmentLayoutGetContiguity(self.get(), dim);
          },
          nb::arg("dim"), "Registers that are adjacent along `dim`.")
      .def(
          "coalesce",
          [](const FragmentLayout &self) {
            return FragmentLayout(tilewsFragmentLayoutCoalesce(self.get()));
          },
          "The same map with as few modes as it takes.")
      .def("collapse_dim", derive(tilewsFragmentLayoutCollapseDim),
           nb::arg("dim"), "The layout with extent one along `dim`.")
      .def("drop_dim", derive(tilewsFragmentLayoutDropDim), nb::arg("dim"),
           "The layout when `dim` is reduced away.")
      .def("insert_dim", derive(tilewsFragmentLayoutInsertDim), nb::arg("dim"),
           "The layout with a new dimension of extent one.")
      .def(
          "picture",
          [](nb::handle self, nb::handle shape) {
            return nb::module_::import_("tilews._layout_pictures")
                .attr("fragment_table")(self, shape);
          },
          nb::arg("shape"),
          "A text with thread and value of each element of `shape`.")
      .def(
          "plot",
          [](nb::handle self, nb::handle shape, nb::handle path) {
            nb::module_::import_("tilews._layout_pictures")
                .attr("plot_fragment")(self, shape, path);
          },
          nb::arg("shape"), nb::arg("path"),
          "Writes that picture, .svg or (with matplotlib) .png.")
      .def("transpose", &FragmentLayout::transpose, nb::arg("permutation"),
           "Dimension i becomes dimension `permutation[i]` of this layout.")
      .def("reshape", &FragmentLayout::reshape, nb::arg("source"),
           nb::arg("result"),
           "The layout in which every register keeps its element when the\n"
           "shape changes, row by row; None if there is none.")
      .def("__eq__", [](const FragmentLayout &a, const FragmentLayout &b) {
        return a.getModes(true) == b.getModes(true) &&
               a.getModes(false) == b.getModes(false);
      });
}

static void bindMma(nb::module_ &m) {
  nb::class_<Mma>(m, "Mma",
                  "A matrix instruction and the layouts of its operands:\n"
                  "(m, k) on the left, (k, n) on the right, (m, n) for the\n"
                  "accumulator. `rhs` is None if it is in shared memory.")
      .def_prop_ro("m", [](const Mma &self) { return self.mma.m; })
      .def_prop_ro("n", [](const Mma &self) { return self.mma.n; })
      .def_prop_ro("k", [](const Mma &self) { return self.mma.k; })
      .def_ro("lhs", &Mma::lhs)
      .def_ro("rhs", &Mma::rhs)
      .def_ro("acc", &Mma::acc)
      .def("grid", &Mma::getGrid, nb::arg("groups"), nb::arg("m"), nb::arg("n"),
           nb::arg("policy") = "square",
           "How many warps (or warpgroups) share the rows and the columns.")
      .def("layout", &Mma::getLayout, nb::arg("operand"), nb::arg("grid"),
           nb::arg("rows"), nb::arg("columns"),
           "The layout of an operand of a whole product over a grid.");
  m.def(
      "mma_sync",
      [](int64_t bits) {
        require(bits == 8 || bits == 16 || bits == 32 || bits == 64,
                "mma.sync has operands of 8, 16, 32 or 64 bits");
        return Mma(tilewsMmaSync(bits));
      },
      nb::arg("operand_bits"), "NVIDIA's mma.sync.");
  m.def(
      "wgmma",
      [](int64_t n, int64_t bits) {
        require(n >= 8 && n <= 256 && n % 8 == 0,
                "wgmma has 8 to 256 columns, a multiple of 8");
        require(bits == 8 || bits == 16 || bits == 32,
                "wgmma has operands of 8, 16 or 32 bits");
        return Mma(tilewsWgmma(n, bits));
      },
      nb::arg("n"), nb::arg("operand_bits"), "Hopper's wgmma.");
  m.def(
      "mfma",
      [](int64_t size, int64_t k) {
        require(size == 16 || size == 32, "mfma is 16x16 or 32x32");
        require(k >= 64 / size && k % (64 / size) == 0,
                "K has to be a multiple of the lanes along it");
        return Mma(tilewsMfma(size, k));
      },
      nb::arg("size"), nb::arg("k"), "CDNA's mfma.");
  m.def("wmma_gfx11", [] { return Mma(tilewsWmmaGfx11()); }, "RDNA3's wmma.");
  m.def("wmma_gfx12", [] { return Mma(tilewsWmmaGfx12()); }, "RDNA4's wmma.");
}

void populateLayoutAlgebra(nb::module_ &layout);
void populateBankConflicts(nb::module_ &layout);
void populateLayoutMemory(nb::module_ &layout);

void populateLayouts(nb::module_ &m) {
  nb::module_ layout = m.def_submodule("layout", "Layouts without IR");
  bindSharedLayout(layout);
  bindFragmentLayout(layout);
  bindMma(layout);
  populateLayoutAlgebra(layout);
  populateBankConflicts(layout);
  populateLayoutMemory(layout);
}
