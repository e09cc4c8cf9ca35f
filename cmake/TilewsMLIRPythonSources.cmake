# Defines MLIR's MLIRPythonSources.* and MLIRPythonExtension.* targets, which
# Debian's packages lack: see mlir_python_targets.py.

set(_targets "${CMAKE_BINARY_DIR}/MLIRPythonTargets.cmake")
execute_process(
  COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_LIST_DIR}/mlir_python_targets.py" "${_targets}"
  RESULT_VARIABLE _failed ERROR_VARIABLE _error)
if(_failed)
  message(FATAL_ERROR "${_error}\n"
    "tilews needs MLIR's Python sources: ${Python3_EXECUTABLE} -m pip install xtc-mlir-dev==22.1.8.4")
endif()
include("${_targets}")
include(AddMLIRPython)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  "${CMAKE_CURRENT_LIST_DIR}/mlir_python.patch"
  "${CMAKE_CURRENT_LIST_DIR}/mlir_python_targets.py")

# Changed headers come before those of the installed MLIR.
include_directories(BEFORE "${CMAKE_BINARY_DIR}/mlir-python/include")
