// Streams of the main job: how far each has got, what it waits for, and whether that makes the GPU idle.
//
// Fed by the detector, one thread. Knows markers, groups and answers, no time. The rule is written out in README.md.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "detector/groups.h"
#include "detector/queues.h"
#include "detector/ring_queue.h"

namespace weft {

// The GPU is idle because this stream waits for this group, seen in this way.
struct Idleness {
  GroupId group = 0;
  StreamId stream = 0;  // 0: the host waits, or nobody
  Pattern pattern = Pattern::event_wait;
  friend bool operator==(const Idleness&, const Idleness&) = default;
};

// Why time is uncertain that is so only where it lasts: the host may just be slow.
// Compared by its address: one object, as literals are several.
inline constexpr char host_wait_outside_cuda[] =
    "host wait outside CUDA: nothing to compute was left, nothing was launched, and no communication was under way";

// Whether compute runs, as far as it can be told.
struct Verdict {
  enum class Kind : std::uint8_t { busy, idle, uncertain };
  Kind kind = Kind::busy;  // also where no communication is under way: then idle time is nobody's business here
  Idleness idleness{};
  const char* why = nullptr;  // uncertain: a string literal
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

class Streams {
 public:
  // `one_queue`: all streams may share one hardware queue, in which work waits for what was enqueued before it.
  // `checks_kept`: see DetectorOptions.
  explicit Streams(GroupTable& groups, bool one_queue = false, bool checks_kept = false)
      : groups_(groups), one_queue_(one_queue), checks_kept_(checks_kept) {}

  void set_order(StreamId stream, StreamOrder order);  // for ever
  void order_is_unsure() { is_stale_ = order_is_unsure_ = true; }
  // Any two streams may share one, unless they were seen apart. Before, kernels are taken to hold up nobody.
  void queues_are_shared() { is_stale_ = queues_are_shared_ = true; }
  // By something that has no mark; all tickets up to `newest` were given out before.
  void legacy_used(Ticket newest) {
    legacy_used_ = newest;
    is_stale_ = true;
  }
  void group_issued(const Group& group, Ticket ticket);
  void wait_issued(const Event& wait);
  void context_waits(const Event& wait);
  void mark_issued(const Event& mark);
  // For the first time since its last group or wait; all tickets up to `newest` were given out before.
  void launch_noted(StreamId stream, Ticket newest);
  // The next groups and waits of the stream have no marks. `next`: the ticket that is given out next.
  // `only_copy`: of a copy, no communication has gone by.
  void marks_held_back(StreamId stream, Ticket next, bool only_copy);
  // Nothing documents which record the graph takes notice of: it may compute.
  void graph_wait_moved();
  void host_wait_begun(StreamId stream);
  void host_wait_ended(StreamId stream);
  // `last`: is written behind all that it had left; 0: it had nothing to compute.
  void stream_destroyed(StreamId stream, Ticket last = 0);
  // A blocking stream is destroyed with work left that has no mark behind it; all tickets up to `newest` were given out
  // before.
  void stream_abandoned(StreamId stream, Ticket newest);
  // This group is not over, and no longer followed.
  void lose_sight(const Group& forgotten);

  void group_started(GroupId group);
  void group_done(GroupId group);
  // The marker ahead of a wait, or behind it, was seen. False: no such marker is known.
  bool marker_reached(StreamId stream, Ticket ticket);
  void answered(StreamId stream, Answer answer);
  // All words that were written before a look have been told.
  void looked();
  // The framework says that it has nothing to compute, or no longer. Then it is idle time also where no communication
  // is under way, as soon as streams have been asked.
  void idle_said(bool said) { is_stale_ = std::exchange(idle_said_, said) != said || is_stale_; }

  // The host launches nothing and calls nothing, or no longer. Where all streams are dry then, it waits for something
  // that nobody sees.
  void host_is_still(bool still) { is_stale_ = std::exchange(host_is_still_, still) != still || is_stale_; }

  // The oldest group of the stream that is not over; nullptr: none.
  Group* first_pending(StreamId stream);

  // The stream has got something to compute, and is through with it, since it was asked last: it was dry then, too.
  bool ran_unseen(StreamId stream, const Answer& answer) const;

  // Asks nothing anew where nothing has changed that it depends on.
  Verdict verdict();
  // None is asked for until further notice: no stream has to be asked.
  void suspend_verdicts();
  // Streams without a mark ahead decide the verdict: each is to be asked whether it has work left. As of the latest
  // verdict; answers are forgotten when it becomes false.
  bool wants_answers() const { return wants_answers_ && !is_settled_; }
  // The answer that counts for this stream; nothing: it need not be asked.
  std::optional<Answer> answer_of(StreamId stream) const;
  bool is_doubtful(StreamId stream) const;  // see Detector
  // Appends the streams, of those that are known, that have to be asked.
  void to_ask(std::vector<StreamId>& streams) const;

  Enqueued enqueued_while_host_waits() const;  // see Detector

  std::uint64_t dropped() const { return lost_; }

 private:
  // copied: behind a copy between host and device, a host function, or a wait for either.
  enum class Kind : std::uint8_t { none, start, wait, passed, copied, lost };
  // A place that a stream has still to reach, or has reached last.
  struct Mark {
    Kind kind = Kind::none;
    bool nothing_before = false;  // to compute since the mark before
    Ticket ticket = 0;
    GroupId group = 0;       // start: the group; wait: the one at the end of the chain, 0: not known when it was issued
    AwaitedPlace awaited{};  // wait: for this
    Ticket passed = 0;       // wait: written behind it; 0: by nobody, it ends with the group. passed: the wait's own
    InGraph in_graph = InGraph::no;  // wait
    Ticket launched = 0;             // something was launched behind it when this was the newest ticket; 0: not known
    bool only_copies = false;        // lost: no communication is among what has no mark
    // lost: this mark and perhaps later ones were. Where the stream is shows when it reaches one that is known. Ahead:
    // nobody knows where the stream is once it is through with what stands before it.
  };
  // held: a mark lies ahead and nothing to compute before it. Its hardware queue is blocked, or it is about to get
  // there. lost: nobody knows.
  // ordered: it has something to compute, which waits for a stream of the other kind (StreamOrder).
  enum class Position : std::uint8_t { running, in_group, waiting, held, ordered, behind, lost };
  struct Stream {
    StreamId id = 0;
    StreamOrder order = StreamOrder::none;
    Mark at{};  // reached last
    // Of each as many as marker words let be outstanding; full, the oldest are lost and the stream is out of sight.
    RingQueue<Mark> ahead{65536};      // issued, not reached
    RingQueue<GroupId> groups{32768};  // issued on this stream, not done
    Answer answer;
    std::uint64_t asked = 0;                     // in which period of questions
    std::uint64_t done = 0;                      // groups
    std::uint64_t waits = 0;                     // for groups of other streams
    std::uint64_t waited_for = 0;                // its groups, by other streams
    std::optional<CommunicatorId> communicator;  // of its groups
    bool has_others = false;                     // some were of another one
    bool sends_only = true;
    std::uint64_t launched = 0;  // marks that may have had something to compute before them
    bool had_work = false;       // was busy when it was asked
    bool destroyed = false;
    bool abandoned = false;             // destroyed, and it may have work left behind all its marks
    Ticket abandoned_at = 0;            // the newest ticket then
    bool is_doubtful = false;           // in the latest verdict: what it has left may stand behind a blocked stream
    bool was_doubtful = false;          // in any
    Position where = Position::behind;  // in the latest verdict
    bool end_matters = true;            // to the latest verdict: none of its marks was an obstacle
  };
  // Nothing behind this ticket runs in the hardware queue of the stream.
  struct BlockedPlace {
    StreamId stream;
    Ticket place;
    HeldBy by;
    bool holds_up_another;  // perhaps
  };
  // A wait of a whole context: for this; what was enqueued before the ticket was given out does not wait.
  struct ContextWait {
    AwaitedPlace awaited;
    Ticket place;
  };
  // The streams of one verdict that are not known to run.
  struct Standing {
    const Stream* in_group = nullptr;  // the first one
    bool busy = false;                 // one has answered so
    bool doubtful = false;             // one has work left, and may not get to it
    bool is_lost = false;              // of one nobody knows where it is
    bool is_abandoned = false;         // one was destroyed, and may have work left
    const char* captured = nullptr;    // why, where one is in a captured step
    bool in_graph = false;             // one is in a graph that waits, or computes
    bool is_ordered = false;           // one is held up by the other kind
    const char* unknown = nullptr;
  };

  // Besides how far streams have got, the latest verdict depends on these.
  struct Reads {
    bool tickets = false;  // the newest one
    bool counts = false;   // of waits and groups
    bool past = false;     // which groups are forgotten, of those that are over
    bool marks = false;    // all that are ahead
  };

  static constexpr int most_looks_to_learn = 1024;
  static constexpr std::size_t most_context_waits = 64;  // more are taken for over
  // Communication, or what may be some.
  struct UnderWay {
    bool group = false;                   // also where a stream was lost, or waits for something that is not known
    const char* captured_step = nullptr;  // why it is not known what runs
  };

  static constexpr std::size_t most_host_waits = 64;  // at a time: threads of the main job that wait on one device
  static constexpr std::size_t most_streams = 8192;   // at a time: as many as the shim can tell apart

  std::vector<Stream>::iterator place_of(StreamId id);
  Stream* find(StreamId id) {
    const std::size_t place = places_[id % places_.size()];
    return place < streams_.size() && streams_[place].id == id ? &streams_[place] : search(id);
  }
  const Stream* find(StreamId id) const { return const_cast<Streams*>(this)->find(id); }
  Stream* search(StreamId id);
  Stream* find_or_add(StreamId id);
  void issue(Stream& stream, const Mark& mark);
  void lose_sight(Stream& stream, Ticket first);
  void reach(Stream& stream, std::size_t marks);
  void erase_if_over(StreamId id);
  GroupId group_behind(const AwaitedPlace& place) const;
  bool is_in_group(const Stream& stream) const {
    return stream.at.kind == Kind::start && groups_.pending(stream.at.group);
  }
  bool is_waiting(const Stream& stream) const {
    return stream.at.kind == Kind::wait && (stream.at.passed != 0 || groups_.pending(stream.at.group));
  }
  Answer current_answer(const Stream& stream) const {
    // Nobody can ask a stream that is gone. It had no mark left.
    if (stream.destroyed) return {StreamAnswer::dry};
    return stream.asked == questions_ ? stream.answer : Answer{};
  }
  Group* first_pending(const Stream& stream) const;
  static bool has_known_mark_ahead(const Stream& stream);
  bool is_asked(const Stream& stream) const;
  // kept_verdict.cpp
  struct Kept;
  Kept kept() const;
  void check_kept();
  void new_verdict();
  bool matters(const Stream& stream, const Mark& next) const;
  // verdict.cpp
  Verdict find_verdict();
  Position position(const Stream& stream) const;  // now; for the rule itself Stream::where, which is this
  bool look_at(const Stream& stream, Standing& standing) const;
  // The stream whose group, or whose wait for something outside of this device, holds this one up; nullptr: none is
  // known. `runs`: one on the way runs.
  // `for_copy`: the one before, which waits for a copy of this one, the next behind `copy_place`.
  const Stream* root_of(const Stream& waiting, bool& runs, const Stream* for_copy = nullptr,
                        Ticket copy_place = 0) const;
  bool is_past(const Stream& stream, Ticket place) const;
  Verdict stop_asking();
  static bool copies_out_of_sight(const Stream& lost);
  bool waits_for_unknown(const Stream& stream, Position where) const;
  bool has_begun(const Group& group) const;
  // An earlier group of its communicator, on another stream, is one of these. A captured step may hold operations of
  // several communicators, so nothing is known of it.
  template <class IsOne>
  bool waits_for_earlier(const Group& group, IsOne is_one) const {
    if (group.captured != Captured::none) return false;
    for (const Stream& each : streams_) {
      if (each.id == group.stream || (each.communicator != group.slot.communicator && !each.has_others)) continue;
      for (std::size_t i = 0; i < each.groups.size() && each.groups[i] < group.id; ++i) {
        const Group* other = groups_.find(each.groups[i]);
        if (other != nullptr && other->captured == Captured::none &&
            other->slot.communicator == group.slot.communicator && is_one(*other))
          return true;
      }
    }
    return false;
  }
  UnderWay look_for_groups() const;
  static const char* why_captured(const Group& group);
  bool may_compute(const Mark& wait) const;
  bool has_asked() const;
  Idleness explain(const Standing& standing) const;
  bool computes(const Stream& stream) const;
  bool is_inline(const Stream& stream) const;
  const Group* first_to_wait_for(const Stream& stream) const;
  static bool waits_for(const Stream& stream, const Group& group);
  const Group* group_of_wait(const Stream& stream) const;
  const Group* group_of_host_wait() const;
  // default_streams.cpp
  const Stream* legacy() const { return legacy_ == 0 ? nullptr : find(legacy_); }
  const Stream* holder_of(const Stream& stream) const;
  bool has_more_than_holder(const Stream& stream) const;
  bool stands_whatever_it_has(const Stream& stream) const;
  bool legacy_is_held_up() const;
  bool a_blocking_stream_copies() const;
  StreamAnswer says_for_itself(const Stream& stream) const;
  void end_abandoned(std::optional<Ticket> before);
  bool legacy_stands_between() const;
  bool may_stand_behind_legacy(const Stream& stream) const;
  bool may_stand_behind_held_up(const Stream& running);
  const Stream* first_holder_besides(const Stream& stream) const;
  const Stream* holder_of_work(const Stream& stream) const;
  // doubts.cpp
  enum class Passed : std::uint8_t { group, call };  // the start of a group, anything else
  void find_sharers();
  bool may_be_held_up(const Stream& stream) const;
  std::uint64_t held_up_perhaps() const;
  // In their order, until one answers no; whether none does.
  template <class Function>
  bool for_each_sharer(const Stream& stream, Function function) {
    if (are_sharers_stale_) find_sharers();
    if (streams_.size() > sharers_.size())
      return std::all_of(streams_.begin(), streams_.end(), [&](const Stream& other) {
        return other.id == stream.id || queues_.are_apart(stream.id, other.id, HeldBy::wait) || function(other);
      });
    std::uint64_t left = sharers_[static_cast<std::size_t>(&stream - streams_.data())];
    for (; left != 0; left &= left - 1)
      if (!function(streams_[static_cast<std::size_t>(std::countr_zero(left))])) return false;
    return true;
  }
  static Passed passed_by(const Stream& stream);
  void note_passed(const Stream& stream, Ticket place, Passed by);
  // Who gets past these tickets stands in another hardware queue.
  struct ProvingPlaces {
    std::optional<Ticket> wait, kernel;
  };
  ProvingPlaces proving_places(const Stream& stream, Passed by) const;
  bool surely_holds(const Stream& stream, const Mark& obstacle) const;
  void note_passed(const Stream& stream, StreamId blocked, const ProvingPlaces& held, Ticket place);
  void note_passed_already(const Stream& blocked);
  bool may_be_past(Ticket place, const Stream& stream) const;
  std::optional<Ticket> place_of_work(const Stream& stream) const;
  std::optional<Ticket> blocked_place(Stream& stream) const;
  std::optional<Ticket> proving_place(const Stream& stream, Passed by) const;
  bool waits_for_earlier_group(const Stream& stream) const;
  std::optional<Ticket> launched_behind(const Stream& stream, const Mark& place, bool is_launched, Passed by) const;
  std::optional<Ticket> waiting_kernel(const Stream& stream) const;
  std::optional<Ticket> proving_kernel(const Stream& stream, Passed by) const;
  bool is_held_at(const Stream& stream, HeldPlace place) const;
  const Mark* first_obstacle(const Stream& stream) const;
  bool is_open_wait(const Mark& mark) const;
  static bool is_marked_behind(const Mark& reached, Ticket place);
  bool is_over(const AwaitedPlace& place) const;
  void look_for_doubts();
  void find_blocked_places(std::uint64_t held_up);
  bool may_be_blocked(const Stream& stream, Ticket work) const;
  Verdict busy_for_sure(const Stream& running);
  bool may_learn() const;
  bool may_stand_behind(const Stream& stream, Ticket work, const BlockedPlace& place) const;
  // one_queue.cpp
  void look_for_proof(Ticket reached);
  void look_at_proof();
  std::optional<Ticket> place_behind_group(const Stream& stream) const;

  GroupTable& groups_;
  const bool one_queue_;
  const bool checks_kept_;
  bool is_stale_ = true;             // something has changed that the latest verdict depends on, or may depend on
  Verdict verdict_;                  // the latest
  bool leaves_nothing_out_ = false;  // the verdict that is found now: places that cannot matter are looked at, too
  mutable Reads reads_;
  bool ends_pass_ = false;       // the mark behind a group that is not over was seen to hold nobody up
  GroupId proof_ = 0;            // a group that shows it if it is not over by then
  bool proof_is_older_ = false;  // than the latest look
  Queues queues_;
  std::vector<Stream> streams_;  // by id: ids rise for as long as the process lives, few streams live at a time
  std::array<std::uint16_t, 256> places_{};  // where streams were found last, by the end of their ids
  // Of each of the first streams the others, a bit for each, that may share its hardware queue. Not kept of more.
  std::array<std::uint64_t, 64> sharers_{};
  std::uint64_t sharing_ = 0;  // which of them have any
  bool are_sharers_stale_ = true;
  std::vector<StreamId> host_waits_;
  std::vector<BlockedPlace> blocked_;       // of the latest verdict
  std::vector<ContextWait> context_waits_;  // not over
  bool are_after_dark_ = false;             // no verdict since without a stream that is out of sight
  bool is_in_doubt_ = false;                // in the latest verdict one is doubtful
  bool is_learning_ = false;                // asks although compute runs
  int looks_learned_ = 0;                   // since a stream was doubtful for the first time
  int looks_to_learn_ = 0;                  // that many more
  int looks_for_blocking_ = 0;  // in which all were asked because the legacy stream may hold up unknown ones
  bool looks_for_blocking_now_ = false;
  bool idle_said_ = false;
  bool host_is_still_ = false;
  bool is_settled_ = false;  // all work is done, and the host launches nothing: no answer changes before it acts
  Ticket newest_ = 0;        // of all marks
  GroupId newest_group_ = 0;
  bool wants_answers_ = false;
  std::uint64_t questions_ = 1;       // the period of questions
  std::uint64_t others_unknown_ = 0;  // the latest in which not all streams could be named
  std::uint64_t lost_ = 0;
  StreamId legacy_ = 0;  // the legacy default stream, once it is known
  Ticket legacy_used_ = 0;
  bool legacy_stands_between_ = false;  // in the latest verdict
  bool have_orders_ = false;            // some stream has one, or had
  bool order_is_unsure_ = false;
  bool queues_are_shared_ = false;
};

}  // namespace weft
