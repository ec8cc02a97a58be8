# The exports of libcuda.so.1, generated from the toolkit's stub library and headers (see generate.py).
#   simgpu_driver_exports(target)  adds the weak stubs, the table of cuGetProcAddress and the export list to the target.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(NOT WEFT_STUB_CUDA)
  message(FATAL_ERROR "The toolkit's stub library (lib64/stubs/libcuda.so) is missing: the simulated driver takes its "
    "list of exports from there. Install the package cuda-driver-dev, or build without the simulated GPU: "
    "-DWEFT_BUILD_SIMULATOR=OFF.")
endif()
set(_symbols ${CMAKE_CURRENT_LIST_DIR})

function(simgpu_driver_exports target)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/symbols)
  set(generated ${output}/exports.map ${output}/not_supported.S ${output}/thunks.S ${output}/entry_table.cpp
    ${output}/entry_types.cpp)
  add_custom_command(OUTPUT ${generated}
    COMMAND Python3::Interpreter ${_symbols}/generate.py --nm ${CMAKE_NM} --library ${WEFT_STUB_CUDA}
      --include ${WEFT_CUDA_INCLUDE_DIR} --output ${output}
    COMMAND ${CMAKE_COMMAND} -E touch ${generated}
    DEPENDS ${_symbols}/generate.py ${WEFT_STUB_CUDA} ${WEFT_CUDA_INCLUDE_DIR}/cudaTypedefs.h
    COMMENT "Generating the entry points of the simulated driver" VERBATIM)
  target_sources(${target} PRIVATE ${generated} ${_symbols}/get_proc_address.cpp
    ${_symbols}/export_table.cpp)
  set_source_files_properties(${output}/not_supported.S ${output}/thunks.S PROPERTIES LANGUAGE ASM)
  target_link_options(${target} PRIVATE -Wl,-Bsymbolic -Wl,--version-script=${output}/exports.map)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${output}/exports.map)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME cuda SOVERSION 1 LIBRARY_OUTPUT_DIRECTORY ${SIMGPU_LIBRARY_DIR})
endfunction()
