// The writer in a process that has run out of memory: each allocation fails once, and from each on all of them do. The
// process goes on, and what is not in the file is counted.
#include <gtest/gtest.h>

#include <string>

#include "tests/trace/failing_memory.h"
#include "tests/trace/temporary_directory.h"
#include "trace/write/writer.h"

namespace weft {
namespace {

using test::FailingMemory;
using test::Failure;

constexpr std::uint64_t records = 400;  // more than fit into the text that is there from the start

void warn(Audience, const std::string&) {}

// False: the memory lasted to the end.
bool run_out(long allocation, Failure failure) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path();
  TraceHeader header;
  header.mode = "observe";
  std::unique_ptr<TraceWriter> writer;
  std::uint64_t dropped = 0;
  bool struck = false;
  {
    const FailingMemory memory(allocation, failure);
    try {
      std::string error;
      writer = TraceWriter::open(path, header, TraceWriter::unlimited, &warn, error);
    } catch (const std::bad_alloc&) {
      // For the caller to handle, as the memory of its own thread.
    }
    if (writer) {
      for (std::uint64_t i = 0; i < records; ++i) writer->push(Record());
      writer->finish({});
      dropped = writer->dropped();
    }
    struck = memory.struck();
  }
  if (!writer) return struck;
  const auto lines = test::lines_of(test::read_file(writer->path()));
  EXPECT_GE(lines.size() + dropped, records) << allocation;
  if (!struck) {
    EXPECT_EQ(lines.size(), records + 2) << allocation;
  }
  return struck;
}

TEST(TraceWriterWithoutMemory, EachAllocationMayFail) {
  long allocation = 0;
  while (run_out(allocation, Failure::once)) ++allocation;
  EXPECT_GT(allocation, 5);
}

TEST(TraceWriterWithoutMemory, FromEachAllocationOnAllMayFail) {
  long allocation = 0;
  while (run_out(allocation, Failure::from_then_on)) ++allocation;
  EXPECT_GT(allocation, 5);
}

}  // namespace
}  // namespace weft
