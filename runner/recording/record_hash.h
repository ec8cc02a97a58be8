// A record that came out of a session, as a recording keeps it: its kind and a hash of its fields.
//
// Made by whoever steps a Session, in a bubble as well: nothing is allocated. The fields are those of the trace
// (trace/record_fields.h), so a hash means something only to a Weft whose records have the same ones: record_layout()
// tells. Pure.
#pragma once

#include <cstdint>

#include "trace/record.h"

namespace weft {

struct RecordHash {
  RecordKind kind{};
  std::uint64_t fields = 0;
  friend bool operator==(const RecordHash&, const RecordHash&) = default;
};

RecordHash hash_of(const Record& record);

// A hash of the keys of all kinds of records.
std::uint64_t record_layout();

}  // namespace weft
