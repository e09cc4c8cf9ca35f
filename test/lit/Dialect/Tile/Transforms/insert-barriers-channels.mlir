// RUN: tilews-opt %s --tile-plan-pipeline --tile-multi-version --tile-expand-pipeline --canonicalize --tile-plan-shared-memory --tile-insert-barriers | FileCheck %s
// RUN: tilews-opt %s --tile-plan-pipeline --tile-multi-version --tile-plan-shared-memory --tile-insert-barriers | FileCheck %s --check-prefix=SEQ

!g = memref<?x?xf16>
!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!t = tensor<64x64xf16>
!acc = tensor<64x64xf32>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // The wait is a barrier. It frees the slot of the iteration before, which the copies
  // fill, and fences for wgmma.
  // CHECK-LABEL: gpu.func @gemm
  // CHECK-NOT: tile.barrier
  // CHECK: tile.wait {{.*}} {pending = 1 : i64, proxy_fence}
  // CHECK-NOT: tile.barrier
  // CHECK: gpu.return
  // Without a pipeline a barrier before the acquire frees the slot.
  // SEQ-LABEL: gpu.func @gemm
  // SEQ: scf.for
  // SEQ-NEXT: tile.barrier{{$}}
  // SEQ-NEXT: tile.acquire
  // SEQ-NOT: tile.barrier
  // SEQ: gpu.return
  gpu.func @gemm(%A: !g, %B: !g, %zero: !acc, %n: index, %C: memref<64x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %bs = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      tile.copy %A[0, %k] to %as {tile.inst = #tile.inst<cp_async>} : !g to !s
      tile.copy %B[%k, 0] to %bs {tile.inst = #tile.inst<cp_async>} : !g to !s
      %d = tile.gemm %as, %bs, %c {tile.inst = #tile.inst<wgmma>} : !s, !s -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 3 : i32}
    tile.store %r to %C : !acc to memref<64x64xf32>
    gpu.return
  }

  // With one stage the slot is filled again after its reader, with a barrier in
  // between.
  // mma.sync reads like other instructions.
  // CHECK-LABEL: gpu.func @one_stage
  // CHECK: scf.for
  // CHECK: tile.wait {{.*}} {pending = 0 : i64} :
  // CHECK-NOT: tile.barrier
  // CHECK: tile.release
  // CHECK: tile.barrier{{$}}
  // CHECK-NEXT: tile.acquire
  // CHECK-NOT: tile.barrier
  // CHECK: gpu.return
  gpu.func @one_stage(%A: !g, %b: !t, %zero: !acc, %n: index, %C: memref<64x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      tile.copy %A[0, %k] to %as {tile.inst = #tile.inst<cp_async>} : !g to !s
      %d = tile.gemm %as, %b, %c {tile.inst = #tile.inst<mma>} : !s, !t -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 1 : i32}
    tile.store %r to %C : !acc to memref<64x64xf32>
    gpu.return
  }

  // The barrier between the stores of two tiles also orders the next tile's first
  // copies after the last reads of their slots.
  // CHECK-LABEL: gpu.func @tiles
  // CHECK-NOT: tile.barrier
  // CHECK: tile.release
  // CHECK: tile.barrier{{$}}
  // CHECK-NEXT: tile.store
  // CHECK-NOT: tile.barrier
  // CHECK: gpu.return
  gpu.func @tiles(%A: !g, %b: !t, %zero: !acc, %n: index, %C: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    scf.for %m = %c0 to %n step %c64 {
      %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
        tile.copy %A[%m, %k] to %as {tile.inst = #tile.inst<cp_async>} : !g to !s
        %d = tile.gemm %as, %b, %c {tile.inst = #tile.inst<mma>} : !s, !t -> !acc
        scf.yield %d : !acc
      } {tile.num_stages = 2 : i32}
      tile.store %r to %C[%m, 0] : !acc to memref<?x?xf32>
    }
    gpu.return
  }

  // A buffer that takes the bytes of slots is written after the copies to them have
  // landed.
  // CHECK-LABEL: gpu.func @reuse
  // CHECK: scf.for
  // CHECK: tile.wait
  // CHECK: tile.barrier {drain_copies}
  // CHECK-NEXT: tile.store
  // CHECK: tile.barrier
  // CHECK: tile.copy
  gpu.func @reuse(%A: !g, %b: !t, %zero: !acc, %n: index, %C: memref<64x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      tile.copy %A[0, %k] to %as {tile.inst = #tile.inst<cp_async>} : !g to !s
      %d = tile.gemm %as, %b, %c {tile.inst = #tile.inst<mma>} : !s, !t -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 2 : i32}
    %cs = tile.alloc_shared : memref<64x64xf32, #gpu.address_space<workgroup>>
    tile.store %r to %cs : !acc to memref<64x64xf32, #gpu.address_space<workgroup>>
    tile.copy %cs to %C : memref<64x64xf32, #gpu.address_space<workgroup>> to memref<64x64xf32>
    gpu.return
  }

  // A copy before the loop belongs to the first group, so a wait for that group waits
  // for the copy, too. Copies of later iterations stay under way.
  // CHECK-LABEL: gpu.func @prelude
  // CHECK-NOT: tile.barrier
  // CHECK: tile.wait {{.*}} {pending = 1 : i64}
  // CHECK-NOT: tile.barrier
  // CHECK: gpu.return
  gpu.func @prelude(%A: !g, %Q: !g, %zero: !acc, %n: index, %C: memref<64x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %qs = tile.alloc_shared : !s
    %as = tile.alloc_shared : !s
    tile.copy %Q[0, 0] to %qs {tile.inst = #tile.inst<cp_async>} : !g to !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      tile.copy %A[0, %k] to %as {tile.inst = #tile.inst<cp_async>} : !g to !s
      %d = tile.gemm %qs, %as, %c {tile.inst = #tile.inst<mma>} : !s, !s -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 3 : i32}
    tile.store %r to %C : !acc to memref<64x64xf32>
    gpu.return
  }

  // The wait synchronizes the threads, and fences only for its own channel. A barrier
  // fences for wgmma the tile beside the channel, which threads have written.
  // CHECK-LABEL: gpu.func @written_beside_a_wait
  // CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<simt>}
  // CHECK: tile.wait {{.*}} {pending = 2 : i64} :
  // CHECK: tile.commit_group
  // CHECK-NEXT: tile.barrier {proxy_fence}
  // CHECK-NEXT: tile.gemm
  gpu.func @written_beside_a_wait(%A: !g, %B: !g, %zero: !acc, %n: index, %C: memref<64x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %bs = tile.alloc_shared : !s
    %first = tile.load %bs : !s -> !t
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      tile.copy %A[0, %k] to %as {tile.inst = #tile.inst<cp_async>} : !g to !s
      tile.copy %B[%k, 0] to %bs {tile.inst = #tile.inst<simt>} : !g to !s
      %a = tile.load %as : !s -> !t
      %d = tile.gemm %a, %bs, %c {tile.inst = #tile.inst<wgmma>} : !t, !s -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 3 : i32}
    %last = tile.load %bs : !s -> !t
    tile.store %r to %C : !acc to memref<64x64xf32>
    tile.store %last to %A : !t to !g
    tile.store %first to %B : !t to !g
    gpu.return
  }
}
