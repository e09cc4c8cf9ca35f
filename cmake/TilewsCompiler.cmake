# Included before project(): defaults that a user's own choice overrides.

# Clang with a precompiled header builds several times faster than GCC here.
if(NOT CMAKE_CXX_COMPILER AND NOT DEFINED ENV{CXX})
  find_program(TILEWS_CLANGXX clang++-22 HINTS /usr/lib/llvm-22/bin)
  find_program(TILEWS_CLANG clang-22 HINTS /usr/lib/llvm-22/bin)
  if(TILEWS_CLANGXX AND TILEWS_CLANG)
    set(CMAKE_C_COMPILER "${TILEWS_CLANG}")
    set(CMAKE_CXX_COMPILER "${TILEWS_CLANGXX}")
  endif()
endif()

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "")
endif()

# ccache sees through a precompiled header only when told what to ignore.
find_program(TILEWS_CCACHE ccache)
if(TILEWS_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    "${TILEWS_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${CMAKE_CXX_COMPILER_LAUNCHER}")
endif()
