// See queue.h.
#include "feeder/redis/queue.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <map>
#include <stdexcept>

#include "feeder/files/folder.h"
#include "feeder/owner.h"
#include "feeder/queue/texts.h"
#include "feeder/redis/claims.h"

namespace weft {
namespace {

std::map<std::string, std::string> fields_of(const RedisReply& reply) {
  std::map<std::string, std::string> fields;
  for (std::size_t i = 0; i + 1 < reply.list.size(); i += 2) fields[reply.list[i].text] = reply.list[i + 1].text;
  return fields;
}

std::int64_t number_in(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

RedisQueue::RedisQueue(const std::string& address)
    : JobQueue(parse_redis_address(address).described()),
      text_(address),
      owner_(own_name()),
      client_(parse_redis_address(address)) {
  client_.command({"PING"});
}

std::string RedisQueue::set_of(JobState state) const {
  return client_.key(std::string(job_state_names[static_cast<std::size_t>(state)]));
}

std::string RedisQueue::folder_of(const std::string& id) const {
  const std::string& folder = client_.address().folder;
  return folder.empty() ? "" : folder + "/" + id;
}

// One whose folder was there is that of a job which the server has lost, or another server has.
std::string RedisQueue::new_id() {
  for (;;) {
    const std::string id = std::to_string(client_.command({"INCR", client_.key("next")}).number);
    if (client_.address().folder.empty()) return id;
    make_folder_unless_there(client_.address().folder);
    if (make_folder_unless_there(folder_of(id))) return id;
  }
}

std::string RedisQueue::submit(QueuedJob job) {
  const bool wants_place = job.plan.files.results.empty() && !job.plan.files.input.empty();
  if (wants_place && client_.address().folder.empty())
    throw std::runtime_error(name() +
                             ": holds no results: name a file (--results), or folder=PATH in the queue's address");
  const std::string id = new_id();
  if (wants_place) job.plan.files.results = folder_of(id) + "/results.safetensors";
  client_.command({"HSET", client_.key("job:" + id), "text", to_text(job)});
  client_.command({"SADD", set_of(JobState::waiting), id});
  return id;
}

std::vector<std::string> RedisQueue::ids(JobState state) {
  std::vector<std::uint64_t> numbers;
  for (const RedisReply& member : client_.command({"SMEMBERS", set_of(state)}).list)
    if (const auto number = number_of(member.text)) numbers.push_back(*number);
  std::ranges::sort(numbers);
  std::vector<std::string> ids;
  for (const std::uint64_t number : numbers) ids.push_back(std::to_string(number));
  return ids;
}

std::optional<JobEntry> RedisQueue::find(const std::string& id) {
  if (!is_job_number(id)) return std::nullopt;
  auto fields = fields_of(client_.command({"HGETALL", client_.key("job:" + id)}));
  if (!fields.contains("text")) return std::nullopt;
  JobEntry entry;
  entry.id = id;
  try {
    entry.job = parse_queued_job(fields["text"]);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(name() + ": job " + id + " " + error.what());
  }
  entry.state = JobState::failed;
  entry.why = "its state was lost by the server";
  for (std::size_t state = 0; state < job_state_names.size(); ++state) {
    if (client_.command({"SISMEMBER", set_of(static_cast<JobState>(state)), id}).number != 1) continue;
    entry.state = static_cast<JobState>(state);
    entry.why = entry.state == JobState::waiting ? "" : fields["why"];
    break;
  }
  entry.ended = entry.state == JobState::waiting ? 0 : number_in(fields["ended"]);
  entry.need = {static_cast<std::uint64_t>(number_in(fields["need_memory"])),
                Duration{number_in(fields["need_slice_ns"])}};
  entry.units = static_cast<std::uint64_t>(number_in(fields["units"]));
  entry.at_work = at_work(id);
  entry.refusals = refusals(id);
  return entry;
}

bool RedisQueue::move(const std::string& id, JobState from, JobState to, const std::string& why) {
  if (!is_job_number(id) || client_.command({"SISMEMBER", set_of(from), id}).number != 1) return false;
  if (to == JobState::waiting) {
    client_.command({"DEL", client_.key("refusals:" + id)});
    client_.command({"HDEL", client_.key("job:" + id), "need_memory", "need_slice_ns"});
  } else {
    client_.command({"HSET", client_.key("job:" + id), "why", why, "ended",
                     std::to_string(static_cast<std::int64_t>(std::time(nullptr)))});
  }
  return client_.command({"SMOVE", set_of(from), set_of(to), id}).number == 1;
}

std::int64_t RedisQueue::server_seconds() {
  const RedisReply time = client_.command({"TIME"});
  return time.list.empty() ? 0 : number_in(time.list[0].text);
}

void RedisQueue::note_work(const std::string& id, const AtWork& work) {
  client_.command(
      {"HSET", client_.key("work:" + id), owner_, to_text(work), owner_ + ".at", std::to_string(server_seconds())});
}

void RedisQueue::end_work(const std::string& id) {
  client_.command({"HDEL", client_.key("work:" + id), owner_, owner_ + ".at"});
}

std::vector<AtWork> RedisQueue::at_work(const std::string& id) {
  std::vector<AtWork> all;
  auto fields = fields_of(client_.command({"HGETALL", client_.key("work:" + id)}));
  if (fields.empty()) return all;
  const std::int64_t now = server_seconds();
  for (const auto& [owner, text] : fields) {
    if (owner.ends_with(".at")) continue;
    const bool is_silent =
        now - number_in(fields[owner + ".at"]) > std::chrono::floor<std::chrono::seconds>(lease).count();
    if (is_silent || has_ended(owner)) {
      client_.command({"HDEL", client_.key("work:" + id), owner, owner + ".at"});
      continue;
    }
    if (auto work = parse_work(text, owner)) all.push_back(*std::move(work));
  }
  return all;
}

void RedisQueue::note_refusal(const std::string& id, const Refusal& refusal) {
  client_.command({"HSET", client_.key("refusals:" + id), refusal.by, to_text(refusal)});
}

std::vector<Refusal> RedisQueue::refusals(const std::string& id) {
  std::vector<Refusal> all;
  for (const auto& [by, text] : fields_of(client_.command({"HGETALL", client_.key("refusals:" + id)})))
    if (auto refusal = parse_refusal(text)) all.push_back(*std::move(refusal));
  return all;
}

void RedisQueue::note_need(const std::string& id, const JobNeed& need) {
  client_.command({"HSET", client_.key("job:" + id), "need_memory", std::to_string(need.memory), "need_slice_ns",
                   std::to_string(need.slice.count())});
}

void RedisQueue::note_units(const std::string& id, std::uint64_t units) {
  client_.command({"HSET", client_.key("job:" + id), "units", std::to_string(units)});
}

std::unique_ptr<Claims> RedisQueue::lease_of(const std::string& id) {
  return std::make_unique<RedisClaims>(claims_of(id + "-lease"), "", 1);
}

}  // namespace weft
