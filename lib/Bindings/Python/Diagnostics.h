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
#include "tilews-c/ThreadHandlers.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

/// The handler of the calling thread during a scope. The thread keeps the
/// interpreter lock: other threads would erase operations that a call has.
class ThreadHandlerScope {
public:
  explicit ThreadHandlerScope(TilewsThreadHandler handler)
      : outer(tilewsExchangeThreadHandler(handler)) {}
  ThreadHandlerScope(const ThreadHandlerScope &) = delete;
  ~ThreadHandlerScope() { tilewsExchangeThreadHandler(outer); }

private:
  TilewsThreadHandler outer;
};

/// Collects the diagnostics of a context during its life, as lines such as
/// "gemm.mlir:3:1: error: ...". Only those of the thread that made the
/// collector: other threads may compile in the same context. MLIR's own Python
/// handlers need the interpreter lock, which long calls release. This one does
/// not.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(MlirContext context)
      : scope({context, handle, this}) {}

  /// A diagnostic and its notes.
  struct Message {
    bool isError;
    std::vector<std::string> lines;
  };

  /// Returns what was reported so far.
  const std::vector<Message> &getMessages() const { return messages; }

  /// Returns the lines in the order of the diagnostics.
  std::vector<std::string> getLines() const {
    std::vector<std::string> lines;
    for (const Message &message : messages)
      lines.insert(lines.end(), message.lines.begin(), message.lines.end());
    return lines;
  }

  /// Returns all lines, those of errors first: what failed comes before remarks
  /// on what else the compiler did.
  std::string getText() const {
    std::string text;
    for (bool isError : {true, false})
      for (const Message &message : messages)
        if (message.isError == isError)
          for (const std::string &line : message.lines)
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
    std::vector<Message> &messages =
        static_cast<DiagnosticCollector *>(self)->messages;
    bool isError = mlirDiagnosticGetSeverity(diagnostic) == MlirDiagnosticError;
    Message message{isError, {}};
    add(diagnostic, "", message.lines);
    // The driver of a conversion reports an operation that it could not
    // convert, also where a pattern has said why.
    bool isKnown =
        !messages.empty() && messages.back().isError &&
        message.lines.size() == 1 &&
        message.lines[0].find("error: failed to legalize operation") !=
            std::string::npos;
    if (!isKnown)
      messages.push_back(std::move(message));
    return mlirLogicalResultSuccess();
  }

  static void add(MlirDiagnostic diagnostic, const std::string &indent,
                  std::vector<std::string> &lines) {
    static constexpr const char *severities[] = {"error", "warning", "note",
                                                 "remark"};
    std::string place, message;
    mlirLocationPrint(mlirDiagnosticGetLocation(diagnostic), append, &place);
    mlirDiagnosticPrint(diagnostic, append, &message);
    // MLIR adds the text of the operation, which may be longer than a screen.
    if (message.rfind("see current operation", 0) == 0)
      return;
    // Names in the IR may be any bytes, and Python's text may not.
    message = llvm::json::fixUTF8(message);
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
      add(mlirDiagnosticGetNote(diagnostic, i), indent + "  ", lines);
  }

  std::vector<Message> messages;
  ThreadHandlerScope scope;
};

/// Verifies the IR around an operation: Python can have made it invalid, and
/// C++ code relies on it.
inline MlirLogicalResult verifyAround(MlirOperation op) {
  MlirOperation root = op;
  for (; !mlirOperationIsNull(op); op = mlirOperationGetParentOperation(op))
    root = op;
  return mlirOperationVerify(root) ? mlirLogicalResultSuccess()
                                   : mlirLogicalResultFailure();
}

/// Calls `function`; returns warnings and remarks, or raises CompileError.
template <typename Function>
std::vector<std::string> callAndCollect(MlirContext context,
                                        Function function) {
  DiagnosticCollector diagnostics(context);
  if (mlirLogicalResultIsFailure(function()))
    diagnostics.raise();
  return diagnostics.getLines();
}

/// Does so if the IR around an operation is valid.
template <typename Function>
std::vector<std::string> callOnValid(MlirOperation op, Function function) {
  return callAndCollect(mlirOperationGetContext(op), [&] {
    MlirLogicalResult valid = verifyAround(op);
    return mlirLogicalResultIsFailure(valid) ? valid : function();
  });
}

#endif // TILEWS_BINDINGS_PYTHON_DIAGNOSTICS_H
