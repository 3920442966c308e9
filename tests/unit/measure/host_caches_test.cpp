#include "measure/host_caches.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "unit/base/temporary_folder.h"

namespace voltpile {
namespace {

class HostCaches : public ::testing::Test {
  protected:
    HostCaches() { ::setenv("VOLTPILE_SYS", folder_.path().c_str(), 1); }
    ~HostCaches() override { ::unsetenv("VOLTPILE_SYS"); }

    void add(int cpu, int index, const std::string& type, int level, const std::string& size,
             const std::string& shared) {
        const std::filesystem::path cache = folder_.path() / "devices/system/cpu" /
                                            ("cpu" + std::to_string(cpu)) /
                                            ("cache/index" + std::to_string(index));
        std::filesystem::create_directories(cache);
        std::ofstream(cache / "type") << type << "\n";
        std::ofstream(cache / "level") << level << "\n";
        std::ofstream(cache / "size") << size << "\n";
        std::ofstream(cache / "shared_cpu_list") << shared << "\n";
    }

    test::TemporaryFolder folder_;
};

// Two groups of two threads, as in an EPYC, each with a last-level cache of its own.
TEST_F(HostCaches, CountsEachCacheOnce) {
    for (int cpu = 0; cpu < 4; ++cpu) {
        add(cpu, 0, "Data", 1, "32K", std::to_string(cpu));
        add(cpu, 1, "Instruction", 1, "32K", std::to_string(cpu));
        add(cpu, 2, "Unified", 2, "512K", std::to_string(cpu));
        add(cpu, 3, "Unified", 3, "16384K", cpu < 2 ? "0-1" : "2-3");
    }
    EXPECT_EQ(last_level_cache_bytes({0}), 16 << 20);
    EXPECT_EQ(last_level_cache_bytes({0, 1}), 16 << 20);
    EXPECT_EQ(last_level_cache_bytes({1, 2}), 32 << 20);
    EXPECT_EQ(last_level_cache_bytes({-1}), 32 << 20);
    EXPECT_EQ(last_level_cache_bytes({7}), 0);
    EXPECT_EQ(bytes_beyond_caches({-1}, 1), 256 << 20);
    EXPECT_EQ(bytes_beyond_caches({-1}, 4), 64 << 20);
    add(0, 3, "Unified", 3, "307200K", "0");
    EXPECT_EQ(bytes_beyond_caches({0}, 1), 600 << 20);
    add(0, 3, "Unified", 3, "1048576K", "0");
    EXPECT_EQ(bytes_beyond_caches({0}, 2), 512 << 20);
}

TEST_F(HostCaches, TakesTheHighestLevelThereIs) {
    add(0, 0, "Instruction", 1, "48K", "0");
    add(0, 1, "Data", 1, "64K", "0");
    EXPECT_EQ(last_level_cache_bytes({0}), 64 << 10);
    std::filesystem::remove_all(folder_.path() / "devices");
    EXPECT_EQ(last_level_cache_bytes({-1}), 0);
}

}  // namespace
}  // namespace voltpile
