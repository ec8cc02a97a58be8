// Contexts, streams and events come and go here; see engine.h. Destroyed streams live on until their work is done.
#include "engine/objects.h"

#include <algorithm>

#include "engine/capture_hooks.h"
#include "engine/engine.h"
#include "engine/scheduler.h"
#include "engine/slab.h"
#include "engine/workers.h"

namespace simgpu {
namespace {

void set_default_limits(Context& context) {
  context.limits[CU_LIMIT_STACK_SIZE] = 1024;
  context.limits[CU_LIMIT_PRINTF_FIFO_SIZE] = std::size_t{1} << 20;
  context.limits[CU_LIMIT_MALLOC_HEAP_SIZE] = std::size_t{8} << 20;
  context.limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
  context.limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
  context.limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 128;
}

}  // namespace

Device::Device(int number, std::size_t bytes) : ordinal(number), memory(bytes) {}
Device::~Device() = default;

Context* Engine::create_context(Device& device, unsigned flags, bool primary) {
  return create_context(device, {flags, primary, nullptr, settings_.connections, {}});
}

Context* Engine::create_green_context(Context& primary, unsigned connections, const SmShare& share) {
  return create_context(*primary.device, {primary.flags, false, &primary, connections, share});
}

Context* Engine::create_context(Device& device, const Kind& kind) {
  Context* context = slab<Context>.create();
  if (context == nullptr) return nullptr;
  context->device = &device;
  context->flags = kind.flags;
  context->is_primary = kind.primary;
  context->green_of = kind.green_of;
  context->connections = kind.connections;
  context->share = kind.share;
  set_default_limits(*context);
  {
    Guard guard(lock_);
    context->id = next_context_++;
    const std::size_t classes = settings_.queue.priorities_share ? 1 : constants::stream_priorities;
    context->queues.resize(kind.connections * classes);
    context->next_queue.resize(classes);
    device.contexts.push_back(context);
    device.model->log.open(settings_.log_directory, device.ordinal, settings_.multiprocessors);
    if (!thread_started_) thread_started_ = start_thread("simgpu", [this] { run(); });
    leave(guard);
  }
  context->legacy = create_stream(*context, StreamKind::legacy, 0, 0);
  return context;
}

std::vector<Context*> Engine::green_contexts_of(const Context& context) {
  const std::scoped_lock guard(lock_);
  std::vector<Context*> found;
  for (Context* other : context.device->contexts)
    if (other->green_of == &context) found.push_back(other);
  return found;
}

void Engine::destroy_context(Context& context) {
  if (!slab<Context>.retire(&context)) return;
  Device& device = *context.device;
  for (Context* green : green_contexts_of(context)) destroy_context(*green);
  {
    // No new work from here on, so that the wait for the old has an end.
    Guard guard(lock_);
    for (Stream* stream : context.streams) slab<Stream>.retire(stream);
    context.is_ending = true;
    wait_locked(guard, [&] { return context.standing_calls == 0; });
    leave(guard);
  }
  wait_for_idle_device(device, "cuCtxDestroy", Drain::all_work);
  release_context_resources(context);
  Guard guard(lock_);
  scheduler_->advance(now());
  for (EventRecord* record : context.waits) scheduler_->release(record);
  std::erase(device.contexts, &context);
  for (Stream* stream : context.streams) slab<Stream>.release(stream);
  leave(guard);
  slab<Context>.release(&context);
}

Stream* Engine::create_stream(Context& context, StreamKind kind, unsigned flags, int priority) {
  Stream* stream = slab<Stream>.make();
  if (stream == nullptr) return nullptr;
  stream->context = &context;
  stream->kind = kind;
  stream->flags = flags;
  stream->priority = std::clamp(priority, greatest_priority, 0);
  const std::scoped_lock guard(lock_);
  stream->id = next_stream_++;
  const auto priority_class = static_cast<std::size_t>(settings_.queue.priorities_share ? 0 : -stream->priority);
  Context& owner = context.connections == 0 ? *context.green_of : context;
  const unsigned turn = owner.next_queue[priority_class]++ % owner.connections;
  stream->queue = &owner.queues[priority_class * owner.connections + turn];
  context.streams.push_back(stream);
  std::erase_if(context.waits, [this](EventRecord* record) {
    if (!record->done) return false;
    scheduler_->release(record);
    return true;
  });
  for (EventRecord* record : context.waits)
    scheduler_->append(*stream, WaitCommand{nullptr, 0, record}, arrivals_.now());
  slab<Stream>.publish(stream);
  return stream;
}

void Engine::destroy_stream(Stream& stream) {
  if (!slab<Stream>.retire(&stream)) return;
  Guard guard(lock_);
  stream.destroyed = true;
  if (stream.head == nullptr) {
    std::erase(stream.context->streams, &stream);
    slab<Stream>.release(&stream);
  }
  leave(guard);
}

Event* Engine::create_event(Context& context, unsigned flags) {
  Event* event = slab<Event>.create();
  if (event == nullptr) return nullptr;
  event->context = &context;
  event->flags = flags;
  return event;
}

void Engine::destroy_event(Event& event) {
  if (!slab<Event>.retire(&event)) return;
  const std::scoped_lock guard(lock_);
  if (event.last != nullptr) scheduler_->release(event.last);
  slab<Event>.release(&event);
}

}  // namespace simgpu
