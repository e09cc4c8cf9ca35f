# Links MLIR, LLVM and lld statically, as the archives of Debian's packages.

find_library(TILEWS_LIBZ libz.a REQUIRED)
find_library(TILEWS_LIBZSTD libzstd.a REQUIRED)

# Debian's archives name the shared libMLIR and libLLVM as what they link to, and
# a process with two LLVMs dies at start. Cut these edges, take the archives of
# the compression libraries, and leave out what is optional.
foreach(_library IN LISTS MLIR_EXPORTED_TARGETS LLVM_AVAILABLE_LIBS)
  if(TARGET ${_library})
    get_target_property(_links ${_library} INTERFACE_LINK_LIBRARIES)
    if(_links)
      list(FILTER _links EXCLUDE REGEX
        "^(LLVM|MLIR)$|LINK_ONLY:(LLVM|MLIR)>|[Zz]3|[Ll]ib[Ee]dit|CURL|[Pp]olly|LLVMExtensions")
      list(TRANSFORM _links REPLACE "^ZLIB::ZLIB$" "${TILEWS_LIBZ}")
      list(TRANSFORM _links REPLACE "^zstd::.*" "${TILEWS_LIBZSTD}")
      set_property(TARGET ${_library} PROPERTY INTERFACE_LINK_LIBRARIES "${_links}")
    endif()
  endif()
endforeach()

# Everything that our InitAll registers, and the tools' libraries.
get_property(_mlir_libraries GLOBAL PROPERTY MLIR_DIALECT_LIBS)
foreach(_kind CONVERSION EXTENSION TRANSLATION)
  get_property(_libraries GLOBAL PROPERTY MLIR_${_kind}_LIBS)
  list(APPEND _mlir_libraries ${_libraries})
endforeach()
list(FILTER _mlir_libraries EXCLUDE REGEX "Test")
list(APPEND _mlir_libraries MLIRRegisterAllDialects MLIRRegisterAllPasses
  MLIRRegisterAllExtensions MLIROptLib MLIRTranslateLib MLIRReduceLib MLIRLspServerLib)

# What code generation for the two targets and lld need beyond what MLIR names.
set(_llvm_libraries LLVMPasses LLVMCodeGen LLVMAsmPrinter LLVMIRReader LLVMBitWriter
  LLVMNVPTXCodeGen LLVMNVPTXDesc LLVMNVPTXInfo
  LLVMAMDGPUCodeGen LLVMAMDGPUAsmParser LLVMAMDGPUDisassembler LLVMAMDGPUDesc LLVMAMDGPUInfo LLVMAMDGPUUtils
  LLVMLTO LLVMDTLTO LLVMOption LLVMSupportLSP LLVMWindowsDriver)

# The order does not matter: lld searches all archives for every symbol.
set(TILEWS_STATIC_LIBRARIES ${_lld} ${_mlir_libraries} ${_llvm_libraries})
set(_static "${CMAKE_CURRENT_LIST_DIR}/static")

# Python extensions carry LLVM's support library themselves, and with it the use
# of a symbol that GlibcCompat.cpp explains.
add_library(TilewsGlibcCompat STATIC "${_static}/GlibcCompat.cpp")
set(TILEWS_LLVM_SUPPORT LLVMSupport TilewsGlibcCompat)

function(tilews_link_mlir target)
  target_sources(${target} PRIVATE
    "${_static}/GlibcCompat.cpp" "${_static}/Stubs.cpp")
  target_link_libraries(${target} PRIVATE ${TILEWS_STATIC_LIBRARIES})
  target_link_options(${target} PRIVATE LINKER:--gc-sections
    "LINKER:--version-script=${_static}/exports.map")
endfunction()
