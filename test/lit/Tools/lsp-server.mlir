// The server knows the tile dialect, so it can tell what is not in it.
// RUN: tilews-lsp-server --lit-test < %S/Inputs/session.json | FileCheck %s

// CHECK: "method": "textDocument/publishDiagnostics"
// CHECK: unregistered operation 'tile.unknown' found in dialect ('tile')
