// RUN: tilews-opt %s --tile-ping-pong --verify-diagnostics | FileCheck %s

!bufs = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!buf = memref<64x64xf16, #gpu.address_space<workgroup>>

// CHECK-NOT: tile.ping_pong
// CHECK-NOT: @math0
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @no_roles(%n: index, %x: memref<?xindex>) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-remark @below {{tile-pp-0001: iterations of a loop are not shared by two roles: the loop is not in the body of a role}}
    scf.for %i = %c0 to %n step %c1 {
      memref.store %i, %x[%i] : memref<?xindex>
    } {tile.ping_pong}
    gpu.return
  }

  gpu.func @before(%A: memref<?x64xf16>, %C: memref<?x64xf32>, %tiles: index, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %as = tile.alloc_shared : !bufs
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !bufs -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !tile.cursor<2>
        // expected-remark @below {{tile-pp-0002: iterations of a loop are not shared by two roles: the role does this outside of the loop}}
        tile.store %zero to %C[%c0, 0] : tensor<64x64xf32> to memref<?x64xf32>
        %r = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0) -> (!tile.cursor<2>) {
          %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %p = %q) -> (tensor<64x64xf32>, !tile.cursor<2>) {
            tile.wait %ch[%p] : !tile.channel<2>
            %a = tile.slot %as[%p] : !bufs -> !buf
            %d = tile.gemm %a, %a, %acc {tile.inst = #tile.inst<wgmma>} : !buf, !buf -> tensor<64x64xf32>
            tile.release %ch[%p] : !tile.channel<2>
            %pn = tile.advance %p : !tile.cursor<2>
            scf.yield %d, %pn : tensor<64x64xf32>, !tile.cursor<2>
          }
          %m = arith.muli %t, %c64 : index
          tile.store %s#0 to %C[%m, 0] : tensor<64x64xf32> to memref<?x64xf32>
          scf.yield %s#1 : !tile.cursor<2>
        } {tile.ping_pong}
      }
      tile.role @load warps(1) {
        %q0 = tile.cursor : !tile.cursor<2>
        %r = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0) -> (!tile.cursor<2>) {
          %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> (!tile.cursor<2>) {
            tile.acquire %ch[%p] : !tile.channel<2>
            %a = tile.slot %as[%p] : !bufs -> !buf
            tile.copy %A[%k, 0] to %a {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !buf
            tile.commit %ch[%p] : !tile.channel<2>
            %pn = tile.advance %p : !tile.cursor<2>
            scf.yield %pn : !tile.cursor<2>
          }
          scf.yield %s : !tile.cursor<2>
        } {tile.ping_pong}
      }
    }
    gpu.return
  }

  gpu.func @carried(%A: memref<?x64xf16>, %C: memref<?x64xf32>, %tiles: index, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %as = tile.alloc_shared : !bufs
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !bufs -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !tile.cursor<2>
        %r:2 = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0, %sum = %zero) -> (!tile.cursor<2>, tensor<64x64xf32>) {
          %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %p = %q) -> (tensor<64x64xf32>, !tile.cursor<2>) {
            tile.wait %ch[%p] : !tile.channel<2>
            %a = tile.slot %as[%p] : !bufs -> !buf
            // expected-remark @below {{tile-pp-0003: iterations of a loop are not shared by two roles: the next iteration depends on this}}
            %d = tile.gemm %a, %a, %acc {tile.inst = #tile.inst<wgmma>} : !buf, !buf -> tensor<64x64xf32>
            tile.release %ch[%p] : !tile.channel<2>
            %pn = tile.advance %p : !tile.cursor<2>
            scf.yield %d, %pn : tensor<64x64xf32>, !tile.cursor<2>
          }
          %m = arith.muli %t, %c64 : index
          tile.store %s#0 to %C[%m, 0] : tensor<64x64xf32> to memref<?x64xf32>
          %new = arith.addf %sum, %s#0 : tensor<64x64xf32>
          scf.yield %s#1, %new : !tile.cursor<2>, tensor<64x64xf32>
        } {tile.ping_pong}
      }
      tile.role @load warps(1) {
        %q0 = tile.cursor : !tile.cursor<2>
        %r = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0) -> (!tile.cursor<2>) {
          %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> (!tile.cursor<2>) {
            tile.acquire %ch[%p] : !tile.channel<2>
            %a = tile.slot %as[%p] : !bufs -> !buf
            tile.copy %A[%k, 0] to %a {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !buf
            tile.commit %ch[%p] : !tile.channel<2>
            %pn = tile.advance %p : !tile.cursor<2>
            scf.yield %pn : !tile.cursor<2>
          }
          scf.yield %s : !tile.cursor<2>
        } {tile.ping_pong}
      }
    }
    gpu.return
  }

  gpu.func @last(%A: memref<?x64xf16>, %C: memref<?x64xf32>, %tiles: index, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %as = tile.alloc_shared : !bufs
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !bufs -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !tile.cursor<2>
        %r:2 = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0, %i = %c0) -> (!tile.cursor<2>, index) {
          %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %p = %q) -> (tensor<64x64xf32>, !tile.cursor<2>) {
            tile.wait %ch[%p] : !tile.channel<2>
            %a = tile.slot %as[%p] : !bufs -> !buf
            %d = tile.gemm %a, %a, %acc {tile.inst = #tile.inst<wgmma>} : !buf, !buf -> tensor<64x64xf32>
            tile.release %ch[%p] : !tile.channel<2>
            %pn = tile.advance %p : !tile.cursor<2>
            scf.yield %d, %pn : tensor<64x64xf32>, !tile.cursor<2>
          }
          %m = arith.muli %t, %c64 : index
          tile.store %s#0 to %C[%m, 0] : tensor<64x64xf32> to memref<?x64xf32>
          scf.yield %s#1, %t : !tile.cursor<2>, index
        } {tile.ping_pong}
        // expected-remark @below {{tile-pp-0003: iterations of a loop are not shared by two roles: a result of the last iteration is used here}}
        %last = arith.addi %r#1, %c1 : index
      }
      tile.role @load warps(1) {
        %q0 = tile.cursor : !tile.cursor<2>
        %r = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0) -> (!tile.cursor<2>) {
          %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> (!tile.cursor<2>) {
            tile.acquire %ch[%p] : !tile.channel<2>
            %a = tile.slot %as[%p] : !bufs -> !buf
            tile.copy %A[%k, 0] to %a {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !buf
            tile.commit %ch[%p] : !tile.channel<2>
            %pn = tile.advance %p : !tile.cursor<2>
            scf.yield %pn : !tile.cursor<2>
          }
          scf.yield %s : !tile.cursor<2>
        } {tile.ping_pong}
      }
    }
    gpu.return
  }

  gpu.func @unknown(%A: memref<?x64xf16>, %C: memref<?x64xf32>, %N: memref<?xindex>, %tiles: index, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %as = tile.alloc_shared : !bufs
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !bufs -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !tile.cursor<2>
        %r = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0) -> (!tile.cursor<2>) {
          // expected-remark @below {{tile-pp-0004: iterations of a loop are not shared by two roles: the number of slots of an iteration depends on this}}
          %steps = memref.load %N[%t] : memref<?xindex>
          %s:2 = scf.for %k = %c0 to %steps step %c1 iter_args(%acc = %zero, %p = %q) -> (tensor<64x64xf32>, !tile.cursor<2>) {
            tile.wait %ch[%p] : !tile.channel<2>
            %a = tile.slot %as[%p] : !bufs -> !buf
            %d = tile.gemm %a, %a, %acc {tile.inst = #tile.inst<wgmma>} : !buf, !buf -> tensor<64x64xf32>
            tile.release %ch[%p] : !tile.channel<2>
            %pn = tile.advance %p : !tile.cursor<2>
            scf.yield %d, %pn : tensor<64x64xf32>, !tile.cursor<2>
          }
          %m = arith.muli %t, %c64 : index
          tile.store %s#0 to %C[%m, 0] : tensor<64x64xf32> to memref<?x64xf32>
          memref.store %t, %N[%t] : memref<?xindex>
          scf.yield %s#1 : !tile.cursor<2>
        } {tile.ping_pong}
      }
      tile.role @load warps(1) {
        %q0 = tile.cursor : !tile.cursor<2>
        %r = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0) -> (!tile.cursor<2>) {
          %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> (!tile.cursor<2>) {
            tile.acquire %ch[%p] : !tile.channel<2>
            %a = tile.slot %as[%p] : !bufs -> !buf
            tile.copy %A[%k, 0] to %a {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !buf
            tile.commit %ch[%p] : !tile.channel<2>
            %pn = tile.advance %p : !tile.cursor<2>
            scf.yield %pn : !tile.cursor<2>
          }
          scf.yield %s : !tile.cursor<2>
        } {tile.ping_pong}
      }
    }
    gpu.return
  }

  gpu.func @registers(%A: memref<?x64xf16>, %C: memref<?x64xf32>, %tiles: index, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x512xf32>
    %as = tile.alloc_shared : !bufs
    %wide = tile.alloc_shared : memref<64x512xf16, #gpu.address_space<workgroup>>
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !bufs -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !tile.cursor<2>
        // expected-remark @below {{tile-pp-0005: iterations of a loop are not shared by two roles: a thread of the role needs 296 registers, and has at most 240 beside another such role}}
        %r = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0) -> (!tile.cursor<2>) {
          %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %p = %q) -> (tensor<64x512xf32>, !tile.cursor<2>) {
            tile.wait %ch[%p] : !tile.channel<2>
            %a = tile.slot %as[%p] : !bufs -> !buf
            %d = tile.gemm %a, %wide, %acc : !buf, memref<64x512xf16, #gpu.address_space<workgroup>> -> tensor<64x512xf32>
            tile.release %ch[%p] : !tile.channel<2>
            %pn = tile.advance %p : !tile.cursor<2>
            scf.yield %d, %pn : tensor<64x512xf32>, !tile.cursor<2>
          }
          %m = arith.muli %t, %c64 : index
          scf.yield %s#1 : !tile.cursor<2>
        } {tile.ping_pong}
      }
      tile.role @load warps(1) {
        %q0 = tile.cursor : !tile.cursor<2>
        %r = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0) -> (!tile.cursor<2>) {
          %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> (!tile.cursor<2>) {
            tile.acquire %ch[%p] : !tile.channel<2>
            %a = tile.slot %as[%p] : !bufs -> !buf
            tile.copy %A[%k, 0] to %a {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !buf
            tile.commit %ch[%p] : !tile.channel<2>
            %pn = tile.advance %p : !tile.cursor<2>
            scf.yield %pn : !tile.cursor<2>
          }
          scf.yield %s : !tile.cursor<2>
        } {tile.ping_pong}
      }
    }
    gpu.return
  }

  gpu.func @asked(%A: memref<?x64xf16>, %C: memref<?x64xf32>, %tiles: index, %n: index) kernel attributes {tile.threads = 256 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %as = tile.alloc_shared : !bufs
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !bufs -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(4) registers(256) {
        %q0 = tile.cursor : !tile.cursor<2>
        // expected-remark @below {{tile-pp-0005: iterations of a loop are not shared by two roles: two such roles ask for 70656 registers, but a block has 65536}}
        %r = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0) -> (!tile.cursor<2>) {
          %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %p = %q) -> (tensor<64x64xf32>, !tile.cursor<2>) {
            tile.wait %ch[%p] : !tile.channel<2>
            %a = tile.slot %as[%p] : !bufs -> !buf
            %d = tile.gemm %a, %a, %acc {tile.inst = #tile.inst<wgmma>} : !buf, !buf -> tensor<64x64xf32>
            tile.release %ch[%p] : !tile.channel<2>
            %pn = tile.advance %p : !tile.cursor<2>
            scf.yield %d, %pn : tensor<64x64xf32>, !tile.cursor<2>
          }
          %m = arith.muli %t, %c64 : index
          tile.store %s#0 to %C[%m, 0] : tensor<64x64xf32> to memref<?x64xf32>
          scf.yield %s#1 : !tile.cursor<2>
        } {tile.ping_pong}
      }
      tile.role @load warps(4) registers(40) {
        %q0 = tile.cursor : !tile.cursor<2>
        %r = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0) -> (!tile.cursor<2>) {
          %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> (!tile.cursor<2>) {
            tile.acquire %ch[%p] : !tile.channel<2>
            %a = tile.slot %as[%p] : !bufs -> !buf
            tile.copy %A[%k, 0] to %a {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !buf
            tile.commit %ch[%p] : !tile.channel<2>
            %pn = tile.advance %p : !tile.cursor<2>
            scf.yield %pn : !tile.cursor<2>
          }
          scf.yield %s : !tile.cursor<2>
        } {tile.ping_pong}
      }
    }
    gpu.return
  }

  gpu.func @threads(%A: memref<?x64xf16>, %C: memref<?x64xf32>, %tiles: index, %n: index) kernel attributes {tile.threads = 544 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %as = tile.alloc_shared : !bufs
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !bufs -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(16) {
        %q0 = tile.cursor : !tile.cursor<2>
        // expected-remark @below {{tile-pp-0005: iterations of a loop are not shared by two roles: two such roles make 1056 threads, more than the 1024 of sm_90a}}
        %r = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0) -> (!tile.cursor<2>) {
          %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %p = %q) -> (tensor<64x64xf32>, !tile.cursor<2>) {
            tile.wait %ch[%p] : !tile.channel<2>
            %a = tile.slot %as[%p] : !bufs -> !buf
            %d = tile.gemm %a, %a, %acc {tile.inst = #tile.inst<wgmma>} : !buf, !buf -> tensor<64x64xf32>
            tile.release %ch[%p] : !tile.channel<2>
            %pn = tile.advance %p : !tile.cursor<2>
            scf.yield %d, %pn : tensor<64x64xf32>, !tile.cursor<2>
          }
          %m = arith.muli %t, %c64 : index
          tile.store %s#0 to %C[%m, 0] : tensor<64x64xf32> to memref<?x64xf32>
          scf.yield %s#1 : !tile.cursor<2>
        } {tile.ping_pong}
      }
      tile.role @load warps(1) {
        %q0 = tile.cursor : !tile.cursor<2>
        %r = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0) -> (!tile.cursor<2>) {
          %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> (!tile.cursor<2>) {
            tile.acquire %ch[%p] : !tile.channel<2>
            %a = tile.slot %as[%p] : !bufs -> !buf
            tile.copy %A[%k, 0] to %a {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !buf
            tile.commit %ch[%p] : !tile.channel<2>
            %pn = tile.advance %p : !tile.cursor<2>
            scf.yield %pn : !tile.cursor<2>
          }
          scf.yield %s : !tile.cursor<2>
        } {tile.ping_pong}
      }
    }
    gpu.return
  }

  gpu.func @shared(%A: memref<?x64xf16>, %C: memref<?x64xf32>, %tiles: index, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %as = tile.alloc_shared : !bufs
    %scratch = tile.alloc_shared : !buf
    %other = tile.alloc_shared : !buf
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !bufs -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !tile.cursor<2>
        %r = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0) -> (!tile.cursor<2>) {
          %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %p = %q) -> (tensor<64x64xf32>, !tile.cursor<2>) {
            tile.wait %ch[%p] : !tile.channel<2>
            %a = tile.slot %as[%p] : !bufs -> !buf
            %d = tile.gemm %a, %a, %acc {tile.inst = #tile.inst<wgmma>} : !buf, !buf -> tensor<64x64xf32>
            tile.release %ch[%p] : !tile.channel<2>
            %pn = tile.advance %p : !tile.cursor<2>
            scf.yield %d, %pn : tensor<64x64xf32>, !tile.cursor<2>
          }
          %m = arith.muli %t, %c64 : index
          tile.store %s#0 to %C[%m, 0] : tensor<64x64xf32> to memref<?x64xf32>
          tile.copy %other to %scratch : !buf to !buf
          scf.yield %s#1 : !tile.cursor<2>
        } {tile.ping_pong}
      }
      tile.role @load warps(1) {
        %q0 = tile.cursor : !tile.cursor<2>
        %r = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0) -> (!tile.cursor<2>) {
          %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> (!tile.cursor<2>) {
            tile.acquire %ch[%p] : !tile.channel<2>
            %a = tile.slot %as[%p] : !bufs -> !buf
            // expected-remark @below {{tile-pp-0006: iterations of a loop are not shared by two roles: a buffer that the role writes is also used here}}
            %x = tile.load %scratch : !buf -> tensor<64x64xf16>
            tile.copy %A[%k, 0] to %a {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !buf
            tile.commit %ch[%p] : !tile.channel<2>
            %pn = tile.advance %p : !tile.cursor<2>
            scf.yield %pn : !tile.cursor<2>
          }
          scf.yield %s : !tile.cursor<2>
        } {tile.ping_pong}
      }
    }
    gpu.return
  }

  gpu.func @room(%A: memref<?x64xf16>, %C: memref<?x64xf32>, %tiles: index, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %as = tile.alloc_shared : !bufs
    %scratch = tile.alloc_shared : memref<4x64x256xf16, #gpu.address_space<workgroup>>
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !bufs -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !tile.cursor<2>
        // expected-remark @below {{tile-pp-0006: iterations of a loop are not shared by two roles: with two copies of the role's buffers the kernel needs 278560 bytes of shared memory of 232448}}
        %r = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0) -> (!tile.cursor<2>) {
          %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %p = %q) -> (tensor<64x64xf32>, !tile.cursor<2>) {
            tile.wait %ch[%p] : !tile.channel<2>
            %a = tile.slot %as[%p] : !bufs -> !buf
            %d = tile.gemm %a, %a, %acc {tile.inst = #tile.inst<wgmma>} : !buf, !buf -> tensor<64x64xf32>
            tile.release %ch[%p] : !tile.channel<2>
            %pn = tile.advance %p : !tile.cursor<2>
            scf.yield %d, %pn : tensor<64x64xf32>, !tile.cursor<2>
          }
          %m = arith.muli %t, %c64 : index
          %z = arith.constant dense<0.0> : tensor<4x64x256xf16>
          tile.store %z to %scratch : tensor<4x64x256xf16> to memref<4x64x256xf16, #gpu.address_space<workgroup>>
          scf.yield %s#1 : !tile.cursor<2>
        } {tile.ping_pong}
      }
      tile.role @load warps(1) {
        %q0 = tile.cursor : !tile.cursor<2>
        %r = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0) -> (!tile.cursor<2>) {
          %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> (!tile.cursor<2>) {
            tile.acquire %ch[%p] : !tile.channel<2>
            %a = tile.slot %as[%p] : !bufs -> !buf
            tile.copy %A[%k, 0] to %a {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !buf
            tile.commit %ch[%p] : !tile.channel<2>
            %pn = tile.advance %p : !tile.cursor<2>
            scf.yield %pn : !tile.cursor<2>
          }
          scf.yield %s : !tile.cursor<2>
        } {tile.ping_pong}
      }
    }
    gpu.return
  }
}
