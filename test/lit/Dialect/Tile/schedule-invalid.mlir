// Channels and roles: each rule of the verifiers with its message.
// RUN: tilews-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{expected a depth from 1 to 64, found 0}}
func.func private @f(!tile.channel<0>)

// -----

// expected-error @below {{expected a depth from 1 to 64, found 65}}
func.func private @f(!tile.cursor<65>)

// -----

func.func @f() {
  %a = tile.alloc_shared : memref<3x64xf32, #gpu.address_space<workgroup>>
  // expected-error @below {{'tile.channel' op expected buffers with a leading dimension of 4, one version for each slot, found 'memref<3x64xf32, #gpu.address_space<workgroup>>'}}
  %ch = tile.channel(%a) {producer = #tile.producer<tma>} : memref<3x64xf32, #gpu.address_space<workgroup>> -> !tile.channel<4>
  return
}

// -----

func.func @f() {
  %a = tile.alloc_shared : memref<256xf32, #gpu.address_space<workgroup>>
  %v = tile.view %a : memref<256xf32, #gpu.address_space<workgroup>> to memref<4x64xf32, #gpu.address_space<workgroup>>
  // expected-error @below {{'tile.channel' op takes whole buffers, found the result of 'tile.view'; give it the buffer, and view its slots in the roles}}
  %ch = tile.channel(%v) {producer = #tile.producer<tma>} : memref<4x64xf32, #gpu.address_space<workgroup>> -> !tile.channel<4>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.channel' op requires attribute 'producer'}}
  %ch = tile.channel() -> !tile.channel<4>
  return
}

// -----

// expected-note @below {{prior use here}}
func.func @f(%p: !tile.cursor<3>) {
  %ch = tile.channel() {producer = #tile.producer<tma>} -> !tile.channel<4>
  // expected-error @below {{use of value '%p' expects different type than prior uses: '!tile.cursor<4>' vs '!tile.cursor<3>'}}
  tile.acquire %ch[%p] : !tile.channel<4>
  return
}

// -----

func.func @f(%p: !tile.cursor<4>) {
  %a = tile.alloc_shared : memref<4x8x8xf32, #gpu.address_space<workgroup>>
  // expected-error @below {{'tile.slot' op expected a result of type 'memref<8x8xf32, #gpu.address_space<workgroup>>', found 'memref<64xf32, #gpu.address_space<workgroup>>'}}
  %s = tile.slot %a[%p] : memref<4x8x8xf32, #gpu.address_space<workgroup>> -> memref<64xf32, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @f(%p: !tile.cursor<2>) {
  %a = tile.alloc_shared : memref<2x4x64xf16, #tile.shared<(2, 4, 64):(256, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
  // expected-error @below {{'tile.slot' op versions lie 512 bytes apart, expected a multiple of the swizzle's span of 1024 bytes}}
  %s = tile.slot %a[%p] : memref<2x4x64xf16, #tile.shared<(2, 4, 64):(256, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
    -> memref<4x64xf16, #tile.shared<(4, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.specialize' op expected at least one role}}
  tile.specialize {
  }
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.specialize' op holds roles only, found 'tile.barrier'}}
  tile.specialize {
    tile.barrier
  }
  return
}

// -----

func.func @f() {
  tile.specialize {
    tile.role @a warps(4) {
    }
    // expected-error @below {{'tile.role' op has the name of another role: @a}}
    tile.role @a warps(4) {
    }
  }
  return
}

// -----

func.func @f() {
  tile.specialize {
    // expected-error @below {{'tile.role' op expected a multiple of 8 from 24 to 256 registers, found 100}}
    tile.role @a warps(4) registers(100) {
    }
  }
  return
}

// -----

func.func @f() {
  tile.specialize {
    // expected-error @below {{'tile.role' op registers are given to warpgroups of 4 warps, but role @b has 1 warps}}
    tile.role @a warps(4) registers(240) {
    }
    tile.role @b warps(1) {
    }
  }
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.role' op expects parent op 'tile.specialize'}}
  tile.role @a warps(4) {
  }
  return
}

// -----

func.func @f(%C: memref<64xf32>) {
  // expected-note @below {{made here}}
  %t = tile.load %C : memref<64xf32> -> tensor<64xf32>
  tile.specialize {
    tile.role @a warps(4) {
      // expected-error @below {{'tile.store' op uses a fragment in role @a that was made outside of it; fragments are in the registers of one role}}
      tile.store %t to %C : tensor<64xf32> to memref<64xf32>
    }
  }
  return
}

// -----

func.func @f() {
  tile.specialize {
    tile.role @a warps(4) {
      // expected-error @below {{'tile.specialize' op is in a role; roles cannot be nested}}
      tile.specialize {
        tile.role @b warps(4) {
        }
      }
    }
  }
  return
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @f() kernel attributes {tile.threads = 256 : i32} {
    // expected-error @below {{'tile.specialize' op roles have 288 threads, but the kernel has 256}}
    tile.specialize {
      tile.role @math warps(8) {
      }
      tile.role @load warps(1) {
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @k() kernel attributes {tile.threads = 384 : i32} {
    // expected-error @below {{'tile.specialize' op roles ask for 92160 registers, but a block has 65536}}
    tile.specialize {
      tile.role @a warps(12) registers(240) {
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // expected-error @below {{'tile.role_registers' expects i64 registers for 'math' and 'load', multiples of 8 from 24 to 256, found {load = 40 : i64}}}
  gpu.func @k() kernel attributes {tile.role_registers = {load = 40 : i64}} {
    gpu.return
  }
}
