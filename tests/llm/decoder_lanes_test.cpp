// Passes whose rows go through the layers in two lanes, so that sums over the ranks run beside products.
#include "base/error.h"
#include "device/device.h"
#include "llm/decoder_fixture.h"
#include "llm/model/synthetic_model.h"
#include "llm/ops_fixture.h"

namespace voltpile::llm {
namespace {

using Numbers = std::vector<std::int32_t>;

// Three sequences with 1, 4 and 2 rows: the second continues at position 17, in its second page.
Batch some_batch() {
    BatchBuilder builder;
    builder.add(Numbers{3}, Numbers{100}, 5, WantLogits::Last);
    builder.add(Numbers{7, 8}, Numbers{101, 102, 103, 104}, 17, WantLogits::All, 2);
    builder.add(Numbers{9}, Numbers{105, 106}, 0, WantLogits::Last);
    return builder.take();
}

TEST(BatchLanes, DividesWithinASequence) {
    const auto lanes = divided(some_batch(), 3);
    ASSERT_EQ(lanes.size(), 2U);
    EXPECT_EQ(lanes[0].token, (Numbers{100, 101, 102}));
    EXPECT_EQ(lanes[0].position, (Numbers{5, 17, 18}));
    EXPECT_EQ(lanes[0].sequence, (Numbers{0, 1, 1}));
    EXPECT_EQ(lanes[0].row_begin, (Numbers{0, 1, 3}));
    EXPECT_EQ(lanes[0].page_table, (Numbers{3, 0, 7, 8}));
    EXPECT_EQ(lanes[0].adapter, (Numbers{-1, 2, 2}));
    EXPECT_EQ(lanes[1].token, (Numbers{103, 104, 105, 106}));
    EXPECT_EQ(lanes[1].position, (Numbers{19, 20, 0, 1}));
    EXPECT_EQ(lanes[1].sequence, (Numbers{0, 0, 1, 1}));
    EXPECT_EQ(lanes[1].row_begin, (Numbers{0, 2, 4}));
    EXPECT_EQ(lanes[1].page_table, (Numbers{7, 8, 9, 0}));
    EXPECT_EQ(lanes[1].adapter, (Numbers{2, 2, -1, -1}));
    for (const Batch& lane : lanes) {
        EXPECT_TRUE(lane.logit_row.empty() && lane.hidden_row.empty());
        EXPECT_EQ(lane.max_pages, 2);
    }
}

TEST(BatchLanes, DividesBetweenSequences) {
    Batch batch = some_batch();
    batch.adapter.clear();
    const auto lanes = divided(batch, 5);
    EXPECT_EQ(lanes[0].row_begin, (Numbers{0, 1, 5}));
    EXPECT_EQ(lanes[0].page_table, (Numbers{3, 0, 7, 8}));
    EXPECT_EQ(lanes[1].sequence, (Numbers{0, 0}));
    EXPECT_EQ(lanes[1].row_begin, (Numbers{0, 2}));
    EXPECT_EQ(lanes[1].page_table, (Numbers{9, 0}));
    EXPECT_TRUE(lanes[0].adapter.empty() && lanes[1].adapter.empty());
}

TEST(BatchLanes, RoundsTheFirstLane) {
    EXPECT_EQ(first_lane_rows(512, 512, 4), 256);
    EXPECT_EQ(first_lane_rows(700, 512, 4), 256);
    EXPECT_EQ(first_lane_rows(768, 512, 4), 512);
    EXPECT_EQ(first_lane_rows(4096, 512, 8), 2048);
    EXPECT_EQ(first_lane_rows(512, 512, 3), 258);
    for (const int ranks : {1, 2, 3, 4})
        for (int rows = 16; rows < 100; ++rows) {
            const int first = first_lane_rows(rows, 16, ranks);
            EXPECT_TRUE(first > 0 && first < rows && first % ranks == 0) << rows << ", " << ranks;
        }
}

// Least rows of a pass with two lanes in these tests, for up to 4 ranks.
constexpr int kLeast = 16;

class DecoderLanesTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Families, DecoderLanesTest,
                         testing::Values("llama3", "mistral_window", "qwen2_5", "qwen3", "granite", "phi3",
                                         "mixtral", "qwen2_moe", "glm4_moe", "deepseek_v2", "deepseek_v3",
                                         "gpt_oss"),
                         [](const auto& name) { return name.param; });

TEST_P(DecoderLanesTest, LogitsAreThoseOfPassesWithoutLanes) {
    const ModelFiles files(golden_folder(GetParam()));
    const Golden golden = load_golden(GetParam());
    for (const int ranks : {2, 4}) {
        if (!tensor_parallel_obstacle(files, ranks).empty()) continue;
        const auto model_with = [&](int overlap_rows, std::vector<int> stages) {
            return std::make_unique<TestModel>(files, ranks, std::move(stages), make_reference_ops,
                                               KvElement::F16, 0, 0, true, overlap_rows);
        };
        const auto plain = model_with(1000, {0}), lanes = model_with(kLeast, {0}),
                   stages = model_with(kLeast, {0, 1});
        for (const std::vector<int>& sizes : {std::vector<int>{300}, {17, 9, 40, 3}}) {
            const auto wanted = plain->run_in_pieces(golden.tokens, sizes);
            EXPECT_EQ(lanes->run_in_pieces(golden.tokens, sizes), wanted) << ranks;
            EXPECT_EQ(stages->run_in_pieces(golden.tokens, sizes), wanted) << ranks;
        }
        EXPECT_EQ(plain->sums_beside(), 0);
        // One pass of each kind, and those of 17 and 40 rows: two lanes with two sums in each layer.
        EXPECT_EQ(lanes->sums_beside(), 3 * 4 * static_cast<int>(files.config().layers));
    }
}

// Prompts, a single token and a shared prefix in one pass, which is divided within a prompt.
TEST_P(DecoderLanesTest, SequencesOfOnePassKeepTheirLogits) {
    const ModelFiles files(golden_folder(GetParam()));
    const Golden golden = load_golden(GetParam());
    const std::span<const std::int32_t> text(golden.tokens);
    std::vector<float> logits[2];
    for (const bool lanes : {false, true}) {
        TestModel model(files, 2, {0}, make_reference_ops, KvElement::F16, 0, 0, true, lanes ? kLeast : 1000);
        SequencePages a(model.pool), b(model.pool);
        ASSERT_TRUE(a.reserve(70) && b.reserve(40));
        BatchBuilder builder;
        builder.add(a, text.subspan(0, 40), 0, WantLogits::Last);
        model.run(builder.take());
        SequencePages c(a, 33);
        ASSERT_TRUE(c.reserve(60));
        builder.add(a, text.subspan(40, 1), 40, WantLogits::Last);
        builder.add(b, text.subspan(0, 30), 0, WantLogits::Last);
        builder.add(c, text.subspan(32, 21), 32, WantLogits::All);
        logits[lanes] = model.run(builder.take());
    }
    EXPECT_EQ(logits[1], logits[0]);
}

TEST(DecoderLanes, AreNotForModelsWhoseAttentionSumsOverRanks) {
    for (const char* const name : {"olmoe", "gemma2"}) {
        const ModelFiles files(golden_folder(name));
        TestModel model(files, 2, {0}, make_reference_ops, KvElement::F16, 0, 0, true, kLeast);
        EXPECT_LT(nmse(model.run_in_pieces(load_golden(name).tokens, {300}), load_golden(name).logits), 1e-5);
        EXPECT_EQ(model.sums_beside(), 0) << name;
    }
}

// Joins sums with norms in a group of one rank.
class LinksOfOne final : public DecoderLinks {
  public:
    LinksOfOne(Ops& ops, std::int64_t numbers) : ops_(ops) {
        normed_ = ops.allocate(static_cast<std::size_t>(numbers) * bytes_of(ops.hidden_element()));
    }
    void all_reduce(FloatRows) override {}
    void* joint_output() override { return normed_->data(); }
    void add_rms_norm(FloatRows x, AddedRows delta, const float* weight, float eps, HiddenRows out,
                      SentinelPlace place) override {
        ops_.add_rms_norm(x, delta, weight, eps, out, place);
    }
    void all_gather(FloatRows, FloatRows) override {}
    void send_to_next(FloatRows) override {}
    void receive_from_previous(FloatRows) override {}

  private:
    Ops& ops_;
    std::unique_ptr<OpsMemory> normed_;
};

// Runs tokens of one sequence in a pass and returns their logits.
std::vector<float> logits_of(const ModelSource& model, Ops& ops, int overlap_rows, const Numbers& tokens) {
    LinksOfOne links(ops, 300 * model.config().hidden);
    PagePool pool(40);
    DecoderSettings settings;
    settings.layer_end = static_cast<int>(model.config().layers);
    settings.pages = pool.pages();
    settings.limits = {300, 8, 40, 300};
    settings.overlap_rows = overlap_rows;
    Decoder decoder(model, ops, links, settings);
    EXPECT_EQ(decoder.first_lane(static_cast<int>(tokens.size())) > 0, overlap_rows <= 300);
    PassRunner runner(decoder, ops, settings.limits);
    SequencePages pages(pool);
    EXPECT_TRUE(pages.reserve(static_cast<int>(tokens.size())));
    BatchBuilder builder;
    builder.add(pages, tokens, 0, WantLogits::All);
    const Batch batch = builder.take();
    const FloatRows out = runner.forward(batch);
    std::vector<float> logits(static_cast<std::size_t>(out.rows * out.columns));
    ops.download(logits.data(), out.data, logits.size() * sizeof(float));
    decoder.check(batch);
    return logits;
}

Numbers some_tokens(int count) {
    Numbers tokens;
    for (int i = 0; i < count; ++i) tokens.push_back(1 + i * 37 % 300);
    return tokens;
}

TEST(DecoderLanes, KeepLogitsOnAGpuIfBatchInvariant) {
    if (device_count() == 0) GTEST_SKIP() << "no GPU";
    for (const char* const shape : {"tiny", "tiny-moe"})
        for (const char* const format : {"f16", "q8_0", "q4_k_m"}) {
            const SyntheticModel model(shape, format);
            const auto ops = gpu_ops_maker(true).make();
            EXPECT_EQ(logits_of(model, *ops, kLeast, some_tokens(200)),
                      logits_of(model, *ops, 1000, some_tokens(200)))
                << shape << ", " << format;
        }
}

// A model whose embedding of one token is infinite.
class InfiniteToken final : public ModelSource {
  public:
    InfiniteToken(const ModelSource& original, std::size_t token)
        : ModelSource(original.config(), original.tensors()), original_(original), token_(token) {}
    void read(const ModelTensor& tensor, const TensorSlice& slice, std::byte* out) const override {
        original_.read(tensor, slice, out);
        if (tensor.name != "token_embd.weight" || token_ < slice.row_begin || token_ >= slice.row_end) return;
        auto* const halves = reinterpret_cast<std::uint16_t*>(out);
        halves[(token_ - slice.row_begin) * slice.columns()] = 0x7c00;
    }
    std::string fingerprint() const override { return {}; }

  private:
    const ModelSource& original_;
    std::size_t token_;
};

TEST(DecoderLanes, NameThePositionOfASumThatIsNotFinite) {
    const SyntheticModel sound("tiny", "f16");
    const InfiniteToken model(sound, 400);                // not one of some_tokens()
    for (const std::size_t position : {3, 15, 16, 29}) {  // the first lane has 16 rows
        Numbers tokens = some_tokens(30);
        tokens[position] = 400;
        CpuOps ops({-1});
        try {
            logits_of(model, ops, kLeast, tokens);
            ADD_FAILURE() << "the pass did not fail";
        } catch (const Error& error) {
            const std::string message = error.what();
            EXPECT_NE(message.find("layer 0: after its input"), std::string::npos) << message;
            EXPECT_NE(message.find("at position " + std::to_string(position) + ")"), std::string::npos)
                << message;
        }
    }
}

}  // namespace
}  // namespace voltpile::llm
