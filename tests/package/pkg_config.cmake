# Compiles and links generate.cpp with what PKG_CONFIG says of the copy installed with its .pc files in PC, runs it on MODEL,
# and checks that headers alone find what they include.
if(NOT PKG_CONFIG)
  message("skipped: this machine has no pkg-config")
  return()
endif()
set(ENV{PKG_CONFIG_PATH} "${PC}")
function(flags_of package result)
  execute_process(COMMAND "${PKG_CONFIG}" --cflags --libs ${package} OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  set(${result} ${flags} PARENT_SCOPE)
endfunction()
flags_of(tulle flags)
execute_process(COMMAND "${COMPILER}" -std=c++20 -fsyntax-only "${CMAKE_CURRENT_LIST_DIR}/headers.cpp" ${flags}
  COMMAND_ERROR_IS_FATAL ANY)
flags_of(tulle_compiled flags)
execute_process(COMMAND "${COMPILER}" -std=c++20 "${CMAKE_CURRENT_LIST_DIR}/generate.cpp" ${flags} -o "${OUTPUT}"
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${OUTPUT}" "${MODEL}" "Once upon a time" COMMAND_ERROR_IS_FATAL ANY)
