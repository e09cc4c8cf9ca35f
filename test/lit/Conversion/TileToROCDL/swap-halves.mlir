// Results of mfma become an operand of the next one: a bit of the register's number is
// swapped with bit 32 of the lane's number. gfx950 has an instruction for two registers.
// RUN: tilews-opt %s --convert-tile-to-rocdl | FileCheck %s --check-prefixes=CHECK,GFX950
// RUN: sed s/gfx950/gfx942/ %s | tilews-opt --convert-tile-to-rocdl | FileCheck %s --check-prefixes=CHECK,GFX942

#result = #tile.fragment<thread = (32, 2):(1*d1, 4*d0), value = (4, 2):(1*d0, 8*d0)>
#operand = #tile.fragment<thread = (32, 2):(1*d1, 8*d0), value = (8):(1*d0)>

gpu.module @kernels [#rocdl.target<chip = "gfx950">] {
  // CHECK-LABEL: llvm.func @weights
  // GFX950-COUNT-2: rocdl.permlane32.swap
  // GFX942-COUNT-2: rocdl.ds_bpermute
  // CHECK-NOT: {{permlane|bpermute|barrier}}
  // CHECK: llvm.return
  gpu.func @weights(%x: memref<16x32xbf16>, %y: memref<16x32xbf16>) kernel attributes {tile.threads = 64 : i32} {
    %0 = tile.load %x : memref<16x32xbf16> -> tensor<16x32xbf16, #result>
    %1 = tile.convert_layout %0 : tensor<16x32xbf16, #result> to tensor<16x32xbf16, #operand>
    tile.store %1 to %y : tensor<16x32xbf16, #operand> to memref<16x32xbf16>
    gpu.return
  }
}
