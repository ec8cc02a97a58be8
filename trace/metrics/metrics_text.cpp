// See metrics_text.h.
#include "trace/metrics/metrics_text.h"

#include <charconv>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "trace/read/printable.h"
#include "trace/record_fields.h"

namespace weft {
namespace {

using Labels = std::initializer_list<std::pair<const char*, std::string_view>>;

// In the text of a label a backslash, a quotation mark and a line break are escaped. Other control characters, and
// bytes that are no UTF-8, would make the whole file unreadable.
std::string label(std::string_view name, std::string_view value) {
  std::string text = std::string(name) + "=\"";
  for (const char letter : printable(value)) {
    if (letter == '\\' || letter == '"') text += '\\';
    text += letter;
  }
  return text + '"';
}

// All digits: a float would lose nanoseconds after some months.
std::string seconds(Duration length) {
  constexpr std::int64_t per_second = 1'000'000'000;
  std::string text = std::to_string(length.count() / per_second);
  std::string fraction = std::to_string(per_second + length.count() % per_second).substr(1);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return fraction.empty() ? text : text + "." + fraction;
}

std::string ratio(double value) {
  std::array<char, 64> text;
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} ? std::string(text.data(), end) : "NaN";
}

class Samples {
 public:
  explicit Samples(const RankLabels& labels) {
    labels_ =
        label("run", labels.run) + "," + label("rank", labels.rank) + "," + label("gpu", std::to_string(labels.gpu));
    if (labels.stage) labels_ += "," + label("stage", std::to_string(*labels.stage));
  }

  void add(Metric metric, const std::string& value, Labels more = {}) { add(metric, "", value, more); }
  void add(Metric metric, std::uint64_t value, Labels more = {}) { add(metric, std::to_string(value), more); }
  void add(Metric metric, Duration value, Labels more = {}) { add(metric, seconds(value), more); }
  void add(Metric metric, double value) { add(metric, ratio(value)); }
  void add_flag(Metric metric, bool value) { add(metric, std::string(value ? "1" : "0")); }

  template <std::size_t buckets>
  void add(Metric metric, const LengthHistogram<buckets>& histogram, const std::array<Duration, buckets>& ends) {
    std::uint64_t count = 0;
    for (std::size_t index = 0; index < buckets; ++index) {
      count += histogram.counts[index];
      add(metric, "_bucket", std::to_string(count), {{"le", seconds(ends[index])}});
    }
    count += histogram.counts[buckets];
    add(metric, "_bucket", std::to_string(count), {{"le", "+Inf"}});
    add(metric, "_sum", seconds(histogram.sum), {});
    add(metric, "_count", std::to_string(count), {});
  }

  std::string text() const {
    std::string all;
    for (std::size_t index = 0; index < metric_infos.size(); ++index) {
      if (texts_[index].empty()) continue;
      const MetricInfo& info = metric_infos[index];
      all += std::string("# HELP ") + info.name + " " + info.help + "\n# TYPE " + info.name + " " + info.type + "\n" +
             texts_[index];
    }
    return all;
  }

 private:
  void add(Metric metric, const char* suffix, const std::string& value, Labels more) {
    const auto index = static_cast<std::size_t>(metric);
    texts_[index] += std::string(metric_infos[index].name) + suffix + "{" + labels_;
    for (const auto& [name, text] : more) texts_[index] += "," + label(name, text);
    texts_[index] += "} " + value + "\n";
  }

  std::string labels_;
  std::array<std::string, metric_infos.size()> texts_;
};

void add_idle(Samples& samples, const RankMetrics& metrics, const RankSums& sums) {
  if (!metrics.idle_known()) return samples.add(Metric::idle_unknown_info, 1, {{"reason", metrics.idle_unknown()}});
  for (std::size_t cause = 0; cause < causes; ++cause) {
    samples.add(Metric::idle_seconds_total, sums.idle[cause], {{"cause", cause_names[cause]}});
    samples.add(Metric::bubbles_total, sums.bubbles[cause], {{"cause", cause_names[cause]}});
  }
  samples.add(Metric::idle_seconds_total, sums.idle_not_recorded, {{"cause", "not_recorded"}});
  samples.add(Metric::bubbles_total, sums.bubbles_not_recorded, {{"cause", "not_recorded"}});
  samples.add(Metric::bubble_length_seconds, metrics.bubble_lengths(), bubble_buckets);
  samples.add(Metric::missing_bubbles_total, sums.missing_bubbles);
}

void add_fill(Samples& samples, const RankMetrics& metrics, const RankSums& sums) {
  if (!metrics.fills()) return;
  samples.add(Metric::filled_seconds_total, sums.filled);
  samples.add(Metric::slices_total, sums.slices);
  samples.add(Metric::fill_units_total, sums.units_right, {{"result", "right"}});
  samples.add(Metric::fill_units_total, sums.units_wrong, {{"result", "wrong"}});
  samples.add(Metric::fill_units_total, sums.units_unchecked, {{"result", "unchecked"}});
  samples.add(Metric::fill_units_total, sums.units_not_recorded, {{"result", "not_recorded"}});
  if (metrics.unfilled())
    for (std::size_t reason = 0; reason < unfilled_reasons; ++reason)
      samples.add(Metric::unfilled_bubbles_total, (*metrics.unfilled())[reason], {{"reason", unfilled_names[reason]}});
  samples.add_flag(Metric::filling_stopped, metrics.filling_stopped());
  if (metrics.filling_stopped()) samples.add(Metric::filling_stopped_info, 1, {{"reason", metrics.reason()}});
}

void add_prices(Samples& samples, const RankMetrics& metrics) {
  if (const auto& slowdown = metrics.slowdown()) {
    samples.add(Metric::slowdown_budget_ratio, slowdown->budget);
    samples.add(Metric::fill_share_ratio, slowdown->share);
    if (slowdown->is_known()) {
      samples.add(Metric::slowdown_ratio, slowdown->estimate);
      samples.add(Metric::slowdown_low_ratio, slowdown->low);
      samples.add(Metric::slowdown_high_ratio, slowdown->high);
    }
  }
  const auto& watching = metrics.watching();
  if (!watching || watching->dark == 0) return;
  samples.add(Metric::watching_ratio, watching->estimate);
  samples.add(Metric::watching_low_ratio, watching->low);
  samples.add(Metric::watching_high_ratio, watching->high);
}

void add_memory(Samples& samples, const RankMetrics& metrics) {
  if (!metrics.memory()) return;
  const MemoryRecord& memory = *metrics.memory();
  samples.add(Metric::memory_bytes, memory.cap, {{"kind", "cap"}});
  samples.add(Metric::memory_bytes, memory.reserved, {{"kind", "reserved"}});
  samples.add(Metric::memory_bytes, memory.used, {{"kind", "used"}});
  samples.add(Metric::memory_bytes, memory.device_free, {{"kind", "device_free"}});
  samples.add(Metric::memory_bytes, memory.device_total, {{"kind", "device_total"}});
  for (std::size_t event = 0; event < memory_event_names.size(); ++event)
    samples.add(Metric::memory_events_total, metrics.memory_events()[event], {{"event", memory_event_names[event]}});
}

void add_losses(Samples& samples, const RankMetrics& metrics, const SkippedLines& skipped) {
  samples.add(Metric::anomalies_total, metrics.anomalies());
  if (metrics.dropped()) samples.add(Metric::dropped_records_total, *metrics.dropped());
  if (metrics.left_out()) samples.add(Metric::records_left_out_total, *metrics.left_out());
  samples.add(Metric::skipped_lines_total, skipped.unreadable, {{"why", "unreadable"}});
  samples.add(Metric::skipped_lines_total, skipped.too_long, {{"why", "too_long"}});
  samples.add(Metric::skipped_lines_total, skipped.impossible, {{"why", "impossible"}});
  samples.add_flag(Metric::trace_limit_reached, metrics.limited());
}

}  // namespace

std::string metrics_text(const RankMetrics& metrics, const SkippedLines& skipped, const RankLabels& labels,
                         Duration now) {
  Samples samples(labels);
  const TraceHeader& header = metrics.header();
  samples.add(Metric::info, 1,
              {{"version", header.weft}, {"mode", header.mode}, {"fill_job", header.fill_job}, {"host", header.host}});
  samples.add(Metric::last_update_timestamp_seconds, now);
  if (const auto last = metrics.last_record()) samples.add(Metric::last_record_timestamp_seconds, *last);
  samples.add_flag(Metric::ended, metrics.has_summary());
  const RankSums sums = metrics.sums();
  samples.add(Metric::window_seconds_total, sums.window);
  samples.add(Metric::uncertain_seconds_total, sums.uncertain);
  samples.add(Metric::dark_seconds_total, sums.dark);
  add_idle(samples, metrics, sums);
  samples.add(Metric::iterations_total, sums.iterations);
  samples.add(Metric::iteration_seconds, metrics.iteration_lengths(), iteration_buckets);
  add_fill(samples, metrics, sums);
  add_prices(samples, metrics);
  add_memory(samples, metrics);
  add_losses(samples, metrics, skipped);
  return samples.text();
}

}  // namespace weft
