# weft_embed_text(TARGET NAME FILE...): the text of the files, one behind the other, as NAME, a std::string_view of the
# namespace weft::cli, in a source that is written at build time. CMake itself writes it, so nothing else has to be
# installed.
function(weft_embed_text target name)
  set(_files "")
  foreach(_file ${ARGN})
    cmake_path(ABSOLUTE_PATH _file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND _files ${_file})
  endforeach()
  set(_source ${CMAKE_CURRENT_BINARY_DIR}/embedded_${name}.cpp)
  set(_script ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake)
  list(JOIN _files "|" _joined)
  add_custom_command(OUTPUT ${_source}
    COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DFROM=${_joined} -DTO=${_source} -P ${_script}
    DEPENDS ${_files} ${_script}
    VERBATIM)
  target_sources(${target} PRIVATE ${_source})
endfunction()
