//===- LayoutObject.h - A layout of the algebra, for Python -----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_BINDINGS_PYTHON_LAYOUTOBJECT_H
#define TILEWS_BINDINGS_PYTHON_LAYOUTOBJECT_H

#include "LayoutHelpers.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <cstdlib>
#include <optional>

namespace tilews::python {

//===----------------------------------------------------------------------===//
// Tuples and texts
//===----------------------------------------------------------------------===//

inline MlirStringRef toRef(const std::string &text) {
  return mlirStringRefCreate(text.data(), text.size());
}

/// Returns the text of an integer, of a nested tuple of integers or, for None,
/// of an open place.
inline std::string toText(nb::handle tuple, int depth = 0) {
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

/// Parses a tuple that the library has printed.
inline nb::object toTuple(const char *&text) {
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

inline nb::object toTuple(const std::string &text) {
  const char *rest = text.c_str();
  return toTuple(rest);
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

/// The class `Layout` of Python. Owns a layout of the C interface.
class PyLayout {
public:
  explicit PyLayout(TilewsLayout layout)
      : owner(layout.ptr, [](void *ptr) { tilewsLayoutDestroy({ptr}); }) {}
  static PyLayout parse(const std::string &text) {
    return call([&](TilewsReport report) {
      return tilewsLayoutParse(toRef(text), report);
    });
  }
  /// Makes a layout from a layout, from its text, or from a shape and strides.
  /// None for `stride` means without gaps.
  static PyLayout create(const nb::object &shape, const nb::object &stride) {
    if (nb::isinstance<PyLayout>(shape) && stride.is_none())
      return nb::cast<PyLayout>(shape);
    if (nb::isinstance<nb::str>(shape) && stride.is_none())
      return parse(nb::cast<std::string>(shape));
    std::string text = toText(shape);
    return parse(stride.is_none() ? text : text + ":" + toText(stride));
  }
  /// Calls a function of the C interface, and raises its error.
  template <typename Function>
  static PyLayout call(Function function) {
    Report report;
    TilewsLayout result = function(report.get());
    report.check(result.ptr);
    return PyLayout(result);
  }

  TilewsLayout get() const { return {owner.get()}; }
  /// Returns the text that a printing function sends to its callback.
  template <typename Function, typename... Arguments>
  std::string write(Function function, Arguments... arguments) const {
    std::string text;
    function(get(), arguments..., appendText, &text);
    return text;
  }
  std::string str() const { return write(tilewsLayoutPrint); }

  PyLayout transform(TilewsLayoutUnary kind) const {
    return call([&](TilewsReport report) {
      return tilewsLayoutTransform(kind, get(), report);
    });
  }
  PyLayout combine(TilewsLayoutBinary kind, const PyLayout &other) const {
    return call([&](TilewsReport report) {
      return tilewsLayoutCombine(kind, get(), other.get(), report);
    });
  }
  PyLayout tile(TilewsLayoutByMode kind, nb::handle tilers) const {
    std::vector<PyLayout> owned;
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
  PyLayout getMode(int64_t i) const {
    int64_t rank = tilewsLayoutGetRank(get());
    if (i < -rank || i >= rank)
      throw nb::index_error("the layout has no such mode");
    return PyLayout(tilewsLayoutGetMode(get(), i < 0 ? i + rank : i));
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
    // The two coordinates are printed one after the other.
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
  int64_t getCommonVector(const PyLayout &other, int64_t limit) const {
    Report report;
    int64_t vector;
    report.check(tilewsLayoutGetCommonVector(get(), other.get(), limit, &vector,
                                             report.get()));
    return vector;
  }

private:
  std::shared_ptr<void> owner;
};

/// Binds functions that derive other layouts and answer questions.
void bindLayoutQueries(nb::class_<PyLayout> &c);

} // namespace tilews::python

#endif // TILEWS_BINDINGS_PYTHON_LAYOUTOBJECT_H
