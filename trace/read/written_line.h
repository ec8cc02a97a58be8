// A line of a record that is byte for byte as this Weft writes it: all keys, in their order, nothing else. Nearly all
// lines are, and to read them so takes a small part of the time that JSON takes.
//
// Used by reader.cpp, in the weft command only. Pure. Whatever is not so, or holds something that cannot be true, is
// nothing here: then the line is taken as JSON (decode.h), which knows what is wrong with it.
#pragma once

#include <optional>
#include <string_view>

#include "trace/record.h"

namespace weft {

// The same record as decode_record() of that line, without a doubt.
std::optional<Record> read_written_record(std::string_view line);

}  // namespace weft
