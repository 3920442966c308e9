#include "plan/training.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "plan/cluster_file.h"

namespace voltpile {
namespace {

Topology machine(const char* name) {
    return load_cluster(VOLTPILE_SOURCE_DIR "/data/clusters/" + std::string(name) + ".toml", 0);
}

// What owners calculate with: 7B takes 126 GB, 34B 612 GB, 175B 3150 GB.
TEST(Training, TakesEighteenBytesAParameter) {
    EXPECT_DOUBLE_EQ(plan_training({7e9}, machine("h200_x8")).bytes, 126e9);
    EXPECT_DOUBLE_EQ(plan_training({34e9}, machine("h200_x8")).bytes, 612e9);
    EXPECT_DOUBLE_EQ(plan_training({175e9}, machine("h200_x8")).bytes, 3150e9);
}

TEST(Training, FitsWhereTheSmallestGpuHasRoom) {
    EXPECT_TRUE(plan_training({34e9}, machine("h200_x8")).fits());    // 76.5 GB of 141 GB
    EXPECT_FALSE(plan_training({175e9}, machine("h200_x8")).fits());  // 394 GB
    // 126 GB over four GPUs of 16 GB; 12 x 14.4 GB hold it, eight hold 115 GB, and nine hold 129.6 GB.
    const TrainingPlan t180 = plan_training({7e9}, machine("t180"));
    EXPECT_FALSE(t180.fits());
    EXPECT_EQ(t180.gpus_needed, 9);
    EXPECT_NEAR(t180.largest_parameters, 4 * 14.4e9 / 18, 1e3);
    EXPECT_TRUE(plan_training({7e9}, machine("t180_x3")).fits());
    EXPECT_EQ(plan_training({1e9}, machine("desktop_3060_1060")).smallest_gpu,
              "GPU 1 (GeForce GTX 1060 6GB) of desktop");
}

TEST(Training, CountsAdaptersOfLlama) {
    // LLaMA 7B (6.74e9 parameters) with adapters of rank 16 on all seven matrices: 39,976,960 parameters.
    EXPECT_NEAR(lora_parameters(6.74e9, 16), 39'976'960, 0.05 * 39'976'960);
    const TrainingPlan lora = plan_training({7e9, 16}, machine("t180"));
    EXPECT_TRUE(lora.fits());
    EXPECT_LT(lora.bytes, 15e9);
}

TEST(Training, NeedsGpus) {
    Topology none;
    none.hosts.emplace_back();
    EXPECT_THROW(plan_training({7e9}, none), MachineError);
}

}  // namespace
}  // namespace voltpile
