// The server has the tile dialect registered, so it reports operations that the dialect
// lacks.
// RUN: tilews-lsp-server --lit-test < %S/Inputs/session.json | FileCheck %s

// CHECK: "method": "textDocument/publishDiagnostics"
// CHECK: unregistered operation 'tile.unknown' found in dialect ('tile')
