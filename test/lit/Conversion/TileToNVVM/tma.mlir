// Copies by TMA: boxes, tensor maps and their order, and stores.
// RUN: tilews-opt %s --tile-plan-shared-memory --tile-insert-barriers --tile-lower-channels --convert-tile-to-nvvm --cse | FileCheck %s

#wg = #gpu.address_space<workgroup>
#acc = #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>
#panels = #tile.shared<(64, (64, 2)):(64, (1, 4096)), Sw<3,4,3>>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // Ordinary writes are fenced, then one thread stores, unless the array has no element.
  // The buffer is written again only after the store has read it.
  // CHECK-LABEL: llvm.func @store
  // CHECK-SAME: %[[C:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64
  // CHECK-SAME: tile.tensor_maps = [{argument = 0 : i64, box = array<i64: 64, 64>, dims = array<i64: 1, 0>, swizzle = #tile.swizzle<none>}]
  // CHECK: %[[FIRST:.*]] = arith.cmpi eq
  // CHECK: nvvm.prefetch tensormap, %[[C]], predicate = %[[FIRST]]
  // CHECK: scf.for
  // CHECK:   nvvm.cp.async.bulk.wait_group 0 {read}
  // CHECK-NEXT: nvvm.barrier0
  // CHECK:   llvm.store
  // CHECK:   nvvm.fence.proxy
  // CHECK:   nvvm.barrier0
  // CHECK:   scf.if %[[FIRST]] {
  // CHECK:     %[[ROWS:.*]] = llvm.extractvalue %{{.*}}[3, 0]
  // CHECK:     %[[ANY_ROW:.*]] = arith.cmpi ne, %[[ROWS]], %c0_i32
  // CHECK:     %[[COLUMNS:.*]] = llvm.extractvalue %{{.*}}[3, 1]
  // CHECK:     %[[ANY_COLUMN:.*]] = arith.cmpi ne, %[[COLUMNS]], %c0_i32
  // CHECK:     %[[ANY:.*]] = arith.andi %[[ANY_ROW]], %[[ANY_COLUMN]]
  // CHECK:     scf.if %[[ANY]] {
  // CHECK:       nvvm.cp.async.bulk.tensor.global.shared.cta %[[C]], %{{.*}}, box[%[[N:.*]], %[[M:.*]]]
  // CHECK:     }
  // CHECK:     nvvm.cp.async.bulk.commit.group
  // CHECK:   }
  // CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
  // CHECK: llvm.return
  gpu.func @store(%C: memref<?x?xf32>, %trips: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %t = arith.constant dense<1.0> : tensor<64x64xf32, #acc>
    %Cs = tile.alloc_shared : memref<64x64xf32, #wg>
    scf.for %i = %c0 to %trips step %c1 {
      %m = arith.muli %i, %c64 : index
      tile.store %t to %Cs : tensor<64x64xf32, #acc> to memref<64x64xf32, #wg>
      tile.copy %Cs to %C[%m, 0] {tile.inst = #tile.inst<tma>} : memref<64x64xf32, #wg> to memref<?x?xf32>
    }
    gpu.return
  }

  // The next iteration reads what this one stores, so the kernel waits until the store
  // is complete.
  // CHECK-LABEL: llvm.func @read
  // CHECK: scf.for
  // CHECK:   nvvm.cp.async.bulk.wait_group 0{{$}}
  // CHECK-NEXT: nvvm.barrier0
  // CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
  // CHECK: llvm.return
  gpu.func @read(%C: memref<?x?xf32>, %trips: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %Cs = tile.alloc_shared : memref<64x64xf32, #wg>
    scf.for %i = %c0 to %trips step %c1 {
      %m = arith.muli %i, %c64 : index
      %t = tile.load %C[%m, 0] : memref<?x?xf32> -> tensor<64x64xf32, #acc>
      tile.store %t to %Cs : tensor<64x64xf32, #acc> to memref<64x64xf32, #wg>
      tile.copy %Cs to %C[%m, 0] {tile.inst = #tile.inst<tma>} : memref<64x64xf32, #wg> to memref<?x?xf32>
    }
    gpu.return
  }

  // Two panels of 128-byte rows are two boxes. Batch and head are dimensions of extent
  // one. Both copies of Q use the same map.
  // CHECK-LABEL: llvm.func @load
  // CHECK-SAME: %[[Q:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64
  // CHECK-SAME: tile.tensor_maps = [{argument = 0 : i64, box = array<i64: 64, 64, 1, 1>, dims = array<i64: 3, 1, 2, 0>, swizzle = #tile.swizzle<span128>}, {argument = 1 : i64, box = array<i64: 256>, dims = array<i64: 0>, swizzle = #tile.swizzle<none>}]
  // CHECK: nvvm.mbarrier.try_wait
  // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[Q]], %[[FULL:[0-9]+]], box[%[[ZERO:c0[_a-z0-9]*]], %[[ROW:[a-z0-9_]+]], %{{.*}}, %{{.*}}]
  // CHECK: llvm.getelementptr %{{.*}}[8192]
  // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[Q]], %[[FULL]], box[%c64{{.*}}, %[[ROW]], %{{.*}}, %{{.*}}]
  // CHECK-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[Q]]
  // CHECK-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %{{.*}}, %[[FULL]], box[%{{[^,]*}}]
  // The bytes of copies in the branch are expected there, those of the other copies at
  // the commit: 2 * 16384 bytes.
  // CHECK: scf.if
  // CHECK:   %[[ALONE:.*]] = arith.constant 2048 : i32
  // CHECK:   nvvm.mbarrier.expect_tx %[[FULL]], %[[ALONE]]
  // CHECK: %[[ALL:.*]] = arith.constant 34816 : i32
  // CHECK: nvvm.mbarrier.arrive.expect_tx %[[FULL]], %[[ALL]]
  gpu.func @load(%Q: memref<?x?x?x128xbf16>, %bias: memref<?xf32>, %b: index, %m: index, %h: index, %more: i1) kernel attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %Qs = tile.alloc_shared : memref<1x64x128xbf16, #tile.shared<(1, 64, (64, 2)):(8192, 64, (1, 4096)), Sw<3,4,3>>, #wg>
    %Rs = tile.alloc_shared : memref<1x64x128xbf16, #tile.shared<(1, 64, (64, 2)):(8192, 64, (1, 4096)), Sw<3,4,3>>, #wg>
    %Bs = tile.alloc_shared : memref<1x512xf32, #tile.shared<(1, 512):(512, 1)>, #wg>
    %Es = tile.alloc_shared : memref<1x512xf32, #tile.shared<(1, 512):(512, 1)>, #wg>
    %ch = tile.channel(%Qs, %Rs, %Bs, %Es) {producer = #tile.producer<tma>} : memref<1x64x128xbf16, #tile.shared<(1, 64, (64, 2)):(8192, 64, (1, 4096)), Sw<3,4,3>>, #wg>, memref<1x64x128xbf16, #tile.shared<(1, 64, (64, 2)):(8192, 64, (1, 4096)), Sw<3,4,3>>, #wg>, memref<1x512xf32, #tile.shared<(1, 512):(512, 1)>, #wg>, memref<1x512xf32, #tile.shared<(1, 512):(512, 1)>, #wg> -> !tile.channel<1>
    tile.specialize {
      tile.role @load warps(1) {
        %p = tile.cursor : !tile.cursor<1>
        %q = tile.slot %Qs[%p] : memref<1x64x128xbf16, #tile.shared<(1, 64, (64, 2)):(8192, 64, (1, 4096)), Sw<3,4,3>>, #wg> -> memref<64x128xbf16, #panels, #wg>
        %r = tile.slot %Rs[%p] : memref<1x64x128xbf16, #tile.shared<(1, 64, (64, 2)):(8192, 64, (1, 4096)), Sw<3,4,3>>, #wg> -> memref<64x128xbf16, #panels, #wg>
        %s = tile.slot %Bs[%p] : memref<1x512xf32, #tile.shared<(1, 512):(512, 1)>, #wg> -> memref<512xf32, #tile.shared<(512):(1)>, #wg>
        %e = tile.slot %Es[%p] : memref<1x512xf32, #tile.shared<(1, 512):(512, 1)>, #wg> -> memref<512xf32, #tile.shared<(512):(1)>, #wg>
        tile.acquire %ch[%p] : !tile.channel<1>
        tile.copy %Q[%b, %m, %h, 0] [1, 64, 1, 128] to %q {tile.inst = #tile.inst<tma>} : memref<?x?x?x128xbf16> to memref<64x128xbf16, #panels, #wg>
        %m1 = arith.addi %m, %c64 : index
        tile.copy %Q[%b, %m1, %h, 0] [1, 64, 1, 128] to %r {tile.inst = #tile.inst<tma>} : memref<?x?x?x128xbf16> to memref<64x128xbf16, #panels, #wg>
        tile.copy %bias[%m] to %s {tile.inst = #tile.inst<tma>} : memref<?xf32> to memref<512xf32, #tile.shared<(512):(1)>, #wg>
        scf.if %more {
          tile.copy %bias[%h] to %e {tile.inst = #tile.inst<tma>} : memref<?xf32> to memref<512xf32, #tile.shared<(512):(1)>, #wg>
        }
        tile.commit %ch[%p] : !tile.channel<1>
      }
      tile.role @use warps(1) {
        %p = tile.cursor : !tile.cursor<1>
        tile.wait %ch[%p] : !tile.channel<1>
        tile.release %ch[%p] : !tile.channel<1>
      }
    }
    gpu.return
  }

  // Rows at the limit or after it are outside of the tensor map, which has a window of
  // the tile's rows: of n rows, the first is row 64 - n of the window. A box without rows
  // takes the second map, which has one element and is not prefetched. A region that
  // starts before the array has no rows: the comparison is unsigned.
  // CHECK-LABEL: llvm.func @limited
  // CHECK-SAME: %[[MAP:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64
  // CHECK-SAME: %[[OUTSIDE:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64
  // CHECK-SAME: tile.tensor_maps = [{argument = 0 : i64, box = array<i64: 64, 64>, dims = array<i64: 1, 0>, swizzle = #tile.swizzle<none>, window = array<i64: 0, 64>}, {argument = 0 : i64, box = array<i64: 64, 64>, dims = array<i64: 1, 0>, outside, swizzle = #tile.swizzle<none>, window = array<i64: 0, 64>}]
  // CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
  // CHECK: nvvm.prefetch tensormap, %[[MAP]]
  // CHECK-NOT: nvvm.prefetch
  // CHECK: nvvm.fence.mbarrier.init
  // CHECK: scf.if
  // CHECK: %[[END:.*]] = arith.minsi %[[LIMIT:.*]], %{{.*}} : i32
  // CHECK: %[[CLAMPED:.*]] = arith.maxsi %[[END]], %[[ZERO]]
  // CHECK: %[[BEFORE:.*]] = arith.cmpi slt, %[[FIRST:.*]], %[[ZERO]]
  // CHECK: %[[STOP:.*]] = arith.select %[[BEFORE]], %[[ZERO]], %[[CLAMPED]]
  // CHECK: %[[SIZE:.*]] = arith.constant 64 : i32
  // CHECK: %[[ANY:.*]] = arith.cmpi ult, %[[FIRST]], %[[STOP]]
  // CHECK: %[[LENGTH:.*]] = arith.subi %[[STOP]], %[[FIRST]]
  // CHECK: %[[ROWS:.*]] = arith.minsi %[[LENGTH]], %[[SIZE]] : i32
  // CHECK: %[[COUNT:.*]] = arith.select %[[ANY]], %[[ROWS]], %[[ZERO]]
  // CHECK: %[[NEXT:.*]] = arith.addi %[[FIRST]], %[[COUNT]]
  // CHECK: %[[PLACE:.*]] = arith.select %[[ANY]], %[[NEXT]], %[[ZERO]]
  // CHECK: %[[ROW:.*]] = arith.subi %[[SIZE]], %[[COUNT]]
  // CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[ROW]], %[[SIZE]]
  // CHECK: %[[CHOSEN:.*]] = arith.select %[[INSIDE]], %[[MAP]], %[[OUTSIDE]] : !llvm.ptr
  // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[CHOSEN]], %{{.*}}, box[%{{.*}}, %[[ROW]], %[[PLACE]]]
  gpu.func @limited(%A: memref<?x64xf32>, %first: index, %end: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : i32
    %As = tile.alloc_shared : memref<64x64xf32, #wg>
    %full = tile.mbarrier {count = 1 : i64} : !tile.mbarrier<1>
    tile.mbarrier_ready
    tile.copy %A[%first, 0] to %As limit(0 = %end) signals(%full[%c0]) {tile.inst = #tile.inst<tma>}
      : memref<?x64xf32> to memref<64x64xf32, #wg>, !tile.mbarrier<1>
    gpu.return
  }

  // A store leaves out rows in the same way. Each of its two boxes has its own map. One
  // that touches no column of the array is outside as well: the column is from -31 to
  // N - 1 if 31 more is from 0 to N + 30.
  // CHECK-LABEL: llvm.func @limited_store
  // CHECK-SAME: %[[COL:[a-z0-9]+]]: i32, %[[MAP:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64
  // CHECK-SAME: %[[OUTSIDE:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64
  // CHECK-SAME: tile.tensor_maps = [{argument = 0 : i64, box = array<i64: 32, 256>, dims = array<i64: 1, 0>, swizzle = #tile.swizzle<none>, window = array<i64: 0, 512>}, {argument = 0 : i64, box = array<i64: 32, 256>, dims = array<i64: 1, 0>, outside, swizzle = #tile.swizzle<none>, window = array<i64: 0, 512>}]
  // CHECK: scf.if
  // CHECK: %[[SIZE:.*]] = arith.constant 512 : i32
  // CHECK: %[[ROW:.*]] = arith.subi %[[SIZE]], %{{.*}} : i32
  // CHECK: %[[WIDTH:.*]] = llvm.extractvalue %{{.*}}[3, 1]
  // CHECK: %[[LAST:.*]] = arith.addi %[[COL]], %c31_i32
  // CHECK: %[[REACH:.*]] = arith.addi %[[WIDTH]], %c31_i32
  // CHECK: %[[WIDE:.*]] = arith.cmpi ult, %[[LAST]], %[[REACH]]
  // CHECK: %[[TALL:.*]] = arith.cmpi ult, %[[ROW]], %[[SIZE]]
  // CHECK: %[[INSIDE:.*]] = arith.andi %[[WIDE]], %[[TALL]]
  // CHECK: %[[CHOSEN:.*]] = arith.select %[[INSIDE]], %[[MAP]], %[[OUTSIDE]] : !llvm.ptr
  // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %[[CHOSEN]], %{{.*}}, box[%[[COL]], %[[ROW]], %[[PLACE:.*]]]
  // CHECK: %[[ROW2:.*]] = arith.addi %[[ROW]], %c256_i32
  // CHECK: %[[TALL2:.*]] = arith.cmpi ult, %[[ROW2]], %[[SIZE]]
  // CHECK: %[[INSIDE2:.*]] = arith.andi %[[WIDE]], %[[TALL2]]
  // CHECK: %[[CHOSEN2:.*]] = arith.select %[[INSIDE2]], %[[MAP]], %[[OUTSIDE]] : !llvm.ptr
  // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %[[CHOSEN2]], %{{.*}}, box[%[[COL]], %[[ROW2]], %[[PLACE]]]
  gpu.func @limited_store(%C: memref<?x?xf32>, %first: index, %end: index, %column: index) kernel attributes {tile.threads = 128 : i32} {
    %Cs = tile.alloc_shared : memref<512x32xf32, #wg>
    tile.copy %Cs to %C[%first, %column] limit(0 = %end) {tile.inst = #tile.inst<tma>} : memref<512x32xf32, #wg> to memref<?x?xf32>
    gpu.return
  }
}
