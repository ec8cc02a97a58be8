# Target weft_build_id: the compile definition WEFT_BUILD_ID, equal in libweft.so and libweft-core.so of one build and
# different when the seam between them has changed. Both sides compare it before they exchange anything else.
file(SHA256 ${CMAKE_SOURCE_DIR}/shim/core_interface.h _weft_interface_hash)
file(SHA256 ${CMAKE_SOURCE_DIR}/detector/event.h _weft_event_hash)
file(SHA256 ${CMAKE_SOURCE_DIR}/shim/ring.h _weft_ring_hash)
string(SHA256 _weft_build_hash "${PROJECT_VERSION} ${_weft_interface_hash} ${_weft_event_hash} ${_weft_ring_hash}")
string(SUBSTRING ${_weft_build_hash} 0 16 _weft_build_hash)
set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/shim/core_interface.h ${CMAKE_SOURCE_DIR}/shim/ring.h ${CMAKE_SOURCE_DIR}/detector/event.h)
if(NOT TARGET weft_build_id)
  add_library(weft_build_id INTERFACE)
  target_compile_definitions(weft_build_id INTERFACE WEFT_BUILD_ID="${PROJECT_VERSION}-${_weft_build_hash}")
endif()
