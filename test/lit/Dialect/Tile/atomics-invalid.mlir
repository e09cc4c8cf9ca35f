// RUN: tilews-opt %s --split-input-file --verify-diagnostics

gpu.module @m {
  gpu.func @old_values(%c: memref<8xf32>, %t: tensor<8xf32>) kernel {
    // expected-error @+1 {{the old values have type 'tensor<4xf32>', expected that of the new ones, 'tensor<8xf32>'}}
    %0 = tile.atomic_rmw <add> %t to %c : tensor<8xf32> to memref<8xf32> -> tensor<4xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @release(%c: memref<8xf32>) kernel {
    // expected-error @+1 {{expected order 'relaxed' or 'acquire', found 'acq_rel': a load releases nothing}}
    %0 = tile.atomic_load %c {order = #tile.order<acq_rel>} : memref<8xf32> -> tensor<8xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @fence() kernel {
    // expected-error @+1 {{expected order 'acquire', 'release' or 'acq_rel', found 'relaxed', which orders nothing}}
    tile.fence {order = #tile.order<relaxed>}
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @scope(%s: memref<8xi32, #gpu.address_space<workgroup>>, %t: tensor<8xi32>) kernel {
    // expected-error @+1 {{expected scope 'block' or 'cluster' for shared memory, found 'device'}}
    tile.atomic_rmw <add> %t to %s {scope = #tile.scope<device>}
      : tensor<8xi32> to memref<8xi32, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @kind(%c: memref<8xf32>, %t: tensor<8xf32>) kernel {
    // expected-error @+1 {{'or' takes integers, found 'f32'}}
    tile.atomic_rmw <or> %t to %c : tensor<8xf32> to memref<8xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @fp8(%c: memref<8xf8E5M2>, %t: tensor<8xf8E5M2>) kernel {
    tile.atomic_rmw <exchange> %t to %c : tensor<8xf8E5M2> to memref<8xf8E5M2>
    // expected-error @+1 {{'add' takes integers, or floating point of at least 16 bits, found 'f8E5M2'}}
    tile.atomic_rmw <add> %t to %c : tensor<8xf8E5M2> to memref<8xf8E5M2>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @bits(%c: memref<8xi4>) kernel {
    // expected-error @+1 {{cannot load single elements of 'i4', expected at least 8 bits}}
    %0 = tile.atomic_load %c : memref<8xi4> -> tensor<8xi4>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @sizes(%c: memref<8xi32>, %t: tensor<4xi32>) kernel {
    // expected-error @+1 {{}}
    %0 = tile.atomic_cas %t, %t to %c[0] [8] : tensor<4xi32> to memref<8xi32>
    gpu.return
  }
}
