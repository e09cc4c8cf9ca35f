// RUN: tilews-opt %s --split-input-file --verify-diagnostics --tilews-to-rocdl=chip=gfx942

gpu.module @m {
  gpu.func @other_vendor(%x: f32) kernel {
    // expected-error @below {{has no template for 'gfx942', only for 'gfx950', 'nvidia'; add one, or a definition (in Python, python=)}}
    %0 = tile.asm(%x) {nvidia = #tile.assembly<"ex2 $0, $1;", "=f,f">,
                       gfx950 = #tile.assembly<"v_exp_f32 $0, $1", "=v,v">} : (f32) -> f32
    gpu.return
  }
}
