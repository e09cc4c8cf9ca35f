// RUN: tilews-opt %s --split-input-file --tile-plan-pipeline --tile-multi-version --tile-specialize-warps --canonicalize --cse --verify-diagnostics=only-expected | FileCheck %s

!G = memref<64x?xf16>
!S = memref<64x64xf16, #gpu.address_space<workgroup>>
!M = memref<1x8xi32, #gpu.address_space<workgroup>>
!half = tensor<64x64xf16>

// Each iteration of the outer loop copies a mask. Both roles read it from global memory
// instead, as zero past its end. Nothing reads the buffer any more.
// CHECK-LABEL: gpu.func @mask_of_a_tile
// CHECK-COUNT-1: tile.alloc_shared
// CHECK-NOT: tile.alloc_shared
// CHECK: tile.role @math
// CHECK: scf.for %[[T:.*]] = %arg4
// CHECK-NOT: tile.copy
// CHECK: scf.for %[[I:.*]] = %c0
// CHECK: %[[ROWS:.*]] = memref.dim %arg1, %c0
// CHECK: %[[A:.*]] = arith.cmpi ult, %[[T]], %[[ROWS]]
// CHECK: %[[COLUMNS:.*]] = memref.dim %arg1, %c1
// CHECK: %[[B:.*]] = arith.cmpi ult, %[[I]], %[[COLUMNS]]
// CHECK: %[[IN:.*]] = arith.andi %[[A]], %[[B]]
// CHECK: %[[ON:.*]] = scf.if %[[IN]] -> (i32) {
// CHECK-NEXT: %[[READ:.*]] = memref.load %arg1[%[[T]], %[[I]]]
// CHECK-NEXT: scf.yield %[[READ]]
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %c0_i32
// CHECK: %[[ANY:.*]] = arith.cmpi sgt, %[[ON]]
// CHECK: scf.if %[[ANY]]
// CHECK: tile.wait
// CHECK: tile.role @load
// CHECK: memref.load %arg1
// CHECK: tile.acquire
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @mask_of_a_tile(%A: !G, %mask: memref<?x?xi32>, %C: memref<64x64xf16>, %n: index, %t0: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : !half
    %none = arith.constant 0 : i32
    %ms = tile.alloc_shared : !M
    %as = tile.alloc_shared : !S
    scf.for %t = %t0 to %n step %c1 {
      tile.copy %mask[%t, 0] to %ms {tile.inst = #tile.inst<cp_async>} : memref<?x?xi32> to !M
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> !half {
        %on = memref.load %ms[%c0, %i] : !M
        %any = arith.cmpi sgt, %on, %none : i32
        %new = scf.if %any -> !half {
          tile.copy %A[0, %i] to %as {tile.inst = #tile.inst<tma>} : !G to !S
          %a = tile.load %as : !S -> !half
          %sum = arith.addf %acc, %a : !half
          scf.yield %sum : !half
        } else {
          scf.yield %acc : !half
        }
        scf.yield %new : !half
      } {tile.num_stages = 2 : i32}
      tile.store %r to %C : !half to memref<64x64xf16>
    }
    gpu.return
  }
}

// -----

!G = memref<64x?xf16>
!S = memref<64x64xf16, #gpu.address_space<workgroup>>
!M = memref<8xi32, #gpu.address_space<workgroup>>
!half = tensor<64x64xf16>

// A fragment is loaded from a part that starts in the middle of the tile. Reads that
// decide on no guard still use shared memory, so the copy stays.
// CHECK-LABEL: gpu.func @part_of_a_mask
// CHECK: %[[MS:.*]] = tile.alloc_shared : memref<8xi32
// CHECK: tile.role @math
// CHECK: scf.for %[[T:.*]] = %arg4
// CHECK: tile.copy %arg1[%[[T]], 16] [1, 8] to %[[MS]]
// CHECK: tile.load %arg1[%[[T]], 20] [1, 2] : memref<?x64xi32> -> tensor<2xi32>
// CHECK: tile.wait
// CHECK: tile.load %[[MS]] : memref<8xi32
// CHECK: tile.role @load
// CHECK-NOT: tile.copy %arg1
// CHECK: tile.load %arg1[%{{.*}}, 20] [1, 2]
// CHECK: tile.acquire
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @part_of_a_mask(%A: !G, %mask: memref<?x64xi32>, %C: memref<8xi32>, %n: index, %t0: index, %D: memref<64x64xf16>) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %none = arith.constant 0 : i32
    %ms = tile.alloc_shared : !M
    %as = tile.alloc_shared : !S
    scf.for %t = %t0 to %n step %c1 {
      tile.copy %mask[%t, 16] [1, 8] to %ms {tile.inst = #tile.inst<cp_async>} : memref<?x64xi32> to !M
      scf.for %i = %c0 to %n step %c1 {
        %two = tile.load %ms[4] : !M -> tensor<2xi32>
        %max = tile.reduce <max> %two {axis = 0 : i64} : tensor<2xi32> -> tensor<i32>
        %on = tensor.extract %max[] : tensor<i32>
        %any = arith.cmpi sgt, %on, %none : i32
        scf.if %any {
          tile.copy %A[0, %i] to %as {tile.inst = #tile.inst<tma>} : !G to !S
          %a = tile.load %as : !S -> !half
          tile.store %a to %D : !half to memref<64x64xf16>
          %all = tile.load %ms : !M -> tensor<8xi32>
          tile.store %all to %C : tensor<8xi32> to memref<8xi32>
        }
      } {tile.num_stages = 2 : i32}
    }
    gpu.return
  }
}

// -----

!G = memref<64x?xf16>
!S = memref<64x64xf16, #gpu.address_space<workgroup>>
!M = memref<1x8xi32, #gpu.address_space<workgroup>>
!half = tensor<64x64xf16>

// The kernel writes the memory that is copied.
// CHECK-LABEL: gpu.func @changed
// CHECK: tile.copy
// CHECK: memref.load {{.*}} #gpu.address_space<workgroup>>
// CHECK-NOT: tile.role
// CHECK: gpu.return
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @changed(%A: !G, %mask: memref<?x?xi32>, %C: memref<64x64xf16>, %n: index, %t0: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : !half
    %none = arith.constant 0 : i32
    %ms = tile.alloc_shared : !M
    %as = tile.alloc_shared : !S
    scf.for %t = %t0 to %n step %c1 {
      // expected-note @below {{written here}}
      tile.copy %mask[%t, 0] to %ms {tile.inst = #tile.inst<cp_async>} : memref<?x?xi32> to !M
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> !half {
        // expected-remark @below {{tile-ws-0003: kernel keeps one role: filling a channel needs this read of memory that the kernel writes}}
        %on = memref.load %ms[%c0, %i] : !M
        %any = arith.cmpi sgt, %on, %none : i32
        %new = scf.if %any -> !half {
          tile.copy %A[0, %i] to %as {tile.inst = #tile.inst<tma>} : !G to !S
          %a = tile.load %as : !S -> !half
          %sum = arith.addf %acc, %a : !half
          scf.yield %sum : !half
        } else {
          scf.yield %acc : !half
        }
        scf.yield %new : !half
      } {tile.num_stages = 2 : i32}
      tile.store %r to %C : !half to memref<64x64xf16>
      memref.store %none, %mask[%t, %c0] : memref<?x?xi32>
    }
    gpu.return
  }
}

// -----

!G = memref<64x?xf16>
!S = memref<64x64xf16, #gpu.address_space<workgroup>>
!M = memref<1x8xi32, #gpu.address_space<workgroup>>
!half = tensor<64x64xf16>

// The copy fills only a part of the mask.
// CHECK-LABEL: gpu.func @part
// CHECK: tile.copy
// CHECK: memref.load {{.*}} #gpu.address_space<workgroup>>
// CHECK-NOT: tile.role
// CHECK: gpu.return
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @part(%A: !G, %mask: memref<?x?xi32>, %C: memref<64x64xf16>, %n: index, %t0: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : !half
    %none = arith.constant 0 : i32
    %ms = tile.alloc_shared : !M
    %as = tile.alloc_shared : !S
    scf.for %t = %t0 to %n step %c1 {
      // expected-note @below {{written here}}
      tile.copy %mask[%t, 0] [1, 4] to %ms[0, 0] [1, 4] {tile.inst = #tile.inst<cp_async>} : memref<?x?xi32> to !M
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> !half {
        // expected-remark @below {{tile-ws-0003: kernel keeps one role: filling a channel needs this read of memory that the kernel writes}}
        %on = memref.load %ms[%c0, %i] : !M
        %any = arith.cmpi sgt, %on, %none : i32
        %new = scf.if %any -> !half {
          tile.copy %A[0, %i] to %as {tile.inst = #tile.inst<tma>} : !G to !S
          %a = tile.load %as : !S -> !half
          %sum = arith.addf %acc, %a : !half
          scf.yield %sum : !half
        } else {
          scf.yield %acc : !half
        }
        scf.yield %new : !half
      } {tile.num_stages = 2 : i32}
      tile.store %r to %C : !half to memref<64x64xf16>
    }
    gpu.return
  }
}

// -----

!G = memref<64x?xf16>
!S = memref<64x64xf16, #gpu.address_space<workgroup>>
!M = memref<1x8xi32, #gpu.address_space<workgroup>>
!half = tensor<64x64xf16>

// Two copies fill the mask.
// CHECK-LABEL: gpu.func @twice
// CHECK: tile.copy
// CHECK: memref.load {{.*}} #gpu.address_space<workgroup>>
// CHECK-NOT: tile.role
// CHECK: gpu.return
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @twice(%A: !G, %mask: memref<?x?xi32>, %C: memref<64x64xf16>, %n: index, %t0: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : !half
    %none = arith.constant 0 : i32
    %ms = tile.alloc_shared : !M
    %as = tile.alloc_shared : !S
    scf.for %t = %t0 to %n step %c1 {
      // expected-note @below {{written here}}
      tile.copy %mask[%t, 0] to %ms {tile.inst = #tile.inst<cp_async>} : memref<?x?xi32> to !M
      tile.copy %mask[%t, 0] to %ms {tile.inst = #tile.inst<cp_async>} : memref<?x?xi32> to !M
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> !half {
        // expected-remark @below {{tile-ws-0003: kernel keeps one role: filling a channel needs this read of memory that the kernel writes}}
        %on = memref.load %ms[%c0, %i] : !M
        %any = arith.cmpi sgt, %on, %none : i32
        %new = scf.if %any -> !half {
          tile.copy %A[0, %i] to %as {tile.inst = #tile.inst<tma>} : !G to !S
          %a = tile.load %as : !S -> !half
          %sum = arith.addf %acc, %a : !half
          scf.yield %sum : !half
        } else {
          scf.yield %acc : !half
        }
        scf.yield %new : !half
      } {tile.num_stages = 2 : i32}
      tile.store %r to %C : !half to memref<64x64xf16>
    }
    gpu.return
  }
}

// -----

!G = memref<64x?xf16>
!S = memref<64x64xf16, #gpu.address_space<workgroup>>
!M = memref<1x8xi32, #gpu.address_space<workgroup>>
!half = tensor<64x64xf16>

// The iteration before has filled what is read.
// CHECK-LABEL: gpu.func @before
// CHECK: tile.copy
// CHECK: memref.load {{.*}} #gpu.address_space<workgroup>>
// CHECK-NOT: tile.role
// CHECK: gpu.return
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @before(%A: !G, %mask: memref<?x?xi32>, %C: memref<64x64xf16>, %n: index, %t0: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : !half
    %none = arith.constant 0 : i32
    %ms = tile.alloc_shared : !M
    %as = tile.alloc_shared : !S
    scf.for %t = %t0 to %n step %c1 {
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> !half {
        // expected-remark @below {{tile-ws-0003: kernel keeps one role: filling a channel needs this read of memory that the kernel writes}}
        %on = memref.load %ms[%c0, %i] : !M
        %any = arith.cmpi sgt, %on, %none : i32
        %new = scf.if %any -> !half {
          tile.copy %A[0, %i] to %as {tile.inst = #tile.inst<tma>} : !G to !S
          %a = tile.load %as : !S -> !half
          %sum = arith.addf %acc, %a : !half
          scf.yield %sum : !half
        } else {
          scf.yield %acc : !half
        }
        scf.yield %new : !half
      } {tile.num_stages = 2 : i32}
      tile.store %r to %C : !half to memref<64x64xf16>
      // expected-note @below {{written here}}
      tile.copy %mask[%t, 0] to %ms {tile.inst = #tile.inst<cp_async>} : memref<?x?xi32> to !M
    }
    gpu.return
  }
}
