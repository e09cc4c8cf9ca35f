// RUN: tilews-opt --pass-pipeline='builtin.module(gpu.module(tile-set-target{chip=sm_90a},tile-plan-shared-memory,tile-insert-barriers,convert-tile-to-nvvm,canonicalize,cse))' %s | FileCheck %s --check-prefixes=CHECK,SM90
// RUN: tilews-opt --pass-pipeline='builtin.module(gpu.module(tile-set-target{chip=sm_80},tile-plan-shared-memory,tile-insert-barriers,convert-tile-to-nvvm,canonicalize,cse))' %s | FileCheck %s --check-prefixes=CHECK,SM80

#wg = #gpu.address_space<workgroup>
#swizzled = #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>
#padded = #tile.shared<(64, 64):(72, 1)>
#acc = #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>
#column = #tile.fragment<thread = (4, 8, 4):(2*d0, 1*d1, 16*d1), value = (2, 2, 8):(1*d0, 8*d1, 8*d0)>
#bytes = #tile.fragment<thread = (4, 8, 4):(4*d1, 1*d0, 16*d0), value = (4, 2, 4):(1*d1, 8*d0, 16*d1)>
#plain = #tile.fragment<thread = (8, 16):(8*d1, 1*d0), value = (8, 4):(1*d1, 16*d0)>

gpu.module @kernels {
  // Thirty-two elements a thread are sixteen words, four of each instruction.
  // CHECK-LABEL: llvm.func @accumulator
  // CHECK-COUNT-4: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>, num = 4
  // CHECK-NOT: nvvm.ldmatrix
  // SM90-COUNT-4: nvvm.stmatrix {{.*}}layout = #nvvm.mma_layout<row>
  // SM80-COUNT-16: llvm.store {{.*}} : vector<2xf16>, !llvm.ptr<3>
  // CHECK-NOT: {{nvvm.stmatrix|llvm.store}}
  // CHECK: llvm.return
  gpu.func @accumulator() kernel attributes {tile.threads = 128 : i32} {
    %a = tile.alloc_shared : memref<64x64xf16, #swizzled, #wg>
    %b = tile.alloc_shared : memref<64x64xf16, #padded, #wg>
    %x = tile.load %a : memref<64x64xf16, #swizzled, #wg> -> tensor<64x64xf16, #acc>
    tile.store %x to %b : tensor<64x64xf16, #acc> to memref<64x64xf16, #padded, #wg>
    gpu.return
  }

  // The columns of the fragment are in adjacent registers: ldmatrix and stmatrix
  // transpose.
  // CHECK-LABEL: llvm.func @transposed
  // CHECK-COUNT-4: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>, num = 4
  // SM90-COUNT-4: nvvm.stmatrix {{.*}}layout = #nvvm.mma_layout<col>
  // CHECK: llvm.return
  gpu.func @transposed() kernel attributes {tile.threads = 128 : i32} {
    %a = tile.alloc_shared : memref<64x64xbf16, #swizzled, #wg>
    %b = tile.alloc_shared : memref<64x64xbf16, #padded, #wg>
    %x = tile.load %a : memref<64x64xbf16, #swizzled, #wg> -> tensor<64x64xbf16, #column>
    tile.store %x to %b : tensor<64x64xbf16, #column> to memref<64x64xbf16, #padded, #wg>
    gpu.return
  }

  // Four bytes form a word, like two halves.
  // CHECK-LABEL: llvm.func @fp8
  // CHECK-COUNT-2: nvvm.ldmatrix {{.*}}num = 4
  // CHECK-NOT: nvvm.ldmatrix
  // CHECK: llvm.return
  gpu.func @fp8(%y: memref<64x64xf8E4M3FN>) kernel attributes {tile.threads = 128 : i32} {
    %a = tile.alloc_shared : memref<64x64xf8E4M3FN, #wg>
    %x = tile.load %a : memref<64x64xf8E4M3FN, #wg> -> tensor<64x64xf8E4M3FN, #bytes>
    tile.store %x to %y : tensor<64x64xf8E4M3FN, #bytes> to memref<64x64xf8E4M3FN>
    gpu.return
  }

  // A thread that holds whole rows loads vectors of 16 bytes.
  // CHECK-LABEL: llvm.func @vectors
  // CHECK-NOT: {{ldmatrix|stmatrix}}
  // CHECK-COUNT-4: llvm.load {{.*}} : !llvm.ptr<3> -> vector<8xf16>
  // CHECK: llvm.return
  gpu.func @vectors() kernel attributes {tile.threads = 128 : i32} {
    %a = tile.alloc_shared : memref<64x64xf16, #swizzled, #wg>
    %b = tile.alloc_shared : memref<64x64xf16, #padded, #wg>
    %x = tile.load %a : memref<64x64xf16, #swizzled, #wg> -> tensor<64x64xf16, #plain>
    tile.store %x to %b : tensor<64x64xf16, #plain> to memref<64x64xf16, #padded, #wg>
    gpu.return
  }
}
