# Target weft_self_contained: programs and libraries that link it bring their C++ runtime along, so that the files of one
# build run where only libc, the driver and NCCL are (scripts/gpu-bundle). A sanitizer's runtime wants the shared one.
add_library(weft_self_contained INTERFACE)
if(NOT WEFT_SANITIZER)
  target_link_options(weft_self_contained INTERFACE -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL)
endif()
