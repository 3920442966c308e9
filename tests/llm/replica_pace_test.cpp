// The estimated speed of generation beside measurements: docs/benchmarks.md for H200, and the figures that
// owners of a T180-G20 published.
#include "llm/replica/replica_pace.h"

#include <gtest/gtest.h>

#include "llm/bench/llm_rates.h"
#include "llm/model/gpu_memory.h"
#include "llm/model/integer_copies.h"
#include "llm/model/synthetic_model.h"
#include "plan/calibration.h"
#include "plan/cluster_file.h"
#include "plan/cores.h"

namespace voltpile::llm {
namespace {

ReplicaPlan plan_of(const SyntheticModel& model, const char* cluster, int tensor, int pipeline,
                    int sequences) {
    ReplicaRequest request;
    request.context = 1024;
    request.tensor = tensor;
    request.pipeline = pipeline;
    request.sequences = sequences;
    const auto topology =
        load_cluster(VOLTPILE_SOURCE_DIR "/data/clusters/" + std::string(cluster) + ".toml", 0);
    return plan_replica(model, request, topology);
}

ReplicaPace pace_of(const SyntheticModel& model, const char* cluster, int tensor, int pipeline,
                    int sequences) {
    return estimate_pace(plan_of(model, cluster, tensor, pipeline, sequences), weight_bytes(model));
}

TEST(ReplicaPace, AgreesWithMeasurementsOnH200) {
    const SyntheticModel small("llama-3-8b", "q8_0"), large("llama-3-70b", "q5_k_m");
    EXPECT_NEAR(pace_of(small, "h200_x8", 1, 1, 1).one_sequence, 410, 0.2 * 410);
    EXPECT_NEAR(pace_of(small, "h200_x8", 2, 1, 1).one_sequence, 594, 0.2 * 594);
    EXPECT_NEAR(pace_of(small, "h200_x8", 4, 1, 1).one_sequence, 810, 0.2 * 810);
    EXPECT_NEAR(pace_of(small, "h200_x8", 1, 2, 1).one_sequence, 346, 0.2 * 346);
    EXPECT_NEAR(pace_of(large, "h200_x8", 1, 1, 1).one_sequence, 69.2, 0.2 * 69.2);
    EXPECT_NEAR(pace_of(large, "h200_x8", 4, 1, 1).one_sequence, 170, 0.2 * 170);
    EXPECT_NEAR(pace_of(small, "h200_x8", 1, 1, 32).all_sequences, 8'800, 0.2 * 8'800);
    EXPECT_NEAR(pace_of(small, "h200_x8", 1, 1, 128).all_sequences, 21'600, 0.2 * 21'600);
    EXPECT_NEAR(pace_of(small, "h200_x8", 1, 1, 256).all_sequences, 25'600, 0.2 * 25'600);
    EXPECT_NEAR(pace_of(small, "h200_x8", 1, 1, 256).prompt, 62'000, 0.2 * 62'000);
}

TEST(ReplicaPace, AgreesWithMeasurementsOfWeightsIn16BitsOnH200) {
    const SyntheticModel small("llama-3-8b", "f16");
    const ReplicaPace pace = pace_of(small, "h200_x8", 1, 1, 128);
    EXPECT_NEAR(pace.one_sequence, 226, 0.2 * 226);
    EXPECT_NEAR(pace.with(32), 5'687, 0.2 * 5'687);
    EXPECT_NEAR(pace.all_sequences, 16'753, 0.2 * 16'753);
    EXPECT_NEAR(pace.prompt, 33'848, 0.2 * 33'848);
}

TEST(ReplicaPace, AgreesWithOwnersOfAT180) {
    const SyntheticModel small("llama-3-8b", "q8_0");
    EXPECT_NEAR(pace_of(small, "t180", 1, 1, 1).one_sequence, 71, 0.2 * 71);
}

// Tiles of the products of 9 and more tokens read weights more slowly than a dense model's, which plans leave
// out.
TEST(ReplicaPace, AgreesWithMeasurementsOfAMixtureOnH100) {
    const SyntheticModel model("qwen-3-30b-a3b", "q4_k_m");
    Topology topology = load_cluster(VOLTPILE_SOURCE_DIR "/data/clusters/h200_x8.toml", 1);
    for (Gpu& gpu : topology.hosts.front().gpus)
        gpu.memory_gb_per_s = 3350, gpu.memory_bytes = 80'000'000'000;
    ReplicaRequest request;
    request.context = 1024;
    request.sequences = 128;
    const ReplicaPace pace = estimate_pace(plan_replica(model, request, topology), weight_bytes(model));
    EXPECT_NEAR(pace.one_sequence, 373, 0.2 * 373);
    EXPECT_NEAR(pace.with(8), 1'353, 0.2 * 1'353);
    EXPECT_NEAR(pace.with(32), 2'647, 0.4 * 2'647);
    EXPECT_NEAR(pace.all_sequences, 7'501, 0.4 * 7'501);
}

// Passes of 512 and 4,096 rows take 9.65 and 63.95 ms on an H200: 1.89 ms and 15.2 us for each row.
TEST(ReplicaPace, KnowsTheFixedCostOfAPass) {
    const SyntheticModel model("llama-3-8b", "q8_0");
    const double measured = 1.89e-3 / 15.2e-6;
    EXPECT_NEAR(plan_of(model, "h200_x8", 1, 1, 1).pass_rows, measured, 0.3 * measured);
    // With two stages, half of the time and half of the cost of a row.
    EXPECT_NEAR(plan_of(model, "h200_x8", 1, 2, 1).pass_rows, measured, 0.3 * measured);
}

// Without copies of the weights as integers, prompts take longer.
TEST(ReplicaPace, CountsCopies) {
    const SyntheticModel model("llama-3-8b", "q8_0");
    const Topology topology = load_cluster(VOLTPILE_SOURCE_DIR "/data/clusters/h200_x8.toml", 1);
    ReplicaRequest request;
    request.context = 1024;
    request.tensor = request.pipeline = 1;
    const ReplicaPlan with = plan_replica(model, request, topology);
    EXPECT_EQ(with.stages.front().integers, integer_bytes(model, 0, 32, 1, most_integer_columns(90)));
    request.copies = false;
    const ReplicaPlan without = plan_replica(model, request, topology);
    EXPECT_EQ(without.stages.front().integers, 0U);
    const WeightBytes weights = weight_bytes(model);
    EXPECT_LT(estimate_pace(without, weights).prompt, 0.6 * estimate_pace(with, weights).prompt);
}

TEST(ReplicaPace, CopiesAreForGpusWithIntegerTensorCores) {
    const SyntheticModel model("llama-3-8b", "q8_0");
    const auto copies = [&](const char* cluster) {
        return plan_of(model, cluster, 1, 1, 1).stages.front().integers;
    };
    for (const char* const cluster : {"h200_x8", "gigabyte_g482", "romed8_7x3090", "rtx4090_x7"})
        EXPECT_GT(copies(cluster), 0U) << cluster;
    for (const char* const cluster : {"t180", "dgx_2"}) EXPECT_EQ(copies(cluster), 0U) << cluster;
}

// A 70B's rows of 28,672 columns do not fit in a block's shared memory of 99 KB.
TEST(ReplicaPace, CopiesAreOfRowsThatGpusCanRound) {
    const SyntheticModel model("llama-3-70b", "q4_k_m");
    for (const StageNeeds& stage : plan_of(model, "romed8_7x3090", 1, 7, 1).stages) {
        const auto all = [&](int capability) {
            return integer_bytes(model, stage.layer_begin, stage.layer_end, 1,
                                 most_integer_columns(capability));
        };
        EXPECT_EQ(stage.integers, all(86));
        EXPECT_LT(stage.integers, all(90));
    }
}

// A token uses a quarter of the experts; of two at random, 1 - (3/4)^2 of them.
TEST(ReplicaPace, StepsReadTheExpertsThatTheirTokensUse) {
    const StagePace pace{1, 0.5, 8, 0.75};
    EXPECT_DOUBLE_EQ(pace.with(1), 1 + 2 + 0.5);
    EXPECT_DOUBLE_EQ(pace.with(2), 1 + 3.5 + 1);
}

TEST(ReplicaPace, OfCoresCountsLayersAndProducts) {
    const SyntheticModel model("tiny", "q8_0");
    ReplicaRequest request;
    request.context = 64;
    request.sequences = 4;
    request.tensor = request.pipeline = 1;
    request.device = DeviceChoice::Cpu;
    Topology topology = load_cluster(VOLTPILE_SOURCE_DIR "/data/clusters/mixed_home.toml", 1);
    Host& host = topology.hosts.front();
    topology.ranks.resize(1);
    const ReplicaPlan plan = plan_replica(model, request, topology);
    const std::uint64_t weights = weight_bytes(model).weights;
    const ReplicaPace pace = estimate_pace(plan, weight_bytes(model));
    const auto cores = static_cast<double>(plan.plan.ranks.front().cores.size());
    const double products_s =
        static_cast<double>(weights) / (0.85 * cores * core_lanes_per_s(host, false));  // AVX2
    const double one = 1 / pace.one_sequence, four = 4 / pace.all_sequences;
    EXPECT_NEAR(four - one, 3 * products_s, 1e-12);
    EXPECT_GT(one - products_s, static_cast<double>(model.config().layers) * 5e-6);  // and weights are read
}

// Rates that were measured replace all theoretical ones. 8.03e9 weights of 34 bytes for each 32.
TEST(ReplicaPace, FollowsTheCalibration) {
    const SyntheticModel model("llama-3-8b", "q8_0");
    ReplicaRequest request;
    request.context = 1024;
    request.tensor = request.pipeline = 1;
    request.sequences = 16;
    Topology topology = load_cluster(VOLTPILE_SOURCE_DIR "/data/clusters/t180.toml", 1);
    Host& host = topology.hosts.front();
    const std::string gpu = host.gpus.front().name;
    host.measured = {{kLlmWeights, gpu, 1e12}, {kLlmProducts, gpu, 4e13}, {kLlmPrompt, gpu, 2e13}};
    const ReplicaPlan plan = plan_replica(model, request, topology);
    const std::uint64_t weights = weight_bytes(model).weights;
    const ReplicaPace pace = estimate_pace(plan, weight_bytes(model));
    const double fixed = static_cast<double>(plan.stages.front().weights) / 1e12;
    const double each = static_cast<double>(weights) / 4e13;
    EXPECT_DOUBLE_EQ(pace.one_sequence, 1 / (fixed + each));
    EXPECT_DOUBLE_EQ(pace.all_sequences, 16 / (fixed + 16 * each));
    EXPECT_DOUBLE_EQ(pace.prompt, 2e13 / static_cast<double>(weights));
    // 40 prompts of 100 tokens, 10 generated: two rounds of 16 and one of 8.
    EXPECT_NEAR(
        pace.seconds(40, 16, 100, 10),
        pace.start_s + 16 * 2e-3 + 4000 / pace.prompt + 10 * (2 * (fixed + 16 * each) + fixed + 8 * each),
        1e-9);
}

TEST(ReplicaPace, OfCoresIsKnownOnceTheyAreCalibrated) {
    const SyntheticModel model("tiny", "q8_0");
    ReplicaRequest request;
    request.context = 64;
    request.device = DeviceChoice::Cpu;
    Topology topology = load_cluster(VOLTPILE_SOURCE_DIR "/data/clusters/mixed_home.toml", 1);
    topology.ranks.resize(1);
    const ReplicaPlan uncalibrated = plan_replica(model, request, topology);
    const auto cores = static_cast<double>(uncalibrated.plan.ranks.front().cores.size());
    // A step of one and of eight sequences, and a prompt of 512 tokens, on these cores.
    LlmPassTimes times{2e-3, 3e-3, 0.1, 8, 512, 0, 0, 4, 200e-6};
    times.weight_bytes = static_cast<double>(uncalibrated.stages.front().weights);
    times.products = static_cast<double>(weight_bytes(model).weights);
    topology.hosts.front().measured = solve_llm_rates(times, "", static_cast<int>(cores), 1e10);
    const ReplicaPace pace = estimate_pace(plan_replica(model, request, topology), weight_bytes(model));
    constexpr double engine = 200e-6;  // what a step takes beside its pass
    EXPECT_NEAR(pace.one_sequence, 1 / (2e-3 + engine), 1e-6);
    EXPECT_NEAR(pace.with(8), 8 / (3e-3 + engine), 1e-6);
    EXPECT_NEAR(pace.prompt, 512 / 0.1, 1e-6);
}

// Cores multiply quantized weights by 8-bit activations, and fp16 weights as floats: at other rates.
TEST(ReplicaPace, OfCoresTellsQuantizedWeightsFromFloats) {
    ReplicaRequest request;
    request.context = 64;
    request.device = DeviceChoice::Cpu;
    Topology topology = load_cluster(VOLTPILE_SOURCE_DIR "/data/clusters/mixed_home.toml", 1);
    topology.ranks.resize(1);
    Host& host = topology.hosts.front();
    const auto prompt_rate = [&](const char* quant) {
        const SyntheticModel model("tiny", quant);
        const ReplicaPace pace = estimate_pace(plan_replica(model, request, topology), weight_bytes(model));
        return pace.prompt * static_cast<double>(weight_bytes(model).weights) /
               static_cast<double>(host.cores.size());
    };
    host.simd_bits = 512;
    EXPECT_NEAR(prompt_rate("q8_0") / core_lanes_per_s(host, false), 3, 1e-9);
    EXPECT_NEAR(prompt_rate("f16") / core_lanes_per_s(host, false), 0.8, 1e-9);
    host.simd_bits = 128;  // without integer products
    EXPECT_NEAR(prompt_rate("q8_0") / core_lanes_per_s(host, false), 0.8, 1e-9);
    host.measured = {{kLlmWeights, "", 1e10}, {kLlmProducts, "", 8e10}, {kLlmPrompt, "", 9e10}};
    EXPECT_NEAR(prompt_rate("q8_0"), 9e10, 1);
    EXPECT_NEAR(prompt_rate("f16") / core_lanes_per_s(host, false), 0.8, 1e-9);  // not measured
    host.measured.push_back({kLlmFloatProducts, "", 2e10});
    host.measured.push_back({kLlmFloatPrompt, "", 3e10});
    EXPECT_NEAR(prompt_rate("f16"), 3e10, 1);
}

TEST(ReplicaPace, IsUnknownWithoutBandwidth) {
    const SyntheticModel model("tiny", "q8_0");
    ReplicaRequest request;
    request.context = 64;
    request.tensor = request.pipeline = 1;
    Topology topology = load_cluster(VOLTPILE_SOURCE_DIR "/data/clusters/t180.toml", 1);
    for (Gpu& gpu : topology.hosts.front().gpus) gpu.memory_gb_per_s = 0;
    EXPECT_EQ(estimate_pace(plan_replica(model, request, topology), weight_bytes(model)).one_sequence, 0);
}

}  // namespace
}  // namespace voltpile::llm
