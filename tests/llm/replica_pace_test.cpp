// The estimated speed of generation beside measurements: docs/benchmarks.md for H200, and the figures that
// owners of a T180-G20 published.
#include "llm/replica/replica_pace.h"

#include <gtest/gtest.h>

#include "llm/model/synthetic_model.h"
#include "plan/cluster_file.h"

namespace voltpile::llm {
namespace {

ReplicaPace pace_of(const SyntheticModel& model, const char* cluster, int tensor, int pipeline,
                    int sequences) {
    ReplicaRequest request;
    request.context = 1024;
    request.tensor = tensor;
    request.pipeline = pipeline;
    request.sequences = sequences;
    const auto topology =
        load_cluster(VOLTPILE_SOURCE_DIR "/data/clusters/" + std::string(cluster) + ".toml", 0);
    return estimate_pace(plan_replica(model, request, topology), weight_bytes(model).weights);
}

TEST(ReplicaPace, AgreesWithMeasurementsOnH200) {
    const SyntheticModel small("llama-3-8b", "q8_0"), large("llama-3-70b", "q5_k_m");
    EXPECT_NEAR(pace_of(small, "h200_x8", 1, 1, 1).one_sequence, 356, 0.2 * 356);
    EXPECT_NEAR(pace_of(small, "h200_x8", 2, 1, 1).one_sequence, 476, 0.2 * 476);
    EXPECT_NEAR(pace_of(small, "h200_x8", 4, 1, 1).one_sequence, 540, 0.2 * 540);
    EXPECT_NEAR(pace_of(small, "h200_x8", 1, 2, 1).one_sequence, 346, 0.2 * 346);
    EXPECT_NEAR(pace_of(large, "h200_x8", 1, 1, 1).one_sequence, 62.3, 0.2 * 62.3);
    EXPECT_NEAR(pace_of(large, "h200_x8", 2, 1, 1).one_sequence, 93, 0.2 * 93);
    EXPECT_NEAR(pace_of(small, "h200_x8", 1, 1, 32).all_sequences, 7555, 0.2 * 7555);
    EXPECT_NEAR(pace_of(small, "h200_x8", 1, 1, 128).all_sequences, 13'661, 0.2 * 13'661);
}

TEST(ReplicaPace, AgreesWithOwnersOfAT180) {
    const SyntheticModel small("llama-3-8b", "q8_0");
    EXPECT_NEAR(pace_of(small, "t180", 1, 1, 1).one_sequence, 71, 0.2 * 71);
}

TEST(ReplicaPace, IsUnknownWithoutBandwidth) {
    const SyntheticModel model("tiny", "q8_0");
    ReplicaRequest request;
    request.context = 64;
    request.device = DeviceChoice::Cpu;
    const auto topology = load_cluster(VOLTPILE_SOURCE_DIR "/data/clusters/mixed_home.toml", 1);
    EXPECT_EQ(estimate_pace(plan_replica(model, request, topology), weight_bytes(model).weights).one_sequence,
              0);
}

}  // namespace
}  // namespace voltpile::llm
