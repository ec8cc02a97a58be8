// Mapped files in texts as the kernel writes them, and in others.
#include "runner/sites/mapped_files.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr std::string_view maps =
    "555500000000-555500001000 r--p 00000000 fe:01 12    /usr/bin/python3.11\n"
    "555500001000-555500003000 r-xp 00001000 fe:01 12    /usr/bin/python3.11\n"
    "555500003000-555500004000 rw-p 00003000 fe:01 12    /usr/bin/python3.11\n"
    "7f0000000000-7f0000008000 r-xp 00026000 fe:01 345                        /opt/a library (1).so (deleted)\n"
    "7f0000008000-7f0000009000 rwxp 00000000 00:00 0 \n"
    "7fff00000000-7fff00002000 r-xp 00000000 00:00 0                          [vdso]\n";

TEST(MappedFiles, AreThoseThatMayBeExecutedAndHaveAName) {
  const auto files = mapped_code(maps);
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[0].path, "/usr/bin/python3.11");
  EXPECT_EQ(files[0].begin, 0x555500001000U);
  EXPECT_EQ(files[0].end, 0x555500003000U);
  EXPECT_EQ(files[0].offset, 0x1000U);
  EXPECT_FALSE(files[0].is_gone);
  EXPECT_EQ(files[1].path, "/opt/a library (1).so");
  EXPECT_TRUE(files[1].is_gone);
  EXPECT_EQ(files[2].path, "[vdso]");
}

TEST(MappedFiles, AreFoundByTheirAddresses) {
  const auto files = mapped_code(maps);
  EXPECT_EQ(find_mapped(files, 0x555500000fff), nullptr);
  EXPECT_EQ(find_mapped(files, 0x555500001000), &files[0]);
  EXPECT_EQ(find_mapped(files, 0x555500002fff), &files[0]);
  EXPECT_EQ(find_mapped(files, 0x555500003000), nullptr);
  EXPECT_EQ(find_mapped(files, 0x7f0000007fff), &files[1]);
  EXPECT_EQ(find_mapped(files, 0xffffffffffffffff), nullptr);
  EXPECT_EQ(find_mapped({}, 1), nullptr);
}

TEST(MappedFiles, AreNoneInOtherTexts) {
  for (const std::string_view text :
       {"", "\n\n", "x", "1-2", "1-2 r-xp", "1-2 r-xp 0", "1-2 r-xp 0 0:0 0", "g-2 r-xp 0 0:0 0 /a",
        "12 r-xp 0 0:0 0 /a", "1-2 r-xp zz 0:0 0 /a", "1-2 rw-p 0 0:0 0 /a", "1-11111111111111111 r-xp 0 0:0 0 /a"})
    EXPECT_TRUE(mapped_code(text).empty()) << text;
  EXPECT_EQ(mapped_code("1-2 r-xp 0 0:0 0 /a").size(), 1U) << "without an end of the line";
}

}  // namespace
}  // namespace weft
