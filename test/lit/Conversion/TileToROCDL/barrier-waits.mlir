// A barrier waits for shared memory by an instruction of its own, besides the fences.
// RUN: tilews-opt %s --pass-pipeline='builtin.module(gpu.module(tile-set-target{chip=gfx90a},tile-plan-shared-memory,convert-tile-to-rocdl))' | FileCheck %s --check-prefixes=CHECK,GFX9
// RUN: tilews-opt %s --pass-pipeline='builtin.module(gpu.module(tile-set-target{chip=gfx942},tile-plan-shared-memory,convert-tile-to-rocdl))' | FileCheck %s --check-prefixes=CHECK,GFX9
// RUN: tilews-opt %s --pass-pipeline='builtin.module(gpu.module(tile-set-target{chip=gfx1100},tile-plan-shared-memory,convert-tile-to-rocdl))' | FileCheck %s --check-prefixes=CHECK,GFX11
// RUN: tilews-opt %s --pass-pipeline='builtin.module(gpu.module(tile-set-target{chip=gfx1201},tile-plan-shared-memory,convert-tile-to-rocdl))' | FileCheck %s --check-prefixes=CHECK,GFX12

gpu.module @kernels [#rocdl.target<chip = "gfx942">] {
  // CHECK: llvm.fence syncscope("workgroup") release
  // GFX9-NEXT: rocdl.s.waitcnt 49279
  // GFX11-NEXT: rocdl.s.waitcnt 64519
  // GFX12-NEXT: rocdl.s.wait.dscnt 0
  // CHECK-NEXT: rocdl.s.barrier
  // CHECK-NEXT: llvm.fence syncscope("workgroup") acquire
  gpu.func @kernel() kernel attributes {tile.threads = 128 : i32} {
    tile.barrier
    gpu.return
  }
}
