// RUN: tilews-opt %s -split-input-file -tile-annotate-instructions -verify-diagnostics | FileCheck %s

// All targets have a matrix instruction for this tile.

#wg = #gpu.address_space<workgroup>
// CHECK-LABEL: gpu.module @sm80
gpu.module @sm80 [#nvvm.target<chip = "sm_80">] {
  gpu.func @gemm(%x: memref<128x64xf32>) kernel {
    %a = tile.alloc_shared : memref<128x64xf16, #wg>
    %b = tile.alloc_shared : memref<64x64xf16, #wg>
    %c = tile.load %x : memref<128x64xf32> -> tensor<128x64xf32>
    // CHECK: tile.gemm {{.*}} {tile.inst = #tile.inst<mma>}
    %d = tile.gemm %a, %b, %c : memref<128x64xf16, #wg>, memref<64x64xf16, #wg> -> tensor<128x64xf32>
    gpu.return
  }
}

// -----

#wg = #gpu.address_space<workgroup>
// CHECK-LABEL: gpu.module @sm90a
gpu.module @sm90a [#nvvm.target<chip = "sm_90a">] {
  gpu.func @gemm(%x: memref<128x64xf32>, %y: memref<64x24xf32>) kernel {
    %a = tile.alloc_shared : memref<128x64xf16, #wg>
    %b = tile.alloc_shared : memref<64x64xf16, #wg>
    %c = tile.load %x : memref<128x64xf32> -> tensor<128x64xf32>
    // CHECK: tile.gemm {{.*}} {tile.inst = #tile.inst<wgmma>}
    %d = tile.gemm %a, %b, %c : memref<128x64xf16, #wg>, memref<64x64xf16, #wg> -> tensor<128x64xf32>
    // An instruction that the user has given is kept without a remark, although it is
    // not the best.
    // CHECK: tile.gemm {{.*}} {tile.inst = #tile.inst<mma>}
    %e = tile.gemm %a, %b, %d {tile.inst = #tile.inst<mma>} : memref<128x64xf16, #wg>, memref<64x64xf16, #wg> -> tensor<128x64xf32>
    // CHECK: tile.gemm {{.*}} {tile.inst = #tile.inst<simt>}
    %f = tile.gemm %a, %b, %e {tile.inst = #tile.inst<simt>} : memref<128x64xf16, #wg>, memref<64x64xf16, #wg> -> tensor<128x64xf32>

    %a2 = tile.alloc_shared : memref<32x64xf16, #wg>
    %c2 = arith.constant dense<0.0> : tensor<32x64xf32>
    // CHECK: tile.gemm {{.*}} {tile.inst = #tile.inst<mma>}
    // expected-remark @below {{tile-inst-0001: gemm uses mma, not wgmma: M is 32, not a multiple of 64}}
    %d2 = tile.gemm %a2, %b, %c2 : memref<32x64xf16, #wg>, memref<64x64xf16, #wg> -> tensor<32x64xf32>

    %a3 = tile.alloc_shared : memref<64x24xf16, #wg>
    %b3 = tile.alloc_shared : memref<24x64xf16, #wg>
    %c3 = arith.constant dense<0.0> : tensor<64x64xf32>
    // CHECK: tile.gemm {{.*}} {tile.inst = #tile.inst<simt>}
    // expected-remark @below {{tile-inst-0001: gemm uses simt, not wgmma: K is 24, not a multiple of 16}}
    // expected-remark @below {{tile-inst-0001: gemm uses simt, not mma: K is 24, not a multiple of 16}}
    %d3 = tile.gemm %a3, %b3, %c3 : memref<64x24xf16, #wg>, memref<24x64xf16, #wg> -> tensor<64x64xf32>

    %a4 = tile.alloc_shared : memref<64x64xf16, #tile.shared<(64, 64):(72, 1)>, #wg>
    // CHECK: tile.gemm {{.*}} {tile.inst = #tile.inst<mma>}
    // expected-remark @below {{not wgmma: wgmma reads rows along M or N that are 16 bytes apart, found 144}}
    %d4 = tile.gemm %a4, %b, %c3 : memref<64x64xf16, #tile.shared<(64, 64):(72, 1)>, #wg>, memref<64x64xf16, #wg> -> tensor<64x64xf32>
    gpu.return
  }
  // Three warpgroups can divide neither 128 rows nor 64 columns.
  gpu.func @uneven(%x: memref<128x64xf32>) kernel attributes {tile.threads = 384 : i32} {
    %a = tile.alloc_shared : memref<128x64xf16, #wg>
    %b = tile.alloc_shared : memref<64x64xf16, #wg>
    %c = tile.load %x : memref<128x64xf32> -> tensor<128x64xf32>
    // CHECK: tile.gemm {{.*}} {tile.inst = #tile.inst<mma>}
    // expected-remark @below {{not wgmma: 3 warpgroups cannot share 128 rows and 64 columns evenly}}
    %d = tile.gemm %a, %b, %c : memref<128x64xf16, #wg>, memref<64x64xf16, #wg> -> tensor<128x64xf32>
    gpu.return
  }
}

// -----

#wg = #gpu.address_space<workgroup>
// CHECK-LABEL: gpu.module @gfx942
gpu.module @gfx942 [#rocdl.target<chip = "gfx942">] {
  gpu.func @gemm(%x: memref<128x64xf32>, %A: memref<128x64xf16>) kernel {
    %a = tile.alloc_shared : memref<128x64xf16, #wg>
    %b = tile.alloc_shared : memref<64x64xf16, #wg>
    // There is no remark, because the target has no asynchronous copies.
    // CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<simt>}
    tile.copy %A to %a : memref<128x64xf16> to memref<128x64xf16, #wg>
    %c = tile.load %x : memref<128x64xf32> -> tensor<128x64xf32>
    // CHECK: tile.gemm {{.*}} {tile.inst = #tile.inst<mfma>}
    %d = tile.gemm %a, %b, %c : memref<128x64xf16, #wg>, memref<64x64xf16, #wg> -> tensor<128x64xf32>
    gpu.return
  }
}

// -----

#wg = #gpu.address_space<workgroup>
// CHECK-LABEL: gpu.module @gfx1100
gpu.module @gfx1100 [#rocdl.target<chip = "gfx1100">] {
  gpu.func @gemm(%x: memref<128x64xf32>) kernel {
    %a = tile.alloc_shared : memref<128x64xf16, #wg>
    %b = tile.alloc_shared : memref<64x64xf16, #wg>
    %c = tile.load %x : memref<128x64xf32> -> tensor<128x64xf32>
    // CHECK: tile.gemm {{.*}} {tile.inst = #tile.inst<wmma>}
    %d = tile.gemm %a, %b, %c : memref<128x64xf16, #wg>, memref<64x64xf16, #wg> -> tensor<128x64xf32>
    gpu.return
  }
}

// -----

// Copies: the instruction depends on the divisors of offsets, extents and base
// pointers.

#wg = #gpu.address_space<workgroup>
#round = affine_map<(d0)[s0] -> (d0 * 8 + s0 * 16)>
gpu.module @copies [#nvvm.target<chip = "sm_80">] {
  // CHECK-LABEL: gpu.func @divisible
  gpu.func @divisible(%A: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>},
                      %i: index, %p: i1) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c64 = arith.constant 64 : index
    %s = tile.alloc_shared : memref<128x64xf16, #wg>
    %K = memref.dim %A, %c1 : memref<?x?xf16>
    // Rows may start anywhere, columns start at multiples of 64.
    scf.for %k = %c0 to %K step %c64 {
      // CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<cp_async>}
      tile.copy %A[%i, %k] to %s : memref<?x?xf16> to memref<128x64xf16, #wg>
    }
    // Loop-carried values: 64, then its double.
    %n = scf.for %k = %c0 to %K step %c64 iter_args(%o = %c64) -> (index) {
      // CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<cp_async>}
      tile.copy %A[%i, %o] to %s : memref<?x?xf16> to memref<128x64xf16, #wg>
      %next = arith.addi %o, %o : index
      scf.yield %next : index
    }
    // CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<cp_async>}
    tile.copy %A[%i, %n] to %s : memref<?x?xf16> to memref<128x64xf16, #wg>
    // A loop-carried value that loses the divisor of its initial value: 64, then 65.
    %m1 = scf.for %k = %c0 to %K step %c64 iter_args(%o = %c64) -> (index) {
      // CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<simt>}
      // expected-remark @below {{tile-inst-0002: copy uses simt, not cp_async: only 2 adjacent bytes are known to be aligned, cp.async needs 4; see tile.divisible and tile.alignment}}
      tile.copy %A[%i, %o] to %s : memref<?x?xf16> to memref<128x64xf16, #wg>
      %next = arith.addi %o, %c1 : index
      scf.yield %next : index
    }
    // A loop-carried value that keeps a part of it: 64, then 66, so two elements of 2
    // bytes.
    %m2 = scf.for %k = %c0 to %K step %c64 iter_args(%o = %c64) -> (index) {
      // CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<cp_async>}
      tile.copy %A[%i, %o] to %s : memref<?x?xf16> to memref<128x64xf16, #wg>
      %next = arith.addi %o, %c2 : index
      scf.yield %next : index
    }
    // Divisors of 8 * %i + 16 * K, of a quotient, a choice, a remainder, a shift and a
    // mask.
    %a = affine.apply #round(%i)[%K]
    // CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<cp_async>}
    tile.copy %A[0, %a] to %s : memref<?x?xf16> to memref<128x64xf16, #wg>
    %q = arith.ceildivsi %K, %c2 : index
    %r = arith.select %p, %q, %c64 : index
    %m = arith.remui %r, %c64 : index
    // CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<cp_async>}
    tile.copy %A[0, %m] to %s : memref<?x?xf16> to memref<128x64xf16, #wg>
    %h = arith.shli %i, %c1 : index
    // CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<cp_async>}
    tile.copy %A[0, %h] to %s : memref<?x?xf16> to memref<128x64xf16, #wg>
    %x = arith.andi %i, %c64 : index
    // CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<cp_async>}
    tile.copy %A[0, %x] to %s : memref<?x?xf16> to memref<128x64xf16, #wg>
    // K / 2 is a multiple of four, K / 4 of two, K / 8 of one.
    %q2 = arith.divui %q, %c2 : index
    // CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<cp_async>}
    tile.copy %A[0, %q2] to %s : memref<?x?xf16> to memref<128x64xf16, #wg>
    %q3 = arith.divui %q2, %c2 : index
    // CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<simt>}
    // expected-remark @below {{tile-inst-0002: copy uses simt, not cp_async: only 2 adjacent bytes are known to be aligned, cp.async needs 4; see tile.divisible and tile.alignment}}
    tile.copy %A[0, %q3] to %s : memref<?x?xf16> to memref<128x64xf16, #wg>
    gpu.return
  }
  // CHECK-LABEL: gpu.func @unknown
  gpu.func @unknown(%A: memref<?x?xf16>, %B: memref<?xf32>, %i: index,
                    %C: memref<64x64xf16> {tile.alignment = 2 : i64},
                    %D: memref<64x64xf16, strided<[65, 1]>>,
                    %E: memref<64x64xf16, strided<[66, 1], offset: 2>>,
                    %F: memref<64x64xf16, strided<[1, 64]>>) kernel {
    %s = tile.alloc_shared : memref<64x64xf16, #wg>
    %t = tile.alloc_shared : memref<64xf32, #wg>
    // CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<simt>}
    // expected-remark @below {{tile-inst-0002}}
    tile.copy %A[0, 0] to %s : memref<?x?xf16> to memref<64x64xf16, #wg>
    // One f32 is four bytes, which cp.async accepts.
    // CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<cp_async>}
    tile.copy %B[%i] to %t : memref<?xf32> to memref<64xf32, #wg>
    // CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<simt>}
    // expected-remark @below {{tile-inst-0002}}
    tile.copy %C to %s : memref<64x64xf16> to memref<64x64xf16, #wg>
    // CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<simt>}
    // expected-remark @below {{tile-inst-0002}}
    tile.copy %D to %s : memref<64x64xf16, strided<[65, 1]>> to memref<64x64xf16, #wg>
    // CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<cp_async>}
    tile.copy %E to %s : memref<64x64xf16, strided<[66, 1], offset: 2>> to memref<64x64xf16, #wg>
    // CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<simt>}
    // expected-remark @below {{tile-inst-0002}}
    tile.copy %F to %s : memref<64x64xf16, strided<[1, 64]>> to memref<64x64xf16, #wg>
    // The destination's alignment counts, too.
    %u = tile.alloc_shared : memref<64x65xf16, #wg>
    // CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<simt>}
    // expected-remark @below {{tile-inst-0002}}
    tile.copy %E to %u[0, 1] [64, 64] : memref<64x64xf16, strided<[66, 1], offset: 2>> to memref<64x65xf16, #wg>
    // Copies from shared to global memory have no asynchronous form on this target.
    // CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<simt>}
    tile.copy %s to %C : memref<64x64xf16, #wg> to memref<64x64xf16>
    gpu.return
  }
}

// -----

// Sparse matmuls.

#wg = #gpu.address_space<workgroup>
gpu.module @sm90a [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: gpu.func @gemm_sp
  gpu.func @gemm_sp() kernel {
    %a = tile.alloc_shared : memref<128x32xf16, #wg>
    %e = tile.alloc_shared : memref<128x4xi16, #wg>
    %b = tile.alloc_shared : memref<64x64xf16, #wg>
    %c = arith.constant dense<0.0> : tensor<128x64xf32>
    // CHECK: tile.gemm_sp {{.*}} {tile.inst = #tile.inst<wgmma>}
    %d = tile.gemm_sp %a, %e, %b, %c : memref<128x32xf16, #wg>, memref<128x4xi16, #wg>, memref<64x64xf16, #wg> -> tensor<128x64xf32>
    // CHECK: tile.gemm_sp {{.*}} {tile.inst = #tile.inst<mma>}
    %f = tile.gemm_sp %a, %e, %b, %d {tile.inst = #tile.inst<mma>} : memref<128x32xf16, #wg>, memref<128x4xi16, #wg>, memref<64x64xf16, #wg> -> tensor<128x64xf32>
    // Instructions for f32 keep one of two elements.
    %a32 = tile.alloc_shared : memref<128x32xf32, #wg>
    %b32 = tile.alloc_shared : memref<64x64xf32, #wg>
    // CHECK: tile.gemm_sp {{.*}} {tile.inst = #tile.inst<simt>}
    // expected-remark @below {{tile-inst-0001: gemm_sp uses simt, not wgmma: sm_90a has none for 2:4 sparse f32 operands and 64 columns}}
    // expected-remark @below {{tile-inst-0001: gemm_sp uses simt, not mma: sm_90a has none for 2:4 sparse f32 operands}}
    %g = tile.gemm_sp %a32, %e, %b32, %f : memref<128x32xf32, #wg>, memref<128x4xi16, #wg>, memref<64x64xf32, #wg> -> tensor<128x64xf32>
    gpu.return
  }
}

// -----

#wg = #gpu.address_space<workgroup>
gpu.module @gfx942 [#rocdl.target<chip = "gfx942">] {
  gpu.func @gemm_sp() kernel {
    %a = tile.alloc_shared : memref<64x32xf16, #wg>
    %e = tile.alloc_shared : memref<64x4xi16, #wg>
    %b = tile.alloc_shared : memref<64x64xf16, #wg>
    %c = arith.constant dense<0.0> : tensor<64x64xf32>
    // expected-remark @below {{tile-inst-0001: gemm_sp uses simt, not mfma: gfx942 has none for 2:4 sparse f16 operands and 64 columns}}
    %d = tile.gemm_sp %a, %e, %b, %c : memref<64x32xf16, #wg>, memref<64x4xi16, #wg>, memref<64x64xf16, #wg> -> tensor<64x64xf32>
    gpu.return
  }
}

// -----

// Rows of 1024 bytes are too long for one box of TMA. The first buffer has no layout
// yet, so it can get panels. The second one is used through a view of another shape,
// and the third one has a layout of its own: both keep their rows.
// CHECK-LABEL: gpu.func @long_rows
// CHECK: tile.copy {{.*}}inst<tma>
// CHECK: tile.copy {{.*}}inst<cp_async>
// CHECK: tile.copy {{.*}}inst<cp_async>
#wg = #gpu.address_space<workgroup>
!s = memref<64x512xf16, #wg>
!l = memref<64x512xf16, #tile.shared<(64, 512):(512, 1)>, #wg>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @long_rows(%A: memref<64x512xf16>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tile.alloc_shared : !s
    %b = tile.alloc_shared : !s
    %v = tile.view %b : !s to memref<128x256xf16, #wg>
    %c = tile.alloc_shared : !l
    scf.for %i = %c0 to %n step %c1 {
      tile.copy %A to %a : memref<64x512xf16> to !s
      // expected-remark @below {{tile-inst-0002: copy uses cp_async, not tma: the region falls into 128 boxes of 512 bytes without gaps, more than 64}}
      tile.copy %A to %b : memref<64x512xf16> to !s
      // expected-remark @below {{tile-inst-0002: copy uses cp_async, not tma: the region falls into 128 boxes of 512 bytes without gaps, more than 64}}
      tile.copy %A to %c : memref<64x512xf16> to !l
    } {tile.num_stages = 2 : i32}
    gpu.return
  }
}

// -----

// Hopper traps if a box of TMA starts at no multiple of 16 bytes of its row: 8 elements of
// f16. Rows may be any. cp.async copies at least 4 bytes.
// CHECK-LABEL: gpu.func @columns
// CHECK: tile.copy {{.*}}inst<tma>
// CHECK: tile.copy {{.*}}inst<cp_async>
// CHECK: tile.copy {{.*}}inst<simt>
!t = memref<64x64xf16, #gpu.address_space<workgroup>>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @columns(%A: memref<640x512xf16>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %a = tile.alloc_shared : !t
    %b = tile.alloc_shared : !t
    %c = tile.alloc_shared : !t
    scf.for %i = %c0 to %n step %c1 {
      %i8 = arith.muli %i, %c8 : index
      tile.copy %A[%i, %i8] to %a : memref<640x512xf16> to !t
      %i2 = arith.muli %i, %c2 : index
      // expected-remark @below {{tile-inst-0002: copy uses cp_async, not tma: the copy is known to begin at multiples of 4 bytes in its row only, TMA needs 16}}
      tile.copy %A[0, %i2] to %b : memref<640x512xf16> to !t
      // expected-remark @below {{tile-inst-0002: copy uses simt, not tma: the copy is known to begin at multiples of 2 bytes in its row only, TMA needs 16}}
      // expected-remark @below {{tile-inst-0002: copy uses simt, not cp_async: only 2 adjacent bytes are known to be aligned}}
      tile.copy %A[0, %i] to %c : memref<640x512xf16> to !t
    } {tile.num_stages = 2 : i32}
    gpu.return
  }
}

// -----

// Copies of a schedule that exists keep the instruction that its waits count on, which
// is the channel's producer. A copy to no channel does not use TMA, because nothing
// waits for it.
!S = memref<2x64xf16, #gpu.address_space<workgroup>>
!s = memref<64xf16, #gpu.address_space<workgroup>>
!g = memref<?x64xf16>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: gpu.func @one_role
  gpu.func @one_role(%A: !g) kernel {
    %c0 = arith.constant 0 : index
    %S = tile.alloc_shared : !S
    %T = tile.alloc_shared : !S
    %simt = tile.channel(%S) {producer = #tile.producer<simt>} : !S -> !tile.channel<2>
    %any = tile.channel(%T) {producer = #tile.producer<mixed>} : !S -> !tile.channel<2>
    %p = tile.cursor : !tile.cursor<2>
    %s = tile.slot %S[%p] : !S -> !s
    // CHECK: tile.copy {{.*}}inst<simt>
    // expected-remark @below {{tile-inst-0002: copy uses simt, not cp_async: the producer of its channel is 'simt'}}
    tile.copy %A[%c0, 0] [1, 64] to %s : !g to !s
    %t = tile.slot %T[%p] : !S -> !s
    // CHECK: tile.copy {{.*}}inst<cp_async>
    tile.copy %A[%c0, 0] [1, 64] to %t : !g to !s
    gpu.return
  }

  // CHECK-LABEL: gpu.func @roles
  gpu.func @roles(%A: !g) kernel attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %S = tile.alloc_shared : !S
    %T = tile.alloc_shared : !S
    %own = tile.alloc_shared : !s
    %tma = tile.channel(%S) {producer = #tile.producer<mixed>} : !S -> !tile.channel<2>
    %async = tile.channel(%T) {producer = #tile.producer<cp_async>} : !S -> !tile.channel<2>
    // CHECK: tile.copy {{.*}}inst<cp_async>
    tile.copy %A[%c0, 0] [1, 64] to %own : !g to !s
    tile.specialize {
      tile.role @load warps(1) {
        %p = tile.cursor : !tile.cursor<2>
        %s = tile.slot %S[%p] : !S -> !s
        // CHECK: tile.copy {{.*}}inst<tma>
        tile.copy %A[%c0, 0] [1, 64] to %s : !g to !s
        %t = tile.slot %T[%p] : !S -> !s
        // CHECK: tile.copy {{.*}}inst<cp_async>
        // expected-remark @below {{tile-inst-0002: copy uses cp_async, not tma: the producer of its channel is 'cp_async'}}
        tile.copy %A[%c0, 0] [1, 64] to %t : !g to !s
      }
      tile.role @math warps(1) {
      }
    }
    gpu.return
  }
}

// -----

// Neither wgmma nor mma takes integers of 32 bits.

#wg = #gpu.address_space<workgroup>
// CHECK-LABEL: gpu.module @wide_integers
gpu.module @wide_integers [#nvvm.target<chip = "sm_90a">] {
  gpu.func @gemm(%x: memref<64x64xi32>) kernel {
    %a = tile.alloc_shared : memref<64x64xi32, #wg>
    %b = tile.alloc_shared : memref<64x64xi32, #wg>
    %c = tile.load %x : memref<64x64xi32> -> tensor<64x64xi32>
    // CHECK: tile.gemm {{.*}} {tile.inst = #tile.inst<simt>, transpose_rhs}
    // expected-remark @below {{tile-inst-0001: gemm uses simt, not wgmma: sm_90a has none for i32 operands and 64 columns}}
    // expected-remark @below {{tile-inst-0001: gemm uses simt, not mma: sm_90a has none for i32 operands and 64 columns}}
    %d = tile.gemm %a, %b, %c {transpose_rhs} : memref<64x64xi32, #wg>, memref<64x64xi32, #wg> -> tensor<64x64xi32>
    gpu.return
  }
}

// -----

// wgmma runs on four warps from a multiple of four on.

#wg = #gpu.address_space<workgroup>
// CHECK-LABEL: gpu.module @warpgroups
gpu.module @warpgroups [#nvvm.target<chip = "sm_90a">] {
  gpu.func @roles() kernel attributes {tile.threads = 320 : i32} {
    %a = tile.alloc_shared : memref<64x64xf16, #wg>
    %b = tile.alloc_shared : memref<64x64xf16, #wg>
    %d = tile.alloc_shared : memref<64x64xf32, #wg>
    tile.specialize {
      tile.role @first warps(4) {
        %c = arith.constant dense<0.0> : tensor<64x64xf32>
        // CHECK: tile.gemm {{.*}} {tile.inst = #tile.inst<wgmma>}
        %x = tile.gemm %a, %b, %c : memref<64x64xf16, #wg>, memref<64x64xf16, #wg> -> tensor<64x64xf32>
        tile.store %x to %d : tensor<64x64xf32> to memref<64x64xf32, #wg>
      }
      tile.role @load warps(2) {
      }
      tile.role @second warps(4) {
        %c = arith.constant dense<0.0> : tensor<64x64xf32>
        // CHECK: tile.gemm {{.*}} {tile.inst = #tile.inst<mma>}
        // expected-remark @below {{tile-inst-0001: gemm uses mma, not wgmma: role @second begins at warp 6, and warpgroups at each fourth one}}
        %x = tile.gemm %a, %b, %c : memref<64x64xf16, #wg>, memref<64x64xf16, #wg> -> tensor<64x64xf32>
        tile.store %x to %d : tensor<64x64xf32> to memref<64x64xf32, #wg>
      }
    }
    gpu.return
  }
}
