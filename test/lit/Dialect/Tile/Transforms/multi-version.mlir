// RUN: tilews-opt %s --tile-plan-pipeline --tile-multi-version | FileCheck %s
// A second run does not version buffers again.
// RUN: tilews-opt %s --tile-plan-pipeline --tile-multi-version -o %t.once
// RUN: tilews-opt %t.once --tile-plan-pipeline --tile-multi-version -o %t.twice
// RUN: diff %t.once %t.twice

!g = memref<?x?xf16>
!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!t = tensor<64x64xf16>
!acc = tensor<64x64xf32>

gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  // One channel for both operands, which one matmul reads. The wait comes first in the
  // order of the pipeline: its barrier frees the slot that the copies fill.
  // CHECK-LABEL: gpu.func @gemm
  // CHECK: %[[A:.*]] = tile.alloc_shared : memref<3x64x64xf16, #gpu.address_space<workgroup>>
  // CHECK: %[[B:.*]] = tile.alloc_shared {alignment = 1024 : i64} : memref<3x64x64xf16, #gpu.address_space<workgroup>>
  // CHECK: %[[CH:.*]] = tile.channel(%[[A]], %[[B]]) {producer = #tile.producer<cp_async>}
  // CHECK: %[[P0:.*]] = tile.cursor
  // CHECK: %[[Q0:.*]] = tile.cursor
  // CHECK: scf.for {{.*}} iter_args(%[[C:.*]] = %{{.*}}, %[[P:.*]] = %[[P0]], %[[Q:.*]] = %[[Q0]])
  // CHECK-NEXT: tile.acquire %[[CH]][%[[P]]] {tile.order = 1 : i32, tile.stage = 0 : i32}
  // CHECK-NEXT: %[[AP:.*]] = tile.slot %[[A]][%[[P]]]
  // CHECK-NEXT: tile.copy %{{.*}} to %[[AP]] {{{.*}}tile.order = 2 : i32, tile.stage = 0 : i32}
  // CHECK-NEXT: %[[BP:.*]] = tile.slot %[[B]][%[[P]]]
  // CHECK-NEXT: tile.copy %{{.*}} to %[[BP]] {{{.*}}tile.order = 3 : i32, tile.stage = 0 : i32}
  // CHECK-NEXT: tile.commit %[[CH]][%[[P]]] {tile.order = 4 : i32, tile.stage = 0 : i32}
  // CHECK-NEXT: %[[P1:.*]] = tile.advance %[[P]] {tile.order = 5 : i32, tile.stage = 0 : i32}
  // CHECK-NEXT: tile.wait %[[CH]][%[[Q]]] {tile.order = 0 : i32, tile.stage = 2 : i32}
  // CHECK-NEXT: %[[AQ:.*]] = tile.slot %[[A]][%[[Q]]]
  // CHECK-NEXT: %[[BQ:.*]] = tile.slot %[[B]][%[[Q]]]
  // CHECK-NEXT: %[[D:.*]] = tile.gemm %[[AQ]], %[[BQ]], %[[C]] {tile.order = 6 : i32, tile.stage = 2 : i32}
  // CHECK-NEXT: tile.release %[[CH]][%[[Q]]] {tile.order = 7 : i32, tile.stage = 2 : i32}
  // CHECK-NEXT: %[[Q1:.*]] = tile.advance %[[Q]] {tile.order = 8 : i32, tile.stage = 2 : i32}
  // CHECK-NEXT: scf.yield %[[D]], %[[P1]], %[[Q1]]
  // CHECK-NEXT: tile.num_stages = 3
  gpu.func @gemm(%A: !g, %B: !g, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %bs = tile.alloc_shared {alignment = 1024 : i64} : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      tile.copy %A[0, %k] to %as {tile.inst = #tile.inst<cp_async>} : !g to !s
      tile.copy %B[%k, 0] to %bs {tile.inst = #tile.inst<cp_async>} : !g to !s
      %d = tile.gemm %as, %bs, %c : !s, !s -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 3 : i32}
    gpu.return
  }

  // Keys and values have different first and last readers: there are two channels, and
  // one is acquired while the other is read.
  // CHECK-LABEL: gpu.func @attention
  // CHECK: %[[V:.*]] = tile.alloc_shared
  // CHECK-NEXT: %[[VC:.*]] = tile.channel(%[[V]])
  // CHECK: %[[K:.*]] = tile.alloc_shared
  // CHECK-NEXT: %[[KC:.*]] = tile.channel(%[[K]])
  // CHECK: tile.acquire %[[KC]]{{.*}}order = 4
  // CHECK: tile.commit %[[KC]]
  // CHECK: tile.acquire %[[VC]]
  // CHECK: tile.commit %[[VC]]
  // CHECK: tile.wait %[[KC]]{{.*}}order = 0
  // CHECK: tile.gemm
  // CHECK-NEXT: tile.release %[[KC]]{{.*}}order = 2
  // CHECK: tile.wait %[[VC]]
  // CHECK: tile.gemm
  // CHECK-NEXT: tile.release %[[VC]]
  gpu.func @attention(%K: !g, %V: !g, %q: !t, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %ks = tile.alloc_shared : !s
    %vs = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%o = %zero) -> !acc {
      tile.copy %K[%k, 0] to %ks : !g to !s
      %s = tile.gemm %q, %ks, %zero {transpose_rhs} : !t, !s -> !acc
      %e = math.exp2 %s : !acc
      %p = arith.truncf %e : !acc to !t
      tile.copy %V[%k, 0] to %vs : !g to !s
      %d = tile.gemm %p, %vs, %o : !t, !s -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 3 : i32}
    gpu.return
  }

  // Cursors advance inside of the guard, which both sides evaluate. The loop around it
  // carries them.
  // CHECK-LABEL: gpu.func @guard
  // CHECK: %[[P0:.*]] = tile.cursor
  // CHECK: %[[Q0:.*]] = tile.cursor
  // CHECK: scf.for {{.*}} iter_args(%[[P1:.*]] = %[[P0]], %[[Q1:.*]] = %[[Q0]])
  // CHECK: %[[R:.*]]:3 = scf.for {{.*}} iter_args(%[[C:.*]] = %{{.*}}, %[[P:.*]] = %[[P1]], %[[Q:.*]] = %[[Q1]])
  // CHECK: %[[ON:.*]] = memref.load
  // CHECK: %[[P2:.*]] = scf.if %[[ON]] -> (!tile.cursor<4>)
  // CHECK: tile.acquire
  // CHECK: tile.copy
  // CHECK: tile.copy
  // CHECK: tile.commit
  // CHECK: %[[P3:.*]] = tile.advance %[[P]]
  // CHECK: scf.yield %[[P3]]
  // CHECK: else
  // CHECK: scf.yield %[[P]]
  // CHECK: %[[ON2:.*]] = memref.load
  // CHECK: %[[D:.*]]:2 = scf.if %[[ON2]] -> (tensor<64x64xf32>, !tile.cursor<4>)
  // CHECK: tile.wait
  // CHECK: tile.gemm
  // CHECK: tile.release
  // CHECK: else
  // CHECK: scf.yield %[[C]], %[[Q]]
  // CHECK: scf.yield %[[D]]#0, %[[P2]], %[[D]]#1
  // CHECK: scf.yield %[[R]]#1, %[[R]]#2
  gpu.func @guard(%A: !g, %B: !g, %mask: memref<?xi1>, %zero: !acc, %n: index, %C: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : !s
    %bs = tile.alloc_shared : !s
    scf.for %m = %c0 to %n step %c1 {
      %r = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero) -> !acc {
        %on = memref.load %mask[%k] : memref<?xi1>
        %x = scf.if %on -> !acc {
          tile.copy %A[0, %k] to %as : !g to !s
          tile.copy %B[%k, 0] to %bs : !g to !s
          %d = tile.gemm %as, %bs, %c : !s, !s -> !acc
          scf.yield %d : !acc
        } else {
          scf.yield %c : !acc
        }
        scf.yield %x : !acc
      } {tile.num_stages = 4 : i32}
      tile.store %r to %C[%m, 0] : !acc to memref<?x?xf32>
    }
    gpu.return
  }

  // A value that both sides carry is carried twice. A value that only copies need is
  // carried once.
  // CHECK-LABEL: gpu.func @carried
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[BOTH:.*]] = %{{.*}}, %[[ONLY:.*]] = %{{.*}}, %[[COPY:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}})
  // CHECK: tile.copy %{{.*}}[%[[ONLY]], %[[COPY]]]
  // CHECK: %[[N1:.*]] = arith.addi %[[COPY]]
  // CHECK: %[[N2:.*]] = arith.addi %[[ONLY]]
  // CHECK: %[[N3:.*]] = arith.addi %[[BOTH]]
  // CHECK: memref.store %[[BOTH]]
  // CHECK: scf.yield %{{.*}}, %[[N3]], %[[N2]], %[[N1]]
  gpu.func @carried(%A: !g, %b: !t, %zero: !acc, %n: index, %X: memref<?xindex>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : !s
    %r:3 = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero, %i = %c0, %j = %c0) -> (!acc, index, index) {
      tile.copy %A[%j, %i] to %as : !g to !s
      %d = tile.gemm %as, %b, %c : !s, !t -> !acc
      %i1 = arith.addi %i, %c1 : index
      %j1 = arith.addi %j, %c1 : index
      memref.store %i, %X[%k] : memref<?xindex>
      scf.yield %d, %i1, %j1 : !acc, index, index
    } {tile.num_stages = 2 : i32}
    gpu.return
  }

  // Two loops fill a buffer: it gets as many versions as the deeper one needs, and both
  // loops share one pair of cursors.
  // CHECK-LABEL: gpu.func @two_loops
  // CHECK: tile.alloc_shared : memref<4x64x64xf16
  // CHECK: = tile.channel(
  // CHECK-NOT: = tile.channel(
  // CHECK: %[[R:.*]]:3 = scf.for
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[R]]#0, %{{.*}} = %[[R]]#1, %{{.*}} = %[[R]]#2)
  gpu.func @two_loops(%A: !g, %b: !t, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero) -> !acc {
      tile.copy %A[0, %k] to %as : !g to !s
      %d = tile.gemm %as, %b, %c : !s, !t -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 2 : i32}
    %q = scf.for %k = %c0 to %n step %c1 iter_args(%c = %r) -> !acc {
      tile.copy %A[0, %k] to %as : !g to !s
      %d = tile.gemm %as, %b, %c : !s, !t -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 4 : i32}
    gpu.return
  }

  // A layout gets a leading mode. Each version gets a view of its own. The read after
  // the loop takes the version that was read last.
  // CHECK-LABEL: gpu.func @views
  // CHECK: %[[A:.*]] = tile.alloc_shared : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4608, 72, 1)>, #gpu.address_space<workgroup>>
  // CHECK: = tile.cursor
  // CHECK-NEXT: = tile.cursor
  // CHECK-NEXT: %[[L0:.*]] = tile.cursor
  // CHECK: %[[R:.*]]:4 = scf.for {{.*}} %[[Q:[^ ]*]] = %{{[^ ]*}}, %{{.*}} = %[[L0]])
  // CHECK: tile.wait
  // CHECK: %[[S:.*]] = tile.slot %[[A]][%[[Q]]]
  // CHECK: %[[V:.*]] = tile.view %[[S]]
  // CHECK: tile.load %[[V]]
  // CHECK: scf.yield {{.*}}, %[[Q]]
  // CHECK: %[[LAST:.*]] = tile.slot %[[A]][%[[R]]#3]
  // CHECK: tile.copy %[[LAST]]
  gpu.func @views(%A: !g, %zero: tensor<32x128xf16>, %n: index, %C: !g) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : memref<64x64xf16, #tile.shared<(64, 64):(72, 1)>, #gpu.address_space<workgroup>>
    %v = tile.view %as : memref<64x64xf16, #tile.shared<(64, 64):(72, 1)>, #gpu.address_space<workgroup>> to memref<32x128xf16, #gpu.address_space<workgroup>>
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero) -> tensor<32x128xf16> {
      tile.copy %A[0, %k] to %as : !g to memref<64x64xf16, #tile.shared<(64, 64):(72, 1)>, #gpu.address_space<workgroup>>
      %d = tile.load %v : memref<32x128xf16, #gpu.address_space<workgroup>> -> tensor<32x128xf16>
      %e = arith.addf %c, %d : tensor<32x128xf16>
      scf.yield %e : tensor<32x128xf16>
    } {tile.num_stages = 2 : i32}
    tile.copy %as to %C[0, 0] : memref<64x64xf16, #tile.shared<(64, 64):(72, 1)>, #gpu.address_space<workgroup>> to !g
    gpu.return
  }
}
