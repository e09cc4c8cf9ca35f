// RUN: tilews-opt %s --tile-overlap-products --canonicalize --cse | FileCheck %s
// A second run changes nothing.
// RUN: tilews-opt %s --tile-overlap-products --canonicalize --cse -o %t.once
// RUN: tilews-opt %t.once --tile-overlap-products --canonicalize --cse | diff - %t.once

!two = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!one = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = tensor<64x64xf32>
!row = tensor<64xf32>
!cur = !tile.cursor<2>
#inst = #tile.inst<wgmma>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // The scores of an iteration are computed before the second matmul of the iteration
  // before, which runs beside the exponentials. The loop carries the weights, and of
  // the factors only a row.
  // CHECK-LABEL: gpu.func @attention
  // CHECK: tile.role @math
  // CHECK: %[[ANY:.*]] = arith.cmpi sgt, %{{.*}}, %c0 : index
  // CHECK: scf.if %[[ANY]]
  // The early part of the first iteration.
  // CHECK: tile.wait %[[K:.*]][%[[Q0:.*]]]
  // CHECK: tile.gemm {{.*}} {clear_accumulator, tile.inst
  // CHECK-NEXT: tile.release %[[K]][%[[Q0]]]
  // CHECK: %[[W0:.*]] = arith.truncf
  // CHECK: %[[R:.*]]:6 = scf.for %{{.*}} = %c1 to %{{.*}} iter_args(%[[OUT:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %[[KQ:.*]] = %{{.*}}, %[[VQ:.*]] = %[[Q0]], %[[F:.*]] = %{{.*}}, %[[W:.*]] = %[[W0]])
  // CHECK: tile.wait %[[K]][%[[KQ]]]
  // CHECK: %[[S:.*]] = tile.gemm {{.*}} {async, clear_accumulator
  // CHECK-NEXT: %[[FACTOR:.*]] = math.exp2 %[[F]]
  // CHECK-NEXT: %[[COLUMN:.*]] = tile.expand_dims %[[FACTOR]]
  // CHECK-NEXT: %[[FACTORS:.*]] = tile.broadcast %[[COLUMN]]
  // CHECK-NEXT: %[[SCALED:.*]] = arith.mulf %[[OUT]], %[[FACTORS]]
  // CHECK-NEXT: tile.wait %[[V:.*]][%[[VQ]]]
  // CHECK: %[[D:.*]] = tile.gemm %[[W]], %{{.*}}, %[[SCALED]] {async
  // CHECK-NEXT: %[[SCORES:.*]] = tile.gemm_wait %[[S]] {pending = 1 : i64}
  // CHECK-NEXT: tile.release %[[K]][%[[KQ]]]
  // CHECK: tile.reduce <max> %[[SCORES]]
  // CHECK: %[[NEXT:.*]] = arith.truncf
  // CHECK: %[[DONE:.*]]:2 = tile.gemm_wait %[[D]], %[[W]]
  // CHECK-NEXT: tile.release %[[V]][%[[VQ]]]
  // CHECK: scf.yield %[[DONE]]#0, {{.*}}, %[[NEXT]]
  // The late part of the last iteration.
  // CHECK: tile.wait %[[V]][%[[R]]#3]
  // CHECK: %[[LAST:.*]] = tile.gemm %[[R]]#5, {{.*}} {tile.inst
  // CHECK-NEXT: tile.release %[[V]][%[[R]]#3]
  // CHECK-NEXT: scf.yield %[[LAST]]
  gpu.func @attention(%n: index, %Y: memref<64x64xf32>) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %Qs = tile.alloc_shared : !one
    %Ks = tile.alloc_shared : !two
    %Vs = tile.alloc_shared : !two
    %kch = tile.channel(%Ks) {producer = #tile.producer<tma>} : !two -> !tile.channel<2>
    %vch = tile.channel(%Vs) {producer = #tile.producer<tma>} : !two -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(4) {
        %zero = arith.constant dense<0.0> : !acc
        %low = arith.constant dense<-1.0e30> : !row
        %q0 = tile.cursor : !cur
        %r:4 = scf.for %i = %c0 to %n step %c1 iter_args(%out = %zero, %top = %low, %kq = %q0, %vq = %q0) -> (!acc, !row, !cur, !cur) {
          tile.wait %kch[%kq] : !tile.channel<2>
          %k = tile.slot %Ks[%kq] : !two -> !one
          %s = tile.gemm %Qs, %k, %zero {clear_accumulator, transpose_rhs, tile.inst = #inst} : !one, !one -> !acc
          tile.release %kch[%kq] : !tile.channel<2>
          %knext = tile.advance %kq : !cur
          %max = tile.reduce <max> %s {axis = 1 : i64} : !acc -> !row
          %higher = arith.maximumf %top, %max : !row
          %h = tile.expand_dims %higher {axis = 1 : i64} : !row -> tensor<64x1xf32>
          %hb = tile.broadcast %h : tensor<64x1xf32> -> !acc
          %less = arith.subf %s, %hb : !acc
          %p = math.exp2 %less : !acc
          %change = arith.subf %top, %higher : !row
          %factor = math.exp2 %change : !row
          %f = tile.expand_dims %factor {axis = 1 : i64} : !row -> tensor<64x1xf32>
          %fb = tile.broadcast %f : tensor<64x1xf32> -> !acc
          %scaled = arith.mulf %out, %fb : !acc
          %w = arith.truncf %p : !acc to tensor<64x64xf16>
          tile.wait %vch[%vq] : !tile.channel<2>
          %v = tile.slot %Vs[%vq] : !two -> !one
          %d = tile.gemm %w, %v, %scaled {tile.inst = #inst} : tensor<64x64xf16>, !one -> !acc
          tile.release %vch[%vq] : !tile.channel<2>
          %vnext = tile.advance %vq : !cur
          scf.yield %d, %higher, %knext, %vnext : !acc, !row, !cur, !cur
        }
        tile.store %r#0 to %Y : !acc to memref<64x64xf32>
      }
    }
    gpu.return
  }

  // The stores of an iteration have to be complete before the next iteration reads
  // them.
  // CHECK-LABEL: gpu.func @effect
  // CHECK-NOT: async
  gpu.func @effect(%n: index, %S: memref<64x64xf32>, %Y: memref<64x64xf32>) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %Qs = tile.alloc_shared : !one
    %Vs = tile.alloc_shared : !one
    tile.specialize {
      tile.role @math warps(4) {
        %zero = arith.constant dense<0.0> : !acc
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%out = %zero) -> (!acc) {
          %s = tile.gemm %Qs, %Qs, %zero {clear_accumulator, tile.inst = #inst} : !one, !one -> !acc
          tile.store %s to %S : !acc to memref<64x64xf32>
          %w = arith.truncf %s : !acc to tensor<64x64xf16>
          %d = tile.gemm %w, %Vs, %out {tile.inst = #inst} : tensor<64x64xf16>, !one -> !acc
          scf.yield %d : !acc
        }
        tile.store %r to %Y : !acc to memref<64x64xf32>
      }
    }
    gpu.return
  }

  // The first matmul needs the result of the second one of the iteration before.
  // CHECK-LABEL: gpu.func @recurrent
  // CHECK-NOT: async
  gpu.func @recurrent(%n: index, %Y: memref<64x64xf32>) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %Qs = tile.alloc_shared : !one
    %Vs = tile.alloc_shared : !one
    tile.specialize {
      tile.role @math warps(4) {
        %zero = arith.constant dense<0.0> : !acc
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%out = %zero) -> (!acc) {
          %s = tile.gemm %Qs, %Qs, %zero {clear_accumulator, tile.inst = #inst} : !one, !one -> !acc
          %t = arith.addf %s, %out : !acc
          %w = arith.truncf %t : !acc to tensor<64x64xf16>
          %d = tile.gemm %w, %Vs, %zero {clear_accumulator, tile.inst = #inst} : tensor<64x64xf16>, !one -> !acc
          scf.yield %d : !acc
        }
        tile.store %r to %Y : !acc to memref<64x64xf32>
      }
    }
    gpu.return
  }

  // Scores, weights and results of 256 columns take 320 registers.
  // CHECK-LABEL: gpu.func @registers
  // CHECK-NOT: async
  gpu.func @registers(%n: index, %Y: memref<64x256xf32>) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %Qs = tile.alloc_shared : !one
    %Ks = tile.alloc_shared : memref<64x256xf16, #gpu.address_space<workgroup>>
    %Vs = tile.alloc_shared : memref<256x256xf16, #gpu.address_space<workgroup>>
    tile.specialize {
      tile.role @math warps(4) {
        %zero = arith.constant dense<0.0> : tensor<64x256xf32>
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%out = %zero) -> (tensor<64x256xf32>) {
          %s = tile.gemm %Qs, %Ks, %zero {clear_accumulator, tile.inst = #inst} : !one, memref<64x256xf16, #gpu.address_space<workgroup>> -> tensor<64x256xf32>
          %w = arith.truncf %s : tensor<64x256xf32> to tensor<64x256xf16>
          %d = tile.gemm %w, %Vs, %out {tile.inst = #inst} : tensor<64x256xf16>, memref<256x256xf16, #gpu.address_space<workgroup>> -> tensor<64x256xf32>
          scf.yield %d : tensor<64x256xf32>
        }
        tile.store %r to %Y : tensor<64x256xf32> to memref<64x256xf32>
      }
    }
    gpu.return
  }
}
