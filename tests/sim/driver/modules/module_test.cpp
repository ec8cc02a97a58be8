// Modules, libraries, functions and kernels: handles, attributes, lazy loading next to a spinning kernel, occupancy.
#include <string>

#include "tests/sim/driver/device_test.h"

namespace {

using device_test::DeviceTest;

class Modules : public DeviceTest {
 protected:
  CUlibrary load_library() {
    static const unsigned fat_binary[4] = {0xba55ed50, 0, 0, 0};
    CUlibrary library = nullptr;
    EXPECT_CUDA(cuLibraryLoadData(&library, fat_binary, nullptr, nullptr, 0, nullptr, nullptr, 0));
    return library;
  }
};

TEST_F(Modules, OnlyDeviceCodeIsAnImage) {
  CUmodule loaded = nullptr;
  EXPECT_EQ(cuModuleLoadData(&loaded, "this is not device code"), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(cuModuleLoad(&loaded, "there/is/no/such.cubin"), CUDA_ERROR_FILE_NOT_FOUND);
  EXPECT_CUDA(cuModuleLoadData(&loaded, "// PTX\n.version 9.0\n"));
  EXPECT_CUDA(cuModuleUnload(loaded));
  EXPECT_EQ(cuModuleUnload(loaded), CUDA_ERROR_INVALID_HANDLE);
}

// As on hardware: a module has the kernels of its image and no others.
TEST_F(Modules, KernelsAreThoseOfTheImage) {
  const char* const image = ".version 9.0\n.visible .entry add_to(.param .u64 p)\n{ ret; }\n.entry heavy() { ret; }\n";
  CUmodule loaded = nullptr;
  CUfunction found = nullptr;
  ASSERT_CUDA(cuModuleLoadData(&loaded, image));
  EXPECT_CUDA(cuModuleGetFunction(&found, loaded, "add_to"));
  EXPECT_EQ(cuModuleGetFunction(&found, loaded, "multiply"), CUDA_ERROR_NOT_FOUND);
  unsigned count = 0;
  ASSERT_CUDA(cuModuleGetFunctionCount(&count, loaded));
  ASSERT_EQ(count, 2U);
  CUfunction functions[2] = {};
  ASSERT_CUDA(cuModuleEnumerateFunctions(functions, 2, loaded));
  EXPECT_EQ(functions[0], found);
  EXPECT_NE(functions[1], nullptr);
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr, kernels[2] = {};
  ASSERT_CUDA(cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0));
  EXPECT_EQ(cuLibraryGetKernel(&kernel, library, "multiply"), CUDA_ERROR_NOT_FOUND);
  ASSERT_CUDA(cuLibraryGetKernelCount(&count, library));
  ASSERT_EQ(count, 2U);
  ASSERT_CUDA(cuLibraryEnumerateKernels(kernels, 2, library));
  EXPECT_CUDA(cuLibraryGetKernel(&kernel, library, "heavy"));
  EXPECT_EQ(kernels[1], kernel);
  EXPECT_CUDA(cuLibraryUnload(library));
  EXPECT_CUDA(cuModuleUnload(loaded));
}

TEST_F(Modules, FunctionsHaveNamesModulesAndParameters) {
  const CUfunction add = function("add_to");
  EXPECT_EQ(function("add_to"), add);
  EXPECT_NE(function("multiply"), add);
  const char* name = nullptr;
  ASSERT_CUDA(cuFuncGetName(&name, add));
  EXPECT_EQ(std::string(name), "add_to");
  CUmodule of = nullptr;
  ASSERT_CUDA(cuFuncGetModule(&of, add));
  EXPECT_EQ(of, module);
  std::size_t offset = 0;
  std::size_t size = 0;
  ASSERT_CUDA(cuFuncGetParamInfo(add, 2, &offset, &size));
  EXPECT_EQ(offset, 12U);
  EXPECT_EQ(size, 4U);
  EXPECT_EQ(cuFuncGetParamInfo(add, 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncGetName(&name, reinterpret_cast<CUfunction>(&offset)), CUDA_ERROR_INVALID_HANDLE);
  CUdeviceptr global = 0;
  EXPECT_EQ(cuModuleGetGlobal(&global, &size, module, "no_such_variable"), CUDA_ERROR_NOT_FOUND);
}

TEST_F(Modules, AttributesComeFromTheRegisteredKernel) {
  const CUfunction heavy = function("heavy");
  int value = 0;
  ASSERT_CUDA(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, heavy));
  EXPECT_EQ(value, 128);
  ASSERT_CUDA(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, heavy));
  EXPECT_EQ(value, 512);
  ASSERT_CUDA(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, heavy));
  EXPECT_EQ(value, 32 * 1024);
  ASSERT_CUDA(cuFuncSetAttribute(heavy, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 * 1024));
  ASSERT_CUDA(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, heavy));
  EXPECT_EQ(value, 100 * 1024);
  EXPECT_EQ(cuFuncSetAttribute(heavy, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 228 * 1024),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(heavy, CU_FUNC_ATTRIBUTE_NUM_REGS, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernel(heavy, 1, 1, 1, 1024, 1, 1, 0, stream, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Modules, OccupancyFollowsRegistersAndSharedMemory) {
  int blocks = 0;
  ASSERT_CUDA(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function("add_to"), 256, 0));
  EXPECT_EQ(blocks, 8);  // threads: 2048 / 256
  ASSERT_CUDA(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function("heavy"), 256, 0));
  EXPECT_EQ(blocks, 2);  // registers: 65536 / (128 * 256)
  ASSERT_CUDA(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function("heavy"), 32, 60 * 1024));
  EXPECT_EQ(blocks, 2);  // shared memory: 228 / (16 + 60 + 1)
  int grid = 0;
  int block = 0;
  ASSERT_CUDA(cuOccupancyMaxPotentialBlockSize(&grid, &block, function("add_to"), nullptr, 0, 0));
  EXPECT_EQ(block, 1024);
  EXPECT_EQ(grid, 2 * 132);
  std::size_t shared = 0;
  ASSERT_CUDA(cuOccupancyAvailableDynamicSMemPerBlock(&shared, function("heavy"), 2, 64));
  EXPECT_EQ(shared, (114U - 1 - 16) * 1024);
}

TEST_F(Modules, KernelsOfALibraryLaunchAsFunctions) {
  const CUlibrary library = load_library();
  CUkernel kernel = nullptr;
  ASSERT_CUDA(cuLibraryGetKernel(&kernel, library, "add_to"));
  const char* name = nullptr;
  ASSERT_CUDA(cuKernelGetName(&name, kernel));
  EXPECT_EQ(std::string(name), "add_to");
  CUdeviceptr data = 0;
  ASSERT_CUDA(cuMemAlloc(&data, 64));
  ASSERT_CUDA(cuMemsetD32Async(data, 1, 16, stream));
  int count = 16;
  int value = 2;
  void* parameters[] = {&data, &count, &value};
  ASSERT_CUDA(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr));
  CUfunction function_of_kernel = nullptr;
  ASSERT_CUDA(cuKernelGetFunction(&function_of_kernel, kernel));
  ASSERT_CUDA(cuLaunchKernel(function_of_kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr));
  ASSERT_CUDA(cuStreamSynchronize(stream));
  int result = 0;
  ASSERT_CUDA(cuMemcpyDtoH(&result, data, sizeof(result)));
  EXPECT_EQ(result, 5);
  unsigned kernels = 0;
  EXPECT_CUDA(cuLibraryGetKernelCount(&kernels, library));
  EXPECT_EQ(kernels, 1U);
  EXPECT_CUDA(cuMemFree(data));
  EXPECT_CUDA(cuLibraryUnload(library));
  EXPECT_EQ(cuKernelGetName(&name, kernel), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuLaunchKernel(function_of_kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Modules, FirstLaunchOfALazyKernelWaitsForASpinningKernelLaterOnesDoNot) {
  const CUlibrary library = load_library();
  CUkernel fresh = nullptr;
  ASSERT_CUDA(cuLibraryGetKernel(&fresh, library, "fresh"));
  const auto as_function = reinterpret_cast<CUfunction>(fresh);
  CUfunctionLoadingState state = CU_FUNCTION_LOADING_STATE_LOADED;
  ASSERT_CUDA(cuFuncIsLoaded(&state, as_function));
  EXPECT_EQ(state, CU_FUNCTION_LOADING_STATE_UNLOADED);
  const CUfunction warm = function("multiply");
  CUstream other = nullptr;
  ASSERT_CUDA(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CUdeviceptr data = 0;
  ASSERT_CUDA(cuMemAlloc(&data, 64));
  int count = 16;
  int value = 2;
  void* parameters[] = {&data, &count, &value};
  start_spinning(stream);
  EXPECT_CUDA(cuLaunchKernel(warm, 1, 1, 1, 32, 1, 1, 0, other, parameters, nullptr));
  std::atomic<bool> launched = false;
  std::thread launcher([&] {
    EXPECT_CUDA(cuCtxSetCurrent(context));
    EXPECT_CUDA(cuLaunchKernel(as_function, 1, 1, 1, 32, 1, 1, 0, other, nullptr, nullptr));
    launched = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(launched);
  end_spinning();
  launcher.join();
  ASSERT_CUDA(cuFuncIsLoaded(&state, as_function));
  EXPECT_EQ(state, CU_FUNCTION_LOADING_STATE_LOADED);
  EXPECT_CUDA(cuMemFree(data));
}

TEST_F(Modules, OtherExportTablesDoNotExist) {
  CUuuid id{};
  const void* table = nullptr;
  EXPECT_EQ(cuGetExportTable(&table, &id), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuGetExportTable(nullptr, &id), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
