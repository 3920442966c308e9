#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/cache_folder.h"
#include "base/half.h"
#include "comm/collective/cache.h"
#include "comm/collective/peer_layout.h"
#include "comm/collective/reduce.h"
#include "comm/collective/table.h"

using namespace voltpile;
namespace fs = std::filesystem;

namespace {

class Folder {
  public:
    Folder() {
        std::string name = (fs::temp_directory_path() / "voltpile-cache-XXXXXX").string();
        path = mkdtemp(name.data());
    }
    ~Folder() { fs::remove_all(path); }
    fs::path path;
};

const CollectiveCacheKey key{"NVIDIA H200", "580.1", "2.28.9", 4, "nvlink"};

CollectiveTable some_table() {
    CollectiveTable table;
    for (auto& row : table.ways)
        for (int c = 0; c < 5; ++c) row[static_cast<std::size_t>(c)] = {false, PeerWire::LowLatency, false};
    table.ways[0][5] = {false, PeerWire::Flagged, true};
    return table;
}

}  // namespace

TEST(Half, RoundTripsEveryHalfThroughFloat) {
    for (int bits = 0; bits < 1 << 16; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const float value = float_from_half(half);
        if (std::isnan(value))
            EXPECT_TRUE(std::isnan(float_from_half(half_from_float(value)))) << bits;
        else
            EXPECT_EQ(half_from_float(value), half) << bits;
    }
}

TEST(Half, RoundsToNearestTiesToEven) {
    EXPECT_EQ(float_from_half(0x3c00), 1.0f);
    EXPECT_EQ(float_from_half(0x0001), std::ldexp(1.0f, -24));
    EXPECT_EQ(float_from_half(0xfbff), -65504.0f);
    // Between two neighbors the midpoint goes to the even one, and all else to the nearer one.
    for (std::uint16_t half = 0; half < 0x7bff; ++half) {
        const float low = float_from_half(half), high = float_from_half(static_cast<std::uint16_t>(half + 1));
        const float middle = low + (high - low) / 2;
        EXPECT_EQ(half_from_float(middle), half % 2 ? half + 1 : half) << half;
        EXPECT_EQ(half_from_float(std::nextafter(middle, low)), half);
        EXPECT_EQ(half_from_float(std::nextafter(middle, high)), half + 1);
    }
    EXPECT_EQ(half_from_float(65519.0f), 0x7bff);
    EXPECT_EQ(half_from_float(65520.0f), 0x7c00);
    EXPECT_EQ(half_from_float(-std::numeric_limits<float>::infinity()), 0xfc00);
}

TEST(Reduce, SumsInRankOrderAndRoundsOnce) {
    const double large[] = {1e300, 1}, minus[] = {-1e300, 2}, one[] = {1, 3};
    double out[2];
    const void* in[] = {large, minus, one};
    reduce_in_order(in, out, 2, ElementType::Float64, Reduction::Sum);
    EXPECT_EQ(out[0], 1.0);  // any other order of these gives 0
    EXPECT_EQ(out[1], 6.0);
    reduce_in_order(in, out, 2, ElementType::Float64, Reduction::Max);
    EXPECT_EQ(out[0], 1e300);
    EXPECT_EQ(out[1], 3.0);

    const std::uint16_t a = half_from_float(2048), b = half_from_float(1), c = half_from_float(1);
    std::uint16_t half = 0;
    const void* halves[] = {&a, &b, &c};
    reduce_in_order(halves, &half, 1, ElementType::Float16, Reduction::Sum);
    EXPECT_EQ(float_from_half(half), 2050.0f);

    const std::int32_t most = std::numeric_limits<std::int32_t>::max(), step = 1;
    std::int32_t sum = 0;
    const void* integers[] = {&most, &step};
    reduce_in_order(integers, &sum, 1, ElementType::Int32, Reduction::Sum);
    EXPECT_EQ(sum, std::numeric_limits<std::int32_t>::min());
}

TEST(Table, PutsEachSizeInTheSmallestClassThatFits) {
    EXPECT_EQ(CollectiveTable::class_of(1), 0);
    EXPECT_EQ(CollectiveTable::class_of(512), 0);
    EXPECT_EQ(CollectiveTable::class_of(513), 1);
    EXPECT_EQ(CollectiveTable::class_of(1024), 1);
    EXPECT_EQ(CollectiveTable::class_of(std::int64_t{1} << 40), CollectiveTable::classes - 1);
}

TEST(Table, DescribesItsContents) {
    EXPECT_EQ(some_table().text(),
              "all_reduce: to 8 KiB one-shot low-latency, to 16 KiB two-shot flagged, above nccl\n"
              "all_gather: to 8 KiB one-shot low-latency, above nccl\n"
              "reduce_scatter: to 8 KiB one-shot low-latency, above nccl\n"
              "all_to_all: to 8 KiB one-shot low-latency, above nccl\n"
              "broadcast: to 8 KiB one-shot low-latency, above nccl");
    EXPECT_EQ(CollectiveTable{}.text().substr(0, 24), "all_reduce: always nccl\n");
}

TEST(Table, RoundTripsAlgorithmNames) {
    for (const auto& way : possible_ways(Collective::AllReduce, 4, true, true))
        EXPECT_EQ(way_from_text(to_text(way)), way);
    EXPECT_EQ(possible_ways(Collective::AllReduce, 4, true, true).size(), 5u);
    EXPECT_EQ(possible_ways(Collective::AllReduce, 2, true, true).size(), 3u);
    EXPECT_EQ(possible_ways(Collective::Broadcast, 4, false, true).size(), 2u);
    EXPECT_FALSE(way_from_text("three-shot flagged"));
}

TEST(Cache, ReturnsATableOnlyForItsKey) {
    const Folder folder;
    const fs::path file = cache_file(folder.path / "deep" / "er", key);
    EXPECT_EQ(file.filename(), "collectives-NVIDIA-H200-x4-nvlink.json");
    EXPECT_FALSE(load_table(file, key));
    ASSERT_TRUE(save_table(file, key, some_table()));
    const auto again = load_table(file, key);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->ways, some_table().ways);
    for (CollectiveCacheKey other : {CollectiveCacheKey{"V100", "580.1", "2.28.9", 4, "nvlink"},
                                     CollectiveCacheKey{"NVIDIA H200", "581", "2.28.9", 4, "nvlink"},
                                     CollectiveCacheKey{"NVIDIA H200", "580.1", "", 4, "nvlink"},
                                     CollectiveCacheKey{"NVIDIA H200", "580.1", "2.28.9", 2, "nvlink"},
                                     CollectiveCacheKey{"NVIDIA H200", "580.1", "2.28.9", 4, "pcie"}})
        EXPECT_FALSE(load_table(file, other));
    // No other file is left behind.
    EXPECT_EQ(std::distance(fs::directory_iterator(file.parent_path()), {}), 1);
}

TEST(Cache, IgnoresADamagedFile) {
    const Folder folder;
    const fs::path file = cache_file(folder.path, key);
    ASSERT_TRUE(save_table(file, key, some_table()));
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    const std::string whole = text.str();
    for (std::size_t length = 0; length + 2 < whole.size(); length += 7) {
        std::ofstream(file) << whole.substr(0, length);
        EXPECT_FALSE(load_table(file, key)) << length;
    }
    std::string wrong = whole;
    wrong.replace(wrong.find("one-shot low-latency"), 8, "six-shot");
    std::ofstream(file) << wrong;
    EXPECT_FALSE(load_table(file, key));
    // An algorithm that is impossible there: two-shot between two.
    const CollectiveCacheKey two{"NVIDIA H200", "580.1", "2.28.9", 2, "nvlink"};
    EXPECT_FALSE(table_from_json(to_json(two, some_table()), two));
    EXPECT_FALSE(table_from_json("[]", key));
    EXPECT_FALSE(table_from_json("null", key));
}

TEST(Cache, ReportsAFileThatCannotBeWritten) {
    const Folder folder;
    std::ofstream(folder.path / "file") << "in the way";
    EXPECT_FALSE(save_table(cache_file(folder.path / "file", key), key, some_table()));
}

TEST(Cache, UsesTheUsersCacheFolder) {
    const char* before = std::getenv("XDG_CACHE_HOME");
    const std::string kept = before ? before : "";
    setenv("XDG_CACHE_HOME", "/somewhere", 1);
    EXPECT_EQ(default_cache_folder(), "/somewhere/voltpile");
    unsetenv("XDG_CACHE_HOME");
    EXPECT_EQ(default_cache_folder(), fs::path(std::getenv("HOME")) / ".cache/voltpile");
    if (before) setenv("XDG_CACHE_HOME", kept.c_str(), 1);
}

TEST(PeerLayout, AlignsConsecutiveRegions) {
    for (int size = 2; size <= max_peers; ++size) {
        std::size_t end = mailbox_header_bytes;
        for (const PeerWire wire : {PeerWire::LowLatency, PeerWire::Flagged}) {
            EXPECT_EQ(region_offset(wire, size), end);
            EXPECT_EQ(end % 128, 0u);
            end += 2 * 2 * static_cast<std::size_t>(size) * slot_bytes(wire);
        }
        EXPECT_EQ(send_offset(size), end);
        EXPECT_EQ(mailbox_bytes(size), end + static_cast<std::size_t>(size) * send_slot_bytes);
    }
}
