// RUN: tilews-opt %s -split-input-file -tile-annotate-instructions -verify-diagnostics

#wg = #gpu.address_space<workgroup>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @reason(%x: memref<64x64xf32>) kernel {
    %a = tile.alloc_shared : memref<64x24xf16, #wg>
    %b = tile.alloc_shared : memref<24x64xf16, #wg>
    %c = tile.load %x : memref<64x64xf32> -> tensor<64x64xf32>
    // expected-error @below {{'tile.gemm' op cannot become 'wgmma' on sm_90a: K is 24, not a multiple of 16; it can become 'simt'}}
    %d = tile.gemm %a, %b, %c {tile.inst = #tile.inst<wgmma>} : memref<64x24xf16, #wg>, memref<24x64xf16, #wg> -> tensor<64x64xf32>
    gpu.return
  }
}

// -----

#wg = #gpu.address_space<workgroup>
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @unknown(%x: memref<64x64xf32>) kernel {
    %a = tile.alloc_shared : memref<64x32xf16, #wg>
    %b = tile.alloc_shared : memref<32x64xf16, #wg>
    %c = tile.load %x : memref<64x64xf32> -> tensor<64x64xf32>
    // expected-error @below {{'tile.gemm' op cannot become 'mfma' on sm_80: the target or the operation does not have it; it can become 'mma', 'simt'}}
    %d = tile.gemm %a, %b, %c {tile.inst = #tile.inst<mfma>} : memref<64x32xf16, #wg>, memref<32x64xf16, #wg> -> tensor<64x64xf32>
    gpu.return
  }
}

// -----

#wg = #gpu.address_space<workgroup>
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @unaligned(%x: memref<?x?xf16>) kernel {
    %a = tile.alloc_shared : memref<64x32xf16, #wg>
    // expected-error @below {{'tile.copy' op cannot become 'cp_async' on sm_80: only 2 adjacent bytes are known to be aligned}}
    tile.copy %x[0, 0] to %a {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to memref<64x32xf16, #wg>
    gpu.return
  }
}

// -----

#wg = #gpu.address_space<workgroup>
// expected-error @below {{has no target}}
gpu.module @m {
  gpu.func @kernel(%x: memref<?x?xf16>) kernel {
    %a = tile.alloc_shared : memref<64x32xf16, #wg>
    tile.copy %x[0, 0] to %a : memref<?x?xf16> to memref<64x32xf16, #wg>
    gpu.return
  }
}

// -----

// In a role of one warp.
#wg = #gpu.address_space<workgroup>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @role(%a: memref<64x64xf16, #wg>, %x: memref<64x64xf32>) kernel attributes {tile.threads = 64 : i32} {
    tile.specialize {
      tile.role @math warps(1) {
        %c = tile.load %x : memref<64x64xf32> -> tensor<64x64xf32>
        // expected-error @below {{'tile.gemm' op cannot become 'wgmma' on sm_90a: 32 threads are not a multiple of 128}}
        %d = tile.gemm %a, %a, %c {tile.inst = #tile.inst<wgmma>} : memref<64x64xf16, #wg>, memref<64x64xf16, #wg> -> tensor<64x64xf32>
      }
      tile.role @load warps(1) {
      }
    }
    gpu.return
  }
}
