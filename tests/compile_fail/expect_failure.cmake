# Compiles SOURCE without and with TULLE_BAD; needs COMPILER, SOURCE, CONCEPT and INCLUDES (a list of folders).
list(TRANSFORM INCLUDES PREPEND "-I")
set(compile "${COMPILER}" -std=c++20 -fsyntax-only ${INCLUDES})

execute_process(COMMAND ${compile} "${SOURCE}" RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${SOURCE} must compile without TULLE_BAD:\n${output}")
endif()

execute_process(COMMAND ${compile} -DTULLE_BAD "${SOURCE}"
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "${SOURCE} must not compile with TULLE_BAD")
endif()
# Clang says "because 'X' does not satisfy 'Concept'", GCC "required for the satisfaction of 'Concept<X>'".
if(NOT output MATCHES "[^A-Za-z_]${CONCEPT}[^A-Za-z_]")
  message(FATAL_ERROR "the compiler's message for ${SOURCE} does not name the concept ${CONCEPT}:\n${output}")
endif()
