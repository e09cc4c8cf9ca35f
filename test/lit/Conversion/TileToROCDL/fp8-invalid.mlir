// RUN: tilews-opt %s -split-input-file --pass-pipeline='builtin.module(gpu.module(tile-infer-layouts,convert-tile-to-rocdl))' -verify-diagnostics

// gfx942 has the other family of formats.
gpu.module @gfx942 [#rocdl.target<chip = "gfx942">] {
  gpu.func @cast(%A: memref<64xf32>, %B: memref<64xf8E5M2>) kernel attributes {tile.threads = 64 : i32} {
    %x = tile.load %A : memref<64xf32> -> tensor<64xf32>
    // expected-error @below {{cannot convert 'f32' to 'f8E5M2' on gfx942}}
    // expected-error @below {{failed to legalize operation 'arith.truncf'}}
    %f = arith.truncf %x : tensor<64xf32> to tensor<64xf8E5M2>
    tile.store %f to %B : tensor<64xf8E5M2> to memref<64xf8E5M2>
    gpu.return
  }
}

// -----

// expected-error @below {{expected an AMD target, found sm_80; use --convert-tile-to-nvvm}}
gpu.module @sm80 [#nvvm.target<chip = "sm_80">] {
  gpu.func @nothing() kernel {
    gpu.return
  }
}
