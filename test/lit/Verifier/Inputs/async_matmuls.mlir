// An asynchronous matmul runs on into the next iteration, which releases its slot: %l
// is the cursor of that slot, and %late says whether there is one.

!as = memref<4x64x64xf16, #gpu.address_space<workgroup>>
!a = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = tensor<64x64xf32>
!channel = !tile.channel<4>
!cursor = !tile.cursor<4>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @async_matmuls(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %C: memref<64x64xf32>, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
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
          %at = arith.muli %k, %c16 : index
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !as -> !a
          %b = tile.slot %bs[%p] : !as -> !a
          tile.copy %A[0, %at] to %a {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !a
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
