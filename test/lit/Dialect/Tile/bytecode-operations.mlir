// Bytecode of the operations that bytecode.mlir does not have. A test of Python checks
// that each operation of the dialect is in one of the two files.
//
// Inputs/bytecode-operations-1.mlirbc holds the kernels below in version 1. As in
// bytecode.mlir, the text changes with the dialect, and the file does not.

// RUN: tilews-opt %s -o %t.text
// RUN: FileCheck %s --input-file=%t.text
// RUN: tilews-opt %S/Inputs/bytecode-operations-1.mlirbc -o %t.old
// RUN: diff %t.text %t.old
// RUN: tilews-opt %S/Inputs/bytecode-operations-2.mlirbc -o %t.two
// RUN: diff %t.text %t.two
// RUN: tilews-opt %S/Inputs/bytecode-operations-3.mlirbc -o %t.three
// RUN: diff %t.text %t.three

!As = memref<128x64xf16, #gpu.address_space<workgroup>>
!Bs = memref<64x128xf16, #gpu.address_space<workgroup>>
!square = memref<128x128xf16, #gpu.address_space<workgroup>>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: gpu.func @products
  // CHECK: tile.view %{{.*}} : memref<128x64xf16, #gpu.address_space<workgroup>> to memref<64x128xf16, #gpu.address_space<workgroup>>
  // CHECK: tile.gemm {{.*}} {allow_tf32, async, clear_accumulator, policy = #tile.warps<full_col>, transpose_lhs}
  // CHECK: tile.gemm_wait {pending = 1 : i64}{{$}}
  // CHECK: tile.gemm_wait %{{.*}} : tensor<128x128xf32>
  // CHECK: tile.gemm_sp {{.*}} {async, transpose_rhs}
  gpu.func @products(%acc: tensor<128x128xf32>, %e: tensor<128x8xi16>) kernel {
    %a = tile.alloc_shared : !As
    %b = tile.view %a : !As to !Bs
    %c = tile.alloc_shared : !square
    %0 = tile.gemm %b, %b, %acc {transpose_lhs, clear_accumulator, allow_tf32, async, policy = #tile.warps<full_col>} : !Bs, !Bs -> tensor<128x128xf32>
    tile.gemm_wait {pending = 1 : i64}
    %1 = tile.gemm_wait %0 : tensor<128x128xf32>
    %2 = tile.gemm_sp %a, %e, %c, %1 {async, transpose_rhs} : !As, tensor<128x8xi16>, !square -> tensor<128x128xf32>
    %3 = tile.gemm_wait %2 : tensor<128x128xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @shapes
  // CHECK: tile.iota {axis = 1 : i64} : tensor<128x64xi32>
  // CHECK: tile.scan <min> %{{.*}} {axis = 0 : i64, reverse} : tensor<128x64xi32>
  // CHECK: tile.transpose %{{.*}} {permutation = array<i64: 1, 0>}
  // CHECK: tile.reshape %{{.*}} : tensor<64x128xi32> -> tensor<8192xi32>
  // CHECK: tile.slice %{{.*}} {axis = 0 : i64, index = 3 : i64}
  // CHECK: tile.expand_dims %{{.*}} {axis = 1 : i64} : tensor<64xi32> -> tensor<64x1xi32>
  // CHECK: tile.broadcast %{{.*}} : tensor<64x1xi32> -> tensor<64x64xi32>
  // CHECK: tile.print "rows" %{{.*}}, %{{.*}} : tensor<64x64xi32>, i1
  // CHECK: tile.assert %{{.*}}, "out of range" : i1
  gpu.func @shapes(%ok: i1) kernel {
    %i = tile.iota {axis = 1 : i64} : tensor<128x64xi32>
    %s = tile.scan <min> %i {axis = 0 : i64, reverse} : tensor<128x64xi32>
    %t = tile.transpose %s {permutation = array<i64: 1, 0>} : tensor<128x64xi32> -> tensor<64x128xi32>
    %h = tile.reshape %t : tensor<64x128xi32> -> tensor<8192xi32>
    %p = tile.slice %h {axis = 0 : i64, index = 3 : i64} : tensor<8192xi32> -> tensor<64xi32>
    %e = tile.expand_dims %p {axis = 1 : i64} : tensor<64xi32> -> tensor<64x1xi32>
    %b = tile.broadcast %e : tensor<64x1xi32> -> tensor<64x64xi32>
    tile.print "rows" %b, %ok : tensor<64x64xi32>, i1
    tile.assert %ok, "out of range" : i1
    gpu.return
  }

  // CHECK-LABEL: gpu.func @layouts
  // CHECK: tile.convert_layout %{{.*}} : tensor<16x8xf32, #tile.fragment<{{.*}}>> to tensor<16x8xf32, #tile.fragment<{{.*}}>>
  gpu.func @layouts(%x: tensor<16x8xf32, #tile.fragment<thread = (4, 8):(2*d1, 1*d0), value = (2, 2):(1*d1, 8*d0)>>) kernel {
    %c = tile.convert_layout %x : tensor<16x8xf32, #tile.fragment<thread = (4, 8):(2*d1, 1*d0), value = (2, 2):(1*d1, 8*d0)>> to tensor<16x8xf32, #tile.fragment<thread = (8, 4):(1*d1, 1*d0), value = (4):(4*d0)>>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @persistent
  // CHECK: tile.persistent (%{{.*}}, %{{.*}}) in (%{{.*}}, %{{.*}}) iter_args(%{{.*}} = %{{.*}}) -> (f32) {
  // CHECK-NEXT: tile.yield %{{.*}} : f32
  // CHECK-NEXT: } {rasterize = #tile.rasterize<row, panel = 8>}
  gpu.func @persistent(%n: index, %m: index, %a: f32) kernel {
    %r = tile.persistent (%x, %y) in (%n, %m) iter_args(%s = %a) -> (f32) {
      tile.yield %s : f32
    } {rasterize = #tile.rasterize<row, panel = 8>}
    gpu.return
  }

  // What later passes insert: groups of copies, fences and barriers.
  // CHECK-LABEL: gpu.func @synchronization
  // CHECK: tile.commit_group
  // CHECK: tile.copy_group_wait {pending = 1 : i64}
  // CHECK: tile.mbarrier_expect %{{.*}}[%{{.*}}] {bytes = 16384 : i64} : !tile.mbarrier<2>
  // CHECK: tile.proxy_fence
  // CHECK: tile.barrier {drain_copies, proxy_fence}
  gpu.func @synchronization(%A: memref<?x?xf16>, %slot: i32) kernel {
    %a = tile.alloc_shared : !As
    %full = tile.mbarrier {count = 1 : i64} : !tile.mbarrier<2>
    tile.copy %A[0, 0] to %a {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to !As
    tile.commit_group
    tile.copy_group_wait {pending = 1 : i64}
    tile.mbarrier_expect %full[%slot] {bytes = 16384 : i64} : !tile.mbarrier<2>
    tile.proxy_fence
    tile.barrier {drain_copies, proxy_fence}
    gpu.return
  }
}
