// The roles of a persistent gemm after lowering, with planned memory. The result goes
// through the buffer %cs, from where a copy stores it while the next tile is computed.

#map = affine_map<()[s0, s1, s2, s3, s4, s5] -> (2)>
!slots = memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
!slot = memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
!out = memref<64x64xf32, #tile.shared<(64, (32, 2)):(32, (1, 2048)), Sw<3,4,3>>, #gpu.address_space<workgroup>>
!acc = tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx86">] {
  gpu.func @persistent_gemm(%A: memref<?x?xf16> {tile.divisible = array<i64: 1, 64>, tile.name = "A", tile.symbols = ["M", "K"]}, %B: memref<?x?xf16> {tile.divisible = array<i64: 1, 64>, tile.name = "B", tile.symbols = ["K", "N"]}, %C: memref<?x?xf32> {tile.divisible = array<i64: 1, 64>, tile.name = "C", tile.symbols = ["M", "N"]}) kernel attributes {tile.grid = #map, tile.shared_bytes = 49184 : i64, tile.threads = 160 : i32} {
    %i2 = arith.constant 2 : i32
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %true = arith.constant true
    %false = arith.constant false
    %c64 = arith.constant 64 : index
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %cs = tile.alloc_shared {tile.offset = 0 : i64} : !out
    %as = tile.alloc_shared {tile.offset = 16384 : i64} : !slots
    %bs = tile.alloc_shared {tile.offset = 32768 : i64} : !slots
    %full = tile.mbarrier {count = 1 : i64, tile.offset = 49152 : i64} : !barriers
    %empty = tile.mbarrier {count = 4 : i64, tile.offset = 49168 : i64} : !barriers
    tile.mbarrier_ready
    tile.specialize {
      tile.role @math warps(4) {
        %zero = arith.constant dense<0.000000e+00> : !acc
        %m = memref.dim %A, %c0 : memref<?x?xf16>
        %k = memref.dim %A, %c1 : memref<?x?xf16>
        %n = memref.dim %B, %c1 : memref<?x?xf16>
        %tiles_m = arith.ceildivsi %m, %c64 : index
        %tiles_n = arith.ceildivsi %n, %c64 : index
        %tiles = arith.muli %tiles_m, %tiles_n : index
        %bz = gpu.block_id  z
        %gz = gpu.grid_dim  z
        %by = gpu.block_id  y
        %gy = gpu.grid_dim  y
        %bzy = arith.muli %bz, %gy : index
        %byz = arith.addi %bzy, %by : index
        %gzy = arith.muli %gz, %gy : index
        %bx = gpu.block_id  x
        %gx = gpu.grid_dim  x
        %bzyx = arith.muli %byz, %gx : index
        %block = arith.addi %bzyx, %bx : index
        %blocks = arith.muli %gzy, %gx : index
        %r:2 = scf.for %tile = %block to %tiles step %blocks iter_args(%q0 = %i0, %qp0 = %i0) -> (i32, i32) {
          %i = arith.floordivsi %tile, %tiles_n : index
          %row = arith.muli %i, %tiles_n : index
          %j = arith.subi %tile, %row : index
          %steps = arith.ceildivsi %k, %c64 : index
          %l:6 = scf.for %step = %c0 to %steps step %c1 iter_args(%c = %zero, %q = %q0, %qp = %qp0, %late = %i0, %late_p = %i0, %any = %false) -> (!acc, i32, i32, i32, i32, i1) {
            tile.mbarrier_wait %full[%q], %qp : !barriers
            %a = tile.slot %as[%q] : !slots, i32 -> !slot
            %b = tile.slot %bs[%q] : !slots, i32 -> !slot
            %d = tile.gemm %a, %b, %c {async, tile.inst = #tile.inst<wgmma>} : !slot, !slot -> !acc
            tile.gemm_wait {pending = 1 : i64}
            scf.if %any {
              tile.mbarrier_arrive %empty[%late] {by = #tile.agents<warps>, converged} : !barriers
            }
            %qx = arith.xori %qp, %i1 : i32
            %qi = arith.addi %q, %i1 : i32
            %qw = arith.cmpi eq, %qi, %i2 : i32
            %qn = arith.select %qw, %i0, %qi : i32
            %qpn = arith.select %qw, %qx, %qp : i32
            scf.yield %d, %qn, %qpn, %q, %qp, %true : !acc, i32, i32, i32, i32, i1
          }
          %done = tile.gemm_wait %l#0 : !acc
          scf.if %l#5 {
            tile.mbarrier_arrive %empty[%l#3] {by = #tile.agents<warps>, converged} : !barriers
          }
          %y = arith.muli %i, %c64 : index
          %x = arith.muli %j, %c64 : index
          tile.barrier {drain_copies}
          tile.store %done to %cs : !acc to !out
          tile.barrier {proxy_fence}
          tile.copy %cs to %C[%y, %x] [64, 64] {tile.inst = #tile.inst<tma>} : !out to memref<?x?xf32>
          scf.yield %l#1, %l#2 : i32, i32
        }
      }
      tile.role @load warps(1) elected {
        %m = memref.dim %A, %c0 : memref<?x?xf16>
        %k = memref.dim %A, %c1 : memref<?x?xf16>
        %n = memref.dim %B, %c1 : memref<?x?xf16>
        %tiles_m = arith.ceildivsi %m, %c64 : index
        %tiles_n = arith.ceildivsi %n, %c64 : index
        %tiles = arith.muli %tiles_m, %tiles_n : index
        %bz = gpu.block_id  z
        %gz = gpu.grid_dim  z
        %by = gpu.block_id  y
        %gy = gpu.grid_dim  y
        %bzy = arith.muli %bz, %gy : index
        %byz = arith.addi %bzy, %by : index
        %gzy = arith.muli %gz, %gy : index
        %bx = gpu.block_id  x
        %gx = gpu.grid_dim  x
        %bzyx = arith.muli %byz, %gx : index
        %block = arith.addi %bzyx, %bx : index
        %blocks = arith.muli %gzy, %gx : index
        %s:2 = scf.for %tile = %block to %tiles step %blocks iter_args(%p0 = %i0, %pp0 = %i0) -> (i32, i32) {
          %i = arith.floordivsi %tile, %tiles_n : index
          %row = arith.muli %i, %tiles_n : index
          %j = arith.subi %tile, %row : index
          %steps = arith.ceildivsi %k, %c64 : index
          %t:2 = scf.for %step = %c0 to %steps step %c1 iter_args(%p = %p0, %pp = %pp0) -> (i32, i32) {
            %y = arith.muli %i, %c64 : index
            %z = arith.muli %step, %c64 : index
            %pe = arith.xori %pp, %i1 : i32
            tile.mbarrier_wait %empty[%p], %pe : !barriers
            %a = tile.slot %as[%p] : !slots, i32 -> !slot
            tile.copy %A[%y, %z] to %a signals(%full[%p]) {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !slot, !barriers
            %x = arith.muli %j, %c64 : index
            %b = tile.slot %bs[%p] : !slots, i32 -> !slot
            tile.copy %B[%z, %x] to %b signals(%full[%p]) {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !slot, !barriers
            tile.mbarrier_arrive %full[%p] {by = #tile.agents<thread>, bytes = 16384 : i64} : !barriers
            %px = arith.xori %pp, %i1 : i32
            %pi = arith.addi %p, %i1 : i32
            %pw = arith.cmpi eq, %pi, %i2 : i32
            %pn = arith.select %pw, %i0, %pi : i32
            %ppn = arith.select %pw, %px, %pp : i32
            scf.yield %pn, %ppn : i32, i32
          }
          scf.yield %t#0, %t#1 : i32, i32
        }
      }
    }
    gpu.return
  }
}
