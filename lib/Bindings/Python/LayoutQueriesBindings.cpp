//===- LayoutQueriesBindings.cpp - Queries of the layout algebra ----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Second part of the class `Layout`: layouts that are derived from one
// (inverses, recasts, slices, versions), questions (collisions, gaps, bank
// conflicts), and pictures. Pictures are drawn by functions of
// tilews.layout._pictures, which is imported when the first one is asked for.
//
//===----------------------------------------------------------------------===//

#include "LayoutObject.h"

using namespace tilews::python;

namespace {
//===----------------------------------------------------------------------===//
// Other layouts
//===----------------------------------------------------------------------===//

PyLayout fromShared(nb::handle shared, int64_t bits) {
  SharedOwner owner = takeShared(shared);
  return PyLayout::call([&](TilewsReport report) {
    return tilewsLayoutFromShared({owner.get()}, bits, report);
  });
}

nb::object toShared(const PyLayout &layout, int64_t bits) {
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

PyLayout fromFragment(nb::handle fragment, const Ints &shape) {
  std::vector<TilewsMode> thread =
      toModes(nb::cast<Modes>(fragment.attr("thread")));
  std::vector<TilewsMode> value =
      toModes(nb::cast<Modes>(fragment.attr("value")));
  TilewsFragmentLayout source = tilewsFragmentLayoutCreate(
      thread.size(), thread.data(), value.size(), value.data());
  std::shared_ptr<void> owner(
      source.ptr, [](void *ptr) { tilewsFragmentLayoutDestroy({ptr}); });
  return PyLayout::call([&](TilewsReport report) {
    return tilewsLayoutFromFragment(source, shape.size(), shape.data(), report);
  });
}

nb::object toFragment(const PyLayout &layout, const Ints &shape) {
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

/// Returns a function of the Python package that draws a picture.
nb::object getPicture(const char *name) {
  return nb::module_::import_("tilews.layout._pictures").attr(name);
}
} // namespace

static void bindDerived(nb::class_<PyLayout> &c) {
  c.def(
       "complement",
       [](const PyLayout &l, int64_t size) {
         return PyLayout::call([&](TilewsReport report) {
           return tilewsLayoutComplement(l.get(), size, report);
         });
       },
       nb::arg("size"),
       "The layout of what this one leaves out of the offsets below `size`.")
      .def(
          "recast",
          [](const PyLayout &l, int64_t from, int64_t to) {
            return PyLayout::call([&](TilewsReport report) {
              return tilewsLayoutRecast(l.get(), from, to, report);
            });
          },
          nb::arg("from_bits"), nb::arg("to_bits"),
          "The layout of the same bits as elements of another width.")
      .def(
          "slice",
          [](const PyLayout &l, const nb::args &coord) {
            std::string text = toText(coord.size() == 1 ? nb::object(coord[0])
                                                        : nb::object(coord));
            return PyLayout::call([&](TilewsReport report) {
              return tilewsLayoutSlice(l.get(), toRef(text), report);
            });
          },
          "Fixes coordinates; None leaves a place open. What the fixed ones\n"
          "add is the result's `offset`.")
      .def(
          "expand",
          [](const PyLayout &l, int64_t count, int64_t alignment) {
            return PyLayout::call([&](TilewsReport report) {
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

static TilewsSharedAccess toAccess(const std::string &chip, bool isWrite) {
  return {mlirStringRefCreate(chip.data(), chip.size()), isWrite};
}

static void bindQueries(nb::class_<PyLayout> &c) {
  c.def("find_collision", &PyLayout::findCollision,
        "(coordinate, coordinate, offset) of two elements in one place; None\n"
        "if the layout is injective. Raises ValueError where many leaves with\n"
        "unrelated strides take too long to decide.")
      .def_prop_ro(
          "is_injective",
          [](const PyLayout &l) { return !l.findCollision().has_value(); },
          "Whether no two elements share an offset.")
      .def("find_gap", &PyLayout::findGap,
           "The smallest offset below the cosize that no element has, or None.")
      .def_prop_ro(
          "is_surjective",
          [](const PyLayout &l) { return !l.findGap().has_value(); },
          "Whether every offset below the cosize belongs to an element.")
      .def(
          "find_swizzled",
          [](const PyLayout &l) -> std::optional<int64_t> {
            int64_t index = tilewsLayoutFindSwizzled(l.get());
            return index < 0 ? std::nullopt : std::optional(index);
          },
          "An index whose offset the swizzle changes; None if it changes none.")
      .def(
          "common_vector",
          [](const PyLayout &l, const nb::object &other, int64_t limit) {
            return l.getCommonVector(PyLayout::create(other, nb::none()),
                                     limit);
          },
          nb::arg("other"), nb::arg("limit") = 1024,
          "The most elements that both layouts hold side by side, in the same\n"
          "order, at multiples of their number.")
      .def(
          "bank_conflicts",
          [](const PyLayout &l, int64_t bits, int64_t vector, int64_t warp,
             const std::string &chip, bool isWrite) {
            Report report;
            TilewsBankConflicts found;
            report.check(tilewsLayoutGetBankConflicts(
                l.get(), bits, vector, warp, toAccess(chip, isWrite), &found,
                report.get()));
            return toDict(found);
          },
          nb::arg("element_bits"), nb::arg("vector") = 1, nb::arg("warp") = 32,
          nb::arg("chip") = "", nb::arg("is_write") = false,
          "The worst access of a layout (thread, value) by `vector` values:\n"
          "a dict of `phases`, `wavefronts`, `degree` and `clash`. Without\n"
          "`chip`, the banks are those of NVIDIA.");
}

static void bindConversions(nb::class_<PyLayout> &c) {
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

void tilews::python::bindLayoutQueries(nb::class_<PyLayout> &c) {
  bindDerived(c);
  bindQueries(c);
  bindConversions(c);
}

void populateBankConflicts(nb::module_ &layout) {
  layout.def(
      "bank_conflicts",
      [](const Ints &offsets, int64_t bytes, const std::string &chip,
         bool isWrite) {
        Report report;
        TilewsBankConflicts found;
        report.check(tilewsGetBankConflicts(offsets.size(), offsets.data(),
                                            bytes, toAccess(chip, isWrite),
                                            &found, report.get()));
        return toDict(found);
      },
      nb::arg("byte_offsets"), nb::arg("bytes"), nb::arg("chip") = "",
      nb::arg("is_write") = false,
      "How one access of `bytes` by each thread falls on the banks of a chip;\n"
      "without one, on the 32 banks of 4 bytes of NVIDIA. Threads with an\n"
      "offset below zero access nothing.");
}
