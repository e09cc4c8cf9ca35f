// The function of a kernel: attributes for the backend, and its first block.
// RUN: tilews-opt %s --pass-pipeline='builtin.module(gpu.module(tile-infer-layouts,tile-plan-shared-memory,tile-insert-barriers,convert-tile-to-rocdl))' | FileCheck %s

gpu.module @kernels [#rocdl.target<chip = "gfx942">] {
  // The launch sets the size of shared memory.
  // CHECK: llvm.mlir.global external @tile_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
  // CHECK: llvm.func @copy(%{{.*}}: !llvm.ptr<1>, %{{.*}}: i32, %{{.*}}: !llvm.ptr<1>, %{{.*}}: i32)
  // CHECK-SAME: passthrough = [
  // CHECK-SAME: "amdgpu-ieee", "false"
  // CHECK-SAME: rocdl.flat_work_group_size = "256,256"
  // CHECK-SAME: rocdl.kernel
  // CHECK-SAME: rocdl.reqd_work_group_size = array<i32: 256, 1, 1>
  gpu.func @copy(%A: memref<?x64xf32>, %C: memref<?x64xf32>) kernel attributes {tile.threads = 256 : i32} {
    // CHECK: rocdl.workitem.id.x : i32
    %x = tile.load %A[0, 0] : memref<?x64xf32> -> tensor<64x64xf32>
    tile.store %x to %C[0, 0] : tensor<64x64xf32> to memref<?x64xf32>
    gpu.return
  }
}
