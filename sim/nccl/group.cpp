// Collecting the calls of a group, and running it: jobs, connections, one launch per communicator.
// Host threads: the caller's, or a worker's for non-blocking communicators.
#include "group.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "driver.h"
#include "errors.h"

namespace simgpu::nccl {
namespace {

struct Group {
  int depth = 0;
  ncclResult_t error = ncclSuccess;
  std::vector<Call> calls;
  std::vector<Job> jobs;
};

thread_local Group group;

// Everything one outermost group has to do.
struct Work {
  std::vector<Call> calls;
  std::vector<Job> jobs;

  std::vector<ncclComm*> communicators() const {
    std::vector<ncclComm*> all;
    const auto add = [&all](ncclComm* communicator) {
      if (std::find(all.begin(), all.end(), communicator) == all.end()) all.push_back(communicator);
    };
    for (const Job& job : jobs) add(job.communicator);
    for (const Call& call : calls) add(call.communicator);
    return all;
  }
};

ncclResult_t run_jobs(const std::vector<Job>& jobs) {
  if (jobs.size() == 1) return jobs.front().run();
  // Communicators of one process wait for each other while they are made.
  std::vector<ncclResult_t> results(jobs.size(), ncclSuccess);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < jobs.size(); ++i) {
    threads.emplace_back([&results, &jobs, i] { results[i] = jobs[i].run(); });
  }
  for (std::thread& thread : threads) thread.join();
  const auto bad = std::find_if(results.begin(), results.end(), [](ncclResult_t r) { return r != ncclSuccess; });
  return bad == results.end() ? ncclSuccess : *bad;
}

std::vector<CommunicatorWork> sort_calls(std::vector<Call>& calls) {
  std::vector<CommunicatorWork> all;
  for (Call& call : calls) {
    auto found = std::find_if(all.begin(), all.end(),
                              [&](const CommunicatorWork& work) { return work.communicator == call.communicator; });
    if (found == all.end()) {
      found = all.insert(all.end(), CommunicatorWork{call.communicator, {}, std::make_shared<LaunchedPlan>()});
      found->launched->endpoint = call.communicator->endpoint();
    }
    if (std::find(found->streams.begin(), found->streams.end(), call.stream) == found->streams.end()) {
      found->streams.push_back(call.stream);
    }
    Plan& plan = found->launched->plan;
    if (call.kind == Call::Kind::collective) plan.collectives.push_back(std::move(call.collective));
    if (call.kind == Call::Kind::send) plan.sends.push_back(call.transfer);
    if (call.kind == Call::Kind::receive) plan.receives.push_back(call.transfer);
  }
  return all;
}

// A send to oneself can only be met by a receive of the same group.
ncclResult_t check_self(const CommunicatorWork& work) {
  const auto to_self = [&](const std::vector<Transfer>& transfers) {
    return std::count_if(transfers.begin(), transfers.end(), [&](const Transfer& transfer) {
      return transfer.kind == LinkKind::two_sided && transfer.peer == work.communicator->rank();
    });
  };
  const Plan& plan = work.launched->plan;
  if (to_self(plan.sends) == to_self(plan.receives)) return ncclSuccess;
  return fail(ncclInvalidUsage, "a send to the own rank needs a receive from it in the same group");
}

ncclResult_t run_calls(std::vector<Call>& calls) {
  std::vector<CommunicatorWork> all = sort_calls(calls);
  for (const CommunicatorWork& work : all) {
    if (const ncclResult_t result = check_self(work); result != ncclSuccess) return result;
  }
  for (const CommunicatorWork& work : all) work.communicator->announce(work.launched->plan);
  for (const CommunicatorWork& work : all) {
    const ContextScope scope(work.communicator->context());
    const RelaxedCapture relaxed;
    const ncclResult_t result = work.communicator->connect(work.launched->plan);
    if (result != ncclSuccess) return result;
  }
  for (CommunicatorWork& work : all) {
    if (const ncclResult_t result = launch(work); result != ncclSuccess) return result;
  }
  return ncclSuccess;
}

ncclResult_t run(Work& work) {
  ncclResult_t result = ncclSuccess;
  if (!work.jobs.empty()) result = run_jobs(work.jobs);
  if (result == ncclSuccess && !work.calls.empty()) result = run_calls(work.calls);
  return result;
}

ncclResult_t run_in_background(Work work, const std::vector<ncclComm*>& communicators) {
  const auto worker = std::make_shared<Worker>();
  for (ncclComm* communicator : communicators) {
    communicator->worker = worker;
    communicator->set_state(ncclInProgress);
    communicator->enter();
  }
  worker->thread = std::thread([communicators, work = std::move(work)]() mutable {
    pthread_setname_np(pthread_self(), "simgpu-nccl");
    const ncclResult_t result = run(work);
    work = Work{};
    for (ncclComm* communicator : communicators) {
      communicator->set_state(result);
      communicator->leave();
    }
  });
  return ncclInProgress;
}

ncclResult_t run_all(Work work) {
  const std::vector<ncclComm*> communicators = work.communicators();
  const bool blocking = std::all_of(communicators.begin(), communicators.end(),
                                    [](const ncclComm* communicator) { return communicator->settings().blocking; });
  if (!blocking) return run_in_background(std::move(work), communicators);
  for (ncclComm* communicator : communicators) communicator->enter();
  const ncclResult_t result = run(work);
  for (ncclComm* communicator : communicators) communicator->leave();
  return result;
}

}  // namespace

ncclResult_t group_start() {
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t group_drop() {
  if (group.depth == 0) return fail(ncclInvalidUsage, "the group has not been started");
  if (--group.depth == 0) group = Group{};
  return ncclSuccess;
}

ncclResult_t group_end() {
  if (group.depth == 0) return fail(ncclInvalidUsage, "the group has not been started");
  if (--group.depth > 0) return ncclSuccess;
  Group ended = std::exchange(group, Group{});
  if (ended.error != ncclSuccess) return ended.error;
  if (ended.calls.empty() && ended.jobs.empty()) return ncclSuccess;
  return run_all(Work{std::move(ended.calls), std::move(ended.jobs)});
}

ncclResult_t submit(Call call) {
  if (group.depth > 0) {
    group.calls.push_back(std::move(call));
    return ncclSuccess;
  }
  Work work;
  work.calls.push_back(std::move(call));
  return run_all(std::move(work));
}

ncclResult_t submit(Job job) {
  if (group.depth > 0) {
    group.jobs.push_back(std::move(job));
    return ncclSuccess;
  }
  Work work;
  work.jobs.push_back(std::move(job));
  return run_all(std::move(work));
}

ncclResult_t group_failed(ncclResult_t error) {
  if (group.depth > 0 && group.error == ncclSuccess && error != ncclInProgress) group.error = error;
  return error;
}

}  // namespace simgpu::nccl
