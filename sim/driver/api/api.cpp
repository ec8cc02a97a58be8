// The state of the driver in this process, the stack of current contexts of each thread, and the meaning of handles;
// see api.h. A forked child and a process that is exiting are told so; nothing is locked for that.
#include "api/api.h"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "api/current.h"
#include "engine/host_kernels.h"

namespace simgpu {
namespace {

enum class State { unused, usable, forked, exiting };
std::atomic<State> state{State::unused};

void after_fork() {
  State usable = State::usable;
  state.compare_exchange_strong(usable, State::forked);
}

void at_exit() {
  State usable = State::usable;
  if (state.compare_exchange_strong(usable, State::exiting)) engine().stop();
}

// The per-thread default streams of one thread. They are given back when the thread ends.
class ThreadStreams {
 public:
  ~ThreadStreams() {
    for (const Entry& entry : entries_) {
      if (entry.stream != nullptr && ready() == CUDA_SUCCESS && slab<Stream>.find(entry.stream) != nullptr &&
          entry.stream->context == entry.context) {
        engine().destroy_stream(*entry.stream);
      }
    }
  }

  Stream* get(Context& context) {
    for (Entry& entry : entries_) {
      if (entry.context == &context && entry.id == context.id) return entry.stream;
    }
    Entry& entry = entries_[next_++ % entries];
    entry = {&context, context.id, engine().create_stream(context, StreamKind::per_thread, 0, 0)};
    return entry.stream;
  }

 private:
  struct Entry {
    Context* context = nullptr;
    uint64_t id = 0;
    Stream* stream = nullptr;
  };
  static constexpr unsigned entries = 16;
  Entry entries_[entries] = {};
  unsigned next_ = 0;
};

thread_local ContextStack context_stack;
thread_local ThreadStreams thread_streams;

}  // namespace

ContextStack& current_stack() {
  return context_stack;
}

CUresult ready() {
  switch (state.load(std::memory_order_acquire)) {
    case State::usable:
      return CUDA_SUCCESS;
    case State::exiting:
      return CUDA_ERROR_DEINITIALIZED;
    default:
      return CUDA_ERROR_NOT_INITIALIZED;
  }
}

CUresult initialize() {
  static std::mutex mutex;
  if (state.load(std::memory_order_acquire) != State::unused) return ready();
  const std::scoped_lock guard(mutex);
  if (state.load(std::memory_order_acquire) != State::unused) return ready();
  Engine& instance = engine();
  load_host_kernel_libraries(instance.settings().kernel_libraries);
  pthread_atfork(nullptr, nullptr, after_fork);
  std::atexit(at_exit);
  state.store(State::usable, std::memory_order_release);
  return CUDA_SUCCESS;
}

CUresult current_context(Context*& context) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  context = slab<Context>.find(context_stack.top());
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return context->error.load(std::memory_order_relaxed);
}

CUresult current_device(Device*& device) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  device = context->device;
  return CUDA_SUCCESS;
}

CUresult find_context(CUcontext handle, Context*& context) {
  if (handle == nullptr) return current_context(context);
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  context = slab<Context>.find(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return context->error.load(std::memory_order_relaxed);
}

CUresult find_stream(CUstream handle, DefaultStream meaning, Stream*& stream) {
  const bool legacy = handle == CU_STREAM_LEGACY || (handle == nullptr && meaning == DefaultStream::legacy);
  if (!legacy && handle != nullptr && handle != CU_STREAM_PER_THREAD) {
    if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
    stream = slab<Stream>.find(handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return stream->context->error.load(std::memory_order_relaxed);
  }
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  stream = legacy ? context->legacy : thread_streams.get(*context);
  return stream == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult find_event(CUevent handle, Event*& event) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  event = slab<Event>.find(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return event->context->error.load(std::memory_order_relaxed);
}

CUresult find_device(CUdevice handle, Device*& device) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  const auto& devices = engine().devices();
  if (handle < 0 || static_cast<std::size_t>(handle) >= devices.size()) return CUDA_ERROR_INVALID_DEVICE;
  device = devices[static_cast<std::size_t>(handle)].get();
  return CUDA_SUCCESS;
}

}  // namespace simgpu
