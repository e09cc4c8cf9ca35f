// RUN: not tilews-opt %s --tilews-to-nvvm='chip="sm_80 one-role=true"' 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not tilews-opt %s --tilews-to-rocdl='chip={a"b}' 2>&1 | FileCheck %s --check-prefix=QUOTE

// The name of a chip cannot end the option that it is the value of.

// OPTION: error: unknown chip 'sm_80 one-role=true'
// QUOTE: error: unknown chip '?a?b?'
gpu.module @m {
}
