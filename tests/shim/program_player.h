// Plays random legal programs (tests/detector/programs.h) under the real hooks, and holds the events that these give
// against those that the oracle of the detector's tests says they give, one for one: kinds, streams, tickets, awaited
// places, their order; not their times, which are the programs' own. A fixture: what work is, and how it ends when the
// program says so, is the matter of each driver (random_programs_test.cpp, simulated_programs_test.cpp).
// WEFT_RANDOM_PROGRAMS: how many. Not played: default streams, shared hardware queues, streams that cannot be asked.
#pragma once

#include <cstdint>
#include <vector>

#include "shim/routing/vendor.h"
#include "tests/detector/programs.h"
#include "tests/shim/core_fixture.h"

class ProgramPlayer : public CoreTest {
 protected:
  using Call = weft::testing::Call;
  using Events = std::vector<weft::Event>;

  void play_all();

  static constexpr std::int64_t end_of_program = INT64_MAX;
  // Everything that ends by this time of the program is over, and seen to be.
  virtual void let_go(std::int64_t time) = 0;
  virtual void launch(const Call& call, CUstream stream) = 0;
  virtual void copy(const Call& call, CUstream stream) = 0;
  virtual void group(const Call& call, CUstream stream) = 0;
  virtual void begin_capture(CUstream stream);
  virtual void end_capture(CUstream stream);
  virtual void synchronise(const Call& call, CUstream stream);
  virtual void is_enqueued(const Call&, CUstream) {}  // behind each call that puts something onto the stream

  bool is_alive(std::size_t stream) const { return streams_.at(stream) != nullptr; }
  std::size_t streams_made() const { return streams_.size(); }  // by the program that is played
  // The events so far of the program that is played, those taken out now included.
  const Events& take_events();

 private:
  void play(const weft::testing::RandomProgram& program);
  void make(const Call& call);

  Events seen_;
  std::vector<CUstream> streams_;
  std::vector<CUevent> records_;
};
