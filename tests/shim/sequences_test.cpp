// Numbers of operations: one row for each peer and direction, one for the collectives of a communicator.
#include "shim/main_job/sequences.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Sequences, EachPeerAndDirectionHasItsOwn) {
  Sequences sequences{};
  for (std::uint64_t turn = 1; turn <= 3; ++turn) {
    for (const int peer : {0, 1, 4095}) {
      EXPECT_EQ(next_in_sequence(sequences, 1, Operation::send, peer), turn);
      EXPECT_EQ(next_in_sequence(sequences, 1, Operation::receive, peer), turn);
    }
  }
  Sequences others{};
  EXPECT_EQ(next_in_sequence(others, 2, Operation::send, 0), 1u);
  forget_sequences(sequences, 1);
  forget_sequences(others, 2);
}

TEST(Sequences, CollectivesOfAllKindsAreOneRow) {
  Sequences sequences{};
  EXPECT_EQ(next_in_sequence(sequences, 3, Operation::all_reduce, -1), 1u);
  EXPECT_EQ(next_in_sequence(sequences, 3, Operation::broadcast, 2), 2u);
  EXPECT_EQ(next_in_sequence(sequences, 3, Operation::scatter, 0), 3u);
}

TEST(Sequences, OneSidedOperationsAndImpossiblePeersHaveNone) {
  Sequences sequences{};
  EXPECT_EQ(next_in_sequence(sequences, 4, Operation::put, 0), 0u);
  EXPECT_EQ(next_in_sequence(sequences, 4, Operation::wait_signals, 0), 0u);
  EXPECT_EQ(next_in_sequence(sequences, 4, Operation::send, -1), 0u);
  EXPECT_EQ(next_in_sequence(sequences, 4, Operation::send, 0), 1u);
  forget_sequences(sequences, 4);
}

TEST(Sequences, AreNotKnownAfterALoss) {
  Sequences sequences{};
  EXPECT_EQ(next_in_sequence(sequences, 5, Operation::all_reduce, -1), 1u);
  lose_sequences(sequences);
  EXPECT_EQ(next_in_sequence(sequences, 5, Operation::all_reduce, -1), 0u);
  EXPECT_EQ(next_in_sequence(sequences, 5, Operation::send, 1), 0u);
}

// A communicator with more peers than there is room for: none of its later operations is given a wrong number.
TEST(Sequences, AFullTableLosesThoseOfTheCommunicatorOnly) {
  Sequences wide{};
  int peer = 0;
  while (next_in_sequence(wide, 6, Operation::send, peer) != 0 && peer < 100'000) ++peer;
  EXPECT_GT(peer, 8000);
  EXPECT_LT(peer, 100'000);
  EXPECT_EQ(next_in_sequence(wide, 6, Operation::send, 0), 0u);
  Sequences others{};
  EXPECT_EQ(next_in_sequence(others, 7, Operation::all_reduce, -1), 1u);
  forget_sequences(wide, 6);
  EXPECT_EQ(next_in_sequence(wide, 8, Operation::send, 0), 1u);
  forget_sequences(wide, 8);
}

}  // namespace
}  // namespace weft
