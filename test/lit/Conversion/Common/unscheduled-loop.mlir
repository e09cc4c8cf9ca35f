// RUN: tilews-opt %s --convert-tile-to-nvvm --verify-diagnostics | FileCheck %s
// CHECK-NOT: tile.{{num_stages|stage|order|role_registers}}

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @loop(%n: index, %x: memref<?xindex>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-remark @below {{tile-pipe-0001: loop runs without a software pipeline: no pass has scheduled its 3 stages}}
    scf.for %i = %c0 to %n step %c1 {
      memref.store %i, %x[%i] : memref<?xindex>
    } {tile.num_stages = 3 : i32}
    // The plan, which was made by hand, is dropped with the pipeline.
    // expected-remark @below {{tile-pipe-0001}}
    scf.for %i = %c0 to %n step %c1 {
      memref.store %i, %x[%i] {tile.stage = 0 : i32, tile.order = 0 : i32} : memref<?xindex>
    } {tile.num_stages = 3 : i32}
    scf.for %i = %c0 to %n step %c1 {
      // expected-remark @below {{tile-pipe-0017: stage and order are removed}}
      memref.store %i, %x[%i] {tile.stage = 0 : i32, tile.order = 0 : i32} : memref<?xindex>
    }
    // A loop with one stage needs no pass, so there is no remark.
    scf.for %i = %c0 to %n step %c1 {
      memref.store %i, %x[%i] : memref<?xindex>
    } {tile.num_stages = 1 : i32}
    // expected-remark @below {{tile-split-0002: loop is not split: no pass has shared its iterations among 2 blocks}}
    scf.for %i = %c0 to %n step %c1 {
      memref.store %i, %x[%i] : memref<?xindex>
    } {tile.split_k = 2 : i32}
    // expected-remark @below {{tile-split-0002: loop is not split: no pass has shared its iterations among the blocks}}
    scf.for %i = %c0 to %n step %c1 {
      memref.store %i, %x[%i] : memref<?xindex>
    } {tile.stream_k}
    // expected-remark @below {{tile-pp-0007: one role executes all iterations of a loop: no pass has split them}}
    scf.for %i = %c0 to %n step %c1 {
      memref.store %i, %x[%i] : memref<?xindex>
    } {tile.ping_pong}
    gpu.return
  }

  // expected-remark @below {{tile-ws-0010: 'tile.role_registers' is not used: no pass has made roles of this kernel to give them to}}
  gpu.func @registers() kernel attributes {tile.role_registers = {load = 40 : i64, math = 232 : i64}} {
    gpu.return
  }
}
