// RUN: tilews-opt %s --tile-plan-pipeline | FileCheck %s
// An existing plan is kept.
// RUN: tilews-opt %s --tile-plan-pipeline -o %t.once 2>/dev/null
// RUN: tilews-opt %t.once --tile-plan-pipeline -o %t.twice 2>/dev/null
// RUN: diff %t.once %t.twice

!g = memref<?x?xf16>
!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!h = memref<64x32xf16, #gpu.address_space<workgroup>>
!t = tensor<64x64xf16>
!acc = tensor<64x64xf32>

gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  // The copies are at the end of the iteration. They move to the start of the next one.
  // CHECK-LABEL: gpu.func @gemm
  // CHECK: tile.copy {{.*}}tile.order = 0 : i32, tile.stage = 0 : i32
  // CHECK: tile.copy {{.*}}tile.order = 1 : i32, tile.stage = 0 : i32
  // CHECK: tile.gemm {{.*}}tile.order = 2 : i32, tile.stage = 2 : i32
  // CHECK: tile.num_stages = 3
  gpu.func @gemm(%A: !g, %B: !g, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %bs = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      tile.copy %A[0, %k] to %as : !g to !s
      tile.copy %B[%k, 0] to %bs : !g to !s
      %d = tile.gemm %as, %bs, %c : !s, !s -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 3 : i32}
    gpu.return
  }

  // With one stage there is one version, which is filled again after the matmul.
  // CHECK-LABEL: gpu.func @one_stage
  // CHECK: tile.copy {{.*}}tile.order = 1 : i32, tile.stage = 0 : i32
  // CHECK: tile.copy {{.*}}tile.order = 2 : i32, tile.stage = 0 : i32
  // CHECK: tile.gemm {{.*}}tile.order = 0 : i32, tile.stage = 1 : i32
  gpu.func @one_stage(%A: !g, %B: !g, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %bs = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      tile.copy %A[0, %k] to %as : !g to !s
      tile.copy %B[%k, 0] to %bs : !g to !s
      %d = tile.gemm %as, %bs, %c : !s, !s -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 1 : i32}
    gpu.return
  }

  // A loop has at most 64 stages. The reader of the buffer is not the last
  // consumer: it runs in stage 64, one iteration after the last refill.
  // CHECK-LABEL: gpu.func @most_stages
  // CHECK: tile.copy {{.*}}tile.order = 1 : i32, tile.stage = 0 : i32
  // CHECK: tile.load {{.*}}tile.order = 0 : i32, tile.stage = 64 : i32
  // CHECK: arith.addf {{.*}}tile.order = 2 : i32, tile.stage = 64 : i32
  gpu.func @most_stages(%A: !g, %zero: !t, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !t {
      tile.copy %A[0, %k] to %as : !g to !s
      %x = tile.load %as : !s -> !t
      %y = arith.addf %c, %x : !t
      scf.yield %y : !t
    } {tile.num_stages = 64 : i32}
    gpu.return
  }

  // Keys and values are each filled again after their own reader.
  // CHECK-LABEL: gpu.func @attention
  // CHECK: tile.copy {{.*}}tile.order = 1 : i32, tile.stage = 0 : i32
  // CHECK: tile.gemm {{.*}}tile.order = 0 : i32, tile.stage = 3 : i32
  // CHECK: math.exp2 {{.*}}tile.order = 2 : i32, tile.stage = 3 : i32
  // CHECK: arith.truncf {{.*}}tile.order = 3 : i32, tile.stage = 3 : i32
  // CHECK: tile.copy {{.*}}tile.order = 5 : i32, tile.stage = 0 : i32
  // CHECK: tile.gemm {{.*}}tile.order = 4 : i32, tile.stage = 3 : i32
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

  // Both sides read the mask, which has no stage. Operations in a guard are planned
  // like those around it.
  // CHECK-LABEL: gpu.func @block_sparse
  // CHECK: memref.load
  // CHECK-NOT: tile.stage
  // CHECK: scf.if
  // CHECK: tile.copy {{.*}}tile.order = 0 : i32, tile.stage = 0 : i32
  // CHECK: tile.copy {{.*}}tile.order = 1 : i32, tile.stage = 0 : i32
  // CHECK: tile.gemm {{.*}}tile.order = 2 : i32, tile.stage = 3 : i32
  gpu.func @block_sparse(%A: !g, %B: !g, %mask: memref<?xi1>, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %bs = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero) -> !acc {
      %on = memref.load %mask[%k] : memref<?xi1>
      %x = scf.if %on -> !acc {
        %k0 = arith.muli %k, %c64 : index
        tile.copy %A[0, %k0] to %as : !g to !s
        tile.copy %B[%k0, 0] to %bs : !g to !s
        %d = tile.gemm %as, %bs, %c : !s, !s -> !acc
        scf.yield %d : !acc
      } else {
        scf.yield %c : !acc
      }
      scf.yield %x : !acc
    } {tile.num_stages = 4 : i32}
    gpu.return
  }

  // A copy through a fragment, with a cast, fills its buffer, too.
  // CHECK-LABEL: gpu.func @cast
  // CHECK: tile.copy {{.*}}tile.order = 0 : i32, tile.stage = 0 : i32
  // CHECK: tile.load
  // CHECK-NOT: tile.stage
  // CHECK: arith.truncf
  // CHECK-NOT: tile.stage
  // CHECK: tile.store {{.*}}tile.order = 1 : i32, tile.stage = 0 : i32
  // CHECK: tile.gemm {{.*}}tile.order = 2 : i32, tile.stage = 1 : i32
  gpu.func @cast(%A: !g, %B: memref<?x?xf32>, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %bs = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      tile.copy %A[0, %k] to %as : !g to !s
      %b = tile.load %B[%k, 0] : memref<?x?xf32> -> !acc
      %h = arith.truncf %b : !acc to !t
      tile.store %h to %bs : !t to !s
      %d = tile.gemm %as, %bs, %c : !s, !s -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 2 : i32}
    gpu.return
  }

  // A state in shared memory stays with the consumers, and so does the store to it. Two
  // buffers are pipelined.
  // CHECK-LABEL: gpu.func @recurrent
  // CHECK: tile.copy %[[STATE:.*]] to {{.*}}tile.order = 0 : i32, tile.stage = 2 : i32
  // CHECK: tile.copy {{.*}}tile.order = 2 : i32, tile.stage = 0 : i32
  // CHECK: tile.gemm {{.*}}tile.order = 1 : i32, tile.stage = 2 : i32
  // CHECK: arith.truncf {{.*}}tile.order = 3 : i32, tile.stage = 2 : i32
  // CHECK: tile.copy {{.*}}tile.order = 5 : i32, tile.stage = 0 : i32
  // CHECK: tile.gemm {{.*}}tile.order = 4 : i32, tile.stage = 2 : i32
  // CHECK: arith.truncf {{.*}}tile.order = 6 : i32, tile.stage = 2 : i32
  // CHECK: tile.store {{.*}}tile.order = 7 : i32, tile.stage = 2 : i32
  gpu.func @recurrent(%W: !g, %K: !g, %H: !g, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %ws = tile.alloc_shared : !s
    %ks = tile.alloc_shared : !s
    %hs = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%h = %zero) -> !acc {
      tile.copy %hs to %H[%k, 0] : !s to !g
      tile.copy %W[%k, 0] to %ws : !g to !s
      %v = tile.gemm %ws, %hs, %zero : !s, !s -> !acc
      %vh = arith.truncf %v : !acc to !t
      tile.copy %K[%k, 0] to %ks : !g to !s
      %d = tile.gemm %ks, %vh, %h {transpose_lhs} : !s, !t -> !acc
      %dh = arith.truncf %d : !acc to !t
      tile.store %dh to %hs : !t to !s
      scf.yield %d : !acc
    } {tile.num_stages = 2 : i32}
    gpu.return
  }

  // Rows are gathered by an index tile, which only producers read. The copy of the
  // indices comes first, and the rows cover the whole buffer.
  // CHECK-LABEL: gpu.func @gather
  // CHECK: tile.copy {{.*}}tile.order = 0 : i32, tile.stage = 0 : i32
  // CHECK: scf.for
  // CHECK: {tile.order = 1 : i32, tile.stage = 0 : i32}
  // CHECK: tile.gemm {{.*}}tile.order = 2 : i32, tile.stage = 1 : i32
  gpu.func @gather(%A: !g, %I: memref<?xindex>, %b: !t, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %is = tile.alloc_shared : memref<64xindex, #gpu.address_space<workgroup>>
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      tile.copy %I[%k] to %is : memref<?xindex> to memref<64xindex, #gpu.address_space<workgroup>>
      scf.for %i = %c0 to %c64 step %c1 {
        %row = memref.load %is[%i] : memref<64xindex, #gpu.address_space<workgroup>>
        tile.copy %A[%row, 0] [1, 64] to %as[%i, 0] : !g to !s
      }
      %d = tile.gemm %as, %b, %c : !s, !t -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 2 : i32}
    gpu.return
  }

  // A fill and a copy of one half write the buffer together.
  // CHECK-LABEL: gpu.func @two_writers
  // CHECK: tile.store {{.*}}tile.order = 0 : i32, tile.stage = 0 : i32
  // CHECK: tile.copy {{.*}}tile.order = 1 : i32, tile.stage = 0 : i32
  // CHECK: tile.gemm {{.*}}tile.order = 2 : i32, tile.stage = 1 : i32
  gpu.func @two_writers(%A: !g, %b: !t, %zero: !acc, %half: tensor<64x32xf16>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      tile.store %half to %as[0, 32] : tensor<64x32xf16> to !s
      tile.copy %A[0, %k] to %as[0, 0] [64, 32] : !g to !s
      %d = tile.gemm %as, %b, %c : !s, !t -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 2 : i32}
    gpu.return
  }

  // Reads after the loop take the last version.
  // CHECK-LABEL: gpu.func @read_after
  // CHECK: tile.copy {{.*}}tile.stage = 0
  gpu.func @read_after(%A: !g, %b: !t, %zero: !acc, %C: !g, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      tile.copy %A[0, %k] to %as : !g to !s
      %d = tile.gemm %as, %b, %c : !s, !t -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 2 : i32}
    tile.copy %as to %C[0, 0] : !s to !g
    gpu.return
  }

  // Stages by hand: the matmul is one stage closer than the pass would put it.
  // CHECK-LABEL: gpu.func @explicit
  // CHECK: tile.copy {{.*}}tile.order = 1 : i32, tile.stage = 0 : i32
  // CHECK: tile.gemm {{.*}}tile.order = 5 : i32, tile.stage = 1 : i32
  gpu.func @explicit(%A: !g, %b: !t, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      tile.copy %A[0, %k] to %as {tile.stage = 0 : i32, tile.order = 1 : i32} : !g to !s
      %d = tile.gemm %as, %b, %c {tile.stage = 1 : i32, tile.order = 5 : i32} : !s, !t -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 3 : i32}
    gpu.return
  }

  // The indices of rows are computed: what writes them to shared memory runs ahead with
  // the copy that reads them there, and both copies of the iteration share them.
  // CHECK-LABEL: gpu.func @computed_rows
  // CHECK: tile.store {{.*}}tile.order = 0 : i32, tile.stage = 0 : i32
  // CHECK: tile.copy {{.*}}tile.order = 1 : i32, tile.stage = 0 : i32
  // CHECK: tile.copy {{.*}}tile.order = 2 : i32, tile.stage = 0 : i32
  // CHECK: tile.gemm {{.*}}tile.stage = 2 : i32
  gpu.func @computed_rows(%A: !g, %B: !g, %T: memref<?xi32>, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %sixteen = arith.constant dense<16> : tensor<64xi32>
    %rows = tile.alloc_shared : memref<64xi32, #gpu.address_space<workgroup>>
    %as = tile.alloc_shared : !s
    %bs = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      %i = tile.iota {axis = 0 : i64} : tensor<64xi32>
      %j = arith.divui %i, %sixteen : tensor<64xi32>
      %page = tile.gather %T[%k] [64] at(0 = %j : tensor<64xi32>) : memref<?xi32> -> tensor<64xi32>
      %ids = arith.muli %page, %sixteen : tensor<64xi32>
      tile.store %ids to %rows : tensor<64xi32> to memref<64xi32, #gpu.address_space<workgroup>>
      tile.copy %A[0, %k] [64, 64] at(0 = %rows : memref<64xi32, #gpu.address_space<workgroup>>) to %as : !g to !s
      tile.copy %B[0, %k] [64, 64] at(0 = %rows : memref<64xi32, #gpu.address_space<workgroup>>) to %bs : !g to !s
      %d = tile.gemm %as, %bs, %c : !s, !s -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 3 : i32}
    gpu.return
  }

  // The first iteration writes the indices for all: the branch as a whole runs ahead.
  // CHECK-LABEL: gpu.func @rows_kept
  // CHECK: scf.if
  // CHECK: tile.store
  // CHECK-NOT: tile.stage
  // CHECK: } {tile.order = 0 : i32, tile.stage = 0 : i32}
  // CHECK: tile.copy {{.*}}tile.order = 1 : i32, tile.stage = 0 : i32
  // CHECK: tile.gemm {{.*}}tile.stage = 2 : i32
  gpu.func @rows_kept(%A: !g, %ids: tensor<64xi32>, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %rows = tile.alloc_shared : memref<64xi32, #gpu.address_space<workgroup>>
    %as = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      %first = arith.cmpi eq, %k, %c0 : index
      scf.if %first {
        tile.store %ids to %rows : tensor<64xi32> to memref<64xi32, #gpu.address_space<workgroup>>
      }
      tile.copy %A[0, %k] [64, 64] at(0 = %rows : memref<64xi32, #gpu.address_space<workgroup>>) to %as : !g to !s
      %d = tile.gemm %as, %as, %c : !s, !s -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 3 : i32}
    gpu.return
  }

  // The loop carries the fragment twice, so that the store has an iteration more to wait
  // for it: the load may run one stage later than the store, and after it.
  // CHECK-LABEL: gpu.func @two_iterations_ago
  // CHECK: tile.copy {{.*}}tile.order = 0 : i32, tile.stage = 0 : i32
  // CHECK: tile.store {{.*}}tile.order = 1 : i32, tile.stage = 1 : i32
  // CHECK: tile.load {{.*}}tile.order = 2 : i32, tile.stage = 2 : i32
  gpu.func @two_iterations_ago(%A: !g, %C: !g, %zero: !t, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %r:2 = scf.for %k = %c0 to %n step %c64 iter_args(%old = %zero, %older = %zero) -> (!t, !t) {
      tile.copy %A[0, %k] to %as {tile.stage = 0 : i32, tile.order = 0 : i32} : !g to !s
      tile.store %older to %C[0, %k] {tile.stage = 1 : i32, tile.order = 1 : i32} : !t to !g
      %x = tile.load %as {tile.stage = 2 : i32, tile.order = 2 : i32} : !s -> !t
      scf.yield %x, %old : !t, !t
    } {tile.num_stages = 3 : i32}
    gpu.return
  }
}
