# Installs the C ABI of BUILD alone into PREFIX; the package is then used from there by CMake, and by PKG_CONFIG and COMPILER,
# which compile EXAMPLE and run it on MODEL.
set(COMPONENT capi)
include("${CMAKE_CURRENT_LIST_DIR}/../../tests/package/install.cmake")

file(REMOVE_RECURSE "${WORK}")
set(ENV{CMAKE_PREFIX_PATH} "${PREFIX}")
execute_process(COMMAND "${CMAKE_CTEST_COMMAND}" --build-and-test "${CMAKE_CURRENT_LIST_DIR}/package" "${WORK}"
  --build-generator Ninja --build-options "-DTULLE_GOLDEN=${GOLDEN}" --test-command "${CMAKE_CTEST_COMMAND}" --output-on-failure
  COMMAND_ERROR_IS_FATAL ANY)

if(NOT PKG_CONFIG)
  message("skipped: this machine has no pkg-config")
  return()
endif()
set(ENV{PKG_CONFIG_PATH} "${PREFIX}/${LIBDIR}/pkgconfig")
set(ENV{LD_LIBRARY_PATH} "${PREFIX}/${LIBDIR}")
execute_process(COMMAND "${PKG_CONFIG}" --cflags --libs tulle_capi OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
execute_process(COMMAND "${COMPILER}" -std=c99 "${EXAMPLE}" ${flags} -o "${WORK}/example" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${WORK}/example" "${MODEL}" "Once upon a time" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
