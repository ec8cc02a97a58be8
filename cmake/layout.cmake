# Where things lie. One layout for the build tree and the installed tree, so that the command finds its libraries relative
# to itself. scikit-build-core, which builds the wheel, has a folder of its own for programs: bin of the environment, as
# all else is under its root.
if(SKBUILD)
  set(CMAKE_INSTALL_BINDIR ${SKBUILD_SCRIPTS_DIR})
  set(CMAKE_INSTALL_LIBDIR lib)
endif()
include(GNUInstallDirs)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(WEFT_LIBRARY_DIR ${CMAKE_BINARY_DIR}/lib/weft)      # libweft.so, libweft-core.so, fill jobs
set(SIMGPU_LIBRARY_DIR ${CMAKE_BINARY_DIR}/lib/simgpu)  # the simulated libcuda, libcudart, libnccl and host kernels

if(SKBUILD)
  set(WEFT_LIBRARY_FROM_COMMAND ../lib/weft)
else()
  file(RELATIVE_PATH WEFT_LIBRARY_FROM_COMMAND ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/weft)
endif()

if(WEFT_PACKAGED)
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX,ASM>:-ffile-prefix-map=${CMAKE_BINARY_DIR}=build>
    $<$<COMPILE_LANGUAGE:C,CXX,ASM>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.>)
  set(CMAKE_SKIP_INSTALL_RPATH ON)
  include(cmake/notices.cmake)
endif()
