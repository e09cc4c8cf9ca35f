// RUN: not %python -m tilews.sim %s --kernel load --arg 1=4 --grid 1 2>&1 | FileCheck %s --check-prefix=LOAD
// RUN: not %python -m tilews.sim %s --kernel store --arg 1=6 --grid 1 2>&1 | FileCheck %s --check-prefix=STORE
// RUN: %python -m tilews.sim %s --kernel load --arg 1=8 --grid 1
// RUN: %python -m tilews.sim %s --kernel store --arg 1=16 --grid 1
// RUN: %python -m tilews.sim %s --kernel threads --arg 1=3 --grid 1

// TMA begins at multiples of 16 bytes in a row, of loads and of stores. Rows may begin
// anywhere, and so may copies by other instructions.

!buffer = memref<16x16xf16, #gpu.address_space<workgroup>>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @load(%a: memref<64x64xf16>, %i: index) kernel attributes {tile.threads = 32 : i32} {
    %b = tile.alloc_shared : !buffer
    // LOAD: unaligned-tma.mlir:[[#@LINE+1]]:{{.*}}error: 'tile.copy' op begins at element 4 of a row of global memory, but TMA begins at multiples of 8 elements (16 bytes)
    tile.copy %a[3, %i] to %b {tile.inst = #tile.inst<tma>} : memref<64x64xf16> to !buffer
    gpu.return
  }

  gpu.func @store(%c: memref<64xf32>, %i: index) kernel attributes {tile.threads = 32 : i32} {
    %b = tile.alloc_shared : memref<16xf32, #gpu.address_space<workgroup>>
    %x = arith.constant dense<1.0> : tensor<16xf32>
    tile.store %x to %b : tensor<16xf32> to memref<16xf32, #gpu.address_space<workgroup>>
    // STORE: unaligned-tma.mlir:[[#@LINE+1]]:{{.*}}error: 'tile.copy' op begins at element 6 of a row of global memory, but TMA begins at multiples of 4 elements (16 bytes)
    tile.copy %b to %c[%i] {tile.inst = #tile.inst<tma>} : memref<16xf32, #gpu.address_space<workgroup>> to memref<64xf32>
    gpu.return
  }

  gpu.func @threads(%a: memref<64x64xf16>, %i: index) kernel attributes {tile.threads = 32 : i32} {
    %b = tile.alloc_shared : !buffer
    tile.copy %a[%i, 8] to %b {tile.inst = #tile.inst<tma>} : memref<64x64xf16> to !buffer
    tile.copy %a[0, %i] to %b : memref<64x64xf16> to !buffer
    gpu.return
  }
}
