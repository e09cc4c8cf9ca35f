//===- LayoutHelpers.h - Helpers for the bindings of layouts ----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_BINDINGS_PYTHON_LAYOUTHELPERS_H
#define TILEWS_BINDINGS_PYTHON_LAYOUTHELPERS_H

#include "tilews-c/LayoutAlgebra.h"

#include "mlir/Bindings/Python/Nanobind.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace tilews::python {
namespace nb = nanobind;

using Ints = std::vector<int64_t>;
using ModeTuple = std::tuple<int64_t, int64_t, int64_t>;
using Modes = std::vector<ModeTuple>;

inline void appendText(MlirStringRef text, void *userData) {
  static_cast<std::string *>(userData)->append(text.data, text.length);
}

/// Turns the message of a failed call into an exception.
class Report {
public:
  TilewsReport get() { return {appendText, &message}; }
  void check(bool success) const {
    if (!success)
      throw nb::value_error(message.c_str());
  }

private:
  std::string message;
};

/// Converts modes that a layout object has checked.
inline std::vector<TilewsMode> toModes(const Modes &modes) {
  std::vector<TilewsMode> result;
  for (auto [extent, stride, dim] : modes)
    result.push_back({extent, stride, dim});
  return result;
}

using SharedOwner = std::shared_ptr<void>;

/// Makes a layout of the C interface from a SharedLayout object of Python.
inline SharedOwner takeShared(nb::handle shared) {
  std::vector<TilewsMode> modes =
      toModes(nb::cast<Modes>(shared.attr("modes")));
  auto [bits, base, shift] = nb::cast<ModeTuple>(shared.attr("swizzle"));
  TilewsSharedLayout layout =
      tilewsSharedLayoutCreate(modes.size(), modes.data(), {bits, base, shift});
  return SharedOwner(layout.ptr,
                     [](void *ptr) { tilewsSharedLayoutDestroy({ptr}); });
}

} // namespace tilews::python

#endif // TILEWS_BINDINGS_PYTHON_LAYOUTHELPERS_H
