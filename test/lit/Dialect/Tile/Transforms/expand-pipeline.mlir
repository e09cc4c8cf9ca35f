// RUN: tilews-opt %s --tile-plan-pipeline --tile-multi-version --tile-expand-pipeline --canonicalize | FileCheck %s
// A loop that has been expanded is not expanded again.
// RUN: tilews-opt %s --tile-plan-pipeline --tile-multi-version --tile-expand-pipeline -o %t.once
// RUN: tilews-opt %t.once --tile-expand-pipeline -o %t.twice
// RUN: diff %t.once %t.twice

!g = memref<?x?xf16>
!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!t = tensor<64x64xf16>
!acc = tensor<64x64xf32>

gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  // The copies of three iterations are under way at the wait for the oldest, which
  // leaves two. The next copies come after the wait, whose barrier frees their slot.
  // CHECK-LABEL: gpu.func @gemm
  // CHECK-COUNT-3: tile.commit_group
  // CHECK: scf.for %[[K:[^ ]*]] = %{{.*}} iter_args(%[[C:.*]] = %{{[^,]*}}, %[[P:.*]] = %{{[^,]*}}, %[[Q:.*]] = %{{.*}}) ->
  // CHECK: %[[LAST:.*]] = arith.subi %{{.*}}, %c192
  // CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[K]], %[[LAST]]
  // CHECK: tile.wait %{{.*}}[%[[Q]]] {pending = 2 : i64}
  // CHECK: %[[P1:.*]] = scf.if %[[MORE]]
  // CHECK: tile.acquire %{{.*}}[%[[P]]]
  // CHECK: tile.copy
  // CHECK: tile.copy
  // CHECK: tile.commit %{{.*}}[%[[P]]]
  // CHECK: else
  // CHECK: scf.yield %[[P]]
  // CHECK: tile.commit_group
  // CHECK-NOT: tile.commit_group
  // CHECK: tile.gemm
  // CHECK: tile.release %{{.*}}[%[[Q]]]
  // CHECK: scf.yield %{{.*}}, %[[P1]], %{{.*}}
  // CHECK-NOT: tile.num_stages
  // CHECK-NOT: tile.stage
  gpu.func @gemm(%A: !g, %B: !g, %zero: !acc, %n: index, %C: memref<64x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %bs = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      tile.copy %A[0, %k] to %as {tile.inst = #tile.inst<cp_async>} : !g to !s
      tile.copy %B[%k, 0] to %bs {tile.inst = #tile.inst<cp_async>} : !g to !s
      %d = tile.gemm %as, %bs, %c : !s, !s -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 4 : i32}
    tile.store %r to %C : !acc to memref<64x64xf32>
    gpu.return
  }

  // The loop has enough iterations, so the prologue needs no guards.
  // CHECK-LABEL: gpu.func @long
  // CHECK-NOT: scf.if
  // CHECK: tile.copy %{{.*}}[0, 0]
  // CHECK: tile.copy %{{.*}}[0, 64]
  // CHECK: scf.for
  // CHECK: pending = 1
  // CHECK: scf.if
  gpu.func @long(%A: !g, %b: !t, %zero: !acc, %C: memref<64x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %as = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %c512 step %c64 iter_args(%c = %zero) -> !acc {
      tile.copy %A[0, %k] to %as {tile.inst = #tile.inst<cp_async>} : !g to !s
      %d = tile.gemm %as, %b, %c : !s, !t -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 3 : i32}
    tile.store %r to %C : !acc to memref<64x64xf32>
    gpu.return
  }

  // A loop of two iterations in four stages has two copies in its prologue.
  // CHECK-LABEL: gpu.func @short
  // CHECK: tile.copy %{{.*}}[0, 0]
  // CHECK: tile.copy %{{.*}}[0, 64]
  // CHECK-NOT: tile.copy %{{.*}}[0, 128]
  // CHECK: scf.for
  gpu.func @short(%A: !g, %b: !t, %zero: !acc, %C: memref<64x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %as = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %c128 step %c64 iter_args(%c = %zero) -> !acc {
      tile.copy %A[0, %k] to %as {tile.inst = #tile.inst<cp_async>} : !g to !s
      %d = tile.gemm %as, %b, %c : !s, !t -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 4 : i32}
    tile.store %r to %C : !acc to memref<64x64xf32>
    gpu.return
  }

  // One stage: the copy of the next iteration comes directly after the matmul.
  // CHECK-LABEL: gpu.func @one_stage
  // CHECK: tile.commit_group
  // CHECK: scf.for
  // CHECK: tile.wait {{.*}} {pending = 0 : i64}
  // CHECK: tile.gemm
  // CHECK: tile.release
  // CHECK: tile.acquire
  // CHECK: tile.commit_group
  gpu.func @one_stage(%A: !g, %b: !t, %zero: !acc, %n: index, %C: memref<64x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      tile.copy %A[0, %k] to %as {tile.inst = #tile.inst<cp_async>} : !g to !s
      %d = tile.gemm %as, %b, %c : !s, !t -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 1 : i32}
    tile.store %r to %C : !acc to memref<64x64xf32>
    gpu.return
  }

  // Two groups an iteration, three iterations ahead: both waits leave all but the
  // oldest of six groups under way.
  // CHECK-LABEL: gpu.func @attention
  // CHECK-COUNT-6: tile.commit_group
  // CHECK: scf.for
  // CHECK: tile.wait %[[K:.*]][{{.*}}pending = 5
  // CHECK: tile.gemm
  // CHECK: tile.release %[[K]]
  // CHECK: tile.acquire %[[K]]
  // CHECK: tile.commit_group
  // CHECK: math.exp2
  // CHECK: tile.wait %[[V:.*]][{{.*}}pending = 5
  // CHECK: tile.gemm
  // CHECK: tile.release %[[V]]
  // CHECK: tile.acquire %[[V]]
  // CHECK: tile.commit_group
  // CHECK-NOT: tile.commit_group
  // CHECK: gpu.return
  gpu.func @attention(%K: !g, %V: !g, %q: !t, %zero: !acc, %n: index, %C: memref<64x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %ks = tile.alloc_shared : !s
    %vs = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%o = %zero) -> !acc {
      tile.copy %K[%k, 0] to %ks {tile.inst = #tile.inst<cp_async>} : !g to !s
      %s = tile.gemm %q, %ks, %zero {transpose_rhs} : !t, !s -> !acc
      %e = math.exp2 %s : !acc
      %p = arith.truncf %e : !acc to !t
      tile.copy %V[%k, 0] to %vs {tile.inst = #tile.inst<cp_async>} : !g to !s
      %d = tile.gemm %p, %vs, %o : !t, !s -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 3 : i32}
    tile.store %r to %C : !acc to memref<64x64xf32>
    gpu.return
  }

  // A group is closed whether the guard holds or not. The mask is read only in
  // iterations that exist.
  // CHECK-LABEL: gpu.func @guard
  // CHECK: scf.for
  // CHECK: scf.if
  // CHECK: %[[ON:.*]] = memref.load
  // CHECK: scf.if %[[ON]]
  // CHECK: tile.acquire
  // CHECK: tile.commit
  // CHECK: else
  // CHECK: else
  // CHECK: }
  // CHECK-NEXT: tile.commit_group
  // CHECK: %[[ON2:.*]] = memref.load
  // CHECK: scf.if %[[ON2]]
  // CHECK: tile.wait {{.*}} {pending = 1 : i64}
  // CHECK: tile.gemm
  gpu.func @guard(%A: !g, %b: !t, %mask: memref<?xi1>, %zero: !acc, %n: index, %C: memref<64x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero) -> !acc {
      %on = memref.load %mask[%k] : memref<?xi1>
      %x = scf.if %on -> !acc {
        tile.copy %A[0, %k] to %as {tile.inst = #tile.inst<cp_async>} : !g to !s
        %d = tile.gemm %as, %b, %c : !s, !t -> !acc
        scf.yield %d : !acc
      } else {
        scf.yield %c : !acc
      }
      scf.yield %x : !acc
    } {tile.num_stages = 2 : i32}
    tile.store %r to %C : !acc to memref<64x64xf32>
    gpu.return
  }

  // Ordinary copies belong to no group.
  // CHECK-LABEL: gpu.func @simt
  // CHECK-NOT: tile.commit_group
  // CHECK-NOT: pending
  // CHECK: gpu.return
  gpu.func @simt(%A: !g, %b: !t, %zero: !acc, %n: index, %C: memref<64x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      tile.copy %A[0, %k] to %as {tile.inst = #tile.inst<simt>} : !g to !s
      %d = tile.gemm %as, %b, %c : !s, !t -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 2 : i32}
    tile.store %r to %C : !acc to memref<64x64xf32>
    gpu.return
  }
}
