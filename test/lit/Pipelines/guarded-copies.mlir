// RUN: tilews-opt %s --tilews-to-nvvm=chip=sm_80 | FileCheck %s --check-prefix=ASYNC
// RUN: tilews-opt %s --tilews-to-nvvm=chip=sm_90a | FileCheck %s --check-prefix=BULK
// RUN: tilews-opt %s --tilews-to-rocdl=chip=gfx942 | FileCheck %s --check-prefix=STAGED
// RUN: tilews-opt %s --tilews-to-rocdl=chip=gfx950 | FileCheck %s --check-prefix=STAGED
// RUN: tilews-opt %s --tilews-to-rocdl=chip=gfx1100 | FileCheck %s --check-prefix=STAGED

// Copies in two guards of a pipelined loop, each to a buffer of its own, through whole
// pipelines. `.ci/valgrind` runs these under valgrind: each target splits guards in
// another way, and some erase what others look at again.

// ASYNC-LABEL: llvm.func @guarded(
// ASYNC: nvvm.cp.async.shared.global
// ASYNC: nvvm.cp.async.commit.group
// ASYNC: nvvm.cp.async.wait.group 3
// ASYNC: nvvm.cp.async.wait.group 3
// ASYNC-NOT: nvvm.cp.async.wait.group
// ASYNC: llvm.return

// BULK-LABEL: llvm.func @guarded(
// BULK-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global
// BULK-NOT: nvvm.cp.async.bulk
// BULK: llvm.return

// Both loads of an iteration come before the barrier at which what the one before has
// loaded is read.
// STAGED-LABEL: llvm.func @guarded(
// STAGED-NOT: rocdl.s.barrier
// STAGED: llvm.load {{.*}} : !llvm.ptr<7> -> f16
// STAGED-NOT: rocdl.s.barrier
// STAGED: llvm.load {{.*}} : !llvm.ptr<7> -> f16
// STAGED-NOT: rocdl.s.barrier
// STAGED: llvm.load {{.*}} : !llvm.ptr<7> -> f16
// STAGED: rocdl.s.barrier
// STAGED-NOT: !llvm.ptr<7> -> f16
// STAGED: llvm.return

#wg = #gpu.address_space<workgroup>
!global = memref<?xf16>
!shared = memref<64xf16, #wg>
!tile = tensor<64xf16>

gpu.module @kernels {
  gpu.func @guarded(%X: !global {tile.divisible = array<i64: 8>}, %Y: memref<64xf16>,
                    %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : !tile
    %odd = tile.alloc_shared : !shared
    %rest = tile.alloc_shared : !shared
    %sum = scf.for %k = %c0 to %n step %c64 iter_args(%x = %zero) -> !tile {
      %m2 = arith.remsi %k, %c2 : index
      %is_odd = arith.cmpi ne, %m2, %c0 : index
      %y = scf.if %is_odd -> !tile {
        tile.copy %X[%k] to %odd : !global to !shared
        %l = tile.load %odd : !shared -> !tile
        %a = arith.addf %x, %l : !tile
        scf.yield %a : !tile
      } else {
        scf.yield %x : !tile
      }
      %m3 = arith.remsi %k, %c3 : index
      %is_rest = arith.cmpi ne, %m3, %c0 : index
      %z = scf.if %is_rest -> !tile {
        tile.copy %X[%k] to %rest : !global to !shared
        %l = tile.load %rest : !shared -> !tile
        %a = arith.addf %y, %l : !tile
        scf.yield %a : !tile
      } else {
        scf.yield %y : !tile
      }
      scf.yield %z : !tile
    } {tile.num_stages = 2 : i32}
    tile.store %sum to %Y : !tile to memref<64xf16>
    gpu.return
  }
}
