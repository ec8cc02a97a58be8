// Events. Called on the application's thread. Flags have the same values in the runtime and in the driver.
#include "context.h"

using simgpu::Driver;
using simgpu::with_context;

static_assert(cudaEventBlockingSync == CU_EVENT_BLOCKING_SYNC && cudaEventDisableTiming == CU_EVENT_DISABLE_TIMING &&
              cudaEventInterprocess == CU_EVENT_INTERPROCESS);

SIMGPU_FORWARD(cudaEventCreate, (cudaEvent_t * event), driver.cuEventCreate(event, CU_EVENT_DEFAULT))
SIMGPU_FORWARD(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned int flags), driver.cuEventCreate(event, flags))
SIMGPU_FORWARD(cudaEventQuery, (cudaEvent_t event), driver.cuEventQuery(event))
SIMGPU_FORWARD(cudaEventSynchronize, (cudaEvent_t event), driver.cuEventSynchronize(event))
SIMGPU_FORWARD(cudaEventDestroy, (cudaEvent_t event), driver.cuEventDestroy(event))
SIMGPU_FORWARD(cudaEventElapsedTime, (float* milliseconds, cudaEvent_t start, cudaEvent_t end),
               driver.cuEventElapsedTime(milliseconds, start, end))
SIMGPU_PAIR(cudaEventRecord, _ptsz, (cudaEvent_t event, cudaStream_t stream), driver.cuEventRecord[mode](event, stream))
SIMGPU_PAIR(cudaEventRecordWithFlags, _ptsz, (cudaEvent_t event, cudaStream_t stream, unsigned int flags),
            driver.cuEventRecordWithFlags[mode](event, stream, flags))
