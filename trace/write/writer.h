// Writes the trace of one device: JSON Lines, header first, summary last, flushed every 100 ms and at the end.
//
// A file has a limit: what is behind it is left out and counted, except the few lines that tell how the run ended.
// push() is called by the dispatcher thread (one producer), is wait-free and never touches a file: a thread of the
// writer formats and writes. A full ring drops and counts. When a write fails (full disk, directory gone) the writer
// says so once through the message sink, stops writing, and counts what it loses; nothing else happens to the process.
// show() is likewise: the same thread writes the page for `weft top` beside the trace, once a second at most.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "trace/live/live_page.h"
#include "trace/record_sink.h"

namespace weft {

// The header with all that the writer knows: version, host, process, start. The same for all devices of the process.
TraceHeader completed(TraceHeader header);
// The summary likewise: with what stands in the header.
TraceSummary completed(TraceSummary summary, const TraceHeader& header);
// The name of a device's file, without extension: "rank<rank>.<pid>", with ".device<device>" where the header says so.
std::string trace_stem(const TraceHeader& header);

class TraceWriter final : public RecordSink {
 public:
  // Called with one line of text for the log, and with who has to say it, on the writer's thread. May outlive the
  // writer, as that thread may.
  using Warn = std::function<void(Audience audience, const std::string& message)>;

  static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

  // Creates directory and file ("<directory>/rank<rank>.<pid>.jsonl", with ".device<device>" after the process where
  // the header says so, and a number where another process has left such a file) and writes the header. Of more than
  // `limit` bytes in the file only header, summary, anomalies, memory and slowdown are written. On failure returns
  // nullptr and says why in `error`, one line.
  static std::unique_ptr<TraceWriter> open(const std::string& directory, const TraceHeader& header, std::uint64_t limit,
                                           Warn warn, std::string& error);
  ~TraceWriter() override;

  void push(const Record& record) noexcept override;
  // How the rank stands. One thread at a time, the producer of records. Where that is never called there is no page.
  void show(const LiveNumbers& numbers) noexcept;
  std::uint64_t dropped() const noexcept;
  const std::string& path() const noexcept;

  // Drains, writes the summary and the last page, closes. Later pushes are counted as dropped. Waits at most two seconds; after
  // these the next opening makes another file.
  void finish(const TraceSummary& summary);

 private:
  class Implementation;
  explicit TraceWriter(std::shared_ptr<Implementation> implementation);
  std::shared_ptr<Implementation> implementation_;  // with the thread, which may outlive this object
};

}  // namespace weft
