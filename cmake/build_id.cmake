# Target weft_build_id: the compile definition WEFT_BUILD_ID, equal in libweft.so and libweft-core.so of one build and
# different when the seam between them has changed. Both sides compare it before they exchange anything else.
set(_weft_build_hash "${PROJECT_VERSION}")
foreach(_weft_header shim/seam/core_interface.h shim/seam/ring.h detector/event.h detector/time.h)
  file(SHA256 ${CMAKE_SOURCE_DIR}/${_weft_header} _weft_header_hash)
  string(APPEND _weft_build_hash " ${_weft_header_hash}")
  set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${_weft_header})
endforeach()
string(SHA256 _weft_build_hash "${_weft_build_hash}")
string(SUBSTRING ${_weft_build_hash} 0 16 _weft_build_hash)
if(NOT TARGET weft_build_id)
  add_library(weft_build_id INTERFACE)
  target_compile_definitions(weft_build_id INTERFACE WEFT_BUILD_ID="${PROJECT_VERSION}-${_weft_build_hash}")
endif()
