// RUN: not tilews-opt %s --pass-pipeline="builtin.module(gpu.module(tile-set-target{chip=gfx942}))" -o /dev/null 2>&1 | FileCheck %s
// RUN: tilews-opt %s --pass-pipeline="builtin.module(gpu.module(tile-set-target{chip=gfx1100}))" -o /dev/null
// RUN: tilews-opt %s --pass-pipeline="builtin.module(gpu.module(tile-set-target{chip=sm_90a}))" -o /dev/null

// A block consists of whole waves.
gpu.module @kernels {
  // CHECK: [[@LINE+1]]:3: error: has blocks of 96 threads, but gfx942 runs them in waves of 64: expected a multiple of 64
  gpu.func @half_a_wave() kernel attributes {tile.threads = 96 : i32} {
    gpu.return
  }
}
