# The script of weft_embed_text (embedded_text.cmake): cmake -DNAME=... "-DFROM=a|b" -DTO=... -P embed_text.cmake
# A raw string is written for each file, as compilers have a limit for the length of one.
string(REPLACE "|" ";" _files "${FROM}")
file(WRITE ${TO} "#include <string_view>\n\nnamespace weft::cli {\nextern const std::string_view ${NAME};\n"
  "const std::string_view ${NAME} =")
foreach(_file ${_files})
  file(READ ${_file} _text)
  if(_file MATCHES "\\.js$")
    string(REGEX REPLACE "(^|\n) *//[^\n]*" "" _text "${_text}")  # comments are for who changes it
  endif()
  file(APPEND ${TO} "\n    R\"embedded(${_text})embedded\"")
endforeach()
file(APPEND ${TO} ";\n}  // namespace weft::cli\n")
