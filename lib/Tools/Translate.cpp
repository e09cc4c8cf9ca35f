//===- Translate.cpp - From a kernel in any phase to an object ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tilews-translate: compiles the gpu.module of a file to device code or to its
// launch manifest. The options are read into a `Request` before anything runs,
// because lld, which runs in this process, resets all command line options of
// LLVM. With --save-temps every intermediate form is written, named after the
// input:
//
//   gemm.mlir -> gemm.tile.mlir, gemm.target.mlir, gemm.ll, gemm.ptx
//
// A model in Promela is made from the kernel as it is, without compiling it.
//
//===----------------------------------------------------------------------===//

#include "tilews-c/Tools.h"
#include "tilews/InitAll.h"
#include "tilews/Support/Files.h"
#include "tilews/Support/SourceFiles.h"
#include "tilews/Target/Compile.h"
#include "tilews/Target/Promela.h"
#include "tilews/Version.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tilews;
namespace cl = llvm::cl;

namespace {
enum class Format {
  MLIR,
  LLVM,
  PTX,
  Cubin,
  Asm,
  Object,
  HSACO,
  Manifest,
  Promela
};

/// The values of the command line options.
struct Request {
  std::string input, output, chip, kernel, saveTemps;
  Format format;
  unsigned indexBitwidth;
  bool lineInfo;
  std::optional<int64_t> bound;
  std::vector<std::string> values;
};

struct Options {
  cl::OptionCategory category{"tilews-translate options"};
  cl::opt<std::string> input{cl::Positional, cl::desc("<input file>"),
                             cl::init("-"), cl::cat(category)};
  cl::opt<std::string> output{"o", cl::desc("Output file (default: stdout)"),
                              cl::value_desc("file"), cl::init("-"),
                              cl::cat(category)};
  cl::opt<Format> format{
      "to", cl::desc("What to make"), cl::Required, cl::cat(category),
      cl::values(
          clEnumValN(Format::MLIR, "mlir", "LLVM dialect"),
          clEnumValN(Format::LLVM, "llvm", "optimized LLVM IR"),
          clEnumValN(Format::PTX, "ptx", "NVIDIA: PTX"),
          clEnumValN(Format::Cubin, "cubin", "NVIDIA: cubin, by ptxas"),
          clEnumValN(Format::Asm, "asm", "assembly: PTX or GCN"),
          clEnumValN(Format::Object, "object", "AMD: relocatable object"),
          clEnumValN(Format::HSACO, "hsaco", "AMD: loadable code object"),
          clEnumValN(Format::Manifest, "manifest", "launch manifest (JSON)"),
          clEnumValN(Format::Promela, "promela",
                     "the schedule as a model for Spin"))};
  cl::opt<std::string> chip{
      "chip", cl::value_desc("name"), cl::cat(category),
      cl::desc("Chip, such as sm_90a or gfx942 (default: the gpu.module's)")};
  cl::opt<std::string> kernel{
      "kernel", cl::value_desc("name"), cl::cat(category),
      cl::desc("Kernel of the manifest or model (default: the only one)")};
  cl::opt<unsigned> indexBitwidth{
      "index-bitwidth", cl::init(32), cl::cat(category),
      cl::desc("Width of index arithmetic, 32 (default) or 64; 64 is needed "
               "for buffers of 2^31 elements and more")};
  cl::opt<bool> lineInfo{
      "line-info", cl::init(true), cl::cat(category),
      cl::desc("Keep the lines of the source in device code (default: true)")};
  cl::opt<std::string> saveTemps{
      "save-temps", cl::value_desc("directory"), cl::cat(category),
      cl::desc("Also write every intermediate form into this directory")};
  cl::list<std::string> values{
      "value", cl::value_desc("name=number"), cl::cat(category),
      cl::desc("promela: the value of an argument, of an extent such as A_0 or "
               "a name of tile.symbols, of grid_x or block_x; for elements "
               "of memory several, name=1:0:1. Others are chosen")};
  cl::opt<int64_t> bound{
      "bound", cl::value_desc("number"), cl::init(-1), cl::cat(category),
      cl::desc("promela: the largest number that is chosen, and of tiles "
               "in an extent (default: twice the slots of a channel, plus 1)")};

  /// Copies the values, because lld resets every cl::opt when it runs.
  Request get() const {
    Request request{input,         output,
                    chip,          kernel,
                    saveTemps,     format,
                    indexBitwidth, lineInfo,
                    std::nullopt,  {values.begin(), values.end()}};
    if (bound.getNumOccurrences())
      request.bound = bound;
    return request;
  }
};
} // namespace

/// Fails if the requested format does not exist for the target.
static LogicalResult checkFormat(Format format, const TargetInfo &target) {
  bool needsNVIDIA = format == Format::PTX || format == Format::Cubin;
  bool needsAMD = format == Format::Object || format == Format::HSACO;
  if ((needsNVIDIA && !target.isNVIDIA()) || (needsAMD && !target.isAMD())) {
    llvm::errs() << "error: " << target.chip << " is "
                 << (target.isAMD() ? "an AMD" : "an NVIDIA")
                 << " chip; it takes --to="
                 << (target.isAMD() ? "asm, object or hsaco" : "ptx or cubin")
                 << "\n";
    return failure();
  }
  return success();
}

static FailureOr<std::string> makeOutput(Compilation &compilation,
                                         const Request &request) {
  switch (request.format) {
  case Format::MLIR:
    return compilation.print("target");
  case Format::LLVM:
    return compilation.get(Output::LLVM);
  case Format::PTX:
  case Format::Asm:
    return compilation.get(Output::Assembly);
  case Format::Object:
    return compilation.get(Output::Object);
  case Format::Cubin:
  case Format::HSACO:
    return compilation.get(Output::Binary);
  case Format::Manifest:
    return compilation.getManifest(request.kernel);
  case Format::Promela:
    break; // needs no compilation
  }
  llvm_unreachable("unknown format");
}

static LogicalResult write(StringRef path, StringRef content) {
  if (llvm::Error error = writeFile(path, content)) {
    llvm::errs() << "error: cannot write " << toString(std::move(error))
                 << "\n";
    return failure();
  }
  return success();
}

/// Writes the intermediate forms of the requested output.
static LogicalResult saveTemps(Compilation &compilation,
                               const Request &request) {
  if (std::error_code error =
          llvm::sys::fs::create_directories(request.saveTemps)) {
    llvm::errs() << "error: cannot create " << request.saveTemps << ": "
                 << error.message() << "\n";
    return failure();
  }
  bool nvidia = compilation.getTarget().isNVIDIA();
  SmallVector<std::pair<Output, StringRef>> forms = {
      {Output::LLVM, ".ll"}, {Output::Assembly, nvidia ? ".ptx" : ".s"}};
  bool binary = request.format == Format::Cubin ||
                request.format == Format::HSACO ||
                request.format == Format::Manifest;
  if (!nvidia && (binary || request.format == Format::Object))
    forms.push_back({Output::Object, ".o"});
  StringRef stem = request.input == "-" ? StringRef("stdin")
                                        : llvm::sys::path::stem(request.input);
  auto save = [&](FailureOr<std::string> content, const Twine &extension) {
    SmallString<128> path(request.saveTemps);
    llvm::sys::path::append(path, stem + extension);
    return success(succeeded(content) && succeeded(write(path, *content)));
  };
  for (StringRef phase : {"tile", "target"})
    if (failed(save(compilation.print(phase), "." + phase + ".mlir")))
      return failure();
  for (auto [form, extension] : forms)
    if (failed(save(compilation.get(form), extension)))
      return failure();
  return success();
}

/// Reads "name=1:0:1" into `options`.
static LogicalResult addValue(StringRef text, PromelaOptions &options) {
  auto [name, numbers] = text.split('=');
  std::vector<int64_t> values;
  bool isRead = !name.empty() && !numbers.empty();
  for (StringRef number : llvm::split(numbers, ':'))
    isRead &= !number.getAsInteger(10, values.emplace_back());
  if (!isRead) {
    llvm::errs() << "error: --value expects name=number, found " << text
                 << "\n";
    return failure();
  }
  options.values[name.str()] = std::move(values);
  return success();
}

/// Finds the kernel that the request names, or the only one.
static FailureOr<gpu::GPUFuncOp> findKernel(Block &file, StringRef name) {
  SmallVector<gpu::GPUFuncOp> kernels;
  std::string names;
  for (Operation &op : file)
    op.walk([&](gpu::GPUFuncOp func) {
      if (!func.isKernel())
        return;
      names += (names.empty() ? "" : ", ") + func.getName().str();
      if (name.empty() || func.getName() == name)
        kernels.push_back(func);
    });
  if (kernels.size() == 1)
    return kernels.front();
  llvm::errs() << "error: expected one kernel"
               << (name.empty() ? "" : " of the name given by --kernel")
               << (kernels.empty() ? "" : "; choose one by --kernel")
               << ", found " << (names.empty() ? "none" : names) << "\n";
  return failure();
}

/// Writes the model of a kernel as it is in the file, with its names.
static LogicalResult writePromela(const std::shared_ptr<llvm::SourceMgr> &file,
                                  MLIRContext &context,
                                  const Request &request) {
  PromelaOptions options;
  options.bound = request.bound;
  if (options.bound && (*options.bound < 0 || *options.bound > 100)) {
    llvm::errs() << "error: --bound expects 0 to 100, found " << *options.bound
                 << "\n";
    return failure();
  }
  for (const std::string &value : request.values)
    if (failed(addValue(value, options)))
      return failure();
  Block block;
  AsmParserState names;
  ParserConfig config(&context);
  // Bytecode has no names.
  bool isText = !isBytecode(*file->getMemoryBuffer(file->getMainFileID()));
  if (failed(isText ? parseAsmSourceFile(*file, &block, config, &names)
                    : parseSourceFile(file, &block, config)))
    return failure();
  FailureOr<gpu::GPUFuncOp> kernel = findKernel(block, request.kernel);
  if (failed(kernel))
    return failure();
  FailureOr<std::string> model =
      exportPromela(*kernel, options, isText ? &names : nullptr);
  return failed(model) ? failure() : write(request.output, *model);
}

static LogicalResult translate(const Request &request) {
  if (request.indexBitwidth != 32 && request.indexBitwidth != 64) {
    llvm::errs() << "error: --index-bitwidth expects 32 or 64, found "
                 << request.indexBitwidth << "\n";
    return failure();
  }
  DialectRegistry registry;
  registerAllDialects(registry);
  std::unique_ptr<llvm::MemoryBuffer> file =
      readSource(request.input, registry);
  if (!file)
    return failure();
  registerAllPasses();
  MLIRContext context(registry);
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(*sources, &context);
  context.printOpOnDiagnostic(false);
  if (request.format == Format::Promela)
    return writePromela(sources, context, request);

  auto module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return failure();
  auto compilation =
      Compilation::create(*module, {request.chip, request.indexBitwidth,
                                    /*tilePasses=*/"", request.lineInfo,
                                    /*toolDirectories=*/{}});
  if (failed(compilation) ||
      failed(checkFormat(request.format, (*compilation)->getTarget())))
    return failure();
  if (!request.saveTemps.empty() && failed(saveTemps(**compilation, request)))
    return failure();
  FailureOr<std::string> output = makeOutput(**compilation, request);
  if (failed(output))
    return failure();
  return write(request.output, *output);
}

int tilewsTranslateMain(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  ignoreFileSizeSignal();
  Options options;
  cl::HideUnrelatedOptions(options.category);
  cl::SetVersionPrinter(
      [](llvm::raw_ostream &os) { os << "tilews " TILEWS_VERSION "\n"; });
  cl::ParseCommandLineOptions(
      argc, argv,
      "Compiles the gpu.module of an .mlir file, in any phase, to device "
      "code.\n\n"
      "  tilews-translate gemm.mlir --chip=sm_90a --to=cubin -o gemm.cubin\n"
      "  tilews-opt ... | tilews-translate --to=ptx\n\n"
      "With --to=promela it writes the schedule of a kernel, as it is in the "
      "file, as a model for Spin (docs/promela.md).\n\n"
      "  tilews-translate scheduled.mlir --to=promela --value n=3 -o n.pml\n");
  return failed(translate(options.get()));
}
