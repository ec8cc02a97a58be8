# The Debian package, made by cpack from what is installed with prefix /usr. scripts/package configures, builds and checks
# it. Times are those of the commit (SOURCE_DATE_EPOCH), so two builds are equal.
set(WEFT_MAINTAINER "Weft contributors <contributors@weft.invalid>" CACHE STRING "Maintainer of the package, with an address")
set(_doc ${CMAKE_CURRENT_BINARY_DIR}/deb)
set(_deb ${CMAKE_CURRENT_LIST_DIR})
string(TIMESTAMP _date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # of SOURCE_DATE_EPOCH, where it is set
configure_file(${_deb}/changelog.Debian.in ${_doc}/changelog.Debian @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/CHANGELOG.md ${_doc}/changelog COPYONLY)
foreach(_file changelog changelog.Debian)
  execute_process(COMMAND ${WEFT_GZIP} -9nf ${_doc}/${_file} COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${_doc}/${_file}.gz DESTINATION ${CMAKE_INSTALL_DOCDIR})
endforeach()
install(FILES ${_deb}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${_deb}/lintian-overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME weft)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME weft)
set(CPACK_PACKAGE_VENDOR Weft)
set(CPACK_PACKAGE_CONTACT "${WEFT_MAINTAINER}")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Fill jobs are linked with the CUDA runtime, which a training brings along: no package that this one depends on.
if(WEFT_REAL_CUDART)
  cmake_path(GET WEFT_REAL_CUDART PARENT_PATH CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS)
endif()
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "finds and fills the bubbles of pipeline-parallel training")
set(CPACK_PACKAGE_DESCRIPTION "Weft is preloaded into an unmodified training program. It finds the time in
which a GPU waits for other stages of the pipeline, says where it is lost and
why, and runs slices of another job in it, within a memory cap and a slowdown
budget.")
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
include(CPack)
