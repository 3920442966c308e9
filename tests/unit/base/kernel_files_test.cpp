#include "base/kernel_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

using namespace voltpile;

namespace fs = std::filesystem;

TEST(KernelFiles, ReadsFirstLines) {
    const fs::path folder = fs::temp_directory_path() / ("voltpile-kernel-files-" + std::to_string(getpid()));
    fs::create_directories(folder / "b");
    std::ofstream(folder / "c") << "4: ACTIVE\nmore\n";
    std::ofstream(folder / "a");
    EXPECT_EQ(first_line(folder / "c"), "4: ACTIVE");
    EXPECT_EQ(first_line(folder / "a"), "");
    EXPECT_EQ(first_line(folder / "missing"), "");
    EXPECT_EQ(sorted_entries(folder), (std::vector<fs::path>{folder / "a", folder / "b", folder / "c"}));
    EXPECT_TRUE(sorted_entries(folder / "missing").empty());
    fs::remove_all(folder);
}

TEST(KernelFiles, NamesTheParentFirst) {
    const auto ancestors = ancestors_of_this_process();
    ASSERT_LE(ancestors.size(), 8U);
    if (getppid() <= 1) GTEST_SKIP() << "started by init";
    ASSERT_FALSE(ancestors.empty());
    EXPECT_EQ(ancestors.front().pid, getppid());
    EXPECT_EQ(ancestors.front().name, first_line("/proc/" + std::to_string(getppid()) + "/comm"));
}
