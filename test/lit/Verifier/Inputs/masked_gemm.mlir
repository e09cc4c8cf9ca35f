// A gemm that leaves out the steps for which a mask is zero. An asynchronous matmul
// runs on into the next step that is not left out, and its slot is released there:
// %late is the cursor of that slot, %any says whether there is one.

#map = affine_map<()[s0, s1, s2, s3, s4, s5, s6] -> (s3 ceildiv 64, s0 ceildiv 64)>
!slots = memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
!slot = memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
!acc = tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
!cursor = !tile.cursor<2>
!channel = !tile.channel<2>
gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx86">] {
  gpu.func @masked_gemm(%A: memref<?x?xf16> {tile.divisible = array<i64: 1, 64>, tile.name = "A", tile.symbols = ["M", "K"]}, %B: memref<?x?xf16> {tile.divisible = array<i64: 1, 64>, tile.name = "B", tile.symbols = ["K", "N"]}, %mask: memref<?xi32> {tile.name = "mask", tile.symbols = ["T"]}, %C: memref<?x?xf32> {tile.divisible = array<i64: 1, 64>, tile.name = "C", tile.symbols = ["M", "N"]}) kernel attributes {tile.grid = #map, tile.shared_bytes = 32800 : i64, tile.threads = 160 : i32} {
    %true = arith.constant true
    %false = arith.constant false
    %i0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : index
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !slots
    %bs = tile.alloc_shared {tile.offset = 16384 : i64} : !slots
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>, tile.offset = 32768 : i64} : !slots, !slots -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %zero = arith.constant dense<0.000000e+00> : !acc
        %start = tile.cursor : !cursor
        %k = memref.dim %A, %c1 : memref<?x?xf16>
        %bx = gpu.block_id  x
        %by = gpu.block_id  y
        %steps = arith.ceildivsi %k, %c64 : index
        %l:4 = scf.for %step = %c0 to %steps step %c1 iter_args(%c = %zero, %q = %start, %late = %start, %any = %false) -> (!acc, !cursor, !cursor, i1) {
          %bit = memref.load %mask[%step] : memref<?xi32>
          %on = arith.cmpi ne, %bit, %i0 : i32
          %late_n = arith.select %on, %q, %late : !cursor
          %any_n = arith.select %on, %true, %any : i1
          %next:2 = scf.if %on -> (!acc, !cursor) {
            tile.wait %ch[%q] : !channel
            %a = tile.slot %as[%q] : !slots -> !slot
            %b = tile.slot %bs[%q] : !slots -> !slot
            %d = tile.gemm %a, %b, %c {async, tile.inst = #tile.inst<wgmma>} : !slot, !slot -> !acc
            tile.gemm_wait {pending = 1 : i64}
            scf.if %any {
              tile.release %ch[%late] : !channel
            }
            %qn = tile.advance %q : !cursor
            scf.yield %d, %qn : !acc, !cursor
          } else {
            scf.yield %c, %q : !acc, !cursor
          }
          scf.yield %next#0, %next#1, %late_n, %any_n : !acc, !cursor, !cursor, i1
        }
        %done = tile.gemm_wait %l#0 : !acc
        scf.if %l#3 {
          tile.release %ch[%l#2] : !channel
        }
        %y = arith.muli %by, %c64 : index
        %x = arith.muli %bx, %c64 : index
        tile.store %done to %C[%y, %x] : !acc to memref<?x?xf32>
      }
      tile.role @load warps(1) {
        %start = tile.cursor : !cursor
        %k = memref.dim %A, %c1 : memref<?x?xf16>
        %bx = gpu.block_id  x
        %by = gpu.block_id  y
        %steps = arith.ceildivsi %k, %c64 : index
        %l = scf.for %step = %c0 to %steps step %c1 iter_args(%p = %start) -> (!cursor) {
          %bit = memref.load %mask[%step] : memref<?xi32>
          %on = arith.cmpi ne, %bit, %i0 : i32
          %next = scf.if %on -> (!cursor) {
            %y = arith.muli %by, %c64 : index
            %z = arith.muli %step, %c64 : index
            tile.acquire %ch[%p] : !channel
            %a = tile.slot %as[%p] : !slots -> !slot
            tile.copy %A[%y, %z] to %a {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !slot
            %x = arith.muli %bx, %c64 : index
            %b = tile.slot %bs[%p] : !slots -> !slot
            tile.copy %B[%z, %x] to %b {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !slot
            tile.commit %ch[%p] : !channel
            %pn = tile.advance %p : !cursor
            scf.yield %pn : !cursor
          } else {
            scf.yield %p : !cursor
          }
          scf.yield %next : !cursor
        }
      }
    }
    gpu.return
  }
}
