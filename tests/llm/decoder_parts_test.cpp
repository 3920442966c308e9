// KV cache pages, batches, cuts inside quantization blocks, and the sentinel for non-finite sums.
#include <algorithm>

#include "base/error.h"
#include "base/half.h"
#include "llm/decoder_fixture.h"
#include "llm/model/synthetic_model.h"

namespace voltpile::llm {
namespace {

TEST(KvPages, LosesAndDuplicatesNoPages) {
    PagePool pool(10);
    SequencePages a(pool);
    EXPECT_TRUE(a.reserve(1));
    EXPECT_EQ(a.room(), 16);
    EXPECT_TRUE(a.reserve(16));
    EXPECT_EQ(pool.free_pages(), 9);
    EXPECT_TRUE(a.reserve(70));
    EXPECT_EQ(pool.free_pages(), 5);
    SequencePages b(pool);
    EXPECT_FALSE(b.reserve(6 * 16));
    EXPECT_EQ(pool.free_pages(), 5);
    EXPECT_TRUE(b.reserve(5 * 16));
    auto all = a.pages();
    all.insert(all.end(), b.pages().begin(), b.pages().end());
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::unique(all.begin(), all.end()), all.end());
    EXPECT_THROW(pool.take(), std::logic_error);
    b.clear();
    EXPECT_EQ(pool.free_pages(), 5);
}

TEST(KvPages, FreesSharedPagesAfterTheLastUser) {
    PagePool pool(6);
    {
        SequencePages a(pool);
        ASSERT_TRUE(a.reserve(50));
        SequencePages b(a, 40);  // not the third page: 40 tokens fill only half of it
        EXPECT_EQ(b.pages(), std::vector<std::int32_t>(a.pages().begin(), a.pages().begin() + 2));
        EXPECT_EQ(pool.users(b.pages()[0]), 2);
        ASSERT_TRUE(b.reserve(40));
        EXPECT_NE(b.pages()[2], a.pages()[2]);
        EXPECT_EQ(pool.free_pages(), 1);
        a.clear();
        EXPECT_EQ(pool.free_pages(), 3);
        SequencePages c(std::move(b));
        EXPECT_EQ(pool.free_pages(), 3);
        EXPECT_THROW(pool.share(pool.pages() - 1), std::logic_error);
    }
    EXPECT_EQ(pool.free_pages(), 6);
}

TEST(BatchBuffer, RejectsBatchesBeyondItsLimits) {
    ReferenceOps ops;
    BatchBuffer buffer(ops, {4, 2, 3, 1});
    PagePool pool(9);
    SequencePages pages(pool);
    ASSERT_TRUE(pages.reserve(64));
    const std::vector<std::int32_t> tokens(5);
    BatchBuilder builder;
    builder.add(pages, tokens, 0, WantLogits::None);
    EXPECT_THROW(buffer.upload(builder.take()), std::out_of_range);
    builder.add(pages, std::span(tokens).first(2), 0, WantLogits::All);
    EXPECT_THROW(buffer.upload(builder.take()), std::out_of_range);
    builder.add(pages, std::span(tokens).first(1), 60, WantLogits::All);
    EXPECT_THROW(buffer.upload(builder.take()), std::out_of_range);
    builder.add(pages, std::span(tokens).first(4), 44, WantLogits::Last);
    const BatchView view = buffer.upload(builder.take());
    EXPECT_EQ(view.max_context, 48);
    EXPECT_EQ(view.max_new, 4);
    EXPECT_EQ(view.prompt_pages, 3);
    EXPECT_EQ(view.logit_row[0], 3);
    EXPECT_THROW(builder.add(pages, std::span(tokens).first(1), 64, WantLogits::None), std::logic_error);
}

// Blocks of K-quants are longer than a head, so ranks hold more columns of attn_output than they use.
TEST(DecoderCuts, QuantizedModelsAreEqualOnSeveralRanks) {
    for (const char* mixture : {"q5_k_m", "q8_0", "f16"}) {
        const SyntheticModel source("tiny", mixture);
        const std::vector<std::int32_t> tokens{1, 17, 200, 3, 99, 45, 260, 7, 8, 9, 11, 300};
        TestModel reference(source, 1, {0}, make_reference_ops);
        const auto wanted = reference.run_in_pieces(tokens, {300});
        for (const int ranks : {1, 2, 4}) {
            if (!tensor_parallel_obstacle(source, ranks).empty()) continue;
            // The baseline multiplies in fp32 only: the order of sums differs, and the fp16 cache may round
            // to a neighboring number.
            TestModel exact(source, ranks, {0, 2}, [] {
                return std::make_unique<CpuOps>(std::vector<int>{-1}, cpu_kernels(CpuLevel::Baseline));
            });
            EXPECT_LT(nmse(exact.run_in_pieces(tokens, {9, 1}), wanted), 1e-8) << mixture << ", " << ranks;
            // Other levels round activations to 8 bits for quantized weights: 2.4e-5 for each product
            // (ops_fixture.h), and 4 layers with 4 products one after the other.
            TestModel model(source, ranks, {0, 2}, make_cpu_ops);
            EXPECT_LT(nmse(model.run_in_pieces(tokens, {9, 1}), wanted),
                      mixture == std::string_view("f16") ? 1e-8 : 1e-3)
                << mixture << ", " << ranks;
        }
    }
}

// No sum is divided: a pass cut by rows has the bits of one rank.
TEST(DecoderCuts, PassesCutByRowsAreThoseOfOneRank) {
    std::vector<std::int32_t> tokens(61);
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int32_t>(5 + 37 * i % 300);
    for (const char* mixture : {"q5_k_m", "q8_0", "f16"}) {
        const SyntheticModel source("tiny", mixture);
        for (const KvElement cache : {KvElement::F16, KvElement::I4}) {
            TestModel one(source, 1, {0}, make_cpu_ops, cache);
            const auto wanted = one.run_in_pieces(tokens, {40, 21});
            for (const int ranks : {2, 4}) {
                if (!tensor_parallel_obstacle(source, ranks).empty()) continue;
                TestModel cut(source, ranks, {0, 2}, make_cpu_ops, cache, 0, 0, ranks == 4, 17);
                EXPECT_EQ(cut.run_in_pieces(tokens, {40, 21}), wanted) << mixture << ", " << ranks;
            }
        }
    }
}

// 9 rows are too few to give each of 4 ranks some.
TEST(DecoderCuts, PassesOfFewRowsAreCutByHeads) {
    const SyntheticModel source("tiny", "f16");
    const std::vector<std::int32_t> tokens{1, 17, 200, 3, 99, 45, 260, 7, 8};
    TestModel by_heads(source, 4, {0}, make_cpu_ops),
        either(source, 4, {0}, make_cpu_ops, KvElement::F16, 0, 0, false, 1);
    EXPECT_EQ(either.run_in_pieces(tokens, {300}), by_heads.run_in_pieces(tokens, {300}));
}

TEST(DecoderCuts, RejectsImpossibleCuts) {
    const SyntheticModel source("tiny", "f16");
    ReferenceOps ops;
    NoLinks links;
    DecoderSettings settings;
    settings.pages = 1;
    settings.ranks = 3;
    settings.layer_end = 4;
    EXPECT_THROW(Decoder(source, ops, links, settings), JobError);
    settings.ranks = 1;
    settings.layer_end = 5;
    EXPECT_THROW(Decoder(source, ops, links, settings), JobError);
}

// A model with changed weights in one fp16 tensor.
class ChangedModel final : public ModelSource {
  public:
    using Change = void (*)(std::span<std::uint16_t> halves);

    ChangedModel(const ModelSource& original, std::string tensor, Change change)
        : ModelSource(original.config(), original.tensors()),
          original_(original),
          tensor_(std::move(tensor)),
          change_(change) {}
    void read(const ModelTensor& tensor, const TensorSlice& slice, std::byte* out) const override {
        original_.read(tensor, slice, out);
        if (tensor.name == tensor_)
            change_({reinterpret_cast<std::uint16_t*>(out), slice.rows() * slice.columns()});
    }
    std::string fingerprint() const override { return {}; }

  private:
    const ModelSource& original_;
    std::string tensor_;
    Change change_;
};

void make_first_infinite(std::span<std::uint16_t> halves) {
    halves.front() = 0x7c00;
}

void make_large(std::span<std::uint16_t> halves) {
    for (auto& half : halves)
        half = half_from_float(std::clamp(float_from_half(half) * 1e6F, -65504.0F, 65504.0F));
}

// Runs a few tokens and returns the message of the error that ends the pass.
std::string message_of_pass(const ModelSource& model, KvElement cache = KvElement::F16) {
    TestModel runner(model, 1, {0}, make_cpu_ops, cache);
    try {
        runner.run_in_pieces(std::vector<std::int32_t>{1, 17, 200, 3, 99}, {300});
    } catch (const Error& error) {
        return error.what();
    }
    ADD_FAILURE() << "the pass did not fail";
    return {};
}

TEST(DecoderSentinel, NamesLayerOperationAndSequence) {
    const SyntheticModel sound("tiny", "f16");
    const ChangedModel model(sound, "blk.1.ffn_down.weight", make_first_infinite);
    const std::string message = message_of_pass(model);
    EXPECT_NE(message.find("layer 1: after its feed-forward part"), std::string::npos) << message;
    EXPECT_NE(message.find("sequence 0 at position 0"), std::string::npos) << message;
}

// On CPUs only the keys and values of an fp16 or int4 cache can overflow.
TEST(DecoderSentinel, SuggestsClampOnlyWhereFp16CanOverflow) {
    const SyntheticModel sound("tiny", "f16");
    const auto suggests = [](const std::string& message) {
        return message.find("--clamp on") != std::string::npos;
    };
    const ChangedModel attention(sound, "blk.1.attn_output.weight", make_first_infinite);
    EXPECT_TRUE(suggests(message_of_pass(attention)));
    EXPECT_FALSE(suggests(message_of_pass(attention, KvElement::I8)));
    EXPECT_TRUE(suggests(message_of_pass(attention, KvElement::I4)));
    EXPECT_FALSE(suggests(message_of_pass(attention, KvElement::F32)));
    const ChangedModel feed_forward(sound, "blk.1.ffn_down.weight", make_first_infinite);
    EXPECT_FALSE(suggests(message_of_pass(feed_forward)));
    const ChangedModel embedding(sound, "token_embd.weight", [](std::span<std::uint16_t> halves) {
        std::ranges::fill(halves, std::uint16_t{0x7c00});
    });
    EXPECT_FALSE(suggests(message_of_pass(embedding)));
}

TEST(DecoderClamp, ContinuesWhereTheSentinelWouldStop) {
    const SyntheticModel small("tiny", "f16");
    const ChangedModel model(small, "blk.2.attn_v.weight", make_large);  // values of the order of 1e5
    const std::vector<std::int32_t> tokens{1, 17, 200, 3, 99};
    const std::string message = message_of_pass(model);
    EXPECT_NE(message.find("layer 2: after its attention"), std::string::npos) << message;
    EXPECT_NE(message.find("if a key or value exceeded 65504"), std::string::npos) << message;
    TestModel going(model, 1, {0}, [] {
        return std::make_unique<CpuOps>(std::vector<int>{-1}, cpu_kernels(cpu_level()), true);
    });
    TestModel reference(model, 1, {0}, [] { return std::make_unique<ReferenceOps>(true); });
    // fp32 sums against fp64 sums, and the fp16 cache can round to a neighboring number.
    EXPECT_LT(nmse(going.run_in_pieces(tokens, {3, 1}), reference.run_in_pieces(tokens, {300})), 1e-8);
}

}  // namespace
}  // namespace voltpile::llm
