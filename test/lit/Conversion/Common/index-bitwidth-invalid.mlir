// RUN: not tilews-opt %s --pass-pipeline="builtin.module(gpu.module(tile-set-target{chip=sm_90a},convert-tile-to-nvvm{index-bitwidth=65}))" 2>&1 | FileCheck %s --check-prefix=NV
// RUN: not tilews-opt %s --pass-pipeline="builtin.module(gpu.module(tile-set-target{chip=gfx942},convert-tile-to-rocdl{index-bitwidth=16}))" 2>&1 | FileCheck %s --check-prefix=AMD
// RUN: not tilews-opt %s --pass-pipeline="builtin.module(gpu.module(convert-tile-threads-to-llvm{index-bitwidth=7}))" 2>&1 | FileCheck %s --check-prefix=LLVM

// The three passes that give `index` a width take 32 and 64 only.

// NV: error: index-bitwidth is 32 or 64, found 65
// AMD: error: index-bitwidth is 32 or 64, found 16
// LLVM: error: index-bitwidth is 32 or 64, found 7
gpu.module @m {
}
