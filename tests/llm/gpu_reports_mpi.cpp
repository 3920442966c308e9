// Readings of the GPUs of several hosts: each rank has one, and two ranks share a host. Runs under mpirun on
// 1 to 4 ranks (tests/CMakeLists.txt).
#include "llm/serve/gpu_reports.h"

#include <fmt/format.h>

#include <algorithm>

#include "unit/comm/mpi_tests.h"

using namespace voltpile;
using namespace voltpile::llm;
using test::world;

namespace {

std::string bus_id_of(int rank) {
    return fmt::format("0000:{:02x}:00.0", rank);
}

std::vector<RankGpu> gpus_of_all_ranks() {
    std::vector<RankGpu> gpus;
    for (int rank = 0; rank < world().size(); ++rank)
        gpus.push_back({rank, fmt::format("node{}", rank / 2), rank % 2, bus_id_of(rank)});
    return gpus;
}

// What the driver of this rank's host says: GPU number r draws 100 + r watts.
NodeGpus read_host() {
    NodeGpus node;
    for (int rank = world().rank() / 2 * 2; rank < world().rank() / 2 * 2 + 2; ++rank) {
        GpuSnapshot& gpu = node.gpus.emplace_back();
        gpu.bus_id = bus_id_of(rank);
        gpu.power_w = 100 + rank;
    }
    return node;
}

TEST(GpuReports, ReachRankZeroFromEveryHost) {
    GpuReports reports(world(), gpus_of_all_ranks(), read_host);
    if (world().rank() == 0) {
        const auto known = [](const RankGpu& gpu) { return gpu.now.power_w == 100 + gpu.rank; };
        for (const RankGpu& gpu : reports.latest()) EXPECT_FALSE(gpu.now.power_w);
        std::vector<RankGpu> gpus;
        for (int i = 0; i < 1000 && !std::ranges::all_of(gpus = reports.latest(), known); ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        EXPECT_EQ(std::ssize(gpus), world().size());
        EXPECT_TRUE(std::ranges::all_of(gpus, known));
    }
    reports.finish();
}

TEST(GpuReports, EndBeforeAnybodyHasAsked) {
    GpuReports reports(world(), gpus_of_all_ranks(), read_host);
    reports.finish();
}

TEST(GpuReports, NeedNoThreadWithoutGpus) {
    GpuReports reports(world(), {}, [] { return NodeGpus(); });
    EXPECT_TRUE(reports.latest().empty());
    reports.finish();
}

}  // namespace

int main(int argc, char** argv) {
    return test::run_mpi_tests(argc, argv);
}
