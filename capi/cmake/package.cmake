# tulle_capi.pc and the CMake package, for what is installed; and a second tulle_capi.pc for this build folder, with which
# the bindings find the library that was built here.
function(tulle_write_pc file includedir libdir)
  file(CONFIGURE OUTPUT "${file}" @ONLY CONTENT [[
prefix=${pcfiledir}/@pc_to_prefix@
includedir=@includedir@
libdir=@libdir@

Name: tulle_capi
Description: @PROJECT_DESCRIPTION@: the C ABI
Version: @PROJECT_VERSION@
Cflags: -I${includedir}
Libs: -L${libdir} -ltulle
Libs.private: @hub_libraries@-lstdc++ -lm -pthread
]])
endfunction()
set(hub_libraries "")
set(find_hub "")
if(TULLE_WITH_HUB AND TARGET tulle::hub)
  set(hub_libraries "-lssl -lcrypto ")
  set(find_hub "find_package(OpenSSL QUIET)  # of tulle::capi_static alone\n")
endif()
set(pc_to_prefix "..")
tulle_write_pc("${CMAKE_CURRENT_BINARY_DIR}/pkgconfig/tulle_capi.pc" "${CMAKE_CURRENT_SOURCE_DIR}/include"
  "${CMAKE_CURRENT_BINARY_DIR}")
if(NOT TULLE_INSTALL)
  return()
endif()

set(pc_folder "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH pc_to_prefix "/${pc_folder}" "/")
tulle_write_pc("${CMAKE_CURRENT_BINARY_DIR}/tulle_capi.pc" "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}"
  "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tulle_capi.pc" DESTINATION "${pc_folder}" COMPONENT capi)

# Of all that is in the library.
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT capi)
foreach(part . third_party/absl third_party/darts_clone third_party/protobuf-lite)
  if(TARGET tulle_sentencepiece_static)
    install(FILES "${TULLE_DEPS}/src/sentencepiece/${part}/LICENSE" COMPONENT capi
      DESTINATION "${CMAKE_INSTALL_DOCDIR}/sentencepiece/${part}")
  endif()
endforeach()

if(TARGET tulle_xgrammar)
  tulle_install_xgrammar_licenses(COMPONENT capi)
endif()

set(package "${CMAKE_INSTALL_LIBDIR}/cmake/tulle_capi")
install(TARGETS tulle_capi tulle_capi_static EXPORT tulle_capi
  LIBRARY COMPONENT capi NAMELINK_COMPONENT capi ARCHIVE COMPONENT capi)
install(FILES "${CMAKE_CURRENT_SOURCE_DIR}/include/tulle.h" "${CMAKE_CURRENT_SOURCE_DIR}/include/tulle_experimental.h"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT capi)
install(EXPORT tulle_capi NAMESPACE tulle:: DESTINATION "${package}" FILE tulle_capi-targets.cmake COMPONENT capi)
file(CONFIGURE OUTPUT tulle_capi-config.cmake @ONLY CONTENT [[
include(CMakeFindDependencyMacro)
find_dependency(Threads)
@find_hub@include("${CMAKE_CURRENT_LIST_DIR}/tulle_capi-targets.cmake")
]])
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/tulle_capi-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tulle_capi-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/tulle_capi-config-version.cmake" DESTINATION "${package}" COMPONENT capi)
