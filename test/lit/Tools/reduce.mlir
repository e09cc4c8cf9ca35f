// A kernel is reduced as long as a pass still fails, or as long as passes still change
// what it computes.

// RUN: echo '#!/bin/sh' > %t.crashes.sh
// RUN: echo 'exec %python -m tilews.fuzz.interesting crashes "$1"' >> %t.crashes.sh
// RUN: chmod +x %t.crashes.sh
// RUN: env TILEWS_PASSES=tile-insert-barriers TILEWS_MESSAGE=plan-shared-memory \
// RUN:   tilews-reduce %s --reduce-kernel='test=%t.crashes.sh' \
// RUN:   | FileCheck %s --check-prefix=CRASH

// CRASH: gpu.func @kernel
// CRASH-NEXT: tile.alloc_shared
// CRASH-NEXT: tile.load
// CRASH-NEXT: gpu.return

// RUN: echo '#!/bin/sh' > %t.disagrees.sh
// RUN: echo 'exec %python -m tilews.fuzz.interesting disagrees "$1"' >> %t.disagrees.sh
// RUN: chmod +x %t.disagrees.sh
// RUN: env TILEWS_PASSES=math-uplift-to-fma TILEWS_ARGUMENTS='16x16 16x16 3' \
// RUN:   tilews-reduce %s --reduce-kernel='test=%t.disagrees.sh' \
// RUN:   | FileCheck %s --check-prefix=DISAGREE

// Without fusion the result of the multiplication is rounded before the sum.
// DISAGREE: gpu.func @kernel
// DISAGREE-NOT: scf.for
// DISAGREE: arith.mulf
// DISAGREE-NEXT: arith.addf
// DISAGREE-NEXT: tile.store
// DISAGREE-NEXT: gpu.return

!s = memref<16x16xf32, #gpu.address_space<workgroup>>
!t = tensor<16x16xf32>
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @kernel(%A: memref<16x16xf32>, %C: memref<16x16xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %tenth = arith.constant dense<0.1> : !t
    %third = arith.constant dense<0.333333> : !t
    %as = tile.alloc_shared : !s
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %tenth) -> !t {
      tile.copy %A to %as : memref<16x16xf32> to !s
      %a = tile.load %as : !s -> !t
      scf.yield %a : !t
    } {tile.num_stages = 2 : i32}
    %p = arith.mulf %r, %tenth fastmath<contract> : !t
    %q = arith.addf %p, %third fastmath<contract> : !t
    tile.store %q to %C : !t to memref<16x16xf32>
    gpu.return
  }
}
