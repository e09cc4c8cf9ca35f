// Each operation in its custom form, printed and parsed again; then in the
// generic form, and as bytecode.
// RUN: tilews-opt %s -o %t.once
// RUN: tilews-opt %t.once -o %t.twice
// RUN: diff %t.once %t.twice
// RUN: FileCheck %s --input-file=%t.once
// RUN: tilews-opt %s --mlir-print-op-generic | tilews-opt -o %t.generic
// RUN: diff %t.once %t.generic
// RUN: tilews-opt %s --emit-bytecode | tilews-opt -o %t.bytecode
// RUN: diff %t.once %t.bytecode

!As = memref<128x64xf16, #gpu.address_space<workgroup>>
!Bs = memref<64x128xf16, #gpu.address_space<workgroup>>
!panels = memref<128x128xf16, #tile.shared<(128, (64, 2)):(64, (1, 8192)), Sw<3,4,3>>, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.module @kernels [#nvvm.target<chip = "sm_90a">]
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: gpu.func @memory
  gpu.func @memory(%A: memref<?x?xf16>, %Q: memref<?x?x?x64xf16>, %X: memref<?x1000xf32>, %C: memref<64x64xi32>, %m: index, %k: index, %lowest: f32, %s: memref<f32>) kernel {
    // CHECK: tile.alloc_shared : memref<128x64xf16, #gpu.address_space<workgroup>>
    %a = tile.alloc_shared : !As
    // CHECK: tile.alloc_shared {alignment = 1024 : i64} : memref<128x128xf16, #tile.shared<(128, (64, 2)):(64, (1, 8192)), Sw<3,4,3>>, #gpu.address_space<workgroup>>
    %p = tile.alloc_shared {alignment = 1024 : i64} : !panels
    // CHECK: tile.alloc_shared : memref<f32, #gpu.address_space<workgroup>>
    %one = tile.alloc_shared : memref<f32, #gpu.address_space<workgroup>>
    // CHECK: tile.view %{{.*}} : memref<128x64xf16, #gpu.address_space<workgroup>> to memref<64x64xf32, #gpu.address_space<workgroup>>
    %v = tile.view %a : !As to memref<64x64xf32, #gpu.address_space<workgroup>>
    // CHECK: tile.copy %{{.*}}[%{{.*}}, %{{.*}}] to %{{.*}} : memref<?x?xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>
    tile.copy %A[%m, %k] to %a : memref<?x?xf16> to !As
    // CHECK: tile.copy %{{.*}}[%{{.*}}, %{{.*}}, 3, 0] [1, 128, 1, 64] to %{{.*}} {tile.inst = #tile.inst<cp_async>}
    tile.copy %Q[%k, %m, 3, 0] [1, 128, 1, 64] to %a {tile.inst = #tile.inst<cp_async>} : memref<?x?x?x64xf16> to !As
    // CHECK: tile.copy %{{.*}}[-1, 0] to %{{.*}}[0, %{{.*}}] [64, 32]
    tile.copy %A[-1, 0] to %a[0, %k] [64, 32] : memref<?x?xf16> to !As
    // CHECK: tile.copy %{{.*}} to %{{.*}} : memref<f32> to memref<f32, #gpu.address_space<workgroup>>
    tile.copy %s to %one : memref<f32> to memref<f32, #gpu.address_space<workgroup>>
    // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x?xf16> -> tensor<128x64xf16>
    %t = tile.load %A[%m, %k] : memref<?x?xf16> -> tensor<128x64xf16>
    // CHECK: tile.load %{{.*}}[%{{.*}}, 0] pad %{{.*}} : memref<?x1000xf32> -> tensor<4x1024xf32>
    %u = tile.load %X[%m, 0] pad %lowest : memref<?x1000xf32> -> tensor<4x1024xf32>
    // CHECK: tile.load %{{.*}}[0, 0, %{{.*}}, 0] [64, 1, 2, 1] : memref<?x?x?x64xf16> -> tensor<64x2xf16>
    %w = tile.load %Q[0, 0, %m, 0] [64, 1, 2, 1] : memref<?x?x?x64xf16> -> tensor<64x2xf16>
    // CHECK: tile.store %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}}] : tensor<128x64xf16> to memref<?x?xf16>
    tile.store %t to %A[%m, %k] : tensor<128x64xf16> to memref<?x?xf16>
    // CHECK: tile.store %{{.*}} to %{{.*}} : tensor<128x64xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>
    tile.store %t to %a : tensor<128x64xf16> to !As
    %i = tile.iota {axis = 1 : i64} : tensor<64x64xi32>
    // CHECK: tile.atomic_rmw <add> %{{.*}} to %{{.*}} : tensor<64x64xi32> to memref<64x64xi32>
    tile.atomic_rmw <add> %i to %C : tensor<64x64xi32> to memref<64x64xi32>
    // CHECK: tile.atomic_rmw <max> %{{.*}} to %{{.*}}[-3, %{{.*}}] : tensor<64x64xi32> to memref<64x64xi32>
    tile.atomic_rmw <max> %i to %C[-3, %m] : tensor<64x64xi32> to memref<64x64xi32>
    // CHECK: tile.barrier{{$}}
    tile.barrier
    // CHECK: tile.barrier {drain_copies, proxy_fence}
    tile.barrier {drain_copies, proxy_fence}
    gpu.return
  }

  // CHECK-LABEL: gpu.func @products
  gpu.func @products(%f: tensor<128x64xf16>, %acc: tensor<128x128xf32>, %e: tensor<128x8xi16>) kernel {
    %a = tile.alloc_shared : !As
    %b = tile.alloc_shared : !Bs
    // CHECK: tile.gemm %{{.*}}, %{{.*}}, %{{.*}} : memref<128x64xf16, #gpu.address_space<workgroup>>, memref<64x128xf16, #gpu.address_space<workgroup>> -> tensor<128x128xf32>
    %0 = tile.gemm %a, %b, %acc : !As, !Bs -> tensor<128x128xf32>
    // CHECK: %[[STARTED:.*]] = tile.gemm {{.*}} {async}
    // CHECK: tile.gemm_wait {pending = 1 : i64}{{$}}
    // CHECK: %{{.*}}:2 = tile.gemm_wait %[[STARTED]], %{{.*}} : tensor<128x128xf32>, tensor<128x64xf16>
    %started = tile.gemm %a, %b, %acc {async} : !As, !Bs -> tensor<128x128xf32>
    tile.gemm_wait {pending = 1 : i64}
    %finished:2 = tile.gemm_wait %started, %f : tensor<128x128xf32>, tensor<128x64xf16>
    // CHECK: tile.gemm {{.*}} {policy = #tile.warps<full_row>, tile.inst = #tile.inst<wgmma>, transpose_rhs}
    %1 = tile.gemm %f, %a, %0 {transpose_rhs, policy = #tile.warps<full_row>, tile.inst = #tile.inst<wgmma>} : tensor<128x64xf16>, !As -> tensor<128x128xf32>
    %p = tile.alloc_shared : memref<128x64xi8, #gpu.address_space<workgroup>>
    %q = tile.alloc_shared : memref<128x128xf8E5M2, #gpu.address_space<workgroup>>
    %s = tile.alloc_shared : memref<128x4xf8E8M0FNU, #gpu.address_space<workgroup>>
    // CHECK: tile.gemm %{{.*}}, %{{.*}}, %{{.*}} scaled(%{{.*}}, %{{.*}} : memref<128x4xf8E8M0FNU, #gpu.address_space<workgroup>>, memref<128x4xf8E8M0FNU, #gpu.address_space<workgroup>>) {lhs_type = f4E2M1FN, transpose_rhs} : memref<128x64xi8, #gpu.address_space<workgroup>>, memref<128x128xf8E5M2, #gpu.address_space<workgroup>> -> tensor<128x128xf32>
    %scaled = tile.gemm %p, %q, %acc scaled (%s, %s : memref<128x4xf8E8M0FNU, #gpu.address_space<workgroup>>, memref<128x4xf8E8M0FNU, #gpu.address_space<workgroup>>) {transpose_rhs, lhs_type = f4E2M1FN} : memref<128x64xi8, #gpu.address_space<workgroup>>, memref<128x128xf8E5M2, #gpu.address_space<workgroup>> -> tensor<128x128xf32>
    // CHECK: tile.gemm {{.*}} {allow_tf32, clear_accumulator, policy = #tile.warps<full_col>, transpose_lhs}
    %2 = tile.gemm %b, %b, %1 {transpose_lhs, clear_accumulator, allow_tf32, policy = #tile.warps<full_col>} : !Bs, !Bs -> tensor<128x128xf32>
    %k128 = tile.alloc_shared : memref<128x128xf16, #gpu.address_space<workgroup>>
    // CHECK: tile.gemm_sp %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : memref<128x64xf16, #gpu.address_space<workgroup>>, tensor<128x8xi16>, memref<128x128xf16, #gpu.address_space<workgroup>> -> tensor<128x128xf32>
    %3 = tile.gemm_sp %a, %e, %k128, %2 : !As, tensor<128x8xi16>, memref<128x128xf16, #gpu.address_space<workgroup>> -> tensor<128x128xf32>
    // CHECK: tile.gemm_sp {{.*}} {async, transpose_rhs}
    %4 = tile.gemm_sp %a, %e, %k128, %3 {async, transpose_rhs} : !As, tensor<128x8xi16>, memref<128x128xf16, #gpu.address_space<workgroup>> -> tensor<128x128xf32>
    %5 = tile.gemm_wait %4 : tensor<128x128xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @shapes
  gpu.func @shapes(%x: tensor<128x64xf32>, %p: tensor<128x64xi1>, %ok: i1) kernel {
    // CHECK: tile.reduce <max> %{{.*}} {axis = 1 : i64} : tensor<128x64xf32> -> tensor<128xf32>
    %m = tile.reduce <max> %x {axis = 1 : i64} : tensor<128x64xf32> -> tensor<128xf32>
    // CHECK: tile.reduce <any> %{{.*}} {axis = 0 : i64} : tensor<128x64xi1> -> tensor<64xi1>
    %any = tile.reduce <any> %p {axis = 0 : i64} : tensor<128x64xi1> -> tensor<64xi1>
    // CHECK: tile.reduce <sum> %{{.*}} {axis = 0 : i64} : tensor<128xf32> -> tensor<f32>
    %all = tile.reduce <sum> %m {axis = 0 : i64} : tensor<128xf32> -> tensor<f32>
    // CHECK: tile.scan <sum> %{{.*}} {axis = 1 : i64} : tensor<128x64xf32>
    %s = tile.scan <sum> %x {axis = 1 : i64} : tensor<128x64xf32>
    // CHECK: tile.scan <min> %{{.*}} {axis = 0 : i64, reverse} : tensor<128x64xf32>
    %r = tile.scan <min> %x {axis = 0 : i64, reverse} : tensor<128x64xf32>
    // CHECK: tile.expand_dims %{{.*}} {axis = 1 : i64} : tensor<128xf32> -> tensor<128x1xf32>
    %e = tile.expand_dims %m {axis = 1 : i64} : tensor<128xf32> -> tensor<128x1xf32>
    // CHECK: tile.slice %{{.*}} {axis = 0 : i64, index = 1 : i64} : tensor<128xf32> -> tensor<32xf32>
    %part = tile.slice %m {axis = 0 : i64, index = 1 : i64} : tensor<128xf32> -> tensor<32xf32>
    // CHECK: tile.expand_dims %{{.*}} {axis = 0 : i64} : tensor<f32> -> tensor<1xf32>
    %e0 = tile.expand_dims %all {axis = 0 : i64} : tensor<f32> -> tensor<1xf32>
    // CHECK: tile.broadcast %{{.*}} : tensor<128x1xf32> -> tensor<128x64xf32>
    %b = tile.broadcast %e : tensor<128x1xf32> -> tensor<128x64xf32>
    // CHECK: tile.transpose %{{.*}} {permutation = array<i64: 1, 0>} : tensor<128x64xf32> -> tensor<64x128xf32>
    %t = tile.transpose %x {permutation = array<i64: 1, 0>} : tensor<128x64xf32> -> tensor<64x128xf32>
    // CHECK: tile.flip %{{.*}} {axes = array<i64: 0, 1>} : tensor<128x64xf32>
    %back = tile.flip %x {axes = array<i64: 0, 1>} : tensor<128x64xf32>
    // CHECK: tile.reshape %{{.*}} : tensor<128x64xf32> -> tensor<8192xf32>
    %h = tile.reshape %x : tensor<128x64xf32> -> tensor<8192xf32>
    // CHECK: tile.bitcast %{{.*}} : tensor<32xf32> to tensor<128xi8>
    %bytes = tile.bitcast %part : tensor<32xf32> to tensor<128xi8>
    // CHECK: tile.bitcast %{{.*}} : tensor<128xi8> to tensor<256xf4E2M1FN>
    %nibbles = tile.bitcast %bytes : tensor<128xi8> to tensor<256xf4E2M1FN>
    // CHECK: tile.print "bytes" %{{.*}} : tensor<128xi8> {tile.unsigned = array<i64: 0>}
    tile.print "bytes" %bytes : tensor<128xi8> {tile.unsigned = array<i64: 0>}
    // CHECK: tile.reduce <umax> %{{.*}} {axis = 0 : i64} : tensor<128xi8> -> tensor<i8>
    %most = tile.reduce <umax> %bytes {axis = 0 : i64} : tensor<128xi8> -> tensor<i8>
    // CHECK: tile.iota {axis = 0 : i64} : tensor<16xindex>
    %i = tile.iota {axis = 0 : i64} : tensor<16xindex>
    // CHECK: tile.print "row maximum" %{{.*}}, %{{.*}} : tensor<128xf32>, i1
    tile.print "row maximum" %m, %ok : tensor<128xf32>, i1
    // CHECK: tile.print "here"
    tile.print "here"
    // CHECK: tile.assert %{{.*}}, "index out of range" : i1
    tile.assert %ok, "index out of range" : i1
    %two = arith.constant 2 : index
    // CHECK: tile.print "here" %{{.*}}, %{{.*}}, %{{.*}} : index, index, index {tile.block}
    tile.print "here" %two, %two, %two : index, index, index {tile.block}
    // CHECK: tile.assert %{{.*}}, "named" block(%{{.*}}, %{{.*}}, %{{.*}}) : i1
    tile.assert %ok, "named" block(%two, %two, %two) : i1
    // CHECK: tile.assert %{{.*}}, "all" : tensor<128x64xi1>
    tile.assert %p, "all" : tensor<128x64xi1>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @layouts
  gpu.func @layouts(%x: tensor<16x8xf32, #tile.fragment<thread = (4, 8):(2*d1, 1*d0), value = (2, 2):(1*d1, 8*d0)>>) kernel {
    // CHECK: tile.convert_layout %{{.*}} : tensor<16x8xf32, #tile.fragment<thread = (4, 8):(2*d1, 1*d0), value = (2, 2):(1*d1, 8*d0)>> to tensor<16x8xf32, #tile.fragment<thread = (8, 4):(1*d1, 1*d0), value = (4):(4*d0)>>
    %c = tile.convert_layout %x : tensor<16x8xf32, #tile.fragment<thread = (4, 8):(2*d1, 1*d0), value = (2, 2):(1*d1, 8*d0)>> to tensor<16x8xf32, #tile.fragment<thread = (8, 4):(1*d1, 1*d0), value = (4):(4*d0)>>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @persistent
  gpu.func @persistent(%n: index, %m: index, %a: f32) kernel {
    // CHECK: tile.persistent (%{{.*}}) in (%{{.*}}) {
    // CHECK-NEXT: }
    tile.persistent (%x) in (%n) {
    }
    // CHECK: tile.persistent (%{{.*}}, %{{.*}}) in (%{{.*}}, %{{.*}}) {
    // CHECK-NEXT: } {my.note, rasterize = #tile.rasterize<row, panel = 8>}
    tile.persistent (%x, %y) in (%n, %m) {
    } {rasterize = #tile.rasterize<row, panel = 8>, my.note}
    // CHECK: tile.persistent (%{{.*}}, %{{.*}}, %{{.*}}) in (%{{.*}}, %{{.*}}, %{{.*}}) iter_args(%[[S:.*]] = %{{.*}}, %[[I:.*]] = %{{.*}}) -> (f32, index) {
    // CHECK-NEXT: tile.yield %[[S]], %[[I]] : f32, index
    %r:2 = tile.persistent (%x, %y, %z) in (%n, %m, %m) iter_args(%s = %a, %i = %n) -> (f32, index) {
      tile.yield %s, %i : f32, index
    }
    gpu.return
  }
}
