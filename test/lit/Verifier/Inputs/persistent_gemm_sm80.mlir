// A persistent gemm without roles after lowering. Copies by cp.async run one iteration
// ahead of the matmuls. A barrier after the loop separates the last matmul of a tile
// from the first copies of the next one.

#map = affine_map<()[s0, s1, s2, s3, s4, s5] -> (2)>
!slots = memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
!slot = memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
!acc = tensor<64x64xf32, #tile.fragment<thread = (4, 8, 2, 2):(2*d1, 1*d0, 32*d0, 32*d1), value = (2, 2, 4, 2):(1*d1, 8*d0, 8*d1, 16*d0)>>
gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_80", features = "+ptx86">] {
  gpu.func @persistent_gemm_sm80(%A: memref<?x?xf16> {tile.divisible = array<i64: 1, 64>, tile.name = "A", tile.symbols = ["M", "K"]}, %B: memref<?x?xf16> {tile.divisible = array<i64: 1, 64>, tile.name = "B", tile.symbols = ["K", "N"]}, %C: memref<?x?xf32> {tile.divisible = array<i64: 1, 64>, tile.name = "C", tile.symbols = ["M", "N"]}) kernel attributes {tile.grid = #map, tile.shared_bytes = 32768 : i64, tile.threads = 128 : i32} {
    %i2 = arith.constant 2 : i32
    %i1 = arith.constant 1 : i32
    %i0 = arith.constant 0 : i32
    %zero = arith.constant dense<0.000000e+00> : !acc
    %c64 = arith.constant 64 : index
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !slots
    %bs = tile.alloc_shared {tile.offset = 16384 : i64} : !slots
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
    %r:4 = scf.for %tile = %block to %tiles step %blocks iter_args(%p0 = %i0, %pp0 = %i0, %q0 = %i0, %qp0 = %i0) -> (i32, i32, i32, i32) {
      %i = arith.floordivsi %tile, %tiles_n : index
      %row = arith.muli %i, %tiles_n : index
      %j = arith.subi %tile, %row : index
      %steps = arith.ceildivsi %k, %c64 : index
      %some = arith.cmpi sgt, %steps, %c0 : index
      %first:2 = scf.if %some -> (i32, i32) {
        %y = arith.muli %i, %c64 : index
        %a = tile.slot %as[%p0] : !slots, i32 -> !slot
        %x = arith.muli %j, %c64 : index
        %b = tile.slot %bs[%p0] : !slots, i32 -> !slot
        tile.copy %A[%y, 0] to %a {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to !slot
        tile.copy %B[0, %x] to %b {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to !slot
        %px = arith.xori %pp0, %i1 : i32
        %pi = arith.addi %p0, %i1 : i32
        %pw = arith.cmpi eq, %pi, %i2 : i32
        %pn = arith.select %pw, %i0, %pi : i32
        %ppn = arith.select %pw, %px, %pp0 : i32
        scf.yield %pn, %ppn : i32, i32
      } else {
        scf.yield %p0, %pp0 : i32, i32
      }
      tile.commit_group
      %l:5 = scf.for %step = %c0 to %steps step %c1 iter_args(%c = %zero, %p = %first#0, %pp = %first#1, %q = %q0, %qp = %qp0) -> (!acc, i32, i32, i32, i32) {
        %last = arith.subi %steps, %c1 : index
        %more = arith.cmpi slt, %step, %last : index
        tile.copy_group_wait {pending = 0 : i64}
        tile.barrier
        %next = arith.addi %step, %c1 : index
        %ahead:2 = scf.if %more -> (i32, i32) {
          %y = arith.muli %i, %c64 : index
          %z = arith.muli %next, %c64 : index
          %a = tile.slot %as[%p] : !slots, i32 -> !slot
          %x = arith.muli %j, %c64 : index
          %b = tile.slot %bs[%p] : !slots, i32 -> !slot
          tile.copy %A[%y, %z] to %a {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to !slot
          tile.copy %B[%z, %x] to %b {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to !slot
          %px = arith.xori %pp, %i1 : i32
          %pi = arith.addi %p, %i1 : i32
          %pw = arith.cmpi eq, %pi, %i2 : i32
          %pn = arith.select %pw, %i0, %pi : i32
          %ppn = arith.select %pw, %px, %pp : i32
          scf.yield %pn, %ppn : i32, i32
        } else {
          scf.yield %p, %pp : i32, i32
        }
        tile.commit_group
        %a = tile.slot %as[%q] : !slots, i32 -> !slot
        %b = tile.slot %bs[%q] : !slots, i32 -> !slot
        %d = tile.gemm %a, %b, %c {tile.inst = #tile.inst<mma>} : !slot, !slot -> !acc
        %qx = arith.xori %qp, %i1 : i32
        %qi = arith.addi %q, %i1 : i32
        %qw = arith.cmpi eq, %qi, %i2 : i32
        %qn = arith.select %qw, %i0, %qi : i32
        %qpn = arith.select %qw, %qx, %qp : i32
        scf.yield %d, %ahead#0, %ahead#1, %qn, %qpn : !acc, i32, i32, i32, i32
      }
      %y = arith.muli %i, %c64 : index
      %x = arith.muli %j, %c64 : index
      tile.barrier
      tile.store %l#0 to %C[%y, %x] : !acc to memref<?x?xf32>
      scf.yield %l#1, %l#2, %l#3, %l#4 : i32, i32, i32, i32
    }
    gpu.return
  }
}
