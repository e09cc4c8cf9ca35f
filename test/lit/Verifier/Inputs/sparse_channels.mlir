// Asynchronous matmuls with a 2:4 sparse left operand. One channel hands on the operands,
// another one the metadata, which threads read when a matmul starts.

!as = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!es = memref<2x64x8xi16, #gpu.address_space<workgroup>>
!bs = memref<2x128x64xf16, #gpu.address_space<workgroup>>
!a = memref<64x64xf16, #gpu.address_space<workgroup>>
!e = memref<64x8xi16, #gpu.address_space<workgroup>>
!b = memref<128x64xf16, #gpu.address_space<workgroup>>
!acc = tensor<64x64xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @sparse_channels(%A: memref<64x?xf16>, %E: memref<64x?xi16>, %B: memref<?x64xf16>, %C: memref<64x64xf32>, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : !acc
    %as = tile.alloc_shared : !as
    %es = tile.alloc_shared : !es
    %bs = tile.alloc_shared : !bs
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !as, !bs -> !channel
    %eh = tile.channel(%es) {producer = #tile.producer<tma>} : !es -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero, %q = %q0) -> (!acc, !cursor) {
          tile.wait %ch[%q] : !channel
          tile.wait %eh[%q] : !channel
          %a = tile.slot %as[%q] : !as -> !a
          %e = tile.slot %es[%q] : !es -> !e
          %b = tile.slot %bs[%q] : !bs -> !b
          %d = tile.gemm_sp %a, %e, %b, %c {async, tile.inst = #tile.inst<wgmma>} : !a, !e, !b -> !acc
          tile.release %eh[%q] : !channel
          %f = tile.gemm_wait %d : !acc
          tile.release %ch[%q] : !channel
          %qn = tile.advance %q : !cursor
          scf.yield %f, %qn : !acc, !cursor
        }
        tile.store %r#0 to %C : !acc to memref<64x64xf32>
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %along = arith.muli %k, %c64 : index
          %words = arith.muli %k, %c8 : index
          %down = arith.muli %k, %c128 : index
          tile.acquire %eh[%p] : !channel
          %e = tile.slot %es[%p] : !es -> !e
          tile.copy %E[0, %words] to %e {tile.inst = #tile.inst<tma>} : memref<64x?xi16> to !e
          tile.commit %eh[%p] : !channel
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !as -> !a
          %b = tile.slot %bs[%p] : !bs -> !b
          tile.copy %A[0, %along] to %a {tile.inst = #tile.inst<tma>} : memref<64x?xf16> to !a
          tile.copy %B[%down, 0] to %b {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !b
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}
