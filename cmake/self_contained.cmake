# Target weft_self_contained: programs and libraries that link it bring their C++ runtime along, so that the files of one
# build run where only libc, the driver and NCCL are (scripts/gpu-bundle), on glibc 2.34 and newer. A sanitizer's runtime
# wants the shared one.
# Target weft_own_unwinder: of that only what reads stacks and throws.
add_library(weft_self_contained INTERFACE)
add_library(weft_own_unwinder INTERFACE)
target_link_libraries(weft_self_contained INTERFACE weft_own_unwinder)
if(NOT WEFT_SANITIZER)
  # Objects, not an archive: the linker looks into that before the runtime asks for what is in it.
  add_library(weft_older_glibc OBJECT ${CMAKE_CURRENT_LIST_DIR}/older_glibc.c)
  target_link_libraries(weft_older_glibc PRIVATE weft_warnings)
  target_compile_definitions(weft_own_unwinder INTERFACE WEFT_OWN_UNWINDER)
  target_sources(weft_own_unwinder INTERFACE $<TARGET_OBJECTS:weft_older_glibc>)
  target_link_options(weft_own_unwinder INTERFACE -static-libgcc -Wl,--exclude-libs,ALL)
  target_link_options(weft_self_contained INTERFACE -static-libstdc++)
endif()
