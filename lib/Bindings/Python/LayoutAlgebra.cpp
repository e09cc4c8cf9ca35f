//===- LayoutAlgebra.cpp - The layout algebra for Python ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutHelpers.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <cstdlib>
#include <optional>

using namespace tilews::python;

namespace {
//===----------------------------------------------------------------------===//
// Tuples and texts
//===----------------------------------------------------------------------===//

MlirStringRef toRef(const std::string &text) {
  return mlirStringRefCreate(text.data(), text.size());
}

/// Writes an integer, a nested tuple of them or, for None, an open place.
std::string toText(nb::handle tuple, int depth = 0) {
  if (tuple.is_none())
    return "_";
  if (nb::isinstance<nb::tuple>(tuple) || nb::isinstance<nb::list>(tuple)) {
    if (depth > 32)
      throw nb::value_error("a tuple is nested more than 32 deep");
    std::string text = "(";
    for (nb::handle part : tuple)
      text += (text.size() > 1 ? "," : "") + toText(part, depth + 1);
    return text + ")";
  }
  int64_t value;
  nb::object index = nb::steal(PyNumber_Index(tuple.ptr()));
  if (!index.is_valid() || !nb::try_cast(index, value)) {
    PyErr_Clear();
    std::string message =
        "expected an integer or a nested tuple of integers, found " +
        std::string(nb::repr(tuple).c_str());
    throw nb::type_error(message.c_str());
  }
  return std::to_string(value);
}

/// Reads a tuple that the library has written.
nb::object toTuple(const char *&text) {
  if (*text != '(') {
    char *end;
    int64_t value = std::strtoll(text, &end, 10);
    text = end;
    return nb::int_(value);
  }
  nb::list parts;
  do {
    ++text;
    parts.append(toTuple(text));
  } while (*text == ',');
  ++text;
  return nb::tuple(parts);
}

nb::object toTuple(const std::string &text) {
  const char *rest = text.c_str();
  return toTuple(rest);
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

/// Owns a layout of the C interface.
class Layout {
public:
  explicit Layout(TilewsLayout layout)
      : owner(layout.ptr, [](void *ptr) { tilewsLayoutDestroy({ptr}); }) {}
  static Layout parse(const std::string &text) {
    return call([&](TilewsReport report) {
      return tilewsLayoutParse(toRef(text), report);
    });
  }
  /// A layout, its text, or its shape and, if not without gaps, its strides.
  static Layout create(nb::object shape, nb::object stride) {
    if (nb::isinstance<Layout>(shape) && stride.is_none())
      return nb::cast<Layout>(shape);
    if (nb::isinstance<nb::str>(shape) && stride.is_none())
      return parse(nb::cast<std::string>(shape));
    std::string text = toText(shape);
    return parse(stride.is_none() ? text : text + ":" + toText(stride));
  }
  /// Calls a function that may fail.
  template <typename Function>
  static Layout call(Function function) {
    Report report;
    TilewsLayout result = function(report.get());
    report.check(result.ptr);
    return Layout(result);
  }

  TilewsLayout get() const { return {owner.get()}; }
  /// What a printing function writes.
  template <typename Function, typename... Arguments>
  std::string write(Function function, Arguments... arguments) const {
    std::string text;
    function(get(), arguments..., appendText, &text);
    return text;
  }
  std::string str() const { return write(tilewsLayoutPrint); }

  Layout transform(TilewsLayoutUnary kind) const {
    return call([&](TilewsReport report) {
      return tilewsLayoutTransform(kind, get(), report);
    });
  }
  Layout combine(TilewsLayoutBinary kind, const Layout &other) const {
    return call([&](TilewsReport report) {
      return tilewsLayoutCombine(kind, get(), other.get(), report);
    });
  }
  Layout tile(TilewsLayoutByMode kind, nb::handle tilers) const {
    std::vector<Layout> owned;
    std::vector<TilewsLayout> operands;
    for (nb::handle tiler : tilers) {
      owned.push_back(create(nb::borrow(tiler), nb::none()));
      operands.push_back(owned.back().get());
    }
    return call([&](TilewsReport report) {
      return tilewsLayoutTile(kind, get(), operands.size(), operands.data(),
                              report);
    });
  }
  Layout getMode(int64_t i) const {
    int64_t rank = tilewsLayoutGetRank(get());
    if (i < -rank || i >= rank)
      throw nb::index_error("the layout has no such mode");
    return Layout(tilewsLayoutGetMode(get(), i < 0 ? i + rank : i));
  }
  int64_t at(const std::string &coord) const {
    Report report;
    int64_t offset;
    report.check(tilewsLayoutAt(get(), toRef(coord), &offset, report.get()));
    return offset;
  }
  nb::object getCoord(int64_t index) const {
    if (index < 0 || index >= tilewsLayoutGetSize(get()))
      throw nb::index_error("the layout has no such index");
    return toTuple(write(tilewsLayoutPrintCoord, index));
  }
  nb::ndarray<nb::numpy, int64_t, nb::ndim<1>> getOffsets() const {
    int64_t size = tilewsLayoutGetSize(get());
    if (size > int64_t(1) << 28)
      throw nb::value_error("the layout has too many elements to list");
    auto data = std::make_unique<int64_t[]>(size);
    tilewsLayoutGetOffsets(get(), data.get());
    nb::capsule holder(data.get(), [](void *ptr) noexcept {
      delete[] static_cast<int64_t *>(ptr);
    });
    return nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>(data.release(),
                                                        {size_t(size)}, holder);
  }
  std::optional<std::tuple<nb::object, nb::object, int64_t>>
  findCollision() const {
    // The two messages arrive one after the other.
    std::string both;
    int64_t offset;
    auto appendSecond = [](MlirStringRef text, void *userData) {
      appendText(mlirStringRefCreate("|", 1), userData);
      appendText(text, userData);
    };
    Report report;
    report.check(tilewsLayoutFindCollision(get(), &offset, appendText,
                                           appendSecond, &both, report.get()));
    if (offset < 0)
      return std::nullopt;
    size_t middle = both.find('|');
    return std::tuple(toTuple(both.substr(0, middle)),
                      toTuple(both.substr(middle + 1)), offset);
  }
  bool isPlain() const {
    return tilewsLayoutGetSwizzle(get()).bits == 0 &&
           tilewsLayoutGetOffset(get()) == 0;
  }
  std::optional<int64_t> findGap() const {
    if (!isPlain())
      throw nb::value_error("gaps are found in layouts without a swizzle");
    int64_t gap = tilewsLayoutFindGap(get());
    return gap < 0 ? std::nullopt : std::optional(gap);
  }
  int64_t getCommonVector(const Layout &other, int64_t limit) const {
    Report report;
    int64_t vector;
    report.check(tilewsLayoutGetCommonVector(get(), other.get(), limit, &vector,
                                             report.get()));
    return vector;
  }

private:
  std::shared_ptr<void> owner;
};

//===----------------------------------------------------------------------===//
// Other layouts
//===----------------------------------------------------------------------===//

Layout fromShared(nb::handle shared, int64_t bits) {
  SharedOwner owner = takeShared(shared);
  return Layout::call([&](TilewsReport report) {
    return tilewsLayoutFromShared({owner.get()}, bits, report);
  });
}

nb::object toShared(const Layout &layout, int64_t bits) {
  Report report;
  TilewsSharedLayout shared =
      tilewsLayoutToShared(layout.get(), bits, report.get());
  report.check(shared.ptr);
  std::shared_ptr<void> owner(
      shared.ptr, [](void *ptr) { tilewsSharedLayoutDestroy({ptr}); });
  Modes modes;
  for (intptr_t i = 0, e = tilewsSharedLayoutGetNumModes(shared); i < e; ++i) {
    TilewsMode mode = tilewsSharedLayoutGetMode(shared, i);
    modes.emplace_back(mode.extent, mode.stride, mode.dim);
  }
  TilewsSwizzle swizzle = tilewsSharedLayoutGetSwizzle(shared);
  nb::object type = nb::module_::import_("tilews.layout").attr("SharedLayout");
  return type(modes, ModeTuple(swizzle.bits, swizzle.base, swizzle.shift));
}

Layout fromFragment(nb::handle fragment, const Ints &shape) {
  std::vector<TilewsMode> thread =
      toModes(nb::cast<Modes>(fragment.attr("thread")));
  std::vector<TilewsMode> value =
      toModes(nb::cast<Modes>(fragment.attr("value")));
  TilewsFragmentLayout source = tilewsFragmentLayoutCreate(
      thread.size(), thread.data(), value.size(), value.data());
  std::shared_ptr<void> owner(
      source.ptr, [](void *ptr) { tilewsFragmentLayoutDestroy({ptr}); });
  return Layout::call([&](TilewsReport report) {
    return tilewsLayoutFromFragment(source, shape.size(), shape.data(), report);
  });
}

nb::object toFragment(const Layout &layout, const Ints &shape) {
  Report report;
  TilewsFragmentLayout fragment = tilewsLayoutToFragment(
      layout.get(), shape.size(), shape.data(), report.get());
  report.check(fragment.ptr);
  std::shared_ptr<void> owner(
      fragment.ptr, [](void *ptr) { tilewsFragmentLayoutDestroy({ptr}); });
  Modes halves[2];
  for (bool ofThread : {true, false}) {
    intptr_t count = tilewsFragmentLayoutGetNumModes(fragment, ofThread);
    for (intptr_t i = 0; i < count; ++i) {
      TilewsMode mode = tilewsFragmentLayoutGetMode(fragment, ofThread, i);
      halves[!ofThread].emplace_back(mode.extent, mode.stride, mode.dim);
    }
  }
  return nb::module_::import_("tilews.layout")
      .attr("FragmentLayout")(halves[0], halves[1]);
}

/// A function that draws, kept in Python.
nb::object getPicture(const char *name) {
  return nb::module_::import_("tilews._layout_pictures").attr(name);
}
} // namespace

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

static void bindParts(nb::class_<Layout> &c) {
  c.def(nb::new_(&Layout::create), nb::arg("shape"),
        nb::arg("stride") = nb::none())
      .def_prop_ro(
          "shape",
          [](const Layout &l) {
            return toTuple(l.write(tilewsLayoutPrintShape));
          },
          "The nested extents.")
      .def_prop_ro(
          "stride",
          [](const Layout &l) {
            return toTuple(l.write(tilewsLayoutPrintStride));
          },
          "The nested strides, in elements.")
      .def_prop_ro(
          "swizzle",
          [](const Layout &l) {
            TilewsSwizzle s = tilewsLayoutGetSwizzle(l.get());
            return ModeTuple(s.bits, s.base, s.shift);
          },
          "(bits, base, shift) of the swizzle of offsets; bits 0 for none.")
      .def_prop_ro(
          "offset",
          [](const Layout &l) { return tilewsLayoutGetOffset(l.get()); },
          "What is added to offsets before the swizzle.")
      .def_prop_ro(
          "rank", [](const Layout &l) { return tilewsLayoutGetRank(l.get()); },
          "The number of modes.")
      .def_prop_ro(
          "depth",
          [](const Layout &l) { return tilewsLayoutGetDepth(l.get()); },
          "Levels of nesting; 0 for a single leaf.")
      .def_prop_ro(
          "size", [](const Layout &l) { return tilewsLayoutGetSize(l.get()); },
          "The number of elements.")
      .def_prop_ro(
          "cosize",
          [](const Layout &l) { return tilewsLayoutGetCosize(l.get()); },
          "One more than the largest offset; with a swizzle, rounded up to "
          "its\n"
          "atom.")
      .def("__len__",
           [](const Layout &l) { return tilewsLayoutGetRank(l.get()); })
      .def("__getitem__", &Layout::getMode, nb::arg("mode"),
           "A mode as a layout, without swizzle and offset.")
      .def(
          "__call__",
          [](const Layout &l, nb::args coord) {
            return l.at(toText(coord.size() == 1 ? nb::object(coord[0])
                                                 : nb::object(coord)));
          },
          "The offset at an index, or at a coordinate whose parts may be\n"
          "indices of whole modes. Raises ValueError outside of the shape.")
      .def("coord", &Layout::getCoord, nb::arg("index"),
           "The coordinate of an index; the first leaf is the fastest.")
      .def("offsets", &Layout::getOffsets,
           "The offsets of all indices, an int64 array of shape (size,).")
      .def(
          "__eq__",
          [](const Layout &a, nb::handle b) {
            return nb::isinstance<Layout>(b) &&
                   a.str() == nb::cast<Layout>(b).str();
          },
          nb::arg("other").none())
      .def("__hash__",
           [](const Layout &l) { return std::hash<std::string>()(l.str()); })
      .def("__str__", &Layout::str)
      .def("__repr__",
           [](const Layout &l) { return "Layout('" + l.str() + "')"; });
}

static void bindOperations(nb::class_<Layout> &c) {
  auto transform = [&](const char *name, TilewsLayoutUnary kind,
                       const char *doc) {
    c.def(name, [kind](const Layout &l) { return l.transform(kind); }, doc);
  };
  transform("coalesce", TilewsLayoutCoalesce,
            "The same offsets by index with as few leaves as it takes.");
  transform("coalesce_modes", TilewsLayoutCoalesceModes,
            "Each mode coalesced by itself.");
  transform("flatten", TilewsLayoutFlatten, "The same leaves, not nested.");
  transform("right_inverse", TilewsLayoutRightInverse,
            "The layout r with self(r(i)) == i, as long as whole modes give "
            "one.");
  transform("left_inverse", TilewsLayoutLeftInverse,
            "A layout l with l(self(i)) == i. Raises ValueError if modes\n"
            "overlap.");

  // A tile is one layout for all, or a sequence with one for each mode.
  auto combine = [&](const char *name, TilewsLayoutBinary kind,
                     TilewsLayoutByMode byMode, const char *doc) {
    c.def(
        name,
        [=](const Layout &l, nb::object other) {
          if (nb::isinstance<nb::tuple>(other) ||
              nb::isinstance<nb::list>(other))
            return l.tile(byMode, other);
          return l.combine(kind, Layout::create(other, nb::none()));
        },
        nb::arg("other"), doc);
  };
  combine("compose", TilewsLayoutCompose, TilewsLayoutByModeCompose,
          "The layout c -> self(other(c)); `other` may be a tuple of layouts\n"
          "for the first modes. Raises ValueError where that is no layout.");
  combine("__matmul__", TilewsLayoutCompose, TilewsLayoutByModeCompose,
          "Composition.");
  combine("logical_divide", TilewsLayoutLogicalDivide,
          TilewsLayoutByModeLogicalDivide,
          "(tile, rest): what the tile picks, and its repetitions; with a\n"
          "tuple of tiles, that for each mode. Where tiles do not fill the\n"
          "layout, the last one goes past its end.");
  combine("__truediv__", TilewsLayoutLogicalDivide,
          TilewsLayoutByModeLogicalDivide, "Logical division.");
  auto tile = [&](const char *name, TilewsLayoutByMode kind, const char *doc) {
    c.def(
        name,
        [kind](const Layout &l, nb::typed<nb::sequence, nb::object> tiles) {
          return l.tile(kind, tiles);
        },
        nb::arg("tiles"), doc);
  };
  tile("zipped_divide", TilewsLayoutByModeZippedDivide,
       "((tile0, tile1, ...), (rest0, rest1, ...)).");
  tile("tiled_divide", TilewsLayoutByModeTiledDivide,
       "((tile0, tile1, ...), rest0, rest1, ...).");

  auto product = [&](const char *name, TilewsLayoutBinary kind,
                     const char *doc) {
    c.def(
        name,
        [kind](const Layout &l, nb::object by) {
          return l.combine(kind, Layout::create(by, nb::none()));
        },
        nb::arg("by"), doc);
  };
  product("logical_product", TilewsLayoutLogicalProduct,
          "(self, repetition): this layout repeated in the order of `by`.");
  product("__mul__", TilewsLayoutLogicalProduct, "Logical product.");
  product("blocked_product", TilewsLayoutBlockedProduct,
          "((self0, by0), (self1, by1), ...): copies side by side.");
  product("raked_product", TilewsLayoutRakedProduct,
          "((by0, self0), (by1, self1), ...): copies interleaved.");
}

static void bindDerived(nb::class_<Layout> &c) {
  c.def(
       "complement",
       [](const Layout &l, int64_t size) {
         return Layout::call([&](TilewsReport report) {
           return tilewsLayoutComplement(l.get(), size, report);
         });
       },
       nb::arg("size"),
       "The layout of what this one leaves out of the offsets below `size`.")
      .def(
          "recast",
          [](const Layout &l, int64_t from, int64_t to) {
            return Layout::call([&](TilewsReport report) {
              return tilewsLayoutRecast(l.get(), from, to, report);
            });
          },
          nb::arg("from_bits"), nb::arg("to_bits"),
          "The layout of the same bits as elements of another width.")
      .def(
          "slice",
          [](const Layout &l, nb::args coord) {
            std::string text = toText(coord.size() == 1 ? nb::object(coord[0])
                                                        : nb::object(coord));
            return Layout::call([&](TilewsReport report) {
              return tilewsLayoutSlice(l.get(), toRef(text), report);
            });
          },
          "Fixes coordinates; None leaves a place open. What the fixed ones\n"
          "add is the result's `offset`.")
      .def(
          "expand",
          [](const Layout &l, int64_t count, int64_t alignment) {
            return Layout::call([&](TilewsReport report) {
              return tilewsLayoutExpand(l.get(), count, alignment, report);
            });
          },
          nb::arg("count"), nb::arg("alignment") = 1,
          "The layout of `count` versions: a leading mode that steps over "
          "this\n"
          "layout's elements, rounded up to a multiple of `alignment` and of\n"
          "the swizzle's atom.");
}

static nb::dict toDict(const TilewsBankConflicts &found) {
  nb::dict result;
  result["phases"] = found.phases;
  result["wavefronts"] = found.wavefronts;
  result["degree"] = found.degree;
  result["clash"] = found.first < 0
                        ? nb::object(nb::none())
                        : nb::object(nb::make_tuple(found.first, found.second));
  return result;
}

static void bindQueries(nb::class_<Layout> &c) {
  c.def("find_collision", &Layout::findCollision,
        "(coordinate, coordinate, offset) of two elements in one place; None\n"
        "if the layout is injective. Raises ValueError where many leaves with\n"
        "unrelated strides take too long to decide.")
      .def_prop_ro(
          "is_injective",
          [](const Layout &l) { return !l.findCollision().has_value(); },
          "Whether no two elements share an offset.")
      .def("find_gap", &Layout::findGap,
           "The smallest offset below the cosize that no element has, or None.")
      .def_prop_ro(
          "is_surjective",
          [](const Layout &l) { return !l.findGap().has_value(); },
          "Whether every offset below the cosize belongs to an element.")
      .def(
          "find_swizzled",
          [](const Layout &l) -> std::optional<int64_t> {
            int64_t index = tilewsLayoutFindSwizzled(l.get());
            return index < 0 ? std::nullopt : std::optional(index);
          },
          "An index whose offset the swizzle changes; None if it changes none.")
      .def(
          "common_vector",
          [](const Layout &l, nb::object other, int64_t limit) {
            return l.getCommonVector(Layout::create(other, nb::none()), limit);
          },
          nb::arg("other"), nb::arg("limit") = 1024,
          "The most elements that both layouts hold side by side, in the same\n"
          "order, at multiples of their number.")
      .def(
          "bank_conflicts",
          [](const Layout &l, int64_t bits, int64_t vector, int64_t warp) {
            Report report;
            TilewsBankConflicts found;
            report.check(tilewsLayoutGetBankConflicts(
                l.get(), bits, vector, warp, &found, report.get()));
            return toDict(found);
          },
          nb::arg("element_bits"), nb::arg("vector") = 1, nb::arg("warp") = 32,
          "The worst access of a layout (thread, value) by `vector` values:\n"
          "a dict of `phases`, `wavefronts`, `degree` and `clash`.");
}

static void bindConversions(nb::class_<Layout> &c) {
  c.def_static("from_shared", &fromShared, nb::arg("shared"),
               nb::arg("element_bits"), "A SharedLayout, one mode a dimension.")
      .def("to_shared", &toShared, nb::arg("element_bits"),
           "The SharedLayout whose dimensions are the modes.")
      .def_static(
          "from_fragment", &fromFragment, nb::arg("fragment"), nb::arg("shape"),
          "A FragmentLayout as (thread, value) -> the element's number\n"
          "in a box of `shape`, row by row.")
      .def("to_fragment", &toFragment, nb::arg("shape"),
           "The FragmentLayout of a layout (thread, value).")
      .def(
          "table", [](nb::handle self) { return getPicture("table")(self); },
          "A picture in text: rows are the first mode, columns the second.")
      .def(
          "plot",
          [](nb::handle self, nb::object path) {
            return getPicture("plot")(self, path);
          },
          nb::arg("path"), "Writes a picture, .svg or (with matplotlib) .png.");
}

void populateLayoutAlgebra(nb::module_ &layout) {
  nb::class_<Layout> c(
      layout, "Layout",
      "A hierarchical layout: a function from coordinates to offsets.\n\n"
      "Written `((2,4),8):((1,16),2)`, with the strides left out for a layout\n"
      "without gaps (first mode fastest), after `Sw<3,4,3> o ` for offsets\n"
      "that are swizzled, after `16 o ` for offsets that begin at 16. Raises\n"
      "ValueError for anything else.");
  bindParts(c);
  bindOperations(c);
  bindDerived(c);
  bindQueries(c);
  bindConversions(c);
  layout.def(
      "bank_conflicts",
      [](const Ints &offsets, int64_t bytes) {
        Report report;
        TilewsBankConflicts found;
        report.check(tilewsGetBankConflicts(offsets.size(), offsets.data(),
                                            bytes, &found, report.get()));
        return toDict(found);
      },
      nb::arg("byte_offsets"), nb::arg("bytes"),
      "How one access of `bytes` by each thread falls on 32 banks of 4 bytes.");
}
