// The pipelines save kernels before they plan their schedules, and know the passes
// that lead to each check. Pipelines for kernels with layouts plan nothing, nor does
// `pipelines=false`.
// RUN: tilews-opt %s --pass-pipeline='builtin.module(tilews-to-nvvm{chip=sm_90a})' --dump-pass-pipeline 2>&1 | FileCheck %s
// RUN: tilews-opt %s --pass-pipeline='builtin.module(tilews-to-nvvm{chip=sm_90a one-role=true})' --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: tilews-opt %s --tilews-to-rocdl=chip=gfx942 --dump-pass-pipeline 2>&1 | FileCheck %s
// RUN: tilews-opt %s --tilews-to-rocdl='chip=gfx942 pipelines=false' --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: tilews-opt %s --tilews-laid-out-to-nvvm --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK: tile-annotate-instructions,
// CHECK: tile-save-kernels,
// CHECK: tile-plan-pipeline,
// CHECK: tile-verify-schedule{{{.*}} retry=tilews-schedule}
// CHECK: tile-plan-shared-memory{retry=tilews-schedule,tile-verify-schedule,tilews-clean-up,tile-infer-layouts}
// CHECK: tile-verify-schedule{{{.*}} retry=tilews-schedule,tilews-clean-up,tilews-lay-out,tile-lower-channels}
// ONE: tile-verify-schedule{{{.*}} retry=tilews-schedule{one-role=true}}
// NONE-NOT: tile-save-kernels
// NONE: tile-verify-schedule{{{.*}} retry=}
module {}
