//===- LayoutMemoryBindings.cpp - Memory accesses of layouts --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How hardware accesses a layout, in Python: the TMA boxes of a region and the
// wgmma descriptor of an operand. Results are copied into plain Python objects,
// and the handles of the C interface are destroyed here. If a layout does not
// fit the hardware, the message of the library becomes a ValueError.
//
//===----------------------------------------------------------------------===//

#include "tilews-c/LayoutMemory.h"

#include "LayoutHelpers.h"

#include <nanobind/stl/optional.h>

#include <optional>

using namespace tilews::python;

namespace {
/// The boxes by which TMA copies a region.
struct PyTmaBoxes {
  Ints dims, extents;
  int64_t swizzle;
  std::vector<std::tuple<int64_t, Ints>> instructions;
};

/// How wgmma addresses an operand.
struct PyWgmmaDescriptor {
  TilewsWgmmaDescriptor fields;
  Ints starts, kStarts;
};
} // namespace

static PyTmaBoxes getTmaBoxes(nb::handle shared, int64_t elementBits,
                              const Ints &globalDims,
                              std::optional<Ints> offsets,
                              std::optional<Ints> sizes,
                              std::optional<int64_t> globalRank,
                              std::optional<int64_t> innerDim) {
  if (offsets.has_value() != sizes.has_value() ||
      (sizes && (sizes->size() != globalDims.size() ||
                 offsets->size() != globalDims.size())))
    throw nb::value_error("expected an offset and a size for each dimension, "
                          "or none of them");
  int64_t rank = globalRank.value_or(globalDims.size());
  SharedOwner layout = takeShared(shared);
  Report report;
  TilewsTmaBoxes found = tilewsGetTmaBoxes({{layout.get()},
                                            elementBits,
                                            intptr_t(globalDims.size()),
                                            offsets ? offsets->data() : nullptr,
                                            sizes ? sizes->data() : nullptr,
                                            globalDims.data(),
                                            rank,
                                            innerDim.value_or(rank - 1)},
                                           report.get());
  report.check(found.ptr);
  std::shared_ptr<void> owner(found.ptr,
                              [](void *ptr) { tilewsTmaBoxesDestroy({ptr}); });
  PyTmaBoxes result = {
      Ints(rank), Ints(rank), tilewsTmaBoxesGetSwizzle(found), {}};
  for (int64_t i = 0; i < rank; ++i)
    tilewsTmaBoxesGetDim(found, i, &result.dims[i], &result.extents[i]);
  intptr_t count = tilewsTmaBoxesGetNumInstructions(found);
  for (intptr_t i = 0; i < count; ++i) {
    Ints coords(rank);
    int64_t bytes = tilewsTmaBoxesGetInstruction(found, i, coords.data());
    result.instructions.emplace_back(bytes, std::move(coords));
  }
  return result;
}

/// Returns all offsets of a layout, and destroys the layout.
static Ints takeOffsets(TilewsLayout layout) {
  Ints offsets(tilewsLayoutGetSize(layout));
  tilewsLayoutGetOffsets(layout, offsets.data());
  tilewsLayoutDestroy(layout);
  return offsets;
}

static PyWgmmaDescriptor getWgmmaDescriptor(nb::handle shared, int64_t bits,
                                            int64_t kDim, int64_t extent,
                                            int64_t k) {
  SharedOwner layout = takeShared(shared);
  Report report;
  TilewsWgmmaDescriptor found = tilewsGetWgmmaDescriptor(
      {layout.get()}, bits, kDim, extent, k, report.get());
  report.check(found.starts.ptr);
  return {found, takeOffsets(found.starts), takeOffsets(found.kStarts)};
}

static void bindTma(nb::module_ &m) {
  nb::class_<PyTmaBoxes>(
      m, "TmaBoxes",
      "The TMA instructions that copy a region of shared memory, all with one\n"
      "tensor map.")
      .def_ro("dims", &PyTmaBoxes::dims,
              "The global dimension of each dimension of the tensor map,\n"
              "innermost first.")
      .def_ro("extents", &PyTmaBoxes::extents,
              "The box's extents in that order, in elements.")
      .def_ro("swizzle", &PyTmaBoxes::swizzle,
              "The swizzle's span in bytes, 0 for none.")
      .def_ro(
          "instructions", &PyTmaBoxes::instructions,
          "(bytes into the shared buffer, elements from the region's first\n"
          "element by global dimension) of each instruction.");
  m.def("tma_boxes", &getTmaBoxes, nb::arg("shared"), nb::arg("element_bits"),
        nb::arg("global_dims"), nb::kw_only(), nb::arg("offsets") = nb::none(),
        nb::arg("sizes") = nb::none(), nb::arg("global_rank") = nb::none(),
        nb::arg("inner_dim") = nb::none(),
        "The boxes of a region of a buffer with layout `shared`, the whole of\n"
        "it if not given. `global_dims` names the global dimension of each\n"
        "shared one; `inner_dim`, the last one if not given, is the one whose\n"
        "elements lie side by side. Raises ValueError with the reason where\n"
        "TMA cannot copy the region.");
}

static void bindWgmma(nb::module_ &m) {
  auto get = [](auto member) {
    return
        [member](const PyWgmmaDescriptor &self) { return self.fields.*member; };
  };
  using Fields = TilewsWgmmaDescriptor;
  nb::class_<PyWgmmaDescriptor>(m, "WgmmaDescriptor",
                                "How wgmma addresses a shared operand.")
      .def_prop_ro("major_k", get(&Fields::majorK),
                   "Whether rows of 16 bytes run along K.")
      .def_prop_ro("swizzle", get(&Fields::swizzleBytes),
                   "The swizzle's span in bytes, 0 for none.")
      .def_prop_ro("leading_bytes", get(&Fields::leadingBytes),
                   "The leading dimension byte offset.")
      .def_prop_ro("stride_bytes", get(&Fields::strideBytes),
                   "The stride dimension byte offset.")
      .def_prop_ro(
          "bits",
          [](const PyWgmmaDescriptor &self) {
            return uint64_t(self.fields.bits);
          },
          "The descriptor but for its address.")
      .def_ro("starts", &PyWgmmaDescriptor::starts,
              "Bytes to the part of each instruction along M (or N).")
      .def_ro("k_starts", &PyWgmmaDescriptor::kStarts,
              "Bytes that each step along K adds.");
  m.def("wgmma_descriptor", &getWgmmaDescriptor, nb::arg("shared"),
        nb::arg("element_bits"), nb::arg("k_dim"), nb::arg("extent"),
        nb::arg("k"),
        "The descriptor of a buffer of two dimensions, of which `k_dim` runs\n"
        "along K, for instructions of `extent` elements along M (or N) and\n"
        "`k` along K. Raises ValueError with the reason where wgmma cannot\n"
        "read the layout.");
}

void populateLayoutMemory(nb::module_ &layout) {
  bindTma(layout);
  bindWgmma(layout);
}
