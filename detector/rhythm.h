// The rhythm: the period of the sequence of group signatures, found online. One period is one training iteration.
//
// Fed by the detector with each issued group, in order; one thread. Amortised constant work per group: a group is
// compared with the one a period earlier; only while no rhythm is known, windows of the latest signatures are looked up
// in small tables of where they were last seen, which gives the next period to try. may_lock()
// has the rules for locking one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft {

class Rhythm {
 public:
  enum class Change : std::uint8_t { none, found, lost };

  explicit Rhythm(std::size_t longest_period);

  // Takes the next group; its position is what size() was. `collective`: it holds collectives only.
  Change observe(std::uint64_t signature, bool collective);

  // Forgets the groups; the next one has this position.
  void begin_again(std::uint64_t position);

  std::uint64_t size() const { return size_; }
  std::uint32_t period() const { return locked_ ? run_.period : 0; }
  // While a rhythm is known: since which position the sequence has been periodic, and what one period consists of, as a
  // hash that does not depend on where the period is thought to begin.
  std::uint64_t run_begin() const { return run_.begin; }
  std::uint64_t content() const { return run_.content; }
  // Whether the period can hardly be a piece of the iteration: a collective occurs in it once, or it has gone on for
  // long.
  bool sure() const;
  std::uint32_t lost_period() const { return lost_period_; }
  // Not what observe() was given, but equal where that was equal.
  std::uint64_t signature(std::uint64_t position) const { return history_[position & (history_.size() - 1)]; }
  bool is_collective(std::uint64_t position) const { return (signature(position) & 1) != 0; }
  // The oldest position whose signature is still known.
  std::uint64_t oldest() const { return size_ > history_.size() + known_from_ ? size_ - history_.size() : known_from_; }

 private:
  // Windows of these many signatures are remembered; a longer one that was seen before says more than a shorter one.
  static constexpr std::array<std::size_t, 6> windows{2, 8, 32, 128, 512, 2048};
  using Distances = std::array<std::uint64_t, windows.size()>;
  struct Seen {
    std::uint32_t tag = 0;
    std::uint32_t end = 0;  // position after the window's last signature, its low bits; 0: empty
  };
  struct Window {
    std::uint64_t hash = 0;
    std::uint64_t power = 1;  // of the base, to take the oldest signature out again
    std::vector<Seen> seen;
  };
  // A run that ended: the same content may lock again only when it lasts longer, or when a while has passed.
  struct Broken {
    std::uint64_t content = 0;
    std::uint64_t length = 0;
    std::uint64_t until = 0;
    std::uint32_t period = 0;
  };

  // Since `begin` the sequence has repeated with this period, up to its end.
  struct Run {
    std::uint32_t period = 0;  // 0: none
    std::uint64_t begin = 0;
    std::uint64_t content = 0;  // 0: not computed yet
    bool anchored = false;      // a collective occurs exactly once a period
  };

  void append(std::uint64_t signature);
  void grow();
  void rebuild_windows();
  void roll_windows(std::uint64_t position);
  void remember_windows();
  bool window_is_full(std::size_t window) const;
  Distances look_up_windows() const;
  Run start_run(std::uint64_t distance) const;
  bool may_lock(Run& run) const;
  bool shorter_run_locks(const Distances& distances);
  void run_ended();
  std::uint64_t hash_of_period(std::uint32_t period) const;
  bool holds_single_collective(std::uint32_t period) const;

  std::size_t longest_period_;
  std::size_t longest_history_;
  std::vector<std::uint64_t> history_;
  std::uint64_t size_ = 0;
  std::uint64_t known_from_ = 0;   // older positions were never in the present history
  std::uint64_t hashed_from_ = 0;  // the windows' hashes begin here
  std::uint64_t unlocked_since_ = 0;
  std::uint64_t marked_until_ = 0;  // the end of the latest rhythm that a collective marked
  std::uint64_t next_look_ = 0;     // for a shorter period than the run's
  Run run_{};                       // the one that is followed
  std::uint32_t lost_period_ = 0;
  bool locked_ = false;
  std::array<Window, windows.size()> windows_;
  std::array<Broken, 16> broken_{};
  std::size_t next_broken_ = 0;
};

}  // namespace weft
