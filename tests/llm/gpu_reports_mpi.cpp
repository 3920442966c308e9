// Readings of the GPUs of several hosts: each rank has one, and two ranks share a host. Runs under mpirun on
// 1 to 4 ranks (tests/CMakeLists.txt).
#include "llm/serve/gpu_reports.h"

#include <fmt/format.h>

#include <future>

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

std::vector<RankGpu> latest(GpuReports& reports) {
    std::promise<std::vector<RankGpu>> promise;
    reports.with_latest([&](const std::vector<RankGpu>& gpus) { promise.set_value(gpus); });
    return promise.get_future().get();
}

TEST(GpuReports, ReachRankZeroFromEveryHost) {
    GpuReports reports(world(), gpus_of_all_ranks(), read_host);
    if (world().rank() == 0) {
        for (int i = 0; i < 2; ++i) {  // the first call waits, the second has the same readings
            const std::vector<RankGpu> gpus = latest(reports);
            EXPECT_EQ(std::ssize(gpus), world().size());
            for (const RankGpu& gpu : gpus) EXPECT_EQ(gpu.now.power_w, 100 + gpu.rank);
        }
    }
    reports.finish();
}

TEST(GpuReports, ADriverThatHangsDelaysNobodyForLong) {
    std::promise<void> answers;
    const std::shared_future<void> answered = answers.get_future().share();
    GpuReports reports(world(), gpus_of_all_ranks(), [&] {
        if (world().rank() == 0) answered.wait();
        return read_host();
    });
    if (world().rank() == 0) {
        for (const RankGpu& gpu : latest(reports)) {
            EXPECT_TRUE(gpu.host != "node0" || !gpu.now.power_w);
        }
        answers.set_value();
    }
    reports.finish();
}

TEST(GpuReports, AnswerWhatWaitsAtTheEnd) {
    std::promise<void> answers;
    const std::shared_future<void> answered = answers.get_future().share();
    GpuReports reports(world(), gpus_of_all_ranks(), [&] {
        if (world().rank() == 0) answered.wait();
        return read_host();
    });
    if (world().rank() == 0) {
        bool called = false;
        reports.with_latest([&](const std::vector<RankGpu>&) { called = true; });
        reports.end_waits();
        EXPECT_TRUE(called);
        latest(reports);  // at once
        answers.set_value();
    }
    reports.finish();
}

TEST(GpuReports, EndBeforeAnybodyHasAsked) {
    GpuReports reports(world(), gpus_of_all_ranks(), read_host);
    reports.finish();
}

TEST(GpuReports, NeedNoThreadWithoutGpus) {
    GpuReports reports(world(), {}, [] { return NodeGpus(); });
    EXPECT_TRUE(latest(reports).empty());
    reports.finish();
}

}  // namespace

int main(int argc, char** argv) {
    return test::run_mpi_tests(argc, argv);
}
