// RUN: tilews-opt %s --tile-defer-gemm-waits --cse | FileCheck %s
// A second run changes nothing.
// RUN: tilews-opt %s --tile-defer-gemm-waits --cse -o %t.once
// RUN: tilews-opt %t.once --tile-defer-gemm-waits --cse | diff - %t.once

!As = memref<3x64x64xf16, #gpu.address_space<workgroup>>
!a = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = tensor<64x64xf32>
!cur = !tile.cursor<3>
#inst = #tile.inst<wgmma>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // Two accumulators: two matmuls stay pending. Their slot is released one iteration
  // late, and that of the last iteration after the loop.
  // CHECK-LABEL: gpu.func @loop
  // CHECK: tile.role @math
  // CHECK: %[[Q0:.*]] = tile.cursor
  // CHECK: %[[FALSE:.*]] = arith.constant false
  // CHECK: %[[R:.*]]:5 = scf.for {{.*}} iter_args(%{{.*}}, %{{.*}}, %[[Q:.*]] = %[[Q0]], %[[LAST:.*]] = %[[Q0]], %[[ANY:.*]] = %[[FALSE]])
  // CHECK: tile.wait %[[CH:.*]][%[[Q]]]
  // CHECK: %[[D:.*]] = tile.gemm {{.*}} {async,
  // CHECK: %[[E:.*]] = tile.gemm {{.*}} {async,
  // CHECK-NEXT: tile.gemm_wait {pending = 2 : i64}
  // CHECK-NEXT: scf.if %[[ANY]] {
  // CHECK-NEXT:   tile.release %[[CH]][%[[LAST]]]
  // CHECK-NEXT: }
  // CHECK-NOT: tile.release
  // CHECK: %[[NEXT:.*]] = tile.advance %[[Q]]
  // CHECK: %[[TRUE:.*]] = arith.constant true
  // CHECK: scf.yield %[[D]], %[[E]], %[[NEXT]], %[[Q]], %[[TRUE]]
  // CHECK: %[[DONE:.*]]:2 = tile.gemm_wait %[[R]]#0, %[[R]]#1 : tensor<64x64xf32>, tensor<64x64xf32>
  // CHECK-NEXT: scf.if %[[R]]#4 {
  // CHECK-NEXT:   tile.release %[[CH]][%[[R]]#3]
  // CHECK-NEXT: }
  // CHECK-NEXT: tile.store %[[DONE]]#0
  // CHECK-NEXT: tile.store %[[DONE]]#1
  gpu.func @loop(%n: index, %C: memref<64x64xf32>, %D: memref<64x64xf32>) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %As = tile.alloc_shared : !As
    %ch = tile.channel(%As) {producer = #tile.producer<tma>} : !As -> !tile.channel<3>
    tile.specialize {
      tile.role @math warps(4) {
        %zero = arith.constant dense<0.0> : !acc
        %q0 = tile.cursor : !cur
        %r:3 = scf.for %k = %c0 to %n step %c1 iter_args(%x = %zero, %y = %zero, %q = %q0) -> (!acc, !acc, !cur) {
          tile.wait %ch[%q] : !tile.channel<3>
          %a = tile.slot %As[%q] : !As -> !a
          %d = tile.gemm %a, %a, %x {tile.inst = #inst} : !a, !a -> !acc
          %e = tile.gemm %a, %a, %y {transpose_rhs, tile.inst = #inst} : !a, !a -> !acc
          tile.release %ch[%q] : !tile.channel<3>
          %next = tile.advance %q : !cur
          scf.yield %d, %e, %next : !acc, !acc, !cur
        }
        tile.store %r#0 to %C : !acc to memref<64x64xf32>
        tile.store %r#1 to %D : !acc to memref<64x64xf32>
      }
    }
    gpu.return
  }

  // The transaction is guarded, and its loop is inside of another one: iterations that
  // skip it change nothing.
  // CHECK-LABEL: gpu.func @guard
  // CHECK: scf.for
  // CHECK: %[[R:.*]]:4 = scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}, %[[Q:.*]] = %{{.*}}, %[[LAST:.*]] = %{{.*}}, %[[ANY:.*]] = %{{.*}})
  // CHECK: %[[G:.*]]:4 = scf.if %{{.*}} -> (tensor<64x64xf32>, !tile.cursor<3>, !tile.cursor<3>, i1) {
  // CHECK: %[[D:.*]] = tile.gemm {{.*}} {async,
  // CHECK-NEXT: tile.gemm_wait {pending = 1 : i64}
  // CHECK-NEXT: scf.if %[[ANY]] {
  // CHECK-NEXT:   tile.release %{{.*}}[%[[LAST]]]
  // CHECK: %[[NEXT:.*]] = tile.advance %[[Q]]
  // CHECK: scf.yield %[[D]], %[[NEXT]], %[[Q]], %true
  // CHECK: } else {
  // CHECK-NEXT: scf.yield %[[ACC]], %[[Q]], %[[LAST]], %[[ANY]]
  // CHECK: scf.yield %[[G]]#0, %[[G]]#1, %[[G]]#2, %[[G]]#3
  // CHECK: tile.gemm_wait %[[R]]#0
  // CHECK-NEXT: scf.if %[[R]]#3 {
  // CHECK: tile.store
  gpu.func @guard(%n: index, %mask: memref<?xi1>, %C: memref<64x64xf32>) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %As = tile.alloc_shared : !As
    %ch = tile.channel(%As) {producer = #tile.producer<tma>} : !As -> !tile.channel<3>
    tile.specialize {
      tile.role @math warps(4) {
        %zero = arith.constant dense<0.0> : !acc
        %q0 = tile.cursor : !cur
        scf.for %t = %c0 to %n step %c1 iter_args(%qt = %q0) -> (!cur) {
          %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%x = %zero, %q = %qt) -> (!acc, !cur) {
            %on = memref.load %mask[%k] : memref<?xi1>
            %g:2 = scf.if %on -> (!acc, !cur) {
              tile.wait %ch[%q] : !tile.channel<3>
              %a = tile.slot %As[%q] : !As -> !a
              %d = tile.gemm %a, %a, %x {tile.inst = #inst} : !a, !a -> !acc
              tile.release %ch[%q] : !tile.channel<3>
              %next = tile.advance %q : !cur
              scf.yield %d, %next : !acc, !cur
            } else {
              scf.yield %x, %q : !acc, !cur
            }
            scf.yield %g#0, %g#1 : !acc, !cur
          }
          tile.store %r#0 to %C : !acc to memref<64x64xf32>
          scf.yield %r#1 : !cur
        }
      }
    }
    gpu.return
  }

  // These waits stay: a result that is used in the loop, an operand in registers,
  // another instruction, a channel of one slot.
  // CHECK-LABEL: gpu.func @stay
  // CHECK-NOT: async
  // CHECK: gpu.return
  gpu.func @stay(%n: index, %X: memref<64x64xf32>, %f: memref<64x64xf16>) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %As = tile.alloc_shared : !As
    %Bs = tile.alloc_shared : memref<1x64x64xf16, #gpu.address_space<workgroup>>
    %ch = tile.channel(%As) {producer = #tile.producer<tma>} : !As -> !tile.channel<3>
    %one = tile.channel(%Bs) {producer = #tile.producer<tma>} : memref<1x64x64xf16, #gpu.address_space<workgroup>> -> !tile.channel<1>
    tile.specialize {
      tile.role @math warps(4) {
        %zero = arith.constant dense<0.0> : !acc
        %p = tile.load %f : memref<64x64xf16> -> tensor<64x64xf16>
        %q0 = tile.cursor : !cur
        %r:4 = scf.for %k = %c0 to %n step %c1 iter_args(%x = %zero, %y = %zero, %z = %zero, %q = %q0) -> (!acc, !acc, !acc, !cur) {
          tile.wait %ch[%q] : !tile.channel<3>
          %a = tile.slot %As[%q] : !As -> !a
          %d = tile.gemm %a, %a, %x {tile.inst = #inst} : !a, !a -> !acc
          tile.store %d to %X : !acc to memref<64x64xf32>
          %e = tile.gemm %p, %a, %y {tile.inst = #inst} : tensor<64x64xf16>, !a -> !acc
          %g = tile.gemm %a, %a, %z {tile.inst = #tile.inst<mma>} : !a, !a -> !acc
          tile.release %ch[%q] : !tile.channel<3>
          %next = tile.advance %q : !cur
          scf.yield %d, %e, %g, %next : !acc, !acc, !acc, !cur
        }
        %c = tile.cursor : !tile.cursor<1>
        %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%x = %r#0, %q = %c) -> (!acc, !tile.cursor<1>) {
          tile.wait %one[%q] : !tile.channel<1>
          %b = tile.slot %Bs[%q] : memref<1x64x64xf16, #gpu.address_space<workgroup>> -> !a
          %d = tile.gemm %b, %b, %x {tile.inst = #inst} : !a, !a -> !acc
          tile.release %one[%q] : !tile.channel<1>
          %next = tile.advance %q : !tile.cursor<1>
          scf.yield %d, %next : !acc, !tile.cursor<1>
        }
        tile.store %s#0 to %X : !acc to memref<64x64xf32>
      }
    }
    gpu.return
  }

  // The metadata of a sparse matmul is in registers, which the next iteration loads.
  // CHECK-LABEL: gpu.func @sparse
  // CHECK: tile.gemm_sp
  // CHECK-NOT: async
  // CHECK: gpu.return
  gpu.func @sparse(%n: index, %C: memref<64x64xf32>) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %As = tile.alloc_shared : memref<3x64x32xf16, #gpu.address_space<workgroup>>
    %Es = tile.alloc_shared : memref<3x64x4xi16, #gpu.address_space<workgroup>>
    %Bs = tile.alloc_shared : !As
    %ch = tile.channel(%As, %Es, %Bs) {producer = #tile.producer<mixed>} : memref<3x64x32xf16, #gpu.address_space<workgroup>>, memref<3x64x4xi16, #gpu.address_space<workgroup>>, !As -> !tile.channel<3>
    tile.specialize {
      tile.role @math warps(4) {
        %zero = arith.constant dense<0.0> : !acc
        %q0 = tile.cursor : !cur
        %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%x = %zero, %q = %q0) -> (!acc, !cur) {
          tile.wait %ch[%q] : !tile.channel<3>
          %a = tile.slot %As[%q] : memref<3x64x32xf16, #gpu.address_space<workgroup>> -> memref<64x32xf16, #gpu.address_space<workgroup>>
          %e = tile.slot %Es[%q] : memref<3x64x4xi16, #gpu.address_space<workgroup>> -> memref<64x4xi16, #gpu.address_space<workgroup>>
          %b = tile.slot %Bs[%q] : !As -> !a
          %d = tile.gemm_sp %a, %e, %b, %x {tile.inst = #inst} : memref<64x32xf16, #gpu.address_space<workgroup>>, memref<64x4xi16, #gpu.address_space<workgroup>>, !a -> !acc
          tile.release %ch[%q] : !tile.channel<3>
          %next = tile.advance %q : !cur
          scf.yield %d, %next : !acc, !cur
        }
        tile.store %r#0 to %C : !acc to memref<64x64xf32>
      }
    }
    gpu.return
  }
}
