// RUN: tilews-opt %s | tilews-opt | FileCheck %s

// CHECK: #[[GRID:.*]] = affine_map<()[s0, s1, s2] -> (s0 ceildiv 128, s2)>
// CHECK: #tile.fragment<thread = (32):(1*d0), value = ():()>
// CHECK: #tile.fragment<thread = (8, 4):(0, 1*d0), value = (2):(0)>
// CHECK: #tile.fragment<thread = (32):(0), value = ():()>
func.func private @fragments(
  tensor<32xf32, #tile.fragment<thread = (32):(1*d0), value = ():()>>,
  // Elements are replicated over threads and registers.
  tensor<4xf32, #tile.fragment<thread = (8, 4):(0, 1*d0), value = (2):(0)>>,
  // Each thread holds the scalar.
  tensor<f32, #tile.fragment<thread = (32):(0), value = ():()>>)

// CHECK: memref<64x32xf16, #tile.shared<(64, 32):(40, 1)>,
// CHECK-SAME: memref<2x8x64xf16, #tile.shared<(2, 8, 64):(512, 64, 1), Sw<3,4,3>>,
// CHECK-SAME: memref<8x16xf16, #tile.shared<(8, (8, 2)):(8, (1, 64))>,
func.func private @shared(
  memref<64x32xf16, #tile.shared<(64, 32):(40, 1)>, #gpu.address_space<workgroup>>,
  memref<2x8x64xf16, #tile.shared<(2, 8, 64):(512, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>,
  memref<8x16xf16, #tile.shared<(8, (8, 2)):(8, (1, 64))>, #gpu.address_space<workgroup>>)

// CHECK: #tile.atomic<exchange>, #tile.inst<simt>, #tile.inst<cp_async>, #tile.inst<tma>, #tile.inst<mma>, #tile.inst<wgmma>, #tile.inst<mfma>, #tile.inst<wmma>, #tile.reduction<absmax>, #tile.swizzle<span128>, #tile.warps<square>, #tile.rasterize<col, panel = 65535>
func.func private @enums() attributes {all = [
  #tile.atomic<exchange>, #tile.inst<simt>, #tile.inst<cp_async>,
  #tile.inst<tma>, #tile.inst<mma>, #tile.inst<wgmma>, #tile.inst<mfma>,
  #tile.inst<wmma>, #tile.reduction<absmax>, #tile.swizzle<span128>,
  #tile.warps<square>, #tile.rasterize<col, panel = 65535>]}

gpu.module @kernels {
  // CHECK: gpu.func @kernel(%{{.*}}: memref<?x?xf16> {tile.alignment = 128 : i64, tile.divisible = array<i64: 1, 8>}
  // CHECK-SAME: tile.cluster = array<i32: 2, 1, 1>
  // CHECK-SAME: tile.grid = #[[GRID]]
  // CHECK-SAME: tile.rasterize = #tile.rasterize<row, panel = 10>
  // CHECK-SAME: tile.shared_bytes = 0 : i64
  // CHECK-SAME: tile.threads = 1024 : i32
  gpu.func @kernel(%A: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>, tile.alignment = 128 : i64}, %n: index) kernel attributes {
      tile.threads = 1024 : i32, tile.cluster = array<i32: 2, 1, 1>,
      tile.rasterize = #tile.rasterize<row, panel = 10>,
      tile.shared_bytes = 0 : i64,
      tile.grid = affine_map<()[s0, s1, s2] -> (s0 ceildiv 128, s2)>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
    // CHECK: } {tile.num_stages = 3 : i32}
    } {tile.num_stages = 3 : i32}
    gpu.return
  }
}
