// RUN: tilews-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tile-verify-schedule{report}))' --verify-diagnostics=only-expected

// Right, for 'release while a product reads' and those that follow.
!as = memref<4x64x64xf16, #gpu.address_space<workgroup>>
!a = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = tensor<64x64xf32>
!channel = !tile.channel<4>
!cursor = !tile.cursor<4>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @release_while_a_product_reads_right is proved}}
  gpu.func @release_while_a_product_reads_right(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %C: memref<64x64xf32>, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : !acc
    %true = arith.constant true
    %false = arith.constant false
    %as = tile.alloc_shared : !as
    %bs = tile.alloc_shared : !as
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !as, !as -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r:4 = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero, %q = %q0, %l = %q0, %late = %false) -> (!acc, !cursor, !cursor, i1) {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !as -> !a
          %b = tile.slot %bs[%q] : !as -> !a
          %d = tile.gemm %a, %b, %c {async, tile.inst = #tile.inst<wgmma>} : !a, !a -> !acc
          tile.gemm_wait {pending = 1 : i64}
          scf.if %late {
            tile.release %ch[%l] : !channel
          }
          %qn = tile.advance %q : !cursor
          scf.yield %d, %qn, %q, %true : !acc, !cursor, !cursor, i1
        }
        %done = tile.gemm_wait %r#0 : !acc
        scf.if %r#3 {
          tile.release %ch[%r#2] : !channel
        }
        tile.store %done to %C : !acc to memref<64x64xf32>
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !as -> !a
          %b = tile.slot %bs[%p] : !as -> !a
          tile.copy %A[0, %k] to %a {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !a
          tile.copy %B[%k, 0] to %b {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !a
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: release while a product reads.
!as = memref<4x64x64xf16, #gpu.address_space<workgroup>>
!a = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = tensor<64x64xf32>
!channel = !tile.channel<4>
!cursor = !tile.cursor<4>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @release_while_a_product_reads(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %C: memref<64x64xf32>, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : !acc
    %true = arith.constant true
    %false = arith.constant false
    %as = tile.alloc_shared : !as
    %bs = tile.alloc_shared : !as
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !as, !as -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r:4 = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero, %q = %q0, %l = %q0, %late = %false) -> (!acc, !cursor, !cursor, i1) {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !as -> !a
          %b = tile.slot %bs[%q] : !as -> !a
          %d = tile.gemm %a, %b, %c {async, tile.inst = #tile.inst<wgmma>} : !a, !a -> !acc
          tile.gemm_wait {pending = 1 : i64}
          // expected-error @below {{schedule of @release_while_a_product_reads is wrong: role @math releases slot 0 in phase 0 while an asynchronous product may still read it: a tile.gemm_wait has to come before}}
          tile.release %ch[%q] : !channel
          %qn = tile.advance %q : !cursor
          scf.yield %d, %qn, %q, %true : !acc, !cursor, !cursor, i1
        }
        %done = tile.gemm_wait %r#0 : !acc
        tile.store %done to %C : !acc to memref<64x64xf32>
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !as -> !a
          %b = tile.slot %bs[%p] : !as -> !a
          tile.copy %A[0, %k] to %a {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !a
          tile.copy %B[%k, 0] to %b {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !a
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Right, for 'too many pending products' and those that follow.
!as = memref<4x64x64xf16, #gpu.address_space<workgroup>>
!a = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = tensor<64x64xf32>
!channel = !tile.channel<4>
!cursor = !tile.cursor<4>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @too_many_pending_products_right is proved}}
  gpu.func @too_many_pending_products_right(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %C: memref<64x64xf32>, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : !acc
    %true = arith.constant true
    %false = arith.constant false
    %as = tile.alloc_shared : !as
    %bs = tile.alloc_shared : !as
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !as, !as -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r:4 = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero, %q = %q0, %l = %q0, %late = %false) -> (!acc, !cursor, !cursor, i1) {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !as -> !a
          %b = tile.slot %bs[%q] : !as -> !a
          %d = tile.gemm %a, %b, %c {async, tile.inst = #tile.inst<wgmma>} : !a, !a -> !acc
          tile.gemm_wait {pending = 0 : i64}
          scf.if %late {
            tile.release %ch[%l] : !channel
          }
          %qn = tile.advance %q : !cursor
          scf.yield %d, %qn, %q, %true : !acc, !cursor, !cursor, i1
        }
        %done = tile.gemm_wait %r#0 : !acc
        scf.if %r#3 {
          tile.release %ch[%r#2] : !channel
        }
        tile.store %done to %C : !acc to memref<64x64xf32>
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !as -> !a
          %b = tile.slot %bs[%p] : !as -> !a
          tile.copy %A[0, %k] to %a {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !a
          tile.copy %B[%k, 0] to %b {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !a
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: too many pending products.
!as = memref<4x64x64xf16, #gpu.address_space<workgroup>>
!a = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = tensor<64x64xf32>
!channel = !tile.channel<4>
!cursor = !tile.cursor<4>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @too_many_pending_products(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %C: memref<64x64xf32>, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : !acc
    %true = arith.constant true
    %false = arith.constant false
    %as = tile.alloc_shared : !as
    %bs = tile.alloc_shared : !as
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !as, !as -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r:4 = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero, %q = %q0, %l = %q0, %late = %false) -> (!acc, !cursor, !cursor, i1) {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !as -> !a
          %b = tile.slot %bs[%q] : !as -> !a
          %d = tile.gemm %a, %b, %c {async, tile.inst = #tile.inst<wgmma>} : !a, !a -> !acc
          tile.gemm_wait {pending = 2 : i64}
          scf.if %late {
            // expected-error @below {{schedule of @too_many_pending_products is wrong: role @math releases slot 0 in phase 0 while an asynchronous product may still read it: a tile.gemm_wait has to come before}}
            tile.release %ch[%l] : !channel
          }
          %qn = tile.advance %q : !cursor
          scf.yield %d, %qn, %q, %true : !acc, !cursor, !cursor, i1
        }
        %done = tile.gemm_wait %r#0 : !acc
        scf.if %r#3 {
          tile.release %ch[%r#2] : !channel
        }
        tile.store %done to %C : !acc to memref<64x64xf32>
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !as -> !a
          %b = tile.slot %bs[%p] : !as -> !a
          tile.copy %A[0, %k] to %a {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !a
          tile.copy %B[%k, 0] to %b {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !a
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: result of a product under way.
!as = memref<4x64x64xf16, #gpu.address_space<workgroup>>
!a = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = tensor<64x64xf32>
!channel = !tile.channel<4>
!cursor = !tile.cursor<4>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @result_of_a_product_under_way(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %C: memref<64x64xf32>, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : !acc
    %true = arith.constant true
    %false = arith.constant false
    %as = tile.alloc_shared : !as
    %bs = tile.alloc_shared : !as
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !as, !as -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r:4 = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero, %q = %q0, %l = %q0, %late = %false) -> (!acc, !cursor, !cursor, i1) {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !as -> !a
          %b = tile.slot %bs[%q] : !as -> !a
          // expected-error @below {{'tile.gemm' op is asynchronous: expected its result to be an accumulator of another asynchronous product or to be finished by tile.gemm_wait}}
          %d = tile.gemm %a, %b, %c {async, tile.inst = #tile.inst<wgmma>} : !a, !a -> !acc
          tile.gemm_wait {pending = 1 : i64}
          scf.if %late {
            tile.release %ch[%l] : !channel
          }
          %qn = tile.advance %q : !cursor
          scf.yield %d, %qn, %q, %true : !acc, !cursor, !cursor, i1
        }
        scf.if %r#3 {
          tile.release %ch[%r#2] : !channel
        }
        tile.store %r#0 to %C : !acc to memref<64x64xf32>
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !as -> !a
          %b = tile.slot %bs[%p] : !as -> !a
          tile.copy %A[0, %k] to %a {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !a
          tile.copy %B[%k, 0] to %b {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !a
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: last product may be pending.
!as = memref<4x64x64xf16, #gpu.address_space<workgroup>>
!a = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = tensor<64x64xf32>
!channel = !tile.channel<4>
!cursor = !tile.cursor<4>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @last_product_may_be_pending(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %C: memref<64x64xf32>, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : !acc
    %true = arith.constant true
    %false = arith.constant false
    %as = tile.alloc_shared : !as
    %bs = tile.alloc_shared : !as
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !as, !as -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r:4 = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero, %q = %q0, %l = %q0, %late = %false) -> (!acc, !cursor, !cursor, i1) {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !as -> !a
          %b = tile.slot %bs[%q] : !as -> !a
          %d = tile.gemm %a, %b, %c {async, tile.inst = #tile.inst<wgmma>} : !a, !a -> !acc
          tile.gemm_wait {pending = 1 : i64}
          scf.if %late {
            tile.release %ch[%l] : !channel
          }
          %qn = tile.advance %q : !cursor
          scf.yield %d, %qn, %q, %true : !acc, !cursor, !cursor, i1
        }
        // expected-error @below {{schedule of @last_product_may_be_pending is wrong: its fragment may belong to a product that is still under way: it permits too many pending products}}
        %done = tile.gemm_wait %r#0 {pending = 1 : i64} : !acc
        scf.if %r#3 {
          tile.release %ch[%r#2] : !channel
        }
        tile.store %done to %C : !acc to memref<64x64xf32>
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !as -> !a
          %b = tile.slot %bs[%p] : !as -> !a
          tile.copy %A[0, %k] to %a {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !a
          tile.copy %B[%k, 0] to %b {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !a
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: last release is missing.
!as = memref<4x64x64xf16, #gpu.address_space<workgroup>>
!a = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = tensor<64x64xf32>
!channel = !tile.channel<4>
!cursor = !tile.cursor<4>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @last_release_is_missing(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %C: memref<64x64xf32>, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : !acc
    %true = arith.constant true
    %false = arith.constant false
    %as = tile.alloc_shared : !as
    %bs = tile.alloc_shared : !as
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !as, !as -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r:4 = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero, %q = %q0, %l = %q0, %late = %false) -> (!acc, !cursor, !cursor, i1) {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !as -> !a
          %b = tile.slot %bs[%q] : !as -> !a
          %d = tile.gemm %a, %b, %c {async, tile.inst = #tile.inst<wgmma>} : !a, !a -> !acc
          tile.gemm_wait {pending = 1 : i64}
          scf.if %late {
            // expected-error @below {{schedule of @last_release_is_missing is wrong: slot 0 is waited for and never released}}
            tile.release %ch[%l] : !channel
          }
          %qn = tile.advance %q : !cursor
          scf.yield %d, %qn, %q, %true : !acc, !cursor, !cursor, i1
        }
        %done = tile.gemm_wait %r#0 : !acc
        tile.store %done to %C : !acc to memref<64x64xf32>
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !as -> !a
          %b = tile.slot %bs[%p] : !as -> !a
          tile.copy %A[0, %k] to %a {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !a
          tile.copy %B[%k, 0] to %b {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !a
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: last release without a turn.
!as = memref<4x64x64xf16, #gpu.address_space<workgroup>>
!a = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = tensor<64x64xf32>
!channel = !tile.channel<4>
!cursor = !tile.cursor<4>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @last_release_without_a_turn(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %C: memref<64x64xf32>, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : !acc
    %true = arith.constant true
    %false = arith.constant false
    %as = tile.alloc_shared : !as
    %bs = tile.alloc_shared : !as
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !as, !as -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r:4 = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero, %q = %q0, %l = %q0, %late = %false) -> (!acc, !cursor, !cursor, i1) {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !as -> !a
          %b = tile.slot %bs[%q] : !as -> !a
          %d = tile.gemm %a, %b, %c {async, tile.inst = #tile.inst<wgmma>} : !a, !a -> !acc
          tile.gemm_wait {pending = 1 : i64}
          scf.if %late {
            tile.release %ch[%l] : !channel
          }
          %qn = tile.advance %q : !cursor
          scf.yield %d, %qn, %q, %true : !acc, !cursor, !cursor, i1
        }
        %done = tile.gemm_wait %r#0 : !acc
        // expected-error @below {{schedule of @last_release_without_a_turn is wrong: role @math releases slot 0 in phase 0, which it has not waited for or has released already}}
        tile.release %ch[%r#2] : !channel
        tile.store %done to %C : !acc to memref<64x64xf32>
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !as -> !a
          %b = tile.slot %bs[%p] : !as -> !a
          tile.copy %A[0, %k] to %a {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !a
          tile.copy %B[%k, 0] to %b {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !a
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: first turn releases what was not there.
!as = memref<4x64x64xf16, #gpu.address_space<workgroup>>
!a = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = tensor<64x64xf32>
!channel = !tile.channel<4>
!cursor = !tile.cursor<4>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @first_turn_releases_what_was_not_there(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %C: memref<64x64xf32>, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : !acc
    %true = arith.constant true
    %false = arith.constant false
    %as = tile.alloc_shared : !as
    %bs = tile.alloc_shared : !as
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !as, !as -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r:4 = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero, %q = %q0, %l = %q0, %late = %true) -> (!acc, !cursor, !cursor, i1) {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !as -> !a
          %b = tile.slot %bs[%q] : !as -> !a
          %d = tile.gemm %a, %b, %c {async, tile.inst = #tile.inst<wgmma>} : !a, !a -> !acc
          tile.gemm_wait {pending = 1 : i64}
          scf.if %late {
            // expected-error @below {{schedule of @first_turn_releases_what_was_not_there is wrong: role @math releases slot 0 in phase 0 while an asynchronous product may still read it: a tile.gemm_wait has to come before}}
            tile.release %ch[%l] : !channel
          }
          %qn = tile.advance %q : !cursor
          scf.yield %d, %qn, %q, %true : !acc, !cursor, !cursor, i1
        }
        %done = tile.gemm_wait %r#0 : !acc
        scf.if %r#3 {
          tile.release %ch[%r#2] : !channel
        }
        tile.store %done to %C : !acc to memref<64x64xf32>
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !as -> !a
          %b = tile.slot %bs[%p] : !as -> !a
          tile.copy %A[0, %k] to %a {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !a
          tile.copy %B[%k, 0] to %b {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !a
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Right, for 'slot read after the loop is filled again' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @slot_read_after_the_loop_is_filled_again_right is proved}}
  gpu.func @slot_read_after_the_loop_is_filled_again_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0, %last = %q0) -> (!cursor, !cursor) {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          %y = tile.load %b : !slot -> !tile
          tile.release %ch[%q] : !channel
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn, %q : !cursor, !cursor
        }
        %e = tile.slot %as[%r#1] : !buffer -> !slot
        %v = tile.load %e : !slot -> !tile
        tile.atomic_rmw <add> %v to %C : !tile to memref<16xf32>
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %i = arith.muli %k, %c16 : index
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: slot read after the loop is filled again.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @slot_read_after_the_loop_is_filled_again(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          %y = tile.load %b : !slot -> !tile
          tile.release %ch[%q] : !channel
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
        %e = tile.slot %as[%r] : !buffer -> !slot
        // expected-error @below {{schedule of @slot_read_after_the_loop_is_filled_again is wrong: role @math reads slot 1 of a channel without a tile.wait for its fill}}
        %v = tile.load %e : !slot -> !tile
        tile.atomic_rmw <add> %v to %C : !tile to memref<16xf32>
        tile.wait %ch[%r] : !channel
        tile.release %ch[%r] : !channel
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %i = arith.muli %k, %c16 : index
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
        tile.acquire %ch[%s] : !channel
        tile.commit %ch[%s] : !channel
      }
    }
    gpu.return
  }
}
