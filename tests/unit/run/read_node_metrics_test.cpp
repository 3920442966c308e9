#include "run/read_node_metrics.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "run/node_metrics.h"

using namespace voltpile;

namespace {

LiveNode some_node() {
    LiveNode node{"node \"1\\", {}};
    node.sample.host.cpu_percent = 12.5;
    node.sample.host.memory_used_bytes = 9.1e9;
    node.sample.host.network_sent_bytes_per_s = 3e5;
    node.sample.host.cpu_temperature_c = 61.5;
    node.sample.host.cpu_power_w = 190.25;
    node.sample.host.host_power_w = 1400;
    for (int i = 0; i < 2; ++i) {
        GpuSnapshot& gpu = node.sample.gpus.gpus.emplace_back();
        gpu.bus_id = "0000:1" + std::to_string(i) + ":00.0";
        gpu.name = "Tesla V100, {SXM2}";
        gpu.power_w = 280.25 + i;
        gpu.memory_total_bytes = 17179869184.0;
    }
    node.sample.gpus.gpus[1].temperature_c = 61;
    return node;
}

}  // namespace

TEST(ReadNodeMetrics, ReadsWhatNodesWrite) {
    LiveJob job;
    job.elapsed_s = 12;
    for (int rank = 0; rank < 11; ++rank) job.ranks.push_back({"node1", "", 1000 + rank, 2e9 * rank, 1.5});
    const LiveNode node = some_node();
    const NodeMetrics read = read_node_metrics(node_metrics(node, job));
    EXPECT_EQ(read.node.host, node.host);
    for (const HostNumber& number : kHostNumbers)
        EXPECT_EQ(read.node.sample.host.*number.member, node.sample.host.*number.member) << number.name;
    ASSERT_EQ(read.node.sample.gpus.gpus.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
        const GpuSnapshot &got = read.node.sample.gpus.gpus[i], &sent = node.sample.gpus.gpus[i];
        EXPECT_EQ(got.bus_id, sent.bus_id);
        EXPECT_EQ(got.name, sent.name);
        for (const GpuNumber& number : kGpuNumbers)
            EXPECT_EQ(got.*number.member, sent.*number.member) << number.name;
    }
    ASSERT_EQ(read.job.ranks.size(), 11u);
    EXPECT_EQ(read.job.ranks[10].points, 1010);  // by number, not by name
    EXPECT_EQ(read.job.ranks[10].units, 2e10);
    EXPECT_EQ(read.job.elapsed_s, 12);
    EXPECT_EQ(read.job.line, "11,055 points committed by 11 ranks, elapsed 12 s");
}

TEST(ReadNodeMetrics, OtherNodesHaveNoRanks) {
    const NodeMetrics read = read_node_metrics(node_metrics(some_node(), LiveJob()));
    EXPECT_TRUE(read.job.ranks.empty());
    EXPECT_EQ(read.job.line, "");
}

TEST(ReadNodeMetrics, RejectsOtherTexts) {
    for (const char* text : {"", "<html>", "vllm:num_requests_running{model_name=\"m\"} 3\n",
                             "voltpile_gpus_known{host=\"node1", "voltpile_gpus_known{host=\"node1\""})
        EXPECT_THROW(read_node_metrics(text), CommError) << text;
}
