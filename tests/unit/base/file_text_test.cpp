#include "base/file_text.h"

#include <gtest/gtest.h>

#include <fstream>

#include "unit/base/temporary_folder.h"

using namespace voltpile;

TEST(FileText, HasAllBytes) {
    const test::TemporaryFolder folder;
    std::string text(10000, 'a');
    text[5000] = '\0';
    const auto file = folder.path() / "file";
    std::ofstream(file, std::ios::binary) << text;
    EXPECT_EQ(file_text(file), text);
    std::ofstream(file, std::ios::binary | std::ios::trunc).flush();
    EXPECT_EQ(file_text(file), "");
}

// The first page of a process's memory cannot be read, like the files of a process that has ended.
TEST(FileText, IsEmptyWhereReadingFails) {
    EXPECT_EQ(file_text("/proc/self/mem"), "");
    EXPECT_EQ(file_text("/proc/self"), "");
    EXPECT_EQ(file_text("/proc/self/nothing"), "");
}
