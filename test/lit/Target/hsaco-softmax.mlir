// Machine code of a row softmax for AMD's GPUs: reductions within a wave use shared
// memory only between rows of lanes, and maxima need no instructions that quiet NaNs.
// RUN: tilews-translate %s --chip=gfx942 --to=hsaco -o %t.942 && llvm-objdump -d %t.942 | FileCheck %s --check-prefixes=CODE,GFX942
// RUN: tilews-translate %s --chip=gfx1100 --to=hsaco -o %t.1100 && llvm-objdump -d %t.1100 | FileCheck %s --check-prefixes=CODE,GFX1100

// CODE-LABEL: <softmax>
// CODE-NOT: max_f32{{[_e0-9]*}} v{{[0-9]+}}, v[[N:[0-9]+]], v[[N]]{{ }}
// CODE: dpp{{.*}} quad_perm:[1,0,3,2]
// CODE: dpp{{.*}} quad_perm:[2,3,0,1]
// GFX942: dpp{{.*}} row_half_mirror
// GFX942: dpp{{.*}} row_ror:8
// GFX1100: dpp{{.*}} row_xmask:4
// GFX1100: dpp{{.*}} row_xmask:8
// CODE: ds_swizzle_b32 {{.*}}swizzle(SWAP,16)
// CODE: v_exp_f32
// CODE: s_endpgm
gpu.module @kernels [#rocdl.target<chip = "gfx942">] {
  gpu.func @softmax(%A: memref<?x256xf32>, %C: memref<?x256xf32>)
      kernel attributes {tile.threads = 128 : i32} {
    %rows = arith.constant 4 : index
    %b = gpu.block_id x
    %i = arith.muli %b, %rows : index
    %x = tile.load %A[%i, 0] : memref<?x256xf32> -> tensor<4x256xf32>
    %max = tile.reduce <max> %x {axis = 1 : i64}
      : tensor<4x256xf32> -> tensor<4xf32>
    %maxc = tile.expand_dims %max {axis = 1 : i64}
      : tensor<4xf32> -> tensor<4x1xf32>
    %maxb = tile.broadcast %maxc : tensor<4x1xf32> -> tensor<4x256xf32>
    %s = arith.subf %x, %maxb : tensor<4x256xf32>
    %p = math.exp %s : tensor<4x256xf32>
    %sum = tile.reduce <sum> %p {axis = 1 : i64}
      : tensor<4x256xf32> -> tensor<4xf32>
    %sumc = tile.expand_dims %sum {axis = 1 : i64}
      : tensor<4xf32> -> tensor<4x1xf32>
    %sumb = tile.broadcast %sumc : tensor<4x1xf32> -> tensor<4x256xf32>
    %q = arith.divf %p, %sumb : tensor<4x256xf32>
    tile.store %q to %C[%i, 0] : tensor<4x256xf32> to memref<?x256xf32>
    gpu.return
  }
}
