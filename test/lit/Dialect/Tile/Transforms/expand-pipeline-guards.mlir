// RUN: tilews-opt %s --tile-expand-pipeline --canonicalize | FileCheck %s
// RUN: tilews-opt %s --pass-pipeline='builtin.module(gpu.module(tile-expand-pipeline,tile-verify-schedule{report}))' --verify-diagnostics -o /dev/null
// RUN: tilews-opt %s --pass-pipeline='builtin.module(gpu.module(tile-expand-pipeline,canonicalize,tile-infer-layouts,tile-plan-shared-memory,tile-insert-barriers,tile-lower-channels,tile-verify-schedule))' | FileCheck %s --check-prefix=LOWERED

// A channel that is filled and read under one guard. The group would be closed after
// the guard, and so after the wait; the wait therefore waits for all groups.
// CHECK-LABEL: gpu.func @both_sides_in_a_guard
// CHECK: tile.channel({{.*}} -> !tile.channel<2>
// CHECK: %[[TILE:.*]] = tile.channel({{.*}} -> !tile.channel<1>
// CHECK: tile.commit_group
// CHECK: scf.for
// CHECK: tile.wait {{.*}} {pending = 0 : i64} : !tile.channel<2>
// CHECK: scf.if
// CHECK: tile.acquire {{.*}} : !tile.channel<2>
// CHECK: }
// CHECK: tile.commit_group
// CHECK: scf.if
// CHECK: tile.acquire %[[TILE]]
// CHECK-NOT: tile.commit_group
// CHECK: tile.wait %[[TILE]]
// CHECK-NOT: pending
// CHECK: tile.release %[[TILE]]
// CHECK-NOT: tile.commit_group
// CHECK: gpu.return

// Each of the two waits has its group, and the guarded one closes a group of its own.
// LOWERED-LABEL: gpu.func @both_sides_in_a_guard
// LOWERED: scf.for
// LOWERED: tile.copy_group_wait {pending = 0 : i64}
// LOWERED: tile.commit_group
// LOWERED: scf.if
// LOWERED: tile.commit_group
// LOWERED-NEXT: tile.copy_group_wait {pending = 0 : i64}
// LOWERED-NEXT: tile.barrier

!g = memref<64x?xf16>
!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!one = memref<1x64x64xf16, #gpu.address_space<workgroup>>
!two = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!half = tensor<64x64xf16>
!acc = tensor<64x64xf32>
!c1 = !tile.cursor<1>
!c2 = !tile.cursor<2>

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  // expected-remark @below {{tile-verify-0002: schedule of @both_sides_in_a_guard is proved}}
  gpu.func @both_sides_in_a_guard(%A: !g {tile.divisible = array<i64: 1, 8>}, %C: memref<64x64xf32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : !acc
    %limit = arith.constant 3.0 : f32
    %as = tile.alloc_shared : !two
    %cha = tile.channel(%as) {producer = #tile.producer<cp_async>} : !two -> !tile.channel<2>
    %bs = tile.alloc_shared : !one
    %chb = tile.channel(%bs) {producer = #tile.producer<cp_async>} : !one -> !tile.channel<1>
    %a0 = tile.cursor : !c2
    %b0 = tile.cursor : !c1
    %r:5 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %p = %a0, %q = %a0, %s = %b0, %t = %b0) -> (!acc, !c2, !c2, !c1, !c1) {
      %x = arith.muli %k, %c64 : index
      tile.acquire %cha[%p] {tile.order = 4 : i32, tile.stage = 0 : i32} : !tile.channel<2>
      %sp = tile.slot %as[%p] : !two -> !s
      tile.copy %A[0, %x] to %sp {tile.inst = #tile.inst<cp_async>, tile.order = 5 : i32, tile.stage = 0 : i32} : !g to !s
      tile.commit %cha[%p] {tile.order = 6 : i32, tile.stage = 0 : i32} : !tile.channel<2>
      %p1 = tile.advance %p {tile.order = 7 : i32, tile.stage = 0 : i32} : !c2
      tile.wait %cha[%q] {tile.order = 0 : i32, tile.stage = 1 : i32} : !tile.channel<2>
      %sq = tile.slot %as[%q] : !two -> !s
      %l = tile.load %sq {tile.order = 1 : i32, tile.stage = 1 : i32} : !s -> !half
      tile.release %cha[%q] {tile.order = 2 : i32, tile.stage = 1 : i32} : !tile.channel<2>
      %q1 = tile.advance %q {tile.order = 3 : i32, tile.stage = 1 : i32} : !c2
      %e = arith.extf %l {tile.order = 8 : i32, tile.stage = 1 : i32} : !half to !acc
      %sum = arith.addf %acc, %e {tile.order = 9 : i32, tile.stage = 1 : i32} : !acc
      %m1 = tile.reduce <max> %sum {axis = 1 : i64, tile.order = 10 : i32, tile.stage = 1 : i32} : !acc -> tensor<64xf32>
      %m0 = tile.reduce <max> %m1 {axis = 0 : i64, tile.order = 11 : i32, tile.stage = 1 : i32} : tensor<64xf32> -> tensor<f32>
      %m = tensor.extract %m0[] : tensor<f32>
      %big = arith.cmpf ogt, %m, %limit : f32
      %new:3 = scf.if %big -> (!acc, !c1, !c1) {
        tile.acquire %chb[%s] : !tile.channel<1>
        %w = tile.slot %bs[%s] : !one -> !s
        tile.copy %A[0, %x] to %w {tile.inst = #tile.inst<cp_async>} : !g to !s
        tile.commit %chb[%s] : !tile.channel<1>
        %s1 = tile.advance %s : !c1
        tile.wait %chb[%t] : !tile.channel<1>
        %v = tile.slot %bs[%t] : !one -> !s
        %h = tile.load %v : !s -> !half
        tile.release %chb[%t] : !tile.channel<1>
        %t1 = tile.advance %t : !c1
        %f = arith.extf %h : !half to !acc
        %more = arith.addf %sum, %f : !acc
        scf.yield %more, %s1, %t1 : !acc, !c1, !c1
      } else {
        scf.yield %sum, %s, %t : !acc, !c1, !c1
      } {tile.order = 12 : i32, tile.stage = 1 : i32}
      scf.yield %new#0, %p1, %q1, %new#1, %new#2 : !acc, !c2, !c2, !c1, !c1
    } {tile.num_stages = 2 : i32}
    tile.store %r#0 to %C[0, 0] : !acc to memref<64x64xf32>
    gpu.return
  }
}
