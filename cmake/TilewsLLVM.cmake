# Finds MLIR, LLVM, lld, Python and nanobind, and sets the compile flags that
# code linked with them needs.

set(_llvm_major 22)
set(_llvm_packages
  "llvm-22-dev libmlir-22-dev mlir-22-tools lld-22 liblld-22-dev libzstd-dev zlib1g-dev")

# Find MLIR's package directory by its file, not with find_package: a Python
# build environment puts its own, tool-less MLIR on CMAKE_PREFIX_PATH, and the
# error messages of a half-installed MLIR are many and do not say what to do.
find_path(MLIR_DIR MLIRConfig.cmake NO_DEFAULT_PATH
  PATHS /usr/lib/llvm-${_llvm_major}/lib/cmake/mlir
  DOC "The directory of MLIRConfig.cmake")
if(MLIR_DIR)
  get_filename_component(_llvm_prefix "${MLIR_DIR}/../../.." ABSOLUTE)
endif()
find_path(TILEWS_ZSTD zstd.h)
find_path(TILEWS_ZLIB zlib.h)
foreach(_needed "${MLIR_DIR}/MLIRConfig.cmake"
    "${_llvm_prefix}/lib/cmake/llvm/LLVMConfig.cmake"
    "${_llvm_prefix}/bin/mlir-tblgen" "${_llvm_prefix}/lib/liblldELF.a"
    "${TILEWS_ZSTD}/zstd.h" "${TILEWS_ZLIB}/zlib.h")
  if(NOT EXISTS "${_needed}")
    list(APPEND _missing "${_needed}")
  endif()
endforeach()
if(NOT _missing)
  file(STRINGS "${_llvm_prefix}/lib/cmake/llvm/LLVMConfigVersion.cmake" _version
    REGEX "PACKAGE_VERSION \"${_llvm_major}\\.")
endif()
if(_missing OR NOT _version)
  list(JOIN _missing "\n  " _missing)
  message(FATAL_ERROR
    "tilews needs MLIR and LLVM ${_llvm_major} (MLIR_DIR is '${MLIR_DIR}').\n"
    "Not found, or of another version:\n  ${_missing}\n"
    "On Debian: apt-get install ${_llvm_packages}\n"
    "Elsewhere: -DMLIR_DIR=<prefix>/lib/cmake/mlir")
endif()
find_package(MLIR CONFIG REQUIRED)
message(STATUS "MLIR ${LLVM_PACKAGE_VERSION} in ${_llvm_prefix}")

list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include(MLIRDetectPythonEnv)
mlir_configure_python_dev_packages()

# The linker of the same release; its usual name is not on a Debian PATH.
if(EXISTS "${LLVM_TOOLS_BINARY_DIR}/ld.lld")
  add_link_options("-B${LLVM_TOOLS_BINARY_DIR}" -fuse-ld=lld)
endif()

# HandleLLVMOptions drops NDEBUG for this. Debian's LLVM is a release build, so
# assertions inside libLLVM and libMLIR stay off.
if(TILEWS_ASSERTIONS)
  set(LLVM_ENABLE_ASSERTIONS ON)
endif()
include(HandleLLVMOptions)
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
# HandleLLVMOptions sets this one as well, to another value.
list(FILTER _definitions EXCLUDE REGEX "GLIBCXX_USE_CXX11_ABI|GLIBCXX_ASSERTIONS")
add_definitions(${_definitions})
if(NOT LLVM_ENABLE_RTTI)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
endif()
