// The rows of a pass, its guesses, and which of them become text: one lane at a time.
//
// Called by the kernels in generate.cu and by those in sim_kernels.cpp, for each lane. See rows.h for the words. A
// guess becomes text where it is the token that the model itself finds most likely behind the text so far; so the text
// is that of greedy decoding, whatever was guessed.
#pragma once

#include <cstdint>

#include "gpt.h"
#include "rows.h"

namespace generate {

// All that belongs to the texts of a unit.
struct Texts {
  Tree tree{};
  int lanes = 0, stride = 0;
  int positions = 0;  // of the model: no text is longer
  int prompt = 0;     // tokens of a prompt at most
  int most = 0;       // tokens that are to be found
  int stop = -1;      // the token that ends a text; -1: none
  Lane* lane = nullptr;
  int* text = nullptr;           // [lane][position]
  int* rows = nullptr;           // tokens of the model's rows, [lane][place]
  int* draft_rows = nullptr;     // of the chain of the drafts, [lane][place]
  int* kept = nullptr;           // see Kept
  const int* prompts = nullptr;  // [lane][prompt]
  const std::uint32_t* prompt_lengths = nullptr;
  int* found = nullptr;  // the results: tokens, [lane][most]
  std::uint32_t* found_lengths = nullptr;
  int* passes = nullptr;           // [lane]
  std::uint32_t* again = nullptr;  // 0 before the first pass of a unit, and behind the last one
};

FILL_BOTH int smaller(int a, int b) {
  return a < b ? a : b;
}

FILL_BOTH void begin(int number, const Texts& t) {
  Lane lane{};
  lane.prompt = lane.length = smaller(static_cast<int>(t.prompt_lengths[number]), t.prompt);
  lane.end = smaller(lane.length + t.most, t.positions);
  lane.over = lane.length == 0 || lane.length >= lane.end ? 1 : 0;
  for (int i = 0; i < lane.length; ++i) t.text[number * t.positions + i] = t.prompts[number * t.prompt + i];
  t.found_lengths[number] = 0;
  t.passes[number] = 0;
  t.lane[number] = lane;
}

// The rows of this pass, without guesses.
FILL_BOTH void plan(int number, const Texts& t) {
  if (*t.again == 0) begin(number, t);
  Lane& lane = t.lane[number];
  const int left = lane.length - lane.cached;
  lane.chain = left > 1 ? smaller(left, t.stride) : 0;
  lane.draft_chain = smaller(lane.cached + (lane.chain > 0 ? lane.chain : 1) - lane.draft_cached, t.stride);
  const int* const text = t.text + static_cast<std::int64_t>(number) * t.positions;
  const int own = lane.over != 0 ? 0 : lane.chain > 0 ? lane.chain : 1;
  for (int row = 0; row < t.stride; ++row) {
    t.rows[number * t.stride + row] = row < own ? text[lane.cached + row] : -1;
    t.draft_rows[number * t.stride + row] =
        lane.over == 0 && row < lane.draft_chain ? text[lane.draft_cached + row] : -1;
  }
}

// Takes over the guesses of a draft: behind its chain (level 0: one for each branch), or behind those of the level
// before. `rows`: tokens of its branches.
FILL_BOTH void guess(int number, const Texts& t, const Shape& s, int draft, int level, const Best* found, int* rows) {
  const Lane& lane = t.lane[number];
  for (int branch = 0; branch < t.tree.width; ++branch) {
    int token = -1;
    // The draft has seen what it guesses from, and both models have a place for the guess.
    const int position = lane.cached + 1 + level;
    const bool fits = position < t.positions && position <= s.positions;
    if (lane.over == 0 && lane.chain == 0 && fits) {
      const int from = level == 0 ? lane.draft_chain - 1 : (level - 1) * t.tree.width + branch;
      const bool has_seen = level == 0 || rows[number * t.stride + from] >= 0;
      if (has_seen) token = found[number * t.stride + from].token[level == 0 ? branch : 0];
    }
    rows[number * t.stride + level * t.tree.width + branch] = token;
    if (lane.chain == 0) t.rows[number * t.stride + tree_row(t.tree, draft, branch, level)] = token;
  }
}

// The next token of the text. False: it is over.
FILL_BOTH bool found(int number, const Texts& t, Lane& lane, int token) {
  if (token == t.stop) {
    lane.over = 1;
    return false;
  }
  t.found[number * t.most + lane.length - lane.prompt] = token;
  t.text[static_cast<std::int64_t>(number) * t.positions + lane.length++] = token;
  t.found_lengths[number] = static_cast<std::uint32_t>(lane.length - lane.prompt);
  if (lane.length == lane.end) lane.over = 1;
  return lane.over == 0;
}

// The guesses of all branches that agree with the text so far count: two drafts may have begun alike.
FILL_BOTH void walk(int number, const Texts& t, Lane& lane, const Best* best) {
  const int* const rows = t.rows + number * t.stride;
  const int branches = t.tree.drafts * t.tree.width;
  std::uint64_t agree = ~std::uint64_t{0};
  int from = 0;
  for (int level = 0;; ++level) {
    t.kept[number * t.stride + lane.kept++] = from;
    const int token = best[number * t.stride + from].token[0];
    if (!found(number, t, lane, token) || level == t.tree.depth) return;
    int next = -1;
    for (int branch = 0; branch < branches; ++branch) {
      const int row = 1 + branch * t.tree.depth + level;
      if (rows[row] != token) agree &= ~(std::uint64_t{1} << branch);
      if ((agree >> branch & 1U) != 0 && next < 0) next = row;
    }
    if (next < 0) return;
    from = next;
  }
}

FILL_BOTH void accept(int number, const Texts& t, const Best* best) {
  Lane& lane = t.lane[number];
  lane.kept = 0;
  lane.kept_base = lane.cached;
  if (lane.over != 0) return;
  lane.draft_cached += lane.draft_chain;
  if (lane.chain > 0) {
    for (int row = 0; row < lane.chain; ++row) t.kept[number * t.stride + lane.kept++] = row;
    if (lane.cached + lane.chain == lane.length) {
      ++lane.passes;
      found(number, t, lane, best[number * t.stride + lane.chain - 1].token[0]);
    }
  } else {
    ++lane.passes;
    walk(number, t, lane, best);
  }
  lane.cached += lane.kept;
  t.passes[number] = lane.passes;
}

// Of the whole unit.
FILL_BOTH void decide(const Texts& t) {
  std::uint32_t left = 0;
  for (int number = 0; number < t.lanes; ++number) left += t.lane[number].over == 0 ? 1 : 0;
  *t.again = left;
}

}  // namespace generate
