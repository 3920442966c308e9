#include "cluster/top_page.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace voltpile;

namespace {

LiveStatus two_nodes() {
    LiveStatus status;
    status.jobs.push_back({"seed_map [####] 45.3 %  1.37e+08 pair-steps/s", 1000, 10, {}});
    for (int rank = 0; rank < 2; ++rank)
        status.jobs[0].ranks.push_back({"node" + std::to_string(rank), "GPU 0: Tesla V100", 1500, 3e9, 9.5});
    for (int node = 0; node < 2; ++node) {
        LiveNode& each = status.nodes.emplace_back();
        each.host = "node" + std::to_string(node);
        each.sample.time_s = 1000;
        each.sample.host.cpu_percent = 12;
        if (node == 0) {
            each.sample.host.cpu_temperature_c = 48;
            each.sample.host.cpu_power_w = 95;
            each.sample.host.host_power_w = 1420;
        }
        GpuSnapshot& gpu = each.sample.gpus.gpus.emplace_back();
        gpu.bus_id = "0000:15:00.0";
        gpu.name = "Tesla V100-SXM2-16GB";
        gpu.power_w = 287;
        gpu.temperature_c = 61;
        gpu.sm_clock_mhz = 1380;
        gpu.utilization_percent = 99;
        gpu.throttle_reasons = 4;
    }
    return status;
}

bool some_line_has(const std::vector<std::string>& page, const std::string& text) {
    return std::ranges::any_of(page, [&](const std::string& line) { return line.find(text) != line.npos; });
}

}  // namespace

TEST(TopPage, ShowsNodesGpusAndRanks) {
    const auto page = top_page(two_nodes(), 1001, 200);
    EXPECT_EQ(page.at(0), "seed_map [####] 45.3 %  1.37e+08 pair-steps/s");
    EXPECT_TRUE(some_line_has(page, "node0  cpu 12 % 48 °C 95 W  power 1420 W  1 GPU 287 W"));
    EXPECT_TRUE(some_line_has(page, "node1  cpu 12 %  1 GPU 287 W"));
    EXPECT_TRUE(some_line_has(page, "61 °C  1380 MHz  99 %"));
    EXPECT_TRUE(some_line_has(page, "power limit"));
    EXPECT_TRUE(some_line_has(page, "1,500  50.0 %  95 %  GPU 0: Tesla V100"));
    EXPECT_FALSE(some_line_has(page, "no news"));
}

TEST(TopPage, FitsTheTerminal) {
    for (const int columns : {1, 20, 40, 80, 200})
        for (const std::string& line : top_page(two_nodes(), 1001, columns)) {
            const auto width = std::ranges::count_if(
                line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
            EXPECT_LE(width, columns) << line;
        }
    const auto narrow = top_page(two_nodes(), 1001, 40);
    EXPECT_TRUE(some_line_has(narrow, "287 W"));
    EXPECT_FALSE(some_line_has(narrow, "Tesla V100-SXM2"));
}

TEST(TopPage, SaysHowOldItIs) {
    const auto page = top_page(two_nodes(), 1000 + 2 * 3600 + 14 * 60, 200);
    EXPECT_TRUE(some_line_has(page, "no news for 2 h 14 min: the run may be dead"));
    EXPECT_TRUE(some_line_has(page, "1 GPU 287 W  no news for 2 h 14 min"));
}

TEST(TopPage, NamesProblemsOfGpus) {
    LiveStatus status = two_nodes();
    status.nodes[0].sample.gpus = {};
    status.nodes[0].sample.gpus.problem = "the NVIDIA driver hangs: no answer in 20 s";
    status.nodes[1].sample.gpus.gpus[0].problem = "GPU is lost (NVML 15)";
    const auto page = top_page(status, 1001, 200);
    EXPECT_TRUE(some_line_has(page, "  no GPUs: the NVIDIA driver hangs: no answer in 20 s"));
    EXPECT_TRUE(some_line_has(page, "GPU is lost (NVML 15)"));
}
