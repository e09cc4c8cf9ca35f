//===- Promela.cpp - The schedule of a kernel as a Spin model -------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Puts a model together. It has, from top to bottom:
//
//   macros           the same in all models, and those of channels or barriers
//   state            places, barriers or channels, elements of arguments
//   proctype math    a process for each role
//   proctype kernel  the body of the kernel, which runs them
//   tma, late_math   what happens on its own: copies land, late threads arrive
//   init             chooses inputs, runs the kernel, checks the end
//
//===----------------------------------------------------------------------===//

#include "tilews/Target/Promela.h"

#include "AccessText.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::promela;
using namespace tilews::tile;

namespace {
/// The processes of the threads of a kernel.
class ModelWriter {
public:
  ModelWriter(KernelReader &reader, const PromelaOptions &options)
      : reader(reader), inputs(reader, options),
        events(reader.hasChannels() ? makeChannelText(reader)
                                    : makeBarrierText(reader)) {}

  FailureOr<std::string> write();

private:
  LogicalResult writeThreads();
  LogicalResult enterRoles(ThreadText &kernel);
  void writeHead(ModelText &out);
  void writeInit(ModelText &out);

  KernelReader &reader;
  ModelInputs inputs;
  std::unique_ptr<AccessText> events;
  ModelText processes;
  SmallVector<std::string> kernelParameters;
};
} // namespace

static std::string getList(ArrayRef<std::string> names) {
  return llvm::join(names, ", ");
}

static void putProcess(ModelText &out, StringRef name, ThreadText &thread,
                       StringRef comment) {
  std::string parameters;
  for (const std::string &parameter : thread.getParameters())
    parameters += (parameters.empty() ? "int " : "; int ") + parameter;
  std::string body = thread.take();
  out.append(("\n/* " + comment + " */\nproctype " + name + "(" + parameters +
              ") {\n  own_variables;\n" + body + "}\n")
                 .str());
}

LogicalResult ModelWriter::enterRoles(ThreadText &kernel) {
  std::string runs;
  for (const Thread &thread : reader.getThreads().drop_front()) {
    ThreadText text(reader, inputs, *events, thread);
    auto decline = [&](ThreadText &) {
      return thread.op->emitError("is not exported to Promela: it contains "
                                  "another tile.specialize");
    };
    if (failed(text.write(decline)))
      return failure();
    text.getOut().gap();
    text.getOut().step("ended++");
    for (const std::string &name : text.getParameters())
      kernel.passOn(name);
    runs += (runs.empty() ? "" : "; ") + ("run " + thread.name) + "(" +
            getList(text.getParameters()) + ")";
    putProcess(processes, thread.name, text,
               reader.getSource().getComment(thread.op));
  }
  ModelText &out = kernel.getOut();
  out.gap();
  out.step(runs);
  out.gap();
  out.step("until(ended == " + Twine(reader.getThreads().size() - 1) + ")");
  kernel.setRolesBehind();
  return success();
}

LogicalResult ModelWriter::writeThreads() {
  const Thread &body = reader.getThreads().front();
  ThreadText text(reader, inputs, *events, body);
  if (failed(
          text.write([&](ThreadText &kernel) { return enterRoles(kernel); })))
    return failure();
  text.getOut().gap();
  text.getOut().step("done = true");
  putProcess(processes, "kernel", text,
             reader.getSource().getComment(reader.getKernel()));
  kernelParameters.assign(text.getParameters().begin(),
                          text.getParameters().end());
  return success();
}

/// Returns the buffers that the kernel fills, by stores or copies.
static llvm::SmallPtrSet<const ModelBuffer *, 8>
findFilled(KernelReader &reader) {
  llvm::SmallPtrSet<const ModelBuffer *, 8> filled;
  reader.getKernel().walk([&](Operation *op) {
    for (const ModelAccess &access : reader.getAccesses(op))
      if (access.writes && !access.isAtomic)
        filled.insert(access.buffer);
  });
  return filled;
}

/// Returns whether anything has been written to a buffer, as an expression.
static std::string getWritten(const ModelBuffer &buffer) {
  std::string written;
  for (int64_t place = 0; place < buffer.getNumPlaces(); ++place)
    written += (place ? " || place[" : "place[") + buffer.name + " + " +
               std::to_string(place) + "].written";
  return written;
}

/// Returns the most groups of copies that a wait leaves pending.
static int64_t getMostPending(gpu::GPUFuncOp kernel) {
  int64_t most = 0;
  kernel.walk([&](Operation *op) {
    if (auto wait = dyn_cast<CopyGroupWaitOp>(op))
      most = std::max<int64_t>(most, wait.getPending());
    else if (auto wait = dyn_cast<WaitOp>(op))
      most = std::max<int64_t>(most, wait.getPending().value_or(0));
  });
  return most;
}

void ModelWriter::writeHead(ModelText &out) {
  out.append(
      "/* The schedule of @" + reader.getKernel().getName().str() +
      ", made by tilews-translate --to=promela. docs/promela.md of tilews "
      "explains it.\n\n   spin -a model.pml && cc -O1 -DSAFETY "
      "-DVECTORSZ=16384 -o pan pan.c\n   ./pan -m1000000\n   spin -t -p "
      "model.pml      shows the "
      "run that breaks a rule */\n");
  out.append("\n/* Processes that run code of the kernel */\n");
  for (auto [i, thread] : llvm::enumerate(reader.getThreads()))
    out.line("#define " + thread.constant + " " + Twine(i));
  out.line("#define THREADS " + Twine(reader.getThreads().size()));
  out.append("\n/* Shared memory: a place for each version of a buffer, or for "
             "each part of one */\n");
  auto filled = findFilled(reader);
  for (const ModelBuffer &buffer : reader.getBuffers()) {
    out.comment(reader.getSource().getComment(buffer.op));
    out.line("#define " + buffer.name + " " + Twine(buffer.first));
    // A kernel that never fills a buffer must not read it at all.
    out.line("#define was_written_" + buffer.name + " (" +
             (filled.contains(&buffer) ? getWritten(buffer) : "true") + ")");
  }
  int64_t places = std::max<int64_t>(reader.getNumPlaces(), 1);
  out.line("#define PLACES " + Twine(places));
  int64_t queue = 2 * places + reader.getNumBarriers() + 12;
  out.line("#define QUEUE " + Twine(std::min<int64_t>(queue, 250)));
  if (reader.hasCopies())
    out.line("#define MOST_PENDING " +
             Twine(getMostPending(reader.getKernel())));
  out.append(getPrelude(reader));
  out.append(events->getRules());
  out.append(getMemoryPrelude(reader));
}

void ModelWriter::writeInit(ModelText &out) {
  out.append("\n/* Chooses the inputs, and runs the kernel. */\ninit {\n");
  ModelText body(1);
  body.line("own_variables;");
  for (const std::string &name : inputs.getNumbers())
    body.line("int " + name + ";");
  body.open("atomic {");
  events->initialize(body);
  checkMemory(reader, body);
  inputs.choose(body);
  body.line("run kernel(" + getList(kernelParameters) + ")");
  body.close("};");
  body.line("until(done);");
  events->writeFinalChecks(body);
  out.append(body.take());
  out.append("}\n");
}

FailureOr<std::string> ModelWriter::write() {
  // Inputs take their names first.
  reader.getKernel().walk([&](Block *block) {
    for (Value argument : block->getArguments())
      if (reader.isNeeded(argument))
        inputs.find(argument);
    for (Operation &op : *block)
      for (Value result : op.getResults())
        if (reader.isNeeded(result))
          inputs.find(result);
  });
  if (failed(writeThreads()) || failed(inputs.check()))
    return failure();
  ModelText out;
  writeHead(out);
  events->declareState(out);
  out.append("\n/* Inputs */\n");
  inputs.declare(out);
  out.append("\nbyte ended;\nbool done;\n");
  out.append(processes.take());
  events->writeAgents(out);
  writeInit(out);
  return out.take();
}

FailureOr<std::string> tilews::exportPromela(gpu::GPUFuncOp kernel,
                                             const PromelaOptions &options,
                                             const AsmParserState *source) {
  SourceText words(source);
  KernelReader reader(kernel, words);
  if (failed(reader.read()))
    return failure();
  return ModelWriter(reader, options).write();
}
