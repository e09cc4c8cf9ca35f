// RUN: tilews-opt %s --tile-annotate-instructions --tile-infer-layouts --tile-plan-shared-memory --tile-insert-barriers --convert-tile-to-nvvm --cse | FileCheck %s

// Threads store their elements to scratch memory, and the first thread prints them row by
// row with the block and the coordinates, unless enough lines have been printed. A failed
// assertion is reported, and traps.
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // CHECK: llvm.mlir.global internal constant @tile_format{{.*}}("block (%d, %d, %d): assertion failed: not ok\0A\00")
  // CHECK: llvm.mlir.global external protected @__tilews_failure(0 : i64) {{.*}}assertions = [{message = "not ok"}], externally_initialized
  // CHECK: llvm.mlir.global internal constant @tile_format{{.*}}("... and more; TILEWS_PRINT_LINES=0 prints all that kernels print\0A\00")
  // CHECK: llvm.mlir.global internal constant @tile_format{{.*}}("block (%d, %d, %d): row %% (%d, %d:%d) %12g %12g %12g %12g %12g %12g %12g %12g\0A\00")
  // CHECK-NOT: llvm.mlir.global internal constant
  // CHECK: llvm.func @vprintf(!llvm.ptr, !llvm.ptr) -> i32
  // CHECK: llvm.mlir.global external protected @__tilews_printed(dense<[0, 1000]> : tensor<2xi32>)
  // CHECK-LABEL: llvm.func @debug
  // The arguments of all lines are in one place of the stack.
  // CHECK: llvm.alloca %{{.*}} x !llvm.struct<(i32, i32, i32, i32, i32, i32, f64, f64, f64, f64, f64, f64, f64, f64)>
  // CHECK: scf.for
  // CHECK: arith.extf %{{.*}} : f32 to f64
  // CHECK: llvm.store
  // CHECK: nvvm.barrier
  // CHECK: scf.for
  // CHECK: %[[NUMBER:.*]] = llvm.atomicrmw add %{{.*}} monotonic
  // CHECK: %[[LIMIT:.*]] = llvm.load
  // CHECK: arith.cmpi ult, %[[NUMBER]], %[[LIMIT]]
  // CHECK: llvm.call @vprintf
  // CHECK: arith.cmpi eq, %[[NUMBER]], %[[LIMIT]]
  // CHECK: llvm.call @vprintf
  // CHECK: nvvm.barrier
  // CHECK: %[[PLACE:.*]] = llvm.mlir.addressof @__tilews_failure
  // CHECK: llvm.load %[[PLACE]]
  // CHECK: arith.cmpi ne
  // CHECK: llvm.cmpxchg %{{.*}} monotonic monotonic
  // CHECK: llvm.store volatile
  // CHECK: llvm.fence seq_cst
  // CHECK: llvm.call @vprintf
  // CHECK: llvm.intr.trap
  gpu.func @debug(%x: memref<16x64xf32>, %ok: i1) kernel {
    %t = tile.load %x[0, 0] : memref<16x64xf32> -> tensor<16x64xf32>
    tile.print "row %" %t : tensor<16x64xf32>
    tile.assert %ok, "not ok" : i1
    gpu.return
  }
}
