// The softmax of each row of a matrix. In Python: examples/softmax.py.
//
//   tilews-translate --to=asm --chip=gfx942 examples/softmax.mlir

// Symbols: M, N of X; M, N of Y. A block computes a row.
#grid = affine_map<()[m, n, m1, n1] -> (m)>

gpu.module @kernels {
  gpu.func @softmax(
      %X: memref<?x?xf32> {tile.name = "X", tile.symbols = ["M", "N"],
                           tile.divisible = array<i64: 1, 4>},
      %Y: memref<?x?xf32> {tile.name = "Y", tile.symbols = ["M", "N"],
                           tile.divisible = array<i64: 1, 4>})
      kernel attributes {tile.grid = #grid, tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c1024 = arith.constant 1024 : index
    %lowest = arith.constant 0xFF800000 : f32
    %none = arith.constant dense<0xFF800000> : tensor<1x1xf32>
    %zero = arith.constant dense<0.0> : tensor<1x1xf32>

    %row = gpu.block_id x
    %N = memref.dim %X, %c1 : memref<?x?xf32>
    %steps = arith.ceildivsi %N, %c1024 : index

    // The running maximum, and the sum of the exponentials relative to it.
    %max, %sum = scf.for %i = %c0 to %steps step %c1
        iter_args(%top = %none, %total = %zero) -> (tensor<1x1xf32>, tensor<1x1xf32>) {
      %n = arith.muli %i, %c1024 : index
      %x = tile.load %X[%row, %n] pad %lowest : memref<?x?xf32> -> tensor<1x1024xf32>
      %m = tile.reduce <max> %x {axis = 1 : i64} : tensor<1x1024xf32> -> tensor<1xf32>
      %m2 = tile.expand_dims %m {axis = 1 : i64} : tensor<1xf32> -> tensor<1x1xf32>
      %higher = arith.maximumf %top, %m2 : tensor<1x1xf32>
      %fall = arith.subf %top, %higher : tensor<1x1xf32>
      %scale = math.exp %fall : tensor<1x1xf32>
      %scaled = arith.mulf %total, %scale : tensor<1x1xf32>
      %higher_row = tile.broadcast %higher : tensor<1x1xf32> -> tensor<1x1024xf32>
      %shifted = arith.subf %x, %higher_row : tensor<1x1024xf32>
      %e = math.exp %shifted : tensor<1x1024xf32>
      %s = tile.reduce <sum> %e {axis = 1 : i64} : tensor<1x1024xf32> -> tensor<1xf32>
      %s2 = tile.expand_dims %s {axis = 1 : i64} : tensor<1xf32> -> tensor<1x1xf32>
      %next = arith.addf %scaled, %s2 : tensor<1x1xf32>
      scf.yield %higher, %next : tensor<1x1xf32>, tensor<1x1xf32>
    }

    scf.for %i = %c0 to %steps step %c1 {
      %n = arith.muli %i, %c1024 : index
      %x = tile.load %X[%row, %n] : memref<?x?xf32> -> tensor<1x1024xf32>
      %max_row = tile.broadcast %max : tensor<1x1xf32> -> tensor<1x1024xf32>
      %shifted = arith.subf %x, %max_row : tensor<1x1024xf32>
      %e = math.exp %shifted : tensor<1x1024xf32>
      %sum_row = tile.broadcast %sum : tensor<1x1xf32> -> tensor<1x1024xf32>
      %y = arith.divf %e, %sum_row : tensor<1x1024xf32>
      tile.store %y to %Y[%row, %n] : tensor<1x1024xf32> to memref<?x?xf32>
    }
    gpu.return
  }
}
