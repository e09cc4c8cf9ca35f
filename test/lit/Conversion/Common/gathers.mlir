// Gathers and scatters: the address of an element has a part from its index; neighbors with
// one index and one mask are one access. AMD's hardware checks bounds: there are no branches.
//
// RUN: tilews-opt %s --tile-set-target="chip=sm_90a" --tilews-to-nvvm | FileCheck %s --check-prefixes=CHECK,NV
// RUN: tilews-opt %s --tile-set-target="chip=gfx942" --tilews-to-rocdl | FileCheck %s --check-prefixes=CHECK,AMD

gpu.module @m {
  // Rows of 64 elements: one index for 8 of them, one mask and one access of 16 bytes.
  // CHECK-LABEL: llvm.func @rows
  // CHECK: %[[STEP:.*]] = llvm.mlir.constant(64 : {{i32|i64}})
  // CHECK: %[[INDEX:.*]] = llvm.load %{{.*}} : !llvm.ptr{{.*}} -> i32
  // CHECK: %[[INSIDE:.*]] = llvm.icmp "ult"
  // NV: llvm.cond_br
  // AMD-NOT: llvm.cond_br
  // AMD: llvm.select %[[INSIDE]]
  // CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr{{.*}} -> vector<8xf16>
  // CHECK-NOT: llvm.load {{.*}} -> f16
  // CHECK: llvm.return
  gpu.func @rows(%a: memref<?x64xf16>, %i: memref<16xi32>, %c: memref<16x64xf16>) kernel attributes {tile.threads = 128 : i32} {
    %0 = tile.load %i : memref<16xi32> -> tensor<16xi32>
    %1 = tile.expand_dims %0 {axis = 1 : i64} : tensor<16xi32> -> tensor<16x1xi32>
    %2 = tile.gather %a[0, 0] [16, 64] at(0 = %1 : tensor<16x1xi32>) : memref<?x64xf16> -> tensor<16x64xf16>
    tile.store %2 to %c : tensor<16x64xf16> to memref<16x64xf16>
    gpu.return
  }

  // Columns: neighbors have indices of their own.
  // CHECK-LABEL: llvm.func @columns
  // CHECK: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr{{.*}} -> f16
  // CHECK: llvm.return
  gpu.func @columns(%a: memref<16x?xf16>, %i: memref<64xi32>, %c: memref<16x64xf16>) kernel attributes {tile.threads = 128 : i32} {
    %0 = tile.load %i : memref<64xi32> -> tensor<64xi32>
    %1 = tile.expand_dims %0 {axis = 0 : i64} : tensor<64xi32> -> tensor<1x64xi32>
    %2 = tile.gather %a[0, 0] [16, 64] at(1 = %1 : tensor<1x64xi32>) : memref<16x?xf16> -> tensor<16x64xf16>
    tile.store %2 to %c : tensor<16x64xf16> to memref<16x64xf16>
    gpu.return
  }

  // Each element has a mask: one access where all are true, otherwise one for each.
  // On AMD one access and a selection for each.
  // CHECK-LABEL: llvm.func @masked
  // NV: llvm.and
  // NV: llvm.cond_br
  // NV-DAG: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr{{.*}} -> vector<8xf16>
  // NV-DAG: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr{{.*}} -> f16
  // AMD-NOT: llvm.cond_br
  // AMD: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<7> -> vector<8xf16>
  // AMD-COUNT-8: llvm.select %{{.*}}, %{{.*}}, %{{.*}} : i1, f16
  // AMD-NOT: llvm.cond_br
  // CHECK: llvm.return
  gpu.func @masked(%a: memref<16x64xf16>, %m: memref<16x64xi1>, %c: memref<16x64xf16>) kernel attributes {tile.threads = 128 : i32} {
    %0 = tile.load %m : memref<16x64xi1> -> tensor<16x64xi1>
    %1 = tile.gather %a mask(%0 : tensor<16x64xi1>) : memref<16x64xf16> -> tensor<16x64xf16>
    tile.store %1 to %c : tensor<16x64xf16> to memref<16x64xf16>
    gpu.return
  }

  // An update of elements at indices is one atomic operation for each.
  // CHECK-LABEL: llvm.func @counts
  // CHECK: llvm.icmp "ult"
  // CHECK: llvm.atomicrmw add
  // CHECK-NOT: llvm.atomicrmw
  // CHECK: llvm.return
  gpu.func @counts(%i: memref<128xi32>, %n: memref<?xi32>) kernel attributes {tile.threads = 128 : i32} {
    %v = arith.constant dense<1> : tensor<128xi32>
    %0 = tile.load %i : memref<128xi32> -> tensor<128xi32>
    tile.atomic_scatter <add> %v to %n[0] [128] at(0 = %0 : tensor<128xi32>) : tensor<128xi32> to memref<?xi32>
    gpu.return
  }

  // The indices of a copy are read from memory.
  // CHECK-LABEL: llvm.func @copied
  // CHECK: llvm.load %{{.*}} : !llvm.ptr<{{[13]}}> -> i32
  // CHECK: llvm.return
  gpu.func @copied(%a: memref<?x64xf16>, %i: memref<16xi32>, %c: memref<16x64xf16>) kernel attributes {tile.threads = 128 : i32} {
    %r = tile.alloc_shared : memref<16xi32, #gpu.address_space<workgroup>>
    %s = tile.alloc_shared : memref<16x64xf16, #gpu.address_space<workgroup>>
    tile.copy %i to %r : memref<16xi32> to memref<16xi32, #gpu.address_space<workgroup>>
    tile.copy %a[0, 0] at(0 = %r : memref<16xi32, #gpu.address_space<workgroup>>) to %s
      : memref<?x64xf16> to memref<16x64xf16, #gpu.address_space<workgroup>>
    %0 = tile.load %s : memref<16x64xf16, #gpu.address_space<workgroup>> -> tensor<16x64xf16>
    tile.store %0 to %c : tensor<16x64xf16> to memref<16x64xf16>
    gpu.return
  }

  // Up to a limit, elements are accessed without masks if none of them is past it. On AMD each
  // access has a mask, which moves it past the end of a buffer resource.
  // CHECK-LABEL: llvm.func @limited
  // CHECK: %[[END:.*]] = llvm.intr.smax(%{{.*}}, %{{.*}})
  // CHECK: %[[EXTENT:.*]] = llvm.select %{{.*}}, %{{.*}}, %[[END]]
  // NV: %[[LAST:.*]] = llvm.add %[[EXTENT]], %{{.*}}
  // NV: llvm.icmp "sle" %{{.*}}, %[[LAST]]
  // NV: llvm.cond_br
  // NV: llvm.store %{{.*}} : vector<8xf16>
  // NV: llvm.icmp "ult" %{{.*}}, %[[EXTENT]]
  // AMD-NOT: llvm.cond_br
  // AMD: %[[INSIDE:.*]] = llvm.icmp "ult" %{{.*}}, %[[EXTENT]]
  // AMD: llvm.select %[[INSIDE]]
  // AMD: llvm.store %{{.*}} : vector<8xf16>, !llvm.ptr<7>
  // AMD-NOT: llvm.cond_br
  // CHECK: llvm.return
  gpu.func @limited(%a: memref<?x64xf16>, %c: memref<16x64xf16>, %first: index, %end: index) kernel attributes {tile.threads = 128 : i32} {
    %0 = tile.load %c[0, 0] : memref<16x64xf16> -> tensor<16x64xf16>
    tile.scatter %0 to %a[%first, 0] limit(0 = %end) : tensor<16x64xf16> to memref<?x64xf16>
    gpu.return
  }
}
