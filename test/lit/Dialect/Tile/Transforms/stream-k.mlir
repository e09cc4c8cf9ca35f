// RUN: tilews-opt %s --tile-stream-k --cse --split-input-file --verify-diagnostics | FileCheck %s

!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!t = tensor<64x64xf32>

// Each block makes an equal part of all iterations, the first blocks one more, and
// visits the tiles that these belong to.
// CHECK-LABEL: gpu.func @stream
// CHECK-SAME: %[[N:[a-z0-9]*]]: index)
// CHECK: %[[BLOCK:.*]] = arith.addi %{{.*}}, %block_id_x
// CHECK: %[[TILES:.*]] = arith.muli %[[N]], %[[N]] : index
// CHECK: %[[COUNT:.*]] = arith.maxsi
// CHECK: %[[ALL:.*]] = arith.muli %[[TILES]], %[[COUNT]] : index
// CHECK: %[[EACH:.*]] = arith.divui %[[ALL]], %[[BLOCKS:.*]] : index
// CHECK: %[[MORE:.*]] = arith.remui %[[ALL]], %[[BLOCKS]] : index
// CHECK: %[[NEXT:.*]] = arith.addi %[[BLOCK]],
// CHECK: %[[A:.*]] = arith.muli %[[BLOCK]], %[[EACH]] : index
// CHECK: %[[B:.*]] = arith.minui %[[BLOCK]], %[[MORE]] : index
// CHECK: %[[FIRST:.*]] = arith.addi %[[A]], %[[B]] : index
// CHECK: %[[C:.*]] = arith.muli %[[NEXT]], %[[EACH]] : index
// CHECK: %[[D:.*]] = arith.minui %[[NEXT]], %[[MORE]] : index
// CHECK: %[[END:.*]] = arith.addi %[[C]], %[[D]] : index
// CHECK: %[[BY:.*]] = arith.maxui %[[COUNT]],
// CHECK: %[[FROM:.*]] = arith.divui %[[FIRST]], %[[BY]] : index
// CHECK: %[[TO:.*]] = arith.ceildivui %[[END]], %[[BY]] : index
// CHECK: scf.for %[[TILE:.*]] = %[[FROM]] to %[[TO]] step %{{.*}} {
// CHECK:   %[[BEGIN:.*]] = arith.muli %[[TILE]], %[[COUNT]] : index
// CHECK:   %[[E:.*]] = arith.subi %[[FIRST]], %[[BEGIN]] : index
// CHECK:   %[[K0:.*]] = arith.maxsi %[[E]],
// CHECK:   %[[F:.*]] = arith.subi %[[END]], %[[BEGIN]] : index
// CHECK:   %[[K1:.*]] = arith.minsi %[[F]], %[[COUNT]] : index
// CHECK:   %[[R:.*]] = scf.for %{{.*}} = %[[K0]] to %[[K1]] step
// CHECK:   } {tile.num_stages = 3 : i32}
// CHECK:   tile.atomic_rmw <add> %[[R]]
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @stream(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %C: memref<?x?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : !s
    %bs = tile.alloc_shared : !s
    %zero = arith.constant dense<0.0> : !t
    tile.persistent (%x, %y) in (%n, %n) {
      // The bounds are the same in all tiles, wherever they are computed.
      %ub = memref.dim %A, %c1 : memref<?x?xf16>
      %r = scf.for %k = %c0 to %ub step %c1 iter_args(%c = %zero) -> (!t) {
        tile.copy %A[%y, %k] to %as : memref<?x?xf16> to !s
        tile.copy %B[%k, %x] to %bs : memref<?x?xf16> to !s
        %d = tile.gemm %as, %bs, %c : !s, !s -> !t
        scf.yield %d : !t
      } {tile.num_stages = 3 : i32, tile.stream_k}
      tile.atomic_rmw <add> %r to %C[%y, %x] : !t to memref<?x?xf32>
    }
    gpu.return
  }
}

// -----

// Loops that are not split, with the reasons.

!t = tensor<16x16xf32>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: gpu.func @one_tile
  // CHECK-NOT: tile.stream_k
  gpu.func @one_tile(%C: memref<?x?xf32>, %one: f32) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %add = tensor.splat %one : !t
    %zero = arith.constant dense<0.0> : !t
    // expected-remark @below {{tile-split-0001: loop is not split: the loop is not in a 'tile.persistent'}}
    // expected-note @below {{because of this operation}}
    %r = scf.for %k = %c0 to %c9 step %c1 iter_args(%c = %zero) -> (!t) {
      %d = arith.addf %c, %add : !t
      scf.yield %d : !t
    } {tile.stream_k}
    tile.atomic_rmw <add> %r to %C[%c0, %c0] : !t to memref<?x?xf32>
    gpu.return
  }

  gpu.func @stored(%C: memref<?x?xf32>, %one: f32, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %add = tensor.splat %one : !t
    %zero = arith.constant dense<0.0> : !t
    tile.persistent (%x) in (%n) {
      // expected-remark @below {{loop is not split: blocks have only a part of the sum here}}
      %r = scf.for %k = %c0 to %c9 step %c1 iter_args(%c = %zero) -> (!t) {
        %d = arith.addf %c, %add : !t
        scf.yield %d : !t
      } {tile.stream_k}
      // expected-note @below {{because of this operation}}
      tile.store %r to %C[%x, %c0] : !t to memref<?x?xf32>
    }
    gpu.return
  }

  // The sum of the first loop does not depend on the tile.
  // CHECK-LABEL: gpu.func @two_loops
  // CHECK: scf.for %[[TILE:.*]] =
  // CHECK: scf.for
  // CHECK: tile.atomic_rmw <add> %{{.*}} to %{{.*}}[%[[TILE]],
  gpu.func @two_loops(%C: memref<?x?xf32>, %one: f32, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %add = tensor.splat %one : !t
    %zero = arith.constant dense<0.0> : !t
    tile.persistent (%x) in (%n) {
      %r = scf.for %k = %c0 to %c9 step %c1 iter_args(%c = %zero) -> (!t) {
        %d = arith.addf %c, %add : !t
        scf.yield %d : !t
      } {tile.stream_k}
      // expected-remark @below {{loop is not split: each of the blocks would do this}}
      %unused = scf.for %k = %c0 to %c9 step %c1 iter_args(%c = %zero) -> (!t) {
        %d = arith.addf %c, %add : !t
        scf.yield %d : !t
      } {tile.stream_k}
      // expected-note @below {{because of this operation}}
      tile.atomic_rmw <add> %r to %C[%x, %c0] : !t to memref<?x?xf32>
    }
    gpu.return
  }

  // Neither loop has an effect, so each alone could be shared.
  gpu.func @unused_sums(%one: f32, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %add = tensor.splat %one : !t
    %zero = arith.constant dense<0.0> : !t
    tile.persistent (%x) in (%n) {
      %r = scf.for %k = %c0 to %c9 step %c1 iter_args(%c = %zero) -> (!t) {
        %d = arith.addf %c, %add : !t
        scf.yield %d : !t
      } {tile.stream_k}
      // expected-remark @below {{loop is not split: blocks share another loop of the same tiles}}
      // expected-note @below {{because of this operation}}
      %s = scf.for %k = %c0 to %c9 step %c1 iter_args(%c = %zero) -> (!t) {
        %d = arith.addf %c, %add : !t
        scf.yield %d : !t
      } {tile.stream_k}
    }
    gpu.return
  }

  // A triangle: tiles have different numbers of iterations.
  gpu.func @triangle(%C: memref<?x?xf32>, %one: f32, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %add = tensor.splat %one : !t
    %zero = arith.constant dense<0.0> : !t
    tile.persistent (%x) in (%n) {
      // expected-note @below {{because of this operation}}
      %end = arith.addi %x, %c1 : index
      // expected-remark @below {{loop is not split: not all tiles have the same iterations}}
      %r = scf.for %k = %c0 to %end step %c1 iter_args(%c = %zero) -> (!t) {
        %d = arith.addf %c, %add : !t
        scf.yield %d : !t
      } {tile.stream_k}
      tile.atomic_rmw <add> %r to %C[%x, %c0] : !t to memref<?x?xf32>
    }
    gpu.return
  }

  gpu.func @carried(%C: memref<?x?xf32>, %one: f32, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %add = tensor.splat %one : !t
    %zero = arith.constant dense<0.0> : !t
    // expected-note @below {{because of this operation}}
    %count = tile.persistent (%x) in (%n) iter_args(%i = %c0) -> (index) {
      // expected-remark @below {{loop is not split: values are carried from tile to tile}}
      %r = scf.for %k = %c0 to %c9 step %c1 iter_args(%c = %zero) -> (!t) {
        %d = arith.addf %c, %add : !t
        scf.yield %d : !t
      } {tile.stream_k}
      tile.atomic_rmw <add> %r to %C[%x, %i] : !t to memref<?x?xf32>
      %j = arith.addi %i, %c1 : index
      tile.yield %j : index
    }
    gpu.return
  }
}
