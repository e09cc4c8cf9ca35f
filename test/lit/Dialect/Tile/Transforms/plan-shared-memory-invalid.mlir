// RUN: tilews-opt %s --tile-plan-shared-memory --split-input-file --verify-diagnostics

!s = memref<256x128xf32, #gpu.address_space<workgroup>>
gpu.module @too_large [#nvvm.target<chip = "sm_80">] {
  // expected-error @below {{kernel 'k' needs 262144 bytes of shared memory, but sm_80 has 166912 for a block; use smaller tiles}}
  gpu.func @k(%A: tensor<256x128xf32>) kernel {
    // expected-note @below {{buffer of 131072 bytes at offset 0}}
    %a = tile.alloc_shared : !s
    // expected-note @below {{buffer of 131072 bytes at offset 131072}}
    %b = tile.alloc_shared : !s
    tile.store %A to %a : tensor<256x128xf32> to !s
    tile.copy %a to %b : !s to !s
    gpu.return
  }
}

// -----

!S = memref<4x256x128xf16, #gpu.address_space<workgroup>>
!s = memref<256x128xf16, #gpu.address_space<workgroup>>
gpu.module @too_many_stages [#nvvm.target<chip = "sm_90a">] {
  // expected-error @below {{kernel 'k' needs 262144 bytes of shared memory, but sm_90a has 232448 for a block; use smaller tiles or fewer stages}}
  gpu.func @k(%A: tensor<256x128xf16>) kernel {
    // expected-note @below {{buffer of 262144 bytes at offset 0, in 4 versions}}
    %a = tile.alloc_shared : !S
    %ch = tile.channel(%a) {producer = #tile.producer<tma>} : !S -> !tile.channel<4>
    %p = tile.cursor : !tile.cursor<4>
    %s = tile.slot %a[%p] : !S -> !s
    tile.store %A to %s : tensor<256x128xf16> to !s
    gpu.return
  }
}

// -----

// The target limits the size.
gpu.module @too_large [#rocdl.target<chip = "gfx942">] {
  // expected-error @below {{kernel 'k' needs 131072 bytes of shared memory, but gfx942 has 65536 for a block}}
  gpu.func @k(%A: tensor<256x128xf32>) kernel {
    // expected-note @below {{scratch memory of 131072 bytes at offset 0}}
    %s = tile.scan <sum> %A {axis = 0 : i64} : tensor<256x128xf32>
    gpu.return
  }
}

// -----

// expected-error @below {{has no target; write gpu.module @none [#nvvm.target<chip = "sm_90a">]}}
gpu.module @none {
  gpu.func @k() kernel {
    gpu.return
  }
}

// -----

gpu.module @alignment [#nvvm.target<chip = "sm_80">] {
  gpu.func @k() kernel {
    // expected-error @below {{'tile.alloc_shared' op needs an alignment of 2048 bytes, but shared memory is aligned to 1024}}
    %a = tile.alloc_shared {alignment = 2048 : i64} : memref<4xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

!s = memref<4xf32, #gpu.address_space<workgroup>>
gpu.module @escapes [#nvvm.target<chip = "sm_80">] {
  gpu.func @k(%p: i1) kernel {
    %a = tile.alloc_shared : !s
    %b = scf.if %p -> !s {
      // expected-note @below {{allocated here; move the allocation out of the region}}
      %c = tile.alloc_shared : !s
      // expected-error @below {{'scf.yield' op passes a shared buffer out of the region that it is allocated for}}
      scf.yield %c : !s
    } else {
      scf.yield %a : !s
    }
    %t = tile.load %b : !s -> tensor<4xf32>
    gpu.return
  }
}

// -----

gpu.module @argument [#nvvm.target<chip = "sm_80">] {
  // expected-error @below {{argument 1 has type 'memref<4xf32, #gpu.address_space<workgroup>>', expected shared memory to come from tile.alloc_shared}}
  gpu.func @k(%n: index, %a: memref<4xf32, #gpu.address_space<workgroup>>) kernel {
    gpu.return
  }
}

// -----

gpu.module @attribution [#nvvm.target<chip = "sm_80">] {
  // expected-error @below {{argument 0 has type 'memref<4xf32, #gpu.address_space<workgroup>>', expected shared memory to come from tile.alloc_shared}}
  gpu.func @k() workgroup(%a: memref<4xf32, #gpu.address_space<workgroup>>) kernel {
    gpu.return
  }
}

// -----

gpu.module @other [#nvvm.target<chip = "sm_80">] {
  gpu.func @k() kernel {
    // expected-error @below {{'memref.alloc' op makes shared memory that is not planned; use tile.alloc_shared}}
    %a = memref.alloc() : memref<4xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}
