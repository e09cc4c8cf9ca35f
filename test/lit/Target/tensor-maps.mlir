// The recipes of tensor maps: dimensions in the map's order, strides in bytes.
// RUN: tilews-translate %s --to=manifest | FileCheck %s

// CHECK: "parameters": [
// CHECK:      "kind": "tensor_map",
// CHECK-NEXT: "map": 0
// CHECK:      "kind": "tensor_map",
// CHECK-NEXT: "map": 1
// CHECK: "tensor_maps": [
// CHECK:      "argument": 0,
// CHECK-NEXT: "box": [
// CHECK-NEXT:   64,
// CHECK-NEXT:   1,
// CHECK-NEXT:   128
// CHECK-NEXT: ],
// CHECK-NEXT: "dims": [
// CHECK-NEXT:   2,
// CHECK-NEXT:   0,
// CHECK-NEXT:   1
// CHECK-NEXT: ],
// CHECK-NEXT: "dtype": "bf16",
// CHECK-NEXT: "element_strides": [
// CHECK-NEXT:   1,
// CHECK-NEXT:   1,
// CHECK-NEXT:   1
// CHECK-NEXT: ],
// CHECK-NEXT: "extents": [
// CHECK-NEXT:   64,
// CHECK-NEXT:   {
// CHECK-NEXT:     "extent": [
// CHECK-NEXT:       0,
// CHECK-NEXT:       0
// CHECK-NEXT:     ]
// CHECK-NEXT:   },
// CHECK-NEXT:   32
// CHECK-NEXT: ],
// CHECK-NEXT: "l2_promotion": 256,
// CHECK-NEXT: "out_of_bounds": "zero",
// CHECK-NEXT: "rank": 3,
// CHECK-NEXT: "strides": [
// CHECK-NEXT:   {
// CHECK-NEXT:     "args": [
// CHECK-NEXT:       {
// CHECK-NEXT:         "stride": [
// CHECK-NEXT:           0,
// CHECK-NEXT:           0
// CHECK-NEXT:         ]
// CHECK-NEXT:       },
// CHECK-NEXT:       2
// CHECK-NEXT:     ],
// CHECK-NEXT:     "op": "mul"
// CHECK-NEXT:   },
// CHECK-NEXT:   128
// CHECK-NEXT: ],
// CHECK-NEXT: "swizzle": 128,
// CHECK-NEXT: "window": {
// CHECK-NEXT:   "position": 2,
// CHECK-NEXT:   "size": 128
// CHECK-NEXT: }
// The map of boxes outside of the array has the same recipe.
// CHECK:      "out_of_bounds": "zero",
// CHECK-NEXT: "outside": true,
// CHECK-NEXT: "rank": 3,
// CHECK:      "window": {
// CHECK-NEXT:   "position": 2,
// CHECK-NEXT:   "size": 128
// CHECK-NEXT: }
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  llvm.func @k(%x: !llvm.ptr<1>, %m: i32, %stride: i32,
               %map: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<16 x i64>, nvvm.grid_constant},
               %outside: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<16 x i64>, nvvm.grid_constant})
    attributes {nvvm.kernel, tile.threads = 128 : i32,
      tile.arguments = [{type = memref<?x32x64xbf16, strided<[?, 64, 1]>>}],
      tile.tensor_maps = [
        {argument = 0 : i64, dims = array<i64: 2, 0, 1>, box = array<i64: 64, 1, 128>, swizzle = #tile.swizzle<span128>, window = array<i64: 1, 128>},
        {argument = 0 : i64, dims = array<i64: 2, 0, 1>, box = array<i64: 64, 1, 128>, outside, swizzle = #tile.swizzle<span128>, window = array<i64: 1, 128>}]} {
    llvm.return
  }
}
