// Makes the CUDA runtime it is linked to ask the driver for all its entry points, and for some by name and version.
#include <cuda_runtime_api.h>

#include <initializer_list>

int main() {
  int devices = 0;
  (void)cudaGetDeviceCount(&devices);
  for (const char* name : {"cuEventRecord", "cuMemCreate", "cuLaunchKernel", "cuStreamWaitEvent", "cuMemAlloc"}) {
    for (const unsigned int version : {2000u, 7000u, 11020u, 12000u, 13000u}) {
      for (const unsigned long long flags :
           {cudaEnableDefault, cudaEnableLegacyStream, cudaEnablePerThreadDefaultStream}) {
        void* found = nullptr;
        cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
        (void)cudaGetDriverEntryPointByVersion(name, &found, version, flags, &status);
      }
    }
  }
  return 0;
}
