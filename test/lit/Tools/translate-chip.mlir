// Kernels without a target get that of --chip.
// RUN: tilews-translate %s --chip=sm_80 --to=ptx | FileCheck %s --check-prefix=NVIDIA
// RUN: tilews-translate %s --chip=gfx942 --to=asm | FileCheck %s --check-prefix=AMD

// NVIDIA: .target sm_80
// NVIDIA: .visible .entry nothing()
// AMD: .amdgcn_target "amdgcn-amd-amdhsa--gfx942"
// AMD: nothing:
gpu.module @kernels {
  gpu.func @nothing() kernel attributes {tile.threads = 64 : i32} {
    gpu.return
  }
}
