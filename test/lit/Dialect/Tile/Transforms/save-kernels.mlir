// A kernel whose plan is wrong is planned again from a saved copy, with stricter
// and stricter limits. A pass removes a wait, as long as the limit is weaker than
// `until`, so that each step is needed once.
// REQUIRES: test-passes
// DEFINE: %{until} =
// DEFINE: %{schedule} = tilews-schedule,test-break-schedule{until=%{until}}
// DEFINE: %{run} = tilews-opt %s --verify-each --pass-pipeline='builtin.module(gpu.module(tile-save-kernels,%{schedule},tile-verify-schedule{retry={%{schedule}}}))' 2>&1 | FileCheck %s --check-prefixes=ALL

// REDEFINE: %{until} = few_channels
// RUN: %{run},FEW
// REDEFINE: %{until} = one_role
// RUN: %{run},ONE
// REDEFINE: %{until} = no_pipeline
// RUN: %{run},NONE

// There is one remark: what the passes say a second time is dropped.
// ALL-NOT: remark
// FEW: save-kernels.mlir:[[# @LINE + 28]]:{{.*}}: remark: tile-verify-0004: @copies is compiled with fewer channels, because the schedule that was planned for it is wrong: role @math releases slot 0 in phase 0, which it has not waited for
// ONE: remark: tile-verify-0004: @copies is compiled with one role, because
// NONE: remark: tile-verify-0004: @copies is compiled without pipelines, because
// ALL-NOT: remark
// ALL: gpu.func @copies
// FEW-SAME: tile.schedule_limit = #tile.schedule_limit<few_channels>, tile.threads = 160 : i32
// FEW-COUNT-1: tile.channel(
// FEW-NOT: tile.channel(
// FEW: tile.specialize
// ONE-SAME: tile.schedule_limit = #tile.schedule_limit<one_role>, tile.threads = 128 : i32
// ONE-COUNT-1: tile.channel(
// ONE-NOT: {{tile.channel\(|tile.specialize}}
// NONE-SAME: tile.schedule_limit = #tile.schedule_limit<no_pipeline>, tile.threads = 128 : i32
// NONE-NOT: {{tile.channel\(|tile.specialize|tile.num_stages|inst<tma>}}
// ALL: gpu.func @other
// ALL-NOT: tile.schedule_limit

!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!t = tensor<64x64xf16>
#tma = #tile.inst<tma>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @copies(%A: memref<?x64xf16>, %B: memref<?x64xf16>, %C: memref<?x64xf16>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : !t
    %as = tile.alloc_shared : !s
    %bs = tile.alloc_shared : !s
    %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %zero) -> !t {
      tile.copy %A[%i, 0] to %as {tile.inst = #tma} : memref<?x64xf16> to !s
      tile.copy %B[%i, 0] to %bs {tile.inst = #tma} : memref<?x64xf16> to !s
      %a = tile.load %as : !s -> !t
      %x = arith.addf %acc, %a : !t
      %b = tile.load %bs : !s -> !t
      %y = arith.addf %x, %b : !t
      scf.yield %y : !t
    } {tile.num_stages = 2 : i32}
    tile.store %r to %C[0, 0] : !t to memref<?x64xf16>
    gpu.return
  }

  gpu.func @other(%C: memref<?x64xf16>) kernel {
    gpu.return
  }
}
