// RUN: tilews-opt %s --tile-plan-shared-memory | FileCheck %s

!s = memref<64x64xf32, #gpu.address_space<workgroup>> // 16384 bytes
!h = memref<64x32xf32, #gpu.address_space<workgroup>> // 8192 bytes
!t = tensor<64x64xf32>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // Buffers that are used one after the other share bytes. Buffers that are used at the
  // same time do not.
  // CHECK-LABEL: gpu.func @straight
  // CHECK-SAME: tile.shared_bytes = 32768
  gpu.func @straight(%A: !t, %B: !t) kernel {
    // CHECK: alloc_shared {tile.offset = 0 : i64}
    %a = tile.alloc_shared : !s
    // CHECK: alloc_shared {tile.offset = 16384 : i64}
    %b = tile.alloc_shared : !s
    // CHECK: alloc_shared {tile.offset = 0 : i64}
    %c = tile.alloc_shared : !s
    tile.store %A to %a : !t to !s
    tile.copy %a to %b : !s to !s
    tile.copy %b to %c : !s to !s
    gpu.return
  }

  // CHECK-LABEL: gpu.func @nothing
  // CHECK-SAME: tile.shared_bytes = 0
  gpu.func @nothing() kernel {
    gpu.return
  }

  // No operation uses this buffer, which keeps its bytes.
  // CHECK-LABEL: gpu.func @unused
  // CHECK-SAME: tile.shared_bytes = 16384
  gpu.func @unused() kernel {
    %a = tile.alloc_shared : !s
    gpu.return
  }

  // One iteration may read what another one wrote: %a is live in the whole loop, and %b
  // cannot take its bytes, though its uses come after those of %a. %c is allocated in
  // each iteration, after the last use of %d.
  // CHECK-LABEL: gpu.func @loop
  // CHECK-SAME: tile.shared_bytes = 49152
  gpu.func @loop(%A: !t, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: alloc_shared {tile.offset = 0 : i64}
    %a = tile.alloc_shared : !s
    // CHECK: alloc_shared {tile.offset = 16384 : i64}
    %b = tile.alloc_shared : !s
    scf.for %i = %c0 to %n step %c1 {
      // CHECK: alloc_shared {tile.offset = 32768 : i64}
      %d = tile.alloc_shared : !s
      tile.store %A to %a : !t to !s
      tile.store %A to %d : !t to !s
      %x = tile.load %d : !s -> !t
      // CHECK: alloc_shared {tile.offset = 32768 : i64}
      %c = tile.alloc_shared : !s
      tile.store %x to %c : !t to !s
      tile.store %x to %b : !t to !s
    }
    gpu.return
  }

  // The two branches of a conditional never run together.
  // CHECK-LABEL: gpu.func @branches
  // CHECK-SAME: tile.shared_bytes = 16384
  gpu.func @branches(%A: !t, %p: i1) kernel {
    %a = tile.alloc_shared : !s
    %b = tile.alloc_shared : !s
    scf.if %p {
      tile.store %A to %a : !t to !s
    } else {
      tile.store %A to %b : !t to !s
    }
    gpu.return
  }

  // Views and loop-carried values are uses of their buffer.
  // CHECK-LABEL: gpu.func @aliases
  // CHECK-SAME: tile.shared_bytes = 49152
  gpu.func @aliases(%A: !t, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: %[[A:.*]] = tile.alloc_shared {tile.offset = 0 : i64}
    %a = tile.alloc_shared : !s
    // CHECK: alloc_shared {tile.offset = 16384 : i64}
    %b = tile.alloc_shared : !s
    // CHECK: alloc_shared {tile.offset = 32768 : i64}
    %c = tile.alloc_shared : !s
    %v = tile.view %a : !s to memref<4096xf32, #gpu.address_space<workgroup>>
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (!s, !s) {
      tile.copy %x to %y : !s to !s
      scf.yield %y, %x : !s, !s
    }
    tile.store %A to %c : !t to !s
    tile.copy %r#0 to %c : !s to !s
    %w = tile.load %v : memref<4096xf32, #gpu.address_space<workgroup>> -> tensor<4096xf32>
    gpu.return
  }

  // Alignments: the one that is asked for, the period of the swizzle, and 16 bytes
  // otherwise.
  // CHECK-LABEL: gpu.func @alignment
  // CHECK-SAME: tile.shared_bytes = 2592
  gpu.func @alignment(%i: index, %x: f16) kernel {
    // CHECK: alloc_shared {tile.offset = 2576 : i64} : memref<3xf16
    %a = tile.alloc_shared : memref<3xf16, #gpu.address_space<workgroup>>
    // CHECK: alloc_shared {tile.offset = 0 : i64} : memref<8x64xf16
    %b = tile.alloc_shared : memref<8x64xf16, #tile.shared<(8, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
    // CHECK: alloc_shared {tile.offset = 2560 : i64} : memref<7xf16
    %c = tile.alloc_shared : memref<7xf16, #gpu.address_space<workgroup>>
    // CHECK: alloc_shared {alignment = 512 : i64, tile.offset = 2048 : i64}
    %d = tile.alloc_shared {alignment = 512 : i64} : memref<256xf16, #gpu.address_space<workgroup>>
    // CHECK: alloc_shared {alignment = 1024 : i64, tile.offset = 1024 : i64}
    %e = tile.alloc_shared {alignment = 1024 : i64} : memref<512xf16, #gpu.address_space<workgroup>>
    memref.store %x, %a[%i] : memref<3xf16, #gpu.address_space<workgroup>>
    memref.store %x, %c[%i] : memref<7xf16, #gpu.address_space<workgroup>>
    memref.store %x, %d[%i] : memref<256xf16, #gpu.address_space<workgroup>>
    memref.store %x, %e[%i] : memref<512xf16, #gpu.address_space<workgroup>>
    %t = tile.load %b : memref<8x64xf16, #tile.shared<(8, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> -> tensor<8x64xf16>
    tile.store %t to %b : tensor<8x64xf16> to memref<8x64xf16, #tile.shared<(8, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
    %u = memref.load %a[%i] : memref<3xf16, #gpu.address_space<workgroup>>
    %v = memref.load %c[%i] : memref<7xf16, #gpu.address_space<workgroup>>
    %w = memref.load %d[%i] : memref<256xf16, #gpu.address_space<workgroup>>
    %z = memref.load %e[%i] : memref<512xf16, #gpu.address_space<workgroup>>
    gpu.return
  }

  // A second run makes the same plan, and removes the places of operations that need no
  // memory.
  // CHECK-LABEL: gpu.func @again
  // CHECK-SAME: tile.shared_bytes = 0
  gpu.func @again(%A: tensor<4x32xf32>) kernel attributes {tile.threads = 32 : i32, tile.shared_bytes = 77 : i64} {
    // CHECK: tile.reduce <sum> %{{.*}} {axis = 1 : i64} :
    %r = tile.reduce <sum> %A {axis = 1 : i64, tile.offset = 16 : i64} : tensor<4x32xf32> -> tensor<4xf32>
    gpu.return
  }
}



// Scratch memory: 64 threads are two warps of an NVIDIA GPU, and one of an AMD GPU.
#across = #tile.fragment<thread = (64):(1*d1), value = (4):(1*d0)>
#within = #tile.fragment<thread = (32, 2):(2*d1, 1*d0), value = (2, 2):(1*d1, 2*d0)>
gpu.module @nvidia [#nvvm.target<chip = "sm_80">] {
  // Two warps, four rows, f32.
  // CHECK-LABEL: gpu.func @across_warps
  // CHECK-SAME: tile.shared_bytes = 32
  // CHECK: tile.reduce <sum> {{.*}} tile.offset = 0
  gpu.func @across_warps(%A: tensor<4x64xf32, #across>) kernel attributes {tile.threads = 64 : i32} {
    %r = tile.reduce <sum> %A {axis = 1 : i64} : tensor<4x64xf32, #across> -> tensor<4xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @within_warp
  // CHECK-SAME: tile.shared_bytes = 0
  gpu.func @within_warp(%A: tensor<4x64xf32, #within>) kernel attributes {tile.threads = 64 : i32} {
    %r = tile.reduce <sum> %A {axis = 1 : i64} : tensor<4x64xf32, #within> -> tensor<4xf32>
    gpu.return
  }

  // Each reduction has bytes of its own. Other scratch memory is shared. An i1 takes a
  // byte.
  // CHECK-LABEL: gpu.func @kinds
  // CHECK-SAME: tile.shared_bytes = 1088
  // CHECK: reduce <sum> {{.*}} tile.offset = 1024
  // CHECK: reduce <max> {{.*}} tile.offset = 1056
  // CHECK: scan {{.*}} tile.offset = 0
  // CHECK: convert_layout {{.*}} {tile.offset = 0
  // CHECK: reshape {{.*}} {tile.offset = 0
  gpu.func @kinds(%A: tensor<4x64xf32, #across>, %B: tensor<4x64xi1, #across>) kernel attributes {tile.threads = 64 : i32} {
    %r = tile.reduce <sum> %A {axis = 1 : i64} : tensor<4x64xf32, #across> -> tensor<4xf32>
    %q = tile.reduce <max> %A {axis = 1 : i64} : tensor<4x64xf32, #across> -> tensor<4xf32>
    %s = tile.scan <sum> %A {axis = 1 : i64} : tensor<4x64xf32, #across>
    %t = tile.convert_layout %B : tensor<4x64xi1, #across> to tensor<4x64xi1, #within>
    %u = tile.reshape %A : tensor<4x64xf32, #across> -> tensor<256xf32, #tile.fragment<thread = (64):(4*d0), value = (4):(1*d0)>>
    gpu.return
  }

  // Other changes of shape keep the elements in their threads.
  // CHECK-LABEL: gpu.func @stay
  // CHECK-SAME: tile.shared_bytes = 0
  gpu.func @stay(%A: tensor<4x64xf32, #across>, %B: tensor<4x1xf32, #tile.fragment<thread = (64):(0), value = (4):(1*d0)>>) kernel attributes {tile.threads = 64 : i32} {
    %b = tile.broadcast %B : tensor<4x1xf32, #tile.fragment<thread = (64):(0), value = (4):(1*d0)>> -> tensor<4x64xf32, #across>
    %t = tile.transpose %A {permutation = array<i64: 1, 0>} : tensor<4x64xf32, #across> -> tensor<64x4xf32, #tile.fragment<thread = (64):(1*d0), value = (4):(1*d1)>>
    gpu.return
  }
}
gpu.module @amd [#rocdl.target<chip = "gfx942">] {
  // CHECK-LABEL: gpu.func @one_wave
  // CHECK-SAME: tile.shared_bytes = 0
  gpu.func @one_wave(%A: tensor<4x64xf32, #across>) kernel attributes {tile.threads = 64 : i32} {
    %r = tile.reduce <sum> %A {axis = 1 : i64} : tensor<4x64xf32, #across> -> tensor<4xf32>
    gpu.return
  }
}

// Barriers keep their bytes as long as the block runs: those of channels in a kernel
// with roles, and those that the kernel has itself.
gpu.module @roles [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: gpu.func @barriers
  // CHECK-SAME: tile.shared_bytes = 160
  gpu.func @barriers() kernel attributes {tile.threads = 32 : i32} {
    // CHECK: tile.channel() {{.*}}tile.offset = [[#CHANNEL:]] : i64} -> !tile.channel<4>
    %ch = tile.channel() {producer = #tile.producer<simt>} -> !tile.channel<4>
    // CHECK: tile.mbarrier {count = 1 : i64, tile.offset = [[#]] : i64} : !tile.mbarrier<3>
    %one = tile.mbarrier {count = 1 : i64} : !tile.mbarrier<3>
    // CHECK: tile.mbarrier {count = 2 : i64, tile.offset = [[#]] : i64} : !tile.mbarrier<8>
    %two = tile.mbarrier {count = 2 : i64} : !tile.mbarrier<8>
    tile.specialize {
      tile.role @a warps(1) {
        %p = tile.cursor : !tile.cursor<4>
        tile.acquire %ch[%p] : !tile.channel<4>
      }
    }
    gpu.return
  }
}
