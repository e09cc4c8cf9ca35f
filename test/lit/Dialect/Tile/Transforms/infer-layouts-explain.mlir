// RUN: tilews-opt %s -split-input-file -tile-annotate-instructions -tile-infer-layouts=explain -verify-diagnostics -mlir-print-op-on-diagnostic=false

// A layout that an instruction asks for reaches the loop and the operations after it.

#wg = #gpu.address_space<workgroup>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @product(%C: memref<?x?xf16>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    // expected-remark @below {{layout #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>: required by 'tile.gemm'}}
    %a = tile.alloc_shared : memref<64x64xf16, #wg>
    // expected-remark @below {{layout #tile.shared<(64, 32):(32, 1), Sw<2,4,3>>: required by 'tile.gemm'}}
    %b = tile.alloc_shared : memref<64x32xf16, #wg>
    // expected-remark @below {{fragment is made in each layout it is used in}}
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    // expected-remark @below {{layout #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 4):(1*d1, 8*d0, 8*d1)>: operand layout of 'tile.gemm' (wgmma); cheapest of 2 candidates}}
    %acc = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> tensor<64x32xf32> {
      // expected-note @below {{required by this operation}}
      // expected-remark @below {{layout #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 4):(1*d1, 8*d0, 8*d1)>: result layout of 'tile.gemm' (wgmma); cheapest of 2 candidates}}
      %d = tile.gemm %a, %b, %c : memref<64x64xf16, #wg>, memref<64x32xf16, #wg> -> tensor<64x32xf32>
      scf.yield %d : tensor<64x32xf32>
    }
    // expected-remark @below {{layout #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 4):(1*d1, 8*d0, 8*d1)>: operand layout of 'tile.gemm' (wgmma), through 'arith.truncf'; cheapest of 2 candidates}}
    %h = arith.truncf %acc : tensor<64x32xf32> to tensor<64x32xf16>
    tile.store %h to %C[%n, %n] : tensor<64x32xf16> to memref<?x?xf16>
    gpu.return
  }
}

// -----

// Memory asks for the widest accesses.

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @row(%X: memref<1x1024xf32>, %Y: memref<1xf32>) kernel {
    // expected-remark @below {{layout #tile.fragment<thread = (128):(4*d1), value = (4, 2):(1*d1, 512*d1)>: widest accesses of 'tile.load'; cheapest of 2 candidates}}
    %x = tile.load %X : memref<1x1024xf32> -> tensor<1x1024xf32>
    // expected-remark @below {{layout #tile.fragment<thread = (128):(0), value = ():()>: widest accesses of 'tile.store'}}
    %s = tile.reduce <sum> %x {axis = 1 : i64} : tensor<1x1024xf32> -> tensor<1xf32>
    // expected-note @below {{required by this operation}}
    tile.store %s to %Y : tensor<1xf32> to memref<1xf32>
    gpu.return
  }
}

// -----

// A reduction asks for rows in one warp: four warps have one of four rows each.

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @rows(%X: memref<4x1024xf32>, %Y: memref<4xf32>) kernel {
    // expected-remark @below {{layout #tile.fragment<thread = (32, 4):(4*d1, 1*d0), value = (4, 8):(1*d1, 128*d1)>: 'tile.reduce' stays within warps; cheapest of 2 candidates}}
    %x = tile.load %X : memref<4x1024xf32> -> tensor<4x1024xf32>
    // expected-note @below {{required by this operation}}
    // expected-remark @below {{layout #tile.fragment<thread = (32, 4):(0, 1*d0), value = ():()>: 'tile.reduce' stays within warps, through 'tile.reduce'; cheapest of 3 candidates}}
    %s = tile.reduce <sum> %x {axis = 1 : i64} : tensor<4x1024xf32> -> tensor<4xf32>
    tile.store %s to %Y : tensor<4xf32> to memref<4xf32>
    gpu.return
  }
}

// -----

// A type gives a layout.

#row = #tile.fragment<thread = (32, 4):(1*d1, 1*d0), value = (16):(4*d0)>
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @type(%X: memref<64x32xf32>) kernel {
    // expected-note @below {{required by this operation}}
    // expected-remark @below {{layout #tile.fragment<thread = (32, 4):(1*d1, 1*d0), value = (16):(4*d0)>: given by a type}}
    // expected-remark @below {{tile-layout-0003: accesses 4 bytes at a time, its region allows 16; a thread has no more neighbouring elements in #tile.fragment<thread = (32, 4):(1*d1, 1*d0), value = (16):(4*d0)>}}
    %x = tile.load %X : memref<64x32xf32> -> tensor<64x32xf32, #row>
    // expected-remark @below {{layout #tile.fragment<thread = (32, 4):(1*d0, 1*d1), value = (16):(4*d1)>: given by a type, through 'tile.transpose'}}
    %t = tile.transpose %x {permutation = array<i64: 1, 0>} : tensor<64x32xf32, #row> -> tensor<32x64xf32>
    tile.print "t" %t : tensor<32x64xf32>
    gpu.return
  }
}

// -----

// No operation asks for a layout.

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @nothing() kernel {
    // expected-remark @below {{fragment is made in each layout it is used in}}
    %i = tile.iota {axis = 0 : i64} : tensor<256xi32>
    // expected-remark @below {{layout #tile.fragment<thread = (128):(1*d0), value = (2):(128*d0)>: default layout}}
    %j = arith.addi %i, %i : tensor<256xi32>
    tile.print "j" %j : tensor<256xi32>
    gpu.return
  }
}

// -----

// Shared buffers: with a layout from the type, from a view, with none, and with one
// from fragments that scatter.

#col = #tile.fragment<thread = (32, 4):(1*d0, 1*d1), value = (2, 16):(32*d0, 4*d1)>
#wg = #gpu.address_space<workgroup>
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @buffers(%X: memref<64x64xf32>) kernel {
    // expected-remark @below {{layout #tile.shared<(64, 64):(72, 1)>: given by the type of the buffer}}
    %t = tile.alloc_shared : memref<64x64xf16, #tile.shared<(64, 64):(72, 1)>, #wg>
    // expected-remark @below {{layout #tile.shared<(64):(1)>: default layout}}
    %n = tile.alloc_shared : memref<64xf32, #wg>
    // expected-remark @below {{layout #tile.shared<(64, (32, 2)):(32, (1, 2048)), Sw<3,4,3>>: fewest bank conflicts of accesses}}
    %s = tile.alloc_shared : memref<64x64xf32, #wg>
    // expected-remark @below {{layout #tile.fragment<thread = (32, 4):(1*d0, 1*d1), value = (2, 16):(32*d0, 4*d1)>: given by a type}}
    // expected-remark @below {{tile-layout-0002: 4-way bank conflicts in shared memory: threads 0 and 8 access different words of one bank; give the buffer a swizzled or padded layout, or the fragment another one}}
    %x = tile.load %s : memref<64x64xf32, #wg> -> tensor<64x64xf32, #col>
    // expected-remark @below {{tile-layout-0003: accesses 4 bytes at a time, its region allows 16; a thread has no more neighbouring elements in #tile.fragment<thread = (32, 4):(1*d0, 1*d1), value = (2, 16):(32*d0, 4*d1)>}}
    tile.store %x to %X : tensor<64x64xf32, #col> to memref<64x64xf32>
    gpu.return
  }
}
