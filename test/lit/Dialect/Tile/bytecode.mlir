// Bytecode has the version of the dialect that wrote it. tilews reads the current
// version and older ones, and refuses newer ones.
//
// Inputs/bytecode-1.mlirbc holds the kernels below in version 1, bytecode-2.mlirbc in
// version 2. The text below changes with the dialect, the files do not: they must read as
// the current text.
// docs/policy.md describes how a fixture for a new version is made. The operations that
// are missing here are in bytecode-operations.mlir.
// bytecode-unversioned.mlirbc has no version, as the bytecode of tilews 0.1.0.

// RUN: tilews-opt %s -o %t.text
// RUN: FileCheck %s --input-file=%t.text
// RUN: tilews-opt %S/Inputs/bytecode-1.mlirbc -o %t.old
// RUN: diff %t.text %t.old
// RUN: tilews-opt %S/Inputs/bytecode-2.mlirbc -o %t.two
// RUN: diff %t.text %t.two
// RUN: tilews-opt %S/Inputs/bytecode-3.mlirbc -o %t.three
// RUN: diff %t.text %t.three
// RUN: tilews-opt %S/Inputs/bytecode-unversioned.mlirbc -o %t.unversioned
// RUN: diff %t.text %t.unversioned

// RUN: tilews-opt %s --emit-bytecode -o %t.mlirbc
// RUN: tilews-opt %t.mlirbc -o %t.read
// RUN: diff %t.text %t.read

// The version is a section of its own: identifier 7, length 1, number 3. Length
// and number are encoded as 2n + 1.
// RUN: %python -c "import sys; old = open(sys.argv[1], 'rb').read(); assert old.count(b'\7\3\7') == 1; open(sys.argv[2], 'wb').write(old.replace(b'\7\3\7', b'\7\3\11'))" %S/Inputs/bytecode-3.mlirbc %t.newer
// RUN: not tilews-opt %t.newer 2>&1 | FileCheck %s --check-prefix=NEWER
// NEWER: error: the bytecode has version 4 of the tile dialect, but this tilews reads versions up to 3; read it with the tilews that wrote it, or a newer one

!A = memref<128x64xf16, #tile.shared<(128, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
!As = memref<2x128x64xf16, #gpu.address_space<workgroup>>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // A kernel as a frontend writes it.
  // CHECK-LABEL: gpu.func @gemm
  // CHECK: tile.copy %{{.*}}[%{{.*}}, %{{.*}}] to %{{.*}} : memref<?x?xf16>
  // CHECK: tile.gemm %{{.*}} {policy = #tile.warps<full_row>, transpose_rhs}
  // CHECK: tile.num_stages = 2 : i32
  // CHECK: tile.reduce <max>
  gpu.func @gemm(
      %A: memref<?x?xf16> {tile.name = "A", tile.symbols = ["M", "K"], tile.divisible = array<i64: 1, 8>},
      %B: memref<?x?xf16> {tile.name = "B", tile.symbols = ["N", "K"], tile.divisible = array<i64: 1, 8>},
      %C: memref<?x?xf32>, %R: memref<?xf32>) kernel attributes {
      tile.threads = 128 : i32,
      tile.rasterize = #tile.rasterize<row, panel = 4>,
      tile.grid = affine_map<()[s0, s1, s2, s3, s4, s5, s6] -> (s0 ceildiv 128, s2 ceildiv 128)>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : tensor<128x128xf32>
    %bx = gpu.block_id x
    %by = gpu.block_id y
    %m = arith.muli %bx, %c128 : index
    %n = arith.muli %by, %c128 : index
    %c1 = arith.constant 1 : index
    %k_extent = memref.dim %A, %c1 : memref<?x?xf16>
    %as = tile.alloc_shared : !A
    %bs = tile.alloc_shared {alignment = 1024 : i64} : memref<128x64xf16, #gpu.address_space<workgroup>>
    %d = scf.for %k = %c0 to %k_extent step %c64 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
      tile.copy %A[%m, %k] to %as : memref<?x?xf16> to !A
      tile.copy %B[%n, %k] to %bs : memref<?x?xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>
      %next = tile.gemm %as, %bs, %acc {transpose_rhs, policy = #tile.warps<full_row>}
        : !A, memref<128x64xf16, #gpu.address_space<workgroup>> -> tensor<128x128xf32>
      scf.yield %next : tensor<128x128xf32>
    } {tile.num_stages = 2 : i32}
    tile.store %d to %C[%m, %n] : tensor<128x128xf32> to memref<?x?xf32>
    %r = tile.reduce <max> %d {axis = 1 : i64} : tensor<128x128xf32> -> tensor<128xf32>
    tile.atomic_rmw <max> %r to %R[%m] : tensor<128xf32> to memref<?xf32>
    gpu.return
  }

  // A kernel with a schedule: roles, a channel, instructions and stages.
  // CHECK-LABEL: gpu.func @roles
  // CHECK: tile.channel(%{{.*}}) {producer = #tile.producer<tma>} {{.*}} -> !tile.channel<2>
  // CHECK: tile.role @math warps(4) registers(232)
  // CHECK: tile.role @load warps(4) registers(40)
  // CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<tma>}
  gpu.func @roles(%A: memref<?x?xf16>, %C: memref<?x?xf16>, %n: index) kernel attributes {
      tile.threads = 256 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : !As
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !As -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(4) registers(232) {
        %q0 = tile.cursor : !tile.cursor<2>
        %last = scf.for %i = %c0 to %n step %c1 iter_args(%q = %q0) -> (!tile.cursor<2>) {
          tile.wait %ch[%q] : !tile.channel<2>
          %a = tile.slot %as[%q] : !As -> memref<128x64xf16, #gpu.address_space<workgroup>>
          %x = tile.load %a : memref<128x64xf16, #gpu.address_space<workgroup>> -> tensor<128x64xf16>
          tile.release %ch[%q] : !tile.channel<2>
          tile.store %x to %C[%i, %c0] : tensor<128x64xf16> to memref<?x?xf16>
          %next = tile.advance %q : !tile.cursor<2>
          scf.yield %next : !tile.cursor<2>
        }
      }
      tile.role @load warps(4) registers(40) {
        %p0 = tile.cursor : !tile.cursor<2>
        %last = scf.for %i = %c0 to %n step %c1 iter_args(%p = %p0) -> (!tile.cursor<2>) {
          tile.acquire %ch[%p] : !tile.channel<2>
          %a = tile.slot %as[%p] : !As -> memref<128x64xf16, #gpu.address_space<workgroup>>
          tile.copy %A[%i, %c0] to %a {tile.inst = #tile.inst<tma>}
            : memref<?x?xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>
          tile.commit %ch[%p] : !tile.channel<2>
          %next = tile.advance %p : !tile.cursor<2>
          scf.yield %next : !tile.cursor<2>
        }
      }
    }
    gpu.return
  }
  // The lowered form of a schedule: barriers, slots and phases.
  // CHECK-LABEL: gpu.func @barriers
  // CHECK: tile.mbarrier {count = 1 : i64, tile.offset = 32768 : i64} : !tile.mbarrier<2>
  // CHECK: tile.mbarrier_wait %{{.*}}[%{{.*}}], %{{.*}} {cluster} : !tile.mbarrier<2>
  // CHECK: tile.mbarrier_arrive %{{.*}}[%{{.*}}] {by = #tile.agents<warps>, converged, peers = [#tile.cluster<x>]} : !tile.mbarrier<2>
  // CHECK: tile.role @load warps(4) elected
  // CHECK: tile.copy {{.*}} signals({{.*}}) {multicast = #tile.cluster<x>, tile.inst = #tile.inst<tma>}
  gpu.func @barriers(%A: memref<?x?xf16>, %slot: i32, %phase: i32) kernel attributes {
      tile.threads = 256 : i32, tile.cluster = array<i32: 2, 1, 1>, tile.shared_bytes = 32800 : i64} {
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !As
    %full = tile.mbarrier {count = 1 : i64, tile.offset = 32768 : i64} : !tile.mbarrier<2>
    %empty = tile.mbarrier {count = 8 : i64, tile.offset = 32784 : i64} : !tile.mbarrier<2>
    tile.mbarrier_ready {cluster}
    tile.specialize {
      tile.role @math warps(4) {
        tile.mbarrier_wait %full[%slot], %phase {cluster} : !tile.mbarrier<2>
        tile.mbarrier_arrive %empty[%slot] {by = #tile.agents<warps>, converged, peers = [#tile.cluster<x>]} : !tile.mbarrier<2>
      }
      tile.role @load warps(4) elected {
        tile.mbarrier_wait %empty[%slot], %phase : !tile.mbarrier<2>
        %a = tile.slot %as[%slot] : !As, i32 -> memref<128x64xf16, #gpu.address_space<workgroup>>
        tile.copy %A[0, 0] to %a signals(%full[%slot]) {multicast = #tile.cluster<x>, tile.inst = #tile.inst<tma>}
          : memref<?x?xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>, !tile.mbarrier<2>
        tile.mbarrier_arrive %full[%slot] {by = #tile.agents<thread>, bytes = 16384 : i64} : !tile.mbarrier<2>
      }
    }
    tile.cluster_barrier
    gpu.return
  }
}
