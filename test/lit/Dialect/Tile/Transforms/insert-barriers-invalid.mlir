// RUN: tilews-opt %s --tile-insert-barriers --split-input-file --verify-diagnostics

gpu.module @unplanned [#nvvm.target<chip = "sm_80">] {
  gpu.func @k(%b: tensor<4xf32>) kernel {
    // expected-error @below {{'tile.alloc_shared' op has no 'tile.offset'; run --tile-plan-shared-memory first}}
    %a = tile.alloc_shared : memref<4xf32, #gpu.address_space<workgroup>>
    tile.store %b to %a : tensor<4xf32> to memref<4xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

gpu.module @unplanned_scratch [#nvvm.target<chip = "sm_80">] {
  gpu.func @k(%b: tensor<4xf32>) kernel {
    // expected-error @below {{'tile.scan' op has no 'tile.offset'; run --tile-plan-shared-memory first}}
    %s = tile.scan <sum> %b {axis = 0 : i64} : tensor<4xf32>
    gpu.return
  }
}

// -----

gpu.module @unstructured [#nvvm.target<chip = "sm_80">] {
  // expected-error @below {{'gpu.func' op has a region of 2 blocks, expected structured control flow (scf)}}
  gpu.func @k() kernel {
    cf.br ^bb1
  ^bb1:
    gpu.return
  }
}

// -----

// expected-error @below {{has no target}}
gpu.module @none {
  gpu.func @k() kernel {
    gpu.return
  }
}
