#include "cluster/slurm/machine.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cluster/slurm/gpu.h"
#include "unit/cluster/slurm_fixtures.h"

using namespace voltpile;

TEST(SlurmMachine, ReadsNodesAndPartitions) {
    const SlurmMachine machine = parse_machine(rack_nodes, rack_partitions, rack_config);
    ASSERT_EQ(machine.nodes.size(), 2u);
    const SlurmNode& node = machine.nodes[0];
    EXPECT_EQ(node.name, "node1");
    EXPECT_EQ(node.cores, 4);
    EXPECT_EQ(node.cpus_per_core, 1);
    EXPECT_EQ(node.memory_mb, 4000);
    EXPECT_EQ(node.gpu_count(), 4);
    EXPECT_EQ(node.partitions, (std::vector<std::string>{"main", "short", "low", "high"}));
    EXPECT_TRUE(node.usable());
    EXPECT_FALSE(machine.nodes[1].usable());

    ASSERT_EQ(machine.partitions.size(), 2u);
    EXPECT_TRUE(machine.partitions[0].is_default);
    EXPECT_TRUE(std::isinf(machine.partitions[0].max_time_s));
    EXPECT_EQ(machine.partitions[1].name, "short");
    EXPECT_FALSE(machine.partitions[1].is_default);
    EXPECT_EQ(machine.partitions[1].max_time_s, 120);
    EXPECT_EQ(machine.partitions[1].max_nodes, 2);
    EXPECT_EQ(machine.max_array_size, 1001);
}

TEST(SlurmMachine, CountsCoresDespiteThreadsAndReservedCores) {
    const auto node = [](const char* line) { return parse_machine(line, "", "").nodes.at(0); };
    // Two sockets with 20 cores of two threads each.
    const SlurmNode threads =
        node("NodeName=a Sockets=2 CoresPerSocket=20 ThreadsPerCore=2 CPUTot=80 CPUEfctv=80");
    EXPECT_EQ(threads.cores, 40);
    EXPECT_EQ(threads.cpus_per_core, 2);
    // The same with four threads reserved for the system (CoreSpecCount=2).
    EXPECT_EQ(node("NodeName=a Sockets=2 CoresPerSocket=20 ThreadsPerCore=2 CPUTot=80 CPUEfctv=76").cores,
              38);
    // The same on a site that counts cores, with an older Slurm without CPUEfctv.
    const SlurmNode cores = node("NodeName=a Sockets=2 CoresPerSocket=20 ThreadsPerCore=2 CPUTot=40");
    EXPECT_EQ(cores.cores, 40);
    EXPECT_EQ(cores.cpus_per_core, 1);
}

TEST(SlurmMachine, KnowsUsableStates) {
    SlurmNode node;
    for (const char* good :
         {"IDLE", "MIXED", "ALLOCATED", "IDLE+CLOUD+POWERED_DOWN", "MIXED+PLANNED", "RESERVED"}) {
        node.state = good;
        EXPECT_TRUE(node.usable()) << good;
    }
    for (const char* bad : {"DOWN", "DOWN*", "IDLE*", "IDLE+DRAIN", "MIXED+DRAIN", "DOWN+DRAIN", "FUTURE",
                            "IDLE+NOT_RESPONDING", "UNKNOWN"}) {
        node.state = bad;
        EXPECT_FALSE(node.usable()) << bad;
    }
}

TEST(SlurmMachine, RecognizesGpuTypesFromSitesAndNvml) {
    const auto known = [](const char* type) {
        const SlurmGpu gpu = gpu_of_type(type);
        EXPECT_TRUE(gpu.known) << type;
        return gpu.gpu;
    };
    EXPECT_EQ(known("v100").compute_capability, 70);
    EXPECT_EQ(known("tesla_v100-sxm2-16gb").multiprocessors, 80);
    EXPECT_EQ(known("V100S").compute_capability, 70);
    EXPECT_EQ(known("p100").compute_capability, 60);
    EXPECT_EQ(known("nvidia_a100-sxm4-40gb").multiprocessors, 108);
    EXPECT_EQ(known("a10").multiprocessors, 72);
    EXPECT_EQ(known("nvidia_geforce_rtx_3090").multiprocessors, 82);
    EXPECT_EQ(known("rtx3090").multiprocessors, 82);
    EXPECT_EQ(known("l40s").name, "L40S");
    EXPECT_EQ(known("l4").multiprocessors, 58);
    EXPECT_EQ(known("nvidia_h100_80gb_hbm3").compute_capability, 90);
    for (const char* unknown : {"", "fake", "a1000", "tesla", "xv100x9", "13090"})
        EXPECT_FALSE(gpu_of_type(unknown).known) << unknown;
    EXPECT_GT(gpu_of_type("fake").gpu.fp64_per_clock, 0);
}

TEST(SlurmMachine, TopologyHasOnlyTheJobsShare) {
    SlurmNode node;
    node.name = "t181-1";
    node.sockets = 2;
    node.cores = 40;
    node.memory_mb = 384000;
    node.gpus = {{"v100", 4, {0, 1}}};
    const std::vector<SlurmNode> nodes{node};
    const Topology topology = topology_of(nodes, {4, 16, 4}, {});
    ASSERT_EQ(topology.hosts.size(), 1u);
    const Host& host = topology.hosts[0];
    EXPECT_EQ(host.name, "t181-1");
    EXPECT_EQ(host.memory_bytes, 384000LL * 1048576);
    ASSERT_EQ(host.cores.size(), 16u);
    EXPECT_EQ(host.cores[7].numa_node, 0);
    EXPECT_EQ(host.cores[8].numa_node, 1);
    ASSERT_EQ(host.gpus.size(), 4u);
    EXPECT_EQ(host.gpus[1].place.numa_node, 0);
    EXPECT_EQ(host.gpus[2].place.numa_node, 1);
    ASSERT_EQ(topology.ranks.size(), 4u);
    for (const RankPlace& rank : topology.ranks)
        EXPECT_EQ(rank.visible_gpus.size(), 4u);  // every GPU of the node
    EXPECT_TRUE(topology_of(nodes, {2, 40, 0}, {}).hosts[0].gpus.empty());
}

TEST(SlurmMachine, TakesSpeedsFromDescribedHosts) {
    SlurmNode node;
    node.name = "t181-1";
    node.gpus = {{"mystery", 1, {}}};
    Host described;
    described.name = "t181-1";
    described.cpu_ghz = 2.4;
    described.simd_bits = 512;
    described.gpus = {gpu_of_type("v100").gpu};
    const Topology topology = topology_of(std::vector{node}, {1, 1, 1}, {{described}});
    EXPECT_EQ(topology.hosts[0].cpu_ghz, 2.4);
    EXPECT_EQ(topology.hosts[0].gpus.at(0).multiprocessors, 80);
    EXPECT_EQ(topology_of(std::vector{node}, {1, 1, 1}, {}).hosts[0].cpu_ghz, 2.0);
}
