// RUN: not %python -m tilews.sim %s --grid 1 2>&1 | FileCheck %s
// RUN: not %python -m tilews.sim %s --grid 1 --policy latest 2>&1 | FileCheck %s

// The report of two unordered accesses names both places, even if the timing of the run
// happens to order them.

!buffer = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @k(%a: memref<64xf32>) kernel attributes {tile.threads = 64 : i32} {
    %b = tile.alloc_shared : !buffer
    tile.specialize {
      tile.role @first warps(1) {
        %x = tile.load %a : memref<64xf32> -> tensor<64xf32>
        tile.store %x to %b : tensor<64xf32> to !buffer
      }
      tile.role @second warps(1) {
        %one = arith.constant dense<1.0> : tensor<64xf32>
        tile.store %one to %b : tensor<64xf32> to !buffer
      }
    }
    gpu.return
  }
}

// CHECK: error: 'tile.store' op writes element (0) of shared memory, which nothing orders after a write of it
// CHECK: note: role @{{first|second}} writes it here
