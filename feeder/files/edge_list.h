// Graphs as lists of edges in a text, as the SNAP collection has them: a line is `source target`, or `source target
// value`, with blanks or tabs between; lines that begin with # or % are comments. Vertices are any whole numbers from 0
// to 2^63 - 1.
//
// Read by the feeder and in a fill job's trial, never in a training process. EdgeReader is pure: it takes the text in
// blocks of any size and throws FileError, one line with the number of the line in the file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "feeder/files/open_file.h"

namespace weft {

// The graph as jobs read it. Vertices have the numbers of their places in `ids`. Edges are sorted by target, then
// source; equal ones are all kept, in the order of the file. `out_...` has them by source, then target, for the way
// back.
struct EdgeList {
  std::vector<std::int64_t> ids;          // of each vertex, as in the file; ascending
  std::vector<std::int32_t> offsets;      // of each vertex: its first edge as a target; at the end: all edges
  std::vector<std::int32_t> sources;      // of each edge
  std::vector<float> values;              // likewise; empty: the file has two columns
  std::vector<std::int32_t> degrees;      // of each vertex: edges out of it
  std::vector<std::int32_t> out_offsets;  // of each vertex: its first edge as a source, in the two that follow
  std::vector<std::int32_t> out_targets;  // of each edge, by source
  std::vector<std::int32_t> out_numbers;  // likewise: its number by target, as in `sources` and `values`
};

class EdgeReader {
 public:
  EdgeReader(std::string path, std::uint64_t most_edges);
  // The text, one block behind the other; a line may go on in the next block.
  void take(std::string_view block);
  // Once, behind the last block.
  EdgeList finish(const StillReading& still_reading);

 private:
  void take_line(std::string_view line);
  std::int64_t vertex_in(std::string_view word) const;
  float value_in(std::string_view word) const;
  [[noreturn]] void fail(const std::string& what) const;

  const std::string path_;
  const std::uint64_t most_edges_;
  std::uint64_t line_ = 0;  // its number, from 1
  std::string begun_;       // of a line that goes on in the next block
  std::size_t columns_ = 0;
  std::vector<std::int64_t> sources_, targets_;
  std::vector<float> values_;
};

bool is_edge_list(std::string_view path);  // by its ending: .edges, .tsv, .txt
// Those that have the same file open at the same time share one. An edge wants up to 64 bytes while it is read; half of
// the memory that is available may go there.
std::shared_ptr<const EdgeList> open_edge_list(const std::string& path, const StillReading& still_reading);

}  // namespace weft
