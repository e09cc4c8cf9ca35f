// RUN: tilews-opt %s --tile-ping-pong | FileCheck %s
// RUN: tilews-opt %s --pass-pipeline='builtin.module(gpu.module(tile-ping-pong,tile-verify-schedule{report}))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=PROVED

// PROVED: tile-verify-0002: schedule of @turns is proved
// PROVED: tile-verify-0002: schedule of @scratch is proved
// PROVED: tile-verify-0002: schedule of @counted is proved

!bufs = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!buf = memref<64x64xf16, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.func @turns
// CHECK-SAME: tile.threads = 288 : i32
// CHECK: %[[CH:.*]] = tile.channel(%{{.*}}) {alternating, producer = #tile.producer<tma>}
// CHECK: %[[TURN:.*]] = tile.channel() {producer = #tile.producer<simt>} -> !tile.channel<1>
// CHECK: tile.role @math0 warps(4)
// CHECK: %[[O:.*]] = tile.cursor : !tile.cursor<1>
// CHECK: %[[TRUE:.*]] = arith.constant true
// CHECK: scf.for {{.*}} iter_args(%[[Q:.*]] = %{{.*}}, %[[TO:.*]] = %[[O]], %[[MINE:.*]] = %[[TRUE]])
// CHECK: %[[NEXT:.*]]:2 = scf.if %[[MINE]] -> (!tile.cursor<2>, !tile.cursor<1>)
// CHECK: tile.acquire %[[TURN]][%[[TO]]]
// CHECK: scf.for
// CHECK: tile.wait %[[CH]]
// CHECK: tile.gemm
// CHECK: tile.release %[[CH]]
// CHECK: tile.commit %[[TURN]][%[[TO]]]
// CHECK: tile.advance %[[TO]]
// CHECK: tile.store
// CHECK: } else {
// CHECK-NEXT: %[[SKIPPED:.*]] = scf.for {{.*}} iter_args(%[[P:.*]] = %[[Q]]) -> (!tile.cursor<2>)
// CHECK-NEXT: tile.advance %[[P]]
// CHECK-NEXT: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: scf.yield %[[SKIPPED]], %[[TO]]
// CHECK: %[[OTHER:.*]] = arith.xori %[[MINE]], %[[TRUE]]
// CHECK: scf.yield %[[NEXT]]#0, %[[NEXT]]#1, %[[OTHER]]
// CHECK-NOT: tile.ping_pong
// CHECK: tile.role @math1 warps(4)
// CHECK: %[[FALSE:.*]] = arith.constant false
// CHECK: %[[LAST:.*]]:3 = scf.for {{.*}} %{{.*}} = %[[FALSE]])
// CHECK: tile.wait %[[TURN]]
// CHECK: tile.release %[[TURN]]
// CHECK: tile.store
// CHECK: scf.if %[[LAST]]#2
// CHECK: tile.wait %[[TURN]][%[[LAST]]#1]
// CHECK: tile.release %[[TURN]][%[[LAST]]#1]
// CHECK: tile.role @load warps(1)
// CHECK-NOT: tile.ping_pong

// Each role has a copy of the values that it writes. The roles share values that they
// only read.
// CHECK-LABEL: gpu.func @scratch
// CHECK: %[[S0:.*]] = tile.alloc_shared : memref<64x64xf32
// CHECK: %[[S1:.*]] = tile.alloc_shared : memref<64x64xf32
// CHECK: tile.role @math0
// CHECK: tile.store %{{.*}} to %[[S0]]
// CHECK: tile.role @math1
// CHECK: tile.store %{{.*}} to %[[S1]]

// The number of an iteration also counts the iterations of the other role.
// CHECK-LABEL: gpu.func @counted
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[N:.*]] = %c0, %{{.*}}, %{{.*}})
// CHECK: } else {
// CHECK: %[[N1:.*]] = arith.addi %[[N]], %c1
// CHECK: scf.yield %{{.*}}, %[[N1]], %{{.*}}
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @turns(%A: memref<?x64xf16>, %C: memref<?x64xf32>, %tiles: index, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %as = tile.alloc_shared : !bufs
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !bufs -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !tile.cursor<2>
        %r = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0) -> (!tile.cursor<2>) {
          %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %p = %q) -> (tensor<64x64xf32>, !tile.cursor<2>) {
            tile.wait %ch[%p] : !tile.channel<2>
            %a = tile.slot %as[%p] : !bufs -> !buf
            %d = tile.gemm %a, %a, %acc {tile.inst = #tile.inst<wgmma>} : !buf, !buf -> tensor<64x64xf32>
            tile.release %ch[%p] : !tile.channel<2>
            %pn = tile.advance %p : !tile.cursor<2>
            scf.yield %d, %pn : tensor<64x64xf32>, !tile.cursor<2>
          }
          %m = arith.muli %t, %c64 : index
          tile.store %s#0 to %C[%m, 0] : tensor<64x64xf32> to memref<?x64xf32>
          scf.yield %s#1 : !tile.cursor<2>
        } {tile.ping_pong}
      }
      tile.role @load warps(1) {
        %q0 = tile.cursor : !tile.cursor<2>
        %r = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0) -> (!tile.cursor<2>) {
          %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> (!tile.cursor<2>) {
            tile.acquire %ch[%p] : !tile.channel<2>
            %a = tile.slot %as[%p] : !bufs -> !buf
            tile.copy %A[%k, 0] to %a {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !buf
            tile.commit %ch[%p] : !tile.channel<2>
            %pn = tile.advance %p : !tile.cursor<2>
            scf.yield %pn : !tile.cursor<2>
          }
          scf.yield %s : !tile.cursor<2>
        } {tile.ping_pong}
      }
    }
    gpu.return
  }

  gpu.func @scratch(%A: memref<?x64xf16>, %C: memref<?x64xf32>, %tiles: index, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %as = tile.alloc_shared : !bufs
    %scratch = tile.alloc_shared : memref<64x64xf32, #gpu.address_space<workgroup>>
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !bufs -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !tile.cursor<2>
        %r = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0) -> (!tile.cursor<2>) {
          %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %p = %q) -> (tensor<64x64xf32>, !tile.cursor<2>) {
            tile.wait %ch[%p] : !tile.channel<2>
            %a = tile.slot %as[%p] : !bufs -> !buf
            %d = tile.gemm %a, %a, %acc {tile.inst = #tile.inst<wgmma>} : !buf, !buf -> tensor<64x64xf32>
            tile.release %ch[%p] : !tile.channel<2>
            %pn = tile.advance %p : !tile.cursor<2>
            scf.yield %d, %pn : tensor<64x64xf32>, !tile.cursor<2>
          }
          %m = arith.muli %t, %c64 : index
          tile.store %s#0 to %scratch : tensor<64x64xf32> to memref<64x64xf32, #gpu.address_space<workgroup>>
          %v = tile.load %scratch : memref<64x64xf32, #gpu.address_space<workgroup>> -> tensor<64x64xf32>
          tile.store %v to %C[%m, 0] : tensor<64x64xf32> to memref<?x64xf32>
          scf.yield %s#1 : !tile.cursor<2>
        } {tile.ping_pong}
      }
      tile.role @load warps(1) {
        %q0 = tile.cursor : !tile.cursor<2>
        %r = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0) -> (!tile.cursor<2>) {
          %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> (!tile.cursor<2>) {
            tile.acquire %ch[%p] : !tile.channel<2>
            %a = tile.slot %as[%p] : !bufs -> !buf
            tile.copy %A[%k, 0] to %a {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !buf
            tile.commit %ch[%p] : !tile.channel<2>
            %pn = tile.advance %p : !tile.cursor<2>
            scf.yield %pn : !tile.cursor<2>
          }
          scf.yield %s : !tile.cursor<2>
        } {tile.ping_pong}
      }
    }
    gpu.return
  }

  gpu.func @counted(%A: memref<?x64xf16>, %C: memref<?x64xf32>, %tiles: index, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %as = tile.alloc_shared : !bufs
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !bufs -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !tile.cursor<2>
        %r:2 = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0, %i = %c0) -> (!tile.cursor<2>, index) {
          %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %p = %q) -> (tensor<64x64xf32>, !tile.cursor<2>) {
            tile.wait %ch[%p] : !tile.channel<2>
            %a = tile.slot %as[%p] : !bufs -> !buf
            %d = tile.gemm %a, %a, %acc {tile.inst = #tile.inst<wgmma>} : !buf, !buf -> tensor<64x64xf32>
            tile.release %ch[%p] : !tile.channel<2>
            %pn = tile.advance %p : !tile.cursor<2>
            scf.yield %d, %pn : tensor<64x64xf32>, !tile.cursor<2>
          }
          %m = arith.muli %t, %c64 : index
          %j = arith.addi %i, %c1 : index
          %mi = arith.addi %m, %i : index
          tile.store %s#0 to %C[%mi, 0] : tensor<64x64xf32> to memref<?x64xf32>
          scf.yield %s#1, %j : !tile.cursor<2>, index
        } {tile.ping_pong}
      }
      tile.role @load warps(1) {
        %q0 = tile.cursor : !tile.cursor<2>
        %r = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0) -> (!tile.cursor<2>) {
          %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> (!tile.cursor<2>) {
            tile.acquire %ch[%p] : !tile.channel<2>
            %a = tile.slot %as[%p] : !bufs -> !buf
            tile.copy %A[%k, 0] to %a {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !buf
            tile.commit %ch[%p] : !tile.channel<2>
            %pn = tile.advance %p : !tile.cursor<2>
            scf.yield %pn : !tile.cursor<2>
          }
          scf.yield %s : !tile.cursor<2>
        } {tile.ping_pong}
      }
    }
    gpu.return
  }
}
