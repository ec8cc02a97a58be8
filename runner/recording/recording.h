// Writes the recording of one device beside its trace: "<directory>/rank<rank>.<pid>.weftrec", with the same names as
// the trace's otherwise. See format.h for the file, docs/replay.md for its readers.
//
// push() is called by whoever steps the session (one producer), is wait-free and never touches a file: a thread of the
// recording writes. A recording is the beginning of a run, without gaps: after its limit, or where the disk does not
// keep up, nothing more is taken, which the file and one line of the log say. A write that fails ends it as well.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runner/recording/recorded_session.h"
#include "trace/record.h"

namespace weft {

class Recording final : public CallSink {
 public:
  // As that of TraceWriter: one line for the log, on the recording's thread.
  using Warn = std::function<void(Audience audience, const std::string& message)>;

  // `header`: completed(). Of more than about `limit` bytes in the file nothing is written, not even a header where the
  // device is opened again. On failure returns nullptr
  // and says why in `error`, one line.
  static std::unique_ptr<Recording> open(const std::string& directory, const TraceHeader& header, std::uint64_t limit,
                                         Warn warn, std::string& error);
  ~Recording() override;

  void push(std::string_view entry) noexcept override;
  const std::string& path() const noexcept;

  // Writes what is left and the end of the file. Waits at most two seconds; after these the next opening makes another
  // file.
  void finish(const TraceSummary& summary);

 private:
  class Implementation;
  explicit Recording(std::shared_ptr<Implementation> implementation);
  std::shared_ptr<Implementation> implementation_;  // with the thread, which may outlive this object
};

}  // namespace weft
