# weft_add_host_kernels(<target> source...)
#
# A host-kernel library for the simulated GPU: what kernels do and cost there. -O3: the arithmetic must be done well within
# the kernels' modelled time.
function(weft_add_host_kernels target)
  add_library(${target} MODULE ${ARGN})
  target_link_libraries(${target} PRIVATE simgpu_headers weft_warnings)
  target_compile_options(${target} PRIVATE -O3)
  set_target_properties(${target} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${SIMGPU_LIBRARY_DIR})
endfunction()
