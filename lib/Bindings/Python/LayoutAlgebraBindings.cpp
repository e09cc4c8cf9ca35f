//===- LayoutAlgebraBindings.cpp - The layout algebra for Python ----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The class `Layout` of Python: a layout of the algebra with Python's
// protocols. Arguments that stand for layouts may be a layout, its text, or
// nested tuples; all are turned into text and parsed by the library, so there
// is one parser and one set of messages:
//
//   Layout((4, 8), (8, 1)), Layout("(4,8):(8,1)")
//
//===----------------------------------------------------------------------===//

#include "LayoutObject.h"

using namespace tilews::python;

/// Binds the parts of a layout, and its sizes.
static void bindParts(nb::class_<PyLayout> &c) {
  c.def(nb::new_(&PyLayout::create), nb::arg("shape"),
        nb::arg("stride") = nb::none())
      .def_prop_ro(
          "shape",
          [](const PyLayout &l) {
            return toTuple(l.write(tilewsLayoutPrintShape));
          },
          "The nested extents.")
      .def_prop_ro(
          "stride",
          [](const PyLayout &l) {
            return toTuple(l.write(tilewsLayoutPrintStride));
          },
          "The nested strides, in elements.")
      .def_prop_ro(
          "swizzle",
          [](const PyLayout &l) {
            TilewsSwizzle s = tilewsLayoutGetSwizzle(l.get());
            return ModeTuple(s.bits, s.base, s.shift);
          },
          "(bits, base, shift) of the swizzle of offsets; bits 0 for none.")
      .def_prop_ro(
          "offset",
          [](const PyLayout &l) { return tilewsLayoutGetOffset(l.get()); },
          "What is added to offsets before the swizzle.")
      .def_prop_ro(
          "rank",
          [](const PyLayout &l) { return tilewsLayoutGetRank(l.get()); },
          "The number of modes.")
      .def_prop_ro(
          "depth",
          [](const PyLayout &l) { return tilewsLayoutGetDepth(l.get()); },
          "Levels of nesting; 0 for a single leaf.")
      .def_prop_ro(
          "size",
          [](const PyLayout &l) { return tilewsLayoutGetSize(l.get()); },
          "The number of elements.")
      .def_prop_ro(
          "cosize",
          [](const PyLayout &l) { return tilewsLayoutGetCosize(l.get()); },
          "One more than the largest offset; with a swizzle, rounded up to "
          "its\n"
          "atom.");
}

/// Binds calls of a layout with a coordinate, and Python's protocols.
static void bindCalls(nb::class_<PyLayout> &c) {
  c.def("__len__",
        [](const PyLayout &l) { return tilewsLayoutGetRank(l.get()); })
      .def("__getitem__", &PyLayout::getMode, nb::arg("mode"),
           "A mode as a layout, without swizzle and offset.")
      .def(
          "__call__",
          [](const PyLayout &l, const nb::args &coord) {
            return l.at(toText(coord.size() == 1 ? nb::object(coord[0])
                                                 : nb::object(coord)));
          },
          "The offset at an index, or at a coordinate whose parts may be\n"
          "indices of whole modes. Raises ValueError outside of the shape.")
      .def("coord", &PyLayout::getCoord, nb::arg("index"),
           "The coordinate of an index; the first leaf is the fastest.")
      .def("offsets", &PyLayout::getOffsets,
           "The offsets of all indices, an int64 array of shape (size,).")
      .def(
          "__eq__",
          [](const PyLayout &a, nb::handle b) {
            return nb::isinstance<PyLayout>(b) &&
                   a.str() == nb::cast<PyLayout>(b).str();
          },
          nb::arg("other").none())
      .def("__hash__",
           [](const PyLayout &l) { return std::hash<std::string>()(l.str()); })
      .def("__str__", &PyLayout::str)
      .def("__repr__",
           [](const PyLayout &l) { return "Layout('" + l.str() + "')"; });
}

/// Binds operations on one layout.
static void bindTransforms(nb::class_<PyLayout> &c) {
  auto transform = [&](const char *name, TilewsLayoutUnary kind,
                       const char *doc) {
    c.def(name, [kind](const PyLayout &l) { return l.transform(kind); }, doc);
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
}

/// Binds composition and divisions. A tile is one layout for all modes, or a
/// sequence with one layout for each mode.
static void bindDivisions(nb::class_<PyLayout> &c) {
  auto combine = [&](const char *name, TilewsLayoutBinary kind,
                     TilewsLayoutByMode byMode, const char *doc) {
    c.def(
        name,
        [=](const PyLayout &l, const nb::object &other) {
          if (nb::isinstance<nb::tuple>(other) ||
              nb::isinstance<nb::list>(other))
            return l.tile(byMode, other);
          return l.combine(kind, PyLayout::create(other, nb::none()));
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
        [kind](const PyLayout &l,
               const nb::typed<nb::sequence, nb::object> &tiles) {
          return l.tile(kind, tiles);
        },
        nb::arg("tiles"), doc);
  };
  tile("zipped_divide", TilewsLayoutByModeZippedDivide,
       "((tile0, tile1, ...), (rest0, rest1, ...)).");
  tile("tiled_divide", TilewsLayoutByModeTiledDivide,
       "((tile0, tile1, ...), rest0, rest1, ...).");
}

/// Binds the products of the layout algebra, which repeat a layout.
static void bindProducts(nb::class_<PyLayout> &c) {
  auto product = [&](const char *name, TilewsLayoutBinary kind,
                     const char *doc) {
    c.def(
        name,
        [kind](const PyLayout &l, const nb::object &by) {
          return l.combine(kind, PyLayout::create(by, nb::none()));
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

void populateLayoutAlgebra(nb::module_ &layout) {
  nb::class_<PyLayout> c(
      layout, "Layout",
      "A hierarchical layout: a function from coordinates to offsets.\n\n"
      "Written `((2,4),8):((1,16),2)`, with the strides left out for a layout\n"
      "without gaps (first mode fastest), after `Sw<3,4,3> o ` for offsets\n"
      "that are swizzled, after `16 o ` for offsets that begin at 16. Raises\n"
      "ValueError for anything else.");
  bindParts(c);
  bindCalls(c);
  bindTransforms(c);
  bindDivisions(c);
  bindProducts(c);
  bindLayoutQueries(c);
}
