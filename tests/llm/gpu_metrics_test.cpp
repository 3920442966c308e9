// The state of GPUs as /metrics shows it.
#include <gtest/gtest.h>

#include "llm/serve/gpu_gauges.h"

namespace voltpile::llm {
namespace {

TEST(GpuMetrics, HaveALineForEachKnownValue) {
    RankGpu first{0, "node\"1", 2, "0000:1b:00.0"}, second{1, "node\"1", 3, "0000:1c:00.0"};
    first.now = {5368709120.0, 17179869184.0, 250.5, 61.0};
    second.now.temperature_c = 40;
    EXPECT_EQ(
        gpu_metrics({first, second}, "model_name=\"tiny\""),
        "# HELP voltpile:gpu_memory_used_bytes Memory in use on a rank's GPU, by all programs.\n"
        "# TYPE voltpile:gpu_memory_used_bytes gauge\n"
        "voltpile:gpu_memory_used_bytes{model_name=\"tiny\",rank=\"0\",host=\"node\\\"1\",gpu=\"2\"} "
        "5368709120\n"
        "# HELP voltpile:gpu_memory_total_bytes Memory of a rank's GPU.\n"
        "# TYPE voltpile:gpu_memory_total_bytes gauge\n"
        "voltpile:gpu_memory_total_bytes{model_name=\"tiny\",rank=\"0\",host=\"node\\\"1\",gpu=\"2\"} "
        "17179869184\n"
        "# HELP voltpile:gpu_power_watts Power that a rank's GPU draws.\n"
        "# TYPE voltpile:gpu_power_watts gauge\n"
        "voltpile:gpu_power_watts{model_name=\"tiny\",rank=\"0\",host=\"node\\\"1\",gpu=\"2\"} 250.5\n"
        "# HELP voltpile:gpu_temperature_celsius Temperature of a rank's GPU.\n"
        "# TYPE voltpile:gpu_temperature_celsius gauge\n"
        "voltpile:gpu_temperature_celsius{model_name=\"tiny\",rank=\"0\",host=\"node\\\"1\",gpu=\"2\"} 61\n"
        "voltpile:gpu_temperature_celsius{model_name=\"tiny\",rank=\"1\",host=\"node\\\"1\",gpu=\"3\"} "
        "40\n");
}

TEST(GpuMetrics, AreAbsentWhereNothingIsKnown) {
    EXPECT_EQ(gpu_metrics({}, "model_name=\"tiny\""), "");
    EXPECT_EQ(gpu_metrics({{0, "node", 0, "0000:1b:00.0"}}, "model_name=\"tiny\""), "");
}

TEST(GpuMetrics, ComeFromTheHostsOwnDriver) {
    std::vector<RankGpu> gpus{
        {0, "a", 0, "0000:1b:00.0"}, {1, "b", 0, "0000:1b:00.0"}, {2, "a", 1, "0000:1c:00.0"}};
    NodeGpus node;
    node.gpus.resize(1);
    node.gpus[0].bus_id = "0000:1b:00.0";
    node.gpus[0].power_w = 70;
    set_state(gpus, "a", node);
    EXPECT_EQ(gpus[0].now.power_w, 70);
    EXPECT_FALSE(gpus[1].now.power_w);
    EXPECT_FALSE(gpus[2].now.power_w);
    set_state(gpus, "a", {});  // the driver hangs
    EXPECT_FALSE(gpus[0].now.power_w);
}

}  // namespace
}  // namespace voltpile::llm
