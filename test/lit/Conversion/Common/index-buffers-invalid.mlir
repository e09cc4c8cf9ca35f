// RUN: tilews-opt %s --split-input-file --verify-diagnostics --pass-pipeline="builtin.module(gpu.module(convert-tile-to-nvvm{index-bitwidth=64}))"
// RUN: tilews-opt %s --split-input-file --pass-pipeline="builtin.module(gpu.module(convert-tile-to-nvvm))" -o /dev/null

// Layouts and the plan of shared memory take indices for 32 bits.

#layout = #tile.fragment<thread = (128):(2*d0), value = (2):(1*d0)>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @load(%x: memref<256xindex>) kernel attributes {tile.threads = 128 : i32} {
    // expected-error @below {{accesses elements of type index, which have 32 bits in memory, with index-bitwidth=64; use elements of i32 or i64, and arith.index_cast}}
    %t = tile.load %x[0] : memref<256xindex> -> tensor<256xindex, #layout>
    gpu.return
  }
}

// -----

#layout = #tile.fragment<thread = (128):(2*d0), value = (2):(1*d0)>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @store(%x: memref<256xindex>, %t: index) kernel attributes {tile.threads = 128 : i32} {
    %f = tensor.splat %t : tensor<256xindex, #layout>
    // expected-error @below {{accesses elements of type index}}
    tile.store %f to %x : tensor<256xindex, #layout> to memref<256xindex>
    gpu.return
  }
}
