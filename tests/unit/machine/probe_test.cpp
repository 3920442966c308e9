#include "machine/probe.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "base/line_process.h"
#include "machine/gpu_links.h"
#include "machine/node_json.h"
#include "machine/stand_in_node.h"

using namespace voltpile;
using namespace std::chrono_literals;
using voltpile::testing::StandInNode;

TEST(Probe, ReadsEveryNumberOfAHealthyNode) {
    StandInNode stand_in;
    stand_in.use();
    const NodeGpus node = probe_gpus();
    EXPECT_EQ(node.problem, "");
    EXPECT_EQ(node.driver_version, "535.183.01");
    EXPECT_EQ(node.cuda_version, 12020);
    ASSERT_EQ(node.gpus.size(), 4u);
    for (int index = 0; index < 4; ++index) {
        const GpuSnapshot& gpu = node.gpus[static_cast<std::size_t>(index)];
        const auto& described = stand_in.gpu(index);
        EXPECT_EQ(gpu.problem, "");
        EXPECT_EQ(gpu.bus_id, described["bus_id"].get<std::string>());
        EXPECT_EQ(gpu.name, "Tesla V100-SXM2-16GB");
        EXPECT_EQ(gpu.uuid, described["uuid"].get<std::string>());
        for (const GpuNumber& number : kGpuNumbers) {
            const auto value = gpu.*number.member;
            const std::string name(number.name);
            ASSERT_EQ(value.has_value(), described.contains(name)) << name;
            if (value) {
                EXPECT_DOUBLE_EQ(*value, described[name].get<double>()) << name;
            }
        }
        ASSERT_EQ(gpu.links.size(), 6u);
        EXPECT_TRUE(gpu.links[5].up);
        EXPECT_EQ(gpu.links[5].remote_bus_id, described["links"][5]["remote_bus_id"].get<std::string>());
        EXPECT_EQ(gpu.links[5].crc_errors, 0);
    }
    EXPECT_EQ(node.find("0000:3a:00.0"), &node.gpus[2]);
    EXPECT_EQ(node.find("0000:99:00.0"), nullptr);
}

TEST(Probe, MemoryInUseIsThatOfProgramsWhereTheDriverTells) {
    StandInNode stand_in;
    stand_in.gpu(0)["memory_used_bytes"] = 500e6;  // older drivers count what they reserve as used
    stand_in.gpu(0)["memory_reserved_bytes"] = 300e6;
    stand_in.gpu(1)["memory_used_bytes"] = 500e6;
    stand_in.use();
    const NodeGpus node = probe_gpus();
    ASSERT_EQ(node.gpus.size(), 4u);
    EXPECT_EQ(node.gpus[0].memory_used_bytes, 200e6);
    EXPECT_EQ(node.gpus[0].memory_total_bytes, 17179869184.0);
    EXPECT_EQ(node.gpus[1].memory_used_bytes, 500e6);
}

TEST(Probe, SamplesAreApartAlsoAfterADelay) {
    StandInNode stand_in;
    stand_in.use();
    LineProcess probe({probe_program().string(), "--every", "100"});
    const auto read = [&](std::size_t count) {
        for (int i = 0; i < 300 && probe.running() && probe.lines.size() < count; ++i) {
            LineProcess* const processes[] = {&probe};
            LineProcess::pump(processes, 100ms);
        }
    };
    read(2);
    for (int i = 0; i < 3; ++i) {  // delays, each of which hides a sample or two
        probe.signal(SIGSTOP);
        std::this_thread::sleep_for(250ms);
        probe.signal(SIGCONT);
        read(probe.lines.size() + 3);
    }
    ASSERT_GE(probe.lines.size(), 11u);
    NodeSample sample;
    double before = 0;
    for (const std::string& line : probe.lines) {
        update_from_json(line, sample);
        EXPECT_GE(sample.time_s - before, 0.085);
        before = sample.time_s;
    }
}

TEST(Probe, SumsTheLinksBetweenTwoGpus) {
    StandInNode stand_in;
    stand_in.gpu(0)["links"][0]["up"] = false;
    stand_in.use();
    const NodeGpus node = probe_gpus();
    ASSERT_EQ(node.gpus.size(), 4u);
    // NVLink 2.0: 25 GB/s in each direction; two links to each neighbor, one of them down. PCIe 3.0 x16.
    const GpuLinks links = gpu_links(node.gpus[0]);
    EXPECT_EQ(links.nvlink_gb_per_s,
              (std::map<std::string, double>{
                  {"0000:16:00.0", 25.0}, {"0000:3a:00.0", 50.0}, {"0000:3b:00.0", 50.0}}));
    EXPECT_NEAR(links.pcie_gb_per_s, 15.75, 0.02);
}

TEST(Probe, KeepsALostGpuInTheList) {
    StandInNode stand_in;
    stand_in.gpu(2)["lost"] = true;
    stand_in.use();
    const NodeGpus node = probe_gpus();
    ASSERT_EQ(node.gpus.size(), 4u);
    EXPECT_EQ(node.gpus[2].problem, "GPU is lost (NVML 15)");
    EXPECT_EQ(node.gpus[3].power_w, 44.5);
}

TEST(Probe, SurvivesNvmlThatFailsMidway) {
    StandInNode stand_in;
    stand_in.gpu(1)["fail"]["temperature_c"] = 999;
    stand_in.gpu(1).erase("energy_j");             // as before Volta
    stand_in.gpu(3)["fail"]["power_limit_w"] = 4;  // no permission
    stand_in.use();
    const NodeGpus node = probe_gpus();
    ASSERT_EQ(node.gpus.size(), 4u);
    EXPECT_EQ(node.gpus[1].problem, "Unknown Error (NVML 999)");
    EXPECT_FALSE(node.gpus[1].temperature_c);
    EXPECT_FALSE(node.gpus[1].energy_j);
    EXPECT_EQ(node.gpus[1].power_w, 42.5);
    EXPECT_EQ(node.gpus[3].problem, "");
    EXPECT_FALSE(node.gpus[3].power_limit_w);
}

TEST(Probe, HungDriverIsAnAnswer) {
    StandInNode stand_in;
    stand_in.gpu(3)["hang"] = "power_w";
    stand_in.use();
    const NodeGpus node = probe_gpus(300ms);
    EXPECT_TRUE(node.hung);
    EXPECT_EQ(node.problem, "the NVIDIA driver hangs: no answer in 0.3 s");
    EXPECT_TRUE(node.gpus.empty());
}

TEST(Probe, DriverThatDoesNotStartIsAnAnswer) {
    StandInNode stand_in;
    stand_in.node["init"] = 9;
    stand_in.use();
    const NodeGpus node = probe_gpus();
    EXPECT_FALSE(node.hung);
    EXPECT_EQ(node.problem, "the NVIDIA driver does not answer: Driver Not Loaded (NVML 9)");
}

TEST(Probe, SpellsBusIdsOneWay) {
    EXPECT_EQ(plain_bus_id("00000000:1B:00.0"), "0000:1b:00.0");
    EXPECT_EQ(plain_bus_id("0000:1B:00.0"), "0000:1b:00.0");
}

TEST(Probe, NamesThrottleReasons) {
    EXPECT_EQ(throttle_names(0), std::vector<std::string>{});
    EXPECT_EQ(throttle_names(0x84), (std::vector<std::string>{"power limit", "external power brake"}));
}
