//===- LayoutBindings.cpp - Layouts for Python ----------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The classes `SharedLayout` and `FragmentLayout` of Python, the layouts that
// attributes of the dialect hold. The C interface does not check its arguments,
// so every value from Python is checked here before the call, and errors are
// ValueErrors that say what was expected and found.
//
//===----------------------------------------------------------------------===//

#include "AttributeLayouts.h"

using namespace tilews::python;

static void bindSharedLayout(nb::module_ &m) {
  nb::class_<PySharedLayout>(
      m, "SharedLayout",
      "Where each element of a shared memory buffer lies.\n\n"
      "Modes are (extent, stride, dimension), grouped by dimension, a group's\n"
      "first mode fastest. The swizzle (bits, base, shift) XORs bits of the\n"
      "byte offset. Raises ValueError for modes that are no layout.")
      .def(nb::new_(&PySharedLayout::create), nb::arg("modes"),
           nb::arg("swizzle") = ModeTuple(0, 4, 3))
      .def_static("row_major", &PySharedLayout::rowMajor, nb::arg("shape"),
                  "The layout without gaps, last dimension fastest.")
      .def_static("panels", &PySharedLayout::panels, nb::arg("shape"),
                  nb::arg("element_bits"), nb::arg("span_bytes"),
                  nb::arg("chunk_bytes") = 16,
                  "Rows cut into panels of `span_bytes`, whose chunks are\n"
                  "swizzled; row-major where the span does not divide a row.")
      .def_static("padded", &PySharedLayout::padded, nb::arg("shape"),
                  nb::arg("element_bits"), nb::arg("chunk_bytes") = 16,
                  "Rows that begin at odd multiples of `chunk_bytes`.")
      .def_prop_ro("modes", &PySharedLayout::getModes)
      .def_prop_ro("swizzle", &PySharedLayout::getSwizzle)
      .def_prop_ro("shape", &PySharedLayout::getShape)
      .def("offset", &PySharedLayout::getOffset, nb::arg("coords"),
           nb::arg("element_bits"), "The offset of an element, in elements.")
      .def(
          "cosize",
          [](const PySharedLayout &self, int64_t bits) {
            checkBits(bits);
            return tilewsSharedLayoutGetCosize(self.get(), bits);
          },
          nb::arg("element_bits"), "One more than the largest offset.")
      .def(
          "contiguity",
          [](const PySharedLayout &self, int64_t bits) {
            checkBits(bits);
            return tilewsSharedLayoutGetContiguity(self.get(), bits);
          },
          nb::arg("element_bits"),
          "Elements along the last dimension that are adjacent and aligned,\n"
          "starting at any multiple of that number.")
      .def("view", &PySharedLayout::view, nb::arg("shape"),
           nb::arg("from_bits"), nb::arg("to_bits"),
           "The layout that places the same bytes under another shape and\n"
           "element width; None if there is none.")
      .def("expand", &PySharedLayout::expand, nb::arg("versions"),
           nb::arg("element_bits"),
           "The layout of versions, with a new leading dimension. Slots start "
           "at\n"
           "multiples of the swizzle's atom and of 128 bytes.")
      .def("slot", &PySharedLayout::getSlot, nb::arg("element_bits"),
           "The layout of one version. Raises ValueError if slots are no\n"
           "multiple of the swizzle's atom.")
      .def("__eq__", [](const PySharedLayout &a, const PySharedLayout &b) {
        return a.getModes() == b.getModes() && a.getSwizzle() == b.getSwizzle();
      });
}

/// Binds layouts that are derived from a fragment's layout, and its pictures.
static void bindDerivedLayouts(nb::class_<PyFragmentLayout> &c) {
  auto derive = [](auto function) {
    return [function](const PyFragmentLayout &self, int64_t dim) {
      require(dim >= 0, "expected a dimension that is not negative");
      return PyFragmentLayout(function(self.get(), dim));
    };
  };
  c.def(
       "coalesce",
       [](const PyFragmentLayout &self) {
         return PyFragmentLayout(tilewsFragmentLayoutCoalesce(self.get()));
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
            return nb::module_::import_("tilews.layout._pictures")
                .attr("fragment_table")(self, shape);
          },
          nb::arg("shape"),
          "A text with thread and value of each element of `shape`.")
      .def(
          "plot",
          [](nb::handle self, nb::handle shape, nb::handle path) {
            nb::module_::import_("tilews.layout._pictures")
                .attr("plot_fragment")(self, shape, path);
          },
          nb::arg("shape"), nb::arg("path"),
          "Writes that picture, .svg or (with matplotlib) .png.")
      .def("transpose", &PyFragmentLayout::transpose, nb::arg("permutation"),
           "Dimension i becomes dimension `permutation[i]` of this layout.")
      .def("reshape", &PyFragmentLayout::reshape, nb::arg("source"),
           nb::arg("result"),
           "The layout in which every register keeps its element when the\n"
           "shape changes, row by row; None if there is none.");
}

static void bindFragmentLayout(nb::module_ &m) {
  nb::class_<PyFragmentLayout> c(
      m, "FragmentLayout",
      "Which register of which thread holds which element of a fragment.\n\n"
      "Modes are (extent, stride, dimension), the first one fastest; stride 0\n"
      "repeats. Raises ValueError for modes that are no layout.");
  c.def(nb::new_(&PyFragmentLayout::create), nb::arg("thread"),
        nb::arg("value"))
      .def_static("blocked", &PyFragmentLayout::blocked, nb::arg("shape"),
                  nb::arg("threads"), nb::arg("vector") = 1,
                  "A layout for plain access by vectors along the last\n"
                  "dimension; covers any shape with any number of threads.")
      .def_prop_ro(
          "thread",
          [](const PyFragmentLayout &self) { return self.getModes(true); })
      .def_prop_ro(
          "value",
          [](const PyFragmentLayout &self) { return self.getModes(false); })
      .def_prop_ro(
          "threads",
          [](const PyFragmentLayout &self) { return self.getSize(true); })
      .def_prop_ro(
          "registers",
          [](const PyFragmentLayout &self) { return self.getSize(false); })
      .def("table", &PyFragmentLayout::getTable, nb::arg("rank"),
           "All coordinates as an int64 array (thread, register, dimension).")
      .def(
          "contiguity",
          [](const PyFragmentLayout &self, int64_t dim) {
            return tilewsFragmentLayoutGetContiguity(self.get(), dim);
          },
          nb::arg("dim"), "Registers that are adjacent along `dim`.")
      .def("__eq__", [](const PyFragmentLayout &a, const PyFragmentLayout &b) {
        return a.getModes(true) == b.getModes(true) &&
               a.getModes(false) == b.getModes(false);
      });
  bindDerivedLayouts(c);
}

void populateLayoutAlgebra(nb::module_ &layout);
void populateMmaLayouts(nb::module_ &layout);
void populateBankConflicts(nb::module_ &layout);
void populateLayoutMemory(nb::module_ &layout);

void populateLayouts(nb::module_ &m) {
  nb::module_ layout = m.def_submodule("layout", "Layouts without IR");
  bindSharedLayout(layout);
  bindFragmentLayout(layout);
  populateMmaLayouts(layout);
  populateLayoutAlgebra(layout);
  populateBankConflicts(layout);
  populateLayoutMemory(layout);
}
