// Nothing but wgmma and a TMA store is asynchronous: the threads store both operands,
// multiply, store the result and send it to global memory, in each iteration.

!a = memref<64x64xf16, #gpu.address_space<workgroup>>
!c = memref<64x64xf32, #gpu.address_space<workgroup>>
!in = tensor<64x64xf16>
!acc = tensor<64x64xf32>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @planned_matmul(%A: memref<?x?xf16>, %C: memref<?x64xf32>, %n: index) kernel attributes {tile.threads = 128 : i32, tile.shared_bytes = 32768 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : !acc
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !a
    %bs = tile.alloc_shared {tile.offset = 8192 : i64} : !a
    %cs = tile.alloc_shared {tile.offset = 16384 : i64} : !c
    scf.for %k = %c0 to %n step %c1 {
      %x = tile.load %A[0, %k] : memref<?x?xf16> -> !in
      tile.store %x to %as : !in to !a
      tile.store %x to %bs : !in to !a
      tile.barrier {proxy_fence}
      %d = tile.gemm %as, %bs, %zero {async, tile.inst = #tile.inst<wgmma>} : !a, !a -> !acc
      %e = tile.gemm_wait %d : !acc
      tile.store %e to %cs : !acc to !c
      tile.barrier {proxy_fence}
      tile.copy %cs to %C[%k, 0] {tile.inst = #tile.inst<tma>} : !c to memref<?x64xf32>
      tile.barrier {drain_copies}
    }
    gpu.return
  }
}
