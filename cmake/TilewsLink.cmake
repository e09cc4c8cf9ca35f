# How libTilewsCore.so gets MLIR, LLVM and lld: see TILEWS_LINK.

# The runtime of the sanitizers is a library, which Python can preload.
if(LLVM_USE_SANITIZER)
  add_link_options(-shared-libasan)
  execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-runtime-dir
    OUTPUT_VARIABLE TILEWS_RUNTIME_DIR OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()

# Every library and tool of the package finds its neighbours from its own place,
# in the build tree and installed alike; with dylib, LLVM's where it was found.
function(tilews_set_rpath target)
  set(_rpath ${ARGN} ${TILEWS_RUNTIME_DIR})
  if(TILEWS_LINK STREQUAL "dylib")
    list(APPEND _rpath "${LLVM_LIBRARY_DIR}")
  endif()
  set_target_properties(${target} PROPERTIES
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "${_rpath}")
endfunction()

# lld runs inside our process to link AMD code objects.
set(_lld "${LLVM_LIBRARY_DIR}/liblldELF.a" "${LLVM_LIBRARY_DIR}/liblldCommon.a")

if(TILEWS_LINK STREQUAL "dylib")
  function(tilews_link_mlir target)
    target_link_libraries(${target} PRIVATE ${_lld} MLIR LLVM z zstd)
    target_link_options(${target} PRIVATE LINKER:--as-needed)
  endfunction()
  # What a Python extension takes for its uses of LLVM's support library.
  set(TILEWS_LLVM_SUPPORT LLVM)
else()
  include(TilewsStaticLink)
endif()

# Adds MLIR's C interface to a library, to be used through it. It goes by file:
# as a target each library would bring a static MLIR along.
function(tilews_embed_c_interface target)
  foreach(_library IN LISTS ARGN)
    target_link_libraries(${target} PRIVATE
      "$<LINK_LIBRARY:WHOLE_ARCHIVE,$<TARGET_FILE:${_library}>>")
  endforeach()
endfunction()
