// RUN: tilews-opt %s -split-input-file --pass-pipeline='builtin.module(gpu.module(tile-infer-layouts,tile-plan-shared-memory,convert-tile-to-rocdl))' -verify-diagnostics

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

// -----

// Without an instruction, operands are read from shared memory; the accumulator is not.
#wg = #gpu.address_space<workgroup>
gpu.module @scaled [#rocdl.target<chip = "gfx942">] {
  gpu.func @gemm(%C: memref<32x32xf32>) kernel attributes {tile.threads = 64 : i32} {
    %a = tile.alloc_shared : memref<32x128xi8, #wg>
    %b = tile.alloc_shared : memref<32x192xi8, #wg>
    %s = tile.alloc_shared : memref<32x8xf8E8M0FNU, #wg>
    %c = arith.constant dense<0.0> : tensor<32x32xf32>
    // expected-error @below {{has packed or scaled operands, K 256 and N 32, which gfx942 does not multiply: it takes gfx950, and K a multiple of 64 if N is one of 32, or else of 128; convert the operands, and multiply by scales}}
    // expected-error @below {{failed to legalize operation 'tile.gemm'}}
    %d = tile.gemm %a, %b, %c scaled (%s, %s : memref<32x8xf8E8M0FNU, #wg>, memref<32x8xf8E8M0FNU, #wg>) {transpose_rhs, lhs_type = f4E2M1FN, rhs_type = f6E3M2FN} : memref<32x128xi8, #wg>, memref<32x192xi8, #wg> -> tensor<32x32xf32>
    tile.store %d to %C : tensor<32x32xf32> to memref<32x32xf32>
    gpu.return
  }
}
