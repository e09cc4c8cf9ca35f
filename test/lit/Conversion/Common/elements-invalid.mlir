// RUN: tilews-opt %s --split-input-file --verify-diagnostics --pass-pipeline="builtin.module(gpu.module(tile-set-target{chip=sm_80},convert-tile-to-nvvm))"
// RUN: tilews-opt %s --split-input-file --verify-diagnostics --pass-pipeline="builtin.module(gpu.module(tile-set-target{chip=gfx942},convert-tile-to-rocdl))"

// Elements of buffers are numbers of a known width.

gpu.module @kernels {
  gpu.func @load(%x: memref<?xcomplex<f32>>, %y: memref<?xcomplex<f32>>, %i: index) kernel attributes {tile.threads = 128 : i32} {
    // expected-error @below {{cannot access an element of 'memref<?xcomplex<f32>>': expected integers, indices or floats, found 'complex<f32>'}}
    %e = memref.load %x[%i] : memref<?xcomplex<f32>>
    memref.store %e, %y[%i] : memref<?xcomplex<f32>>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @store(%x: memref<?xvector<4xf32>>, %e: f32, %i: index) kernel attributes {tile.threads = 128 : i32} {
    %v = vector.broadcast %e : f32 to vector<4xf32>
    // expected-error @below {{expected integers, indices or floats, found 'vector<4xf32>'}}
    memref.store %v, %x[%i] : memref<?xvector<4xf32>>
    gpu.return
  }
}
