# Packages have code of other projects linked in, whose licences want to be passed on: those texts, as the distribution
# has them, in one file beside the dashboard.
set(_notices ${CMAKE_BINARY_DIR}/third-party-notices.txt)
file(WRITE ${_notices} "Weft is under the Apache License 2.0. Its programs and libraries have code of these projects in them.\n")
foreach(_package libspdlog-dev libfmt-dev libtomlplusplus-dev libcli11-dev nlohmann-json3-dev libprotozero-dev
        libncurses-dev libxxhash-dev libhiredis-dev libpng-dev zlib1g-dev libjpeg62-turbo-dev libstdc++-12-dev)
  set(_text /usr/share/doc/${_package}/copyright)
  if(NOT EXISTS ${_text})
    message(WARNING "The licence of ${_package} is not in the package: there is no ${_text}.")
    continue()
  endif()
  file(READ ${_text} _licence)
  file(APPEND ${_notices} "\n\n======== ${_package}\n\n${_licence}")
endforeach()
install(FILES ${_notices} DESTINATION ${CMAKE_INSTALL_DATADIR}/weft)
