// All debug output at the same time, from the complete pipelines: no line crashes, and
// each pass says what it decided. A test of Python compares the list of types with the
// sources. Simulator/debug-output.mlir has the type of the simulator.
// REQUIRES: assertions
// DEFINE: %{types} = convert-tile,convert-tile-threads-to-llvm,convert-tile-to-nvvm,convert-tile-to-rocdl,tile-add-line-tables,tile-annotate-instructions,tile-arena-accesses,tile-assign-registers,tile-channel-preludes,tile-defer-gemm-waits,tile-divisibility,tile-expand-affine,tile-expand-control-flow,tile-expand-math,tile-expand-pipeline,tile-index-signs,tile-infer-layouts,tile-insert-barriers,tile-lower-channels,tile-lower-persistent,tile-multi-version,tile-multicast-copies,tile-overlap-products,tile-peel-pipelines,tile-ping-pong,tile-plan-pipeline,tile-plan-shared-memory,tile-prefetch-operands,tile-rasterize-blocks,tile-save-kernels,tile-set-target,tile-specialize-warps,tile-split-k,tile-stage-copies,tile-stage-stores,tile-stream-k,tile-verify-schedule,tile-widen-small-floats
// RUN: tilews-opt %S/Inputs/every_pass.mlir --tilews-to-nvvm=chip=sm_90a --tile-add-line-tables --debug-only=%{types} -o /dev/null 2>&1 | FileCheck %s --check-prefixes=ALL,SM90
// RUN: tilews-opt %S/Inputs/every_pass.mlir --tilews-to-nvvm=chip=sm_80 --debug-only=%{types} -o /dev/null 2>&1 | FileCheck %s --check-prefixes=ALL,SM80
// RUN: tilews-opt %S/Inputs/every_pass.mlir --tilews-to-rocdl=chip=gfx942 --debug-only=%{types} -o /dev/null 2>&1 | FileCheck %s --check-prefixes=ALL,GFX942
// RUN: tilews-opt %S/../Conversion/TileToROCDL/prefetch-operands.mlir --tile-prefetch-operands --debug-only=%{types} -o /dev/null 2>&1 | FileCheck %s --check-prefixes=GFX950
// RUN: tilews-opt %S/../Dialect/Tile/Transforms/widen-small-floats.mlir --tile-widen-small-floats --allow-unregistered-dialect --debug-only=%{types} -o /dev/null 2>&1 | FileCheck %s --check-prefixes=FLOATS

// ALL: {{^}}[tile-set-target {{.*}}] sets the target {{sm_90a|sm_80|gfx942}}
// ALL: {{^}}[tile-split-k {{.*}}] loop at {{.*}} is split among 3 blocks along z
// ALL: {{^}}[tile-stream-k {{.*}}] loop at {{.*}}: blocks share its iterations
// ALL: {{^}}[tile-lower-persistent {{.*}}] loop at {{.*}} over 2 extents, rasterized
// ALL: {{^}}[tile-rasterize-blocks {{.*}}] kernel @split: #tile.rasterize<row, panel = 2> for 2 block ids

// SM90: {{^}}[tile-annotate-instructions {{.*}}] tile.gemm at {{.*}}: wgmma
// SM80: {{^}}[tile-annotate-instructions {{.*}}] tile.copy at {{.*}}: cp_async
// SM80: {{^}}[tile-annotate-instructions {{.*}}]   not tma: sm_80 has no TMA
// GFX942: {{^}}[tile-annotate-instructions {{.*}}] tile.copy at {{.*}}: simt
// ALL: {{^}}[tile-divisibility {{.*}}] %{{.*}}: divisor 0 -> {{[0-9]+}}

// SM90: {{^}}[tile-save-kernels {{.*}}] @split is saved
// SM90: {{^}}[tile-plan-pipeline {{.*}}] loop at {{.*}} is planned: 2 buffers
// SM90: {{^}}[tile-multi-version {{.*}}] channel at {{.*}}: 2 buffers, 2 slots
// SM90: {{^}}[tile-channel-preludes {{.*}}] buffer at {{.*}} gets a channel: 1 copies, 1 readers
// SM90: {{^}}[tile-specialize-warps {{.*}}] kernel @attention: role math of 4 warps, role load of 1
// SM90: {{^}}[tile-overlap-products {{.*}}] loop at {{.*}} is rotated
// SM90: {{^}}[tile-defer-gemm-waits {{.*}}] loop at {{.*}}: 1 matmuls run into the next iteration
// SM90: {{^}}[tile-ping-pong {{.*}}] two roles alternate in the loop at
// SM90: {{^}}[tile-ping-pong {{.*}}] an iteration of the other role computes
// SM90: {{^}}[tile-stage-stores {{.*}}] store at {{.*}} parts through shared memory
// SM90: {{^}}[tile-assign-registers {{.*}}] fragments of role @math0: 64 registers before %{{.*}} = arith.truncf %[[SUM:.*]]: %[[SUM]] 64
// SM90: {{^}}[tile-assign-registers {{.*}}] role @math0 needs {{[0-9]+}} registers, the limit is 168
// SM90: {{^}}[tile-verify-schedule {{.*}}] @alternating: proved, {{[0-9]+}} states
// SM90: {{^}}[tile-infer-layouts {{.*}}] buffer at {{.*}}: #tile.shared<{{.*}}, Sw<
// SM90: {{^}}[tile-plan-shared-memory {{.*}}] barriers at {{.*}} bytes at offset
// SM90: {{^}}[tile-arena-accesses {{.*}}] reads arena [0, 4096), asynchronous matmul, through the proxy
// SM90: {{^}}[tile-insert-barriers {{.*}}] barrier before
// SM90: {{^}}[tile-multicast-copies {{.*}}] copy at {{.*}} is multicast along x
// SM90: {{^}}[tile-multicast-copies {{.*}}] blocks along x:
// SM90: {{^}}[tile-multicast-copies {{.*}}] %{{.*}}: same, divisor {{[0-9]+}}
// SM90: {{^}}[tile-lower-channels {{.*}}] channel at {{.*}}: 1 arrivals fill a slot, 4 free it
// SM90: {{^}}[convert-tile-to-nvvm {{.*}}] copy at {{.*}} by tensor map 0: load of 2048 bytes in 1 boxes of 16x64 (dimensions 1, 0) of argument 0, swizzle of 32 bytes
// SM90: {{^}}[convert-tile-to-nvvm {{.*}}] matmul at {{.*}}: wgmma m64n32k16

// SM80: {{^}}[tile-save-kernels {{.*}}] @split is saved
// SM80: {{^}}[tile-plan-pipeline {{.*}}] loop at {{.*}} is planned: 2 buffers
// SM80: {{^}}[tile-multi-version {{.*}}] channel at {{.*}}: 2 buffers, 2 slots
// SM80: {{^}}[tile-ping-pong {{.*}}] loop at {{.*}} stays: the loop is not in the body of a role
// SM80: {{^}}[tile-expand-pipeline {{.*}}] stage 0, order {{[0-9]+}}: tile.copy
// SM80: {{^}}[tile-verify-schedule {{.*}}] @attention: proved, {{[0-9]+}} states
// SM80: {{^}}[tile-infer-layouts {{.*}}] conversion at {{.*}}, by shuffles in {{[0-9]+}} rounds, {{[0-9]+}} cycles
// SM80: {{^}}[tile-insert-barriers {{.*}}] barrier before
// SM80-NEXT: {{^}}[tile-insert-barriers {{.*}}] pending: {{reads|writes}} arena [
// SM80: {{^}}[convert-tile {{.*}}] cp.async of 8

// GFX950: {{^}}[tile-prefetch-operands {{.*}}] loop at {{.*}} reads {{[0-9]+}} operands ahead

// GFX942: {{^}}[tile-stage-copies {{.*}}] loop at {{.*}}: {{[0-9]+}} candidates take {{[0-9]+}} registers
// GFX942: {{^}}[tile-insert-barriers {{.*}}] barrier before
// GFX942: {{^}}[tile-peel-pipelines {{.*}}] loop at {{.*}} loses its last iteration
// GFX942: {{^}}[tile-index-signs {{.*}}] %{{.*}}: may be negative
// GFX942: {{^}}[convert-tile-to-rocdl {{.*}}] instruction rocdl.mfma.f32.32x32x8f16

// ALL: {{^}}[tile-expand-math {{.*}}] in f32: {{.*}} = math.tanh
// ALL: {{^}}[tile-expand-affine {{.*}}] may wrap around: {{.*}} = arith.muli
// ALL: {{^}}[tile-expand-control-flow {{.*}}] scf.{{.*}} becomes branches
// ALL: {{^}}[convert-tile-threads-to-llvm {{.*}}] {{[0-9]+}} elements in halves

// SM90: {{^}}[tile-add-line-tables {{.*}}] function attention at {{.*}}every_pass.mlir

// FLOATS: {{^}}[tile-widen-small-floats {{.*}}] computes in f32: {{.*}}tile.reduce
