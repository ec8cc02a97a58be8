// The arguments of the fill probe: as they are written they are read, and nothing else.
#include "runner/options/probe_request.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

std::optional<ProbeRequest> read(const std::vector<std::string>& arguments) {
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  return probe_request(static_cast<int>(pointers.size()), pointers.data());
}

TEST(ProbeRequest, IsReadAsItIsWritten) {
  ProbeRequest request;
  request.device = 3;
  request.path = "/a=b c.so";
  request.arguments = "size=3,x";
  request.weights = "/w";
  request.memory = 1ULL << 40;
  request.one_queue = "above";
  const std::vector<std::string> arguments = arguments_of(request);
  const auto found = read(arguments);
  ASSERT_TRUE(found);
  EXPECT_EQ(arguments_of(*found), arguments);
  EXPECT_EQ(found->path, request.path);
  EXPECT_EQ(found->memory, request.memory);
}

TEST(ProbeRequest, IsRefusedWhereOneIsMissingOrWrong) {
  const std::vector<std::string> sound = arguments_of({});
  ASSERT_TRUE(read(sound));
  for (std::size_t wrong = 0; wrong < sound.size(); ++wrong) {
    std::vector<std::string> arguments = sound;
    arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(wrong));
    EXPECT_FALSE(read(arguments)) << sound[wrong];
  }
  std::vector<std::string> more = sound, no_number = sound;
  more.emplace_back("more=1");
  EXPECT_FALSE(read(more));
  no_number[0] = "device=x";
  EXPECT_FALSE(read(no_number));
}

}  // namespace
}  // namespace weft
