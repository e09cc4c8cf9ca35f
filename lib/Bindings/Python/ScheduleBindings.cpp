//===- ScheduleBindings.cpp - The scheduling of kernels in Python ---------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The raw interface of tilews.schedule: one function for each step of a
// schedule made by hand. A collector gathers the diagnostics of a call. If the
// call fails they become a CompileError; otherwise warnings and remarks are
// returned as lines, and tilews.schedule passes them on.
//
//===----------------------------------------------------------------------===//

#include "Diagnostics.h"
#include "tilews-c/Schedule.h"

#include "mlir/Bindings/Python/Nanobind.h"
#include "mlir/Bindings/Python/NanobindAdaptors.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

using Messages = std::vector<std::string>;
using Operations = std::vector<MlirOperation>;

static void append(MlirOperation op, void *operations) {
  static_cast<Operations *>(operations)->push_back(op);
}

static Operations getOperationsToSchedule(MlirOperation loop) {
  Operations operations;
  callOnValid(loop, [&] {
    return tilewsForEachOperationToSchedule(loop, append, &operations);
  });
  return operations;
}

static MlirOperation getFirst(const Operations &loops) {
  if (loops.empty())
    throw nb::value_error("expected at least one loop");
  return loops.front();
}

static Messages planPipelines(const Operations &loops) {
  return callOnValid(getFirst(loops), [&] {
    return tilewsPlanPipelines(loops.size(), loops.data());
  });
}

static Operations multiVersionBuffers(const Operations &loops, int64_t depth) {
  Operations channels;
  callOnValid(getFirst(loops), [&] {
    return tilewsMultiVersionBuffers(loops.size(), loops.data(), depth, append,
                                     &channels);
  });
  return channels;
}

/// Calls `function`, which returns a type, or null after an error.
template <typename Function>
static MlirType getType(MlirLocation location, Function function) {
  MlirType type = {nullptr};
  callAndCollect(mlirLocationGetContext(location), [&] {
    type = function(location);
    return type.ptr ? mlirLogicalResultSuccess() : mlirLogicalResultFailure();
  });
  return type;
}

void populateSchedule(nb::module_ &m) {
  nb::enum_<TilewsKernelRewrite>(m, "_KernelRewrite")
      .value("ANNOTATE_INSTRUCTIONS", TilewsAnnotateInstructions)
      .value("CHANNEL_PRELUDES", TilewsChannelPreludes)
      .value("SPLIT_INTO_ROLES", TilewsSplitIntoRoles)
      .value("KEEP_ONE_ROLE", TilewsKeepOneRole)
      .value("DEFER_GEMM_WAITS", TilewsDeferGemmWaits)
      .value("PING_PONG", TilewsPingPong);

  m.def("_rewrite_kernel", [](TilewsKernelRewrite rewrite, MlirOperation op) {
    return callOnValid(op, [&] { return tilewsRewriteKernel(rewrite, op); });
  });
  m.def("_operations_to_schedule", getOperationsToSchedule);
  m.def("_plan_pipelines", planPipelines);
  m.def("_multi_version_buffers", multiVersionBuffers);
  m.def("_expand_pipeline", [](MlirOperation loop) {
    return callOnValid(loop, [&] { return tilewsExpandPipeline(loop); });
  });
  m.def("_versioned_type",
        [](MlirType type, int64_t versions, MlirLocation location) {
          return getType(location, [&](MlirLocation loc) {
            return tilewsGetVersionedType(type, versions, loc);
          });
        });
  m.def("_slot_type", [](MlirType type, MlirLocation location) {
    return getType(location, [&](MlirLocation loc) {
      return tilewsGetSlotType(type, loc);
    });
  });
  // These work on IR that is not valid yet: cursors do not dominate their uses.
  m.def("_use_version", [](MlirOperation op, MlirValue buffer,
                           MlirValue versions, MlirValue cursor) {
    callAndCollect(mlirOperationGetContext(op), [&] {
      return tilewsUseVersion(op, buffer, versions, cursor);
    });
  });
  m.def("_carry_cursors",
        [](MlirOperation kernel, const std::vector<MlirValue> &cursors) {
          callAndCollect(mlirOperationGetContext(kernel), [&] {
            return tilewsCarryCursors(kernel, cursors.size(), cursors.data());
          });
        });
}
