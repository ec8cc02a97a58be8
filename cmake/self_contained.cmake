# Target weft_self_contained: programs and libraries that link it bring their C++ runtime along, so that the files of one
# build run where only libc, the driver and NCCL are (scripts/gpu-bundle), on glibc 2.34 and newer. A sanitizer's runtime
# wants the shared one.
add_library(weft_self_contained INTERFACE)
if(NOT WEFT_SANITIZER)
  # Objects, not an archive: the linker looks into that before the runtime asks for what is in it.
  add_library(weft_older_glibc OBJECT ${CMAKE_CURRENT_LIST_DIR}/older_glibc.c)
  target_link_libraries(weft_older_glibc PRIVATE weft_warnings)
  target_compile_definitions(weft_self_contained INTERFACE WEFT_SELF_CONTAINED)
  target_sources(weft_self_contained INTERFACE $<TARGET_OBJECTS:weft_older_glibc>)
  target_link_options(weft_self_contained INTERFACE -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL)
endif()
