// REQUIRES: test-passes
// RUN: tilews-opt %s --test-tile-liveness -o /dev/null | FileCheck %s

!s = memref<64x64xf32, #gpu.address_space<workgroup>> // 16384 bytes
!h = memref<64x24xf32, #gpu.address_space<workgroup>> // 6144 bytes
!x = tensor<64x64xf32>
!y = tensor<64x24xf32>

gpu.module @liveness [#nvvm.target<chip = "sm_90a">] {
  // %c takes the bytes of %a, which is dead. Nothing accesses %d.
  // CHECK-LABEL: kernel @straight
  // CHECK-NEXT: %0: [5, 6] from tile.store %arg0, %0 to tile.copy %0, %1
  // CHECK-NEXT: %1: [6, 7] from tile.copy %0, %1 to tile.copy %1, %2
  // CHECK-NEXT: %2: [7, 7] from tile.copy %1, %2 to tile.copy %1, %2
  // CHECK-NEXT: buffer of 16384 bytes at 0, aligned to 16, live [5, 6]: %0 = tile.alloc_shared
  // CHECK-NEXT: buffer of 16384 bytes at 16384, aligned to 16, live [6, 7]: %1 = tile.alloc_shared
  // CHECK-NEXT: buffer of 16384 bytes at 0, aligned to 16, live [7, 7]: %2 = tile.alloc_shared
  // CHECK-NEXT: buffer of 6144 bytes at 0, aligned to 16, live [4, 4]: %3 = tile.alloc_shared
  // CHECK-NEXT: arena of 32768 bytes
  gpu.func @straight(%x: !x) kernel {
    %a = tile.alloc_shared : !s
    %b = tile.alloc_shared : !s
    %c = tile.alloc_shared : !s
    %d = tile.alloc_shared : !h
    tile.store %x to %a : !x to !s
    tile.copy %a to %b : !s to !s
    tile.copy %b to %c : !s to !s
    gpu.return
  }

  // An iteration may read what an earlier one wrote: %a and %b, from outside, are live in
  // the whole loop. %c and %d, of one iteration, share bytes.
  // CHECK-LABEL: kernel @loop
  // CHECK-NEXT: %0: [5, 13] from scf.for %c0, %arg2, %c1 to scf.yield
  // CHECK-NEXT: %1: [5, 13] from scf.for %c0, %arg2, %c1 to scf.yield
  // CHECK-NEXT: %2: [8, 9] from tile.store %arg1, %2 to %3 = tile.load %2
  // CHECK-NEXT: %4: [11, 11] from tile.store %3, %4 to tile.store %3, %4
  // CHECK-NEXT: buffer of 16384 bytes at 0, aligned to 16, live [5, 13]: %0 = tile.alloc_shared
  // CHECK-NEXT: buffer of 16384 bytes at 16384, aligned to 16, live [5, 13]: %1 = tile.alloc_shared
  // CHECK-NEXT: buffer of 6144 bytes at 32768, aligned to 16, live [8, 9]: %2 = tile.alloc_shared
  // CHECK-NEXT: buffer of 6144 bytes at 32768, aligned to 16, live [11, 11]: %4 = tile.alloc_shared
  // CHECK-NEXT: arena of 38912 bytes
  gpu.func @loop(%x: !x, %y: !y, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tile.alloc_shared : !s
    %b = tile.alloc_shared : !s
    scf.for %i = %c0 to %n step %c1 {
      tile.store %x to %a : !x to !s
      %c = tile.alloc_shared : !h
      tile.store %y to %c : !y to !h
      %z = tile.load %c : !h -> !y
      %d = tile.alloc_shared : !h
      tile.store %z to %d : !y to !h
      tile.store %x to %b : !x to !s
    }
    gpu.return
  }

  // A branch runs once: the two sides share bytes.
  // CHECK-LABEL: kernel @branch
  // CHECK-NEXT: %0: [4, 5] from tile.store %arg0, %0 to %2 = tile.load %0
  // CHECK-NEXT: %1: [7, 8] from tile.store %arg0, %1 to %2 = tile.load %1
  // CHECK-NEXT: buffer of 16384 bytes at 0, aligned to 16, live [4, 5]: %0 = tile.alloc_shared
  // CHECK-NEXT: buffer of 16384 bytes at 0, aligned to 16, live [7, 8]: %1 = tile.alloc_shared
  // CHECK-NEXT: arena of 16384 bytes
  gpu.func @branch(%x: !x, %p: i1) kernel {
    %a = tile.alloc_shared : !s
    %b = tile.alloc_shared : !s
    scf.if %p {
      tile.store %x to %a : !x to !s
      %y = tile.load %a : !s -> !x
    } else {
      tile.store %x to %b : !x to !s
      %y = tile.load %b : !s -> !x
    }
    gpu.return
  }

  // A buffer that two roles access lives as long as the roles do. The buffer of one role
  // takes no byte of it. Barriers live always.
  // CHECK-LABEL: kernel @roles
  // CHECK-NEXT: %0: [4, 18] from tile.specialize to tile.release %2, %3
  // CHECK-NEXT: %1: [14, 14] in @math from tile.store %cst, %1 to tile.store %cst, %1
  // CHECK-NEXT: buffer of 16384 bytes at 0, aligned to 16, live [4, 18]: %0 = tile.alloc_shared
  // CHECK-NEXT: buffer of 6144 bytes at 16384, aligned to 16, live [14, 14] in @math: %1 = tile.alloc_shared
  // CHECK-NEXT: barriers of 16 bytes at 22528, aligned to 8, live always: %2 = tile.channel %0
  // CHECK-NEXT: arena of 22544 bytes
  gpu.func @roles(%A: memref<64x64xf32>) kernel attributes {tile.threads = 256 : i32} {
    %a = tile.alloc_shared : memref<1x64x64xf32, #gpu.address_space<workgroup>>
    %own = tile.alloc_shared : !h
    %ch = tile.channel(%a) {producer = #tile.producer<cp_async>} : memref<1x64x64xf32, #gpu.address_space<workgroup>> -> !tile.channel<1>
    tile.specialize {
      tile.role @load warps(4) {
        %p = tile.cursor : !tile.cursor<1>
        tile.acquire %ch[%p] : !tile.channel<1>
        %slot = tile.slot %a[%p] : memref<1x64x64xf32, #gpu.address_space<workgroup>> -> !s
        tile.copy %A[0, 0] to %slot {tile.inst = #tile.inst<cp_async>} : memref<64x64xf32> to !s
        tile.commit %ch[%p] : !tile.channel<1>
      }
      tile.role @math warps(4) {
        %q = tile.cursor : !tile.cursor<1>
        %zero = arith.constant dense<0.0> : !y
        tile.store %zero to %own : !y to !h
        tile.wait %ch[%q] : !tile.channel<1>
        %slot = tile.slot %a[%q] : memref<1x64x64xf32, #gpu.address_space<workgroup>> -> !s
        %v = tile.load %slot : !s -> !x
        tile.release %ch[%q] : !tile.channel<1>
      }
    }
    gpu.return
  }
}
