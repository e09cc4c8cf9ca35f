// The examples' matrix product, from the tile dialect to machine code.
// RUN: tilews-translate %S/../../../examples/gemm.mlir --chip=sm_80 --to=ptx 2>/dev/null | FileCheck %s --check-prefix=SM80
// RUN: tilews-translate %S/../../../examples/gemm.mlir --chip=sm_90a --to=ptx 2>/dev/null | FileCheck %s --check-prefix=SM90

// Three stages: the copies of two turns in front of the loop. In the loop one
// group of copies stays under way; the barrier of the wait is the only one.
// SM80-LABEL: .entry gemm
// SM80-NOT: bar.sync
// SM80-NOT: cp.async.wait_group
// SM80-COUNT-3: cp.async.commit_group;
// SM80: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// SM80: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// SM80: cp.async.wait_group 1;
// SM80-NEXT: bar.sync 0;
// SM80: cp.async.cg.shared.global
// SM80-NOT: cp.async.commit_group
// SM80-NOT: cp.async.wait_group
// SM80-NOT: bar.sync

// SM90-LABEL: .entry gemm
// SM90-NOT: bar.sync
// SM90: cp.async.cg.shared.global
// SM90-COUNT-3: cp.async.commit_group;
// SM90: wgmma.mma_async.sync.aligned.m64n{{[0-9]+}}k16.f32.f16.f16
// SM90: wgmma.wait_group.sync.aligned 0;
// SM90: cp.async.wait_group 1;
// SM90-NEXT: fence.proxy.async.shared::cta;
// SM90-NEXT: bar.sync 0;
