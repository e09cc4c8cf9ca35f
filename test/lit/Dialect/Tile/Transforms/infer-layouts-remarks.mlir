// RUN: tilews-opt %s -split-input-file -tile-annotate-instructions -tile-infer-layouts -verify-diagnostics -mlir-print-op-on-diagnostic=false

// The result of a matmul is the left operand of another one. With warps along both
// dimensions, each warp needs elements that others hold.

#wg = #gpu.address_space<workgroup>
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @square(%X: memref<64x64xf32>, %Y: memref<?x?xf32>, %n: index) kernel {
    %a = tile.alloc_shared : memref<64x64xf16, #wg>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    // expected-note @below {{the fragment has layout #tile.fragment<thread = (4, 8, 2, 2):(2*d1, 1*d0, 32*d0, 32*d1), value = (2, 2, 4, 2):(1*d1, 8*d0, 8*d1, 16*d0)>: result layout of 'tile.gemm' (mma)}}
    %s = tile.gemm %a, %a, %zero : memref<64x64xf16, #wg>, memref<64x64xf16, #wg> -> tensor<64x64xf32>
    %h = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xf16>
    // expected-remark @below {{tile-layout-0001: a fragment of type 'tensor<64x64xf16>' goes through 9200 bytes of shared memory, to have #tile.fragment<thread = (4, 8, 2, 2):(2*d1, 1*d0, 32*d0, 0), value = (2, 2, 8, 2):(1*d1, 8*d0, 8*d1, 16*d0)>: operand layout of 'tile.gemm' (mma)}}
    %o = tile.gemm %h, %a, %zero : tensor<64x64xf16>, memref<64x64xf16, #wg> -> tensor<64x64xf32>
    tile.store %o to %Y[%n, %n] : tensor<64x64xf32> to memref<?x?xf32>
    gpu.return
  }

  // All warps are along the rows: no conversion is needed.
  gpu.func @full_row(%X: memref<64x64xf32>, %Y: memref<?x?xf32>, %n: index) kernel {
    %a = tile.alloc_shared : memref<64x64xf16, #wg>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %s = tile.gemm %a, %a, %zero {policy = #tile.warps<full_row>} : memref<64x64xf16, #wg>, memref<64x64xf16, #wg> -> tensor<64x64xf32>
    %h = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xf16>
    %o = tile.gemm %h, %a, %zero {policy = #tile.warps<full_row>} : tensor<64x64xf16>, memref<64x64xf16, #wg> -> tensor<64x64xf32>
    tile.store %o to %Y[%n, %n] : tensor<64x64xf32> to memref<?x?xf32>
    gpu.return
  }
}

// -----

// A given layout and that of an instruction differ within warps only.

#given = #tile.fragment<thread = (4, 8, 4):(8*d1, 1*d0, 16*d0), value = (8, 2):(1*d1, 8*d0)>
#wg = #gpu.address_space<workgroup>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @given(%X: memref<64x32xf16>, %Y: memref<?x?xf32>, %n: index) kernel {
    %b = tile.alloc_shared : memref<32x64xf16, #wg>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    // expected-note @below {{the fragment has layout #tile.fragment<thread = (4, 8, 4):(8*d1, 1*d0, 16*d0), value = (8, 2):(1*d1, 8*d0)>: given by a type}}
    %x = tile.load %X : memref<64x32xf16> -> tensor<64x32xf16, #given>
    // expected-remark @below {{tile-layout-0001: a fragment of type 'tensor<64x32xf16>' is exchanged between the lanes of each warp, to have #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 4):(1*d1, 8*d0, 8*d1)>: operand layout of 'tile.gemm' (wgmma)}}
    %o = "tile.gemm"(%x, %b, %zero) : (tensor<64x32xf16, #given>, memref<32x64xf16, #wg>, tensor<64x64xf32>) -> tensor<64x64xf32>
    tile.store %o to %Y[%n, %n] : tensor<64x64xf32> to memref<?x?xf32>
    gpu.return
  }
}

// -----

// An operation has two fragments with different given layouts. One of them is
// converted.

#row = #tile.fragment<thread = (32, 4):(1*d1, 1*d0), value = (16):(4*d0)>
#col = #tile.fragment<thread = (64, 2):(1*d1, 1*d0), value = (16):(2*d0)>
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @meet(%X: memref<64x?xf32>, %n: index) kernel {
    // expected-note @below {{the fragment has layout #tile.fragment<thread = (32, 4):(1*d1, 1*d0), value = (16):(4*d0)>: given by a type}}
    %x = tile.load %X[0, %n] : memref<64x?xf32> -> tensor<64x32xf32, #row>
    // expected-remark @below {{tile-layout-0001: a fragment of type 'tensor<64x32xf32>' goes through 8444 bytes of shared memory, to have #tile.fragment<thread = (64, 2):(1*d0, 1*d1), value = (16):(2*d1)>: given by a type}}
    %y = tile.transpose %x {permutation = array<i64: 1, 0>} : tensor<64x32xf32, #row> -> tensor<32x64xf32, #col>
    tile.print "y" %y : tensor<32x64xf32, #col>
    gpu.return
  }
}

// -----

// Bank conflicts of a load down the columns of rows that fill all banks, of a store in
// pieces, and of a copy. Padded rows have none.

#col = #tile.fragment<thread = (32, 4):(1*d0, 1*d1), value = (2, 8):(32*d0, 4*d1)>
#wg = #gpu.address_space<workgroup>
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @banks(%X: memref<64x32xf32>, %Y: memref<32x8xf32>) kernel {
    %s = tile.alloc_shared : memref<64x32xf32, #tile.shared<(64, 32):(32, 1)>, #wg>
    %p = tile.alloc_shared : memref<64x32xf32, #tile.shared<(64, 32):(33, 1)>, #wg>
    // expected-remark @below {{tile-layout-0002: 32-way bank conflicts in shared memory: threads 0 and 1 access different words of one bank; give the buffer a swizzled or padded layout, or the fragment another one}}
    %x = tile.load %s : memref<64x32xf32, #tile.shared<(64, 32):(32, 1)>, #wg> -> tensor<64x32xf32, #col>
    tile.store %x to %p : tensor<64x32xf32, #col> to memref<64x32xf32, #tile.shared<(64, 32):(33, 1)>, #wg>
    %t = tile.alloc_shared : memref<32x8xf32, #tile.shared<(32, 8):(1, 32)>, #wg>
    // expected-remark @below {{tile-layout-0002: 2-way bank conflicts in shared memory: threads 0 and 1 access different words of one bank; give the buffer a swizzled or padded layout, or the fragment another one}}
    tile.copy %Y to %t {tile.inst = #tile.inst<simt>} : memref<32x8xf32> to memref<32x8xf32, #tile.shared<(32, 8):(1, 32)>, #wg>
    gpu.return
  }
}

// -----

// Remarks on narrow accesses: only where memory allows wider ones, the threads have
// enough elements for them, and an exchange before a store does not pay.

#narrow = #tile.fragment<thread = (32, 4):(1*d1, 1*d0), value = (16):(4*d0)>
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @narrow(%X: memref<64x32xf32>, %Y: memref<64x?xf32>, %Z: memref<64xf32>) kernel {
    // expected-remark @below {{tile-layout-0003: accesses 4 bytes at a time, its region allows 16; a thread has no more neighbouring elements in #tile.fragment<thread = (32, 4):(1*d1, 1*d0), value = (16):(4*d0)>}}
    %x = tile.load %X : memref<64x32xf32> -> tensor<64x32xf32, #narrow>
    tile.store %x to %Y : tensor<64x32xf32, #narrow> to memref<64x?xf32>
    %z = tile.load %Z : memref<64xf32> -> tensor<64xf32>
    tile.print "z" %z : tensor<64xf32>
    gpu.return
  }
}

// -----

// Lanes exchange elements of an accumulator to store 16 bytes at a time, if the rows
// are known to be aligned.

#wg = #gpu.address_space<workgroup>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @exchange(%C: memref<128x128xf16>) kernel {
    %a = tile.alloc_shared : memref<128x64xf16, #wg>
    %b = tile.alloc_shared : memref<64x128xf16, #wg>
    %zero = arith.constant dense<0.0> : tensor<128x128xf32>
    %d = tile.gemm %a, %b, %zero : memref<128x64xf16, #wg>, memref<64x128xf16, #wg> -> tensor<128x128xf32>
    %h = arith.truncf %d : tensor<128x128xf32> to tensor<128x128xf16>
    tile.store %h to %C : tensor<128x128xf16> to memref<128x128xf16>
    gpu.return
  }
}
