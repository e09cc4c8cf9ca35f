// The roles of attention with channels: one for the queries, one for the keys, one for
// the values. The matmul after the loop reads the slot that it has waited for last.

#map = affine_map<()[s0, s1, s2, s3] -> (s0 ceildiv 64)>
!slots = memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
!one_slot = memref<1x64x64xf16, #tile.shared<(1, 64, 64):(0, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
!slot = memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
!acc = tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
!probs = tensor<64x64xf16, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
!cursor = !tile.cursor<2>
!one_cursor = !tile.cursor<1>
!channel = !tile.channel<2>
!one_channel = !tile.channel<1>
gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx86">] {
  gpu.func @attention_channels(%Q: memref<?x64xf16> {tile.name = "Q", tile.symbols = ["M", ""]}, %K: memref<?x64xf16> {tile.name = "K", tile.symbols = ["N", ""]}, %V: memref<?x64xf16> {tile.name = "V", tile.symbols = ["N", ""]}, %O: memref<?x64xf32> {tile.name = "O", tile.symbols = ["M", ""]}) kernel attributes {tile.grid = #map, tile.shared_bytes = 41040 : i64, tile.threads = 160 : i32} {
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c0 = arith.constant 0 : index
    %qs = tile.alloc_shared {tile.offset = 32768 : i64} : !one_slot
    %qch = tile.channel(%qs) {producer = #tile.producer<tma>, tile.offset = 41024 : i64} : !one_slot -> !one_channel
    %vs = tile.alloc_shared {tile.offset = 0 : i64} : !slots
    %vch = tile.channel(%vs) {producer = #tile.producer<tma>, tile.offset = 40960 : i64} : !slots -> !channel
    %ks = tile.alloc_shared {tile.offset = 16384 : i64} : !slots
    %kch = tile.channel(%ks) {producer = #tile.producer<tma>, tile.offset = 40992 : i64} : !slots -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %zero = arith.constant dense<0.000000e+00> : !acc
        %qc = tile.cursor : !one_cursor
        %start = tile.cursor : !cursor
        %n = memref.dim %K, %c0 : memref<?x64xf16>
        %block = gpu.block_id  x
        %row = arith.muli %block, %c64 : index
        %steps = arith.ceildivsi %n, %c64 : index
        tile.wait %qch[%qc] : !one_channel
        %q = tile.slot %qs[%qc] : !one_slot -> !slot
        %some = arith.cmpi sgt, %steps, %c0 : index
        %r = scf.if %some -> (!acc) {
          tile.wait %kch[%start] : !channel
          %k0 = tile.slot %ks[%start] : !slots -> !slot
          %s0 = tile.gemm %q, %k0, %zero {clear_accumulator, tile.inst = #tile.inst<wgmma>, transpose_rhs} : !slot, !slot -> !acc
          tile.release %kch[%start] : !channel
          %kn0 = tile.advance %start : !cursor
          %w0 = arith.truncf %s0 : !acc to !probs
          %l:4 = scf.for %step = %c1 to %steps step %c1 iter_args(%c = %zero, %kc = %kn0, %vc = %start, %w = %w0) -> (!acc, !cursor, !cursor, !probs) {
            tile.wait %kch[%kc] : !channel
            %k = tile.slot %ks[%kc] : !slots -> !slot
            %s = tile.gemm %q, %k, %zero {async, clear_accumulator, tile.inst = #tile.inst<wgmma>, transpose_rhs} : !slot, !slot -> !acc
            tile.wait %vch[%vc] : !channel
            %v = tile.slot %vs[%vc] : !slots -> !slot
            %d = tile.gemm %w, %v, %c {async, tile.inst = #tile.inst<wgmma>} : !probs, !slot -> !acc
            %done = tile.gemm_wait %s {pending = 1 : i64} : !acc
            tile.release %kch[%kc] : !channel
            %kn = tile.advance %kc : !cursor
            %wn = arith.truncf %done : !acc to !probs
            %e:2 = tile.gemm_wait %d, %w : !acc, !probs
            tile.release %vch[%vc] : !channel
            %vn = tile.advance %vc : !cursor
            scf.yield %e#0, %kn, %vn, %wn : !acc, !cursor, !cursor, !probs
          }
          tile.wait %vch[%l#2] : !channel
          %vl = tile.slot %vs[%l#2] : !slots -> !slot
          %dl = tile.gemm %l#3, %vl, %l#0 {tile.inst = #tile.inst<wgmma>} : !probs, !slot -> !acc
          tile.release %vch[%l#2] : !channel
          scf.yield %dl : !acc
        } else {
          scf.yield %zero : !acc
        }
        tile.release %qch[%qc] : !one_channel
        tile.store %r to %O[%row, 0] : !acc to memref<?x64xf32>
      }
      tile.role @load warps(1) {
        %qc = tile.cursor : !one_cursor
        %start = tile.cursor : !cursor
        %n = memref.dim %K, %c0 : memref<?x64xf16>
        %block = gpu.block_id  x
        %row = arith.muli %block, %c64 : index
        tile.acquire %qch[%qc] : !one_channel
        %q = tile.slot %qs[%qc] : !one_slot -> !slot
        tile.copy %Q[%row, 0] to %q {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !slot
        tile.commit %qch[%qc] : !one_channel
        %steps = arith.ceildivsi %n, %c64 : index
        %r:2 = scf.for %step = %c0 to %steps step %c1 iter_args(%kc = %start, %vc = %start) -> (!cursor, !cursor) {
          %y = arith.muli %step, %c64 : index
          tile.acquire %kch[%kc] : !channel
          %k = tile.slot %ks[%kc] : !slots -> !slot
          tile.copy %K[%y, 0] to %k {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !slot
          tile.commit %kch[%kc] : !channel
          %kn = tile.advance %kc : !cursor
          tile.acquire %vch[%vc] : !channel
          %v = tile.slot %vs[%vc] : !slots -> !slot
          tile.copy %V[%y, 0] to %v {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !slot
          tile.commit %vch[%vc] : !channel
          %vn = tile.advance %vc : !cursor
          scf.yield %kn, %vn : !cursor, !cursor
        }
      }
    }
    gpu.return
  }
}
