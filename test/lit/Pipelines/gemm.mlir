// The matmul of the examples, from the tile dialect to machine code.
// RUN: tilews-translate %S/../../../examples/gemm.mlir --chip=sm_80 --to=ptx 2>/dev/null | FileCheck %s --check-prefix=SM80
// RUN: tilews-translate %S/../../../examples/gemm.mlir --chip=sm_90a --to=ptx 2>/dev/null | FileCheck %s --check-prefix=SM90

// Three stages: the copies of two iterations come before the loop. One group of copies
// stays under way in the loop, whose only barrier is that of the wait.
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

// Roles with four slots: one thread starts TMA copies, whose bytes are counted, and
// each warp releases slots for all of its lanes. Blocks synchronize once, after the
// barriers are initialized.
// SM90-LABEL: .entry gemm
// SM90: .param .align 64 .b8
// SM90: mbarrier.init.shared.b64
// SM90: fence.mbarrier_init
// SM90-NEXT: bar.sync 0;
// SM90-NOT: bar.sync
// SM90-DAG: cp.async.bulk.tensor.2d.shared::cluster.global
// SM90-DAG: mbarrier.arrive.expect_tx
// SM90-DAG: wgmma.mma_async.sync.aligned.m64n{{[0-9]+}}k16.f32.f16.f16
// SM90-DAG: mbarrier.arrive.shared.b64
// SM90-DAG: st.global.v4
// SM90-NOT: bar.sync
