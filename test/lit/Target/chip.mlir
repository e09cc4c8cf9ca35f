// A module without a target gets the chip that it is compiled for.
// RUN: tilews-translate %s --chip=gfx942 --to=asm | FileCheck %s --check-prefix=AMD
// RUN: tilews-translate %s --chip=sm_90a --to=asm | FileCheck %s --check-prefix=NVIDIA

// AMD: .amdgcn_target "amdgcn-amd-amdhsa--gfx942"
// NVIDIA: .target sm_90a
gpu.module @kernels {
  gpu.func @nothing() kernel {
    gpu.return
  }
}
