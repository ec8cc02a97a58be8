// See replayed_file.h.
#include "cli/replayed_file.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "cli/written_trace.h"
#include "runner/recording/reader.h"
#include "trace/write/writer.h"

namespace weft::cli {
namespace {

const char* const broke_off = "the process was killed, or the file was cut off";

const char* reason_of(RecordingEnd end) {
  switch (end) {
    case RecordingEnd::limit:
      return "it has reached its limit (WEFT_RECORD_LIMIT)";
    case RecordingEnd::behind:
      return "the disk did not keep up with it";
    case RecordingEnd::without_summary:
      return "Weft's thread did not end in time, or failed";
    case RecordingEnd::complete:
      break;
  }
  return "nothing was recorded between its beginning and its end";
}

class FileReplay {
 public:
  FileReplay(const std::string& path, const std::string& trace) : reader_(path), trace_(trace) {}

  void run(ReplayedFile& file) {
    try {
      take_all();
    } catch (const RecordingError& error) {
      if (!has_calls_) throw;
      file.damage = error.what();
      if (replay_) cut("the file " + file.damage);
    }
    if (replay_) cut(broke_off);
    trace_.write();
    file.sessions = std::move(sessions_);
  }

 private:
  void take_all() {
    while (const std::optional<RecordingBlock> block = reader_.next()) {
      try {
        take(*block);
      } catch (const ReplayFault& fault) {
        sessions_.back().fault = fault;
        close();
      }
    }
  }
  // A session that has had a fault is over: replay_ is nothing until the next header.
  void take(const RecordingBlock& block) {
    if (block.kind == BlockKind::header)
      begin(header_in(block));
    else if (replay_ && block.kind == BlockKind::calls)
      take_calls(block.contents);
    else if (replay_)
      end(end_in(block));
  }
  void take_calls(const std::string& calls) {
    replay_->take(calls);
    has_calls_ = true;
  }
  void begin(const RecordedHeader& recorded) {
    if (replay_) cut(broke_off);
    sessions_.push_back({recorded.header, {}, recorded.layout == record_layout(), "", {}});
    replay_.emplace(trace_, sessions_.back().records_compared);
    trace_.begin(recorded.header);
  }
  void end(const RecordedEnd& recorded) {
    if (!recorded.summary || replay_->result().calls == 0) return cut(reason_of(recorded.end));
    replay_->end_calls(false);
    trace_.end(completed(replay_->summary(*recorded.summary), sessions_.back().header));
    close();
  }
  void cut(const std::string& why) {
    replay_->end_calls(true);
    sessions_.back().cut = why;
    close();
  }
  void close() {
    sessions_.back().result = replay_->result();
    replay_.reset();
  }

  RecordingReader reader_;
  WrittenTrace trace_;
  std::vector<ReplayedSession> sessions_;
  std::optional<Replay> replay_;  // of the last one, until its end
  bool has_calls_ = false;        // a block of them was replayed
};

}  // namespace

std::uint64_t ReplayedFile::differences() const {
  std::uint64_t sum = 0;
  for (const ReplayedSession& session : sessions) sum += session.result.differences;
  return sum;
}

bool ReplayedFile::has_fault() const {
  return std::any_of(sessions.begin(), sessions.end(),
                     [](const ReplayedSession& session) { return session.fault.has_value(); });
}

void check_recording(const std::string& path) {
  RecordingReader reader(path);
  while (const std::optional<RecordingBlock> block = reader.next()) {
    if (block->kind == BlockKind::header) header_in(*block);
    if (block->kind == BlockKind::end) end_in(*block);
    if (block->kind == BlockKind::calls) return;
  }
}

ReplayedFile replay_file(const std::string& path, const std::string& trace) try {
  ReplayedFile file;
  file.path = path;
  FileReplay(path, trace).run(file);
  return file;
} catch (const RecordingError&) {
  std::error_code ignored;
  std::filesystem::remove(trace, ignored);
  throw;
}

}  // namespace weft::cli
