// The field numbers of Perfetto's messages; see the header.
#include "trace/export/perfetto_packets.h"

#include <algorithm>

#include "trace/formatted.h"

namespace weft {
namespace {

using protozero::pbf_tag_type;
using protozero::pbf_writer;

namespace trace_field {
constexpr pbf_tag_type packet = 1;
}
namespace packet_field {
constexpr pbf_tag_type clock_snapshot = 6, timestamp = 8, sequence = 10, names = 12, sequence_flags = 13, clock = 58,
                       track_descriptor = 60;
// Of sequence_flags: no name of an earlier packet is good any more; names of earlier packets are used.
constexpr std::uint32_t state_cleared = 1, needs_state = 2;
}  // namespace packet_field
namespace snapshot_field {
constexpr pbf_tag_type clock = 1, primary_clock = 2, clock_id = 1, clock_time = 2;
}
namespace clock_id {
constexpr std::uint32_t wall = 1, monotonic = 3;
}
namespace descriptor_field {
constexpr pbf_tag_type uuid = 1, name = 2, parent = 5, counter = 8, child_ordering = 11, order = 12;
constexpr pbf_tag_type unit_name = 6;              // of `counter`
constexpr std::int32_t ordered_by_their_rank = 3;  // of `child_ordering`
}  // namespace descriptor_field
namespace event_field {
constexpr pbf_tag_type category_id = 3, argument = 4, type = 9, name_id = 10, track = 11, category = 22, name = 23,
                       number = 44, flow = 47, ended_flow = 48;
}
namespace argument_field {
constexpr pbf_tag_type name_id = 1, flag = 2, unsigned_value = 3, signed_value = 4, number = 5, text = 6, name = 10,
                       text_id = 17;
}

// The format knows no time before its clock began: a trace that was tampered with may.
std::uint64_t nanoseconds(TimePoint time) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(time.time_since_epoch().count(), 0));
}

}  // namespace

void PerfettoArguments::hash(const char* key, std::uint64_t bits) {
  if (bits != 0) add_text(key, formatted("%016llx", static_cast<unsigned long long>(bits)));
}

void PerfettoArguments::add_name(pbf_writer& argument, const char* key) {
  const std::string name = prefix_ + key;
  if (const std::uint64_t id = names_.id_of(PerfettoName::argument, name))
    argument.add_uint64(argument_field::name_id, id);
  else
    argument.add_string(argument_field::name, name);
}

void PerfettoArguments::add_unsigned(const char* key, std::uint64_t value) {
  pbf_writer argument(event_, event_field::argument);
  add_name(argument, key);
  argument.add_uint64(argument_field::unsigned_value, value);
}

void PerfettoArguments::add_signed(const char* key, std::int64_t value) {
  pbf_writer argument(event_, event_field::argument);
  add_name(argument, key);
  argument.add_int64(argument_field::signed_value, value);
}

void PerfettoArguments::add_number(const char* key, double value) {
  pbf_writer argument(event_, event_field::argument);
  add_name(argument, key);
  argument.add_double(argument_field::number, value);
}

void PerfettoArguments::add_flag(const char* key, bool value) {
  pbf_writer argument(event_, event_field::argument);
  add_name(argument, key);
  argument.add_bool(argument_field::flag, value);
}

void PerfettoArguments::add_text(const char* key, std::string_view value) {
  if (value.empty()) return;
  pbf_writer argument(event_, event_field::argument);
  add_name(argument, key);
  if (const std::uint64_t id = names_.id_of(PerfettoName::value, value))
    argument.add_uint64(argument_field::text_id, id);
  else
    argument.add_string(argument_field::text, value.data(), value.size());
}

void PerfettoPackets::clocks(TimePoint time, Duration wall_clock) {
  packet_.clear();
  pbf_writer packet(packet_);
  {
    pbf_writer snapshot(packet, packet_field::clock_snapshot);
    const auto add_clock = [&](std::uint32_t id, std::uint64_t shown) {
      pbf_writer clock(snapshot, snapshot_field::clock);
      clock.add_uint32(snapshot_field::clock_id, id);
      clock.add_uint64(snapshot_field::clock_time, shown);
    };
    add_clock(clock_id::monotonic, nanoseconds(time));
    add_clock(clock_id::wall, static_cast<std::uint64_t>(wall_clock.count()));
    snapshot.add_uint32(snapshot_field::primary_clock, clock_id::monotonic);
  }
  write_packet();
}

void PerfettoPackets::begin_sequence(std::uint32_t number) {
  sequence_ = number;
  first_of_sequence_ = true;
  names_.clear();
}

void PerfettoPackets::track(const PerfettoTrack& track) {
  packet_.clear();
  pbf_writer packet(packet_);
  {
    pbf_writer descriptor(packet, packet_field::track_descriptor);
    descriptor.add_uint64(descriptor_field::uuid, track.id);
    descriptor.add_string(descriptor_field::name, track.name);
    if (track.parent != 0) descriptor.add_uint64(descriptor_field::parent, track.parent);
    if (track.unit != nullptr) {
      pbf_writer counter(descriptor, descriptor_field::counter);
      counter.add_string(descriptor_field::unit_name, track.unit);
    }
    if (track.has_children)
      descriptor.add_enum(descriptor_field::child_ordering, descriptor_field::ordered_by_their_rank);
    descriptor.add_int32(descriptor_field::order, track.order);
  }
  packet.add_uint32(packet_field::sequence, sequence_);
  write_packet();
}

void PerfettoPackets::begin_packet(pbf_writer& packet, TimePoint time) {
  packet.add_uint64(packet_field::timestamp, nanoseconds(time));
  packet.add_uint32(packet_field::sequence, sequence_);
  packet.add_uint32(packet_field::sequence_flags,
                    packet_field::needs_state | (first_of_sequence_ ? packet_field::state_cleared : 0));
  first_of_sequence_ = false;
  packet.add_uint32(packet_field::clock, clock_id::monotonic);
}

void PerfettoPackets::add_head(pbf_writer& into, const PerfettoEvent& event, std::int32_t type) {
  into.add_enum(event_field::type, type);
  into.add_uint64(event_field::track, event.track);
  if (event.category != nullptr) {
    if (const std::uint64_t id = names_.id_of(PerfettoName::category, event.category))
      into.add_uint64(event_field::category_id, id);
    else
      into.add_string(event_field::category, event.category);
  }
  if (!event.name.empty()) {
    if (const std::uint64_t id = names_.id_of(PerfettoName::event, event.name))
      into.add_uint64(event_field::name_id, id);
    else
      into.add_string(event_field::name, event.name.data(), event.name.size());
  }
  if (event.flows == nullptr) return;
  for (const std::uint64_t flow : event.flows->begun) into.add_fixed64(event_field::flow, flow);
  for (const std::uint64_t flow : event.flows->ended) into.add_fixed64(event_field::ended_flow, flow);
}

void PerfettoPackets::add_new_names(pbf_writer& packet) {
  const std::string names = names_.take_new();
  if (!names.empty()) packet.add_message(packet_field::names, names);
}

void PerfettoPackets::instant(const PerfettoEvent& event, TimePoint time) {
  add_event(time, event, instant_type, [](pbf_writer&) {});
}

void PerfettoPackets::counter(TrackId track, TimePoint time, double value) {
  add_event(time, {track, {}, nullptr, nullptr}, counter_type,
            [&](pbf_writer& into) { into.add_double(event_field::number, value); });
}

void PerfettoPackets::end_slice(TrackId track, TimePoint time) {
  add_event(time, {track, {}, nullptr, nullptr}, end_type, [](pbf_writer&) {});
}

void PerfettoPackets::write_packet() {
  framed_.clear();
  pbf_writer(framed_).add_message(trace_field::packet, packet_);
  file_.write(framed_);
}

}  // namespace weft
