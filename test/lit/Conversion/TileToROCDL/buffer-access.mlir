// Regions that may reach past their buffers are accessed by buffer resources: one code path
// without branches. The number of bytes decides about the first dimension, masks about others.
//
// RUN: tilews-opt %s --tile-set-target="chip=gfx942" --tilews-lay-out --convert-tile-to-rocdl --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,GFX9
// RUN: tilews-opt %s --tile-set-target="chip=gfx90a" --tilews-lay-out --convert-tile-to-rocdl --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,GFX9
// RUN: tilews-opt %s --tile-set-target="chip=gfx950" --tilews-lay-out --convert-tile-to-rocdl --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,GFX9
// RUN: tilews-opt %s --tile-set-target="chip=gfx1100" --tilews-lay-out --convert-tile-to-rocdl --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,GFX11
// RUN: tilews-opt %s --tile-set-target="chip=gfx1201" --tilews-lay-out --convert-tile-to-rocdl --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,GFX11
// RUN: tilews-opt %s --tile-set-target="chip=gfx942" --tilews-lay-out --convert-tile-to-rocdl="index-bitwidth=64" --canonicalize --cse | FileCheck %s --check-prefix=WIDE
// RUN: tilews-translate %s --to=asm --kernel=copy --chip=gfx942 | FileCheck %s --check-prefix=ASM
// RUN: tilews-translate %s --to=asm --kernel=copy --chip=gfx1201 | FileCheck %s --check-prefix=ASM12
// RUN: tilews-translate %s --to=asm --kernel=reduced --chip=gfx942 | FileCheck %s --check-prefix=REDUCED
// RUN: tilews-translate %s --to=asm --kernel=narrow --chip=gfx942 | FileCheck %s --check-prefix=NARROW

gpu.module @m {
  // The rows past the end are past the last byte: no mask. Columns have one mask for all registers.
  // CHECK-LABEL: llvm.func @copy
  // CHECK-SAME: tile.reach = array<i64: 64, 32>
  // GFX9-DAG: %[[FLAGS:.*]] = arith.constant 159744 : i32
  // GFX11-DAG: %[[FLAGS:.*]] = arith.constant 822099968 : i32
  // CHECK-DAG: %[[OUTSIDE:.*]] = arith.constant -2147483648 : i32
  // CHECK-NOT: scf.if
  // CHECK: %[[BUFFER:.*]] = rocdl.make.buffer.rsrc %{{.*}}, %{{.*}}, %{{.*}}, %[[FLAGS]] : <1> to <7>
  // CHECK: %[[INSIDE:.*]] = arith.cmpi ult
  // CHECK: %[[OFFSET:.*]] = arith.select %[[INSIDE]], %{{.*}}, %[[OUTSIDE]] : i32
  // CHECK-NOT: arith.select
  // CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[BUFFER]][%[[OFFSET]]] : (!llvm.ptr<7>, i32) -> !llvm.ptr<7>, i8
  // CHECK: llvm.load %[[PLACE]] {alignment = 16 : i64} : !llvm.ptr<7> -> vector<8xf16>
  // CHECK-NOT: scf.if
  // CHECK: llvm.return
  // WIDE-LABEL: llvm.func @copy
  // WIDE-NOT: tile.reach
  // WIDE: scf.if
  // WIDE-NOT: make.buffer
  // WIDE: llvm.return
  //
  // Only the exit may be a branch; nothing is waited for between the loads.
  // ASM-LABEL: copy:
  // ASM-NOT: s_cbranch
  // ASM-NOT: global_load
  // ASM: buffer_load_dwordx4
  // ASM-NOT: s_waitcnt
  // ASM: buffer_load_dwordx4
  // ASM-NOT: s_cbranch
  // ASM: s_endpgm
  // ASM12-LABEL: copy:
  // ASM12-NOT: s_cbranch
  // ASM12: buffer_load_b128
  // ASM12: buffer_load_b128
  // ASM12-NOT: s_cbranch
  // ASM12: s_endpgm
  gpu.func @copy(%A: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}, %C: memref<64x32xf16>)
      kernel attributes {tile.threads = 128 : i32} {
    %c64 = arith.constant 64 : index
    %b = gpu.block_id x
    %m = arith.muli %b, %c64 : index
    %s = tile.alloc_shared : memref<64x32xf16, #gpu.address_space<workgroup>>
    tile.copy %A[%m, %m] to %s : memref<?x?xf16> to memref<64x32xf16, #gpu.address_space<workgroup>>
    tile.barrier
    %x = tile.load %s : memref<64x32xf16, #gpu.address_space<workgroup>> -> tensor<64x32xf16>
    tile.store %x to %C : tensor<64x32xf16> to memref<64x32xf16>
    gpu.return
  }

  // A start that may be negative needs masks of its rows.
  // CHECK-LABEL: llvm.func @anywhere
  // CHECK-NOT: scf.if
  // CHECK-COUNT-2: arith.select %{{.*}}, %{{.*}}, %{{.*}} : i32
  // CHECK-NOT: scf.if
  // CHECK: llvm.return
  gpu.func @anywhere(%A: memref<?xf32>, %C: memref<128xf32>, %i: index)
      kernel attributes {tile.threads = 64 : i32} {
    %x = tile.load %A[%i] : memref<?xf32> -> tensor<128xf32>
    tile.store %x to %C : tensor<128xf32> to memref<128xf32>
    gpu.return
  }

  // Padding other than zero is selected; stores have no guard.
  // CHECK-LABEL: llvm.func @pad
  // CHECK-DAG: %[[PAD:.*]] = arith.constant {{.*}}-1.0
  // CHECK-NOT: scf.if
  // CHECK: %[[LOADED:.*]] = llvm.load %{{.*}} : !llvm.ptr<7> -> f32
  // CHECK: arith.select %{{.*}}, %[[LOADED]], %[[PAD]] : f32
  // CHECK-NOT: scf.if
  // CHECK: llvm.store %{{.*}}, %{{.*}} : f32, !llvm.ptr<7>
  // CHECK-NOT: scf.if
  // CHECK: llvm.return
  gpu.func @pad(%A: memref<?x?xf32>, %C: memref<?x?xf32>) kernel attributes {tile.threads = 64 : i32} {
    %pad = arith.constant -1.0 : f32
    %x = tile.load %A[0, 0] pad %pad : memref<?x?xf32> -> tensor<16x16xf32>
    tile.store %x to %C[0, 0] : tensor<16x16xf32> to memref<?x?xf32>
    gpu.return
  }

  // Strides that may be negative: offsets count from 2^30 bytes before the region.
  // CHECK-LABEL: llvm.func @strided
  // CHECK-DAG: arith.constant 1073741824 : i32
  // CHECK-DAG: arith.constant {{-?}}1073741824 : i64
  // CHECK-NOT: scf.if
  // CHECK: llvm.return
  gpu.func @strided(%A: memref<?x?xf32, strided<[?, ?]>>, %C: memref<16x16xf32>)
      kernel attributes {tile.threads = 64 : i32} {
    %x = tile.load %A[0, 0] : memref<?x?xf32, strided<[?, ?]>> -> tensor<16x16xf32>
    tile.store %x to %C : tensor<16x16xf32> to memref<16x16xf32>
    gpu.return
  }

  // An index may be anywhere: the region reaches over the whole extent.
  // CHECK-LABEL: llvm.func @gather
  // CHECK-SAME: tile.reach = array<i64: 0, 16>
  // CHECK-NOT: scf.if
  // CHECK: llvm.return
  gpu.func @gather(%A: memref<?x16xf32>, %C: memref<64x16xf32>, %I: memref<64xi32>)
      kernel attributes {tile.threads = 64 : i32} {
    %i = tile.load %I : memref<64xi32> -> tensor<64xi32>
    %rows = tile.expand_dims %i {axis = 1 : i64} : tensor<64xi32> -> tensor<64x1xi32>
    %x = tile.gather %A[0, 0] [64, 16] at(0 = %rows : tensor<64x1xi32>)
      : memref<?x16xf32> -> tensor<64x16xf32>
    tile.store %x to %C : tensor<64x16xf32> to memref<64x16xf32>
    gpu.return
  }

  // The result of a reduction is the same in all threads: one scalar register has it, so that
  // no loop over the lanes is needed for the resource.
  // CHECK-LABEL: llvm.func @reduced
  // CHECK: %[[START:.*]] = rocdl.readfirstlane %{{.*}} : i32
  // CHECK: rocdl.make.buffer.rsrc
  // CHECK: llvm.return
  // REDUCED-LABEL: reduced:
  // REDUCED-NOT: s_cbranch
  // REDUCED: buffer_load
  // REDUCED-NOT: s_cbranch
  // REDUCED: s_endpgm
  gpu.func @reduced(%A: memref<?xf32>, %C: memref<128xf32>, %I: memref<64xi32>)
      kernel attributes {tile.threads = 64 : i32} {
    %x = tile.load %I : memref<64xi32> -> tensor<64xi32>
    %r = tile.reduce <max> %x {axis = 0 : i64} : tensor<64xi32> -> tensor<i32>
    %n = tensor.extract %r[] : tensor<i32>
    %i = arith.index_cast %n : i32 to index
    %y = tile.load %A[%i] : memref<?xf32> -> tensor<128xf32>
    tile.store %y to %C : tensor<128xf32> to memref<128xf32>
    gpu.return
  }

  // LLVM merges neighbors that are narrower than a word, also where they are not aligned. A word
  // that the end of the buffer cuts would be dropped as a whole, so that each has a mask.
  // CHECK-LABEL: llvm.func @narrow
  // CHECK-COUNT-2: arith.select %{{.*}}, %{{.*}}, %{{.*}} : i32
  // CHECK: llvm.return
  // NARROW-LABEL: narrow:
  // NARROW-NOT: buffer_load_dword
  // NARROW-COUNT-2: buffer_load_ushort
  // NARROW-NOT: buffer_load_dword
  // NARROW: s_endpgm
  gpu.func @narrow(%A: memref<?xf16>, %C: memref<128xf16>) kernel attributes {tile.threads = 64 : i32} {
    %x = tile.load %A[0] {tile.layout = #tile.fragment<thread = (64):(2*d0), value = (2):(1*d0)>}
      : memref<?xf16> -> tensor<128xf16>
    tile.store %x to %C : tensor<128xf16> to memref<128xf16>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @atomic
  // CHECK-NOT: scf.if
  // CHECK: llvm.atomicrmw add %{{.*}}, %{{.*}} syncscope("agent") {{.*}} : !llvm.ptr<7>, i32
  // CHECK: llvm.return
  gpu.func @atomic(%A: memref<?xi32>) kernel attributes {tile.threads = 64 : i32} {
    %v = arith.constant dense<1> : tensor<128xi32>
    tile.atomic_rmw <add> %v to %A[0] : tensor<128xi32> to memref<?xi32>
    gpu.return
  }
}
