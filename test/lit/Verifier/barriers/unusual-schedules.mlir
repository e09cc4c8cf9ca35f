// RUN: tilews-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tile-verify-schedule{report}))' --verify-diagnostics=only-expected

// Right: the fence comes behind the barrier, by the threads that start the copy.
#map = affine_map<()[s0, s1, s2, s3, s4, s5] -> (2)>
module {
  gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx86">] {
    // expected-remark @below {{tile-verify-0002: schedule of @fence_behind_the_barrier is proved}}
    gpu.func @fence_behind_the_barrier(%arg0: memref<?x?xf16> {tile.divisible = array<i64: 1, 64>, tile.name = "A", tile.symbols = ["M", "K"]}, %arg1: memref<?x?xf16> {tile.divisible = array<i64: 1, 64>, tile.name = "B", tile.symbols = ["K", "N"]}, %arg2: memref<?x?xf32> {tile.divisible = array<i64: 1, 64>, tile.name = "C", tile.symbols = ["M", "N"]}) kernel attributes {tile.grid = #map, tile.shared_bytes = 49184 : i64, tile.threads = 160 : i32} {
      %c2_i32 = arith.constant 2 : i32
      %c0_i32 = arith.constant 0 : i32
      %c1_i32 = arith.constant 1 : i32
      %true = arith.constant true
      %false = arith.constant false
      %c64 = arith.constant 64 : index
      %c1 = arith.constant 1 : index
      %c0 = arith.constant 0 : index
      %0 = tile.alloc_shared {tile.offset = 0 : i64} : memref<64x64xf32, #tile.shared<(64, (32, 2)):(32, (1, 2048)), Sw<3,4,3>>, #gpu.address_space<workgroup>>
      %1 = tile.alloc_shared {tile.offset = 16384 : i64} : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
      %2 = tile.alloc_shared {tile.offset = 32768 : i64} : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
      %3 = tile.mbarrier {count = 1 : i64, tile.offset = 49152 : i64} : !tile.mbarrier<2>
      %4 = tile.mbarrier {count = 4 : i64, tile.offset = 49168 : i64} : !tile.mbarrier<2>
      tile.mbarrier_ready
      tile.specialize {
        tile.role @math warps(4) {
          %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
          %dim = memref.dim %arg0, %c0 : memref<?x?xf16>
          %dim_0 = memref.dim %arg0, %c1 : memref<?x?xf16>
          %dim_1 = memref.dim %arg1, %c1 : memref<?x?xf16>
          %5 = arith.ceildivsi %dim, %c64 : index
          %6 = arith.ceildivsi %dim_1, %c64 : index
          %7 = arith.muli %5, %6 : index
          %block_id_z = gpu.block_id  z
          %grid_dim_z = gpu.grid_dim  z
          %block_id_y = gpu.block_id  y
          %grid_dim_y = gpu.grid_dim  y
          %8 = arith.muli %block_id_z, %grid_dim_y : index
          %9 = arith.addi %8, %block_id_y : index
          %10 = arith.muli %grid_dim_z, %grid_dim_y : index
          %block_id_x = gpu.block_id  x
          %grid_dim_x = gpu.grid_dim  x
          %11 = arith.muli %9, %grid_dim_x : index
          %12 = arith.addi %11, %block_id_x : index
          %13 = arith.muli %10, %grid_dim_x : index
          %14:2 = scf.for %arg3 = %12 to %7 step %13 iter_args(%arg4 = %c0_i32, %arg5 = %c0_i32) -> (i32, i32) {
            %15 = arith.floordivsi %arg3, %6 : index
            %16 = arith.muli %15, %6 : index
            %17 = arith.subi %arg3, %16 : index
            %18 = arith.ceildivsi %dim_0, %c64 : index
            %19:6 = scf.for %arg6 = %c0 to %18 step %c1 iter_args(%arg7 = %cst, %arg8 = %arg4, %arg9 = %arg5, %arg10 = %c0_i32, %arg11 = %c0_i32, %arg12 = %false) -> (tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>, i32, i32, i32, i32, i1) {
              tile.mbarrier_wait %3[%arg8], %arg9 : !tile.mbarrier<2>
              %23 = tile.slot %1[%arg8] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              %24 = tile.slot %2[%arg8] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              %25 = tile.gemm %23, %24, %arg7 {async, tile.inst = #tile.inst<wgmma>} : memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> -> tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
              tile.gemm_wait {pending = 1 : i64}
              scf.if %arg12 {
                tile.mbarrier_arrive %4[%arg10] {by = #tile.agents<warps>, converged} : !tile.mbarrier<2>
              }
              %26 = arith.xori %arg9, %c1_i32 : i32
              %27 = arith.addi %arg8, %c1_i32 : i32
              %28 = arith.cmpi eq, %27, %c2_i32 : i32
              %29 = arith.select %28, %c0_i32, %27 : i32
              %30 = arith.select %28, %26, %arg9 : i32
              scf.yield %25, %29, %30, %arg8, %arg9, %true : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>, i32, i32, i32, i32, i1
            }
            %20 = tile.gemm_wait %19#0 : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
            scf.if %19#5 {
              tile.mbarrier_arrive %4[%19#3] {by = #tile.agents<warps>, converged} : !tile.mbarrier<2>
            }
            %21 = arith.muli %15, %c64 : index
            %22 = arith.muli %17, %c64 : index
            tile.barrier {drain_copies}
            tile.store %20 to %0 : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>> to memref<64x64xf32, #tile.shared<(64, (32, 2)):(32, (1, 2048)), Sw<3,4,3>>, #gpu.address_space<workgroup>>
            tile.barrier
            tile.proxy_fence
            tile.copy %0 to %arg2[%21, %22] [64, 64] {tile.inst = #tile.inst<tma>} : memref<64x64xf32, #tile.shared<(64, (32, 2)):(32, (1, 2048)), Sw<3,4,3>>, #gpu.address_space<workgroup>> to memref<?x?xf32>
            scf.yield %19#1, %19#2 : i32, i32
          }
        }
        tile.role @load warps(1) elected {
          %dim = memref.dim %arg0, %c0 : memref<?x?xf16>
          %dim_0 = memref.dim %arg0, %c1 : memref<?x?xf16>
          %dim_1 = memref.dim %arg1, %c1 : memref<?x?xf16>
          %5 = arith.ceildivsi %dim, %c64 : index
          %6 = arith.ceildivsi %dim_1, %c64 : index
          %7 = arith.muli %5, %6 : index
          %block_id_z = gpu.block_id  z
          %grid_dim_z = gpu.grid_dim  z
          %block_id_y = gpu.block_id  y
          %grid_dim_y = gpu.grid_dim  y
          %8 = arith.muli %block_id_z, %grid_dim_y : index
          %9 = arith.addi %8, %block_id_y : index
          %10 = arith.muli %grid_dim_z, %grid_dim_y : index
          %block_id_x = gpu.block_id  x
          %grid_dim_x = gpu.grid_dim  x
          %11 = arith.muli %9, %grid_dim_x : index
          %12 = arith.addi %11, %block_id_x : index
          %13 = arith.muli %10, %grid_dim_x : index
          %14:2 = scf.for %arg3 = %12 to %7 step %13 iter_args(%arg4 = %c0_i32, %arg5 = %c0_i32) -> (i32, i32) {
            %15 = arith.floordivsi %arg3, %6 : index
            %16 = arith.muli %15, %6 : index
            %17 = arith.subi %arg3, %16 : index
            %18 = arith.ceildivsi %dim_0, %c64 : index
            %19:2 = scf.for %arg6 = %c0 to %18 step %c1 iter_args(%arg7 = %arg4, %arg8 = %arg5) -> (i32, i32) {
              %20 = arith.muli %15, %c64 : index
              %21 = arith.muli %arg6, %c64 : index
              %22 = arith.xori %arg8, %c1_i32 : i32
              tile.mbarrier_wait %4[%arg7], %22 : !tile.mbarrier<2>
              %23 = tile.slot %1[%arg7] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              tile.copy %arg0[%20, %21] to %23 signals(%3[%arg7]) {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, !tile.mbarrier<2>
              %24 = arith.muli %17, %c64 : index
              %25 = tile.slot %2[%arg7] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              tile.copy %arg1[%21, %24] to %25 signals(%3[%arg7]) {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, !tile.mbarrier<2>
              tile.mbarrier_arrive %3[%arg7] {by = #tile.agents<thread>, bytes = 16384 : i64} : !tile.mbarrier<2>
              %26 = arith.xori %arg8, %c1_i32 : i32
              %27 = arith.addi %arg7, %c1_i32 : i32
              %28 = arith.cmpi eq, %27, %c2_i32 : i32
              %29 = arith.select %28, %c0_i32, %27 : i32
              %30 = arith.select %28, %26, %arg8 : i32
              scf.yield %29, %30 : i32, i32
            }
            scf.yield %19#0, %19#1 : i32, i32
          }
        }
      }
      gpu.return
    }
  }
}

// -----

// Right: each thread fences its own stores before all meet.
#map = affine_map<()[s0, s1, s2, s3, s4, s5] -> (2)>
module {
  gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx86">] {
    // expected-remark @below {{tile-verify-0002: schedule of @fence_in_front_of_the_barrier is proved}}
    gpu.func @fence_in_front_of_the_barrier(%arg0: memref<?x?xf16> {tile.divisible = array<i64: 1, 64>, tile.name = "A", tile.symbols = ["M", "K"]}, %arg1: memref<?x?xf16> {tile.divisible = array<i64: 1, 64>, tile.name = "B", tile.symbols = ["K", "N"]}, %arg2: memref<?x?xf32> {tile.divisible = array<i64: 1, 64>, tile.name = "C", tile.symbols = ["M", "N"]}) kernel attributes {tile.grid = #map, tile.shared_bytes = 49184 : i64, tile.threads = 160 : i32} {
      %c2_i32 = arith.constant 2 : i32
      %c0_i32 = arith.constant 0 : i32
      %c1_i32 = arith.constant 1 : i32
      %true = arith.constant true
      %false = arith.constant false
      %c64 = arith.constant 64 : index
      %c1 = arith.constant 1 : index
      %c0 = arith.constant 0 : index
      %0 = tile.alloc_shared {tile.offset = 0 : i64} : memref<64x64xf32, #tile.shared<(64, (32, 2)):(32, (1, 2048)), Sw<3,4,3>>, #gpu.address_space<workgroup>>
      %1 = tile.alloc_shared {tile.offset = 16384 : i64} : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
      %2 = tile.alloc_shared {tile.offset = 32768 : i64} : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
      %3 = tile.mbarrier {count = 1 : i64, tile.offset = 49152 : i64} : !tile.mbarrier<2>
      %4 = tile.mbarrier {count = 4 : i64, tile.offset = 49168 : i64} : !tile.mbarrier<2>
      tile.mbarrier_ready
      tile.specialize {
        tile.role @math warps(4) {
          %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
          %dim = memref.dim %arg0, %c0 : memref<?x?xf16>
          %dim_0 = memref.dim %arg0, %c1 : memref<?x?xf16>
          %dim_1 = memref.dim %arg1, %c1 : memref<?x?xf16>
          %5 = arith.ceildivsi %dim, %c64 : index
          %6 = arith.ceildivsi %dim_1, %c64 : index
          %7 = arith.muli %5, %6 : index
          %block_id_z = gpu.block_id  z
          %grid_dim_z = gpu.grid_dim  z
          %block_id_y = gpu.block_id  y
          %grid_dim_y = gpu.grid_dim  y
          %8 = arith.muli %block_id_z, %grid_dim_y : index
          %9 = arith.addi %8, %block_id_y : index
          %10 = arith.muli %grid_dim_z, %grid_dim_y : index
          %block_id_x = gpu.block_id  x
          %grid_dim_x = gpu.grid_dim  x
          %11 = arith.muli %9, %grid_dim_x : index
          %12 = arith.addi %11, %block_id_x : index
          %13 = arith.muli %10, %grid_dim_x : index
          %14:2 = scf.for %arg3 = %12 to %7 step %13 iter_args(%arg4 = %c0_i32, %arg5 = %c0_i32) -> (i32, i32) {
            %15 = arith.floordivsi %arg3, %6 : index
            %16 = arith.muli %15, %6 : index
            %17 = arith.subi %arg3, %16 : index
            %18 = arith.ceildivsi %dim_0, %c64 : index
            %19:6 = scf.for %arg6 = %c0 to %18 step %c1 iter_args(%arg7 = %cst, %arg8 = %arg4, %arg9 = %arg5, %arg10 = %c0_i32, %arg11 = %c0_i32, %arg12 = %false) -> (tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>, i32, i32, i32, i32, i1) {
              tile.mbarrier_wait %3[%arg8], %arg9 : !tile.mbarrier<2>
              %23 = tile.slot %1[%arg8] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              %24 = tile.slot %2[%arg8] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              %25 = tile.gemm %23, %24, %arg7 {async, tile.inst = #tile.inst<wgmma>} : memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> -> tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
              tile.gemm_wait {pending = 1 : i64}
              scf.if %arg12 {
                tile.mbarrier_arrive %4[%arg10] {by = #tile.agents<warps>, converged} : !tile.mbarrier<2>
              }
              %26 = arith.xori %arg9, %c1_i32 : i32
              %27 = arith.addi %arg8, %c1_i32 : i32
              %28 = arith.cmpi eq, %27, %c2_i32 : i32
              %29 = arith.select %28, %c0_i32, %27 : i32
              %30 = arith.select %28, %26, %arg9 : i32
              scf.yield %25, %29, %30, %arg8, %arg9, %true : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>, i32, i32, i32, i32, i1
            }
            %20 = tile.gemm_wait %19#0 : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
            scf.if %19#5 {
              tile.mbarrier_arrive %4[%19#3] {by = #tile.agents<warps>, converged} : !tile.mbarrier<2>
            }
            %21 = arith.muli %15, %c64 : index
            %22 = arith.muli %17, %c64 : index
            tile.barrier {drain_copies}
            tile.store %20 to %0 : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>> to memref<64x64xf32, #tile.shared<(64, (32, 2)):(32, (1, 2048)), Sw<3,4,3>>, #gpu.address_space<workgroup>>
            tile.proxy_fence
            tile.barrier
            tile.copy %0 to %arg2[%21, %22] [64, 64] {tile.inst = #tile.inst<tma>} : memref<64x64xf32, #tile.shared<(64, (32, 2)):(32, (1, 2048)), Sw<3,4,3>>, #gpu.address_space<workgroup>> to memref<?x?xf32>
            scf.yield %19#1, %19#2 : i32, i32
          }
        }
        tile.role @load warps(1) elected {
          %dim = memref.dim %arg0, %c0 : memref<?x?xf16>
          %dim_0 = memref.dim %arg0, %c1 : memref<?x?xf16>
          %dim_1 = memref.dim %arg1, %c1 : memref<?x?xf16>
          %5 = arith.ceildivsi %dim, %c64 : index
          %6 = arith.ceildivsi %dim_1, %c64 : index
          %7 = arith.muli %5, %6 : index
          %block_id_z = gpu.block_id  z
          %grid_dim_z = gpu.grid_dim  z
          %block_id_y = gpu.block_id  y
          %grid_dim_y = gpu.grid_dim  y
          %8 = arith.muli %block_id_z, %grid_dim_y : index
          %9 = arith.addi %8, %block_id_y : index
          %10 = arith.muli %grid_dim_z, %grid_dim_y : index
          %block_id_x = gpu.block_id  x
          %grid_dim_x = gpu.grid_dim  x
          %11 = arith.muli %9, %grid_dim_x : index
          %12 = arith.addi %11, %block_id_x : index
          %13 = arith.muli %10, %grid_dim_x : index
          %14:2 = scf.for %arg3 = %12 to %7 step %13 iter_args(%arg4 = %c0_i32, %arg5 = %c0_i32) -> (i32, i32) {
            %15 = arith.floordivsi %arg3, %6 : index
            %16 = arith.muli %15, %6 : index
            %17 = arith.subi %arg3, %16 : index
            %18 = arith.ceildivsi %dim_0, %c64 : index
            %19:2 = scf.for %arg6 = %c0 to %18 step %c1 iter_args(%arg7 = %arg4, %arg8 = %arg5) -> (i32, i32) {
              %20 = arith.muli %15, %c64 : index
              %21 = arith.muli %arg6, %c64 : index
              %22 = arith.xori %arg8, %c1_i32 : i32
              tile.mbarrier_wait %4[%arg7], %22 : !tile.mbarrier<2>
              %23 = tile.slot %1[%arg7] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              tile.copy %arg0[%20, %21] to %23 signals(%3[%arg7]) {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, !tile.mbarrier<2>
              %24 = arith.muli %17, %c64 : index
              %25 = tile.slot %2[%arg7] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              tile.copy %arg1[%21, %24] to %25 signals(%3[%arg7]) {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, !tile.mbarrier<2>
              tile.mbarrier_arrive %3[%arg7] {by = #tile.agents<thread>, bytes = 16384 : i64} : !tile.mbarrier<2>
              %26 = arith.xori %arg8, %c1_i32 : i32
              %27 = arith.addi %arg7, %c1_i32 : i32
              %28 = arith.cmpi eq, %27, %c2_i32 : i32
              %29 = arith.select %28, %c0_i32, %27 : i32
              %30 = arith.select %28, %26, %arg8 : i32
              scf.yield %29, %30 : i32, i32
            }
            scf.yield %19#0, %19#1 : i32, i32
          }
        }
      }
      gpu.return
    }
  }
}

// -----

// Right: all threads of a role arrive, and are counted.
#map = affine_map<()[s0, s1, s2, s3, s4, s5] -> (2)>
module {
  gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx86">] {
    // expected-remark @below {{tile-verify-0002: schedule of @all_threads_arrive is proved}}
    gpu.func @all_threads_arrive(%arg0: memref<?x?xf16> {tile.divisible = array<i64: 1, 64>, tile.name = "A", tile.symbols = ["M", "K"]}, %arg1: memref<?x?xf16> {tile.divisible = array<i64: 1, 64>, tile.name = "B", tile.symbols = ["K", "N"]}, %arg2: memref<?x?xf32> {tile.divisible = array<i64: 1, 64>, tile.name = "C", tile.symbols = ["M", "N"]}) kernel attributes {tile.grid = #map, tile.shared_bytes = 49184 : i64, tile.threads = 160 : i32} {
      %c2_i32 = arith.constant 2 : i32
      %c0_i32 = arith.constant 0 : i32
      %c1_i32 = arith.constant 1 : i32
      %true = arith.constant true
      %false = arith.constant false
      %c64 = arith.constant 64 : index
      %c1 = arith.constant 1 : index
      %c0 = arith.constant 0 : index
      %0 = tile.alloc_shared {tile.offset = 0 : i64} : memref<64x64xf32, #tile.shared<(64, (32, 2)):(32, (1, 2048)), Sw<3,4,3>>, #gpu.address_space<workgroup>>
      %1 = tile.alloc_shared {tile.offset = 16384 : i64} : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
      %2 = tile.alloc_shared {tile.offset = 32768 : i64} : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
      %3 = tile.mbarrier {count = 1 : i64, tile.offset = 49152 : i64} : !tile.mbarrier<2>
      %4 = tile.mbarrier {count = 128 : i64, tile.offset = 49168 : i64} : !tile.mbarrier<2>
      tile.mbarrier_ready
      tile.specialize {
        tile.role @math warps(4) {
          %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
          %dim = memref.dim %arg0, %c0 : memref<?x?xf16>
          %dim_0 = memref.dim %arg0, %c1 : memref<?x?xf16>
          %dim_1 = memref.dim %arg1, %c1 : memref<?x?xf16>
          %5 = arith.ceildivsi %dim, %c64 : index
          %6 = arith.ceildivsi %dim_1, %c64 : index
          %7 = arith.muli %5, %6 : index
          %block_id_z = gpu.block_id  z
          %grid_dim_z = gpu.grid_dim  z
          %block_id_y = gpu.block_id  y
          %grid_dim_y = gpu.grid_dim  y
          %8 = arith.muli %block_id_z, %grid_dim_y : index
          %9 = arith.addi %8, %block_id_y : index
          %10 = arith.muli %grid_dim_z, %grid_dim_y : index
          %block_id_x = gpu.block_id  x
          %grid_dim_x = gpu.grid_dim  x
          %11 = arith.muli %9, %grid_dim_x : index
          %12 = arith.addi %11, %block_id_x : index
          %13 = arith.muli %10, %grid_dim_x : index
          %14:2 = scf.for %arg3 = %12 to %7 step %13 iter_args(%arg4 = %c0_i32, %arg5 = %c0_i32) -> (i32, i32) {
            %15 = arith.floordivsi %arg3, %6 : index
            %16 = arith.muli %15, %6 : index
            %17 = arith.subi %arg3, %16 : index
            %18 = arith.ceildivsi %dim_0, %c64 : index
            %19:6 = scf.for %arg6 = %c0 to %18 step %c1 iter_args(%arg7 = %cst, %arg8 = %arg4, %arg9 = %arg5, %arg10 = %c0_i32, %arg11 = %c0_i32, %arg12 = %false) -> (tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>, i32, i32, i32, i32, i1) {
              tile.mbarrier_wait %3[%arg8], %arg9 : !tile.mbarrier<2>
              %23 = tile.slot %1[%arg8] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              %24 = tile.slot %2[%arg8] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              %25 = tile.gemm %23, %24, %arg7 {async, tile.inst = #tile.inst<wgmma>} : memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> -> tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
              tile.gemm_wait {pending = 1 : i64}
              scf.if %arg12 {
                tile.mbarrier_arrive %4[%arg10] {by = #tile.agents<threads>} : !tile.mbarrier<2>
              }
              %26 = arith.xori %arg9, %c1_i32 : i32
              %27 = arith.addi %arg8, %c1_i32 : i32
              %28 = arith.cmpi eq, %27, %c2_i32 : i32
              %29 = arith.select %28, %c0_i32, %27 : i32
              %30 = arith.select %28, %26, %arg9 : i32
              scf.yield %25, %29, %30, %arg8, %arg9, %true : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>, i32, i32, i32, i32, i1
            }
            %20 = tile.gemm_wait %19#0 : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
            scf.if %19#5 {
              tile.mbarrier_arrive %4[%19#3] {by = #tile.agents<threads>} : !tile.mbarrier<2>
            }
            %21 = arith.muli %15, %c64 : index
            %22 = arith.muli %17, %c64 : index
            tile.barrier {drain_copies}
            tile.store %20 to %0 : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>> to memref<64x64xf32, #tile.shared<(64, (32, 2)):(32, (1, 2048)), Sw<3,4,3>>, #gpu.address_space<workgroup>>
            tile.barrier {proxy_fence}
            tile.copy %0 to %arg2[%21, %22] [64, 64] {tile.inst = #tile.inst<tma>} : memref<64x64xf32, #tile.shared<(64, (32, 2)):(32, (1, 2048)), Sw<3,4,3>>, #gpu.address_space<workgroup>> to memref<?x?xf32>
            scf.yield %19#1, %19#2 : i32, i32
          }
        }
        tile.role @load warps(1) elected {
          %dim = memref.dim %arg0, %c0 : memref<?x?xf16>
          %dim_0 = memref.dim %arg0, %c1 : memref<?x?xf16>
          %dim_1 = memref.dim %arg1, %c1 : memref<?x?xf16>
          %5 = arith.ceildivsi %dim, %c64 : index
          %6 = arith.ceildivsi %dim_1, %c64 : index
          %7 = arith.muli %5, %6 : index
          %block_id_z = gpu.block_id  z
          %grid_dim_z = gpu.grid_dim  z
          %block_id_y = gpu.block_id  y
          %grid_dim_y = gpu.grid_dim  y
          %8 = arith.muli %block_id_z, %grid_dim_y : index
          %9 = arith.addi %8, %block_id_y : index
          %10 = arith.muli %grid_dim_z, %grid_dim_y : index
          %block_id_x = gpu.block_id  x
          %grid_dim_x = gpu.grid_dim  x
          %11 = arith.muli %9, %grid_dim_x : index
          %12 = arith.addi %11, %block_id_x : index
          %13 = arith.muli %10, %grid_dim_x : index
          %14:2 = scf.for %arg3 = %12 to %7 step %13 iter_args(%arg4 = %c0_i32, %arg5 = %c0_i32) -> (i32, i32) {
            %15 = arith.floordivsi %arg3, %6 : index
            %16 = arith.muli %15, %6 : index
            %17 = arith.subi %arg3, %16 : index
            %18 = arith.ceildivsi %dim_0, %c64 : index
            %19:2 = scf.for %arg6 = %c0 to %18 step %c1 iter_args(%arg7 = %arg4, %arg8 = %arg5) -> (i32, i32) {
              %20 = arith.muli %15, %c64 : index
              %21 = arith.muli %arg6, %c64 : index
              %22 = arith.xori %arg8, %c1_i32 : i32
              tile.mbarrier_wait %4[%arg7], %22 : !tile.mbarrier<2>
              %23 = tile.slot %1[%arg7] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              tile.copy %arg0[%20, %21] to %23 signals(%3[%arg7]) {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, !tile.mbarrier<2>
              %24 = arith.muli %17, %c64 : index
              %25 = tile.slot %2[%arg7] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              tile.copy %arg1[%21, %24] to %25 signals(%3[%arg7]) {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, !tile.mbarrier<2>
              tile.mbarrier_arrive %3[%arg7] {by = #tile.agents<thread>, bytes = 16384 : i64} : !tile.mbarrier<2>
              %26 = arith.xori %arg8, %c1_i32 : i32
              %27 = arith.addi %arg7, %c1_i32 : i32
              %28 = arith.cmpi eq, %27, %c2_i32 : i32
              %29 = arith.select %28, %c0_i32, %27 : i32
              %30 = arith.select %28, %26, %arg8 : i32
              scf.yield %29, %30 : i32, i32
            }
            scf.yield %19#0, %19#1 : i32, i32
          }
        }
      }
      gpu.return
    }
  }
}

// -----

// Right: what comes behind the loop touches none of its buffers.
#map = affine_map<()[s0, s1, s2, s3, s4, s5] -> (2)>
module {
  gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_80", features = "+ptx86">] {
    // expected-remark @below {{tile-verify-0002: schedule of @no_barrier_behind_the_loop is proved}}
    gpu.func @no_barrier_behind_the_loop(%arg0: memref<?x?xf16> {tile.divisible = array<i64: 1, 64>, tile.name = "A", tile.symbols = ["M", "K"]}, %arg1: memref<?x?xf16> {tile.divisible = array<i64: 1, 64>, tile.name = "B", tile.symbols = ["K", "N"]}, %arg2: memref<?x?xf32> {tile.divisible = array<i64: 1, 64>, tile.name = "C", tile.symbols = ["M", "N"]}) kernel attributes {tile.grid = #map, tile.shared_bytes = 32768 : i64, tile.threads = 128 : i32} {
      %c2_i32 = arith.constant 2 : i32
      %c1_i32 = arith.constant 1 : i32
      %c0_i32 = arith.constant 0 : i32
      %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 2, 2):(2*d1, 1*d0, 32*d0, 32*d1), value = (2, 2, 4, 2):(1*d1, 8*d0, 8*d1, 16*d0)>>
      %c64 = arith.constant 64 : index
      %c1 = arith.constant 1 : index
      %c0 = arith.constant 0 : index
      %0 = tile.alloc_shared {tile.offset = 0 : i64} : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
      %1 = tile.alloc_shared {tile.offset = 16384 : i64} : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
      %dim = memref.dim %arg0, %c0 : memref<?x?xf16>
      %dim_0 = memref.dim %arg0, %c1 : memref<?x?xf16>
      %dim_1 = memref.dim %arg1, %c1 : memref<?x?xf16>
      %2 = arith.ceildivsi %dim, %c64 : index
      %3 = arith.ceildivsi %dim_1, %c64 : index
      %4 = arith.muli %2, %3 : index
      %block_id_z = gpu.block_id  z
      %grid_dim_z = gpu.grid_dim  z
      %block_id_y = gpu.block_id  y
      %grid_dim_y = gpu.grid_dim  y
      %5 = arith.muli %block_id_z, %grid_dim_y : index
      %6 = arith.addi %5, %block_id_y : index
      %7 = arith.muli %grid_dim_z, %grid_dim_y : index
      %block_id_x = gpu.block_id  x
      %grid_dim_x = gpu.grid_dim  x
      %8 = arith.muli %6, %grid_dim_x : index
      %9 = arith.addi %8, %block_id_x : index
      %10 = arith.muli %7, %grid_dim_x : index
      %11:4 = scf.for %arg3 = %9 to %4 step %10 iter_args(%arg4 = %c0_i32, %arg5 = %c0_i32, %arg6 = %c0_i32, %arg7 = %c0_i32) -> (i32, i32, i32, i32) {
        %12 = arith.floordivsi %arg3, %3 : index
        %13 = arith.muli %12, %3 : index
        %14 = arith.subi %arg3, %13 : index
        %15 = arith.ceildivsi %dim_0, %c64 : index
        %16 = arith.cmpi sgt, %15, %c0 : index
        %17:2 = scf.if %16 -> (i32, i32) {
          %21 = arith.muli %12, %c64 : index
          %22 = tile.slot %0[%arg4] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
          %23 = arith.muli %14, %c64 : index
          %24 = tile.slot %1[%arg4] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
          tile.copy %arg0[%21, 0] to %22 {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
          tile.copy %arg1[0, %23] to %24 {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
          %25 = arith.xori %arg5, %c1_i32 : i32
          %26 = arith.addi %arg4, %c1_i32 : i32
          %27 = arith.cmpi eq, %26, %c2_i32 : i32
          %28 = arith.select %27, %c0_i32, %26 : i32
          %29 = arith.select %27, %25, %arg5 : i32
          scf.yield %28, %29 : i32, i32
        } else {
          scf.yield %arg4, %arg5 : i32, i32
        }
        tile.commit_group
        %18:5 = scf.for %arg8 = %c0 to %15 step %c1 iter_args(%arg9 = %cst, %arg10 = %17#0, %arg11 = %17#1, %arg12 = %arg6, %arg13 = %arg7) -> (tensor<64x64xf32, #tile.fragment<thread = (4, 8, 2, 2):(2*d1, 1*d0, 32*d0, 32*d1), value = (2, 2, 4, 2):(1*d1, 8*d0, 8*d1, 16*d0)>>, i32, i32, i32, i32) {
          %21 = arith.subi %15, %c1 : index
          %22 = arith.cmpi slt, %arg8, %21 : index
          tile.copy_group_wait {pending = 0 : i64}
          tile.barrier
          %23 = arith.addi %arg8, %c1 : index
          %24:2 = scf.if %22 -> (i32, i32) {
            %33 = arith.muli %12, %c64 : index
            %34 = arith.muli %23, %c64 : index
            %35 = tile.slot %0[%arg10] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
            %36 = arith.muli %14, %c64 : index
            %37 = tile.slot %1[%arg10] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
            tile.copy %arg0[%33, %34] to %35 {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
            tile.copy %arg1[%34, %36] to %37 {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
            %38 = arith.xori %arg11, %c1_i32 : i32
            %39 = arith.addi %arg10, %c1_i32 : i32
            %40 = arith.cmpi eq, %39, %c2_i32 : i32
            %41 = arith.select %40, %c0_i32, %39 : i32
            %42 = arith.select %40, %38, %arg11 : i32
            scf.yield %41, %42 : i32, i32
          } else {
            scf.yield %arg10, %arg11 : i32, i32
          }
          tile.commit_group
          %25 = tile.slot %0[%arg12] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
          %26 = tile.slot %1[%arg12] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
          %27 = tile.gemm %25, %26, %arg9 {tile.inst = #tile.inst<mma>} : memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> -> tensor<64x64xf32, #tile.fragment<thread = (4, 8, 2, 2):(2*d1, 1*d0, 32*d0, 32*d1), value = (2, 2, 4, 2):(1*d1, 8*d0, 8*d1, 16*d0)>>
          %28 = arith.xori %arg13, %c1_i32 : i32
          %29 = arith.addi %arg12, %c1_i32 : i32
          %30 = arith.cmpi eq, %29, %c2_i32 : i32
          %31 = arith.select %30, %c0_i32, %29 : i32
          %32 = arith.select %30, %28, %arg13 : i32
          scf.yield %27, %24#0, %24#1, %31, %32 : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 2, 2):(2*d1, 1*d0, 32*d0, 32*d1), value = (2, 2, 4, 2):(1*d1, 8*d0, 8*d1, 16*d0)>>, i32, i32, i32, i32
        }
        %19 = arith.muli %12, %c64 : index
        %20 = arith.muli %14, %c64 : index
        tile.store %18#0 to %arg2[%19, %20] : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 2, 2):(2*d1, 1*d0, 32*d0, 32*d1), value = (2, 2, 4, 2):(1*d1, 8*d0, 8*d1, 16*d0)>> to memref<?x?xf32>
        scf.yield %18#1, %18#2, %18#3, %18#4 : i32, i32, i32, i32
      }
      gpu.return
    }
  }
}

// -----

// Right: both ends begin at the first slot with each tile, when nothing is under way.
#map = affine_map<()[s0, s1, s2, s3, s4, s5] -> (2)>
module {
  gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_80", features = "+ptx86">] {
    // expected-remark @below {{tile-verify-0002: schedule of @slots_begin_anew_with_each_tile is proved}}
    gpu.func @slots_begin_anew_with_each_tile(%arg0: memref<?x?xf16> {tile.divisible = array<i64: 1, 64>, tile.name = "A", tile.symbols = ["M", "K"]}, %arg1: memref<?x?xf16> {tile.divisible = array<i64: 1, 64>, tile.name = "B", tile.symbols = ["K", "N"]}, %arg2: memref<?x?xf32> {tile.divisible = array<i64: 1, 64>, tile.name = "C", tile.symbols = ["M", "N"]}) kernel attributes {tile.grid = #map, tile.shared_bytes = 32768 : i64, tile.threads = 128 : i32} {
      %c2_i32 = arith.constant 2 : i32
      %c1_i32 = arith.constant 1 : i32
      %c0_i32 = arith.constant 0 : i32
      %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 2, 2):(2*d1, 1*d0, 32*d0, 32*d1), value = (2, 2, 4, 2):(1*d1, 8*d0, 8*d1, 16*d0)>>
      %c64 = arith.constant 64 : index
      %c1 = arith.constant 1 : index
      %c0 = arith.constant 0 : index
      %0 = tile.alloc_shared {tile.offset = 0 : i64} : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
      %1 = tile.alloc_shared {tile.offset = 16384 : i64} : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
      %dim = memref.dim %arg0, %c0 : memref<?x?xf16>
      %dim_0 = memref.dim %arg0, %c1 : memref<?x?xf16>
      %dim_1 = memref.dim %arg1, %c1 : memref<?x?xf16>
      %2 = arith.ceildivsi %dim, %c64 : index
      %3 = arith.ceildivsi %dim_1, %c64 : index
      %4 = arith.muli %2, %3 : index
      %block_id_z = gpu.block_id  z
      %grid_dim_z = gpu.grid_dim  z
      %block_id_y = gpu.block_id  y
      %grid_dim_y = gpu.grid_dim  y
      %5 = arith.muli %block_id_z, %grid_dim_y : index
      %6 = arith.addi %5, %block_id_y : index
      %7 = arith.muli %grid_dim_z, %grid_dim_y : index
      %block_id_x = gpu.block_id  x
      %grid_dim_x = gpu.grid_dim  x
      %8 = arith.muli %6, %grid_dim_x : index
      %9 = arith.addi %8, %block_id_x : index
      %10 = arith.muli %7, %grid_dim_x : index
      %11:4 = scf.for %arg3 = %9 to %4 step %10 iter_args(%arg4 = %c0_i32, %arg5 = %c0_i32, %arg6 = %c0_i32, %arg7 = %c0_i32) -> (i32, i32, i32, i32) {
        %12 = arith.floordivsi %arg3, %3 : index
        %13 = arith.muli %12, %3 : index
        %14 = arith.subi %arg3, %13 : index
        %15 = arith.ceildivsi %dim_0, %c64 : index
        %16 = arith.cmpi sgt, %15, %c0 : index
        %17:2 = scf.if %16 -> (i32, i32) {
          %21 = arith.muli %12, %c64 : index
          %22 = tile.slot %0[%arg4] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
          %23 = arith.muli %14, %c64 : index
          %24 = tile.slot %1[%arg4] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
          tile.copy %arg0[%21, 0] to %22 {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
          tile.copy %arg1[0, %23] to %24 {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
          %25 = arith.xori %arg5, %c1_i32 : i32
          %26 = arith.addi %arg4, %c1_i32 : i32
          %27 = arith.cmpi eq, %26, %c2_i32 : i32
          %28 = arith.select %27, %c0_i32, %26 : i32
          %29 = arith.select %27, %25, %arg5 : i32
          scf.yield %28, %29 : i32, i32
        } else {
          scf.yield %arg4, %arg5 : i32, i32
        }
        tile.commit_group
        %18:5 = scf.for %arg8 = %c0 to %15 step %c1 iter_args(%arg9 = %cst, %arg10 = %17#0, %arg11 = %17#1, %arg12 = %arg6, %arg13 = %arg7) -> (tensor<64x64xf32, #tile.fragment<thread = (4, 8, 2, 2):(2*d1, 1*d0, 32*d0, 32*d1), value = (2, 2, 4, 2):(1*d1, 8*d0, 8*d1, 16*d0)>>, i32, i32, i32, i32) {
          %21 = arith.subi %15, %c1 : index
          %22 = arith.cmpi slt, %arg8, %21 : index
          tile.copy_group_wait {pending = 0 : i64}
          tile.barrier
          %23 = arith.addi %arg8, %c1 : index
          %24:2 = scf.if %22 -> (i32, i32) {
            %33 = arith.muli %12, %c64 : index
            %34 = arith.muli %23, %c64 : index
            %35 = tile.slot %0[%arg10] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
            %36 = arith.muli %14, %c64 : index
            %37 = tile.slot %1[%arg10] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
            tile.copy %arg0[%33, %34] to %35 {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
            tile.copy %arg1[%34, %36] to %37 {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
            %38 = arith.xori %arg11, %c1_i32 : i32
            %39 = arith.addi %arg10, %c1_i32 : i32
            %40 = arith.cmpi eq, %39, %c2_i32 : i32
            %41 = arith.select %40, %c0_i32, %39 : i32
            %42 = arith.select %40, %38, %arg11 : i32
            scf.yield %41, %42 : i32, i32
          } else {
            scf.yield %arg10, %arg11 : i32, i32
          }
          tile.commit_group
          %25 = tile.slot %0[%arg12] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
          %26 = tile.slot %1[%arg12] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
          %27 = tile.gemm %25, %26, %arg9 {tile.inst = #tile.inst<mma>} : memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> -> tensor<64x64xf32, #tile.fragment<thread = (4, 8, 2, 2):(2*d1, 1*d0, 32*d0, 32*d1), value = (2, 2, 4, 2):(1*d1, 8*d0, 8*d1, 16*d0)>>
          %28 = arith.xori %arg13, %c1_i32 : i32
          %29 = arith.addi %arg12, %c1_i32 : i32
          %30 = arith.cmpi eq, %29, %c2_i32 : i32
          %31 = arith.select %30, %c0_i32, %29 : i32
          %32 = arith.select %30, %28, %arg13 : i32
          scf.yield %27, %24#0, %24#1, %31, %32 : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 2, 2):(2*d1, 1*d0, 32*d0, 32*d1), value = (2, 2, 4, 2):(1*d1, 8*d0, 8*d1, 16*d0)>>, i32, i32, i32, i32
        }
        %19 = arith.muli %12, %c64 : index
        %20 = arith.muli %14, %c64 : index
        tile.barrier
        tile.store %18#0 to %arg2[%19, %20] : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 2, 2):(2*d1, 1*d0, 32*d0, 32*d1), value = (2, 2, 4, 2):(1*d1, 8*d0, 8*d1, 16*d0)>> to memref<?x?xf32>
        scf.yield %c0_i32, %c0_i32, %c0_i32, %c0_i32 : i32, i32, i32, i32
      }
      gpu.return
    }
  }
}

// -----

// Right: a copy reports to the barrier of another one, which is waited for later.
#map = affine_map<()[s0, s1, s2, s3] -> (s0 ceildiv 64)>
module {
  gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx86">] {
    // expected-remark @below {{tile-verify-0002: schedule of @one_barrier_for_two_copies is proved}}
    gpu.func @one_barrier_for_two_copies(%arg0: memref<?x64xf16> {tile.name = "Q", tile.symbols = ["M", ""]}, %arg1: memref<?x64xf16> {tile.name = "K", tile.symbols = ["N", ""]}, %arg2: memref<?x64xf16> {tile.name = "V", tile.symbols = ["N", ""]}, %arg3: memref<?x64xf32> {tile.name = "O", tile.symbols = ["M", ""]}) kernel attributes {tile.grid = #map, tile.shared_bytes = 41040 : i64, tile.threads = 160 : i32} {
      %c2_i32 = arith.constant 2 : i32
      %c0_i32 = arith.constant 0 : i32
      %c1_i32 = arith.constant 1 : i32
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %c0 = arith.constant 0 : index
      %0 = tile.alloc_shared {tile.offset = 32768 : i64} : memref<1x64x64xf16, #tile.shared<(1, 64, 64):(0, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
      %1 = tile.mbarrier {count = 1 : i64, tile.offset = 41024 : i64} : !tile.mbarrier<1>
      %2 = tile.mbarrier {count = 4 : i64, tile.offset = 41032 : i64} : !tile.mbarrier<1>
      %3 = tile.alloc_shared {tile.offset = 0 : i64} : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
      %4 = tile.mbarrier {count = 1 : i64, tile.offset = 40960 : i64} : !tile.mbarrier<2>
      %5 = tile.mbarrier {count = 4 : i64, tile.offset = 40976 : i64} : !tile.mbarrier<2>
      %6 = tile.alloc_shared {tile.offset = 16384 : i64} : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
      %7 = tile.mbarrier {count = 1 : i64, tile.offset = 40992 : i64} : !tile.mbarrier<2>
      %8 = tile.mbarrier {count = 4 : i64, tile.offset = 41008 : i64} : !tile.mbarrier<2>
      tile.mbarrier_ready
      tile.specialize {
        tile.role @math warps(4) {
          %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
          %dim = memref.dim %arg1, %c0 : memref<?x64xf16>
          %block_id_x = gpu.block_id  x
          %9 = arith.muli %block_id_x, %c64 : index
          %10 = arith.ceildivsi %dim, %c64 : index
          tile.mbarrier_wait %1[%c0_i32], %c0_i32 : !tile.mbarrier<1>
          %11 = tile.slot %0[%c0_i32] : memref<1x64x64xf16, #tile.shared<(1, 64, 64):(0, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
          %12 = arith.cmpi sgt, %10, %c0 : index
          %13 = scf.if %12 -> (tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>) {
            tile.mbarrier_wait %7[%c0_i32], %c0_i32 : !tile.mbarrier<2>
            %14 = tile.slot %6[%c0_i32] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
            %15 = tile.gemm %11, %14, %cst {clear_accumulator, tile.inst = #tile.inst<wgmma>, transpose_rhs} : memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> -> tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
            tile.mbarrier_arrive %8[%c0_i32] {by = #tile.agents<warps>, converged} : !tile.mbarrier<2>
            %16 = arith.xori %c0_i32, %c1_i32 : i32
            %17 = arith.addi %c0_i32, %c1_i32 : i32
            %18 = arith.cmpi eq, %17, %c2_i32 : i32
            %19 = arith.select %18, %c0_i32, %17 : i32
            %20 = arith.select %18, %16, %c0_i32 : i32
            %21 = arith.truncf %15 : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>> to tensor<64x64xf16, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
            %22:6 = scf.for %arg4 = %c1 to %10 step %c1 iter_args(%arg5 = %cst, %arg6 = %19, %arg7 = %20, %arg8 = %c0_i32, %arg9 = %c0_i32, %arg10 = %21) -> (tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>, i32, i32, i32, i32, tensor<64x64xf16, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>) {
              tile.mbarrier_wait %7[%arg6], %arg7 : !tile.mbarrier<2>
              %25 = tile.slot %6[%arg6] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              %26 = tile.gemm %11, %25, %cst {async, clear_accumulator, tile.inst = #tile.inst<wgmma>, transpose_rhs} : memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> -> tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
              tile.mbarrier_wait %4[%arg8], %arg9 : !tile.mbarrier<2>
              %27 = tile.slot %3[%arg8] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              %28 = tile.gemm %arg10, %27, %arg5 {async, tile.inst = #tile.inst<wgmma>} : tensor<64x64xf16, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>, memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> -> tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
              %29 = tile.gemm_wait %26 {pending = 1 : i64} : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
              tile.mbarrier_arrive %8[%arg6] {by = #tile.agents<warps>, converged} : !tile.mbarrier<2>
              %30 = arith.xori %arg7, %c1_i32 : i32
              %31 = arith.addi %arg6, %c1_i32 : i32
              %32 = arith.cmpi eq, %31, %c2_i32 : i32
              %33 = arith.select %32, %c0_i32, %31 : i32
              %34 = arith.select %32, %30, %arg7 : i32
              %35 = arith.truncf %29 : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>> to tensor<64x64xf16, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
              %36:2 = tile.gemm_wait %28, %arg10 : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>, tensor<64x64xf16, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
              tile.mbarrier_arrive %5[%arg8] {by = #tile.agents<warps>, converged} : !tile.mbarrier<2>
              %37 = arith.xori %arg9, %c1_i32 : i32
              %38 = arith.addi %arg8, %c1_i32 : i32
              %39 = arith.cmpi eq, %38, %c2_i32 : i32
              %40 = arith.select %39, %c0_i32, %38 : i32
              %41 = arith.select %39, %37, %arg9 : i32
              scf.yield %36#0, %33, %34, %40, %41, %35 : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>, i32, i32, i32, i32, tensor<64x64xf16, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
            }
            tile.mbarrier_wait %4[%22#3], %22#4 : !tile.mbarrier<2>
            %23 = tile.slot %3[%22#3] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
            %24 = tile.gemm %22#5, %23, %22#0 {tile.inst = #tile.inst<wgmma>} : tensor<64x64xf16, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>, memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> -> tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
            tile.mbarrier_arrive %5[%22#3] {by = #tile.agents<warps>, converged} : !tile.mbarrier<2>
            scf.yield %24 : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
          } else {
            scf.yield %cst : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
          }
          tile.mbarrier_arrive %2[%c0_i32] {by = #tile.agents<warps>, converged} : !tile.mbarrier<1>
          tile.store %13 to %arg3[%9, 0] : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>> to memref<?x64xf32>
        }
        tile.role @load warps(1) elected {
          %dim = memref.dim %arg1, %c0 : memref<?x64xf16>
          %block_id_x = gpu.block_id  x
          %9 = arith.muli %block_id_x, %c64 : index
          %10 = arith.xori %c0_i32, %c1_i32 : i32
          tile.mbarrier_wait %2[%c0_i32], %10 : !tile.mbarrier<1>
          %11 = tile.slot %0[%c0_i32] : memref<1x64x64xf16, #tile.shared<(1, 64, 64):(0, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
          tile.copy %arg0[%9, 0] to %11 signals(%1[%c0_i32]) {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, !tile.mbarrier<1>
          tile.mbarrier_arrive %1[%c0_i32] {by = #tile.agents<thread>, bytes = 8192 : i64} : !tile.mbarrier<1>
          %12 = arith.ceildivsi %dim, %c64 : index
          %13:4 = scf.for %arg4 = %c0 to %12 step %c1 iter_args(%arg5 = %c0_i32, %arg6 = %c0_i32, %arg7 = %c0_i32, %arg8 = %c0_i32) -> (i32, i32, i32, i32) {
            %14 = arith.muli %arg4, %c64 : index
            %15 = arith.xori %arg6, %c1_i32 : i32
            tile.mbarrier_wait %8[%arg5], %15 : !tile.mbarrier<2>
            %16 = tile.slot %6[%arg5] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
            tile.copy %arg1[%14, 0] to %16 signals(%7[%arg5]) {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, !tile.mbarrier<2>
            tile.mbarrier_arrive %7[%arg5] {by = #tile.agents<thread>, bytes = 16384 : i64} : !tile.mbarrier<2>
            %17 = arith.xori %arg6, %c1_i32 : i32
            %18 = arith.addi %arg5, %c1_i32 : i32
            %19 = arith.cmpi eq, %18, %c2_i32 : i32
            %20 = arith.select %19, %c0_i32, %18 : i32
            %21 = arith.select %19, %17, %arg6 : i32
            %22 = arith.xori %arg8, %c1_i32 : i32
            tile.mbarrier_wait %5[%arg7], %22 : !tile.mbarrier<2>
            %23 = tile.slot %3[%arg7] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
            tile.copy %arg2[%14, 0] to %23 signals(%7[%arg7]) {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, !tile.mbarrier<2>
            tile.mbarrier_arrive %4[%arg7] {by = #tile.agents<thread>} : !tile.mbarrier<2>
            %24 = arith.xori %arg8, %c1_i32 : i32
            %25 = arith.addi %arg7, %c1_i32 : i32
            %26 = arith.cmpi eq, %25, %c2_i32 : i32
            %27 = arith.select %26, %c0_i32, %25 : i32
            %28 = arith.select %26, %24, %arg8 : i32
            scf.yield %20, %21, %27, %28 : i32, i32, i32, i32
          }
        }
      }
      gpu.return
    }
  }
}

// -----

// Right: a slot is given back while a product may read it; the other channel tells the producer when that has ended.
#map = affine_map<()[s0, s1, s2, s3] -> (s0 ceildiv 64)>
module {
  gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx86">] {
    // expected-remark @below {{tile-verify-0002: schedule of @released_between_two_products is proved}}
    gpu.func @released_between_two_products(%arg0: memref<?x64xf16> {tile.name = "Q", tile.symbols = ["M", ""]}, %arg1: memref<?x64xf16> {tile.name = "K", tile.symbols = ["N", ""]}, %arg2: memref<?x64xf16> {tile.name = "V", tile.symbols = ["N", ""]}, %arg3: memref<?x64xf32> {tile.name = "O", tile.symbols = ["M", ""]}) kernel attributes {tile.grid = #map, tile.shared_bytes = 41040 : i64, tile.threads = 160 : i32} {
      %c2_i32 = arith.constant 2 : i32
      %c0_i32 = arith.constant 0 : i32
      %c1_i32 = arith.constant 1 : i32
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %c0 = arith.constant 0 : index
      %0 = tile.alloc_shared {tile.offset = 32768 : i64} : memref<1x64x64xf16, #tile.shared<(1, 64, 64):(0, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
      %1 = tile.mbarrier {count = 1 : i64, tile.offset = 41024 : i64} : !tile.mbarrier<1>
      %2 = tile.mbarrier {count = 4 : i64, tile.offset = 41032 : i64} : !tile.mbarrier<1>
      %3 = tile.alloc_shared {tile.offset = 0 : i64} : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
      %4 = tile.mbarrier {count = 1 : i64, tile.offset = 40960 : i64} : !tile.mbarrier<2>
      %5 = tile.mbarrier {count = 4 : i64, tile.offset = 40976 : i64} : !tile.mbarrier<2>
      %6 = tile.alloc_shared {tile.offset = 16384 : i64} : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
      %7 = tile.mbarrier {count = 1 : i64, tile.offset = 40992 : i64} : !tile.mbarrier<2>
      %8 = tile.mbarrier {count = 4 : i64, tile.offset = 41008 : i64} : !tile.mbarrier<2>
      tile.mbarrier_ready
      tile.specialize {
        tile.role @math warps(4) {
          %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
          %dim = memref.dim %arg1, %c0 : memref<?x64xf16>
          %block_id_x = gpu.block_id  x
          %9 = arith.muli %block_id_x, %c64 : index
          %10 = arith.ceildivsi %dim, %c64 : index
          tile.mbarrier_wait %1[%c0_i32], %c0_i32 : !tile.mbarrier<1>
          %11 = tile.slot %0[%c0_i32] : memref<1x64x64xf16, #tile.shared<(1, 64, 64):(0, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
          %12 = arith.cmpi sgt, %10, %c0 : index
          %13 = scf.if %12 -> (tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>) {
            tile.mbarrier_wait %7[%c0_i32], %c0_i32 : !tile.mbarrier<2>
            %14 = tile.slot %6[%c0_i32] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
            %15 = tile.gemm %11, %14, %cst {clear_accumulator, tile.inst = #tile.inst<wgmma>, transpose_rhs} : memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> -> tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
            tile.mbarrier_arrive %8[%c0_i32] {by = #tile.agents<warps>, converged} : !tile.mbarrier<2>
            %16 = arith.xori %c0_i32, %c1_i32 : i32
            %17 = arith.addi %c0_i32, %c1_i32 : i32
            %18 = arith.cmpi eq, %17, %c2_i32 : i32
            %19 = arith.select %18, %c0_i32, %17 : i32
            %20 = arith.select %18, %16, %c0_i32 : i32
            %21 = arith.truncf %15 : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>> to tensor<64x64xf16, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
            %22:6 = scf.for %arg4 = %c1 to %10 step %c1 iter_args(%arg5 = %cst, %arg6 = %19, %arg7 = %20, %arg8 = %c0_i32, %arg9 = %c0_i32, %arg10 = %21) -> (tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>, i32, i32, i32, i32, tensor<64x64xf16, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>) {
              tile.mbarrier_wait %7[%arg6], %arg7 : !tile.mbarrier<2>
              %25 = tile.slot %6[%arg6] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              %26 = tile.gemm %11, %25, %cst {async, clear_accumulator, tile.inst = #tile.inst<wgmma>, transpose_rhs} : memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> -> tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
              tile.mbarrier_wait %4[%arg8], %arg9 : !tile.mbarrier<2>
              %27 = tile.slot %3[%arg8] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              %28 = tile.gemm %arg10, %27, %arg5 {async, tile.inst = #tile.inst<wgmma>} : tensor<64x64xf16, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>, memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> -> tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
              tile.mbarrier_arrive %8[%arg6] {by = #tile.agents<warps>, converged} : !tile.mbarrier<2>
              %29 = tile.gemm_wait %26 {pending = 1 : i64} : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
              %30 = arith.xori %arg7, %c1_i32 : i32
              %31 = arith.addi %arg6, %c1_i32 : i32
              %32 = arith.cmpi eq, %31, %c2_i32 : i32
              %33 = arith.select %32, %c0_i32, %31 : i32
              %34 = arith.select %32, %30, %arg7 : i32
              %35 = arith.truncf %29 : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>> to tensor<64x64xf16, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
              %36:2 = tile.gemm_wait %28, %arg10 : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>, tensor<64x64xf16, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
              tile.mbarrier_arrive %5[%arg8] {by = #tile.agents<warps>, converged} : !tile.mbarrier<2>
              %37 = arith.xori %arg9, %c1_i32 : i32
              %38 = arith.addi %arg8, %c1_i32 : i32
              %39 = arith.cmpi eq, %38, %c2_i32 : i32
              %40 = arith.select %39, %c0_i32, %38 : i32
              %41 = arith.select %39, %37, %arg9 : i32
              scf.yield %36#0, %33, %34, %40, %41, %35 : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>, i32, i32, i32, i32, tensor<64x64xf16, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
            }
            tile.mbarrier_wait %4[%22#3], %22#4 : !tile.mbarrier<2>
            %23 = tile.slot %3[%22#3] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
            %24 = tile.gemm %22#5, %23, %22#0 {tile.inst = #tile.inst<wgmma>} : tensor<64x64xf16, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>, memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> -> tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
            tile.mbarrier_arrive %5[%22#3] {by = #tile.agents<warps>, converged} : !tile.mbarrier<2>
            scf.yield %24 : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
          } else {
            scf.yield %cst : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
          }
          tile.mbarrier_arrive %2[%c0_i32] {by = #tile.agents<warps>, converged} : !tile.mbarrier<1>
          tile.store %13 to %arg3[%9, 0] : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>> to memref<?x64xf32>
        }
        tile.role @load warps(1) elected {
          %dim = memref.dim %arg1, %c0 : memref<?x64xf16>
          %block_id_x = gpu.block_id  x
          %9 = arith.muli %block_id_x, %c64 : index
          %10 = arith.xori %c0_i32, %c1_i32 : i32
          tile.mbarrier_wait %2[%c0_i32], %10 : !tile.mbarrier<1>
          %11 = tile.slot %0[%c0_i32] : memref<1x64x64xf16, #tile.shared<(1, 64, 64):(0, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
          tile.copy %arg0[%9, 0] to %11 signals(%1[%c0_i32]) {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, !tile.mbarrier<1>
          tile.mbarrier_arrive %1[%c0_i32] {by = #tile.agents<thread>, bytes = 8192 : i64} : !tile.mbarrier<1>
          %12 = arith.ceildivsi %dim, %c64 : index
          %13:4 = scf.for %arg4 = %c0 to %12 step %c1 iter_args(%arg5 = %c0_i32, %arg6 = %c0_i32, %arg7 = %c0_i32, %arg8 = %c0_i32) -> (i32, i32, i32, i32) {
            %14 = arith.muli %arg4, %c64 : index
            %15 = arith.xori %arg6, %c1_i32 : i32
            tile.mbarrier_wait %8[%arg5], %15 : !tile.mbarrier<2>
            %16 = tile.slot %6[%arg5] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
            tile.copy %arg1[%14, 0] to %16 signals(%7[%arg5]) {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, !tile.mbarrier<2>
            tile.mbarrier_arrive %7[%arg5] {by = #tile.agents<thread>, bytes = 8192 : i64} : !tile.mbarrier<2>
            %17 = arith.xori %arg6, %c1_i32 : i32
            %18 = arith.addi %arg5, %c1_i32 : i32
            %19 = arith.cmpi eq, %18, %c2_i32 : i32
            %20 = arith.select %19, %c0_i32, %18 : i32
            %21 = arith.select %19, %17, %arg6 : i32
            %22 = arith.xori %arg8, %c1_i32 : i32
            tile.mbarrier_wait %5[%arg7], %22 : !tile.mbarrier<2>
            %23 = tile.slot %3[%arg7] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
            tile.copy %arg2[%14, 0] to %23 signals(%4[%arg7]) {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, !tile.mbarrier<2>
            tile.mbarrier_arrive %4[%arg7] {by = #tile.agents<thread>, bytes = 8192 : i64} : !tile.mbarrier<2>
            %24 = arith.xori %arg8, %c1_i32 : i32
            %25 = arith.addi %arg7, %c1_i32 : i32
            %26 = arith.cmpi eq, %25, %c2_i32 : i32
            %27 = arith.select %26, %c0_i32, %25 : i32
            %28 = arith.select %26, %24, %arg8 : i32
            scf.yield %20, %21, %27, %28 : i32, i32, i32, i32
          }
        }
      }
      gpu.return
    }
  }
}

// -----

// Right: two roles fill a buffer each, and arrive at one barrier.
#map = affine_map<()[s0, s1, s2, s3, s4, s5] -> (2)>
module {
  gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx86">] {
    // expected-remark @below {{tile-verify-0002: schedule of @a_role_for_each_operand is proved}}
    gpu.func @a_role_for_each_operand(%arg0: memref<?x?xf16> {tile.divisible = array<i64: 1, 64>, tile.name = "A", tile.symbols = ["M", "K"]}, %arg1: memref<?x?xf16> {tile.divisible = array<i64: 1, 64>, tile.name = "B", tile.symbols = ["K", "N"]}, %arg2: memref<?x?xf32> {tile.divisible = array<i64: 1, 64>, tile.name = "C", tile.symbols = ["M", "N"]}) kernel attributes {tile.grid = #map, tile.shared_bytes = 49184 : i64, tile.threads = 192 : i32} {
      %c2_i32 = arith.constant 2 : i32
      %c0_i32 = arith.constant 0 : i32
      %c1_i32 = arith.constant 1 : i32
      %true = arith.constant true
      %false = arith.constant false
      %c64 = arith.constant 64 : index
      %c1 = arith.constant 1 : index
      %c0 = arith.constant 0 : index
      %0 = tile.alloc_shared {tile.offset = 0 : i64} : memref<64x64xf32, #tile.shared<(64, (32, 2)):(32, (1, 2048)), Sw<3,4,3>>, #gpu.address_space<workgroup>>
      %1 = tile.alloc_shared {tile.offset = 16384 : i64} : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
      %2 = tile.alloc_shared {tile.offset = 32768 : i64} : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
      %3 = tile.mbarrier {count = 2 : i64, tile.offset = 49152 : i64} : !tile.mbarrier<2>
      %4 = tile.mbarrier {count = 4 : i64, tile.offset = 49168 : i64} : !tile.mbarrier<2>
      tile.mbarrier_ready
      tile.specialize {
        tile.role @math warps(4) {
          %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
          %dim = memref.dim %arg0, %c0 : memref<?x?xf16>
          %dim_0 = memref.dim %arg0, %c1 : memref<?x?xf16>
          %dim_1 = memref.dim %arg1, %c1 : memref<?x?xf16>
          %5 = arith.ceildivsi %dim, %c64 : index
          %6 = arith.ceildivsi %dim_1, %c64 : index
          %7 = arith.muli %5, %6 : index
          %block_id_z = gpu.block_id  z
          %grid_dim_z = gpu.grid_dim  z
          %block_id_y = gpu.block_id  y
          %grid_dim_y = gpu.grid_dim  y
          %8 = arith.muli %block_id_z, %grid_dim_y : index
          %9 = arith.addi %8, %block_id_y : index
          %10 = arith.muli %grid_dim_z, %grid_dim_y : index
          %block_id_x = gpu.block_id  x
          %grid_dim_x = gpu.grid_dim  x
          %11 = arith.muli %9, %grid_dim_x : index
          %12 = arith.addi %11, %block_id_x : index
          %13 = arith.muli %10, %grid_dim_x : index
          %14:2 = scf.for %arg3 = %12 to %7 step %13 iter_args(%arg4 = %c0_i32, %arg5 = %c0_i32) -> (i32, i32) {
            %15 = arith.floordivsi %arg3, %6 : index
            %16 = arith.muli %15, %6 : index
            %17 = arith.subi %arg3, %16 : index
            %18 = arith.ceildivsi %dim_0, %c64 : index
            %19:6 = scf.for %arg6 = %c0 to %18 step %c1 iter_args(%arg7 = %cst, %arg8 = %arg4, %arg9 = %arg5, %arg10 = %c0_i32, %arg11 = %c0_i32, %arg12 = %false) -> (tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>, i32, i32, i32, i32, i1) {
              tile.mbarrier_wait %3[%arg8], %arg9 : !tile.mbarrier<2>
              %23 = tile.slot %1[%arg8] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              %24 = tile.slot %2[%arg8] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              %25 = tile.gemm %23, %24, %arg7 {async, tile.inst = #tile.inst<wgmma>} : memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> -> tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
              tile.gemm_wait {pending = 1 : i64}
              scf.if %arg12 {
                tile.mbarrier_arrive %4[%arg10] {by = #tile.agents<warps>, converged} : !tile.mbarrier<2>
              }
              %26 = arith.xori %arg9, %c1_i32 : i32
              %27 = arith.addi %arg8, %c1_i32 : i32
              %28 = arith.cmpi eq, %27, %c2_i32 : i32
              %29 = arith.select %28, %c0_i32, %27 : i32
              %30 = arith.select %28, %26, %arg9 : i32
              scf.yield %25, %29, %30, %arg8, %arg9, %true : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>, i32, i32, i32, i32, i1
            }
            %20 = tile.gemm_wait %19#0 : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>>
            scf.if %19#5 {
              tile.mbarrier_arrive %4[%19#3] {by = #tile.agents<warps>, converged} : !tile.mbarrier<2>
            }
            %21 = arith.muli %15, %c64 : index
            %22 = arith.muli %17, %c64 : index
            tile.barrier {drain_copies}
            tile.store %20 to %0 : tensor<64x64xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>> to memref<64x64xf32, #tile.shared<(64, (32, 2)):(32, (1, 2048)), Sw<3,4,3>>, #gpu.address_space<workgroup>>
            tile.barrier {proxy_fence}
            tile.copy %0 to %arg2[%21, %22] [64, 64] {tile.inst = #tile.inst<tma>} : memref<64x64xf32, #tile.shared<(64, (32, 2)):(32, (1, 2048)), Sw<3,4,3>>, #gpu.address_space<workgroup>> to memref<?x?xf32>
            scf.yield %19#1, %19#2 : i32, i32
          }
        }
        tile.role @load warps(1) elected {
          %dim = memref.dim %arg0, %c0 : memref<?x?xf16>
          %dim_0 = memref.dim %arg0, %c1 : memref<?x?xf16>
          %dim_1 = memref.dim %arg1, %c1 : memref<?x?xf16>
          %5 = arith.ceildivsi %dim, %c64 : index
          %6 = arith.ceildivsi %dim_1, %c64 : index
          %7 = arith.muli %5, %6 : index
          %block_id_z = gpu.block_id  z
          %grid_dim_z = gpu.grid_dim  z
          %block_id_y = gpu.block_id  y
          %grid_dim_y = gpu.grid_dim  y
          %8 = arith.muli %block_id_z, %grid_dim_y : index
          %9 = arith.addi %8, %block_id_y : index
          %10 = arith.muli %grid_dim_z, %grid_dim_y : index
          %block_id_x = gpu.block_id  x
          %grid_dim_x = gpu.grid_dim  x
          %11 = arith.muli %9, %grid_dim_x : index
          %12 = arith.addi %11, %block_id_x : index
          %13 = arith.muli %10, %grid_dim_x : index
          %14:2 = scf.for %arg3 = %12 to %7 step %13 iter_args(%arg4 = %c0_i32, %arg5 = %c0_i32) -> (i32, i32) {
            %15 = arith.floordivsi %arg3, %6 : index
            %16 = arith.muli %15, %6 : index
            %17 = arith.subi %arg3, %16 : index
            %18 = arith.ceildivsi %dim_0, %c64 : index
            %19:2 = scf.for %arg6 = %c0 to %18 step %c1 iter_args(%arg7 = %arg4, %arg8 = %arg5) -> (i32, i32) {
              %20 = arith.muli %15, %c64 : index
              %21 = arith.muli %arg6, %c64 : index
              %22 = arith.xori %arg8, %c1_i32 : i32
              tile.mbarrier_wait %4[%arg7], %22 : !tile.mbarrier<2>
              %23 = tile.slot %1[%arg7] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              tile.copy %arg0[%20, %21] to %23 signals(%3[%arg7]) {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, !tile.mbarrier<2>
              %24 = arith.muli %17, %c64 : index
              %25 = tile.slot %2[%arg7] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              tile.mbarrier_arrive %3[%arg7] {by = #tile.agents<thread>, bytes = 8192 : i64} : !tile.mbarrier<2>
              %26 = arith.xori %arg8, %c1_i32 : i32
              %27 = arith.addi %arg7, %c1_i32 : i32
              %28 = arith.cmpi eq, %27, %c2_i32 : i32
              %29 = arith.select %28, %c0_i32, %27 : i32
              %30 = arith.select %28, %26, %arg8 : i32
              scf.yield %29, %30 : i32, i32
            }
            scf.yield %19#0, %19#1 : i32, i32
          }
        }
        tile.role @load2 warps(1) elected {
          %dim = memref.dim %arg0, %c0 : memref<?x?xf16>
          %dim_0 = memref.dim %arg0, %c1 : memref<?x?xf16>
          %dim_1 = memref.dim %arg1, %c1 : memref<?x?xf16>
          %5 = arith.ceildivsi %dim, %c64 : index
          %6 = arith.ceildivsi %dim_1, %c64 : index
          %7 = arith.muli %5, %6 : index
          %block_id_z = gpu.block_id  z
          %grid_dim_z = gpu.grid_dim  z
          %block_id_y = gpu.block_id  y
          %grid_dim_y = gpu.grid_dim  y
          %8 = arith.muli %block_id_z, %grid_dim_y : index
          %9 = arith.addi %8, %block_id_y : index
          %10 = arith.muli %grid_dim_z, %grid_dim_y : index
          %block_id_x = gpu.block_id  x
          %grid_dim_x = gpu.grid_dim  x
          %11 = arith.muli %9, %grid_dim_x : index
          %12 = arith.addi %11, %block_id_x : index
          %13 = arith.muli %10, %grid_dim_x : index
          %14:2 = scf.for %arg3 = %12 to %7 step %13 iter_args(%arg4 = %c0_i32, %arg5 = %c0_i32) -> (i32, i32) {
            %15 = arith.floordivsi %arg3, %6 : index
            %16 = arith.muli %15, %6 : index
            %17 = arith.subi %arg3, %16 : index
            %18 = arith.ceildivsi %dim_0, %c64 : index
            %19:2 = scf.for %arg6 = %c0 to %18 step %c1 iter_args(%arg7 = %arg4, %arg8 = %arg5) -> (i32, i32) {
              %20 = arith.muli %15, %c64 : index
              %21 = arith.muli %arg6, %c64 : index
              %22 = arith.xori %arg8, %c1_i32 : i32
              tile.mbarrier_wait %4[%arg7], %22 : !tile.mbarrier<2>
              %23 = tile.slot %1[%arg7] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              %24 = arith.muli %17, %c64 : index
              %25 = tile.slot %2[%arg7] : memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, i32 -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
              tile.copy %arg1[%21, %24] to %25 signals(%3[%arg7]) {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>, !tile.mbarrier<2>
              tile.mbarrier_arrive %3[%arg7] {by = #tile.agents<thread>, bytes = 8192 : i64} : !tile.mbarrier<2>
              %26 = arith.xori %arg8, %c1_i32 : i32
              %27 = arith.addi %arg7, %c1_i32 : i32
              %28 = arith.cmpi eq, %27, %c2_i32 : i32
              %29 = arith.select %28, %c0_i32, %27 : i32
              %30 = arith.select %28, %26, %arg8 : i32
              scf.yield %29, %30 : i32, i32
            }
            scf.yield %19#0, %19#1 : i32, i32
          }
        }
      }
      gpu.return
    }
  }
}
