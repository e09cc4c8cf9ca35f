// REQUIRES: test-passes
// RUN: tilews-opt %s --test-tile-accesses -o /dev/null | FileCheck %s

!s = memref<64x64xf32, #gpu.address_space<workgroup>>
!h = memref<32x64xf32, #gpu.address_space<workgroup>>
!x = tensor<64x64xf32>
#panels = #tile.shared<(64, (32, 2)):(32, (1, 2048)), Sw<3,4,3>>
!panels = memref<64x64xf32, #panels, #gpu.address_space<workgroup>>

gpu.module @accesses [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: kernel @buffers
  // CHECK-NEXT: tile.copy %arg0, %arg1, %0
  // CHECK-NEXT:   writes shared %0[0, 0] 64x64
  // CHECK-NEXT:   reads global %arg0[%arg1, 0] 64x64
  // CHECK-NEXT: %1 = tile.load %0
  // CHECK-NEXT:   reads shared %0[0, 0] 64x64
  // CHECK-NEXT: tile.store %arg2, %arg0, %arg1, %arg1
  // CHECK-NEXT:   writes global %arg0[%arg1, %arg1] 64x64
  // CHECK-NEXT: tile.atomic_rmw %arg2, %arg0
  // CHECK-NEXT:   reads and writes global %arg0[0, 0] 64x64, atomic add
  // CHECK-NEXT: memref.store %arg3, %0, %arg1, %arg1
  // CHECK-NEXT:   writes shared %0
  gpu.func @buffers(%A: memref<?x?xf32>, %i: index, %x: !x, %v: f32) kernel {
    %s = tile.alloc_shared : !s
    tile.copy %A[%i, 0] to %s : memref<?x?xf32> to !s
    %y = tile.load %s : !s -> !x
    tile.store %x to %A[%i, %i] : !x to memref<?x?xf32>
    tile.atomic_rmw <add> %x to %A[0, 0] : !x to memref<?x?xf32>
    memref.store %v, %s[%i, %i] : !s
    gpu.return
  }

  // Buffers that a loop exchanges, and a choice.
  // CHECK-LABEL: kernel @aliases
  // CHECK-NEXT: tile.store %arg2, %arg4
  // CHECK-NEXT:   writes shared %arg4[0, 0] 64x64 of %0, %1
  // CHECK-NEXT: %5 = tile.load %4
  // CHECK-NEXT:   reads shared %4[0, 0] 64x64 of %0, %2
  // CHECK-NEXT: %3#0: %0, %1
  // CHECK-NEXT: %3#1: %0, %1
  // CHECK-NEXT: %arg4: %0, %1
  // CHECK-NEXT: %arg5: %0, %1
  // CHECK-NEXT: %4: %0, %2
  gpu.func @aliases(%n: index, %p: i1, %x: !x) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tile.alloc_shared : !s
    %b = tile.alloc_shared : !s
    %c = tile.alloc_shared : !s
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%f = %a, %g = %b) -> (!s, !s) {
      tile.store %x to %f : !x to !s
      scf.yield %g, %f : !s, !s
    }
    %t = arith.select %p, %a, %c : !s
    %y = tile.load %t : !s -> !x
    gpu.return
  }

  // Without a plan, there are no bytes. With one, a region of rows is a range of bytes, and
  // a region at an unknown offset the whole buffer.
  // CHECK-LABEL: kernel @rows
  // CHECK-NEXT: tile.store %arg1, %0
  // CHECK-NEXT:   writes shared %0[16, 0] 16x64
  // CHECK-NEXT: tile.store %arg1, %1, %arg0
  // CHECK-NEXT:   writes shared %1[%arg0, 0] 16x64
  // CHECK-NEXT: arena:
  // CHECK-NEXT: tile.store %arg1, %0
  // CHECK-NEXT:   writes arena [4096, 8192)
  // CHECK-NEXT: tile.store %arg1, %1, %arg0
  // CHECK-NEXT:   writes arena [16384, 32768)
  gpu.func @rows(%i: index, %x: tensor<16x64xf32>) kernel attributes {tile.shared_bytes = 32768 : i64} {
    %a = tile.alloc_shared {tile.offset = 0 : i64} : !s
    %b = tile.alloc_shared {tile.offset = 16384 : i64} : !s
    tile.store %x to %a[16, 0] : tensor<16x64xf32> to !s
    tile.store %x to %b[%i, 0] : tensor<16x64xf32> to !s
    gpu.return
  }

  // Columns of a buffer in panels: larger columns can have smaller addresses, so that a
  // region of columns counts as all columns of its rows, in whole atoms of the swizzle.
  // CHECK-LABEL: kernel @columns_of_panels
  // CHECK-NEXT: tile.store %arg0, %0
  // CHECK-NEXT:   writes shared %0[0, 0] 64x32
  // CHECK-NEXT: tile.store %arg0, %0
  // CHECK-NEXT:   writes shared %0[0, 32] 64x32
  // CHECK-NEXT: tile.store %arg1, %0
  // CHECK-NEXT:   writes shared %0[8, 0] 8x64
  // CHECK-NEXT: arena:
  // CHECK-NEXT: tile.store %arg0, %0
  // CHECK-NEXT:   writes arena [0, 16384)
  // CHECK-NEXT: tile.store %arg0, %0
  // CHECK-NEXT:   writes arena [0, 16384)
  // CHECK-NEXT: tile.store %arg1, %0
  // CHECK-NEXT:   writes arena [1024, 10240)
  gpu.func @columns_of_panels(%x: tensor<64x32xf32>, %y: tensor<8x64xf32>) kernel attributes {tile.shared_bytes = 16384 : i64} {
    %a = tile.alloc_shared {tile.offset = 0 : i64} : !panels
    tile.store %x to %a[0, 0] : tensor<64x32xf32> to !panels
    tile.store %x to %a[0, 32] : tensor<64x32xf32> to !panels
    tile.store %y to %a[8, 0] : tensor<8x64xf32> to !panels
    gpu.return
  }
}
