// Debug output of the simulator: which agent goes on, what completes, who waits, and the
// clocks at a conflict.
// REQUIRES: assertions
// DEFINE: %{debug} = from tilews.ir import _GlobalDebug as debug; debug.set_types("tile-simulator"); debug.flag = True
// DEFINE: %{sim} = %python -c '%{debug}; from tilews.sim.__main__ import main; main()'
// RUN: not %{sim} %S/unordered.mlir --grid 1 2>&1 | FileCheck %s --check-prefix=CONFLICT
// RUN: not %{sim} %S/deadlock.mlir --arg n=3 --grid 1 2>&1 | FileCheck %s --check-prefix=WAITS

// CONFLICT: {{^}}[tile-simulator {{.*}}] conflict with event {{[0-9]+}} of component {{[0-9]+}}; clock of agent {{[0-9]+}}:

// WAITS: {{^}}[tile-simulator {{.*}}] agent 1 continues, of 2 agents that can; 0 operations can complete
// WAITS: {{^}}[tile-simulator {{.*}}] role @math waits for parity 0 of the 'full' barrier of slot 0
