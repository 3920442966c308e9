#include "plan/plan.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "base/error.h"
#include "plan/calibration.h"
#include "plan/cluster_file.h"
#include "plan/plan_text.h"
#include "unit/base/temporary_folder.h"

using namespace voltpile;

namespace {

Host make_host(int cores, int gpus) {
    Host host;
    host.name = "node";
    host.cpu_name = "Xeon";
    host.cpu_ghz = 2.0;
    host.simd_bits = 256;
    for (int i = 0; i < cores; ++i) host.cores.push_back({i, i < cores / 2 ? 0 : 1});
    for (int i = 0; i < gpus; ++i) {
        Gpu gpu;
        gpu.name = "V100";
        gpu.compute_capability = 70;
        gpu.multiprocessors = 80;
        gpu.clock_ghz = 1.53;
        gpu.place.numa_node = i < gpus / 2 ? 0 : 1;
        set_throughput(gpu);
        host.gpus.push_back(gpu);
    }
    return host;
}

Topology make_topology(std::vector<Host> hosts, int ranks_per_host) {
    Topology topology;
    topology.hosts = std::move(hosts);
    for (std::size_t h = 0; h < topology.hosts.size(); ++h)
        for (int local = 0; local < ranks_per_host; ++local) {
            RankPlace place{static_cast<int>(h), local, {}, {}};
            for (std::size_t c = 0; c < topology.hosts[h].cores.size(); ++c)
                place.allowed_cores.push_back(static_cast<int>(c));
            for (std::size_t g = 0; g < topology.hosts[h].gpus.size(); ++g)
                place.visible_gpus.push_back(static_cast<int>(g));
            topology.ranks.push_back(place);
        }
    return topology;
}

Workload map_workload() {
    Workload work;
    work.unit = "pair-steps";
    work.units_per_point = 50'000;
    work.flop_per_unit = 139;
    work.points = 1'000'000;
    work.bytes_per_point = 4;
    return work;
}

void expect_nothing_shared(const Plan& plan) {
    std::set<std::pair<int, int>> cores, gpus;
    for (const RankPlan& rank : plan.ranks) {
        for (int core : rank.cores)
            EXPECT_TRUE(cores.insert({rank.host, core}).second) << "core " << core << " assigned twice";
        if (rank.gpu < 0) continue;
        EXPECT_TRUE(gpus.insert({rank.host, rank.gpu}).second) << "GPU assigned twice";
    }
}

}  // namespace

TEST(Plan, DividesCoresInEqualBlocks) {
    const Plan plan = make_plan(map_workload(), {}, make_topology({make_host(20, 0)}, 4));
    expect_nothing_shared(plan);
    for (const RankPlan& rank : plan.ranks) {
        EXPECT_EQ(rank.cores.size(), 5u);
        EXPECT_EQ(rank.cores.back() - rank.cores.front(), 4) << "not one block";
    }
}

TEST(Plan, GivesEachGpuRankTheNearbyCores) {
    const Plan plan = make_plan(map_workload(), {}, make_topology({make_host(40, 4)}, 4));
    expect_nothing_shared(plan);
    const Host& host = plan.topology.hosts[0];
    for (std::size_t r = 0; r < 4; ++r) {
        const RankPlan& rank = plan.ranks[r];
        EXPECT_EQ(rank.gpu, static_cast<int>(r));
        EXPECT_EQ(rank.cores.size(), 10u);  // two GPUs beside the 20 cores of each NUMA node
        for (const int core : rank.cores)
            EXPECT_EQ(host.cores[static_cast<std::size_t>(core)].numa_node, host.gpus[r].place.numa_node);
    }
    EXPECT_TRUE(plan.warnings.empty());
    // 1e6 x 50,000 x 139 instructions on four times 80 x 32 x 1.53e9 a second, at 90 %: 0.49 s.
    EXPECT_NEAR(plan.seconds, 1e6 * 5e4 * 139 / (4 * 80 * 32 * 1.53e9 * 0.9), 1e-9);
}

TEST(Plan, CountsStartAndEnd) {
    const Plan on_cores = make_plan(map_workload(), {}, make_topology({make_host(20, 0)}, 4));
    EXPECT_GT(on_cores.start_s, 0);
    EXPECT_GT(on_cores.end_s, 0);
    EXPECT_EQ(on_cores.whole_seconds(), on_cores.start_s + on_cores.seconds + on_cores.end_s);
    const Plan on_gpus = make_plan(map_workload(), {}, make_topology({make_host(40, 4)}, 4));
    EXPECT_GT(on_gpus.start_s, on_cores.start_s);  // CUDA

    // A run starts and ends in half a second on the one host, and in a quarter on the other.
    std::vector<Host> hosts(2, make_host(20, 0));
    hosts[0].measured = {
        {kRunStarts, "", 4}, {kRunEnds, "", 4}, {kRunStarts, "V100", 100}, {kRunEnds, "V100", 100}};
    hosts[1].measured = {{kRunStarts, "", 2}, {kRunEnds, "", 2}};
    Plan calibrated = make_plan(map_workload(), {}, make_topology(hosts, 1));
    EXPECT_EQ(calibrated.start_s, 0.5);
    EXPECT_EQ(calibrated.end_s, 0.5);
    calibrated.seconds = 1;
    EXPECT_NE(to_text(calibrated).find("time       about 2.00 s\n"), std::string::npos)
        << to_text(calibrated);
    EXPECT_NE(explain_text(calibrated).find("time to start and to end = 0.50 s + 0.50 s"), std::string::npos);
}

TEST(Plan, GivesEachGpuRankTheNicNextToIt) {
    const auto nics = [](const char* cluster) {
        std::vector<int> all;
        const auto topology =
            load_cluster(VOLTPILE_SOURCE_DIR "/data/clusters/" + std::string(cluster) + ".toml", 0);
        for (const RankPlan& rank : make_plan(map_workload(), {}, topology).ranks) all.push_back(rank.nic);
        return all;
    };
    EXPECT_EQ(nics("dgx_1v"), (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3}));
    EXPECT_EQ(nics("t180"), (std::vector<int>{0, 1, 0, 1}));  // both are as near: the ranks take turns
    EXPECT_EQ(nics("gigabyte_g482"), (std::vector<int>(8, 0)));
    EXPECT_EQ(nics("mixed_home"), (std::vector<int>{-1, -1}));
}

TEST(Plan, PlacesAThousandRanksOn250Nodes) {
    const test::TemporaryFolder folder;
    const std::string path = folder.path() / "cluster_of_250.toml";
    std::ofstream(path) << "[[host]]\nname = \"t181-\"\ncount = 250\nlike = \"t181\"\n";
    std::filesystem::copy_file(VOLTPILE_SOURCE_DIR "/data/clusters/t181.toml", folder.path() / "t181.toml");
    const auto begin = std::chrono::steady_clock::now();
    const Plan plan = make_plan(map_workload(), {}, load_cluster(path, 0));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    RecordProperty("seconds", std::to_string(took.count()));
    ASSERT_EQ(plan.ranks.size(), 1000u);
    expect_nothing_shared(plan);
    for (const RankPlan& rank : plan.ranks) EXPECT_EQ(rank.nic, rank.local_rank % 2);
}

TEST(Plan, UsesOnlyVisibleGpus) {
    // The batch system shows each rank one GPU, which is device 0 for CUDA in every rank.
    Topology topology = make_topology({make_host(8, 4)}, 4);
    for (std::size_t r = 0; r < 4; ++r) topology.ranks[r].visible_gpus = {static_cast<int>(3 - r)};
    const Plan plan = make_plan(map_workload(), {}, topology);
    expect_nothing_shared(plan);
    for (std::size_t r = 0; r < 4; ++r) {
        EXPECT_EQ(plan.ranks[r].gpu, static_cast<int>(3 - r));
        EXPECT_EQ(plan.ranks[r].device, 0);
    }
    topology.ranks[3].visible_gpus.clear();
    EXPECT_EQ(make_plan(map_workload(), {}, topology).ranks[3].gpu, -1);
}

TEST(Plan, GivesRemainingCoresToRanksWithoutGpu) {
    const Plan plan = make_plan(map_workload(), {}, make_topology({make_host(8, 1)}, 3));
    expect_nothing_shared(plan);
    EXPECT_EQ(plan.ranks[0].gpu, 0);
    EXPECT_EQ(plan.ranks[0].cores.size(), 1u);
    EXPECT_EQ(plan.ranks[1].cores.size() + plan.ranks[2].cores.size(), 7u);
}

TEST(Plan, WarnsAboutIdleGpus) {
    const Plan plan = make_plan(map_workload(), {}, make_topology({make_host(8, 4)}, 1));
    ASSERT_EQ(plan.warnings.size(), 1u);
    EXPECT_NE(plan.warnings[0].find("3 GPUs of node stay idle"), std::string::npos) << plan.warnings[0];
}

TEST(Plan, RespectsLauncherBindings) {
    Topology topology = make_topology({make_host(8, 0)}, 2);
    topology.ranks[0].allowed_cores = {0, 1, 2, 3};
    topology.ranks[1].allowed_cores = {4, 5};
    const Plan plan = make_plan(map_workload(), {}, topology);
    EXPECT_EQ(plan.ranks[0].cores, (std::vector<int>{0, 1, 2, 3}));
    EXPECT_EQ(plan.ranks[1].cores, (std::vector<int>{4, 5}));
}

TEST(Plan, SharesOnlyTheOverlapOfBindings) {
    Topology topology = make_topology({make_host(6, 0)}, 2);
    topology.ranks[0].allowed_cores = {0, 1, 2, 3};
    topology.ranks[1].allowed_cores = {2, 3, 4, 5};
    const Plan plan = make_plan(map_workload(), {}, topology);
    expect_nothing_shared(plan);
    EXPECT_EQ(plan.ranks[0].cores.size(), 3u);
    EXPECT_EQ(plan.ranks[1].cores.size(), 3u);
}

TEST(Plan, WarnsWhenRanksShareCores) {
    const Plan plan = make_plan(map_workload(), {}, make_topology({make_host(2, 0)}, 4));
    for (const RankPlan& rank : plan.ranks) EXPECT_EQ(rank.cores.size(), 1u);
    ASSERT_EQ(plan.warnings.size(), 1u);
    EXPECT_NE(plan.warnings[0].find("fewer cores than ranks"), std::string::npos);
}

TEST(Plan, RejectsGpuDeviceWithoutGpus) {
    PlanOptions options;
    options.device = DeviceChoice::Gpu;
    try {
        make_plan(map_workload(), options, make_topology({make_host(4, 0)}, 1));
        FAIL() << "accepted";
    } catch (const MachineError& error) {
        EXPECT_EQ(error.exit_code(), ExitCode::CannotRun);
        EXPECT_STREQ(error.what(),
                     "run.device = \"gpu\": node has no GPUs; set run.device = \"auto\" or \"cpu\"");
    }
}

TEST(Plan, RejectsMoreGpuRanksThanGpus) {
    PlanOptions options;
    options.device = DeviceChoice::Gpu;
    const auto message = [&](const Topology& topology) -> std::string {
        try {
            make_plan(map_workload(), options, topology);
        } catch (const MachineError& error) {
            return error.what();
        }
        return "accepted";
    };
    Topology topology = make_topology({make_host(8, 2)}, 3);
    EXPECT_EQ(message(topology),
              "run.device = \"gpu\": node has 2 GPUs but 3 ranks; start at most 2 ranks there, or set "
              "run.device = \"auto\" or \"cpu\"");
    for (RankPlace& place : topology.ranks) place.visible_gpus = {0};
    EXPECT_EQ(
        message(topology),
        "run.device = \"gpu\": the 3 ranks on node can use only 1 of its 2 GPUs; check "
        "CUDA_VISIBLE_DEVICES and what the batch system gives each rank, or set run.device = \"auto\" or "
        "\"cpu\"");
}

TEST(Plan, PrintsGpuMemoryBesideHostMemory) {
    Plan plan = make_plan(map_workload(), {}, make_topology({make_host(8, 1)}, 1));
    EXPECT_NE(to_text(plan).find("host memory  bound to\n"), std::string::npos) << to_text(plan);
    EXPECT_EQ(to_text(plan).find("GPU memory"), std::string::npos) << to_text(plan);
    plan.ranks[0].gpu_memory_bytes = 11'000'000'000;
    EXPECT_NE(to_text(plan).find("GPU memory  bound to\n"), std::string::npos) << to_text(plan);
    EXPECT_NE(to_text(plan).find(" 11.0 GB  core"), std::string::npos) << to_text(plan);
}

TEST(Plan, LeavesGpusAloneForCpuDevice) {
    PlanOptions options;
    options.device = DeviceChoice::Cpu;
    options.threads = 3;
    const Plan plan = make_plan(map_workload(), options, make_topology({make_host(8, 4)}, 1));
    EXPECT_EQ(plan.ranks[0].gpu, -1);
    EXPECT_EQ(plan.ranks[0].cores.size(), 3u);
    EXPECT_TRUE(plan.warnings.empty());
}

TEST(Plan, CountsCyclesOfCoresThatWait) {
    PlanOptions options;
    options.device = DeviceChoice::Cpu;
    const Topology topology = make_topology({make_host(1, 0)}, 1);
    Workload work = map_workload();
    work.core_cycles_per_unit = 500;
    work.core_seconds_per_point = 1e-3;
    const double seconds_per_unit = 500 / (4 * 2.0e9) + 1e-3 / work.units_per_point;
    EXPECT_NEAR(make_plan(work, options, topology).ranks[0].units_per_s, 1 / seconds_per_unit,
                1e-9 / seconds_per_unit);
}

TEST(Plan, MemoryDoesNotGrowWithTheSweep) {
    Workload work = map_workload();
    work.points = 1'000'000'000;
    const Topology topology = make_topology({make_host(8, 0)}, 2);
    const auto large = make_plan(work, {}, topology).ranks[0].memory_bytes;
    work.points = 1'000'000'000'000;
    EXPECT_EQ(make_plan(work, {}, topology).ranks[0].memory_bytes, large);
    EXPECT_LT(large, 200'000'000);
}

TEST(Plan, WarnsAboutMoreRanksThanPoints) {
    Workload work = map_workload();
    work.points = 1;
    const Plan plan = make_plan(work, {}, make_topology({make_host(8, 0)}, 2));
    ASSERT_EQ(plan.warnings.size(), 1u);
    EXPECT_NE(plan.warnings[0].find("nothing to do"), std::string::npos);
}

TEST(ClusterFile, DescribesThreeNodesOfFourV100) {
    const Topology topology = load_cluster(VOLTPILE_SOURCE_DIR "/data/clusters/t181_x3.toml", 0);
    ASSERT_EQ(topology.hosts.size(), 3u);
    EXPECT_EQ(topology.hosts[2].name, "t181-3");
    EXPECT_EQ(topology.hosts[0].cores.size(), 40u);
    EXPECT_EQ(topology.hosts[0].gpus.size(), 4u);
    EXPECT_EQ(topology.ranks.size(), 12u);
    expect_nothing_shared(make_plan(map_workload(), {}, topology));
}

TEST(ClusterFile, PlansAThousandRanks) {
    Topology topology = load_cluster(VOLTPILE_SOURCE_DIR "/data/clusters/t181_x3.toml", 334);
    const Plan plan = make_plan(map_workload(), {}, topology);
    EXPECT_EQ(plan.ranks.size(), 1002u);
}

TEST(ClusterFile, ReportsLineOfErrors) {
    const test::TemporaryFolder folder;
    const std::string path = folder.path() / "bad_cluster.toml";
    auto message = [&path](const char* text) -> std::string {
        FILE* file = std::fopen(path.c_str(), "w");
        std::fputs(text, file);
        std::fclose(file);
        try {
            load_cluster(path, 1);
        } catch (const JobError& error) {
            return error.what();
        }
        return "accepted";
    };
    EXPECT_EQ(message("[[host]]\nname = \"a\"\ncount = 0\n"),
              path + ":3: count = 0: must be between 1 and 20000");
    EXPECT_EQ(message("[[host]]\nname = \"a\"\n"), path + ":1: count is missing");
    EXPECT_EQ(message("[[host]]\nname = 3\n"), path + ":2: name has the wrong type: it must be a string");
    EXPECT_EQ(message("host = 3\n"), path + ":1: host must be an array of tables: [[host]]");
    EXPECT_EQ(message(""), path + ":1: no [[host]]");
    EXPECT_EQ(message("a = \n").substr(0, path.size() + 3), path + ":1:");
    EXPECT_NE(message(""), "accepted");
    EXPECT_THROW(load_cluster("/nonexistent/cluster.toml", 1), JobError);
    EXPECT_THROW(load_cluster("/dev/zero", 1), JobError);
}

TEST(ClusterFile, RejectsCountsThatWouldFillTheMemory) {
    const test::TemporaryFolder folder;
    const std::string path = folder.path() / "huge_cluster.toml";
    const auto message = [&path](const std::string& text, int ranks_per_host) -> std::string {
        std::ofstream(path) << text;
        try {
            load_cluster(path, ranks_per_host);
        } catch (const JobError& error) {
            return error.what();
        }
        return "accepted";
    };
    // Returns a host table with count on line 3, sockets on line 4 and cores_per_socket on line 5.
    const auto host = [](const std::string& count, const std::string& sockets, const std::string& cores) {
        return "[[host]]\nname = \"a\"\ncount = " + count + "\nsockets = " + sockets +
               "\ncores_per_socket = " + cores +
               "\ncpu = \"Xeon\"\ncpu_ghz = 2.0\nsimd_bits = 256\nmemory_gb = 64\n";
    };
    const auto gpus = [](const std::string& count) {
        return "[[host.gpu]]\nname = \"V100\"\ncompute_capability = 70\nmultiprocessors = 80\n"
               "clock_ghz = 1.53\nmemory_gb = 16\ncount = " +
               count + "\n";
    };
    const std::string huge = "9223372036854775807";
    EXPECT_EQ(message(host("1", "2", "8") + gpus("4"), 0), "accepted");
    EXPECT_EQ(message(host(huge, "2", "8"), 0),
              path + ":3: count = " + huge + ": must be between 1 and 20000");
    EXPECT_EQ(message(host("1", huge, "8"), 0),
              path + ":4: sockets = " + huge + ": must be between 1 and 64");
    EXPECT_EQ(message(host("1", "2", huge), 0),
              path + ":5: cores_per_socket = " + huge + ": must be between 1 and 512");
    EXPECT_EQ(message(host("1", "2", "8") + gpus(huge), 0),
              path + ":16: count = " + huge + ": must be between 1 and 64");
    EXPECT_EQ(message(host("1", "2", "8") + gpus("40") + gpus("40"), 0),
              path + ":23: count = 40: a host can have at most 64 GPUs in all");
    EXPECT_EQ(message(host("15000", "2", "8") + host("15000", "2", "8"), 0),
              path + ":12: count = 15000: a cluster can have at most 20000 hosts in all");
    EXPECT_EQ(message(host("20000", "2", "8"), 4096),
              path + ": 4096 ranks on each of 20000 hosts; a plan can have at most 100000 ranks");
}

TEST(Plan, LeaderSpeedIsSumOverTeam) {
    const Host host = make_host(8, 0);
    Workload work = map_workload();
    const Plan alone = make_plan(work, {}, make_topology({host}, 4));
    work.team.tensor = 2;
    work.team.replicas = 1;
    const Plan plan = make_plan(work, {}, make_topology({host}, 4));
    double each = alone.points_per_s(alone.ranks[0]);
    EXPECT_EQ(leader_speeds(alone), (std::vector<double>{each, each, each, each}));
    EXPECT_EQ(leader_speeds(plan), (std::vector<double>{2 * each, 0, 0, 0}));
}
