// Barriers in shared memory before sm_90: a lane is chosen by its number, and waiting
// threads test the barrier in a loop.
// RUN: tilews-opt %s --convert-tile-to-nvvm --cse --verify-diagnostics | FileCheck %s --implicit-check-not=nvvm.fence

#wg = #gpu.address_space<workgroup>
!S = memref<2x64xf16, #tile.shared<(2, 64):(64, 1)>, #wg>
!s = memref<64xf16, #tile.shared<(64):(1)>, #wg>

gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  // CHECK-LABEL: llvm.func @roles
  // CHECK-NOT: nvvm.maxnreg
  gpu.func @roles(%A: memref<64xf16>, %slot: i32, %parity: i32) kernel
      attributes {tile.threads = 256 : i32} {
    %S = tile.alloc_shared {tile.offset = 0 : i64} : !S
    // CHECK: nvvm.mbarrier.init
    %full = tile.mbarrier {count = 128 : i64, tile.offset = 256 : i64} : !tile.mbarrier<2>
    %empty = tile.mbarrier {count = 4 : i64, tile.offset = 272 : i64} : !tile.mbarrier<2>
    // CHECK: nvvm.barrier0
    tile.mbarrier_ready
    tile.specialize {
      // expected-remark @below {{tile-ws-0011: role @math}}
      tile.role @math warps(4) registers(232) {
        // CHECK: scf.while
        // CHECK-NEXT: %[[DONE:.*]] = nvvm.mbarrier.test.wait %{{.*}}, %{{.*}} : !llvm.ptr<3>, i32 -> i1
        // CHECK: arith.xori %[[DONE]]
        tile.mbarrier_wait %full[%slot], %parity : !tile.mbarrier<2>
        // CHECK: nvvm.bar.warp.sync
        // CHECK-NEXT: %[[LANE:.*]] = nvvm.read.ptx.sreg.laneid
        // CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[LANE]], %{{.*}}
        // CHECK-NEXT: scf.if %[[FIRST]] {
        // CHECK-NEXT: nvvm.mbarrier.arrive
        tile.mbarrier_arrive %empty[%slot] {by = #tile.agents<warps>} : !tile.mbarrier<2>
      }
      // expected-remark @below {{tile-ws-0011: role @load}}
      tile.role @load warps(4) registers(40) {
        tile.mbarrier_wait %empty[%slot], %parity : !tile.mbarrier<2>
        %s = tile.slot %S[%slot] : !S, i32 -> !s
        // CHECK: nvvm.cp.async.shared.global
        tile.copy %A to %s {tile.inst = #tile.inst<cp_async>} : memref<64xf16> to !s
        // CHECK: nvvm.cp.async.mbarrier.arrive {{.*}}noinc = true
        tile.mbarrier_arrive %full[%slot] {by = #tile.agents<copies>} : !tile.mbarrier<2>
      }
    }
    gpu.return
  }
}
