# Target weft_manual: the man pages and the scripts for completion, which the command writes itself, in share/ of the
# build as when installed.
find_program(WEFT_GZIP gzip REQUIRED)
set(_manual ${CMAKE_BINARY_DIR}/share)
add_custom_command(OUTPUT ${_manual}/manual.stamp
  COMMAND ${CMAKE_COMMAND} -DWEFT=$<TARGET_FILE:weft> -DTO=${_manual} -DGZIP=${WEFT_GZIP}
    -P ${PROJECT_SOURCE_DIR}/cmake/write_manual.cmake
  DEPENDS weft ${PROJECT_SOURCE_DIR}/cmake/write_manual.cmake
  COMMENT "Writing the man pages" VERBATIM)
add_custom_target(weft_manual ALL DEPENDS ${_manual}/manual.stamp)
install(DIRECTORY ${_manual}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR})
install(FILES ${_manual}/completion/weft.bash RENAME weft DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${_manual}/completion/weft.zsh RENAME _weft DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${_manual}/completion/weft.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
