// RUN: tilews-opt %s --tile-split-k --cse --split-input-file --verify-diagnostics | FileCheck %s

!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!t = tensor<64x64xf32>

// The grid has three blocks along z for each block before. Each block makes a third of
// the iterations, rounded up, and the last one the rest.
// CHECK: #[[GRID:.*]] = affine_map<()[s0, s1, s2, s3, s4, s5] -> (s3 ceildiv 64, s0 ceildiv 64, 3)>
// CHECK-LABEL: gpu.func @grid
// CHECK-SAME: tile.grid = #[[GRID]]
// CHECK-DAG: %[[Z:.*]] = gpu.block_id z
// CHECK-DAG: %[[C3:.*]] = arith.constant 3 : index
// CHECK: %[[SHARE:.*]] = arith.remui %[[Z]], %[[C3]] : index
// CHECK: %[[K:.*]] = memref.dim
// CHECK: %[[COUNT:.*]] = arith.maxsi %[[K]], %{{.*}} : index
// CHECK: %[[EACH:.*]] = arith.ceildivui %[[COUNT]], %[[C3]] : index
// CHECK: %[[FIRST:.*]] = arith.muli %[[SHARE]], %[[EACH]] : index
// CHECK: %[[END:.*]] = arith.addi %[[FIRST]], %[[EACH]] : index
// CHECK: %[[LAST:.*]] = arith.minsi %[[END]], %[[COUNT]] : index
// CHECK: %[[R:.*]] = scf.for %{{.*}} = %[[FIRST]] to %[[LAST]] step
// CHECK: } {tile.num_stages = 3 : i32}
// CHECK: tile.atomic_rmw <add> %[[R]]
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @grid(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %C: memref<?x?xf32>) kernel
      attributes {tile.grid = affine_map<()[m, k, k2, n, m2, n2] -> (n ceildiv 64, m ceildiv 64)>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x = gpu.block_id x
    %y = gpu.block_id y
    %ub = memref.dim %A, %c1 : memref<?x?xf16>
    %as = tile.alloc_shared : !s
    %bs = tile.alloc_shared : !s
    %zero = arith.constant dense<0.0> : !t
    %r = scf.for %k = %c0 to %ub step %c1 iter_args(%c = %zero) -> (!t) {
      tile.copy %A[%y, %k] to %as : memref<?x?xf16> to !s
      tile.copy %B[%k, %x] to %bs : memref<?x?xf16> to !s
      %d = tile.gemm %as, %bs, %c : !s, !s -> !t
      scf.yield %d : !t
    } {tile.num_stages = 3 : i32, tile.split_k = 3 : i32}
    tile.atomic_rmw <add> %r to %C[%y, %x] : !t to memref<?x?xf32>
    gpu.return
  }
}

// -----

!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!t = tensor<64x64xf32>

// A persistent loop has twice the tiles along its last extent. A guard, another sum and
// a factor do not matter. A block id along z keeps its meaning.
// CHECK-LABEL: gpu.func @tiles
// CHECK: %[[ALL:.*]] = arith.muli %{{.*}}, %{{.*}} : index
// CHECK: tile.persistent (%{{.*}}, %[[Y:.*]]) in (%{{.*}}, %[[ALL]]) {
// CHECK:   %[[OWN:.*]] = arith.divui %[[Y]], %{{.*}}
// CHECK:   arith.remui %[[Y]], %{{.*}}
// CHECK:   scf.for
// CHECK:     tile.copy %{{.*}}[%[[OWN]], %{{.*}}]
// CHECK-NOT: tile.split_k
// CHECK:   tile.atomic_rmw <add> %{{.*}} to %{{.*}}[%[[OWN]],
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @tiles(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %C: memref<?x?xf32>, %M: memref<?xi1>, %n: index, %f: f32) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : !s
    %bs = tile.alloc_shared : !s
    %zero = arith.constant dense<0.0> : !t
    %factor = tensor.splat %f : !t
    tile.persistent (%x, %y) in (%n, %n) {
      %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero, %e = %zero) -> (!t, !t) {
        %m = memref.load %M[%k] : memref<?xi1>
        %d = scf.if %m -> (!t) {
          tile.copy %A[%y, %k] to %as : memref<?x?xf16> to !s
          tile.copy %B[%k, %x] to %bs : memref<?x?xf16> to !s
          %p = tile.gemm %as, %bs, %c : !s, !s -> !t
          scf.yield %p : !t
        } else {
          scf.yield %c : !t
        }
        %g = arith.addf %factor, %e : !t
        scf.yield %d, %g : !t, !t
      } {tile.split_k = 2 : i32}
      %h = arith.mulf %r#0, %factor : !t
      tile.atomic_rmw <add> %h to %C[%y, %x] : !t to memref<?x?xf32>
      tile.atomic_rmw <add> %r#1 to %C[%y, %x] : !t to memref<?x?xf32>
    }
    gpu.return
  }
}

// -----

// The blocks use z themselves.
// CHECK: affine_map<()[s0] -> (1, 1, s0 * 2)>
// CHECK-LABEL: gpu.func @along_z
// CHECK: %[[Z:.*]] = gpu.block_id z
// CHECK: arith.remui %[[Z]], %{{.*}}
// CHECK: %[[OLD:.*]] = arith.divui %[[Z]], %{{.*}}
// CHECK: tile.atomic_rmw <add> %{{.*}} to %{{.*}}[%[[OLD]]]
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @along_z(%C: memref<?xi32>) kernel
      attributes {tile.grid = affine_map<()[n] -> (1, 1, n)>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %z = gpu.block_id z
    %one = arith.constant dense<1> : tensor<16xi32>
    %zero = arith.constant dense<0> : tensor<16xi32>
    %r = scf.for %k = %c0 to %c9 step %c1 iter_args(%c = %zero) -> (tensor<16xi32>) {
      %d = arith.addi %c, %one : tensor<16xi32>
      scf.yield %d : tensor<16xi32>
    } {tile.split_k = 2 : i32}
    tile.atomic_rmw <add> %r to %C[%z] : tensor<16xi32> to memref<?xi32>
    gpu.return
  }
}

// -----

// Loops that are not split, with the reasons.

!s = memref<16x16xf32, #gpu.address_space<workgroup>>
!t = tensor<16x16xf32>
#grid = affine_map<()[m, n] -> (m)>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: gpu.func @stored
  // CHECK-NOT: tile.split_k
  gpu.func @stored(%C: memref<?x?xf32>, %one: f32) kernel attributes {tile.grid = #grid} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %add = tensor.splat %one : !t
    %zero = arith.constant dense<0.0> : !t
    // expected-remark @below {{tile-split-0001: loop is not split: blocks have only a part of the sum here; expected 'tile.atomic_rmw <add>' to global memory}}
    %r = scf.for %k = %c0 to %c9 step %c1 iter_args(%c = %zero) -> (!t) {
      %d = arith.addf %c, %add : !t
      scf.yield %d : !t
    } {tile.split_k = 2 : i32}
    // expected-note @below {{because of this operation}}
    tile.store %r to %C[%c0, %c0] : !t to memref<?x?xf32>
    gpu.return
  }

  gpu.func @squared(%C: memref<?x?xf32>, %one: f32) kernel attributes {tile.grid = #grid} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %add = tensor.splat %one : !t
    %zero = arith.constant dense<0.0> : !t
    // expected-remark @below {{loop is not split: blocks have only a part of the sum here}}
    %r = scf.for %k = %c0 to %c9 step %c1 iter_args(%c = %zero) -> (!t) {
      %d = arith.addf %c, %add : !t
      scf.yield %d : !t
    } {tile.split_k = 2 : i32}
    // expected-note @below {{because of this operation}}
    %s = arith.mulf %r, %r : !t
    tile.atomic_rmw <add> %s to %C[%c0, %c0] : !t to memref<?x?xf32>
    gpu.return
  }

  gpu.func @not_only_added_to(%C: memref<?x?xf32>, %one: f32) kernel attributes {tile.grid = #grid} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %add = tensor.splat %one : !t
    %zero = arith.constant dense<0.0> : !t
    // expected-remark @below {{loop is not split: a carried value is not only added to}}
    // expected-note @below {{because of this operation}}
    %r = scf.for %k = %c0 to %c9 step %c1 iter_args(%c = %zero) -> (!t) {
      %d = arith.addf %c, %add : !t
      %e = arith.mulf %d, %add : !t
      scf.yield %e : !t
    } {tile.split_k = 2 : i32}
    tile.atomic_rmw <add> %r to %C[%c0, %c0] : !t to memref<?x?xf32>
    gpu.return
  }

  // The sum is used inside of the loop.
  gpu.func @looked_at(%C: memref<?x?xf32>, %one: f32) kernel attributes {tile.grid = #grid} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %add = tensor.splat %one : !t
    %zero = arith.constant dense<0.0> : !t
    // expected-remark @below {{loop is not split: a carried value is not only added to}}
    // expected-note @below {{because of this operation}}
    %r = scf.for %k = %c0 to %c9 step %c1 iter_args(%c = %zero) -> (!t) {
      %e = arith.mulf %c, %add : !t
      %d = arith.addf %c, %e : !t
      scf.yield %d : !t
    } {tile.split_k = 2 : i32}
    tile.atomic_rmw <add> %r to %C[%c0, %c0] : !t to memref<?x?xf32>
    gpu.return
  }

  gpu.func @not_from_zero(%C: memref<?x?xf32>, %one: f32) kernel attributes {tile.grid = #grid} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %add = tensor.splat %one : !t
    // expected-remark @below {{loop is not split: a sum does not start at zero}}
    // expected-note @below {{because of this operation}}
    %r = scf.for %k = %c0 to %c9 step %c1 iter_args(%c = %add) -> (!t) {
      %d = arith.addf %c, %add : !t
      scf.yield %d : !t
    } {tile.split_k = 2 : i32}
    tile.atomic_rmw <add> %r to %C[%c0, %c0] : !t to memref<?x?xf32>
    gpu.return
  }

  // Every block would add this once more.
  gpu.func @repeated(%C: memref<?x?xf32>, %one: f32) kernel attributes {tile.grid = #grid} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %add = tensor.splat %one : !t
    %zero = arith.constant dense<0.0> : !t
    // expected-remark @below {{loop is not split: an operation reads memory that the blocks add to}}
    %r = scf.for %k = %c0 to %c9 step %c1 iter_args(%c = %zero) -> (!t) {
      %d = arith.addf %c, %add : !t
      scf.yield %d : !t
    } {tile.split_k = 2 : i32}
    tile.atomic_rmw <add> %r to %C[%c0, %c0] : !t to memref<?x?xf32>
    // expected-note @below {{because of this operation}}
    tile.atomic_rmw <add> %add to %C[%c0, %c0] : !t to memref<?x?xf32>
    gpu.return
  }

  gpu.func @stored_beside(%C: memref<?x?xf32>, %D: memref<16x16xf32>, %one: f32) kernel attributes {tile.grid = affine_map<()[m, n] -> (m)>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %add = tensor.splat %one : !t
    %zero = arith.constant dense<0.0> : !t
    // expected-remark @below {{loop is not split: each of the blocks would do this}}
    %r = scf.for %k = %c0 to %c9 step %c1 iter_args(%c = %zero) -> (!t) {
      %d = arith.addf %c, %add : !t
      scf.yield %d : !t
    } {tile.split_k = 2 : i32}
    // expected-note @below {{because of this operation}}
    tile.store %add to %D[%c0, %c0] : !t to memref<16x16xf32>
    tile.atomic_rmw <add> %r to %C[%c0, %c0] : !t to memref<?x?xf32>
    gpu.return
  }

  gpu.func @writes_in_turns(%C: memref<?x?xf32>, %D: memref<16x16xf32>, %one: f32) kernel attributes {tile.grid = #grid} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %add = tensor.splat %one : !t
    %zero = arith.constant dense<0.0> : !t
    // expected-remark @below {{loop is not split: the loop writes to global memory}}
    %r = scf.for %k = %c0 to %c9 step %c1 iter_args(%c = %zero) -> (!t) {
      %d = arith.addf %c, %add : !t
      // expected-note @below {{because of this operation}}
      tile.store %add to %D[%c0, %c0] : !t to memref<16x16xf32>
      scf.yield %d : !t
    } {tile.split_k = 2 : i32}
    tile.atomic_rmw <add> %r to %C[%c0, %c0] : !t to memref<?x?xf32>
    gpu.return
  }

  // The iteration reads what the one before has stored.
  gpu.func @recurrent(%C: memref<?x?xf32>, %one: f32) kernel attributes {tile.grid = #grid} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %s = tile.alloc_shared : !s
    %add = tensor.splat %one : !t
    %zero = arith.constant dense<0.0> : !t
    tile.store %add to %s[%c0, %c0] : !t to !s
    // expected-remark @below {{loop is not split: one iteration may read what another wrote to shared memory}}
    %r = scf.for %k = %c0 to %c9 step %c1 iter_args(%c = %zero) -> (!t) {
      // expected-note @below {{because of this operation}}
      %l = tile.load %s[%c0, %c0] : !s -> !t
      %d = arith.addf %c, %l : !t
      tile.store %add to %s[%c0, %c0] : !t to !s
      scf.yield %d : !t
    } {tile.split_k = 2 : i32}
    tile.atomic_rmw <add> %r to %C[%c0, %c0] : !t to memref<?x?xf32>
    gpu.return
  }

  gpu.func @read_behind(%C: memref<?x?xf32>, %one: f32) kernel attributes {tile.grid = #grid} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %s = tile.alloc_shared : !s
    %add = tensor.splat %one : !t
    %zero = arith.constant dense<0.0> : !t
    // expected-remark @below {{loop is not split: an operation outside of the loop reads shared memory that the loop fills}}
    %r = scf.for %k = %c0 to %c9 step %c1 iter_args(%c = %zero) -> (!t) {
      tile.store %add to %s[%c0, %c0] : !t to !s
      %l = tile.load %s[%c0, %c0] : !s -> !t
      %d = arith.addf %c, %l : !t
      scf.yield %d : !t
    } {tile.split_k = 2 : i32}
    // expected-note @below {{because of this operation}}
    %l = tile.load %s[%c0, %c0] : !s -> !t
    %m = arith.mulf %r, %l : !t
    tile.atomic_rmw <add> %m to %C[%c0, %c0] : !t to memref<?x?xf32>
    gpu.return
  }

  // The launch chooses the grid.
  gpu.func @no_grid(%C: memref<?x?xf32>, %one: f32) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %add = tensor.splat %one : !t
    %zero = arith.constant dense<0.0> : !t
    // expected-remark @below {{loop is not split: the kernel has no 'tile.grid' to enlarge}}
    // expected-note @below {{because of this operation}}
    %r = scf.for %k = %c0 to %c9 step %c1 iter_args(%c = %zero) -> (!t) {
      %d = arith.addf %c, %add : !t
      scf.yield %d : !t
    } {tile.split_k = 2 : i32}
    tile.atomic_rmw <add> %r to %C[%c0, %c0] : !t to memref<?x?xf32>
    gpu.return
  }

  gpu.func @nested(%C: memref<?x?xf32>, %one: f32, %n: index) kernel attributes {tile.grid = affine_map<()[m, n, k] -> (m)>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %add = tensor.splat %one : !t
    %zero = arith.constant dense<0.0> : !t
    scf.for %i = %c0 to %n step %c1 {
      // expected-remark @below {{loop is not split: the loop is inside of another loop or a branch}}
      // expected-note @below {{because of this operation}}
      %r = scf.for %k = %c0 to %c9 step %c1 iter_args(%c = %zero) -> (!t) {
        %d = arith.addf %c, %add : !t
        scf.yield %d : !t
      } {tile.split_k = 2 : i32}
      tile.atomic_rmw <add> %r to %C[%i, %c0] : !t to memref<?x?xf32>
    }
    gpu.return
  }
}
