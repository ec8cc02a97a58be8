# WEFT_SANITIZER=address,undefined or thread instruments everything that is built, the host programs of nvcc included.
if(WEFT_SANITIZER)
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${WEFT_SANITIZER}>
                      $<$<COMPILE_LANGUAGE:C,CXX>:-fno-omit-frame-pointer>)
  add_link_options(-fsanitize=${WEFT_SANITIZER})
  if(WEFT_SANITIZER MATCHES "undefined")
    add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize-recover=undefined>)
  endif()
endif()
