// How much work a proof was, summed over all kernels and searches. A change of the
// search may change the numbers of states and joins.
// RUN: tilews-opt %S/Inputs/two_buffers.mlir --tile-verify-schedule --tilews-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=LOOP
// RUN: tilews-opt %S/Inputs/counted_iterations.mlir --tile-verify-schedule --tilews-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=WIDENED
// RUN: tilews-opt %S/Inputs/single_use.mlir --tile-verify-schedule --tilews-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=STRAIGHT --allow-empty

// Two roles, with one loop each, and two slots.
// LOOP: Statistics Collected
// LOOP-DAG: {{^ *}}2 tile-verify-schedule - States that paths came to, over all searches
// LOOP-DAG: {{^ *}}3 tile-verify-schedule - Paths that came to a state that was visited before
// LOOP-DAG: {{^ *[1-9][0-9]*}} tile-verify-schedule - Conditions that a path was asked for
// LOOP-NOT: Loop-carried numbers widened

// Roles that count their iterations in carried numbers of their own.
// WIDENED: Statistics Collected
// WIDENED-DAG: {{^ *[1-9][0-9]*}} tile-verify-schedule - Loop-carried numbers widened to variables
// WIDENED-DAG: {{^ *[1-9][0-9]*}} tile-verify-schedule - States that paths came to, over all searches

// Without a loop there is no state to come back to.
// STRAIGHT-NOT: tile-verify-schedule
