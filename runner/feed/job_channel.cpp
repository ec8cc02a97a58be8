// See job_channel.h.
#include "runner/feed/job_channel.h"

#include <new>
#include <stdexcept>

namespace weft {

JobChannel JobChannel::create(const std::string& folder, const Of& of) {
  return JobChannel(SharedFile::create(folder, job_channel_ending, sizeof(JobChannelHeader), [&](void* pages) {
    JobChannelHeader& header = *new (pages) JobChannelHeader;
    header.rank = of.rank;
    header.device = of.device;
    header.places = of.places;
    header.policy = static_cast<std::uint32_t>(of.policy);
    header.queue.set(of.queue);
  }));
}

JobChannel JobChannel::open(const std::string& path) {
  JobChannel channel(SharedFile::open(path, sizeof(JobChannelHeader)));
  const JobChannelHeader& header = channel.header();
  if (header.magic != JobChannelHeader::right_magic || header.version != JobChannelHeader::right_version ||
      header.bytes != sizeof(JobChannelHeader) || header.places > JobChannelHeader::most_places)
    throw std::runtime_error(path + " is of another version of Weft");
  return channel;
}

bool JobChannel::is_held() const {
  return header().closed.load(std::memory_order_acquire) == 0 && file_.is_locked();
}

}  // namespace weft
