# Target weft_cuda_headers: the include directories of the CUDA toolkit and of NCCL, nothing to link.
# Says in one line what is missing when the toolkit or NCCL is not there.
file(GLOB _weft_cuda_folders /usr/local/cuda-13.*)
find_path(WEFT_CUDA_INCLUDE_DIR cuda.h
  HINTS ENV CUDA_HOME ENV CUDA_PATH
  PATHS /usr/local/cuda /usr/local/cuda-13 ${_weft_cuda_folders}
  PATH_SUFFIXES include targets/x86_64-linux/include)
if(NOT WEFT_CUDA_INCLUDE_DIR)
  message(FATAL_ERROR "The CUDA 13 toolkit is missing (cuda.h not found). Install it, or set CUDA_HOME to where it is.")
endif()
file(STRINGS ${WEFT_CUDA_INCLUDE_DIR}/cuda.h _weft_cuda_version REGEX "^#define CUDA_VERSION [0-9]+")
string(REGEX REPLACE ".* " "" WEFT_CUDA_VERSION "${_weft_cuda_version}")
if(WEFT_CUDA_VERSION LESS 13000)
  message(FATAL_ERROR "CUDA 13 or newer is needed; cuda.h in ${WEFT_CUDA_INCLUDE_DIR} says ${WEFT_CUDA_VERSION}.")
endif()
get_filename_component(WEFT_CUDA_ROOT ${WEFT_CUDA_INCLUDE_DIR} DIRECTORY)
find_path(WEFT_NCCL_INCLUDE_DIR nccl.h HINTS ENV NCCL_HOME ${WEFT_CUDA_INCLUDE_DIR} PATH_SUFFIXES include)
if(NOT WEFT_NCCL_INCLUDE_DIR)
  message(FATAL_ERROR "NCCL's header nccl.h is missing. Install NCCL 2.28.9 or newer, or set NCCL_HOME to where it is.")
endif()
# Built against 2.28.9, Weft runs with any NCCL from 2.18 on.
file(STRINGS ${WEFT_NCCL_INCLUDE_DIR}/nccl.h _weft_nccl_version REGEX "^#define NCCL_VERSION_CODE [0-9]+")
string(REGEX REPLACE ".* " "" WEFT_NCCL_VERSION "${_weft_nccl_version}")
if(NOT WEFT_NCCL_VERSION GREATER_EQUAL 22809)
  message(FATAL_ERROR "The headers of NCCL 2.28.9 or newer are needed (the library may be older when Weft runs); nccl.h in "
    "${WEFT_NCCL_INCLUDE_DIR} says ${WEFT_NCCL_VERSION}. Install a newer one, or set NCCL_HOME to where it is.")
endif()
add_library(weft_cuda_headers INTERFACE)
target_include_directories(weft_cuda_headers SYSTEM INTERFACE ${WEFT_CUDA_INCLUDE_DIR} ${WEFT_NCCL_INCLUDE_DIR})
# The real libraries, where the toolkit has them: for linking nvcc-built programs and for routing tests.
find_library(WEFT_REAL_CUDART NAMES libcudart.so.13 HINTS ${WEFT_CUDA_ROOT} PATH_SUFFIXES lib64 lib targets/x86_64-linux/lib)
find_library(WEFT_REAL_NCCL NAMES libnccl.so.2 HINTS ENV NCCL_HOME ${WEFT_CUDA_ROOT} PATH_SUFFIXES lib64 lib targets/x86_64-linux/lib)
find_library(WEFT_STUB_CUDA NAMES libcuda.so HINTS ${WEFT_CUDA_ROOT} PATH_SUFFIXES lib64/stubs lib/stubs targets/x86_64-linux/lib/stubs)
