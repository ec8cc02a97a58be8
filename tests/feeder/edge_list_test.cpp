// Edge lists: the graph that comes out of a text, whatever the sizes of ids and blocks, and texts that are refused.
#include "feeder/files/edge_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <stdexcept>
#include <tuple>

#include "feeder/files/weights_file.h"
#include "tests/feeder/files.h"

namespace weft {
namespace {

using testing::fault_of;
using testing::Files;

constexpr std::uint64_t any_number = 1000000;
const StillReading nobody_looks = [] {};

EdgeList parse(std::string_view text, std::size_t block = 1 << 20, std::uint64_t most_edges = any_number) {
  EdgeReader reader("f", most_edges);
  for (std::size_t first = 0; first < text.size(); first += block) reader.take(text.substr(first, block));
  return reader.finish(nobody_looks);
}
std::string fault_in(std::string_view text, std::uint64_t most_edges = any_number) {
  return fault_of([&] { parse(text, 7, most_edges); });
}

using Numbers = std::vector<std::int32_t>;

TEST(EdgeList, IsSortedByTargetAndBack) {
  const EdgeList list = parse(
      "# Directed graph\n# FromNodeId\tToNodeId\n%% as others write it\n"
      "30\t10\n10 20\r\n\n  30   20  \n10\t20\n7 7\n20 30");
  EXPECT_EQ(list.ids, (std::vector<std::int64_t>{7, 10, 20, 30}));
  EXPECT_EQ(list.offsets, (Numbers{0, 1, 2, 5, 6}));
  EXPECT_EQ(list.sources, (Numbers{0, 3, 1, 1, 3, 2}));
  EXPECT_EQ(list.degrees, (Numbers{1, 2, 1, 2}));
  EXPECT_EQ(list.out_offsets, (Numbers{0, 1, 3, 4, 6}));
  EXPECT_EQ(list.out_targets, (Numbers{0, 2, 2, 3, 1, 2}));
  EXPECT_EQ(list.out_numbers, (Numbers{0, 2, 3, 5, 1, 4}));
  EXPECT_TRUE(list.values.empty());
}

TEST(EdgeList, ValuesGoWithTheirEdges) {
  const EdgeList list = parse("5 2 1.5\n2 5 -2e-3\n5 2 7\n1 2 1e-300\n");
  EXPECT_EQ(list.ids, (std::vector<std::int64_t>{1, 2, 5}));
  EXPECT_EQ(list.sources, (Numbers{0, 2, 2, 1}));
  EXPECT_EQ(list.values, (std::vector<float>{0.0F, 1.5F, 7.0F, -2e-3F}));  // equal edges as in the file
}

// Against a slow and simple way, with ids that are dense, far apart, or of 63 bits, and blocks that cut lines.
TEST(EdgeList, IsTheGraphOfTheFile) {
  std::mt19937_64 dice(1);
  for (const std::uint64_t largest :
       {std::uint64_t{9}, std::uint64_t{300}, std::uint64_t{1} << 40, ~std::uint64_t{0} >> 1})
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::vector<std::tuple<std::int64_t, std::int64_t, float>> edges;  // target, source, value
      std::string text;
      for (std::uint64_t i = 0, count = 1 + dice() % 500; i < count; ++i) {
        const auto vertex = [&] { return static_cast<std::int64_t>(dice() >> dice() % 60 & largest); };
        edges.emplace_back(vertex(), vertex(), static_cast<float>(i));
        const auto& [target, source, value] = edges.back();
        text += std::to_string(source) + "\t" + std::to_string(target) + " " + std::to_string(i) + "\n";
      }
      const EdgeList list = parse(text, 1 + dice() % 50);
      std::ranges::stable_sort(edges);
      ASSERT_EQ(list.sources.size(), edges.size());
      EXPECT_TRUE(std::ranges::is_sorted(list.ids));
      std::size_t edge = 0;
      Numbers out_degrees(list.ids.size());
      for (std::size_t target = 0; target < list.ids.size(); ++target)
        for (; edge < static_cast<std::size_t>(list.offsets[target + 1]); ++edge) {
          const auto source = static_cast<std::size_t>(list.sources[edge]);
          EXPECT_EQ(edges[edge], std::tuple(list.ids[target], list.ids[source], list.values[edge]));
          ++out_degrees[source];
        }
      EXPECT_EQ(edge, edges.size());
      EXPECT_EQ(list.degrees, out_degrees);
      for (std::size_t source = 0; source < list.ids.size(); ++source)
        for (auto i = static_cast<std::size_t>(list.out_offsets[source]);
             i < static_cast<std::size_t>(list.out_offsets[source + 1]); ++i) {
          const std::int32_t number = list.out_numbers[i];
          EXPECT_EQ(list.sources[static_cast<std::size_t>(number)], static_cast<std::int32_t>(source));
          const auto target = static_cast<std::size_t>(list.out_targets[i]);
          EXPECT_TRUE(list.offsets[target] <= number && number < list.offsets[target + 1]);
        }
    }
}

TEST(EdgeList, IsRefusedWithAReason) {
  const std::string vertex = " for a vertex, which is a whole number from 0 to 9223372036854775807";
  const std::string value = " for a value, which is a finite number of 32 bits";
  EXPECT_EQ(fault_in("0 1\n"), "");
  EXPECT_EQ(fault_in("9223372036854775807 0\n"), "");
  EXPECT_EQ(fault_in("# only\n\n# comments\n"), "f: has no edges");
  EXPECT_EQ(fault_in(""), "f: has no edges");
  EXPECT_EQ(fault_in("0 1\n-1 2\n"), "f: line 2 has '-1'" + vertex);
  EXPECT_EQ(fault_in("# 1\n9223372036854775808 2"), "f: line 2 has '9223372036854775808'" + vertex);
  EXPECT_EQ(fault_in("\xEF\xBB\xBF"
                     "0 1\n"),
            "")
      << "a mark that some editors leave there";
  EXPECT_EQ(fault_in("%%MatrixMarket matrix coordinate\n3 3 2\n1 2\n2 3\n"),
            "f: line 1 says that this is a Matrix Market file, which has a line of sizes; take that and this away");
  EXPECT_EQ(fault_in("1,2\t3\n"), "f: line 1 has '1,2'" + vertex);
  EXPECT_EQ(fault_in("1 2.0\n"), "f: line 1 has '2.0'" + vertex);
  EXPECT_EQ(fault_in(std::string("\x7f\x45\0L \1\n", 7)), "f: line 1 has '?E?L'" + vertex);
  EXPECT_EQ(fault_in("1\n"), "f: line 1 has one column; an edge is a source, a target, and perhaps a value");
  EXPECT_EQ(fault_in("1 2 3 4\n"), "f: line 1 has more than three columns");
  EXPECT_EQ(fault_in("1 2\n3 4 5\n"), "f: line 2 has 3 columns, and those before it have 2");
  EXPECT_EQ(fault_in("1 2 3\n3 4\n"), "f: line 2 has 2 columns, and those before it have 3");
  for (const char* const text : {"nan", "inf", "1e39", "1e999", "five", "1.5x", "0x10"})
    EXPECT_EQ(fault_in("1 2 " + std::string(text)), "f: line 1 has '" + std::string(text) + "'" + value);
  EXPECT_EQ(fault_in("1 2\n2 3\n3 4\n", 2), "f: line 3 is one edge too many: there is room for 2");
}

// It ends as soon as it is seen to be too long.
TEST(EdgeList, ALongLineIsNotKept) {
  EdgeReader reader("f", any_number);
  const std::string block(1 << 10, '1');
  std::size_t taken = 0;
  const std::string fault = fault_of([&] {
    for (; taken < 1000; ++taken) reader.take(block);
  });
  EXPECT_EQ(fault, "f: line 1 has more than 64 KiB");
  EXPECT_EQ(taken, 64U);
}

using EdgeFiles = Files;

TEST_F(EdgeFiles, AreReadOnceForAllThatHaveThemOpen) {
  for (const char* const name : {"g.edges", "g.tsv", "g.txt"}) EXPECT_TRUE(is_edge_list(path(name)));
  EXPECT_FALSE(is_edge_list(path("g.npy")));
  write("g.txt", "0 1\n");
  const auto one = open_edge_list(path("g.txt"), nobody_looks), other = open_edge_list(path("g.txt"), nobody_looks);
  EXPECT_EQ(one, other);
  write("g.txt", "0 1\n5 6\n");
  EXPECT_EQ(open_edge_list(path("g.txt"), nobody_looks)->ids.size(), 4U);
  EXPECT_EQ(one->ids.size(), 2U);
  EXPECT_EQ(fault_of([&] { open_edge_list(path("none.txt"), nobody_looks); }),
            path("none.txt") + ": No such file or directory");
}

// Who waits is told that the file is still being read, and may leave.
TEST_F(EdgeFiles, AreNotReadForNobody) {
  std::string text;
  for (int i = 0; i < 400000; ++i) text += std::to_string(i) + " " + std::to_string(i / 2) + "\n";
  write("g.txt", text);
  int looks = 0;
  open_edge_list(path("g.txt"), [&] { ++looks; });
  EXPECT_GT(looks, 8);
  EXPECT_EQ(fault_of([&] {
              open_edge_list(path("g.txt"), [&] {
                if (--looks == 3) throw std::runtime_error("nobody waits");
              });
            }),
            "nobody waits");
}

TEST_F(EdgeFiles, HaveArraysByName) {
  write("g.edges", "5 9 2.5\n9 7 1\n");
  const WeightsFile file(path("g.edges"), nobody_looks);
  const std::map<std::string, std::string> wanted{{"ids", "int64 [3]"},         {"offsets", "int32 [4]"},
                                                  {"sources", "int32 [2]"},     {"degrees", "int32 [3]"},
                                                  {"out_offsets", "int32 [4]"}, {"out_targets", "int32 [2]"},
                                                  {"out_numbers", "int32 [2]"}, {"values", "float32 [2]"}};
  for (const auto& [name, shape] : wanted) {
    ASSERT_NE(file.find(name), nullptr) << name;
    EXPECT_EQ(described(*file.find(name)), shape) << name;
  }
  EXPECT_EQ(file.find("weights"), nullptr);
  std::vector<float> values(1);
  file.read("values", sizeof(float), std::as_writable_bytes(std::span(values)));
  EXPECT_EQ(values[0], 2.5F);  // 9 -> 7 comes before 5 -> 9
  write("g.txt", "5 9\n");
  EXPECT_EQ(WeightsFile(path("g.txt"), nobody_looks).find("values"), nullptr);
  EXPECT_EQ(
      fault_of([&] { WeightsFile(path("g.gz"), nobody_looks); }),
      path("g.gz") + ": is no file of weights: .safetensors or .npy, or .edges, .tsv or .txt for a list of edges");
}

}  // namespace
}  // namespace weft
