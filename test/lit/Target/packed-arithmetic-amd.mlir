// Equal operations on f32 and f16 become operations on pairs, also where fragments are
// not vectors of pairs from the start.
// RUN: tilews-translate %s --chip=gfx942 --to=asm | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: scaled:
  // CHECK-COUNT-4: v_pk_mul_f32
  // CHECK-NOT: v_mul_f32
  // CHECK: s_endpgm
  gpu.func @scaled(%x: memref<8x256xf32>, %y: memref<8x256xf32>, %s: f32) kernel attributes {tile.threads = 256 : i32} {
    %0 = tile.load %x : memref<8x256xf32> -> tensor<8x256xf32>
    %1 = tensor.splat %s : tensor<8x256xf32>
    %2 = arith.mulf %0, %1 : tensor<8x256xf32>
    tile.store %2 to %y : tensor<8x256xf32> to memref<8x256xf32>
    gpu.return
  }

  // CHECK-LABEL: halves:
  // CHECK-COUNT-4: v_pk_max_f16
  // CHECK: s_endpgm
  gpu.func @halves(%x: memref<8x256xf16>, %y: memref<8x256xf16>, %z: memref<8x256xf16>) kernel attributes {tile.threads = 256 : i32} {
    %0 = tile.load %x : memref<8x256xf16> -> tensor<8x256xf16>
    %1 = tile.load %y : memref<8x256xf16> -> tensor<8x256xf16>
    %2 = arith.maxnumf %0, %1 : tensor<8x256xf16>
    tile.store %2 to %z : tensor<8x256xf16> to memref<8x256xf16>
    gpu.return
  }
}
