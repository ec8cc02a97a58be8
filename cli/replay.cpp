// weft replay: recordings of WEFT_RECORD through the decisions of this Weft.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/parse.h"
#include "cli/replayed_file.h"
#include "cli/written_trace.h"
#include "trace/read/printable.h"
#include "trace/read/same_file.h"
#include "trace/read/summary.h"
#include "weft/version.h"

namespace weft::cli {
namespace {

using nlohmann::json;

// Where the traces go: the user's folder, or one that is gone afterwards.
class TraceFolder {
 public:
  explicit TraceFolder(const std::string& wanted) : path_(wanted), is_temporary_(wanted.empty()) {
    if (!is_temporary_) {
      make_trace_folder(path_);
      return;
    }
    path_ = (std::filesystem::temp_directory_path() / "weft-replay-XXXXXX").string();
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no folder can be made for the traces: " + path_);
  }
  ~TraceFolder() {
    std::error_code ignored;
    if (is_temporary_) std::filesystem::remove_all(path_, ignored);
  }
  TraceFolder(const TraceFolder&) = delete;
  TraceFolder& operator=(const TraceFolder&) = delete;

  // Under the name of the recording, as far as it is one of a trace; of two with the same one the second gets a number.
  std::string trace_of(const std::string& recording) {
    std::string stem = std::filesystem::path(recording).stem().string();
    if (!stem.starts_with("rank")) stem = "rank." + stem;
    std::string name = stem;
    for (int number = 2; !names_.insert(name).second; ++number) name = stem + "." + std::to_string(number);
    return (std::filesystem::path(path_) / (name + ".jsonl")).string();
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  const bool is_temporary_;
  std::set<std::string> names_;
};

std::string number_text(std::uint64_t number, const char* one, const char* more) {
  return std::to_string(number) + " " + (number == 1 ? one : more);
}

std::string text_of(const ReplayPlace& place) {
  return "call " + std::to_string(place.call) + " (" + place.input + "), after event " + std::to_string(place.event) +
         ", at " + std::to_string(place.time.time_since_epoch().count()) + " ns";
}

std::string first_difference(const ReplayDifference& first) {
  return "  the first is " + text_of(first) + ":\n    recorded: " + printable(first.recorded) +
         "\n    now:      " + printable(first.now) + "\n";
}

std::string text_of(const ReplayedSession& session, const std::string& path) {
  const ReplayResult& result = session.result;
  std::string text = printable(path) + ": " + number_text(result.events, "event", "events") + ", " +
                     number_text(result.decisions, "decision", "decisions") + ", " +
                     number_text(result.launches, "launch", "launches") + ", " +
                     number_text(result.records, "record", "records") + ": ";
  text += result.differences == 0 ? "as recorded\n"
                                  : number_text(result.differences, "call of ", "calls of ") +
                                        std::to_string(result.calls) + " with another answer\n";
  if (result.first) text += first_difference(*result.first);
  if (!session.records_compared)
    text += "  its records have other fields than those of this Weft: only their kinds were compared\n";
  if (session.header.weft != std::string_view(WEFT_VERSION_STRING))
    text += "  recorded by Weft " + printable(session.header.weft) + ", replayed by " WEFT_VERSION_STRING "\n";
  if (!session.cut.empty()) text += "  it ends before the run did: " + session.cut + "\n";
  if (session.fault)
    text += "  it stops at " + text_of(session.fault->place) + ", which breaks a rule of this Weft:\n    " +
            printable(session.fault->what()) + "\n    either the file was altered or this Weft has a fault\n";
  return text;
}

json json_of(const ReplayPlace& place) {
  return {{"call", place.call},
          {"event", place.event},
          {"time", place.time.time_since_epoch().count()},
          {"input", place.input}};
}

json json_of(const ReplayedSession& session, const std::string& path) {
  const ReplayResult& result = session.result;
  json object{{"file", printable(path)},
              {"rank", session.header.rank},
              {"device", session.header.device},
              {"weft", printable(session.header.weft)},
              {"calls", result.calls},
              {"events", result.events},
              {"decisions", result.decisions},
              {"launches", result.launches},
              {"records", result.records},
              {"records_compared", session.records_compared},
              {"differences", result.differences},
              {"first_difference", nullptr},
              {"cut", session.cut.empty() ? json() : json(session.cut)},
              {"fault", nullptr}};
  if (const auto& first = result.first) {
    json& difference = object["first_difference"] = json_of(static_cast<const ReplayPlace&>(*first));
    difference["recorded"] = printable(first->recorded);
    difference["now"] = printable(first->now);
  }
  if (session.fault) {
    object["fault"] = json_of(session.fault->place);
    object["fault"]["rule"] = printable(session.fault->what());
  }
  return object;
}

const char* const otherwise =
    "Where answers differ, the training is still as it was recorded: nobody knows how it would have gone on.\n";

// A file that cannot be replayed, or its end.
struct LeftOut {
  std::string path, why;
};

json json_of(const std::vector<LeftOut>& left_out) {
  json objects = json::array();
  for (const LeftOut& file : left_out)
    objects.push_back({{"file", printable(file.path)}, {"why", printable(file.why)}});
  return objects;
}

void print(const std::vector<ReplayedFile>& files, const std::vector<LeftOut>& left_out, const std::string& folder,
           bool as_json) {
  const RunSummary run = summarize_directories({folder});
  json objects = json::array();
  std::string text;
  bool any_differs = false;
  for (const ReplayedFile& file : files) {
    any_differs = any_differs || file.differences() != 0;
    for (const ReplayedSession& session : file.sessions) {
      objects.push_back(json_of(session, file.path));
      text += text_of(session, file.path);
    }
  }
  if (as_json)
    text = json{{"replayed", objects}, {"left_out", json_of(left_out)}, {"summary", json::parse(to_json(run))}}.dump() +
           "\n";
  else
    text = to_text(run, "replayed") + "\n" + text + (any_differs ? otherwise : "");
  std::fputs(text.c_str(), stdout);
}

// Of a folder its recordings.
std::vector<std::string> files_of(const std::vector<std::string>& paths, std::vector<LeftOut>& left_out) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    std::set<std::string> found;
    for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error))
      if (entry->path().filename().string().starts_with("rank") && entry->path().extension() == ".weftrec")
        found.insert(entry->path().string());
    if (error) left_out.push_back({path, "cannot be read: " + error.message()});
    if (!error && found.empty())
      left_out.push_back({path, "has no recordings (rank*.weftrec): WEFT_RECORD=on makes some"});
    files.insert(files.end(), found.begin(), found.end());
  }
  return each_once(files);
}

// The files of which `use` throws nothing; the others are left out.
template <class Use>
std::vector<std::string> usable(const std::vector<std::string>& paths, std::vector<LeftOut>& left_out, Use use) {
  std::vector<std::string> good;
  for (const std::string& path : paths) {
    try {
      use(path);
      good.push_back(path);
    } catch (const RecordingError& error) {
      left_out.push_back({path, error.what()});
    }
  }
  return good;
}

int exit_code(const std::vector<ReplayedFile>& files, const std::vector<LeftOut>& left_out) {
  const auto any = [&](auto is_so) { return std::any_of(files.begin(), files.end(), is_so); };
  if (any([](const ReplayedFile& file) { return file.has_fault(); })) return replay_has_fault;
  if (!left_out.empty()) return replay_left_out;
  return any([](const ReplayedFile& file) { return file.differences() != 0; }) ? replay_differs : replay_agrees;
}

}  // namespace

int replay_verb(const Arguments& arguments) {
  bool as_json = false;
  std::string output;
  std::vector<std::string> paths;
  CLI::App app(
      "Takes recordings (WEFT_RECORD=on) through the decisions of this Weft and says whether they are the recorded "
      "ones.\n\n"
      "It goes as fast as it can, and needs no GPU (docs/replay.md).",
      "weft replay");
  app.add_flag("--json", as_json, "One JSON object; times are nanoseconds.");
  app.add_option("--output", output, "Keep the traces that come out, in this new directory.")->type_name("DIR");
  app.add_option("FILE", paths, "Recordings of one run, or their directory. They are rank*.weftrec, beside its traces.")
      ->required()
      ->type_name("");
  if (const auto code = parse(app, arguments)) return *code;
  std::vector<ReplayedFile> files;
  std::vector<LeftOut> left_out;
  // Nothing is made for files of which none can be replayed.
  paths = usable(files_of(paths, left_out), left_out, check_recording);
  if (!paths.empty()) {
    TraceFolder folder(output);
    usable(paths, left_out,
           [&](const std::string& path) { files.push_back(replay_file(path, folder.trace_of(path))); });
    for (const ReplayedFile& file : files)
      if (!file.damage.empty()) left_out.push_back({file.path, file.damage + ": what is behind that was left out"});
    if (!files.empty()) print(files, left_out, folder.path(), as_json);
  }
  for (const LeftOut& file : left_out) complain(printable(file.path) + " " + file.why);
  return exit_code(files, left_out);
}

}  // namespace weft::cli
