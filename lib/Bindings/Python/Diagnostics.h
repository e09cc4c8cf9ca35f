//===- Diagnostics.h - Diagnostics as Python exceptions ---------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_BINDINGS_PYTHON_DIAGNOSTICS_H
#define TILEWS_BINDINGS_PYTHON_DIAGNOSTICS_H

#include "mlir-c/Diagnostics.h"
#include "mlir-c/IR.h"
#include "mlir/Bindings/Python/Nanobind.h"
#include <string>
#include <vector>

/// Collects the diagnostics of a context during its life, as lines such as
/// "gemm.mlir:3:1: error: ...". MLIR's own Python handlers need the interpreter
/// lock, which long calls release. This one does not need it.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(MlirContext context)
      : context(context), handler(mlirContextAttachDiagnosticHandler(
                              context, handle, this, nullptr)) {}
  DiagnosticCollector(const DiagnosticCollector &) = delete;
  ~DiagnosticCollector() { detach(); }

  /// Stops collecting.
  void detach() {
    if (attached)
      mlirContextDetachDiagnosticHandler(context, handler);
    attached = false;
  }

  const std::vector<std::string> &getLines() const { return lines; }

  std::string getText() const {
    std::string text;
    for (const std::string &line : lines)
      text += (text.empty() ? "" : "\n") + line;
    return text;
  }

  /// Throws the Python exception `tilews.errors.CompileError` with all lines.
  [[noreturn]] void raise() const {
    nanobind::object type =
        nanobind::module_::import_("tilews.errors").attr("CompileError");
    PyErr_SetString(type.ptr(), getText().c_str());
    throw nanobind::python_error();
  }

private:
  static void append(MlirStringRef part, void *text) {
    static_cast<std::string *>(text)->append(part.data, part.length);
  }

  static MlirLogicalResult handle(MlirDiagnostic diagnostic, void *self) {
    static_cast<DiagnosticCollector *>(self)->add(diagnostic, "");
    return mlirLogicalResultSuccess();
  }

  void add(MlirDiagnostic diagnostic, const std::string &indent) {
    static constexpr const char *severities[] = {"error", "warning", "note",
                                                 "remark"};
    std::string place, message;
    mlirLocationPrint(mlirDiagnosticGetLocation(diagnostic), append, &place);
    mlirDiagnosticPrint(diagnostic, append, &message);
    // MLIR adds the text of the operation, which may be longer than a screen.
    if (message.rfind("see current operation", 0) == 0)
      return;
    // "loc("gemm.mlir":3:1)" is shortened to "gemm.mlir:3:1".
    if (place.size() > 5 && place.compare(0, 4, "loc(") == 0)
      place = place.substr(4, place.size() - 5);
    std::string plain;
    for (char c : place)
      if (c != '"')
        plain += c;
    lines.push_back(indent + plain + ": " +
                    severities[mlirDiagnosticGetSeverity(diagnostic)] + ": " +
                    message);
    for (intptr_t i = 0, n = mlirDiagnosticGetNumNotes(diagnostic); i < n; ++i)
      add(mlirDiagnosticGetNote(diagnostic, i), indent + "  ");
  }

  std::vector<std::string> lines;
  MlirContext context;
  MlirDiagnosticHandlerID handler;
  bool attached = true;
};

#endif // TILEWS_BINDINGS_PYTHON_DIAGNOSTICS_H
