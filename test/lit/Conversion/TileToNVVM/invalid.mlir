// RUN: tilews-opt %s --convert-tile-to-nvvm --split-input-file --verify-diagnostics

// expected-error @below {{expected an NVIDIA target, found gfx942; use --convert-tile-to-rocdl}}
gpu.module @kernels [#rocdl.target<chip = "gfx942">] {
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @layout(%x: memref<512xf32>) kernel {
    // expected-error @below {{fragment has no layout; run --tile-infer-layouts}}
    %t = tile.load %x[0] : memref<512xf32> -> tensor<512xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @threads(%x: memref<256xf32>) kernel {
    // expected-error @below {{fragment is spread over 64 threads, but the operation runs on 128}}
    %t = tile.load %x[0] : memref<256xf32> -> tensor<256xf32, #tile.fragment<thread = (64):(4*d0), value = (4):(1*d0)>>
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @plan() kernel {
    // expected-error @below {{has no place in shared memory; run --tile-plan-shared-memory first}}
    // expected-error @below {{failed to legalize operation 'tile.alloc_shared'}}
    %a = tile.alloc_shared : memref<64xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  // expected-error @below {{cannot pass an argument of type 'memref<4xf32, #gpu.address_space<workgroup>>'; expected a memref in global memory, strided, with offset 0}}
  // expected-error @below {{failed to legalize operation 'gpu.func'}}
  gpu.func @argument(%x: memref<4xf32, #gpu.address_space<workgroup>>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @fp8(%x: memref<512xf32>) kernel {
    %t = tile.load %x[0] : memref<512xf32> -> tensor<512xf32, #tile.fragment<thread = (128):(4*d0), value = (4):(1*d0)>>
    // expected-error @below {{cannot convert 'f32' to 'f8E4M3FN' on sm_80}}
    // expected-error @below {{failed to legalize operation 'arith.truncf'}}
    %s = arith.truncf %t : tensor<512xf32, #tile.fragment<thread = (128):(4*d0), value = (4):(1*d0)>> to tensor<512xf8E4M3FN, #tile.fragment<thread = (128):(4*d0), value = (4):(1*d0)>>
    gpu.return
  }
}
