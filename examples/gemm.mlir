// A matmul with a fused epilogue: C = relu(A @ B^T + bias). The same kernel in
// Python is examples/gemm.py.
//
//   tilews-translate --to=ptx --chip=sm_90a examples/gemm.mlir

#smem = #gpu.address_space<workgroup>
// Symbols: M, K of A; N, K of B; N of bias; M, N of C.
#grid = affine_map<()[m, k, n, k1, n1, m1, n2] -> (n ceildiv 128, m ceildiv 128)>

gpu.module @kernels {
  gpu.func @gemm(
      %A: memref<?x?xf16> {tile.name = "A", tile.symbols = ["M", "K"],
                           tile.divisible = array<i64: 1, 8>},
      %B: memref<?x?xf16> {tile.name = "B", tile.symbols = ["N", "K"],
                           tile.divisible = array<i64: 1, 8>},
      %bias: memref<?xf32> {tile.name = "bias", tile.symbols = ["N"],
                            tile.divisible = array<i64: 8>},
      %C: memref<?x?xf16> {tile.name = "C", tile.symbols = ["M", "N"],
                           tile.divisible = array<i64: 1, 8>})
      kernel attributes {tile.grid = #grid, tile.threads = 256 : i32,
                         tile.rasterize = #tile.rasterize<row, panel = 8>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : tensor<128x128xf32>

    %bx = gpu.block_id x
    %by = gpu.block_id y
    %m = arith.muli %by, %c128 : index
    %n = arith.muli %bx, %c128 : index
    %K = memref.dim %A, %c1 : memref<?x?xf16>
    %steps = arith.ceildivsi %K, %c64 : index

    %As = tile.alloc_shared : memref<128x64xf16, #smem>
    %Bs = tile.alloc_shared : memref<128x64xf16, #smem>
    %acc = scf.for %i = %c0 to %steps step %c1 iter_args(%sum = %zero)
        -> (tensor<128x128xf32>) {
      %k = arith.muli %i, %c64 : index
      tile.copy %A[%m, %k] to %As : memref<?x?xf16> to memref<128x64xf16, #smem>
      tile.copy %B[%n, %k] to %Bs : memref<?x?xf16> to memref<128x64xf16, #smem>
      %next = tile.gemm %As, %Bs, %sum {transpose_rhs}
        : memref<128x64xf16, #smem>, memref<128x64xf16, #smem> -> tensor<128x128xf32>
      scf.yield %next : tensor<128x128xf32>
    } {tile.num_stages = 3 : i32}

    %columns = tile.load %bias[%n] : memref<?xf32> -> tensor<128xf32>
    %row = tile.expand_dims %columns {axis = 0 : i64} : tensor<128xf32> -> tensor<1x128xf32>
    %rows = tile.broadcast %row : tensor<1x128xf32> -> tensor<128x128xf32>
    %biased = arith.addf %acc, %rows : tensor<128x128xf32>
    %relu = arith.maximumf %biased, %zero : tensor<128x128xf32>
    %result = arith.truncf %relu : tensor<128x128xf32> to tensor<128x128xf16>
    tile.store %result to %C[%m, %n] : tensor<128x128xf16> to memref<?x?xf16>
    gpu.return
  }
}
