// RUN: tilews-opt %s --tile-order-warpgroups | FileCheck %s
// Once is enough.
// RUN: tilews-opt %s --tile-order-warpgroups -o %t.once
// RUN: tilews-opt %t.once --tile-order-warpgroups | diff - %t.once

!mem = memref<128x128xf16, #gpu.address_space<workgroup>>
!acc = tensor<128x128xf32>
!half = tensor<128x128xf16>
#inst = #tile.inst<wgmma>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // Arithmetic on the first product runs beside the second one.
  // CHECK-LABEL: gpu.func @attention
  // CHECK: tile.role @math
  // CHECK: scf.for
  // CHECK: tile.order_wait
  // CHECK-NEXT: tile.gemm {{.*}} {async, clear_accumulator
  // CHECK-NEXT: tile.gemm {{.*}} {async, tile.inst
  // CHECK-NEXT: tile.order_pass
  // CHECK-NEXT: tile.gemm_wait
  // CHECK-NOT: tile.order
  // CHECK: tile.role @one
  // A warpgroup alone waits for no other.
  // CHECK-NOT: tile.order
  gpu.func @attention(%n: index) kernel attributes {tile.threads = 384 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %Qs = tile.alloc_shared : !mem
    %Ks = tile.alloc_shared : !mem
    tile.specialize {
      tile.role @math warps(8) {
        %zero = arith.constant dense<0.0> : !acc
        %first = arith.constant dense<0.0> : !half
        %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%out = %zero, %w = %first) -> (!acc, !half) {
          %s = tile.gemm %Qs, %Ks, %zero {async, clear_accumulator, tile.inst = #inst} : !mem, !mem -> !acc
          %d = tile.gemm %w, %Ks, %out {async, tile.inst = #inst} : !half, !mem -> !acc
          %scores = tile.gemm_wait %s {pending = 1 : i64} : !acc
          %p = math.exp2 %scores : !acc
          %next = arith.truncf %p : !acc to !half
          %done:2 = tile.gemm_wait %d, %w : !acc, !half
          scf.yield %done#0, %next : !acc, !half
        }
      }
      tile.role @one warps(4) {
        %zero = arith.constant dense<0.0> : !acc
        %first = arith.constant dense<0.0> : !half
        %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%out = %zero, %w = %first) -> (!acc, !half) {
          %s = tile.gemm %Qs, %Ks, %zero {async, clear_accumulator, tile.inst = #inst} : !mem, !mem -> !acc
          %d = tile.gemm %w, %Ks, %out {async, tile.inst = #inst} : !half, !mem -> !acc
          %scores = tile.gemm_wait %s {pending = 1 : i64} : !acc
          %p = math.exp2 %scores : !acc
          %next = arith.truncf %p : !acc to !half
          %done:2 = tile.gemm_wait %d, %w : !acc, !half
          scf.yield %done#0, %next : !acc, !half
        }
      }
    }
    gpu.return
  }

  // No arithmetic beside products: of a turn that leaves one running, of one
  // that waits for all at once, and of one that only moves on.
  // CHECK-LABEL: gpu.func @products
  // CHECK-NOT: tile.order
  gpu.func @products(%n: index) kernel attributes {tile.threads = 256 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %As = tile.alloc_shared : !mem
    %Bs = tile.alloc_shared : !mem
    tile.specialize {
      tile.role @math warps(8) {
        %zero = arith.constant dense<0.0> : !acc
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!acc) {
          %d = tile.gemm %As, %Bs, %acc {async, tile.inst = #inst} : !mem, !mem -> !acc
          tile.gemm_wait {pending = 1 : i64}
          scf.yield %d : !acc
        }
        %q:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero, %y = %zero) -> (!acc, !acc) {
          %d = tile.gemm %As, %Bs, %x {async, tile.inst = #inst} : !mem, !mem -> !acc
          %e = tile.gemm %Bs, %As, %y {async, tile.inst = #inst} : !mem, !mem -> !acc
          %done:2 = tile.gemm_wait %d, %e : !acc, !acc
          %sum = arith.addf %done#0, %done#1 : !acc
          scf.yield %sum, %done#1 : !acc, !acc
        }
        %u:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero, %y = %zero) -> (!acc, !acc) {
          %d = tile.gemm %As, %Bs, %x {async, tile.inst = #inst} : !mem, !mem -> !acc
          %e = tile.gemm %Bs, %As, %y {async, tile.inst = #inst} : !mem, !mem -> !acc
          %one = tile.gemm_wait %d {pending = 1 : i64} : !acc
          %two = tile.gemm_wait %e : !acc
          scf.yield %one, %two : !acc, !acc
        }
      }
    }
    gpu.return
  }
}
