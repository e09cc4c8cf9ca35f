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
  gpu.func @registers(%x: memref<262144xf32>) kernel {
    // expected-error @below {{fragment 'tensor<262144xf32>' has 2048 elements in each of 128 threads, the limit is 1024; use smaller fragments or more threads}}
    %t = tile.load %x[0] : memref<262144xf32> -> tensor<262144xf32, #tile.fragment<thread = (128):(1*d0), value = (2048):(128*d0)>>
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

// Bits of fp8 would be combined as integers. --tile-widen-small-floats comes first.
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @reduce_fp8(%x: memref<512xf8E4M3FN>) kernel {
    %t = tile.load %x[0] : memref<512xf8E4M3FN> -> tensor<512xf8E4M3FN, #tile.fragment<thread = (128):(4*d0), value = (4):(1*d0)>>
    // expected-error @below {{failed to legalize operation 'tile.reduce'}}
    %s = tile.reduce <min> %t {axis = 0 : i64} : tensor<512xf8E4M3FN, #tile.fragment<thread = (128):(4*d0), value = (4):(1*d0)>> -> tensor<f8E4M3FN, #tile.fragment<thread = (128):(0), value = (4):(0)>>
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @scan_fp8(%x: memref<512xf8E4M3FN>) kernel {
    %t = tile.load %x[0] : memref<512xf8E4M3FN> -> tensor<512xf8E4M3FN, #tile.fragment<thread = (128):(4*d0), value = (4):(1*d0)>>
    // expected-error @below {{failed to legalize operation 'tile.scan'}}
    %s = tile.scan <sum> %t {axis = 0 : i64} : tensor<512xf8E4M3FN, #tile.fragment<thread = (128):(4*d0), value = (4):(1*d0)>>
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

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @no_barrier(%x: memref<64x64xf16>) kernel {
    %a = tile.alloc_shared {tile.offset = 0 : i64} : memref<64x64xf16, #gpu.address_space<workgroup>>
    // expected-error @below {{'tile.copy' op by TMA signals no barrier; run --tile-lower-channels first}}
    tile.copy %x to %a {tile.inst = #tile.inst<tma>} : memref<64x64xf16> to memref<64x64xf16, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @rows(%x: memref<64x20xf16>) kernel {
    %a = tile.alloc_shared {tile.offset = 0 : i64} : memref<64x16xf16, #gpu.address_space<workgroup>>
    // expected-error @below {{'tile.copy' op cannot be done by TMA: rows of dimension 0 lie 40 bytes apart, TMA needs a multiple of 16}}
    tile.copy %a to %x[0, 0] {tile.inst = #tile.inst<tma>} : memref<64x16xf16, #gpu.address_space<workgroup>> to memref<64x20xf16>
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @channel() kernel {
    // expected-error @below {{'tile.channel' op is for schedules; run --tile-lower-channels first}}
    %ch = tile.channel() {producer = #tile.producer<simt>} -> !tile.channel<1>
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @cursor() kernel {
    // expected-error @below {{'tile.cursor' op is for schedules; run --tile-lower-channels first}}
    %p = tile.cursor : !tile.cursor<1>
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @barrier_plan() kernel {
    // expected-error @below {{has no place in shared memory; run --tile-plan-shared-memory first}}
    // expected-error @below {{failed to legalize operation 'tile.mbarrier'}}
    %full = tile.mbarrier {count = 1 : i64} : !tile.mbarrier<1>
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @far(%x: memref<?xf32>) kernel {
    // expected-error @below {{index 4294967299 does not fit the 32 bits of index arithmetic; use index-bitwidth=64}}
    %far = arith.constant 4294967299 : index
    %v = memref.load %x[%far] : memref<?xf32>
    memref.store %v, %x[%far] : memref<?xf32>
    gpu.return
  }
}
