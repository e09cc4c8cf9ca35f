// RUN: tilews-opt %s --tile-lower-channels --split-input-file --verify-diagnostics

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @no_channel(%x: memref<64x64xf16>) kernel {
    %a = tile.alloc_shared : memref<64x64xf16, #gpu.address_space<workgroup>>
    // expected-error @below {{'tile.copy' op by TMA completes through a channel: expected as destination the tile.slot of a channel's buffer, or a view of it, in a role}}
    tile.copy %x to %a {tile.inst = #tile.inst<tma>} : memref<64x64xf16> to memref<64x64xf16, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @rows(%x: memref<64x20xf16>) kernel attributes {tile.threads = 32 : i32} {
    %as = tile.alloc_shared : memref<1x64x16xf16, #gpu.address_space<workgroup>>
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : memref<1x64x16xf16, #gpu.address_space<workgroup>> -> !tile.channel<1>
    tile.specialize {
      tile.role @load warps(1) {
        %p = tile.cursor : !tile.cursor<1>
        %a = tile.slot %as[%p] : memref<1x64x16xf16, #gpu.address_space<workgroup>> -> memref<64x16xf16, #gpu.address_space<workgroup>>
        // expected-error @below {{'tile.copy' op cannot be done by TMA: rows of dimension 0 lie 40 bytes apart, TMA needs a multiple of 16}}
        tile.copy %x[0, 0] to %a {tile.inst = #tile.inst<tma>} : memref<64x20xf16> to memref<64x16xf16, #gpu.address_space<workgroup>>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @no_roles(%x: memref<64xf32>) kernel {
    // expected-error @below {{'tile.channel' op is filled by TMA, which only a role can wait for}}
    %ch = tile.channel() {producer = #tile.producer<tma>} -> !tile.channel<1>
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @producers(%x: memref<64xf32>) kernel attributes {tile.threads = 64 : i32} {
    // expected-error @below {{'tile.channel' op has commits in 2 roles, expected one producer}}
    %ch = tile.channel() {producer = #tile.producer<simt>} -> !tile.channel<1>
    tile.specialize {
      tile.role @a warps(1) {
        %p = tile.cursor : !tile.cursor<1>
        tile.commit %ch[%p] : !tile.channel<1>
      }
      tile.role @b warps(1) {
        %p = tile.cursor : !tile.cursor<1>
        tile.commit %ch[%p] : !tile.channel<1>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @outside(%x: memref<64xf32>) kernel attributes {tile.threads = 32 : i32} {
    %ch = tile.channel() {producer = #tile.producer<simt>} -> !tile.channel<1>
    %p = tile.cursor : !tile.cursor<1>
    // expected-error @below {{'tile.commit' op stands outside of the roles of the kernel}}
    tile.commit %ch[%p] : !tile.channel<1>
    tile.specialize {
      tile.role @a warps(1) {
      }
    }
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @region(%on: i1) kernel attributes {tile.threads = 32 : i32} {
    scf.if %on {
      // expected-error @below {{'tile.channel' op stands in a region; its barriers are made once, at the start of the kernel}}
      %ch = tile.channel() {producer = #tile.producer<simt>} -> !tile.channel<1>
      tile.specialize {
        tile.role @a warps(1) {
        }
      }
    }
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @twice(%x: memref<64xf32>) kernel attributes {tile.threads = 32 : i32} {
    %as = tile.alloc_shared : memref<1x64xf32, #gpu.address_space<workgroup>>
    %ch = tile.channel(%as) {producer = #tile.producer<simt>} : memref<1x64xf32, #gpu.address_space<workgroup>> -> !tile.channel<1>
    // expected-error @below {{'tile.channel' op hands on a buffer that belongs to another channel}}
    %again = tile.channel(%as) {producer = #tile.producer<simt>} : memref<1x64xf32, #gpu.address_space<workgroup>> -> !tile.channel<1>
    tile.specialize {
      tile.role @a warps(1) {
      }
    }
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  // expected-error @below {{'gpu.func' op has a cursor as argument; expected it to come from a tile.cursor}}
  gpu.func @argument(%p: !tile.cursor<2>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @argument(%ch: !tile.channel<2>) kernel {
    %p = tile.cursor : !tile.cursor<2>
    // expected-error @below {{'tile.wait' op uses a channel of unknown origin; expected the result of a tile.channel}}
    tile.wait %ch[%p] : !tile.channel<2>
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @switch(%i: index) kernel {
    %p = tile.cursor : !tile.cursor<2>
    // expected-error @below {{'scf.index_switch' cannot carry a cursor; expected scf.for, scf.if, scf.while or arith.select}}
    %q = scf.index_switch %i -> !tile.cursor<2>
    case 0 {
      scf.yield %p : !tile.cursor<2>
    }
    default {
      %n = tile.advance %p : !tile.cursor<2>
      scf.yield %n : !tile.cursor<2>
    }
    gpu.return
  }
}
