// RUN: tilews-opt %s --tile-annotate-instructions --tile-infer-layouts --tile-plan-shared-memory --tile-insert-barriers --convert-tile-to-nvvm --cse | FileCheck %s

// Each register prints itself with its coordinates; a failed assertion traps.
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // CHECK: llvm.mlir.global internal constant @tile_format{{.*}}("assertion failed: not ok\0A\00")
  // CHECK: llvm.mlir.global internal constant @tile_format{{.*}}("row %% [%d, %d] %g\0A\00")
  // CHECK: llvm.func @vprintf(!llvm.ptr, !llvm.ptr) -> i32
  // CHECK-LABEL: llvm.func @debug
  // CHECK: arith.extf %{{.*}} : f32 to f64
  // CHECK: llvm.alloca %{{.*}} x !llvm.struct<(i32, i32, f64)>
  // CHECK: llvm.call @vprintf
  // CHECK: scf.if
  // CHECK: llvm.call @vprintf
  // CHECK: llvm.intr.trap
  gpu.func @debug(%x: memref<16x64xf32>, %ok: i1) kernel {
    %t = tile.load %x[0, 0] : memref<16x64xf32> -> tensor<16x64xf32>
    tile.print "row %" %t : tensor<16x64xf32>
    tile.assert %ok, "not ok" : i1
    gpu.return
  }
}
