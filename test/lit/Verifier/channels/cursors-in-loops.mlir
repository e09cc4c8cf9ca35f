// RUN: tilews-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tile-verify-schedule{report}))' --verify-diagnostics=only-expected

// Right: a slot is released one turn late.
!buffer = memref<2x64xf32, #gpu.address_space<workgroup>>
!slot = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @deferred_release is proved}}
  gpu.func @deferred_release(%a: memref<?x64xf32> {tile.name = "a"}, %out: memref<64xf32>, %n: index {tile.name = "n"})
      kernel attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %true = arith.constant true
    %false = arith.constant false
    %buffer = tile.alloc_shared : !buffer
    %ch = tile.channel(%buffer) {producer = #tile.producer<simt>} : !buffer -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(1) {
        %q0 = tile.cursor : !tile.cursor<2>
        %zero = arith.constant dense<0.0> : tensor<64xf32>
        %sum, %last, %prev, %any = scf.for %i = %c0 to %n step %c1
            iter_args(%s = %zero, %q = %q0, %p = %q0, %has = %false) -> (tensor<64xf32>, !tile.cursor<2>, !tile.cursor<2>, i1) {
          tile.wait %ch[%q] : !tile.channel<2>
          %slot = tile.slot %buffer[%q] : !buffer -> !slot
          %row = tile.load %slot : !slot -> tensor<64xf32>
          %r = arith.addf %s, %row : tensor<64xf32>
          scf.if %has {
            tile.release %ch[%p] : !tile.channel<2>
          }
          %next = tile.advance %q : !tile.cursor<2>
          scf.yield %r, %next, %q, %true : tensor<64xf32>, !tile.cursor<2>, !tile.cursor<2>, i1
        }
        scf.if %any {
          tile.release %ch[%prev] : !tile.channel<2>
        }
        tile.store %sum to %out : tensor<64xf32> to memref<64xf32>
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !tile.cursor<2>
        %last = scf.for %i = %c0 to %n step %c1 iter_args(%p = %p0) -> !tile.cursor<2> {
          tile.acquire %ch[%p] : !tile.channel<2>
          %slot = tile.slot %buffer[%p] : !buffer -> !slot
          tile.copy %a[%i, 0] [1, 64] to %slot : memref<?x64xf32> to !slot
          tile.commit %ch[%p] : !tile.channel<2>
          %next = tile.advance %p : !tile.cursor<2>
          scf.yield %next : !tile.cursor<2>
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: always the first slot is released.
!buffer = memref<2x64xf32, #gpu.address_space<workgroup>>
!slot = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @released_by_a_constant_in_the_loop(%a: memref<?x64xf32> {tile.name = "a"}, %out: memref<64xf32>, %n: index {tile.name = "n"})
      kernel attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %true = arith.constant true
    %false = arith.constant false
    %buffer = tile.alloc_shared : !buffer
    %ch = tile.channel(%buffer) {producer = #tile.producer<simt>} : !buffer -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(1) {
        %q0 = tile.cursor : !tile.cursor<2>
        %zero = arith.constant dense<0.0> : tensor<64xf32>
        %sum, %last, %prev, %any = scf.for %i = %c0 to %n step %c1
            iter_args(%s = %zero, %q = %q0, %p = %q0, %has = %false) -> (tensor<64xf32>, !tile.cursor<2>, !tile.cursor<2>, i1) {
          tile.wait %ch[%q] : !tile.channel<2>
          %slot = tile.slot %buffer[%q] : !buffer -> !slot
          %row = tile.load %slot : !slot -> tensor<64xf32>
          %r = arith.addf %s, %row : tensor<64xf32>
          scf.if %has {
            %qc = tile.cursor : !tile.cursor<2>
            tile.release %ch[%qc] : !tile.channel<2>
          }
          %next = tile.advance %q : !tile.cursor<2>
          scf.yield %r, %next, %q, %true : tensor<64xf32>, !tile.cursor<2>, !tile.cursor<2>, i1
        }
        scf.if %any {
          // expected-error @below {{schedule of @released_by_a_constant_in_the_loop is wrong: role @math releases slot 0 in phase 1, which it has not waited for or has released already}}
          tile.release %ch[%prev] : !tile.channel<2>
        }
        tile.store %sum to %out : tensor<64xf32> to memref<64xf32>
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !tile.cursor<2>
        %last = scf.for %i = %c0 to %n step %c1 iter_args(%p = %p0) -> !tile.cursor<2> {
          tile.acquire %ch[%p] : !tile.channel<2>
          %slot = tile.slot %buffer[%p] : !buffer -> !slot
          tile.copy %a[%i, 0] [1, 64] to %slot : memref<?x64xf32> to !slot
          tile.commit %ch[%p] : !tile.channel<2>
          %next = tile.advance %p : !tile.cursor<2>
          scf.yield %next : !tile.cursor<2>
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: always the first slot is released, by a cursor in front of the loop.
!buffer = memref<2x64xf32, #gpu.address_space<workgroup>>
!slot = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @released_by_a_constant(%a: memref<?x64xf32> {tile.name = "a"}, %out: memref<64xf32>, %n: index {tile.name = "n"})
      kernel attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %true = arith.constant true
    %false = arith.constant false
    %buffer = tile.alloc_shared : !buffer
    %ch = tile.channel(%buffer) {producer = #tile.producer<simt>} : !buffer -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(1) {
        %q0 = tile.cursor : !tile.cursor<2>
        %zero = arith.constant dense<0.0> : tensor<64xf32>
        %sum, %last, %prev, %any = scf.for %i = %c0 to %n step %c1
            iter_args(%s = %zero, %q = %q0, %p = %q0, %has = %false) -> (tensor<64xf32>, !tile.cursor<2>, !tile.cursor<2>, i1) {
          tile.wait %ch[%q] : !tile.channel<2>
          %slot = tile.slot %buffer[%q] : !buffer -> !slot
          %row = tile.load %slot : !slot -> tensor<64xf32>
          %r = arith.addf %s, %row : tensor<64xf32>
          scf.if %has {
            tile.release %ch[%q0] : !tile.channel<2>
          }
          %next = tile.advance %q : !tile.cursor<2>
          scf.yield %r, %next, %q, %true : tensor<64xf32>, !tile.cursor<2>, !tile.cursor<2>, i1
        }
        scf.if %any {
          // expected-error @below {{schedule of @released_by_a_constant is wrong: role @math releases slot 0 in phase 1, which it has not waited for or has released already}}
          tile.release %ch[%prev] : !tile.channel<2>
        }
        tile.store %sum to %out : tensor<64xf32> to memref<64xf32>
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !tile.cursor<2>
        %last = scf.for %i = %c0 to %n step %c1 iter_args(%p = %p0) -> !tile.cursor<2> {
          tile.acquire %ch[%p] : !tile.channel<2>
          %slot = tile.slot %buffer[%p] : !buffer -> !slot
          tile.copy %a[%i, 0] [1, 64] to %slot : memref<?x64xf32> to !slot
          tile.commit %ch[%p] : !tile.channel<2>
          %next = tile.advance %p : !tile.cursor<2>
          scf.yield %next : !tile.cursor<2>
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: always the first slot is waited for.
!buffer = memref<2x64xf32, #gpu.address_space<workgroup>>
!slot = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @waits_by_a_constant_in_the_loop(%a: memref<?x64xf32> {tile.name = "a"}, %out: memref<64xf32>, %n: index {tile.name = "n"})
      kernel attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %true = arith.constant true
    %false = arith.constant false
    %buffer = tile.alloc_shared : !buffer
    %ch = tile.channel(%buffer) {producer = #tile.producer<simt>} : !buffer -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(1) {
        %q0 = tile.cursor : !tile.cursor<2>
        %zero = arith.constant dense<0.0> : tensor<64xf32>
        %sum, %last, %prev, %any = scf.for %i = %c0 to %n step %c1
            iter_args(%s = %zero, %q = %q0, %p = %q0, %has = %false) -> (tensor<64xf32>, !tile.cursor<2>, !tile.cursor<2>, i1) {
          %qc = tile.cursor : !tile.cursor<2>
          tile.wait %ch[%qc] : !tile.channel<2>
          %slot = tile.slot %buffer[%qc] : !buffer -> !slot
          %row = tile.load %slot : !slot -> tensor<64xf32>
          %r = arith.addf %s, %row : tensor<64xf32>
          scf.if %has {
            tile.release %ch[%p] : !tile.channel<2>
          }
          %next = tile.advance %q : !tile.cursor<2>
          scf.yield %r, %next, %q, %true : tensor<64xf32>, !tile.cursor<2>, !tile.cursor<2>, i1
        }
        scf.if %any {
          // expected-error @below {{schedule of @waits_by_a_constant_in_the_loop is wrong: role @math releases slot 1 in phase 0, which it has not waited for or has released already}}
          tile.release %ch[%prev] : !tile.channel<2>
        }
        tile.store %sum to %out : tensor<64xf32> to memref<64xf32>
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !tile.cursor<2>
        %last = scf.for %i = %c0 to %n step %c1 iter_args(%p = %p0) -> !tile.cursor<2> {
          tile.acquire %ch[%p] : !tile.channel<2>
          %slot = tile.slot %buffer[%p] : !buffer -> !slot
          tile.copy %a[%i, 0] [1, 64] to %slot : memref<?x64xf32> to !slot
          tile.commit %ch[%p] : !tile.channel<2>
          %next = tile.advance %p : !tile.cursor<2>
          scf.yield %next : !tile.cursor<2>
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: always the first slot is acquired.
!buffer = memref<2x64xf32, #gpu.address_space<workgroup>>
!slot = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @acquires_by_a_constant_in_the_loop(%a: memref<?x64xf32> {tile.name = "a"}, %out: memref<64xf32>, %n: index {tile.name = "n"})
      kernel attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %true = arith.constant true
    %false = arith.constant false
    %buffer = tile.alloc_shared : !buffer
    %ch = tile.channel(%buffer) {producer = #tile.producer<simt>} : !buffer -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(1) {
        %q0 = tile.cursor : !tile.cursor<2>
        %zero = arith.constant dense<0.0> : tensor<64xf32>
        %sum, %last, %prev, %any = scf.for %i = %c0 to %n step %c1
            iter_args(%s = %zero, %q = %q0, %p = %q0, %has = %false) -> (tensor<64xf32>, !tile.cursor<2>, !tile.cursor<2>, i1) {
          tile.wait %ch[%q] : !tile.channel<2>
          %slot = tile.slot %buffer[%q] : !buffer -> !slot
          %row = tile.load %slot : !slot -> tensor<64xf32>
          %r = arith.addf %s, %row : tensor<64xf32>
          scf.if %has {
            tile.release %ch[%p] : !tile.channel<2>
          }
          %next = tile.advance %q : !tile.cursor<2>
          scf.yield %r, %next, %q, %true : tensor<64xf32>, !tile.cursor<2>, !tile.cursor<2>, i1
        }
        scf.if %any {
          tile.release %ch[%prev] : !tile.channel<2>
        }
        tile.store %sum to %out : tensor<64xf32> to memref<64xf32>
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !tile.cursor<2>
        %last = scf.for %i = %c0 to %n step %c1 iter_args(%p = %p0) -> !tile.cursor<2> {
          %pc = tile.cursor : !tile.cursor<2>
          // expected-error @below {{schedule of @acquires_by_a_constant_in_the_loop is wrong: role @load acquires slot 0 in phase 0, but the next transaction is at slot 1 in phase 0: slots take turns}}
          tile.acquire %ch[%pc] : !tile.channel<2>
          %slot = tile.slot %buffer[%pc] : !buffer -> !slot
          tile.copy %a[%i, 0] [1, 64] to %slot : memref<?x64xf32> to !slot
          tile.commit %ch[%pc] : !tile.channel<2>
          %next = tile.advance %p : !tile.cursor<2>
          scf.yield %next : !tile.cursor<2>
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: a guard around it makes no difference.
#map = affine_map<()[s0, s1, s2, s3, s4, s5, s6] -> (s3 ceildiv 64, s0 ceildiv 64)>
module {
  gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx86">] {
    gpu.func @guarded_release_by_a_constant(%arg0: memref<?x?xf16> {tile.divisible = array<i64: 1, 64>, tile.name = "A", tile.symbols = ["M", "K"]}, %arg1: memref<?x?xf16> {tile.divisible = array<i64: 1, 64>, tile.name = "B", tile.symbols = ["K", "N"]}, %arg2: memref<?xi32> {tile.name = "mask", tile.symbols = ["T"]}, %arg3: memref<?x?xf32> {tile.divisible = array<i64: 1, 64>, tile.name = "C", tile.symbols = ["M", "N"]}) kernel attributes {tile.grid = #map, tile.shared_bytes = 32800 : i64, tile.threads = 160 : i32} {
      %true = arith.constant true
      %false = arith.constant false
      %c0_i32 = arith.constant 0 : i32
      %c64 = arith.constant 64 : index
      %c1 = arith.constant 1 : index
      %c0 = arith.constant 0 : index
      %0 = tile.alloc_shared {tile.offset = 0 : i64} : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
      %1 = tile.alloc_shared {tile.offset = 16384 : i64} : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
      %2 = tile.channel(%0, %1) {producer = #tile.producer<tma>, tile.offset = 32768 : i64} : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> -> !tile.channel<2>
      tile.specialize {
        tile.role @math warps(4) {
          %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
          %3 = tile.cursor : !tile.cursor<2>
          %dim = memref.dim %arg0, %c1 : memref<?x?xf16>
          %block_id_x = gpu.block_id  x
          %block_id_y = gpu.block_id  y
          %4 = arith.ceildivsi %dim, %c64 : index
          %5:4 = scf.for %arg4 = %c0 to %4 step %c1 iter_args(%arg5 = %cst, %arg6 = %3, %arg7 = %3, %arg8 = %false) -> (tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>, !tile.cursor<2>, !tile.cursor<2>, i1) {
            %9 = memref.load %arg2[%arg4] : memref<?xi32>
            %10 = arith.cmpi ne, %9, %c0_i32 : i32
            %11 = arith.select %10, %arg6, %arg7 : !tile.cursor<2>
            %12 = arith.select %10, %true, %arg8 : i1
            %13:2 = scf.if %10 -> (tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>, !tile.cursor<2>) {
              tile.wait %2[%arg6] : !tile.channel<2>
              %14 = tile.slot %0[%arg6] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              %15 = tile.slot %1[%arg6] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              %16 = tile.gemm %14, %15, %arg5 {async, tile.inst = #tile.inst<wgmma>} : memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> -> tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
              tile.gemm_wait {pending = 1 : i64}
              scf.if %arg8 {
                %18 = tile.cursor : !tile.cursor<2>
                // expected-error @below {{schedule of @guarded_release_by_a_constant is wrong: role @math releases slot 0 in phase 0 while an asynchronous product may still read it: a tile.gemm_wait has to come before}}
                tile.release %2[%18] : !tile.channel<2>
              }
              %17 = tile.advance %arg6 : !tile.cursor<2>
              scf.yield %16, %17 : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>, !tile.cursor<2>
            } else {
              scf.yield %arg5, %arg6 : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>, !tile.cursor<2>
            }
            scf.yield %13#0, %13#1, %11, %12 : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>, !tile.cursor<2>, !tile.cursor<2>, i1
          }
          %6 = tile.gemm_wait %5#0 : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
          scf.if %5#3 {
            tile.release %2[%5#2] : !tile.channel<2>
          }
          %7 = arith.muli %block_id_y, %c64 : index
          %8 = arith.muli %block_id_x, %c64 : index
          tile.store %6 to %arg3[%7, %8] : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>> to memref<?x?xf32>
        }
        tile.role @load warps(1) {
          %3 = tile.cursor : !tile.cursor<2>
          %dim = memref.dim %arg0, %c1 : memref<?x?xf16>
          %block_id_x = gpu.block_id  x
          %block_id_y = gpu.block_id  y
          %4 = arith.ceildivsi %dim, %c64 : index
          %5 = scf.for %arg4 = %c0 to %4 step %c1 iter_args(%arg5 = %3) -> (!tile.cursor<2>) {
            %6 = memref.load %arg2[%arg4] : memref<?xi32>
            %7 = arith.cmpi ne, %6, %c0_i32 : i32
            %8 = scf.if %7 -> (!tile.cursor<2>) {
              %9 = arith.muli %block_id_y, %c64 : index
              %10 = arith.muli %arg4, %c64 : index
              tile.acquire %2[%arg5] : !tile.channel<2>
              %11 = tile.slot %0[%arg5] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              tile.copy %arg0[%9, %10] to %11 {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              %12 = arith.muli %block_id_x, %c64 : index
              %13 = tile.slot %1[%arg5] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              tile.copy %arg1[%10, %12] to %13 {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              tile.commit %2[%arg5] : !tile.channel<2>
              %14 = tile.advance %arg5 : !tile.cursor<2>
              scf.yield %14 : !tile.cursor<2>
            } else {
              scf.yield %arg5 : !tile.cursor<2>
            }
            scf.yield %8 : !tile.cursor<2>
          }
        }
      }
      gpu.return
    }
  }
}
