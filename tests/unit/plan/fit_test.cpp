#include "plan/fit.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "plan/cluster_file.h"
#include "plan/sweep_memory.h"

namespace voltpile {

// A desktop with GPUs of 12.9 and 6.4 GB and one rank for each.
class Fit : public testing::Test {
  protected:
    Fit() {
        Workload work;
        work.unit = "steps";
        work.points = 1000;
        work.bytes_per_point = 8;
        plan =
            make_plan(work, {}, load_cluster(VOLTPILE_SOURCE_DIR "/data/clusters/desktop_3060_1060.toml", 0));
        for (RankPlan& rank : plan.ranks) rank.memory_bytes = 1'000'000'000;
        plan.topology.hosts.front().memory_bytes = 2'500'000'000;
    }
    std::string refusal() const {
        try {
            check_memory(plan, axes);
        } catch (const MachineError& error) {
            return error.what();
        }
        return "fits";
    }
    // Plans a map of 3,000 x 1,000 points that take 16 bytes each, and 184 while a GPU computes them.
    void plan_map() {
        Workload work;
        work.unit = "steps";
        work.points = 3'000'000;
        work.bytes_per_point = 16;
        work.gpu_state_bytes = 184;
        plan = make_plan(work, {}, plan.topology);
        axes.resize(2);
        axes[0].name = "x";
        axes[0].count = 3000;
        axes[1].name = "y";
        axes[1].count = 1000;
    }
    Plan plan;
    std::vector<SweepAxis> axes;
};

TEST_F(Fit, AcceptsWhatFits) {
    EXPECT_EQ(refusal(), "fits");
    plan.ranks[1].gpu_memory_bytes = plan.topology.hosts.front().gpus[1].memory_bytes;
    EXPECT_EQ(refusal(), "fits");
}

TEST_F(Fit, NamesTheGpuThatIsTooSmall) {
    for (RankPlan& rank : plan.ranks) rank.gpu_memory_bytes = 9'000'000'000;  // fits the first one
    const std::string why = refusal();
    EXPECT_TRUE(why.starts_with("the job does not fit: rank 1 needs 9.0 GB of memory on GPU 1 (")) << why;
}

TEST_F(Fit, SaysHowManyRanksAHostHolds) {
    plan.topology.hosts.front().memory_bytes = 1'900'000'000;
    const std::string why = refusal();
    EXPECT_NE(why.find("the 2 ranks on desktop need 2.0 GB of memory, and it has 1.9 GB; 1 rank would fit"),
              std::string::npos)
        << why;
    plan.topology.hosts.front().memory_bytes = 900'000'000;
    EXPECT_TRUE(refusal().ends_with("it has 900 MB")) << refusal();
}

// Two ranges of n points at 200 bytes beside CUDA's 557 MB: 757 MB have room for n = 500,000, which
// 1,225 x 408 points are below and 1,226 x 408 above.
TEST_F(Fit, NamesTheLargestGridThatAGpuHolds) {
    plan_map();
    EXPECT_EQ(plan.ranks[1].gpu_memory_bytes, 557'000'000 + 2 * 200 * std::int64_t{3'000'000});
    plan.topology.hosts.front().memory_bytes = 0;
    plan.topology.hosts.front().gpus[1].memory_bytes = 757'000'000;
    EXPECT_TRUE(refusal().ends_with("; the largest grid of this shape that fits has x = 1,225, y = 408"))
        << refusal();
    plan.topology.hosts.front().gpus[1].memory_bytes = 557'000'000;
    EXPECT_TRUE(refusal().ends_with("run.device = \"cpu\"")) << refusal();
}

// Each of the two ranks takes the program's 64 MiB, 300 MB for CUDA, and 16 bytes for a point in ten copies
// of a range (32 MiB of results at most) and in the pinned memory of two ranges (64 MiB each at most).
TEST_F(Fit, NamesTheLargestGridThatAHostHolds) {
    plan_map();
    const std::int64_t fixed = (64 << 20) + 300'000'000;
    for (const RankPlan& rank : plan.ranks)
        EXPECT_EQ(rank.memory_bytes, fixed + 10 * (32 << 20) + 2 * 16 * std::int64_t{3'000'000});
    plan.topology.hosts.front().memory_bytes = 2 * (fixed + 12 * 16 * 750'000);
    EXPECT_TRUE(
        refusal().ends_with("; 1 rank would fit; the largest grid of this shape that fits has x = "
                            "1,500, y = 500"))
        << refusal();
}

TEST_F(Fit, TakesUnknownMemoryForEnough) {
    plan.topology.hosts.front().memory_bytes = 0;
    plan.topology.hosts.front().gpus[0].memory_bytes = 0;
    plan.ranks[0].gpu_memory_bytes = 1'000'000'000'000;
    EXPECT_EQ(refusal(), "fits");
}

// A rank that computes on cores beside an H200 took 280 MB; the program alone counts 71 MB with these
// results.
TEST(SweepMemory, CountsTheLibrariesOfCudaOnHostsWithGpus) {
    Workload work;
    work.points = 90'000;
    work.bytes_per_point = 12;
    const auto bytes = [&](bool on_gpu, bool host_has_gpus) {
        return static_cast<double>(
            sweep_host_bytes(work, work.points, 30'000, cuda_use(on_gpu, host_has_gpus)));
    };
    EXPECT_NEAR(bytes(false, false), 71e6, 0.03 * 71e6);
    EXPECT_NEAR(bytes(false, true), 280e6, 0.03 * 280e6);
}

}  // namespace voltpile
