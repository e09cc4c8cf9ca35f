// RUN: tilews-opt %s --tile-annotate-instructions --tile-infer-layouts --tile-plan-shared-memory --tile-insert-barriers --convert-tile-to-nvvm --cse | FileCheck %s
// RUN: tilews-opt %s --tile-annotate-instructions --tile-infer-layouts --tile-plan-shared-memory --tile-insert-barriers --convert-tile-to-nvvm=index-bitwidth=64 --cse | FileCheck %s --check-prefix=WIDE

// The parameters of a kernel: a memref becomes its base pointer, its dynamic extents
// and its dynamic strides; a scalar stays a scalar. Attributes of the function keep
// what the launch needs.
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // CHECK: llvm.mlir.global external @tile_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>

  // CHECK-LABEL: llvm.func @signature(
  // CHECK-SAME: %{{.*}}: !llvm.ptr<1>, %{{.*}}: i32, %{{.*}}: !llvm.ptr<1>, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: f32, %{{.*}}: i32)
  // CHECK-SAME: nvvm.cluster_dim = array<i32: 2, 1, 1>
  // CHECK-SAME: nvvm.kernel
  // CHECK-SAME: nvvm.reqntid = array<i32: 64, 1, 1>
  // CHECK-SAME: tile.arguments = [{tile.divisible = array<i64: 8, 1>, type = memref<?x4xf32>}, {type = memref<8x?xf16, strided<[?, 1]>>}, {type = f32}, {type = index}]
  // CHECK-SAME: tile.threads = 64 : i32
  // WIDE-LABEL: llvm.func @signature(
  // WIDE-SAME: %{{.*}}: !llvm.ptr<1>, %{{.*}}: i64, %{{.*}}: !llvm.ptr<1>, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: f32, %{{.*}}: i64)
  gpu.func @signature(%a: memref<?x4xf32> {tile.divisible = array<i64: 8, 1>},
                      %b: memref<8x?xf16, strided<[?, 1]>>, %x: f32, %n: index) kernel
      attributes {tile.threads = 64 : i32, tile.cluster = array<i32: 2, 1, 1>} {
    // CHECK: llvm.return
    gpu.return
  }

  // The stride of a row-major memref follows from its extents.
  // CHECK-LABEL: llvm.func @extents(
  // CHECK-SAME: %{{.*}}: !llvm.ptr<1>, %[[ROWS:.*]]: i32, %[[COLUMNS:.*]]: i32,
  // CHECK: nvvm.read.ptx.sreg.ctaid.y : i32
  // CHECK: nvvm.read.ptx.sreg.nctaid.x : i32
  // CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : i32, !llvm.ptr
  // CHECK-NOT: gpu.
  gpu.func @extents(%a: memref<?x?xi32>, %r: memref<4xindex>) kernel {
    %c1 = arith.constant 1 : index
    %y = gpu.block_id y
    %nx = gpu.grid_dim x
    %n = memref.dim %a, %c1 : memref<?x?xi32>
    %s = arith.addi %y, %nx : index
    %t = arith.addi %s, %n : index
    memref.store %t, %r[%c1] : memref<4xindex>
    gpu.return
  }
}
