// Kernels that together give each pass of the pipelines something to do.

#smem = #gpu.address_space<workgroup>
#tiles = affine_map<()[m, k, k1, n, m1, n1] -> (n ceildiv 32, m ceildiv 64)>
#rows = affine_map<()[m, s, s1, m1] -> (m ceildiv 64)>
!A = memref<64x16xf16, #smem>
!B = memref<16x32xf16, #smem>
!wideA = memref<64x64xf16, #smem>
!wideB = memref<64x128xf16, #smem>

gpu.module @kernels {
  // Blocks share the iterations of a tile.
  gpu.func @split(
      %a: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>},
      %b: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>},
      %c: memref<?x?xf32>) kernel attributes {
      tile.threads = 128 : i32, tile.grid = #tiles,
      tile.rasterize = #tile.rasterize<row, panel = 2>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    %k = memref.dim %a, %c1 : memref<?x?xf16>
    %bx = gpu.block_id x
    %by = gpu.block_id y
    %m = arith.muli %by, %c64 : index
    %n = affine.apply affine_map<(d0) -> (d0 * 32)>(%bx)
    %as = tile.alloc_shared : !A
    %bs = tile.alloc_shared : !B
    %steps = arith.ceildivsi %k, %c16 : index
    %sum = scf.for %i = %c0 to %steps step %c1 iter_args(%acc = %zero) -> (tensor<64x32xf32>) {
      %at = arith.muli %i, %c16 : index
      tile.copy %a[%m, %at] to %as : memref<?x?xf16> to !A
      tile.copy %b[%at, %n] to %bs : memref<?x?xf16> to !B
      %next = tile.gemm %as, %bs, %acc : !A, !B -> tensor<64x32xf32>
      scf.yield %next : tensor<64x32xf32>
    } {tile.num_stages = 2 : i32, tile.split_k = 3 : i32}
    tile.atomic_rmw <add> %sum to %c[%m, %n] : tensor<64x32xf32> to memref<?x?xf32>
    gpu.return
  }

  // Blocks share the iterations of all tiles.
  gpu.func @streamed(
      %a: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>},
      %b: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>},
      %c: memref<?x?xf32>) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    %m = memref.dim %c, %c0 : memref<?x?xf32>
    %n = memref.dim %c, %c1 : memref<?x?xf32>
    %k = memref.dim %a, %c1 : memref<?x?xf16>
    %as = tile.alloc_shared : !A
    %bs = tile.alloc_shared : !B
    %tiles_m = arith.ceildivsi %m, %c64 : index
    %tiles_n = arith.ceildivsi %n, %c32 : index
    %steps = arith.ceildivsi %k, %c16 : index
    tile.persistent (%x, %y) in (%tiles_n, %tiles_m) {
      %row = arith.muli %y, %c64 : index
      %column = arith.muli %x, %c32 : index
      %sum = scf.for %i = %c0 to %steps step %c1 iter_args(%acc = %zero) -> (tensor<64x32xf32>) {
        %at = arith.muli %i, %c16 : index
        tile.copy %a[%row, %at] to %as : memref<?x?xf16> to !A
        tile.copy %b[%at, %column] to %bs : memref<?x?xf16> to !B
        %next = tile.gemm %as, %bs, %acc : !A, !B -> tensor<64x32xf32>
        scf.yield %next : tensor<64x32xf32>
      } {tile.num_stages = 3 : i32, tile.stream_k}
      tile.atomic_rmw <add> %sum to %c[%row, %column] : tensor<64x32xf32> to memref<?x?xf32>
    }
    gpu.return
  }

  // Two roles take tiles alternately, and the blocks of a cluster share copies.
  gpu.func @alternating(
      %a: memref<?x?xf16> {tile.divisible = array<i64: 1, 16>},
      %b: memref<?x?xf16> {tile.divisible = array<i64: 1, 16>},
      %c: memref<?x?xf16> {tile.divisible = array<i64: 1, 16>}) kernel attributes {
      tile.threads = 128 : i32, tile.cluster = array<i32: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : tensor<64x128xf32>
    %m = memref.dim %c, %c0 : memref<?x?xf16>
    %n = memref.dim %c, %c1 : memref<?x?xf16>
    %k = memref.dim %a, %c1 : memref<?x?xf16>
    %as = tile.alloc_shared : !wideA
    %bs = tile.alloc_shared : !wideB
    %tiles_n = arith.ceildivsi %n, %c128 : index
    %pairs = arith.ceildivsi %m, %c128 : index
    %tiles_m = arith.muli %pairs, %c2 : index
    %steps = arith.ceildivsi %k, %c64 : index
    tile.persistent (%x, %y) in (%tiles_n, %tiles_m) {
      %row = arith.muli %y, %c64 : index
      %column = arith.muli %x, %c128 : index
      %sum = scf.for %i = %c0 to %steps step %c1 iter_args(%acc = %zero) -> (tensor<64x128xf32>) {
        %at = arith.muli %i, %c64 : index
        tile.copy %a[%row, %at] to %as : memref<?x?xf16> to !wideA
        tile.copy %b[%at, %column] to %bs : memref<?x?xf16> to !wideB
        %next = tile.gemm %as, %bs, %acc : !wideA, !wideB -> tensor<64x128xf32>
        scf.yield %next : tensor<64x128xf32>
      } {tile.num_stages = 4 : i32}
      %narrow = arith.truncf %sum : tensor<64x128xf32> to tensor<64x128xf16>
      tile.store %narrow to %c[%row, %column] : tensor<64x128xf16> to memref<?x?xf16>
    } {rasterize = #tile.rasterize<row, panel = 16>, tile.ping_pong}
    gpu.return
  }

  // Two matmuls in a loop, a tile that is read throughout, and a function of f16.
  gpu.func @attention(
      %q: memref<?x64xf16>, %k: memref<?x64xf16>, %v: memref<?x64xf16>,
      %y: memref<?x64xf16>) kernel attributes {tile.threads = 128 : i32, tile.grid = #rows} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %lowest = arith.constant dense<-1.0e+30> : tensor<64xf32>
    %none = arith.constant dense<0.0> : tensor<64xf32>
    %extent = memref.dim %k, %c0 : memref<?x64xf16>
    %steps = arith.ceildivsi %extent, %c64 : index
    %bx = gpu.block_id x
    %row = arith.muli %bx, %c64 : index
    %qs = tile.alloc_shared : !wideA
    %ks = tile.alloc_shared : !wideA
    %vs = tile.alloc_shared : !wideA
    tile.copy %q[%row, 0] to %qs : memref<?x64xf16> to !wideA
    %r:3 = scf.for %i = %c0 to %steps step %c1
        iter_args(%sum = %none, %acc = %zero, %top = %lowest)
        -> (tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>) {
      %at = arith.muli %i, %c64 : index
      tile.copy %k[%at, 0] to %ks : memref<?x64xf16> to !wideA
      %scores = tile.gemm %qs, %ks, %zero {policy = #tile.warps<full_row>, transpose_rhs}
        : !wideA, !wideA -> tensor<64x64xf32>
      %best = tile.reduce <max> %scores {axis = 1 : i64} : tensor<64x64xf32> -> tensor<64xf32>
      %next_top = arith.maximumf %top, %best : tensor<64xf32>
      %column = tile.expand_dims %next_top {axis = 1 : i64} : tensor<64xf32> -> tensor<64x1xf32>
      %tops = tile.broadcast %column : tensor<64x1xf32> -> tensor<64x64xf32>
      %less = arith.subf %scores, %tops : tensor<64x64xf32>
      %p = math.exp2 %less : tensor<64x64xf32>
      %change = arith.subf %top, %next_top : tensor<64xf32>
      %scale = math.exp2 %change : tensor<64xf32>
      %scaled_sum = arith.mulf %sum, %scale : tensor<64xf32>
      %part = tile.reduce <sum> %p {axis = 1 : i64} : tensor<64x64xf32> -> tensor<64xf32>
      %next_sum = arith.addf %scaled_sum, %part : tensor<64xf32>
      tile.copy %v[%at, 0] to %vs : memref<?x64xf16> to !wideA
      %p16 = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xf16>
      %scales = tile.expand_dims %scale {axis = 1 : i64} : tensor<64xf32> -> tensor<64x1xf32>
      %all_scales = tile.broadcast %scales : tensor<64x1xf32> -> tensor<64x64xf32>
      %scaled = arith.mulf %acc, %all_scales : tensor<64x64xf32>
      %next = tile.gemm %p16, %vs, %scaled {policy = #tile.warps<full_row>}
        : tensor<64x64xf16>, !wideA -> tensor<64x64xf32>
      scf.yield %next_sum, %next, %next_top : tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>
    } {tile.num_stages = 2 : i32}
    %sums = tile.expand_dims %r#0 {axis = 1 : i64} : tensor<64xf32> -> tensor<64x1xf32>
    %all_sums = tile.broadcast %sums : tensor<64x1xf32> -> tensor<64x64xf32>
    %mean = arith.divf %r#1, %all_sums : tensor<64x64xf32>
    %mean16 = arith.truncf %mean : tensor<64x64xf32> to tensor<64x64xf16>
    %out = math.tanh %mean16 : tensor<64x64xf16>
    tile.store %out to %y[%row, 0] : tensor<64x64xf16> to memref<?x64xf16>
    gpu.return
  }
}
