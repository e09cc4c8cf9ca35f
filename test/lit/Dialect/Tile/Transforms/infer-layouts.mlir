// RUN: tilews-opt %s -split-input-file -tile-annotate-instructions -tile-infer-layouts | FileCheck %s

// A matmul for each family of instructions. The accumulator's layout reaches the loop,
// the zero, the epilogue and the row that is added. Shared operands get panels with the
// widest swizzle.

#wg = #gpu.address_space<workgroup>
// CHECK-LABEL: gpu.module @sm90a
gpu.module @sm90a [#nvvm.target<chip = "sm_90a">] {
  // CHECK: gpu.func @gemm({{.*}}) kernel attributes {tile.threads = 128 : i32}
  gpu.func @gemm(%C: memref<?x?xf16>, %bias: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    // CHECK: tile.alloc_shared : memref<128x64xf16, #tile.shared<(128, 64):(64, 1), Sw<3,4,3>>,
    %a = tile.alloc_shared : memref<128x64xf16, #wg>
    // CHECK: tile.alloc_shared : memref<64x128xf16, #tile.shared<(64, (64, 2)):(64, (1, 4096)), Sw<3,4,3>>,
    %b = tile.alloc_shared : memref<64x128xf16, #wg>
    // CHECK: arith.constant dense<0.000000e+00> : tensor<128x128xf32, #[[ACC:.*]]>
    %zero = arith.constant dense<0.0> : tensor<128x128xf32>
    // CHECK: scf.for {{.*}} -> (tensor<128x128xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 16, 2):(1*d1, 8*d0, 8*d1, 64*d0)>>)
    %acc = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> tensor<128x128xf32> {
      %d = tile.gemm %a, %b, %c : memref<128x64xf16, #wg>, memref<64x128xf16, #wg> -> tensor<128x128xf32>
      scf.yield %d : tensor<128x128xf32>
    }
    // CHECK: tile.load {{.*}} -> tensor<128xf32, #tile.fragment<thread = (4, 32):(2*d0, 0), value = (2, 16):(1*d0, 8*d0)>>
    %row = tile.load %bias[%n] : memref<?xf32> -> tensor<128xf32>
    %e = tile.expand_dims %row {axis = 0 : i64} : tensor<128xf32> -> tensor<1x128xf32>
    // CHECK-NOT: tile.convert_layout
    %f = tile.broadcast %e : tensor<1x128xf32> -> tensor<128x128xf32>
    %g = arith.addf %acc, %f : tensor<128x128xf32>
    %h = arith.truncf %g : tensor<128x128xf32> to tensor<128x128xf16>
    // CHECK: tile.store {{.*}} : tensor<128x128xf16, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 16, 2):(1*d1, 8*d0, 8*d1, 64*d0)>>
    tile.store %h to %C[%n, %n] : tensor<128x128xf16> to memref<?x?xf16>
    gpu.return
  }

  // Two matmuls. The first one's result is the left operand of the second: wgmma's
  // accumulator and its left operand in registers have the same order of registers.
  // CHECK-LABEL: gpu.func @chain
  gpu.func @chain(%C: memref<64x64xf32>) kernel {
    %a = tile.alloc_shared : memref<64x32xf16, #wg>
    %b = tile.alloc_shared : memref<64x32xf16, #wg>
    %v = tile.alloc_shared : memref<64x64xf16, #wg>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    // CHECK: memref<64x32xf16, #tile.shared<(64, 32):(32, 1), Sw<2,4,3>>
    %s = tile.gemm %a, %b, %zero {transpose_rhs} : memref<64x32xf16, #wg>, memref<64x32xf16, #wg> -> tensor<64x64xf32>
    // CHECK: tile.reduce {{.*}} -> tensor<64xf32, #tile.fragment<thread = (4, 8, 4):(0, 1*d0, 16*d0), value = (2):(8*d0)>>
    %m = tile.reduce <max> %s {axis = 1 : i64} : tensor<64x64xf32> -> tensor<64xf32>
    %e = tile.expand_dims %m {axis = 1 : i64} : tensor<64xf32> -> tensor<64x1xf32>
    %x = tile.broadcast %e : tensor<64x1xf32> -> tensor<64x64xf32>
    %d = arith.subf %s, %x : tensor<64x64xf32>
    %p = math.exp2 %d : tensor<64x64xf32>
    %h = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xf16>
    // CHECK-NOT: tile.convert_layout
    // CHECK: tile.gemm {{.*}} : tensor<64x64xf16, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>, memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> -> tensor<64x64xf32,
    %o = tile.gemm %h, %v, %zero : tensor<64x64xf16>, memref<64x64xf16, #wg> -> tensor<64x64xf32>
    tile.store %o to %C : tensor<64x64xf32> to memref<64x64xf32>
    gpu.return
  }
}

// -----

#wg = #gpu.address_space<workgroup>
// CHECK-LABEL: gpu.module @sm80
gpu.module @sm80 [#nvvm.target<chip = "sm_80">] {
  // CHECK: tile.gemm {{.*}} -> tensor<128x64xf32, #tile.fragment<thread = (4, 8, 2, 2):(2*d1, 1*d0, 64*d0, 32*d1), value = (2, 2, 4, 4):(1*d1, 8*d0, 8*d1, 16*d0)>>
  gpu.func @gemm(%X: memref<128x64xf32>) kernel {
    %a = tile.alloc_shared : memref<128x48xf16, #wg>
    %b = tile.alloc_shared : memref<48x64xf16, #wg>
    %x = tile.load %X : memref<128x64xf32> -> tensor<128x64xf32>
    %c = tile.gemm %a, %b, %x : memref<128x48xf16, #wg>, memref<48x64xf16, #wg> -> tensor<128x64xf32>
    tile.store %c to %X : tensor<128x64xf32> to memref<128x64xf32>
    gpu.return
  }

  // The left operand of mma has another order of registers than its accumulator.
  // Operations between the two have the accumulator's layout.
  // CHECK-LABEL: gpu.func @chain
  // CHECK: math.exp2 {{.*}} : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 2, 2):(2*d1, 1*d0, 32*d0, 32*d1)
  // CHECK: %[[H:.*]] = arith.truncf
  // CHECK: %[[L:.*]] = tile.convert_layout %[[H]] {{.*}} to tensor<64x64xf16, #tile.fragment<thread = (4, 8, 2, 2):(2*d1, 1*d0, 32*d0, 0), value = (2, 2, 8, 2):(1*d1, 8*d0, 8*d1, 16*d0)>>
  // CHECK: tile.gemm %[[L]],
  gpu.func @chain(%C: memref<64x64xf32>) kernel {
    %a = tile.alloc_shared : memref<64x32xf16, #wg>
    %b = tile.alloc_shared : memref<64x32xf16, #wg>
    %v = tile.alloc_shared : memref<64x64xf16, #wg>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %s = tile.gemm %a, %b, %zero {transpose_rhs} : memref<64x32xf16, #wg>, memref<64x32xf16, #wg> -> tensor<64x64xf32>
    %p = math.exp2 %s : tensor<64x64xf32>
    %h = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xf16>
    %o = tile.gemm %h, %v, %zero : tensor<64x64xf16>, memref<64x64xf16, #wg> -> tensor<64x64xf32>
    tile.store %o to %C : tensor<64x64xf32> to memref<64x64xf32>
    gpu.return
  }

  // One fragment is an operand and the accumulator of a matmul.
  // CHECK-LABEL: gpu.func @square
  // CHECK: %[[X:.*]] = tile.load {{.*}} -> tensor<64x64xf16, #[[LHS:tile.fragment<.*>]]>
  // CHECK: %[[R:.*]] = tile.convert_layout %[[X]]
  // CHECK: tile.gemm %[[X]], %[[R]],
  gpu.func @square(%A: memref<64x64xf16>, %C: memref<64x64xf32>) kernel {
    %x = tile.load %A : memref<64x64xf16> -> tensor<64x64xf16>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %o = tile.gemm %x, %x, %zero : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    tile.store %o to %C : tensor<64x64xf32> to memref<64x64xf32>
    gpu.return
  }
}

// -----

#wg = #gpu.address_space<workgroup>
// CHECK-LABEL: gpu.module @gfx942
gpu.module @gfx942 [#rocdl.target<chip = "gfx942">] {
  // CHECK: tile.gemm {{.*}} -> tensor<128x64xf32, #tile.fragment<thread = (32, 2, 4):(1*d1, 4*d0, 32*d0), value = (4, 4, 2):(1*d0, 8*d0, 32*d1)>>
  gpu.func @gemm(%X: memref<128x64xf32>) kernel attributes {tile.threads = 256 : i32} {
    %a = tile.alloc_shared : memref<128x64xf16, #wg>
    %b = tile.alloc_shared : memref<64x64xf16, #wg>
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %c = tile.gemm %a, %b, %zero {policy = #tile.warps<full_row>} : memref<128x64xf16, #wg>, memref<64x64xf16, #wg> -> tensor<128x64xf32>
    tile.store %c to %X : tensor<128x64xf32> to memref<128x64xf32>
    gpu.return
  }
}

// -----

#wg = #gpu.address_space<workgroup>
// CHECK-LABEL: gpu.module @gfx1100
gpu.module @gfx1100 [#rocdl.target<chip = "gfx1100">] {
  // CHECK: tile.gemm {{.*}} -> tensor<128x64xf32, #tile.fragment<thread = (16, 2, 2, 2):(1*d1, 1*d0, 64*d0, 32*d1), value = (8, 2, 4):(2*d0, 16*d1, 16*d0)>>
  gpu.func @gemm(%X: memref<128x64xf32>) kernel {
    %a = tile.alloc_shared : memref<128x64xf16, #wg>
    %b = tile.alloc_shared : memref<64x64xf16, #wg>
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %c = tile.gemm %a, %b, %zero : memref<128x64xf16, #wg>, memref<64x64xf16, #wg> -> tensor<128x64xf32>
    tile.store %c to %X : tensor<128x64xf32> to memref<128x64xf32>
    gpu.return
  }
}

// -----

// No matrix instruction: fragments go through shared memory. A row of 24 elements gets
// 8 of 96 threads, not 6, because the lanes of a warp are divided by powers of two.

// CHECK-LABEL: gpu.func @simt
// CHECK: %[[A:.*]] = tile.load {{.*}} -> tensor<24x20xf32, #tile.fragment<thread = (8, 12):(4*d1, 1*d0), value = (4, 2):(1*d1, 12*d0)>>
// CHECK: %[[AS:.*]] = tile.alloc_shared : memref<24x20xf32, #tile.shared<(24, 20):(20, 1)>,
// CHECK: tile.store %[[A]] to %[[AS]]
// CHECK: %[[BS:.*]] = tile.alloc_shared : memref<20x24xf32, #tile.shared<(20, 24):(24, 1)>,
// CHECK: tile.gemm %[[AS]], %[[BS]], {{.*}} -> tensor<24x24xf32, #tile.fragment<thread = (8, 12):(4*d1, 1*d0), value = (4, 2):(1*d1, 12*d0)>>
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @simt(%A: memref<24x20xf32>, %B: memref<20x24xf32>, %C: memref<24x24xf32>) kernel attributes {tile.threads = 96 : i32} {
    %a = tile.load %A : memref<24x20xf32> -> tensor<24x20xf32>
    %b = tile.load %B : memref<20x24xf32> -> tensor<20x24xf32>
    %z = arith.constant dense<0.0> : tensor<24x24xf32>
    %c = tile.gemm %a, %b, %z : tensor<24x20xf32>, tensor<20x24xf32> -> tensor<24x24xf32>
    tile.store %c to %C : tensor<24x24xf32> to memref<24x24xf32>
    gpu.return
  }
}

// -----

// Row softmax: the row keeps the layout in which it was loaded, and all threads hold
// the maximum and the sum. The extent 1000 allows vectors of four.

// CHECK-LABEL: gpu.func @softmax
// CHECK: tile.load {{.*}} -> tensor<1x1024xf32, #tile.fragment<thread = (128):(4*d1), value = (4, 2):(1*d1, 512*d1)>>
// CHECK: tile.reduce {{.*}} -> tensor<1xf32, #tile.fragment<thread = (128):(0), value = ():()>>
// CHECK-NOT: convert_layout
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @softmax(%X: memref<64x1000xf32>, %i: index) kernel {
    %x = tile.load %X[%i, 0] : memref<64x1000xf32> -> tensor<1x1024xf32>
    %m = tile.reduce <max> %x {axis = 1 : i64} : tensor<1x1024xf32> -> tensor<1xf32>
    %e = tile.expand_dims %m {axis = 1 : i64} : tensor<1xf32> -> tensor<1x1xf32>
    %b = tile.broadcast %e : tensor<1x1xf32> -> tensor<1x1024xf32>
    %d = arith.subf %x, %b : tensor<1x1024xf32>
    tile.store %d to %X[%i, 0] : tensor<1x1024xf32> to memref<64x1000xf32>
    gpu.return
  }
}

// -----

// Control flow: a value that a branch, a loop or a persistent loop passes on has one
// layout. 160 threads, five rows of 32.

// CHECK-LABEL: gpu.func @control
// CHECK: tile.load {{.*}} -> tensor<64x32xf16, #tile.fragment<[[L:thread = \(4, 40\):\(8\*d1, 1\*d0\), value = \(8, 2\):\(1\*d1, 40\*d0\)]]>>
// CHECK: scf.if {{.*}} -> (tensor<64x32xf16, #tile.fragment<[[L]]>>)
// CHECK: scf.while ({{.*}}) : (tensor<64x32xf16, #tile.fragment<[[L]]>>, index) -> (tensor<64x32xf16, #tile.fragment<[[L]]>>, index)
// CHECK: ^bb0(%{{.*}}: tensor<64x32xf16, #tile.fragment<[[L]]>>, %{{.*}}: index):
// CHECK: tile.persistent {{.*}} -> (tensor<64x32xf16, #tile.fragment<[[L]]>>)
// CHECK: tile.scan {{.*}} : tensor<64x32xf16, #tile.fragment<[[L]]>>
// CHECK-NOT: convert_layout
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @control(%A: memref<64x32xf16>, %p: i1, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tile.load %A : memref<64x32xf16> -> tensor<64x32xf16>
    %zero = arith.constant dense<0.0> : tensor<64x32xf16>
    %i = tile.iota {axis = 1 : i64} : tensor<64x32xi32>
    %k = arith.constant dense<3> : tensor<64x32xi32>
    %cmp = arith.cmpi slt, %i, %k : tensor<64x32xi32>
    %sel = arith.select %cmp, %a, %zero : tensor<64x32xi1>, tensor<64x32xf16>
    %if = scf.if %p -> tensor<64x32xf16> {
      scf.yield %sel : tensor<64x32xf16>
    } else {
      scf.yield %zero : tensor<64x32xf16>
    }
    %w:2 = scf.while (%x = %if, %j = %c0) : (tensor<64x32xf16>, index) -> (tensor<64x32xf16>, index) {
      %lt = arith.cmpi slt, %j, %n : index
      scf.condition(%lt) %x, %j : tensor<64x32xf16>, index
    } do {
    ^bb0(%x: tensor<64x32xf16>, %j: index):
      %x2 = arith.addf %x, %x : tensor<64x32xf16>
      %j2 = arith.addi %j, %c1 : index
      scf.yield %x2, %j2 : tensor<64x32xf16>, index
    }
    %q = tile.persistent (%px, %py) in (%n, %n) iter_args(%v = %zero) -> (tensor<64x32xf16>) {
      %v2 = arith.addf %v, %w#0 : tensor<64x32xf16>
      tile.yield %v2 : tensor<64x32xf16>
    }
    %s = tile.scan <sum> %q {axis = 1 : i64} : tensor<64x32xf16>
    tile.store %s to %A : tensor<64x32xf16> to memref<64x32xf16>
    gpu.return
  }
}

// -----

// Changes of shape. A transpose is free, and so is a reshape whose modes divide the new
// extents. Any other reshape moves elements between threads. All threads hold a scalar
// fragment.

// CHECK-LABEL: gpu.func @shapes
// CHECK: %[[X:.*]] = tile.load {{.*}} -> tensor<64x32xf16, #tile.fragment<thread = (4, 32):(8*d1, 1*d0), value = (8, 2):(1*d1, 32*d0)>>
// CHECK: tile.transpose %[[X]] {{.*}} -> tensor<32x64xf16, #tile.fragment<thread = (4, 32):(8*d0, 1*d1), value = (8, 2):(1*d0, 32*d1)>>
// CHECK: tile.reshape %[[X]] {{.*}} -> tensor<2048xf16, #tile.fragment<thread = (128):(8*d0), value = (8, 2):(1*d0, 1024*d0)>>
// CHECK: tile.reshape %[[X]] {{.*}} -> tensor<2x32x4x8xf16, #tile.fragment<thread = (4, 32):(1*d2, 1*d1), value = (8, 2):(1*d3, 1*d0)>>
// CHECK: tile.reduce {{.*}} -> tensor<f16, #tile.fragment<thread = (128):(0), value = ():()>>
// CHECK: %[[Y:.*]] = tile.load {{.*}} -> tensor<12x25xf32
// CHECK: tile.reshape %[[Y]] {{.*}} -> tensor<300xf32, #tile.fragment<thread = (128):(1*d0), value = (3):(128*d0)>>
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @shapes(%A: memref<64x32xf16>, %B: memref<12x25xf32>) kernel {
    %a = tile.load %A : memref<64x32xf16> -> tensor<64x32xf16>
    %t = tile.transpose %a {permutation = array<i64: 1, 0>} : tensor<64x32xf16> -> tensor<32x64xf16>
    tile.print "t" %t : tensor<32x64xf16>
    %r = tile.reshape %a : tensor<64x32xf16> -> tensor<2048xf16>
    %q = tile.reshape %a : tensor<64x32xf16> -> tensor<2x32x4x8xf16>
    tile.print "q" %q : tensor<2x32x4x8xf16>
    %s = tile.reduce <sum> %r {axis = 0 : i64} : tensor<2048xf16> -> tensor<f16>
    tile.print "s" %s : tensor<f16>
    %b = tile.load %B : memref<12x25xf32> -> tensor<12x25xf32>
    %u = tile.reshape %b : tensor<12x25xf32> -> tensor<300xf32>
    tile.print "u" %u : tensor<300xf32>
    gpu.return
  }
}

// -----

// Given layouts are kept. Fragments are converted where these disagree with an
// instruction or with each other.

#row = #tile.fragment<thread = (32, 4):(1*d1, 1*d0), value = (16):(4*d0)>
#col = #tile.fragment<thread = (64, 2):(1*d0, 1*d1), value = (16):(2*d1)>
#wg = #gpu.address_space<workgroup>
// CHECK-LABEL: gpu.func @given
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @given(%A: memref<64x32xf32>) kernel {
    // A padded buffer is kept, because mma reads any layout.
    // CHECK: tile.alloc_shared : memref<64x64xf16, #tile.shared<(64, 64):(72, 1)>,
    %s = tile.alloc_shared : memref<64x64xf16, #tile.shared<(64, 64):(72, 1)>, #wg>
    %b = tile.alloc_shared : memref<64x32xf16, #wg>
    // CHECK: %[[X:.*]] = tile.load {{.*}} -> tensor<64x32xf32, #tile.fragment<thread = (32, 4):(1*d1, 1*d0), value = (16):(4*d0)>>
    // CHECK: %[[C:.*]] = tile.convert_layout %[[X]]
    // CHECK: %[[G:.*]] = tile.gemm {{.*}}, %[[C]] {tile.inst = #tile.inst<mma>}
    // CHECK: %[[H:.*]] = tile.convert_layout %[[G]] {{.*}} to tensor<64x32xf32, #tile.fragment<thread = (32, 4)
    // CHECK: %[[D:.*]] = tile.convert_layout %[[H]] {{.*}} to tensor<64x32xf32, #tile.fragment<thread = (64, 2)
    // CHECK: tile.store %[[D]]
    %x = tile.load %A : memref<64x32xf32> -> tensor<64x32xf32, #row>
    %g = "tile.gemm"(%s, %b, %x) : (memref<64x64xf16, #tile.shared<(64, 64):(72, 1)>, #wg>, memref<64x32xf16, #wg>, tensor<64x32xf32, #row>) -> tensor<64x32xf32, #row>
    %c = tile.convert_layout %g : tensor<64x32xf32, #row> to tensor<64x32xf32, #col>
    tile.store %c to %A : tensor<64x32xf32, #col> to memref<64x32xf32>
    gpu.return
  }
}

// -----

// Views have the bytes of their source, whatever its layout.

#wg = #gpu.address_space<workgroup>
// CHECK-LABEL: gpu.func @views
// CHECK: tile.view {{.*}} to memref<64x32xf32, #tile.shared<(64, 32):(32, 1), Sw<3,4,3>>,
// CHECK: tile.view {{.*}} to memref<4096xf16, #tile.shared<(4096):(1), Sw<3,4,3>>,
// A row of 64 elements of the view is half of a row of the buffer. It lies in one of
// two panels.
// CHECK: tile.alloc_shared : memref<128x64xf16, #tile.shared<((2, 64), 64):((4096, 64), 1), Sw<3,4,3>>,
// CHECK: tile.view {{.*}} to memref<64x128xf16, #tile.shared<(64, (64, 2)):(64, (1, 4096)), Sw<3,4,3>>,
// Three panels of a row of 96 elements cannot be rows of 64: both are row-major.
// CHECK: tile.alloc_shared : memref<96x64xf16, #tile.shared<(96, 64):(64, 1)>,
// CHECK: tile.view {{.*}} to memref<64x96xf16, #tile.shared<(64, 96):(96, 1)>,
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @views(%X: memref<64x64xf32>) kernel {
    %s = tile.alloc_shared : memref<64x64xf16, #wg>
    %v = tile.view %s : memref<64x64xf16, #wg> to memref<64x32xf32, #wg>
    %w = tile.view %s : memref<64x64xf16, #wg> to memref<4096xf16, #wg>
    %x = tile.load %X : memref<64x64xf32> -> tensor<64x64xf32>
    %c = tile.gemm %s, %s, %x : memref<64x64xf16, #wg>, memref<64x64xf16, #wg> -> tensor<64x64xf32>
    tile.store %c to %X : tensor<64x64xf32> to memref<64x64xf32>
    %zero = arith.constant dense<0.0> : tensor<64x128xf32>
    %t = tile.alloc_shared : memref<128x64xf16, #wg>
    %u = tile.view %t : memref<128x64xf16, #wg> to memref<64x128xf16, #wg>
    %d = tile.gemm %s, %u, %zero : memref<64x64xf16, #wg>, memref<64x128xf16, #wg> -> tensor<64x128xf32>
    tile.print "d" %d : tensor<64x128xf32>
    %zero2 = arith.constant dense<0.0> : tensor<64x96xf32>
    %t2 = tile.alloc_shared : memref<96x64xf16, #wg>
    %u2 = tile.view %t2 : memref<96x64xf16, #wg> to memref<64x96xf16, #wg>
    %d2 = tile.gemm %s, %u2, %zero2 : memref<64x64xf16, #wg>, memref<64x96xf16, #wg> -> tensor<64x96xf32>
    tile.print "d" %d2 : tensor<64x96xf32>
    gpu.return
  }
}

// -----

// A buffer between two layouts of fragments gets a swizzle if one of them scatters over
// its rows. It stays row-major otherwise.

#wg = #gpu.address_space<workgroup>
// CHECK-LABEL: gpu.func @staging
// CHECK: tile.alloc_shared : memref<64x64xf32, #tile.shared<(64, (32, 2)):(32, (1, 2048)), Sw<3,4,3>>,
// CHECK: tile.alloc_shared : memref<64x64xf32, #tile.shared<(64, 64):(64, 1)>,
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @staging(%X: memref<64x64xf32>) kernel {
    %a = tile.alloc_shared : memref<64x64xf16, #wg>
    %x = tile.load %X : memref<64x64xf32> -> tensor<64x64xf32>
    %c = tile.gemm %a, %a, %x : memref<64x64xf16, #wg>, memref<64x64xf16, #wg> -> tensor<64x64xf32>
    %s = tile.alloc_shared : memref<64x64xf32, #wg>
    tile.store %c to %s : tensor<64x64xf32> to memref<64x64xf32, #wg>
    tile.copy %s to %X : memref<64x64xf32, #wg> to memref<64x64xf32>
    %t = tile.alloc_shared : memref<64x64xf32, #wg>
    %y = tile.load %X : memref<64x64xf32> -> tensor<64x64xf32>
    tile.store %y to %t : tensor<64x64xf32> to memref<64x64xf32, #wg>
    gpu.return
  }
}

// -----

// An element narrower than a byte takes one byte in memory: vectors have 16.

#wg = #gpu.address_space<workgroup>
// CHECK-LABEL: gpu.func @narrow
// CHECK: tile.load {{.*}} -> tensor<64x128xi1, #tile.fragment<thread = (8, 16):(16*d1, 1*d0), value = (16, 4):(1*d1, 16*d0)>>
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @narrow(%X: memref<64x128xi1>) kernel {
    %x = tile.load %X : memref<64x128xi1> -> tensor<64x128xi1>
    %s = tile.alloc_shared : memref<64x128xi1, #wg>
    tile.store %x to %s : tensor<64x128xi1> to memref<64x128xi1, #wg>
    gpu.return
  }
}

// -----

// A flip has the layout of its source. Columns stay in the lanes of a warp; a thread holds
// whole columns if rows are reversed, so that nothing moves between warps.

// CHECK-LABEL: gpu.func @flips
// CHECK: tile.load {{.*}} -> tensor<64x64xf32, #tile.fragment<[[L:thread = \(16, 8\):\(4\*d1, 1\*d0\), value = \(4, 8\):\(1\*d1, 8\*d0\)]]>>
// CHECK: tile.flip {{.*}} {axes = array<i64: 1>} : tensor<64x64xf32, #tile.fragment<[[L]]>>
// CHECK-NOT: convert_layout
// CHECK: tile.store
// CHECK: tile.load
// CHECK: tile.flip {{.*}} {axes = array<i64: 0>} : tensor<64x64xf16, #tile.fragment<{{.*}}>>
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @flips(%A: memref<64x64xf32>, %B: memref<64x64xf16>) kernel attributes {tile.threads = 128 : i32} {
    %a = tile.load %A : memref<64x64xf32> -> tensor<64x64xf32>
    %f = tile.flip %a {axes = array<i64: 1>} : tensor<64x64xf32>
    tile.store %f to %A : tensor<64x64xf32> to memref<64x64xf32>
    %b = tile.load %B : memref<64x64xf16> -> tensor<64x64xf16>
    %g = tile.flip %b {axes = array<i64: 0>} : tensor<64x64xf16>
    tile.store %g to %B : tensor<64x64xf16> to memref<64x64xf16>
    gpu.return
  }
}

// -----

// An asynchronous matmul has not written its result when the operation ends, so that the
// result keeps the layout of the instruction, here with half of the columns for each group
// of four warps. It is converted after the wait, once for both matmuls that read it.

#wg = #gpu.address_space<workgroup>
// CHECK-LABEL: gpu.module @unfinished
gpu.module @unfinished [#nvvm.target<chip = "sm_90a">] {
  gpu.func @unfinished(%C: memref<64x128xf32>) kernel attributes {tile.threads = 256 : i32} {
    %a = tile.alloc_shared : memref<64x64xf16, #wg>
    %b = tile.alloc_shared : memref<64x64xf16, #wg>
    %u = tile.alloc_shared : memref<128x64xf32, #wg>
    %v = tile.alloc_shared : memref<128x64xf32, #wg>
    %none = arith.constant dense<0.0> : tensor<64x64xf32>
    %zero = arith.constant dense<0.0> : tensor<64x128xf32>
    // CHECK: %[[STARTED:.*]] = tile.gemm {{.*}}async
    // CHECK-NEXT: %[[DONE:.*]] = tile.gemm_wait %[[STARTED]] : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4, 2):(2*d1, 1*d0, 16*d0, 32*d1),
    // CHECK-NEXT: %[[WHOLE:.*]] = tile.convert_layout %[[DONE]]
    // CHECK-NEXT: tile.gemm %[[WHOLE]]
    // CHECK-NEXT: tile.gemm %[[WHOLE]]
    %s = tile.gemm %a, %b, %none {async, transpose_rhs} : memref<64x64xf16, #wg>, memref<64x64xf16, #wg> -> tensor<64x64xf32>
    %t = tile.gemm_wait %s : tensor<64x64xf32>
    %d = tile.gemm %t, %u, %zero {allow_tf32, transpose_rhs} : tensor<64x64xf32>, memref<128x64xf32, #wg> -> tensor<64x128xf32>
    %e = tile.gemm %t, %v, %d {allow_tf32, transpose_rhs} : tensor<64x64xf32>, memref<128x64xf32, #wg> -> tensor<64x128xf32>
    tile.store %e to %C : tensor<64x128xf32> to memref<64x128xf32>
    gpu.return
  }
}
