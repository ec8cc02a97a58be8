// The packets of a Perfetto trace (protobuf), one after the other into a file. Knows the numbers of the fields and
// nothing of Weft's records but their keys.
//
// Used by perfetto.cpp and by tests, in the weft command only, on one thread. The field numbers are those of
// protos/perfetto/trace in Perfetto; they are wire format and do not change. Nothing newer than a year is used.
#pragma once

#include <cstdint>
#include <optional>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/export/output.h"
#include "trace/export/perfetto_names.h"
#include "trace/record_fields.h"

namespace weft {

using TrackId = std::uint64_t;

struct PerfettoTrack {
  TrackId id = 0, parent = 0;  // parent 0: it is the root
  std::string name;
  std::int32_t order = 0;      // among its siblings
  bool has_children = false;   // they are shown in their order
  const char* unit = nullptr;  // of a counter; nullptr: it has slices and instants
};

// Arrows by their id: they go from the one event that begins it to the one that ends it.
struct PerfettoFlows {
  std::vector<std::uint64_t> begun, ended;
};

struct PerfettoEvent {
  TrackId track = 0;
  std::string_view name;
  const char* category = nullptr;  // a string literal
  const PerfettoFlows* flows = nullptr;
};

// The fields of a record as the arguments of a slice, under the keys of docs/trace.md. Points of time are left out: the
// slice shows them. Keys in an object or list stand behind its own, with underscores: Perfetto makes them of all else.
class PerfettoArguments : public IgnoredFields {
 public:
  PerfettoArguments(protozero::pbf_writer& event, PerfettoNames& names, std::string prefix = "")
      : event_(event), names_(names), prefix_(std::move(prefix)) {}

  void count(const char* key, std::uint64_t value) { add_unsigned(key, value); }
  void integer(const char* key, std::int64_t value) { add_signed(key, value); }
  void length(const char* key, Duration value) { add_signed(key, value.count()); }
  void needed_length(const char* key, Duration value) { add_signed(key, value.count()); }
  void length_if(bool known, const char* key, Duration value) {
    if (known) add_signed(key, value.count());
  }
  void share(const char* key, double value) { add_number(key, value); }
  void share_if(bool known, const char* key, double value) {
    if (known) add_number(key, value);
  }
  void flag(const char* key, bool value) { add_flag(key, value); }
  void verdict(const char* key, int value) {
    if (value >= 0) add_flag(key, value == 1);
  }
  void text(const char* key, std::string_view value) { add_text(key, value); }
  void choice(const char* key, const auto& names, auto value) { add_text(key, names[static_cast<std::size_t>(value)]); }
  void hash(const char* key, std::uint64_t bits);
  template <class Inner>
  void object(const char* key, const std::optional<Inner>& value) {
    if (!value) return;
    PerfettoArguments inside(event_, names_, prefix_ + key + "_");
    visit_fields(inside, *value);
  }
  void list(const char* key, const auto& values) {
    std::size_t index = 0;
    for (const auto& value : values) {
      PerfettoArguments inside(event_, names_, prefix_ + key + "_" + std::to_string(index++) + "_");
      visit_fields(inside, value);
    }
  }

 private:
  void add_unsigned(const char* key, std::uint64_t value);
  void add_signed(const char* key, std::int64_t value);
  void add_number(const char* key, double value);
  void add_flag(const char* key, bool value);
  void add_text(const char* key, std::string_view value);
  void add_name(protozero::pbf_writer& argument, const char* key);

  protozero::pbf_writer& event_;
  PerfettoNames& names_;
  std::string prefix_;
};

class PerfettoPackets {
 public:
  explicit PerfettoPackets(OutputFile& file) : file_(file) {}

  // First of all: the wall clock, since 1970, at a time of the trace.
  void clocks(TimePoint time, Duration wall_clock);
  void track(const PerfettoTrack& track);
  // From here on the packets are of another writer, as the format has it; numbers from 1.
  void begin_sequence(std::uint32_t number);

  // A slice with the fields of a record; `begin` not behind `end`.
  void slice(const PerfettoEvent& event, TimePoint begin, TimePoint end, const auto& record) {
    add_event(begin, event, begin_type, [&](protozero::pbf_writer& into) { add_arguments(into, record); });
    end_slice(event.track, end);
  }
  void instant(const PerfettoEvent& event, TimePoint time, const auto& record) {
    add_event(time, event, instant_type, [&](protozero::pbf_writer& into) { add_arguments(into, record); });
  }
  void instant(const PerfettoEvent& event, TimePoint time);
  void counter(TrackId track, TimePoint time, double value);

 private:
  static constexpr std::int32_t begin_type = 1, end_type = 2, instant_type = 3, counter_type = 4;

  void add_arguments(protozero::pbf_writer& into, const auto& record) {
    PerfettoArguments arguments(into, names_);
    visit_fields(arguments, record);
  }
  template <class AddMore>
  void add_event(TimePoint time, const PerfettoEvent& event, std::int32_t type, AddMore add_more) {
    packet_.clear();
    protozero::pbf_writer packet(packet_);
    begin_packet(packet, time);
    {
      protozero::pbf_writer into(packet, track_event_field);
      add_head(into, event, type);
      add_more(into);
    }
    add_new_names(packet);
    write_packet();
  }
  void end_slice(TrackId track, TimePoint time);
  void begin_packet(protozero::pbf_writer& packet, TimePoint time);
  void add_head(protozero::pbf_writer& into, const PerfettoEvent& event, std::int32_t type);
  void add_new_names(protozero::pbf_writer& packet);
  void write_packet();

  static constexpr protozero::pbf_tag_type track_event_field = 11;

  OutputFile& file_;
  PerfettoNames names_;
  std::uint32_t sequence_ = 0;
  bool first_of_sequence_ = false;
  std::string packet_, framed_;
};

}  // namespace weft
