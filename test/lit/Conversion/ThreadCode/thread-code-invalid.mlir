// RUN: tilews-opt %s -split-input-file -verify-diagnostics \
// RUN:   --pass-pipeline="builtin.module(gpu.module(tile-expand-math))"
// RUN: tilews-opt %s -split-input-file -verify-diagnostics \
// RUN:   --pass-pipeline="builtin.module(gpu.module(convert-tile-threads-to-llvm))"

// The passes after the conversion to code of one thread refuse tile IR.

gpu.module @fragments [#nvvm.target<chip = "sm_90a">] {
  gpu.func @exp(%x: memref<64xf32>) kernel attributes {tile.threads = 32 : i32} {
    // expected-error @below {{is not code of one thread; run --convert-tile-to-nvvm or --convert-tile-to-rocdl before}}
    %t = tile.load %x : memref<64xf32> -> tensor<64xf32>
    %e = math.exp %t : tensor<64xf32>
    tile.store %e to %x : tensor<64xf32> to memref<64xf32>
    gpu.return
  }
}

// -----

gpu.module @shared_buffers [#nvvm.target<chip = "sm_90a">] {
  func.func @load(%x: memref<64xf32, #gpu.address_space<workgroup>>, %i: index) -> f32 {
    // expected-error @below {{is not code of one thread}}
    %e = memref.load %x[%i] : memref<64xf32, #gpu.address_space<workgroup>>
    return %e : f32
  }
}
