// Sums of edges for each vertex in strips: against adding them one by one, for vertices with very many edges, with one
// and with none, and for offsets that are none.
#include "fill/strips.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace fill {
namespace {

struct Sums {
  std::vector<float> starts, heads, of_vertices;
};

// The number of an edge is 1, 2, ... for the first sum of a vertex, and the same with another sign for the second.
Sums add_all(const Rows& rows) {
  constexpr int width = 2;
  const auto vertices = static_cast<std::size_t>(rows.vertices),
             strips = static_cast<std::size_t>(strips_of(rows.edges));
  Sums sums{std::vector<float>(vertices * width), std::vector<float>(strips * width), {}};
  for (int strip = strips_of(rows.edges) - 1; strip >= 0; --strip)
    for (int which = 0; which < width; ++which)
      add_strip(
          rows, strip, vertex_of(rows, strip * edges_of_strip, 0), width, which,
          [&](int edge) { return static_cast<float>(which == 0 ? edge + 1 : -edge - 1); }, sums.starts.data(),
          sums.heads.data());
  for (int v = 0; v < rows.vertices; ++v)
    for (int which = 0; which < width; ++which)
      sums.of_vertices.push_back(sum_of_vertex(rows, v, width, which, sums.starts.data(), sums.heads.data()));
  return sums;
}

void expect_right(const std::vector<int>& degrees) {
  std::vector<int> offsets{0};
  for (const int degree : degrees) offsets.push_back(offsets.back() + degree);
  const Sums sums = add_all({offsets.data(), static_cast<int>(degrees.size()), offsets.back()});
  for (std::size_t v = 0; v < degrees.size(); ++v) {
    float sum = 0;
    for (int edge = offsets[v]; edge < offsets[v + 1]; ++edge) sum += static_cast<float>(edge + 1);
    EXPECT_EQ(sums.of_vertices[2 * v], sum) << v;
    EXPECT_EQ(sums.of_vertices[2 * v + 1], -sum) << v;
  }
}

TEST(Strips, AddTheEdgesOfEachVertex) {
  expect_right({1});
  expect_right({16, 16});
  expect_right({0, 0, 15, 1, 0, 17, 0, 0, 0, 0, 31, 0});
  expect_right({3, 500, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  std::vector<int> far_apart(1000);
  far_apart[0] = far_apart[501] = far_apart[999] = 5;
  expect_right(far_apart);
  std::mt19937 dice(1);
  for (int i = 0; i < 200; ++i) {
    std::vector<int> degrees(1 + dice() % 60);
    for (int& degree : degrees) degree = static_cast<int>(dice() % 3 == 0 ? dice() % 70 : dice() % 3);
    degrees.back() = 1;
    expect_right(degrees);
  }
}

// The sanitizers see what is read or written out of bounds.
TEST(Strips, AnyOffsetsStayWithinBounds) {
  std::mt19937 dice(1);
  for (int i = 0; i < 2000; ++i) {
    std::vector<int> offsets(2 + dice() % 20);
    for (int& offset : offsets) offset = dice() % 4 == 0 ? static_cast<int>(dice()) : static_cast<int>(dice() % 100);
    const Sums sums =
        add_all({offsets.data(), static_cast<int>(offsets.size()) - 1, 1 + static_cast<int>(dice() % 90)});
    EXPECT_EQ(sums.of_vertices.size(), 2 * (offsets.size() - 1));
  }
}

TEST(Strips, CoverAnyNumberOfEdges) {
  EXPECT_EQ(strips_of(1), 1);
  EXPECT_EQ(strips_of(16), 1);
  EXPECT_EQ(strips_of(17), 2);
  EXPECT_EQ(strips_of(2147483647), 134217728);
}

}  // namespace
}  // namespace fill
