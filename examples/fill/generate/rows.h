// Which tokens are computed in a pass, and how they hang together: rows of each lane. A lane is one text.
//
// Pure; included by gpt.h and tree.h on both sides. Three kinds of rows:
//   chain      tokens of the text that are to be read, one behind the other
//   tree       the last token of the text (row 0) and the guesses behind it: for each branch a row of `depth` guesses
//   branches   the guesses of one draft: those of all its branches at one depth, then those at the next
#pragma once

#include "../both.h"

namespace generate {

struct Tree {
  int drafts = 0, width = 0, depth = 0;  // branches of each draft, guesses of each branch
};
FILL_BOTH int tree_rows(const Tree& t) {
  return 1 + t.drafts * t.width * t.depth;
}
FILL_BOTH int tree_row(const Tree& t, int draft, int branch, int level) {
  return 1 + (draft * t.width + branch) * t.depth + level;
}

// How far a text has got.
struct Lane {
  int length;        // tokens: those of the prompt, and those that were found
  int prompt;        // of the prompt
  int end;           // it is over when it has so many
  int cached;        // tokens whose keys and values the model has
  int draft_cached;  // and the drafts
  int chain;         // rows of this pass; 0: they are a tree
  int draft_chain;   // rows that the drafts read in this pass
  int kept;          // rows of this pass that have become text, and how many were cached before
  int kept_base;
  int passes;  // that found tokens
  int over;
};

enum class Kind : int { text, chain, branches, last_of_chain };  // text: a chain or a tree, as the lane wants

struct Rows {
  Kind kind = Kind::text;
  Tree tree{};
  int lanes = 0, stride = 0;    // stride: places for rows in each lane
  int first = 0, rows = 0;      // those of each lane that are computed
  int positions = 0;            // of the model that computes them
  const Lane* lane = nullptr;   // [lane]
  const int* tokens = nullptr;  // [lane][place]; -1: there is nothing
  FILL_BOTH int count() const { return lanes * rows; }
};

struct Row {
  int lane, place;  // place: in all arrays of rows
  int token, base, depth, position;
};

// A row that has nothing, or for which the model has no position, is computed all the same, as a text of one token: a
// pass takes as long as any other.
FILL_BOTH Row row_of(const Rows& r, int number) {
  Row row{};
  row.lane = number / r.rows;
  const Lane& lane = r.lane[row.lane];
  int at = r.first + number % r.rows;
  if (r.kind == Kind::last_of_chain) at = lane.draft_chain > 0 ? lane.draft_chain - 1 : 0;
  row.place = row.lane * r.stride + at;
  row.token = r.tokens[row.place];
  if (row.token < 0) return row;
  if (r.kind == Kind::branches) {
    row.base = lane.cached + 1;
    row.depth = at / r.tree.width;
  } else if (r.kind == Kind::text) {
    row.base = lane.cached;
    row.depth = lane.chain > 0 ? at : at == 0 ? 0 : 1 + (at - 1) % r.tree.depth;
  } else {
    row.base = lane.draft_cached;
    row.depth = at;
  }
  row.position = row.base + row.depth;
  if (row.position >= r.positions) row.token = -1, row.base = row.depth = row.position = 0;
  return row;
}

// The row of the lane that stands so many behind the cached text, on the way to this one.
FILL_BOTH int ancestor(const Rows& r, const Row& row, int number) {
  const int at = row.place - row.lane * r.stride;
  if (number == row.depth) return at;
  if (r.kind == Kind::branches) return number * r.tree.width + at % r.tree.width;
  if (r.kind == Kind::text && r.lane[row.lane].chain == 0) return number == 0 ? 0 : at - (row.depth - number);
  return number;
}

// Rows that go into the cache: of the model those that have become text, of a draft those that it has read.
struct Kept {
  int lanes = 0, stride = 0;
  const Lane* lane = nullptr;
  const int* rows = nullptr;  // [lane][number]; nullptr: a draft's
};

FILL_BOTH int kept_row(const Kept& k, int lane, int number) {
  if (k.rows == nullptr) return number < k.lane[lane].draft_chain ? number : -1;
  return number < k.lane[lane].kept ? k.rows[lane * k.stride + number] : -1;
}
FILL_BOTH int kept_base(const Kept& k, int lane) {
  return k.rows == nullptr ? k.lane[lane].draft_cached : k.lane[lane].kept_base;
}

}  // namespace generate
