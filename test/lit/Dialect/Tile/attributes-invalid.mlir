// Attributes: each rule of their verifiers with its message.
// RUN: tilews-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics

// expected-error @below {{layout has shape (4, 4), but the memref has (4)}}
func.func private @f(memref<4xf32, #tile.shared<(4, 4):(4, 1)>, #gpu.address_space<workgroup>>)

// -----

// expected-error @below {{shape and stride of (4,4):(1) are not nested in the same way}}
func.func private @f(memref<4xf32, #tile.shared<(4, 4):(1)>, #gpu.address_space<workgroup>>)

// -----

// expected-error @below {{shape and stride of ((2,2)):((1,2,4)) are not nested in the same way}}
func.func private @f(memref<4xf32, #tile.shared<((2, 2)):((1, 2, 4))>, #gpu.address_space<workgroup>>)

// -----

// expected-error @below {{extents have to be positive, found 0 in 0:1}}
func.func private @f(memref<4xf32, #tile.shared<(0):(1)>, #gpu.address_space<workgroup>>)

// -----

// expected-error @below {{strides must not be negative, found -1 in 4:-1}}
func.func private @f(memref<4xf32, #tile.shared<(4):(-1)>, #gpu.address_space<workgroup>>)

// -----

// expected-error @below {{a swizzle Sw<bits,base,shift> needs 0 <= bits <= shift, 0 <= base and a sum of at most 20, found Sw<4,4,3>}}
func.func private @f(memref<4xf32, #tile.shared<(4):(1), Sw<4,4,3>>, #gpu.address_space<workgroup>>)

// -----

// expected-error @below {{a swizzle Sw<bits,base,shift> needs 0 <= bits <= shift, 0 <= base and a sum of at most 20}}
func.func private @f(memref<4xf32, #tile.shared<(4):(1), Sw<3,9223372036854775807,3>>, #gpu.address_space<workgroup>>)

// -----

// expected-error @below {{reaches past 2147483647 elements}}
func.func private @f(memref<65536x65536xf32, #tile.shared<(65536, 65536):(65536, 1)>, #gpu.address_space<workgroup>>)

// -----

// expected-error @below {{elements (1, 0) and (0, 1) both lie at offset 1}}
func.func private @f(memref<4x4xf32, #tile.shared<(4, 4):(1, 1)>, #gpu.address_space<workgroup>>)

// -----

// Overlap of nested groups: the coordinates are those of the buffer.
// expected-error @below {{elements (1, 0) and (0, 32) both lie at offset 32}}
func.func private @f(memref<64x64xf16, #tile.shared<(64, (32, 2)):(32, (1, 32)), Sw<3,4,3>>, #gpu.address_space<workgroup>>)

// -----

// expected-error @below {{elements (0) and (1) both lie at offset 0}}
func.func private @f(memref<4xf32, #tile.shared<(4):(0)>, #gpu.address_space<workgroup>>)

// -----

// expected-error @below {{expected an integer or '('}}
func.func private @f(memref<4xf32, #tile.shared<(x):(1)>, #gpu.address_space<workgroup>>)

// -----

// expected-error @below {{layout holds coordinate 1 of dimension 0 twice, in register 0 of thread 1 and in register 1 of thread 0; replicas have stride 0}}
func.func private @f(tensor<8xf32, #tile.fragment<thread = (4):(1*d0), value = (4):(1*d0)>>)

// -----

// expected-error @below {{found 1 extents and 2 strides}}
func.func private @f(tensor<4xf32, #tile.fragment<thread = (4):(1*d0, 2*d0), value = ():()>>)

// -----

// expected-error @below {{expected a dimension such as d0}}
func.func private @f(tensor<4xf32, #tile.fragment<thread = (4):(1*x0), value = ():()>>)

// -----

// expected-error @below {{expected positive extents, non-negative strides and dimensions, found 0:1*d0}}
func.func private @f(tensor<4xf32, #tile.fragment<thread = (0):(1*d0), value = ():()>>)

// -----

// expected-error @below {{reaches past 2147483647 elements}}
func.func private @f(tensor<4xf32, #tile.fragment<thread = (65536, 65536):(1*d0, 0), value = ():()>>)

// -----

// expected-error @below {{layout has a mode along dimension 1 of a fragment of rank 1}}
func.func private @f(tensor<4xf32, #tile.fragment<thread = (4):(1*d1), value = ():()>>)

// -----

// expected-error @below {{layout does not reach coordinate 4 of dimension 0 with extent 8}}
func.func private @f(tensor<8xf32, #tile.fragment<thread = (4):(1*d0), value = ():()>>)

// -----

// expected-error @below {{expected extents of at most 16777216, found 33554432}}
func.func private @f(tensor<33554432xf32, #tile.fragment<thread = (33554432):(1*d0), value = ():()>>)

// -----

gpu.module @m {
  // expected-error @below {{'tile.threads' expects an i32 from 32 to 1024 that is a multiple of 32, found 48 : i32}}
  gpu.func @k() kernel attributes {tile.threads = 48 : i32} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.threads' expects an i32 from 32 to 1024 that is a multiple of 32, found 128 : i64}}
  gpu.func @k() kernel attributes {tile.threads = 128 : i64} {
    gpu.return
  }
}

// -----

gpu.module @m [#rocdl.target<chip = "gfx942">] {
  // expected-error @below {{'tile.threads' expects an i32 from 64 to 1024 that is a multiple of 64, the threads of a wave, found 96 : i32}}
  gpu.func @k() kernel attributes {tile.threads = 96 : i32} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.cluster' expects array<i32: x, y, z> with 1 to 16 blocks, found array<i32: 2, 1>}}
  gpu.func @k() kernel attributes {tile.cluster = array<i32: 2, 1>} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.cluster' expects array<i32: x, y, z> with 1 to 16 blocks, found array<i32: 2147483647, 2147483647, 2147483647>}}
  gpu.func @k() kernel attributes {tile.cluster = array<i32: 2147483647, 2147483647, 2147483647>} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.cluster' expects array<i32: x, y, z> with 1 to 16 blocks, found array<i32: 0, 1, 1>}}
  gpu.func @k() kernel attributes {tile.cluster = array<i32: 0, 1, 1>} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.rasterize' expects a #tile.rasterize, found 8 : i32}}
  gpu.func @k() kernel attributes {tile.rasterize = 8 : i32} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.shared_bytes' expects a non-negative i64, found -1 : i64}}
  gpu.func @k() kernel attributes {tile.shared_bytes = -1 : i64} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.shared_bytes' expects a non-negative i64, found 16 : i32}}
  gpu.func @k() kernel attributes {tile.shared_bytes = 16 : i32} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.grid' expects an affine map, found 8 : i32}}
  gpu.func @k() kernel attributes {tile.grid = 8 : i32} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.grid' expects no dimensions and 0 symbols (the dynamic extents of memref arguments and the integer arguments, in order), found 1 dimensions and 0 symbols}}
  gpu.func @k() kernel attributes {tile.grid = affine_map<(d0) -> (d0)>} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.grid' expects 1 to 3 results, found 4}}
  gpu.func @k() kernel attributes {tile.grid = affine_map<() -> (1, 1, 1, 1)>} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.num_stages' belongs on an scf.for}}
  gpu.func @k() kernel attributes {tile.num_stages = 2 : i32} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.inst' belongs on an operation that can become different instructions}}
  gpu.func @k() kernel attributes {tile.inst = #tile.inst<mma>} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.offset' belongs on an operation that needs shared memory}}
  gpu.func @k() kernel attributes {tile.offset = 0 : i64} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{unknown attribute 'tile.unknown'}}
  gpu.func @k() kernel attributes {tile.unknown} {
    gpu.return
  }
}

// -----

// expected-error @below {{expected a panel of 1 to 65535 tiles, found 0}}
func.func private @f() attributes {bad = #tile.rasterize<row, panel = 0>}

// -----

// expected-error @below {{expected a panel of 1 to 65535 tiles, found 65536}}
func.func private @f() attributes {bad = #tile.rasterize<col, panel = 65536>}

// -----

// expected-error @below {{expected ::tilews::tile::InstKind to be one of: simt, cp_async, tma, mma, wgmma, mfma, wmma}}
// expected-error @below {{failed to parse Tile_InstAttr parameter 'value' which is to be a `::tilews::tile::InstKind`}}
func.func private @f() attributes {bad = #tile.inst<gemm>}

// -----

func.func @f() attributes {tile.threads = 128 : i32} {
  // expected-error @below {{'tile.threads' belongs on a kernel (gpu.func)}}
  %c = arith.constant {tile.threads = 128 : i32} 0 : index
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.offset' expects a non-negative i64, found -16 : i64}}
  %a = tile.alloc_shared {tile.offset = -16 : i64} : memref<4xf32, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @f(%A: memref<4xf32>, %B: memref<4xf32>) {
  // expected-error @below {{'tile.inst' expects a #tile.inst, found "tma"}}
  tile.copy %A to %B {tile.inst = "tma"} : memref<4xf32> to memref<4xf32>
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @below {{'tile.num_stages' expects an i32 of at least 1, found 0 : i32}}
  scf.for %i = %n to %n step %n {
  } {tile.num_stages = 0 : i32}
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @below {{'tile.split_k' expects an i32 of at least 1, found 2 : i64}}
  scf.for %i = %n to %n step %n {
  } {tile.split_k = 2 : i64}
  return
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.divisible' expects array<i64: ...> with 2 positive divisors, found array<i64: 8>}}
  gpu.func @k(%A: memref<?x?xf32> {tile.divisible = array<i64: 8>}) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.reach' expects array<i64: ...> with 1 extents, 0 for the buffer's, found array<i64: -1>}}
  gpu.func @k(%A: memref<?xf32> {tile.reach = array<i64: -1>}) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.divisible' expects array<i64: ...> with 1 positive divisors, found array<i64: 0>}}
  gpu.func @k(%A: memref<?xf32> {tile.divisible = array<i64: 0>}) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.alignment' expects an i64 power of two, found 24 : i64}}
  gpu.func @k(%A: memref<?xf32> {tile.alignment = 24 : i64}) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.alignment' expects an i64 power of two, found -9223372036854775808 : i64}}
  gpu.func @k(%A: memref<?xf32> {tile.alignment = -9223372036854775808 : i64}) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.alignment' belongs on a memref argument}}
  gpu.func @k(%A: index {tile.alignment = 16 : i64}) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{unknown argument attribute 'tile.unknown'}}
  gpu.func @k(%A: memref<?xf32> {tile.unknown}) kernel {
    gpu.return
  }
}

// -----

func.func @f(%A: memref<8xf32>) {
  // expected-error @below {{'tile.layout' expects a #tile.fragment, found 3 : i32}}
  %x = tile.load %A {tile.layout = 3 : i32} : memref<8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @f(%A: memref<8xf32>) {
  // expected-error @below {{'tile.layout': layout does not reach coordinate 4 of dimension 0 with extent 8}}
  %x = tile.load %A {tile.layout = #tile.fragment<thread = (4):(1*d0), value = ():()>} : memref<8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>, %A: memref<8xf32>) {
  // expected-error @below {{'tile.layout' belongs on an operation that makes one fragment}}
  tile.store %x to %A {tile.layout = #tile.fragment<thread = (8):(1*d0), value = ():()>} : tensor<8xf32> to memref<8xf32>
  return
}

// -----

func.func @f(%A: memref<8xf32>) {
  // expected-error @below {{'tile.layout' is #tile.fragment<thread = (8):(1*d0), value = ():()>, but the type has #tile.fragment<thread = (4):(1*d0), value = (2):(4*d0)>}}
  %x = tile.load %A {tile.layout = #tile.fragment<thread = (8):(1*d0), value = ():()>} : memref<8xf32> -> tensor<8xf32, #tile.fragment<thread = (4):(1*d0), value = (2):(4*d0)>>
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @below {{'tile.stream_k' is a unit attribute, found 2 : i32}}
  scf.for %i = %n to %n step %n {
  } {tile.stream_k = 2 : i32}
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @below {{'tile.stream_k' and 'tile.split_k' exclude each other: both share the loop's iterations among blocks}}
  scf.for %i = %n to %n step %n {
  } {tile.split_k = 2 : i32, tile.stream_k}
  return
}

// -----

// expected-error @below {{'tile.stream_k' belongs on an scf.for}}
func.func @f() attributes {tile.stream_k} {
  return
}

// -----

module {
  // expected-error @below {{'tile.stage' belongs on an operation in a kernel's loop}}
  gpu.module @m attributes {tile.stage = 0 : i32} {
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.schedule_limit' expects a #tile.schedule_limit, found "one_role"}}
  gpu.func @k() kernel attributes {tile.schedule_limit = "one_role"} {
    gpu.return
  }
}
