// RUN: tilews-opt %s -split-input-file -tile-infer-layouts -verify-diagnostics

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @no_rule(%A: memref<64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %A : memref<64xf32> -> tensor<64xf32>
    // expected-error @below {{'tensor.extract' op has no rule for the layouts of its fragments; use tile, arith and math operations and structured control flow}}
    %y = tensor.extract %x[%c0] : tensor<64xf32>
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  // expected-note @below {{the number of threads is set here}}
  gpu.func @threads(%A: memref<64xf32>) kernel attributes {tile.threads = 64 : i32} {
    // expected-error @below {{fragment of type 'tensor<64xf32, #tile.fragment<thread = (32):(1*d0), value = (2):(32*d0)>>' spans 32 threads, but runs on 64; change the layout or the number of threads}}
    %x = tile.load %A : memref<64xf32> -> tensor<64xf32, #tile.fragment<thread = (32):(1*d0), value = (2):(32*d0)>>
    gpu.return
  }
}

// -----

// The fragments of a role are spread over its own threads.

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @role(%A: memref<64xf32>) kernel attributes {tile.threads = 160 : i32} {
    tile.specialize {
      tile.role @math warps(4) {
        %x = tile.load %A : memref<64xf32> -> tensor<64xf32, #tile.fragment<thread = (128):(1*d0), value = ():()>>
      }
      // expected-note @below {{the number of threads is set here}}
      tile.role @load warps(1) {
        // expected-error @below {{fragment of type 'tensor<64xf32, #tile.fragment<thread = (128):(1*d0), value = ():()>>' spans 128 threads, but runs on 32; change the layout or the number of threads}}
        %x = tile.load %A : memref<64xf32> -> tensor<64xf32, #tile.fragment<thread = (128):(1*d0), value = ():()>>
      }
    }
    gpu.return
  }
}

// -----

// Two different layouts for values that need one.

#row = #tile.fragment<thread = (128):(1*d0), value = (2):(128*d0)>
#col = #tile.fragment<thread = (128):(2*d0), value = (2):(1*d0)>
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @clash(%A: memref<256xi32>) kernel {
    %x = tile.load %A : memref<256xi32> -> tensor<256xi32, #row>
    // expected-error @below {{the layouts of two values differ, but an operation, loop or branch requires one; convert one value with 'tile.convert_layout'; this value has type 'tensor<256xi1, #tile.fragment<thread = (128):(2*d0), value = (2):(1*d0)>>'}}
    // expected-note @below {{the other value has type 'tensor<256xi32, #tile.fragment<thread = (128):(1*d0), value = (2):(128*d0)>>'}}
    %s:2 = "arith.addui_extended"(%x, %x) : (tensor<256xi32, #row>, tensor<256xi32, #row>) -> (tensor<256xi32, #row>, tensor<256xi1, #col>)
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @vector(%A: memref<4xf32>) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @below {{fragment of type 'vector<4xf32>' has no layout; use a tensor with a static shape}}
    %x = vector.load %A[%c0] : memref<4xf32>, vector<4xf32>
    %y = tile.load %A : memref<4xf32> -> tensor<4xf32>
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @dynamic(%A: memref<4xf32>, %n: index) kernel {
    // expected-error @below {{fragment of type 'tensor<?xf32>' has a dynamic shape, expected a static one}}
    %x = tensor.empty(%n) : tensor<?xf32>
    %y = tile.load %A : memref<4xf32> -> tensor<4xf32>
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @encoding(%A: memref<4xf32>, %s: f32) kernel {
    // expected-error @below {{fragment of type 'tensor<4xf32, "mine">' has an encoding that is no #tile.fragment}}
    %x = tensor.splat %s : tensor<4xf32, "mine">
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  // expected-error @below {{'gpu.func' op has a fragment as argument 1, expected memrefs and scalars}}
  gpu.func @argument(%A: memref<64xf32>, %x: tensor<64xf32>) kernel {
    tile.store %x to %A : tensor<64xf32> to memref<64xf32>
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @resource(%A: memref<2xf32>) kernel {
    // expected-error @below {{'arith.constant' op expected dense elements, found dense_resource<blob> : tensor<2xf32>}}
    %x = arith.constant dense_resource<blob> : tensor<2xf32>
    tile.store %x to %A : tensor<2xf32> to memref<2xf32>
    gpu.return
  }
}
{-# dialect_resources: { builtin: { blob: "0x040000000000803F00000040" } } #-}

// -----

// expected-error @below {{has no target; write gpu.module @m [#nvvm.target<chip = "sm_90a">], or give the tool a chip: --tile-set-target=chip=sm_90a, tilews-translate --chip=sm_90a, tilews compile --target sm_90a}}
gpu.module @m {
  gpu.func @no_target(%A: memref<64xf32>) kernel {
    %x = tile.load %A : memref<64xf32> -> tensor<64xf32>
    gpu.return
  }
  gpu.func @nothing_to_do(%A: memref<64xf32>) kernel {
    gpu.return
  }
}

// -----

// wgmma cannot read the layout of the type.

#wg = #gpu.address_space<workgroup>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @padded(%X: memref<64x64xf32>) kernel {
    // expected-note @below {{the layout is fixed here}}
    %a = tile.alloc_shared : memref<64x64xf16, #tile.shared<(64, 64):(72, 1)>, #wg>
    %b = tile.alloc_shared : memref<64x64xf16, #wg>
    %c = tile.load %X : memref<64x64xf32> -> tensor<64x64xf32>
    // expected-error @below {{'tile.gemm' op cannot use shared memory with layout #tile.shared<(64, 64):(72, 1)>: wgmma reads rows along M or N that are 16 bytes apart, found 144; copy the tile to a buffer of its own}}
    %d = tile.gemm %a, %b, %c {tile.inst = #tile.inst<wgmma>} : memref<64x64xf16, #tile.shared<(64, 64):(72, 1)>, #wg>, memref<64x64xf16, #wg> -> tensor<64x64xf32>
    gpu.return
  }
}

// -----

// wgmma reads both views, whose panels place the bytes differently.

#wg = #gpu.address_space<workgroup>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @views(%X: memref<64x64xf32>, %Y: memref<128x64xf32>) kernel {
    %a = tile.alloc_shared : memref<64x128xf16, #wg>
    %v = tile.view %a : memref<64x128xf16, #wg> to memref<128x64xf16, #wg>
    %b = tile.alloc_shared : memref<64x64xf16, #wg>
    %b2 = tile.alloc_shared : memref<128x64xf16, #wg>
    %c = tile.load %X : memref<64x64xf32> -> tensor<64x64xf32>
    %c2 = tile.load %Y : memref<128x64xf32> -> tensor<128x64xf32>
    // expected-note @below {{the layout is fixed here}}
    %d = tile.gemm %a, %b2, %c {tile.inst = #tile.inst<wgmma>} : memref<64x128xf16, #wg>, memref<128x64xf16, #wg> -> tensor<64x64xf32>
    // expected-error @below {{cannot use shared memory with layout #tile.shared<(64, (64, 2)):(64, (1, 4096)), Sw<3,4,3>>: wgmma reads rows along M or N that are 128 bytes apart, found 8192; it wants #tile.shared<(128, 64):(64, 1), Sw<3,4,3>>; copy the tile to a buffer of its own}}
    %e = tile.gemm %v, %b, %c2 {tile.inst = #tile.inst<wgmma>} : memref<128x64xf16, #wg>, memref<64x64xf16, #wg> -> tensor<128x64xf32>
    gpu.return
  }
}

// -----

// The layout of the view's source cannot be expressed in the view's shape.

#wg = #gpu.address_space<workgroup>
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @no_view(%X: memref<64x96xf16>) kernel {
    // expected-note @below {{the layout is fixed here}}
    %a = tile.alloc_shared : memref<64x96xf16, #tile.shared<(64, (32, 3)):(32, (1, 2048))>, #wg>
    // expected-error @below {{'tile.view' op cannot use shared memory with layout #tile.shared<(64, (32, 3)):(32, (1, 2048))>: no layout of its type places the same bytes; copy the tile to a buffer of its own}}
    %v = tile.view %a : memref<64x96xf16, #tile.shared<(64, (32, 3)):(32, (1, 2048))>, #wg> to memref<96x64xf16, #wg>
    gpu.return
  }
}

// -----

// Two types place the bytes differently.

#wg = #gpu.address_space<workgroup>
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @types(%X: memref<64x96xf16>) kernel {
    // expected-note @below {{the layout is fixed here}}
    %a = tile.alloc_shared : memref<64x64xf16, #tile.shared<(64, 64):(64, 1)>, #wg>
    // expected-error @below {{'tile.view' op cannot use shared memory with layout #tile.shared<(64, 64):(64, 1)>: the buffer's type has another layout; it wants #tile.shared<(32, 128):(1, 32)>; copy the tile to a buffer of its own}}
    %v = tile.view %a : memref<64x64xf16, #tile.shared<(64, 64):(64, 1)>, #wg> to memref<32x128xf16, #tile.shared<(32, 128):(1, 32)>, #wg>
    gpu.return
  }
}

// -----

// Operations of other dialects accept strides only.

#wg = #gpu.address_space<workgroup>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @subview(%X: memref<64x64xf32>) kernel {
    // expected-note @below {{the buffer is allocated here}}
    %a = tile.alloc_shared : memref<64x64xf16, #wg>
    %s = memref.subview %a[0, 0] [32, 64] [1, 1] : memref<64x64xf16, #wg> to memref<32x64xf16, strided<[64, 1]>, #wg>
    %b = tile.alloc_shared : memref<64x64xf16, #wg>
    %c = tile.load %X : memref<64x64xf32> -> tensor<64x64xf32>
    // expected-error @below {{'tile.gemm' op needs a layout of its own for a buffer that other dialects' operations take as row-major: wgmma reads rows along M or N that are 16 bytes apart, found 128}}
    %d = tile.gemm %a, %b, %c {tile.inst = #tile.inst<wgmma>} : memref<64x64xf16, #wg>, memref<64x64xf16, #wg> -> tensor<64x64xf32>
    gpu.return
  }
}

// -----

// An element narrower than a byte takes one byte on a GPU, so two of them do not fill
// an i16.

#wg = #gpu.address_space<workgroup>
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @narrow(%X: memref<8x6xi16>) kernel {
    // expected-note @below {{the layout is fixed here}}
    %a = tile.alloc_shared : memref<8x6xi16, #wg>
    // expected-error @below {{'tile.view' op cannot use shared memory with layout #tile.shared<(8, 6):(6, 1)>: no layout of its type places the same bytes}}
    %v = tile.view %a : memref<8x6xi16, #wg> to memref<192xi4, #wg>
    gpu.return
  }
}
