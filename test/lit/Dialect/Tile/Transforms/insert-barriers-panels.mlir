// RUN: tilews-opt %s --tile-insert-barriers | FileCheck %s

// Regions of a buffer in panels, as wgmma reads it: two panels of 32 columns, one after the
// other. The columns have two modes, so addresses do not grow with the column evenly.

#panels = #tile.shared<(64, (32, 2)):(32, (1, 2048)), Sw<3,4,3>>
!panels = memref<64x64xf32, #panels, #gpu.address_space<workgroup>>
!panel = tensor<64x32xf32>
!part = memref<32x32xf32, #gpu.address_space<workgroup>>
!square = tensor<32x32xf32>

gpu.module @panels [#nvvm.target<chip = "sm_90a">] {
  // %b takes bytes of the second panel, 8192 to 16383. All threads have to read the
  // columns 32 to 63 before it is written.
  // CHECK-LABEL: gpu.func @second_panel
  // CHECK: tile.load
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: gpu.return
  gpu.func @second_panel(%x: !square) kernel {
    %a = tile.alloc_shared {tile.offset = 0 : i64} : !panels
    %b = tile.alloc_shared {tile.offset = 12288 : i64} : !part
    %y = tile.load %a[0, 32] [64, 32] : !panels -> !panel
    tile.store %x to %b : !square to !part
    gpu.return
  }

  // %b has been read, and the second panel is written.
  // CHECK-LABEL: gpu.func @written_again
  // CHECK: tile.load
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: gpu.return
  gpu.func @written_again(%x: !panel) kernel {
    %a = tile.alloc_shared {tile.offset = 0 : i64} : !panels
    %b = tile.alloc_shared {tile.offset = 12288 : i64} : !part
    %y = tile.load %b : !part -> !square
    tile.store %x to %a[0, 32] : !panel to !panels
    gpu.return
  }

  // Buffers next to each other need no barrier.
  // CHECK-LABEL: gpu.func @apart
  // CHECK: tile.load
  // CHECK-NEXT: tile.store
  gpu.func @apart(%x: !square) kernel {
    %a = tile.alloc_shared {tile.offset = 0 : i64} : !panels
    %b = tile.alloc_shared {tile.offset = 16384 : i64} : !part
    %y = tile.load %a[0, 32] [64, 32] : !panels -> !panel
    tile.store %x to %b : !square to !part
    gpu.return
  }

  // The bytes of rows 0 to 31 alternate with those of rows 32 to 63, a part of each panel.
  // CHECK-LABEL: gpu.func @rows
  // CHECK: tile.store
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: tile.store
  gpu.func @rows(%x: tensor<32x64xf32>) kernel {
    %a = tile.alloc_shared {tile.offset = 0 : i64} : !panels
    tile.store %x to %a[0, 0] : tensor<32x64xf32> to !panels
    tile.store %x to %a[32, 0] : tensor<32x64xf32> to !panels
    tile.store %x to %a[31, 0] : tensor<32x64xf32> to !panels
    gpu.return
  }

  // The same in a version of a buffer. Parts of two versions have other rows or other
  // bytes; a row of all versions is in the rows of each.
  // CHECK-LABEL: gpu.func @rows_of_versions
  // CHECK: tile.store
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: tile.load
  gpu.func @rows_of_versions(%x: tensor<32x64xf32>, %i: i32, %j: i32) kernel {
    %a = tile.alloc_shared {tile.offset = 0 : i64} : memref<2x64x64xf32, #gpu.address_space<workgroup>>
    %1 = tile.slot %a[%i] : memref<2x64x64xf32, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf32, #gpu.address_space<workgroup>>
    %2 = tile.slot %a[%j] : memref<2x64x64xf32, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf32, #gpu.address_space<workgroup>>
    tile.store %x to %1[0, 0] : tensor<32x64xf32> to memref<64x64xf32, #gpu.address_space<workgroup>>
    tile.store %x to %2[32, 0] : tensor<32x64xf32> to memref<64x64xf32, #gpu.address_space<workgroup>>
    tile.store %x to %2[16, 0] : tensor<32x64xf32> to memref<64x64xf32, #gpu.address_space<workgroup>>
    %y = tile.load %a[1, 48, 0] : memref<2x64x64xf32, #gpu.address_space<workgroup>> -> tensor<1x1x64xf32>
    gpu.return
  }
}
