#include "machine/node_watch.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/seconds_since.h"
#include "machine/host_meter.h"
#include "machine/node_json.h"
#include "machine/stand_in_node.h"

using namespace voltpile;
using namespace std::chrono_literals;
using voltpile::testing::StandInNode;

namespace {

std::vector<NodeSample> wait_for_samples(NodeWatch& watch, std::size_t count) {
    std::vector<NodeSample> samples;
    for (int i = 0; i < 600 && samples.size() < count; ++i) {
        for (NodeSample& sample : watch.take()) samples.push_back(std::move(sample));
        std::this_thread::sleep_for(50ms);
    }
    return samples;
}

void write_file(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
}

}  // namespace

TEST(NodeWatch, SamplesInOrder) {
    StandInNode stand_in;
    stand_in.gpu(1)["power_w"] = {100, 200, 300};
    stand_in.use();
    NodeWatch watch(100ms);
    const auto samples = wait_for_samples(watch, 4);
    ASSERT_GE(samples.size(), 4u);
    EXPECT_EQ(samples[0].gpus.gpus.at(1).power_w, 100);
    EXPECT_EQ(samples[1].gpus.gpus.at(1).power_w, 200);
    EXPECT_EQ(samples[3].gpus.gpus.at(1).power_w, 300);
    EXPECT_EQ(samples[3].gpus.gpus.at(0).name, "Tesla V100-SXM2-16GB");
    EXPECT_TRUE(samples[3].gpus.gpus.at(0).links.empty());  // does not change while a job runs
    EXPECT_GE(samples[3].time_s - samples[0].time_s, 0.29);
    EXPECT_GT(samples[0].host.memory_total_bytes.value_or(0), 0);
}

TEST(NodeWatch, SamplesTheHostOnceASecond) {
    StandInNode stand_in;
    stand_in.use();
    const auto begin = std::chrono::steady_clock::now();
    NodeWatch watch(100ms);
    int changes = 0;
    std::optional<double> before;
    for (const NodeSample& sample : wait_for_samples(watch, 25)) {
        changes += sample.host.memory_used_bytes != before;
        before = sample.host.memory_used_bytes;
    }
    EXPECT_GE(changes, 1);
    EXPECT_LE(changes, 1 + seconds_since(begin) / 0.9);
}

TEST(NodeWatch, SamplesTheHostWhileTheDriverHangs) {
    StandInNode stand_in;
    stand_in.gpu(3)["power_w"] = {50, 50, 50};
    stand_in.gpu(3)["hang"] = "power_w";
    stand_in.gpu(3)["hang_after"] = 2;
    stand_in.use();
    NodeWatch watch(100ms);
    const auto samples = wait_for_samples(watch, 4);  // the third and fourth once it is silent for 5 s
    ASSERT_GE(samples.size(), 4u);
    EXPECT_EQ(samples[1].gpus.gpus.size(), 4u);
    for (std::size_t i : {2u, 3u}) {
        EXPECT_EQ(samples[i].gpus.problem, "the NVIDIA driver does not answer");
        EXPECT_TRUE(samples[i].gpus.gpus.empty());
        EXPECT_GT(samples[i].host.memory_used_bytes.value_or(0), 0);
        EXPECT_GT(samples[i].time_s, samples[i - 1].time_s + 0.7);
    }
}

TEST(NodeJson, ChangesAddUpToTheSample) {
    NodeSample first;
    first.time_s = 1000.25;
    first.gpus.driver_version = "535.183.01";
    first.gpus.gpus.resize(2);
    first.gpus.gpus[0].bus_id = "0000:15:00.0";
    first.gpus.gpus[0].power_w = 100;
    first.gpus.gpus[0].energy_j = 1e9 + 0.125;
    first.gpus.gpus[1].bus_id = "0000:16:00.0";
    first.gpus.gpus[1].temperature_c = 40;
    NodeSample second = first;
    second.time_s = 1000.35;
    second.gpus.gpus[0].power_w = 101.5;
    second.gpus.gpus[0].energy_j.reset();
    const std::string line = change_json(second, first);
    EXPECT_EQ(line, R"({"time_s":1000.35,"changed":[{"power_w":101.5,"energy_j":null},{}]})");
    NodeSample read = sample_from_json(to_json(first));
    update_from_json(line, read);
    EXPECT_EQ(to_json(read), to_json(second));
    second.gpus.gpus[1].problem = "GPU is lost (NVML 15)";
    EXPECT_EQ(change_json(second, first), to_json(second));
    EXPECT_THROW(update_from_json(R"({"time_s":1,"changed":[]})", read), MachineError);
}

TEST(NodeWatch, LatestIsTheProblemIfThereIsOne) {
    StandInNode stand_in;
    stand_in.node["init"] = 18;
    stand_in.use();
    NodeWatch watch(100ms);
    EXPECT_TRUE(watch.latest().gpus.gpus.empty());
    watch.await_first(30s);
    EXPECT_EQ(watch.latest().gpus.problem,
              "the NVIDIA driver does not answer: Driver/library version mismatch (NVML 18)");
}

TEST(NodeWatch, EndsWhileTheDriverHangs) {
    StandInNode stand_in;
    stand_in.node["hang"] = true;
    stand_in.use();
    NodeWatch watch(100ms);
    watch.await_first(200ms);
    EXPECT_EQ(watch.latest().gpus.problem, "not sampled yet");
}

TEST(NodeWatch, MeasuresThroughput) {
    StandInNode stand_in;
    for (int reading = 0; reading < 100; ++reading) {
        stand_in.gpu(0)["nvlink_sent_bytes"].push_back(1024e6 * reading);              // once a second
        stand_in.gpu(0)["pcie_received_bytes"].push_back(5e9 - 1e9 * (reading == 2));  // starts again
    }
    stand_in.gpu(1)["pcie_sent_bytes_per_s"] = 3e9;  // a driver without counters
    stand_in.gpu(2)["memory_temperature_c"] = 71;
    stand_in.use();
    NodeWatch watch(100ms);
    const auto samples = wait_for_samples(watch, 25);
    ASSERT_GE(samples.size(), 25u);
    int known = 0;
    for (const NodeSample& sample : samples) {
        const GpuSnapshot& counted = sample.gpus.gpus.at(0);
        if (const auto rate = counted.nvlink_sent_bytes_per_s) {
            ++known;
            EXPECT_LE(*rate, 1024e6 / 0.95 * 1.001);
            EXPECT_GT(*rate, 0);
        }
        EXPECT_GE(counted.pcie_received_bytes_per_s.value_or(0), 0);
        EXPECT_EQ(sample.gpus.gpus.at(2).memory_temperature_c, 71);
    }
    EXPECT_GE(known, 5);
    EXPECT_FALSE(samples[0].gpus.gpus.at(0).nvlink_sent_bytes_per_s);
    EXPECT_EQ(samples.back().gpus.gpus.at(1).pcie_sent_bytes_per_s, 3e9);
}

TEST(NodeWatch, AddsUpThePowerOfAllGpus) {
    StandInNode stand_in;
    for (int gpu = 0; gpu < 4; ++gpu) stand_in.gpu(gpu)["power_w"] = 100;
    stand_in.gpu(3)["power_instant_w"] = 250;
    stand_in.use();
    NodeWatch watch(100ms);
    watch.await_first(30s);
    EXPECT_EQ(watch.latest().gpus.power_w(), 550);
    EXPECT_FALSE(NodeGpus().power_w());
}

TEST(NodeWatch, KeepsALostGpuWithoutReadings) {
    StandInNode stand_in;
    stand_in.gpu(2)["power_w"] = {200, 200};
    stand_in.gpu(2)["fail"]["power_w"] = 15;  // from the first reading of its power on
    stand_in.use();
    NodeWatch watch(100ms);
    watch.await_first(30s);
    const NodeGpus node = watch.latest().gpus;
    ASSERT_EQ(node.gpus.size(), 4u);
    EXPECT_EQ(node.gpus[2].problem, "GPU is lost (NVML 15)");
    EXPECT_FALSE(node.gpus[2].power_w);
    EXPECT_FALSE(node.power_w());
}

TEST(HostMeter, ReadsProcAndSys) {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    const auto top =
        std::filesystem::temp_directory_path() / (std::string(test->name()) + std::to_string(getpid()));
    write_file(top / "proc/stat", "cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 2 3\n");
    write_file(top / "proc/meminfo", "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:  400 kB\n");
    write_file(top / "sys/class/net/eth0/statistics/rx_bytes", "1000\n");
    write_file(top / "sys/class/net/eth0/statistics/tx_bytes", "0\n");
    write_file(top / "sys/class/net/eth0/device/vendor", "0x15b3\n");
    write_file(top / "sys/class/net/lo/statistics/rx_bytes", "777\n");
    HostMeter meter(top / "proc", top / "sys");
    const HostReading first = meter.read();
    EXPECT_EQ(first.memory_total_bytes, 1024000);
    EXPECT_EQ(first.memory_used_bytes, 614400);
    EXPECT_FALSE(first.cpu_percent);
    // 30 of 100 further ticks are neither idle nor waiting for disks.
    write_file(top / "proc/stat", "cpu  120 0 60 860 60 0 0 0 0 0\n");
    write_file(top / "sys/class/net/eth0/statistics/rx_bytes", "5000\n");
    const HostReading second = meter.read();
    EXPECT_DOUBLE_EQ(second.cpu_percent.value_or(-1), 30);
    EXPECT_GT(second.network_received_bytes_per_s.value_or(-1), 0);
    EXPECT_EQ(second.network_sent_bytes_per_s, 0);
    EXPECT_DOUBLE_EQ(meter.read().cpu_percent.value_or(-1), 30) << "no tick later";
    // The kernel lets the time of waiting for disks fall when a core that waited goes on.
    write_file(top / "proc/stat", "cpu  140 0 60 860 30 0 0 0 0 0\n");
    EXPECT_DOUBLE_EQ(meter.read().cpu_percent.value_or(-1), 100);
    // No tick between the first two readings: 150 of 1,000 ticks since the start.
    write_file(top / "proc/stat", "cpu  100 0 50 800 50 0 0 0 0 0\n");
    HostMeter hasty(top / "proc", top / "sys");
    EXPECT_FALSE(hasty.read().cpu_percent);
    EXPECT_DOUBLE_EQ(hasty.read().cpu_percent.value_or(-1), 15);
    std::filesystem::remove_all(top);
}
