# WEFT_SANITIZER=address,undefined or thread instruments everything that is built, the host programs of nvcc included.
if(WEFT_SANITIZER)
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${WEFT_SANITIZER}>
                      $<$<COMPILE_LANGUAGE:C,CXX>:-fno-omit-frame-pointer>)
  # gcc 12 sees uninitialised values in the standard library's regular expressions when it instruments them.
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${WEFT_SANITIZER})
  if(WEFT_SANITIZER MATCHES "undefined")
    add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize-recover=undefined>)
  endif()
endif()
