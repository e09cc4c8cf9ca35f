// The interface of a kernel before and after conversion.
// RUN: tilews-opt %s | tilews-opt | FileCheck %s

#grid = affine_map<()[s0, s1, s2] -> (s0 ceildiv 128, s1 * s2)>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // CHECK: gpu.func @tile(%{{.*}}: memref<?x?xf16> {tile.divisible = array<i64: 1, 16>, tile.name = "A", tile.symbols = ["M", "K"]}
  // CHECK-SAME: i32 {tile.name = "n", tile.unsigned}
  gpu.func @tile(
      %a: memref<?x?xf16> {tile.name = "A", tile.symbols = ["M", "K"],
                           tile.divisible = array<i64: 1, 16>},
      %n: i32 {tile.name = "n", tile.unsigned})
      kernel attributes {tile.grid = #grid} {
    gpu.return
  }

  // A row-major memref has no stride parameters.
  // CHECK: llvm.func @row_major
  // CHECK-SAME: tile.arguments = [{tile.name = "A", type = memref<?x?xf16>}, {tile.unsigned, type = i32}]
  llvm.func @row_major(%a: !llvm.ptr<1>, %m: i32, %k: i32, %n: i32)
    attributes {tile.grid = #grid,
      tile.arguments = [{type = memref<?x?xf16>, tile.name = "A"},
                        {type = i32, tile.unsigned}]} {
    llvm.return
  }

  // CHECK: llvm.func @strided
  llvm.func @strided(%a: !llvm.ptr<1>, %m: i32, %k: i32, %stride: i32, %n: i32)
    attributes {tile.grid = #grid,
      tile.arguments = [{type = memref<?x?xf16, strided<[?, 1]>>}, {type = i32}]} {
    llvm.return
  }
}
