// RUN: tilews-opt %s -split-input-file -tile-annotate-instructions -tile-infer-layouts | FileCheck %s

// Attention with all warps along the rows. The row statistics stay with the scores, in
// the four lanes that share a row. The weights are the left operand of the second
// matmul without a conversion.

#wg = #gpu.address_space<workgroup>
// CHECK-LABEL: gpu.module @sm80
// CHECK: scf.for {{.*}} -> (tensor<64x64xf32, #tile.fragment<[[ACC:thread = \(4, 8, 4\):\(2\*d1, 1\*d0, 16\*d0\), value = \(2, 2, 8\):\(1\*d1, 8\*d0, 8\*d1\)]]>>, tensor<64xf32, #tile.fragment<[[ROW:thread = \(4, 8, 4\):\(0, 1\*d0, 16\*d0\), value = \(2\):\(8\*d0\)]]>>)
// CHECK: tile.reduce <max> {{.*}} : tensor<64x64xf32, #tile.fragment<[[ACC]]>> -> tensor<64xf32, #tile.fragment<[[ROW]]>>
// CHECK: tile.broadcast {{.*}} -> tensor<64x64xf32, #tile.fragment<[[ACC]]>>
// CHECK-NOT: tile.convert_layout
// CHECK: tile.gemm {{.*}} : tensor<64x64xf16, #tile.fragment<[[ACC]]>>
// CHECK: scf.yield
gpu.module @sm80 [#nvvm.target<chip = "sm_80">] {
  gpu.func @attention(%O: memref<?x?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %q = tile.alloc_shared : memref<64x64xf16, #wg>
    %k = tile.alloc_shared : memref<64x64xf16, #wg>
    %v = tile.alloc_shared : memref<64x64xf16, #wg>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %low = arith.constant dense<-1.0e30> : tensor<64xf32>
    %r:2 = scf.for %t = %c0 to %n step %c64 iter_args(%o = %zero, %m = %low) -> (tensor<64x64xf32>, tensor<64xf32>) {
      %s = tile.gemm %q, %k, %zero {transpose_rhs, policy = #tile.warps<full_row>} : memref<64x64xf16, #wg>, memref<64x64xf16, #wg> -> tensor<64x64xf32>
      %x = tile.reduce <max> %s {axis = 1 : i64} : tensor<64x64xf32> -> tensor<64xf32>
      %m2 = arith.maximumf %m, %x : tensor<64xf32>
      %e = tile.expand_dims %m2 {axis = 1 : i64} : tensor<64xf32> -> tensor<64x1xf32>
      %b = tile.broadcast %e : tensor<64x1xf32> -> tensor<64x64xf32>
      %d = arith.subf %s, %b : tensor<64x64xf32>
      %p = math.exp2 %d : tensor<64x64xf32>
      %h = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xf16>
      %o2 = tile.gemm %h, %v, %o {policy = #tile.warps<full_row>} : tensor<64x64xf16>, memref<64x64xf16, #wg> -> tensor<64x64xf32>
      scf.yield %o2, %m2 : tensor<64x64xf32>, tensor<64xf32>
    }
    tile.store %r#0 to %O[%n, %n] : tensor<64x64xf32> to memref<?x?xf32>
    gpu.return
  }
}

// -----

// An accumulator on CDNA has one column for each lane, a left operand one row. The
// scores are transposed once, within warps, and then reduced in registers.

#wg = #gpu.address_space<workgroup>
// CHECK-LABEL: gpu.module @gfx942
// CHECK: %[[S:.*]] = tile.gemm {{.*}} -> tensor<64x64xf32, #tile.fragment<thread = (32, 2, 2):(1*d1, 4*d0, 32*d0), value = (4, 4, 2):(1*d0, 8*d0, 32*d1)>>
// CHECK: %[[T:.*]] = tile.convert_layout %[[S]] {{.*}} to tensor<64x64xf32, #tile.fragment<thread = (32, 2, 2):(1*d0, 4*d1, 32*d0), value = (4, 8):(1*d1, 8*d1)>>
// CHECK: tile.reduce <max> %[[T]]
// CHECK: %[[H:.*]] = arith.truncf
// CHECK-NOT: tile.convert_layout
// CHECK: tile.gemm %[[H]]
gpu.module @gfx942 [#rocdl.target<chip = "gfx942">] {
  gpu.func @scores(%O: memref<?x?xf32>, %n: index) kernel {
    %q = tile.alloc_shared : memref<64x64xf16, #wg>
    %v = tile.alloc_shared : memref<64x64xf16, #wg>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %s = tile.gemm %q, %v, %zero {transpose_rhs, policy = #tile.warps<full_row>} : memref<64x64xf16, #wg>, memref<64x64xf16, #wg> -> tensor<64x64xf32>
    %x = tile.reduce <max> %s {axis = 1 : i64} : tensor<64x64xf32> -> tensor<64xf32>
    %e = tile.expand_dims %x {axis = 1 : i64} : tensor<64xf32> -> tensor<64x1xf32>
    %b = tile.broadcast %e : tensor<64x1xf32> -> tensor<64x64xf32>
    %d = arith.subf %s, %b : tensor<64x64xf32>
    %p = math.exp2 %d : tensor<64x64xf32>
    %l = tile.reduce <sum> %p {axis = 1 : i64} : tensor<64x64xf32> -> tensor<64xf32>
    tile.print "l" %l : tensor<64xf32>
    %h = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xf16>
    %o = tile.gemm %h, %v, %zero {policy = #tile.warps<full_row>} : tensor<64x64xf16>, memref<64x64xf16, #wg> -> tensor<64x64xf32>
    tile.store %o to %O[%n, %n] : tensor<64x64xf32> to memref<?x?xf32>
    gpu.return
  }
}

// -----

// Layer norm: each warp has a row where there are enough rows, and the scale is
// repeated for each. Vectors are as wide as is best for the narrower type.

// CHECK-LABEL: gpu.func @rows
// CHECK: tile.load {{.*}} -> tensor<4x1024xf32, #tile.fragment<thread = (32, 4):(8*d1, 1*d0), value = (8, 4):(1*d1, 256*d1)>>
// CHECK: tile.load {{.*}} -> tensor<1024xf32, #tile.fragment<thread = (32, 4):(8*d0, 0), value = (8, 4):(1*d0, 256*d0)>>
// CHECK: tile.reduce {{.*}} -> tensor<4xf32, #tile.fragment<thread = (32, 4):(0, 1*d0), value = ():()>>
// CHECK-NOT: tile.convert_layout
// Rows of 229 elements do not fill the lanes. Elements past the end are not accessed.
// CHECK-LABEL: gpu.func @ragged
// CHECK: tile.load {{.*}} -> tensor<4x229xf32, #tile.fragment<thread = (32, 4):(1*d1, 1*d0), value = (8):(32*d1)>>
// CHECK-NOT: tile.convert_layout
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @rows(%X: memref<?x1024xf32>, %G: memref<1024xf32>, %Y: memref<?x1024xf16>, %i: index) kernel {
    %x = tile.load %X[%i, 0] : memref<?x1024xf32> -> tensor<4x1024xf32>
    %g = tile.load %G : memref<1024xf32> -> tensor<1024xf32>
    %s = tile.reduce <sum> %x {axis = 1 : i64} : tensor<4x1024xf32> -> tensor<4xf32>
    %se = tile.expand_dims %s {axis = 1 : i64} : tensor<4xf32> -> tensor<4x1xf32>
    %sb = tile.broadcast %se : tensor<4x1xf32> -> tensor<4x1024xf32>
    %d = arith.subf %x, %sb : tensor<4x1024xf32>
    %ge = tile.expand_dims %g {axis = 0 : i64} : tensor<1024xf32> -> tensor<1x1024xf32>
    %gb = tile.broadcast %ge : tensor<1x1024xf32> -> tensor<4x1024xf32>
    %y = arith.mulf %d, %gb : tensor<4x1024xf32>
    %h = arith.truncf %y : tensor<4x1024xf32> to tensor<4x1024xf16>
    tile.store %h to %Y[%i, 0] : tensor<4x1024xf16> to memref<?x1024xf16>
    gpu.return
  }
  gpu.func @ragged(%X: memref<?x229xf32>, %i: index) kernel {
    %x = tile.load %X[%i, 0] : memref<?x229xf32> -> tensor<4x229xf32>
    %m = tile.reduce <max> %x {axis = 1 : i64} : tensor<4x229xf32> -> tensor<4xf32>
    %e = tile.expand_dims %m {axis = 1 : i64} : tensor<4xf32> -> tensor<4x1xf32>
    %b = tile.broadcast %e : tensor<4x1xf32> -> tensor<4x229xf32>
    %d = arith.subf %x, %b : tensor<4x229xf32>
    tile.store %d to %X[%i, 0] : tensor<4x229xf32> to memref<?x229xf32>
    gpu.return
  }
}

// -----

// The epilogue of a matmul. Where rows are known to be aligned, the four lanes that
// share a row of the accumulator exchange pairs, so that each stores 16 adjacent bytes.
// Eight bytes a lane fill whole sectors already, and stay.

#wg = #gpu.address_space<workgroup>
// CHECK-LABEL: gpu.func @epilogue
// CHECK: %[[H:.*]] = arith.truncf {{.*}} to tensor<128x128xf16, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 16, 2):(1*d1, 8*d0, 8*d1, 64*d0)>>
// CHECK: %[[W:.*]] = tile.convert_layout %[[H]] {{.*}} to tensor<128x128xf16, #tile.fragment<thread = (4, 8, 4):(8*d1, 1*d0, 16*d0), value = (8, 2, 4, 2):(1*d1, 8*d0, 32*d1, 64*d0)>>
// CHECK: tile.store %[[W]]
// CHECK: tile.store %[[H]]
// CHECK: tile.store %{{.*}} : tensor<128x128xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 16, 2):(1*d1, 8*d0, 8*d1, 64*d0)>>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @epilogue(%C: memref<?x128xf16>, %D: memref<?x?xf16>, %E: memref<?x128xf32>, %i: index) kernel {
    %a = tile.alloc_shared : memref<128x64xf16, #wg>
    %b = tile.alloc_shared : memref<64x128xf16, #wg>
    %zero = arith.constant dense<0.0> : tensor<128x128xf32>
    %d = tile.gemm %a, %b, %zero : memref<128x64xf16, #wg>, memref<64x128xf16, #wg> -> tensor<128x128xf32>
    %h = arith.truncf %d : tensor<128x128xf32> to tensor<128x128xf16>
    tile.store %h to %C[%i, 0] : tensor<128x128xf16> to memref<?x128xf16>
    tile.store %h to %D[%i, 0] : tensor<128x128xf16> to memref<?x?xf16>
    tile.store %d to %E[%i, 0] : tensor<128x128xf32> to memref<?x128xf32>
    gpu.return
  }
}

// -----

// The fragments of a role are spread over its own threads. A constant outside of the
// roles is cloned into each of them.

// CHECK-LABEL: gpu.func @roles
// CHECK-NOT: arith.constant dense
// CHECK: tile.role @math warps(4)
// CHECK: arith.constant dense<1.000000e+00> : tensor<512xf32, #tile.fragment<thread = (128):(4*d0), value = (4):(1*d0)>>
// CHECK: tile.load {{.*}} -> tensor<512xf32, #tile.fragment<thread = (128):(4*d0), value = (4):(1*d0)>>
// CHECK: tile.role @load warps(1)
// CHECK: arith.constant dense<1.000000e+00> : tensor<512xf32, #tile.fragment<thread = (32):(4*d0), value = (4, 4):(1*d0, 128*d0)>>
// CHECK: tile.load {{.*}} -> tensor<512xf32, #tile.fragment<thread = (32):(4*d0), value = (4, 4):(1*d0, 128*d0)>>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @roles(%X: memref<512xf32>, %Y: memref<512xf32>) kernel attributes {tile.threads = 160 : i32} {
    %one = arith.constant dense<1.0> : tensor<512xf32>
    tile.specialize {
      tile.role @math warps(4) {
        %x = tile.load %X : memref<512xf32> -> tensor<512xf32>
        %y = arith.addf %x, %one : tensor<512xf32>
        tile.store %y to %X : tensor<512xf32> to memref<512xf32>
      }
      tile.role @load warps(1) {
        %x = tile.load %Y : memref<512xf32> -> tensor<512xf32>
        %y = arith.addf %x, %one : tensor<512xf32>
        tile.store %y to %Y : tensor<512xf32> to memref<512xf32>
      }
    }
    gpu.return
  }
}
