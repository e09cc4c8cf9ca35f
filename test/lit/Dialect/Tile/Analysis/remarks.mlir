// RUN: tilews-opt %s --convert-tile-to-rocdl -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=note
// RUN: not tilews-opt %s --convert-tile-to-nvvm -o /dev/null 2>&1 | FileCheck %s --check-prefix=ERROR

// A remark has the place of its operation, and does not print it: that would
// print all of the kernel for each remark. An error prints it.

// ERROR: error: expected an NVIDIA target
// ERROR: note: see current operation

gpu.module @kernels [#rocdl.target<chip = "gfx942">] {
  gpu.func @copy(%A: memref<128xf32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: remarks.mlir:[[#@LINE+1]]:5: remark: tile-pipe-0001: loop runs without a software pipeline
    scf.for %k = %c0 to %n step %c1 {
      %x = memref.load %A[%k] : memref<128xf32>
      memref.store %x, %A[%k] : memref<128xf32>
    } {tile.num_stages = 2 : i32}
    // CHECK: remarks.mlir:[[#@LINE+1]]:5: remark: tile-pipe-0001: loop runs without a software pipeline
    scf.for %k = %c0 to %n step %c1 {
      %x = memref.load %A[%k] : memref<128xf32>
      memref.store %x, %A[%k] : memref<128xf32>
    } {tile.num_stages = 3 : i32}
    gpu.return
  }
}
