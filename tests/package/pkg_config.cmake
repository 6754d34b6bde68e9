# Compiles generate.cpp with what PKG_CONFIG says of the copy installed with its .pc file in PC, and runs it on MODEL.
# Packages unpacked into a prefix of their own keep .pc files that say /usr: DEPENDENCIES names that prefix for the compiler.
if(NOT PKG_CONFIG)
  message("skipped: this machine has no pkg-config")
  return()
endif()
set(ENV{PKG_CONFIG_PATH} "${PC}")
if(DEPENDENCIES)
  file(GLOB folders "${DEPENDENCIES}/share/pkgconfig" "${DEPENDENCIES}/lib/*/pkgconfig")
  list(PREPEND folders "${PC}")
  list(JOIN folders ":" folders)
  set(ENV{PKG_CONFIG_PATH} "${folders}")
  set(ENV{CPLUS_INCLUDE_PATH} "${DEPENDENCIES}/include")
endif()
execute_process(COMMAND "${PKG_CONFIG}" --cflags --libs tulle OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
execute_process(COMMAND "${COMPILER}" -std=c++20 "${CMAKE_CURRENT_LIST_DIR}/generate.cpp" ${flags} -o "${OUTPUT}"
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${OUTPUT}" "${MODEL}" "Once upon a time" COMMAND_ERROR_IS_FATAL ANY)
