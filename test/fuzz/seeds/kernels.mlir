// Whole kernels that all passes accept. Together they have every operation. The fuzzer
// mutates them more often than other seeds.

gpu.module @hopper [#nvvm.target<chip = "sm_90a">] {
  gpu.func @gemm(%A: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}, %B: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}, %C: memref<?x?xf32>, %K: index) kernel attributes {tile.threads = 128 : i32, tile.rasterize = #tile.rasterize<row, panel = 4>, tile.grid = affine_map<()[s0, s1, s2, s3, s4, s5, s6] -> (s3 ceildiv 128, s0 ceildiv 128)>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %x = gpu.block_id x
    %y = gpu.block_id y
    %m = arith.muli %y, %c128 : index
    %n = arith.muli %x, %c128 : index
    %zero = arith.constant dense<0.0> : tensor<128x128xf32>
    %as = tile.alloc_shared : memref<128x64xf16, #gpu.address_space<workgroup>>
    %bs = tile.alloc_shared {alignment = 1024 : i64} : memref<64x128xf16, #gpu.address_space<workgroup>>
    %acc = scf.for %k = %c0 to %K step %c64 iter_args(%c = %zero) -> (tensor<128x128xf32>) {
      tile.copy %A[%m, %k] to %as : memref<?x?xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>
      tile.copy %B[%k, %n] to %bs : memref<?x?xf16> to memref<64x128xf16, #gpu.address_space<workgroup>>
      %d = tile.gemm %as, %bs, %c : memref<128x64xf16, #gpu.address_space<workgroup>>, memref<64x128xf16, #gpu.address_space<workgroup>> -> tensor<128x128xf32>
      scf.yield %d : tensor<128x128xf32>
    } {tile.num_stages = 3 : i32}
    %e = math.exp %acc : tensor<128x128xf32>
    tile.store %e to %C[%m, %n] : tensor<128x128xf32> to memref<?x?xf32>
    gpu.return
  }
}

// -----

gpu.module @ampere [#nvvm.target<chip = "sm_80">] {
  gpu.func @fragments(%A: memref<?x?xbf16>, %B: memref<?x?xbf16>, %C: memref<?x?xf32>, %n: index, %m: index) kernel attributes {tile.threads = 128 : i32} {
    %c32 = arith.constant 32 : index
    %as = tile.alloc_shared : memref<64x32xbf16, #gpu.address_space<workgroup>>
    tile.persistent (%x, %y) in (%n, %m) {
      %r = arith.muli %y, %c32 : index
      tile.copy %A[%r, %x] to %as : memref<?x?xbf16> to memref<64x32xbf16, #gpu.address_space<workgroup>>
      %b = tile.load %B[%x, 0] : memref<?x?xbf16> -> tensor<48x32xbf16>
      %zero = arith.constant dense<0.0> : tensor<64x48xf32>
      %d = tile.gemm %as, %b, %zero {transpose_rhs, policy = #tile.warps<full_row>} : memref<64x32xbf16, #gpu.address_space<workgroup>>, tensor<48x32xbf16> -> tensor<64x48xf32>
      tile.store %d to %C[%r, %x] : tensor<64x48xf32> to memref<?x?xf32>
    } {rasterize = #tile.rasterize<col, panel = 3>}
    gpu.return
  }
}

// -----

gpu.module @cdna [#rocdl.target<chip = "gfx942">] {
  gpu.func @softmax(%X: memref<?x1000xf32>, %Y: memref<?x1000xf32>, %lowest: f32) kernel attributes {tile.threads = 256 : i32} {
    %r = gpu.block_id x
    %x = tile.load %X[%r, 0] pad %lowest : memref<?x1000xf32> -> tensor<4x1024xf32>
    %m = tile.reduce <max> %x {axis = 1 : i64} : tensor<4x1024xf32> -> tensor<4xf32>
    %m1 = tile.expand_dims %m {axis = 1 : i64} : tensor<4xf32> -> tensor<4x1xf32>
    %mb = tile.broadcast %m1 : tensor<4x1xf32> -> tensor<4x1024xf32>
    %d = arith.subf %x, %mb : tensor<4x1024xf32>
    %e = math.exp %d : tensor<4x1024xf32>
    %s = tile.reduce <sum> %e {axis = 1 : i64} : tensor<4x1024xf32> -> tensor<4xf32>
    %s1 = tile.expand_dims %s {axis = 1 : i64} : tensor<4xf32> -> tensor<4x1xf32>
    %sb = tile.broadcast %s1 : tensor<4x1xf32> -> tensor<4x1024xf32>
    %q = arith.divf %e, %sb : tensor<4x1024xf32>
    tile.store %q to %Y[%r, 0] : tensor<4x1024xf32> to memref<?x1000xf32>
    gpu.return
  }
}

// -----

gpu.module @rdna [#rocdl.target<chip = "gfx1100">] {
  gpu.func @products(%A: memref<64x64xi8>, %B: memref<64x64xi8>, %E: memref<64x16xi8>, %C: memref<64x64xi32>) kernel attributes {tile.threads = 128 : i32} {
    %as = tile.alloc_shared : memref<64x64xi8, #gpu.address_space<workgroup>>
    %bs = tile.alloc_shared : memref<64x64xi8, #gpu.address_space<workgroup>>
    %es = tile.alloc_shared : memref<64x16xi8, #gpu.address_space<workgroup>>
    %b2 = tile.alloc_shared : memref<128x64xi8, #gpu.address_space<workgroup>>
    %c = arith.constant dense<0> : tensor<64x64xi32>
    tile.copy %A to %as : memref<64x64xi8> to memref<64x64xi8, #gpu.address_space<workgroup>>
    tile.copy %B to %bs : memref<64x64xi8> to memref<64x64xi8, #gpu.address_space<workgroup>>
    tile.copy %E to %es : memref<64x16xi8> to memref<64x16xi8, #gpu.address_space<workgroup>>
    tile.copy %B to %b2[0, 0] [64, 64] : memref<64x64xi8> to memref<128x64xi8, #gpu.address_space<workgroup>>
    tile.copy %B to %b2[64, 0] [64, 64] : memref<64x64xi8> to memref<128x64xi8, #gpu.address_space<workgroup>>
    %d = tile.gemm %as, %bs, %c {transpose_lhs} : memref<64x64xi8, #gpu.address_space<workgroup>>, memref<64x64xi8, #gpu.address_space<workgroup>> -> tensor<64x64xi32>
    %s = tile.gemm_sp %as, %es, %b2, %d : memref<64x64xi8, #gpu.address_space<workgroup>>, memref<64x16xi8, #gpu.address_space<workgroup>>, memref<128x64xi8, #gpu.address_space<workgroup>> -> tensor<64x64xi32>
    tile.atomic_rmw <add> %s to %C : tensor<64x64xi32> to memref<64x64xi32>
    gpu.return
  }
}

// -----

gpu.module @shapes [#nvvm.target<chip = "sm_90">] {
  gpu.func @shapes(%A: memref<?x48xf32>, %B: memref<48x?xf32>, %L: memref<?xf32>, %p: i1, %n: index) kernel attributes {tile.threads = 96 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tile.load %A[%n, 0] : memref<?x48xf32> -> tensor<24x48xf32>
    %t = tile.transpose %a {permutation = array<i64: 1, 0>} : tensor<24x48xf32> -> tensor<48x24xf32>
    %s = tile.scan <sum> %t {axis = 0 : i64} : tensor<48x24xf32>
    %fl = tile.flip %s {axes = array<i64: 0, 1>} : tensor<48x24xf32>
    %r = tile.reshape %fl : tensor<48x24xf32> -> tensor<24x48xf32>
    %i = tile.iota {axis = 1 : i64} : tensor<24x48xi32>
    %f = arith.sitofp %i : tensor<24x48xi32> to tensor<24x48xf32>
    %x = arith.addf %r, %f : tensor<24x48xf32>
    %less = arith.cmpf olt, %x, %a : tensor<24x48xf32>
    %sel = arith.select %less, %x, %a : tensor<24x48xi1>, tensor<24x48xf32>
    %all = tile.reduce <all> %less {axis = 0 : i64} : tensor<24x48xi1> -> tensor<48xi1>
    %y = scf.if %p -> (tensor<24x48xf32>) {
      %z = arith.mulf %sel, %sel : tensor<24x48xf32>
      scf.yield %z : tensor<24x48xf32>
    } else {
      scf.yield %sel : tensor<24x48xf32>
    }
    %w:2 = scf.while (%v = %y, %k = %c0) : (tensor<24x48xf32>, index) -> (tensor<24x48xf32>, index) {
      %go = arith.cmpi slt, %k, %n : index
      scf.condition(%go) %v, %k : tensor<24x48xf32>, index
    } do {
    ^bb0(%v: tensor<24x48xf32>, %k: index):
      %u = arith.addf %v, %a : tensor<24x48xf32>
      %k1 = arith.addi %k, %c1 : index
      scf.yield %u, %k1 : tensor<24x48xf32>, index
    }
    tile.store %w#0 to %A[%n, 0] : tensor<24x48xf32> to memref<?x48xf32>
    %line = tile.reduce <absmax> %a {axis = 1 : i64} : tensor<24x48xf32> -> tensor<24xf32>
    tile.store %line to %L[%n] : tensor<24xf32> to memref<?xf32>
    %one = tile.reduce <sum> %line {axis = 0 : i64} : tensor<24xf32> -> tensor<f32>
    tile.print "sum" %one : tensor<f32>
    tile.assert %p, "p" : i1
    gpu.return
  }
}

// -----

gpu.module @bits [#nvvm.target<chip = "sm_80">] {
  gpu.func @bits(%A: memref<64x64xi4>, %F: memref<64x64xf8E4M3FN>, %H: memref<64x64xf16>, %x: f16) kernel attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %s = tile.alloc_shared : memref<64x64xf8E4M3FN, #gpu.address_space<workgroup>>
    %v = tile.view %s : memref<64x64xf8E4M3FN, #gpu.address_space<workgroup>> to memref<4096xf8E4M3FN, #gpu.address_space<workgroup>>
    tile.copy %F to %s : memref<64x64xf8E4M3FN> to memref<64x64xf8E4M3FN, #gpu.address_space<workgroup>>
    %l = tile.load %v : memref<4096xf8E4M3FN, #gpu.address_space<workgroup>> -> tensor<4096xf8E4M3FN>
    %e = arith.extf %l : tensor<4096xf8E4M3FN> to tensor<4096xf16>
    %r = tile.reshape %e : tensor<4096xf16> -> tensor<64x64xf16>
    %a = tile.load %A : memref<64x64xi4> -> tensor<64x64xi4>
    %w = arith.extsi %a : tensor<64x64xi4> to tensor<64x64xi32>
    %h = arith.sitofp %w : tensor<64x64xi32> to tensor<64x64xf16>
    %splat = tensor.splat %x : tensor<64x64xf16>
    %q = arith.mulf %h, %splat : tensor<64x64xf16>
    %z = arith.addf %q, %r : tensor<64x64xf16>
    tile.store %z to %H : tensor<64x64xf16> to memref<64x64xf16>
    memref.store %x, %H[%c0, %c0] : memref<64x64xf16>
    gpu.return
  }
}
