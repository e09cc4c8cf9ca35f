"""How lit runs the .mlir tests, against the build in TILEWS_BUILD_DIR."""

import os
import shutil

import lit.formats

config.name = "tilews"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".edits"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)

build = os.environ.get(
    "TILEWS_BUILD_DIR", os.path.join(config.test_source_root, "../../build/dev")
)
site_config = os.path.join(build, "test/lit/lit.site.cfg.py")
if not os.path.exists(site_config):
    lit_config.fatal(f"no build of tilews in {build}: set TILEWS_BUILD_DIR")
lit_config.load_config(config, site_config)

path = [config.tilews_tools_dir, config.llvm_tools_dir, config.environment["PATH"]]
config.environment["PATH"] = os.pathsep.join(path)
config.environment["PYTHONPATH"] = config.tilews_python_path
if config.sanitizer:
    # Inline code of LLVM's headers poisons memory here. libLLVM, which is compiled
    # without the sanitizer, then uses that memory.
    config.environment["ASAN_OPTIONS"] = "allow_user_poisoning=0"

python = config.python_executable
if runtime := os.environ.get("TILEWS_SANITIZER_RUNTIME"):
    # Python has no sanitizer, and does not free all it has.
    options = "ASAN_OPTIONS=detect_leaks=0:allow_user_poisoning=0"
    python = f"env LD_PRELOAD={runtime} {options} {python}"
config.substitutions.append(("%python", python))
# `%edited` prints the kernels of an `.edits` file.
edited = os.path.join(config.test_source_root, "../python/support/edited_kernels.py")
config.substitutions.append(("%edited", f"{python} {edited}"))
if not os.path.exists(os.path.join(config.llvm_tools_dir, "FileCheck")):
    filecheck = f"{config.python_executable} -m filecheck"
    config.substitutions.append((r"\bFileCheck\b", filecheck))

# `REQUIRES: test-passes` skips a test where tilews-opt lacks the passes of test/lib.
if config.test_passes == "ON":
    config.available_features.add("test-passes")
# `REQUIRES: ptxas` skips a test where CUDA's assembler is missing.
if shutil.which("ptxas", path=config.environment["PATH"]):
    config.available_features.add("ptxas")

# `REQUIRES: assertions` skips a test of debug output in builds without it.
if config.assertions == "ON":
    config.available_features.add("assertions")
