// Two roles of attention after lowering. The queries are fetched once. Keys and values
// have two slots each. An iteration of @math computes s = q * k of its own keys while e
// += w * v of the iteration before runs. The first s comes before the loop, the last e
// after it.

#map = affine_map<()[s0, s1, s2, s3] -> (s0 ceildiv 64)>
!slots = memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
!one_slot = memref<1x64x64xf16, #tile.shared<(1, 64, 64):(0, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
!slot = memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
!acc = tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
!probs = tensor<64x64xf16, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
!barriers = !tile.mbarrier<2>
!barrier = !tile.mbarrier<1>
gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx86">] {
  gpu.func @attention(%Q: memref<?x64xf16> {tile.name = "Q", tile.symbols = ["M", ""]}, %K: memref<?x64xf16> {tile.name = "K", tile.symbols = ["N", ""]}, %V: memref<?x64xf16> {tile.name = "V", tile.symbols = ["N", ""]}, %O: memref<?x64xf32> {tile.name = "O", tile.symbols = ["M", ""]}) kernel attributes {tile.grid = #map, tile.shared_bytes = 41040 : i64, tile.threads = 160 : i32} {
    %i2 = arith.constant 2 : i32
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c0 = arith.constant 0 : index
    %qs = tile.alloc_shared {tile.offset = 32768 : i64} : !one_slot
    %qfull = tile.mbarrier {count = 1 : i64, tile.offset = 41024 : i64} : !barrier
    %qempty = tile.mbarrier {count = 4 : i64, tile.offset = 41032 : i64} : !barrier
    %vs = tile.alloc_shared {tile.offset = 0 : i64} : !slots
    %vfull = tile.mbarrier {count = 1 : i64, tile.offset = 40960 : i64} : !barriers
    %vempty = tile.mbarrier {count = 4 : i64, tile.offset = 40976 : i64} : !barriers
    %ks = tile.alloc_shared {tile.offset = 16384 : i64} : !slots
    %kfull = tile.mbarrier {count = 1 : i64, tile.offset = 40992 : i64} : !barriers
    %kempty = tile.mbarrier {count = 4 : i64, tile.offset = 41008 : i64} : !barriers
    tile.mbarrier_ready
    tile.specialize {
      tile.role @math warps(4) {
        %zero = arith.constant dense<0.000000e+00> : !acc
        %n = memref.dim %K, %c0 : memref<?x64xf16>
        %block = gpu.block_id  x
        %row = arith.muli %block, %c64 : index
        %steps = arith.ceildivsi %n, %c64 : index
        tile.mbarrier_wait %qfull[%i0], %i0 : !barrier
        %q = tile.slot %qs[%i0] : !one_slot, i32 -> !slot
        %some = arith.cmpi sgt, %steps, %c0 : index
        %r = scf.if %some -> (!acc) {
          tile.mbarrier_wait %kfull[%i0], %i0 : !barriers
          %k0 = tile.slot %ks[%i0] : !slots, i32 -> !slot
          %s0 = tile.gemm %q, %k0, %zero {clear_accumulator, tile.inst = #tile.inst<wgmma>, transpose_rhs} : !slot, !slot -> !acc
          tile.mbarrier_arrive %kempty[%i0] {by = #tile.agents<warps>, converged} : !barriers
          %kx0 = arith.xori %i0, %i1 : i32
          %ki0 = arith.addi %i0, %i1 : i32
          %kw0 = arith.cmpi eq, %ki0, %i2 : i32
          %kn0 = arith.select %kw0, %i0, %ki0 : i32
          %kp0 = arith.select %kw0, %kx0, %i0 : i32
          %w0 = arith.truncf %s0 : !acc to !probs
          %l:6 = scf.for %step = %c1 to %steps step %c1 iter_args(%c = %zero, %ki = %kn0, %kp = %kp0, %vi = %i0, %vp = %i0, %w = %w0) -> (!acc, i32, i32, i32, i32, !probs) {
            tile.mbarrier_wait %kfull[%ki], %kp : !barriers
            %k = tile.slot %ks[%ki] : !slots, i32 -> !slot
            %s = tile.gemm %q, %k, %zero {async, clear_accumulator, tile.inst = #tile.inst<wgmma>, transpose_rhs} : !slot, !slot -> !acc
            tile.mbarrier_wait %vfull[%vi], %vp : !barriers
            %v = tile.slot %vs[%vi] : !slots, i32 -> !slot
            %d = tile.gemm %w, %v, %c {async, tile.inst = #tile.inst<wgmma>} : !probs, !slot -> !acc
            %done = tile.gemm_wait %s {pending = 1 : i64} : !acc
            tile.mbarrier_arrive %kempty[%ki] {by = #tile.agents<warps>, converged} : !barriers
            %kx = arith.xori %kp, %i1 : i32
            %k1 = arith.addi %ki, %i1 : i32
            %kw = arith.cmpi eq, %k1, %i2 : i32
            %kn = arith.select %kw, %i0, %k1 : i32
            %kpn = arith.select %kw, %kx, %kp : i32
            %wn = arith.truncf %done : !acc to !probs
            %e:2 = tile.gemm_wait %d, %w : !acc, !probs
            tile.mbarrier_arrive %vempty[%vi] {by = #tile.agents<warps>, converged} : !barriers
            %vx = arith.xori %vp, %i1 : i32
            %v1 = arith.addi %vi, %i1 : i32
            %vw = arith.cmpi eq, %v1, %i2 : i32
            %vn = arith.select %vw, %i0, %v1 : i32
            %vpn = arith.select %vw, %vx, %vp : i32
            scf.yield %e#0, %kn, %kpn, %vn, %vpn, %wn : !acc, i32, i32, i32, i32, !probs
          }
          tile.mbarrier_wait %vfull[%l#3], %l#4 : !barriers
          %vl = tile.slot %vs[%l#3] : !slots, i32 -> !slot
          %dl = tile.gemm %l#5, %vl, %l#0 {tile.inst = #tile.inst<wgmma>} : !probs, !slot -> !acc
          tile.mbarrier_arrive %vempty[%l#3] {by = #tile.agents<warps>, converged} : !barriers
          scf.yield %dl : !acc
        } else {
          scf.yield %zero : !acc
        }
        tile.mbarrier_arrive %qempty[%i0] {by = #tile.agents<warps>, converged} : !barrier
        tile.store %r to %O[%row, 0] : !acc to memref<?x64xf32>
      }
      tile.role @load warps(1) elected {
        %n = memref.dim %K, %c0 : memref<?x64xf16>
        %block = gpu.block_id  x
        %row = arith.muli %block, %c64 : index
        %qe = arith.xori %i0, %i1 : i32
        tile.mbarrier_wait %qempty[%i0], %qe : !barrier
        %q = tile.slot %qs[%i0] : !one_slot, i32 -> !slot
        tile.copy %Q[%row, 0] to %q signals(%qfull[%i0]) {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !slot, !barrier
        tile.mbarrier_arrive %qfull[%i0] {by = #tile.agents<thread>, bytes = 8192 : i64} : !barrier
        %steps = arith.ceildivsi %n, %c64 : index
        %r:4 = scf.for %step = %c0 to %steps step %c1 iter_args(%ki = %i0, %kp = %i0, %vi = %i0, %vp = %i0) -> (i32, i32, i32, i32) {
          %y = arith.muli %step, %c64 : index
          %ke = arith.xori %kp, %i1 : i32
          tile.mbarrier_wait %kempty[%ki], %ke : !barriers
          %k = tile.slot %ks[%ki] : !slots, i32 -> !slot
          tile.copy %K[%y, 0] to %k signals(%kfull[%ki]) {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !slot, !barriers
          tile.mbarrier_arrive %kfull[%ki] {by = #tile.agents<thread>, bytes = 8192 : i64} : !barriers
          %kx = arith.xori %kp, %i1 : i32
          %k1 = arith.addi %ki, %i1 : i32
          %kw = arith.cmpi eq, %k1, %i2 : i32
          %kn = arith.select %kw, %i0, %k1 : i32
          %kpn = arith.select %kw, %kx, %kp : i32
          %ve = arith.xori %vp, %i1 : i32
          tile.mbarrier_wait %vempty[%vi], %ve : !barriers
          %v = tile.slot %vs[%vi] : !slots, i32 -> !slot
          tile.copy %V[%y, 0] to %v signals(%vfull[%vi]) {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !slot, !barriers
          tile.mbarrier_arrive %vfull[%vi] {by = #tile.agents<thread>, bytes = 8192 : i64} : !barriers
          %vx = arith.xori %vp, %i1 : i32
          %v1 = arith.addi %vi, %i1 : i32
          %vw = arith.cmpi eq, %v1, %i2 : i32
          %vn = arith.select %vw, %i0, %v1 : i32
          %vpn = arith.select %vw, %vx, %vp : i32
          scf.yield %kn, %kpn, %vn, %vpn : i32, i32, i32, i32
        }
      }
    }
    gpu.return
  }
}
