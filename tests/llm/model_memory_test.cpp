// Compares the sizes of models with published ones, and checks how ranks and stages divide a model.
#include "llm/model/model_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "llm/model/gpu_memory.h"
#include "llm/model/integer_copies.h"
#include "llm/model/model_files.h"
#include "llm/model/synthetic_model.h"
#include "llm/model/synthetic_shapes.h"
#include "llm/model/tensor_parallel.h"

namespace voltpile::llm {
namespace {

// The numbers of parameters are those on the models' pages.
TEST(ModelMemory, EqualsPublishedParameterCounts) {
    const auto weights = [](const char* shape) { return weight_bytes(SyntheticModel(shape, "f16")).weights; };
    EXPECT_EQ(weights("llama-3-8b"), 8'030'261'248u);
    EXPECT_EQ(weights("llama-3-70b"), 70'553'706'496u);
    EXPECT_EQ(weights("llama-2-7b"), 6'738'415'616u);
    EXPECT_EQ(weights("mistral-7b"), 7'241'732'096u);
    EXPECT_EQ(weights("qwen-2.5-7b"), 7'615'616'512u);
    EXPECT_EQ(weights("qwen-3-8b"), 8'190'735'360u);
}

// Sizes of GGUF files made by llama-quantize, in GB, from their pages. The files also hold the tokenizer, up
// to 12 MB, and the pages round to 10 MB.
TEST(ModelMemory, EqualsPublishedFileSizes) {
    struct Published {
        const char *shape, *mixture;
        double gigabytes;
    };
    for (const Published& file : {Published{"llama-3-8b", "q8_0", 8.54}, {"llama-3-8b", "q5_k_m", 5.73},
                                  {"llama-3-8b", "q4_k_m", 4.92},        {"llama-3-8b", "q4_0", 4.66},
                                  {"llama-3-8b", "iq3_s", 3.68},         {"llama-3-8b", "iq2_m", 2.94},
                                  {"llama-3-8b", "iq2_xs", 2.60},        {"llama-3-8b", "iq1_s", 2.01},
                                  {"llama-3-70b", "q5_k_m", 49.95},      {"llama-3-70b", "q4_k_m", 42.52},
                                  {"llama-2-7b", "q8_0", 7.16},          {"llama-2-7b", "q5_k_m", 4.78},
                                  {"llama-2-7b", "q4_k_m", 4.08},        {"llama-2-7b", "q4_0", 3.83},
                                  {"mistral-7b", "q8_0", 7.70},          {"mistral-7b", "q5_k_m", 5.13},
                                  {"mistral-7b", "q4_k_m", 4.37},        {"mistral-7b", "q4_0", 4.11},
                                  {"qwen-2.5-7b", "q8_0", 8.10},         {"qwen-2.5-7b", "q5_k_m", 5.44},
                                  {"qwen-2.5-7b", "q4_k_m", 4.68},       {"qwen-3-8b", "q8_0", 8.71},
                                  {"qwen-3-8b", "q5_k_m", 5.85},         {"qwen-3-8b", "q4_k_m", 5.03}}) {
        const double ours =
            static_cast<double>(weight_bytes(SyntheticModel(file.shape, file.mixture)).total) * 1e-9;
        EXPECT_LE(ours, file.gigabytes + 0.005) << file.shape << ' ' << file.mixture;
        EXPECT_GE(ours, file.gigabytes - 0.005 - 0.012) << file.shape << ' ' << file.mixture;
    }
}

// The fp16 KV cache of Llama 3 8B takes 128 KiB a token.
TEST(ModelMemory, ComputesTheCacheOfLlama3) {
    EXPECT_EQ(kv_bytes_per_token_and_layer(synthetic_shape("llama-3-8b")) * 32, 128u * 1024);
    // In int8: 32 layers of 8 heads, keys and values, 128 numbers and a scale of 4 bytes each.
    EXPECT_EQ(kv_bytes_per_token_and_layer(synthetic_shape("llama-3-8b"), KvElement::I8) * 32,
              32u * 8 * 2 * (128 + 4));
    // In int4: four groups of 16 bytes of codes and two fp16 numbers in each head.
    EXPECT_EQ(kv_bytes_per_token_and_layer(synthetic_shape("llama-3-8b"), KvElement::I4) * 32,
              32u * 8 * 2 * 4 * (16 + 4));
}

// The bytes of a key with heads of any size: a group that is not full takes as much as others.
TEST(ModelMemory, ComputesInt4Heads) {
    struct Head {
        std::size_t dim, groups;
    };
    for (const Head& head :
         {Head{2, 1}, {32, 1}, {64, 2}, {80, 3}, {96, 3}, {112, 4}, {128, 4}, {192, 6}, {256, 8}, {576, 18}})
        EXPECT_EQ(kv_head_bytes(KvElement::I4, head.dim), head.groups * 20) << head.dim;
}

// A copy as integers has a byte for each weight and a scale of 4 bytes for each row: queries, keys and
// values, output, gate and up, down. On four GPUs each has 256 rows of keys and of values.
TEST(ModelMemory, CountsCopiesAsIntegers) {
    const SyntheticModel model("llama-3-8b", "q4_k_m");
    const std::uint64_t narrow = (6144u + 4096 + 2 * 14336) * (4096 + 4), wide = 4096u * (14336 + 4);
    EXPECT_EQ(integer_bytes(model, 0, 32, 1, most_integer_columns(90)), 32 * (narrow + wide));
    EXPECT_EQ(integer_bytes(model, 5, 7, 1, most_integer_columns(86)), 2 * (narrow + wide));
    EXPECT_EQ(integer_bytes(model, 0, 32, 4, most_integer_columns(90)),
              32ul * ((1536u + 2 * 3584) * (4096 + 4) + 4096u * (1024 + 4) + 4096u * (3584 + 4)));
    EXPECT_EQ(integer_bytes(SyntheticModel("llama-3-8b", "f16"), 0, 32, 1, most_integer_columns(90)), 0u);
    // Rows of so many columns do not fit in a block's shared memory of 64 KB, as T4 have it.
    EXPECT_EQ(integer_bytes(model, 0, 32, 1, most_integer_columns(75)), 32 * narrow);
}

// Tiles have 256 rows, of each matrix or of both if they are gated, and steps of 128 columns.
TEST(ModelMemory, CopiesHaveWholeTiles) {
    const std::int64_t rows[] = {257, 1};
    EXPECT_EQ(integer_copy_bytes(rows, 96, false), 3u * 256 * (128 + 4));
    const std::int64_t both[] = {129, 129};
    EXPECT_EQ(integer_copy_bytes(both, 129, true), 2u * 256 * (256 + 4));
}

// Every weight is on exactly one rank, or on all.
TEST(TensorParallel, ShardsTileTheTensors) {
    for (const char* shape : {"llama-2-7b", "llama-3-8b", "qwen-2.5-7b"})
        for (const int ranks : {1, 2, 4}) {
            const SyntheticModel model(shape, "q4_k_m");
            ASSERT_EQ(tensor_parallel_obstacle(model, ranks), "") << shape;
            for (const ModelTensor& tensor : model.tensors()) {
                std::size_t rows = 0, columns = 0;
                for (int rank = 0; rank < ranks; ++rank) {
                    const TensorShard shard = tensor_shard(model, tensor, rank_share(model, rank, ranks));
                    check_slice(tensor, shard.stored);
                    EXPECT_LE(shard.stored.column_begin, shard.used_columns.begin);
                    EXPECT_GE(shard.stored.column_end, shard.used_columns.end);
                    const bool by_rows = tensor.cut_axis == CutAxis::Rows;
                    const bool by_columns = tensor.cut_axis == CutAxis::Columns;
                    EXPECT_EQ(shard.stored.row_begin, by_rows ? rows : 0) << tensor.name;
                    EXPECT_EQ(shard.used_columns.begin, by_columns ? columns : 0) << tensor.name;
                    rows = shard.stored.row_end;
                    columns = shard.used_columns.end;
                }
                EXPECT_EQ(rows, tensor.rows) << tensor.name;
                EXPECT_EQ(columns, tensor.columns) << tensor.name;
            }
        }
}

TEST(TensorParallel, BlocksStayWhole) {
    // 11008 = 43 blocks of 256: 21 and 22.
    const SyntheticModel llama2("llama-2-7b", "q4_k_m");
    EXPECT_EQ(rank_share(llama2, 0, 2).ffn, (IndexRange{0, 21 * 256}));
    EXPECT_EQ(rank_share(llama2, 1, 2).ffn, (IndexRange{21 * 256, 11008}));
    // 7 heads of 128 columns per rank end in the middle of a block.
    const SyntheticModel qwen("qwen-2.5-7b", "q4_k_m");
    const TensorShard second =
        tensor_shard(qwen, qwen.layer_tensor(3, "attn_output.weight"), rank_share(qwen, 1, 4));
    EXPECT_EQ(second.used_columns, (IndexRange{896, 1792}));
    EXPECT_EQ(second.stored.column_begin, 768u);
    EXPECT_EQ(second.stored.column_end, 1792u);
}

TEST(TensorParallel, MoreRanksThanKvHeadsShareThem) {
    const SyntheticModel model("tiny", "q8_0");  // 4 heads, 2 KV heads
    EXPECT_EQ(rank_share(model, 2, 4).heads, (IndexRange{2, 3}));
    EXPECT_EQ(rank_share(model, 2, 4).kv_heads, (IndexRange{1, 2}));
    EXPECT_EQ(rank_share(model, 1, 4).kv_heads, (IndexRange{0, 1}));
}

TEST(TensorParallel, ExplainsObstacles) {
    EXPECT_EQ(tensor_parallel_obstacle(SyntheticModel("qwen-2.5-7b", "f16"), 8),
              "8 does not divide the 28 heads");
    EXPECT_EQ(tensor_parallel_obstacle(SyntheticModel("qwen-2.5-7b", "f16"), 7),
              "7 neither divides the 4 KV heads nor is a multiple of them");
    EXPECT_EQ(tensor_parallel_obstacle(SyntheticModel("llama-3-8b", "f16"), 0), "0 is not a number of GPUs");
    EXPECT_NE(tensor_parallel_obstacle(SyntheticModel("tiny", "q4_k_m"), 4), "");  // 768 = 3 blocks of 256
}

TEST(Stages, HoldEachLayerOnceAndEvenly) {
    const SyntheticModel model("llama-3-70b", "q5_k_m");
    const std::vector<double> equal(3, 1.0);
    const auto stages = cut_into_stages(model, WeightLayout::File, 1, equal);
    std::uint64_t sum = 0, most = 0;
    int layer = 0;
    for (const StageNeeds& stage : stages) {
        EXPECT_EQ(stage.layer_begin, layer);
        layer = stage.layer_end;
        sum += stage.weights;
        most = std::max(most, stage.weights);
    }
    EXPECT_EQ(layer, 80);
    const WeightBytes bytes = weight_bytes(model);
    EXPECT_EQ(sum, bytes.total);
    EXPECT_LT(most, bytes.total / 3 + *std::max_element(bytes.layers.begin(), bytes.layers.end()));
}

TEST(Stages, FollowCapacities) {
    const SyntheticModel model("llama-3-8b", "q8_0");
    const std::vector<double> one_is_twice = {1.0, 2.0};
    const auto stages = cut_into_stages(model, WeightLayout::File, 2, one_is_twice);
    const double ratio = static_cast<double>(stages[1].weights) / static_cast<double>(stages[0].weights);
    EXPECT_NEAR(ratio, 2, 0.3);  // one of 32 layers more or less changes it by up to 0.27
    EXPECT_THROW(
        cut_into_stages(SyntheticModel("tiny", "f16"), WeightLayout::File, 1, std::vector<double>(5, 1.0)),
        std::invalid_argument);
}

// The cut is the same, because each stage must have a layer.
TEST(Stages, MayHaveTheEmbeddingTwice) {
    const auto last = [](const ModelSource& model, int ranks, bool embeds_last) {
        const std::vector<double> equal(static_cast<std::size_t>(model.config().layers), 1.0);
        return cut_into_stages(model, WeightLayout::File, ranks, equal, KvElement::F16, 0, embeds_last)
            .back()
            .weights;
    };
    const SyntheticModel own_head("tiny", "f16");
    const ModelFiles tied(VOLTPILE_SOURCE_DIR "/data/llm/goldens/llama3_2_tied");
    ASSERT_FALSE(own_head.config().tied_embeddings);
    ASSERT_TRUE(tied.config().tied_embeddings);
    for (const int ranks : {1, 2})
        EXPECT_EQ(last(own_head, ranks, true),
                  last(own_head, ranks, false) + weight_bytes(own_head).embedding);
    // A tied head is the embedding if that is whole.
    const std::uint64_t embedding = weight_bytes(tied).embedding;
    EXPECT_EQ(last(tied, 1, true), last(tied, 1, false));
    EXPECT_EQ(last(tied, 2, true), last(tied, 2, false) + embedding);
    // One stage has it once.
    const std::vector<double> one(1, 1.0);
    EXPECT_EQ(cut_into_stages(tied, WeightLayout::File, 1, one, KvElement::F16, 0, true).front().weights,
              weight_bytes(tied).total);
}

TEST(Stages, EmptyOnesLimitNoTokens) {
    const std::vector<StageNeeds> stages = {{}, {0, 1, 50, 20}};
    EXPECT_EQ(tokens_in(stages, 200), 7u);
}

TEST(Stages, TightestStageLimitsTokens) {
    const std::vector<StageNeeds> stages = {{0, 1, 100, 10}, {1, 2, 50, 20}};
    EXPECT_EQ(tokens_in(stages, 200), 7u);  // the second stage limits: 150 / 20
    EXPECT_EQ(tokens_in(stages, 100), 0u);
}

// Rows of the hidden size in another order: fp16 on GPUs, fp32 on cores; of a share of the rows too if passes
// are cut by rows.
// Two orders of 32 bits in each of 32 layers, or twice as many.
TEST(ModelMemory, CountsGatheredRows) {
    const ModelConfig config = synthetic_shape("llama-3-8b");  // hidden size 4096
    const auto added = [&](WeightLayout layout, bool cut_by_rows) {
        PassShape pass;
        pass.tensor_parallel = 4;
        pass.rows = 1000;
        pass.cut_by_rows = cut_by_rows;
        const std::uint64_t without = working_bytes(config, layout, pass);
        pass.orders_columns = true;
        return working_bytes(config, layout, pass) - without;
    };
    EXPECT_EQ(added(WeightLayout::Gpu, false), 1000U * 4096 * 2 + 32U * 2 * 4096 * 4);
    EXPECT_EQ(added(WeightLayout::File, false), 1000U * 4096 * 4 + 32U * 2 * 4096 * 4);
    EXPECT_EQ(added(WeightLayout::Gpu, true), 1000U * (4096 + 1024) * 2 + 32U * 4 * 4096 * 4);
}

}  // namespace
}  // namespace voltpile::llm
