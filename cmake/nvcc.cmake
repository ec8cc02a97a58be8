# weft_add_cuda_program, weft_add_cuda_module, weft_add_cuda_library: programs and shared objects with CUDA sources.
#
#   weft_add_cuda_program(<target> SOURCES a.cu b.cpp ... [LIBRARIES ...] [DEFINITIONS ...] [ARCHITECTURES 80 90] [FLAGS ...])
#   weft_add_cuda_module(<target> ...same...)
#   weft_add_cuda_library(<target> ...same...)     a shared object that programs link against
#
# nvcc compiles the .cu files only; the host compiler compiles the rest and links, against the shared CUDA runtime, so that
# one binary runs on hardware and on the simulated GPU. FLAGS go to nvcc. Include directories and definitions of the target
# and of its LIBRARIES reach nvcc too. CMake's own CUDA language is not used: it wants a linkable libcuda and runs programs.
# WEFT_NVCC is false where there is no nvcc; callers ask before they call.
include_guard(GLOBAL)
find_program(WEFT_NVCC nvcc HINTS ${WEFT_CUDA_ROOT} ENV CUDA_HOME ENV CUDA_PATH PATH_SUFFIXES bin)
if(NOT WEFT_NVCC)
  message(STATUS "nvcc is missing: the parts written in CUDA are not built. Install the CUDA toolkit, or set CUDA_HOME.")
endif()

# One object file from one .cu file; its path is left in ${object}.
function(_weft_compile_cuda target source architectures flags object)
  get_filename_component(source_path ${source} ABSOLUTE)
  string(MAKE_C_IDENTIFIER ${source} stem)
  # Relative to the build folder: nvcc does not escape a blank in the target's name when it writes dependencies.
  set(output ${target}.nvcc/${stem}.o)
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${target}.nvcc)

  set(code "")
  foreach(architecture ${architectures})
    list(APPEND code -gencode arch=compute_${architecture},code=sm_${architecture})
    set(newest ${architecture})
  endforeach()
  list(APPEND code -gencode arch=compute_${newest},code=compute_${newest})

  # -Wpedantic and -Wshadow are left out: the code that nvcc generates around the sources does not keep to them.
  set(host_flags -Xcompiler=-fPIC -Xcompiler=-fvisibility=hidden -Xcompiler=-Wall -Xcompiler=-Wextra -Xcompiler=-Werror)
  # nvcc takes its system headers' text apart, so clang blames us for the functions that cuda_fp16.hpp does not use.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    list(APPEND host_flags -Xcompiler=-Wno-unused-function)
  endif()
  if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    list(APPEND host_flags -O0 -g)
  elseif(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
    list(APPEND host_flags -O2 -g)
  else()
    list(APPEND host_flags -O2)
  endif()
  if(WEFT_SANITIZER)
    string(REPLACE "," ";" sanitizers "${WEFT_SANITIZER}")
    foreach(sanitizer ${sanitizers})
      list(APPEND host_flags -Xcompiler=-fsanitize=${sanitizer})
    endforeach()
    list(APPEND host_flags -Xcompiler=-fno-omit-frame-pointer)
  endif()

  set(includes "$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>")
  # A library's condition that does not hold leaves an empty definition behind.
  set(definitions "$<FILTER:$<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>,EXCLUDE,^$>")
  add_custom_command(
    OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${output}
    COMMAND ${WEFT_NVCC} -std=c++20 -ccbin ${CMAKE_CXX_COMPILER} -Werror all-warnings ${code} ${host_flags} ${flags}
            "$<$<BOOL:${includes}>:-I$<JOIN:${includes},;-I>>" "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>"
            -MD -MF ${output}.d -c ${source_path} -o ${output}
    DEPENDS ${source_path} ${WEFT_NVCC}
    DEPFILE ${CMAKE_CURRENT_BINARY_DIR}/${output}.d
    WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
    COMMENT "Compiling ${source} of ${target} with nvcc"
    COMMAND_EXPAND_LISTS VERBATIM)
  set(${object} ${CMAKE_CURRENT_BINARY_DIR}/${output} PARENT_SCOPE)
endfunction()

function(_weft_finish_cuda_target target)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES;DEFINITIONS;ARCHITECTURES;FLAGS" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "${target}: SOURCES are missing, or these arguments are unknown: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT WEFT_NVCC OR NOT WEFT_REAL_CUDART)
    message(FATAL_ERROR "${target} needs nvcc and libcudart.so.13; guard the call with if(WEFT_NVCC).")
  endif()
  if(NOT arg_ARCHITECTURES)
    set(arg_ARCHITECTURES 80 90)
  endif()
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES} weft_warnings weft_self_contained weft_cuda_headers
    ${WEFT_REAL_CUDART} Threads::Threads)
  target_compile_definitions(${target} PRIVATE ${arg_DEFINITIONS})
  # LD_LIBRARY_PATH, which is how a program gets onto the simulated GPU, wins over RUNPATH but not over RPATH.
  target_link_options(${target} PRIVATE -Wl,--enable-new-dtags)
  # The CUDA runtime of a bundle (scripts/gpu-bundle), from bin, from a folder in bin, and from lib/weft.
  set_property(TARGET ${target} APPEND PROPERTY BUILD_RPATH "$ORIGIN/../lib/cuda" "$ORIGIN/../../lib/cuda" "$ORIGIN/../cuda")
  foreach(source ${arg_SOURCES})
    if(source MATCHES "\\.cu$")
      _weft_compile_cuda(${target} ${source} "${arg_ARCHITECTURES}" "${arg_FLAGS}" object)
      target_sources(${target} PRIVATE ${object})
    else()
      target_sources(${target} PRIVATE ${source})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
endfunction()

function(weft_add_cuda_program target)
  add_executable(${target})
  _weft_finish_cuda_target(${target} ${ARGN})
endfunction()

function(weft_add_cuda_module target)
  add_library(${target} MODULE)
  set_target_properties(${target} PROPERTIES PREFIX "")
  _weft_finish_cuda_target(${target} ${ARGN})
endfunction()

function(weft_add_cuda_library target)
  add_library(${target} SHARED)
  _weft_finish_cuda_target(${target} ${ARGN})
endfunction()
