// Roles need barriers in shared memory, which count arrivals.
// RUN: tilews-opt %s --split-input-file --tile-annotate-instructions --verify-diagnostics

gpu.module @kernels [#nvvm.target<chip = "sm_75">] {
  gpu.func @turing() kernel attributes {tile.threads = 32 : i32} {
    // expected-error @below {{'tile.specialize' op needs barriers in shared memory (mbarrier), by which roles hand tiles to each other, but sm_75 has none; roles run on NVIDIA GPUs from sm_80 on, and copy by TMA from sm_90 on. Compile for one of these (sm_90a), or write a loop with tile.num_stages (num_stages= in Python) instead: it runs on all targets, and roles are made of it where they help}}
    tile.specialize {
      tile.role @alone warps(1) {
        tile.barrier
      }
    }
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @ampere() kernel attributes {tile.threads = 32 : i32} {
    tile.specialize {
      tile.role @alone warps(1) {
        tile.barrier
      }
    }
    gpu.return
  }
}

// -----

gpu.module @kernels [#rocdl.target<chip = "gfx942">] {
  gpu.func @cdna() kernel attributes {tile.threads = 64 : i32} {
    // expected-error @below {{'tile.specialize' op needs barriers in shared memory (mbarrier), by which roles hand tiles to each other, but gfx942 has none}}
    tile.specialize {
      tile.role @alone warps(1) {
        tile.barrier
      }
    }
    gpu.return
  }
}
