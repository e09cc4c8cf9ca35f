// RUN: tilews-opt %s --tile-plan-pipeline --split-input-file --verify-diagnostics | FileCheck %s
// CHECK-NOT: tile.{{stage|order}}
// CHECK-LABEL: @one_after_the_other
// CHECK-NOT: tile.{{stage|order|num_stages}}

!g = memref<?x?xf16>
!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!t = tensor<64x64xf16>
!acc = tensor<64x64xf32>

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @nothing(%A: !g, %n: index, %x: memref<?xindex>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-remark @below {{tile-pipe-0002: loop is not pipelined: no operation in the loop fills shared memory ahead of time}}
    scf.for %i = %c0 to %n step %c1 {
      memref.store %i, %x[%i] : memref<?xindex>
    } {tile.num_stages = 3 : i32}
    gpu.return
  }

  gpu.func @source_written(%A: !g, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    // expected-remark @below {{tile-pipe-0002}}
    scf.for %k = %c0 to %n step %c64 {
      // expected-remark @below {{tile-pipe-0003: 'tile.copy' is not started ahead of time: the loop writes memory that it reads}}
      tile.copy %A[0, %k] to %as : !g to !s
      %d = tile.load %as : !s -> !t
      tile.store %d to %A[%k, 0] : !t to !g
    } {tile.num_stages = 3 : i32}
    gpu.return
  }

  gpu.func @source_may_be_written(%A: !g {tile.name = "A"}, %B: !g, %n: index) kernel attributes {tile.may_alias = [array<i32: 0, 1>]} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    // expected-remark @below {{tile-pipe-0002}}
    scf.for %k = %c0 to %n step %c64 {
      // expected-remark @below {{tile-pipe-0003: 'tile.copy' is not started ahead of time: the loop writes memory that it reads: argument 1 may overlap 'A' (tile.may_alias)}}
      tile.copy %A[0, %k] to %as : !g to !s
      %d = tile.load %as : !s -> !t
      tile.store %d to %B[%k, 0] : !t to !g
    } {tile.num_stages = 3 : i32}
    gpu.return
  }

  // The indices of the rows come from a matmul.
  gpu.func @rows_of_a_consumer(%A: !g, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %rows = tile.alloc_shared : memref<64xi32, #gpu.address_space<workgroup>>
    %as = tile.alloc_shared : !s
    // expected-remark @below {{tile-pipe-0002}}
    scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      %sum = tile.reduce <max> %c {axis = 1 : i64} : !acc -> tensor<64xf32>
      %ids = arith.fptosi %sum : tensor<64xf32> to tensor<64xi32>
      tile.store %ids to %rows : tensor<64xi32> to memref<64xi32, #gpu.address_space<workgroup>>
      // expected-remark @below {{tile-pipe-0003: 'tile.copy' is not started ahead of time: the loop writes memory that it reads}}
      tile.copy %A[0, %k] [64, 64] at(0 = %rows : memref<64xi32, #gpu.address_space<workgroup>>) to %as : !g to !s
      %d = tile.gemm %as, %as, %c : !s, !s -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 3 : i32}
    gpu.return
  }

  gpu.func @needs_consumer(%A: !g, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %is = tile.alloc_shared : memref<1xindex, #gpu.address_space<workgroup>>
    // expected-remark @below {{tile-pipe-0002}}
    scf.for %k = %c0 to %n step %c64 {
      %row = memref.load %is[%c0] : memref<1xindex, #gpu.address_space<workgroup>>
      // expected-remark @below {{tile-pipe-0004: 'tile.copy' is not started ahead of time: a consumer, 'memref.load', computes a value that it needs}}
      tile.copy %A[%row, %k] to %as : !g to !s
      %d = tile.gemm %as, %as, %zero : !s, !s -> !acc
      memref.store %k, %is[%c0] : memref<1xindex, #gpu.address_space<workgroup>>
    } {tile.num_stages = 3 : i32}
    gpu.return
  }

  gpu.func @carried(%A: !g, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    // expected-remark @below {{tile-pipe-0002}}
    scf.for %k = %c0 to %n step %c64 {
      %d = tile.gemm %as, %as, %zero : !s, !s -> !acc
      // expected-remark @below {{tile-pipe-0005: 'tile.copy' is not started ahead of time: the buffer is read before it is written: it carries data between iterations}}
      tile.copy %A[0, %k] to %as : !g to !s
    } {tile.num_stages = 3 : i32}
    gpu.return
  }

  gpu.func @one_over_the_other(%A: !g, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    // expected-remark @below {{tile-pipe-0002}}
    scf.for %k = %c0 to %n step %c64 {
      // expected-remark @below {{tile-pipe-0015}}
      tile.copy %A[0, %k] to %as : !g to !s
      // expected-remark @below {{tile-pipe-0015: 'tile.copy' is not started ahead of time: other operations write the same elements in the same iteration}}
      tile.copy %A[64, %k] [32, 64] to %as[16, 0] [32, 64] : !g to !s
      %d = tile.gemm %as, %as, %zero : !s, !s -> !acc
    } {tile.num_stages = 3 : i32}
    gpu.return
  }

  gpu.func @written_twice(%A: !g, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    // expected-remark @below {{tile-pipe-0002}}
    scf.for %k = %c0 to %n step %c64 {
      // expected-remark @below {{tile-pipe-0005: 'tile.copy' is not started ahead of time: the buffer is written after it was read in the same iteration}}
      tile.copy %A[0, %k] to %as : !g to !s
      %d = tile.gemm %as, %as, %zero : !s, !s -> !acc
      // expected-remark @below {{tile-pipe-0005}}
      tile.copy %A[64, %k] to %as : !g to !s
      %e = tile.gemm %as, %as, %zero : !s, !s -> !acc
    } {tile.num_stages = 3 : i32}
    gpu.return
  }

  gpu.func @partly_written(%A: !g, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    // expected-remark @below {{tile-pipe-0002}}
    scf.for %k = %c0 to %n step %c64 {
      // expected-remark @below {{tile-pipe-0006: 'tile.copy' is not started ahead of time: more of the buffer is read than an iteration surely writes}}
      tile.copy %A[0, %k] to %as[0, 0] [64, 63] : !g to !s
      %d = tile.gemm %as, %as, %zero : !s, !s -> !acc
    } {tile.num_stages = 3 : i32}
    gpu.return
  }

  gpu.func @passed_on(%A: !g, %zero: !acc, %n: index, %which: i1) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %bs = tile.alloc_shared : !s
    // expected-remark @below {{tile-pipe-0002}}
    scf.for %k = %c0 to %n step %c64 {
      // expected-remark @below {{tile-pipe-0007: 'tile.copy' is not started ahead of time: the buffer is passed on as a value}}
      tile.copy %A[0, %k] to %as : !g to !s
      %x = arith.select %which, %as, %bs : !s
      %d = tile.gemm %x, %as, %zero : !s, !s -> !acc
    } {tile.num_stages = 3 : i32}
    gpu.return
  }

  gpu.func @guard_of_writer_only(%A: !g, %zero: !acc, %n: index, %on: i1) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    // expected-remark @below {{tile-pipe-0002}}
    scf.for %k = %c0 to %n step %c64 {
      scf.if %on {
        // expected-remark @below {{tile-pipe-0008: 'tile.copy' is not started ahead of time: the buffer is also read where the guard of the write does not hold}}
        tile.copy %A[0, %k] to %as : !g to !s
      }
      %d = tile.gemm %as, %as, %zero : !s, !s -> !acc
    } {tile.num_stages = 3 : i32}
    gpu.return
  }

  gpu.func @consumer_writes(%A: !g, %t: !t, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    // expected-remark @below {{tile-pipe-0002}}
    scf.for %k = %c0 to %n step %c64 {
      // expected-remark @below {{tile-pipe-0009: 'tile.copy' is not started ahead of time: consumers write to the buffer too}}
      tile.copy %A[0, %k] to %as : !g to !s
      %d = tile.gemm %as, %as, %zero : !s, !s -> !acc
      tile.atomic_rmw <add> %t to %as : !t to !s
    } {tile.num_stages = 3 : i32}
    gpu.return
  }

  gpu.func @read_by_both(%A: !g, %zero: !acc, %n: index, %X: memref<?xindex>, %I: memref<?xindex>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %is = tile.alloc_shared : memref<64xindex, #gpu.address_space<workgroup>>
    // expected-remark @below {{tile-pipe-0002}}
    scf.for %k = %c0 to %n step %c64 {
      // expected-remark @below {{tile-pipe-0010: 'tile.copy' is not started ahead of time: both producers and consumers read the buffer}}
      tile.copy %I[%k] to %is : memref<?xindex> to memref<64xindex, #gpu.address_space<workgroup>>
      // expected-remark @below {{tile-pipe-0003: 'scf.for' is not started ahead of time: the loop writes memory that it reads}}
      scf.for %i = %c0 to %c64 step %c1 {
        %row = memref.load %is[%i] : memref<64xindex, #gpu.address_space<workgroup>>
        tile.copy %A[%row, 0] [1, 64] to %as[%i, 0] : !g to !s
      }
      %d = tile.gemm %as, %as, %zero : !s, !s -> !acc
      tile.copy %is to %X[%k] : memref<64xindex, #gpu.address_space<workgroup>> to memref<?xindex>
    } {tile.num_stages = 3 : i32}
    gpu.return
  }

  gpu.func @unread(%A: !g, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    // expected-remark @below {{tile-pipe-0002}}
    scf.for %k = %c0 to %n step %c64 {
      // expected-remark @below {{tile-pipe-0011: 'tile.copy' is not started ahead of time: nothing in the loop reads the buffer}}
      tile.copy %A[0, %k] to %as : !g to !s
    } {tile.num_stages = 3 : i32}
    gpu.return
  }

  gpu.func @used_outside(%A: !g, %zero: !acc, %n: index, %C: !g) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    scf.for %m = %c0 to %n step %c64 {
      // expected-remark @below {{tile-pipe-0002}}
      scf.for %k = %c0 to %n step %c64 {
        // expected-remark @below {{tile-pipe-0012: 'tile.copy' is not started ahead of time: the buffer is also used outside of the loop}}
        tile.copy %A[0, %k] to %as : !g to !s
        %d = tile.gemm %as, %as, %zero : !s, !s -> !acc
      } {tile.num_stages = 3 : i32}
      tile.copy %as to %C[%m, 0] : !s to !g
    }
    gpu.return
  }

  gpu.func @many_stages(%A: !g, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    // expected-remark @below {{tile-pipe-0013: loop is not pipelined: the loop has 1000 stages, expected at most 64}}
    scf.for %k = %c0 to %n step %c64 {
      tile.copy %A[0, %k] to %as : !g to !s
      %d = tile.gemm %as, %as, %zero : !s, !s -> !acc
    } {tile.num_stages = 1000 : i32}
    tile.persistent (%x) in (%n) {
      // expected-remark @below {{tile-pipe-0013: loop is not pipelined: the loop lies in a 'tile.persistent'; expected 'scf.for', 'scf.if' and 'scf.while' only}}
      scf.for %k = %c0 to %n step %c64 {
        tile.copy %A[0, %k] to %as : !g to !s
        %d = tile.gemm %as, %as, %zero : !s, !s -> !acc
      } {tile.num_stages = 2 : i32}
    }
    gpu.return
  }

  // The buffer is changed in place: the copy depends on nothing, but shares the buffer.
  gpu.func @in_place(%A: !g, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    // expected-remark @below {{tile-pipe-0002}}
    scf.for %k = %c0 to %n step %c64 {
      // expected-remark @below {{tile-pipe-0009: 'tile.copy' is not started ahead of time: another operation, 'tile.store', also writes the buffer and is not started ahead of time: a consumer, 'tile.load', computes a value that it needs}}
      tile.copy %A[0, %k] to %as : !g to !s
      %a = tile.load %as : !s -> !t
      %b = arith.mulf %a, %a : !t
      // expected-note @below {{written here}}
      tile.store %b to %as : !t to !s
      %d = tile.gemm %as, %as, %zero : !s, !s -> !acc
    } {tile.num_stages = 3 : i32}
    gpu.return
  }

  // Plans by hand that start no operation ahead of time.
  gpu.func @one_after_the_other(%A: !g, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    // expected-remark @below {{tile-pipe-0016: loop is not pipelined: no operation that only fills shared memory has an earlier stage than all readers of that memory}}
    scf.for %k = %c0 to %n step %c64 {
      tile.copy %A[0, %k] to %as {tile.stage = 1 : i32, tile.order = 0 : i32} : !g to !s
      %d = tile.gemm %as, %as, %zero {tile.stage = 1 : i32, tile.order = 1 : i32} : !s, !s -> !acc
    } {tile.num_stages = 3 : i32}
    gpu.return
  }

  gpu.func @registers(%A: !g, %zero: !t, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    // expected-remark @below {{tile-pipe-0016}}
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !t {
      %a = tile.load %A[0, %k] {tile.stage = 0 : i32, tile.order = 0 : i32} : !g -> !t
      %d = arith.addf %a, %c {tile.stage = 1 : i32, tile.order = 1 : i32} : !t
      scf.yield %d : !t
    } {tile.num_stages = 3 : i32}
    gpu.return
  }

  // Stages outside of any loop: canonicalization removes loops of one iteration.
  gpu.func @stray(%A: !g, %x: memref<?xindex>, %n: index, %c: i1) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    // expected-remark @below {{tile-pipe-0017: stage and order are removed: they belong in an scf.for with 'tile.num_stages' and more than one iteration, found them in 'gpu.func'}}
    memref.store %c0, %x[%c0] {tile.stage = 0 : i32, tile.order = 0 : i32} : memref<?xindex>
    memref.store %c0, %x[%n] {tile.stage = 2 : i32, tile.order = 1 : i32} : memref<?xindex>
    scf.for %k = %c0 to %n step %c64 {
      scf.if %c {
        // expected-remark @below {{found them in 'scf.for'}}
        memref.store %c0, %x[%k] {tile.stage = 0 : i32} : memref<?xindex>
      }
    }
    gpu.return
  }
}
