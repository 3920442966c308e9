// Mixed requests on one rank: a trained model, one with random weights, the reference.
#include "llm/decoder_fixture.h"
#include "llm/engine/measure_pace.h"
#include "llm/engine/model_drafter.h"
#include "llm/mixed_requests.h"
#include "llm/model/synthetic_model.h"
#include "llm/single_rank_passes.h"
#include "llm/tokenizer/model_tokenizer.h"

namespace voltpile::llm {
namespace {

// Runs passes as on a pipeline of `lanes` stages, or with tokens that the host has not seen yet.
class OneRank {
  public:
    OneRank(const ModelSource& model, const MakeOps& make_ops, int lanes, bool feeds, int pages,
            int host_pages = 0)
        : ops_(make_ops()) {
        SchedulerSettings settings = mixed_settings(pages, host_pages);
        settings.limits.rows = mixed_context;
        settings.lanes = lanes;
        settings.feeds = feeds;
        passes_ = std::make_unique<SingleRankPasses>(model, *ops_, settings);
    }
    PassExecutor& passes() { return *passes_; }

  private:
    std::unique_ptr<Ops> ops_;
    std::unique_ptr<SingleRankPasses> passes_;
};

std::vector<std::int32_t> any_tokens(int count, int vocabulary) {
    std::vector<std::int32_t> tokens;
    for (int i = 0; i < count; ++i) tokens.push_back((7919 * i + 17) % vocabulary);
    return tokens;
}

TEST(EngineTexts, EqualTogetherAndAloneWithTheTinyModel) {
    const std::string folder = VOLTPILE_SOURCE_DIR "/data/tiny_model/";
    const ModelFiles model(folder + "tiny-q8_0.gguf");
    const Tokenizer tokenizer = load_tokenizer(model);
    std::ifstream file(folder + "held_out.txt");
    std::string text(6000, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    MixedRequests requests(model.config(), &tokenizer);
    requests.answer_unbatched(OneRank(model, make_cpu_ops, 1, false, 16).passes(), tokenizer.encode(text),
                              64);
    for (const auto& [lanes, feeds, pages] : {std::tuple(1, true, 16), {2, false, 16}, {1, false, 200}}) {
        OneRank rank(model, make_cpu_ops, lanes, feeds, pages);
        const EngineCounters counters = requests.answer_batched(rank.passes(), pages);
        EXPECT_GT(counters.scheduler.shared_tokens, 21 * 32 / 2);
        if (pages < 100) {
            EXPECT_GT(counters.scheduler.preemptions, 0);
        } else {
            EXPECT_EQ(counters.largest_batch, 16);
        }
    }
}

// Guesses ahead change neither tokens nor log-probabilities.
TEST(EngineTexts, EqualWithGuessesAhead) {
    const std::string folder = VOLTPILE_SOURCE_DIR "/data/tiny_model/";
    const ModelFiles model(folder + "tiny-q8_0.gguf");
    const Tokenizer tokenizer = load_tokenizer(model);
    std::ifstream file(folder + "held_out.txt");
    std::string text(2000, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text += text.substr(0, 1500) + text;  // repeats itself
    MixedRequests requests(model.config(), &tokenizer);
    requests.answer_unbatched(OneRank(model, make_cpu_ops, 1, true, 16).passes(), tokenizer.encode(text), 64);
    std::int64_t drafted = 0, right = 0;  // few each time, and which ones depends on the processor's rounding
    for (const auto& [lanes, feeds, pages] : {std::tuple(1, true, 16), {2, false, 16}, {1, false, 200}}) {
        OneRank rank(model, make_cpu_ops, lanes, feeds, pages);
        const EngineCounters counters = requests.answer_batched(rank.passes(), pages, {}, 6);
        EXPECT_GE(counters.steps + counters.right_tokens, counters.tokens_out);
        drafted += counters.drafted_tokens;
        right += counters.right_tokens;
    }
    EXPECT_GT(drafted, right);
    EXPECT_GT(right, 0);
}

// Pages that come back from host memory change neither tokens nor log-probabilities: the second answer to
// each prompt, whose pages others have taken meanwhile, is the first one.
TEST(EngineTexts, EqualWithPagesInHostMemory) {
    const ModelFiles model(VOLTPILE_SOURCE_DIR "/data/tiny_model/tiny-q8_0.gguf");
    constexpr int pages = 12, host_pages = 100, prompts = 10, whole_pages = 4;
    for (const bool feeds : {false, true}) {
        OneRank rank(model, make_cpu_ops, 1, feeds, pages, host_pages);
        EngineSettings settings;
        settings.scheduler = mixed_settings(pages, host_pages);
        Engine engine(rank.passes(), nullptr, settings);
        std::vector<Outcome> first;
        for (int turn = 0; turn < 2; ++turn)
            for (int i = 0; i < prompts; ++i) {
                Request request;
                request.id = prompts * turn + i;
                request.prompt = any_tokens(16 * whole_pages + 5, 500);
                for (std::int32_t& token : request.prompt) token += i;
                request.max_tokens = 6;
                request.ignore_end = true;
                engine.submit(std::move(request));
                std::vector<Outcome> ended;
                while (ended.empty()) ended = engine.step();
                if (turn == 0) {
                    first.push_back(ended.front());
                    continue;
                }
                const Outcome& before = first[static_cast<std::size_t>(i)];
                EXPECT_EQ(ended.front().cached_tokens, 16 * whole_pages);
                EXPECT_EQ(ended.front().tokens, before.tokens);
                EXPECT_EQ(ended.front().log_probability, before.log_probability);
            }
        EXPECT_GE(engine.counters().scheduler.pages_brought_back, (prompts - 2) * whole_pages);
    }
}

// A draft model changes neither tokens nor log-probabilities.
TEST(EngineTexts, EqualWithADraftModel) {
    const std::string folder = VOLTPILE_SOURCE_DIR "/data/tiny_model/";
    const ModelFiles model(folder + "tiny-q8_0.gguf"), small(folder + "tiny-q5_k_m.gguf");
    const Tokenizer tokenizer = load_tokenizer(model);
    std::ifstream file(folder + "held_out.txt");
    std::string text(6000, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    MixedRequests requests(model.config(), &tokenizer);
    requests.answer_unbatched(OneRank(model, make_cpu_ops, 1, true, 16).passes(), tokenizer.encode(text), 64);
    for (const auto& [lanes, feeds, pages] : {std::tuple(1, true, 16), {2, false, 16}, {1, false, 200}}) {
        for (const int draft_pages : {12, 200}) {
            OneRank rank(model, make_cpu_ops, lanes, feeds, pages);
            OneRank draft(small, make_cpu_ops, 1, feeds, draft_pages);
            ModelDrafter drafter(draft.passes(),
                                 {mixed_settings(draft_pages).limits, draft_pages, mixed_context,
                                  model.config().vocab, model.config().eos_ids, PassPace({{16, 0.1}})});
            const EngineCounters counters = requests.answer_batched(rank.passes(), pages, {}, 6, &drafter);
            EXPECT_GT(counters.drafted_tokens, 0);
            if (lanes == 1) {  // with two there are few guesses, which may all be right
                EXPECT_GT(counters.drafted_tokens, counters.right_tokens);
                EXPECT_GT(counters.right_tokens, counters.drafted_tokens / 2);
            }
            EXPECT_EQ(drafter.cache().available(), draft_pages);
        }
    }
}

// Random logits are so close that any difference in rounding changes tokens.
TEST(EngineTexts, EqualTogetherAndAloneWithASyntheticModel) {
    const SyntheticModel model("tiny", "q5_k_m");
    MixedRequests requests(model.config(), nullptr);
    OneRank rank(model, make_cpu_ops, 1, true, 12);
    const PassPace pace = measure_pace(rank.passes(), mixed_settings(12).limits, 12);
    requests.answer_unbatched(rank.passes(), any_tokens(300, 512), 64);
    EXPECT_GT(requests.answer_batched(rank.passes(), 12, pace).scheduler.preemptions, 0);
}

TEST(EngineTexts, EqualTogetherAndAloneWithReferenceOps) {
    const ModelFiles model(golden_folder("qwen2_5"));
    MixedRequests requests(model.config(), nullptr);
    OneRank rank(model, make_reference_ops, 1, true, 20);
    requests.answer_unbatched(rank.passes(), any_tokens(200, static_cast<int>(model.config().vocab)), 16);
    EXPECT_GT(requests.answer_batched(rank.passes(), 20).scheduler.shared_tokens, 0);
}

// A prompt of several pieces, the end of the context, and draws by seed and number.
TEST(EngineTexts, EndWithTheContextAndDependOnTheSeed) {
    const ModelFiles model(VOLTPILE_SOURCE_DIR "/data/tiny_model/tiny-q8_0.gguf");
    EngineSettings settings;
    settings.scheduler.limits = {256, 1, pages_for(300), 1};
    settings.scheduler.pages = settings.scheduler.limits.pages_per_sequence;
    settings.scheduler.context = 300;
    settings.scheduler.sequences = 1;
    settings.scheduler.feeds = true;
    CpuOps ops({-1});
    SingleRankPasses passes(model, ops, settings.scheduler);
    Engine engine(passes, nullptr, settings);
    Request request;
    request.prompt = std::vector<std::int32_t>(290, 300);
    request.ignore_end = true;
    request.sampling.temperature = 1;
    const auto written = [&] {
        engine.submit(request);
        std::vector<Outcome> outcomes;
        while (outcomes.empty()) outcomes = engine.step();
        return outcomes.front();
    };
    const Outcome first = written();
    EXPECT_EQ(first.finish, Finish::Context);
    EXPECT_EQ(first.tokens.size(), 10U);
    EXPECT_EQ(engine.counters().scheduler.prompt_rows, 290);
    EXPECT_EQ(written().tokens, first.tokens);
    EXPECT_EQ(engine.counters().scheduler.prompt_rows, 290 + 2);  // 18 whole pages were kept
    request.first_draw = 10;
    EXPECT_NE(written().tokens, first.tokens);
    request.first_draw = 0;
    request.sampling.seed = 1;
    EXPECT_NE(written().tokens, first.tokens);
}

}  // namespace
}  // namespace voltpile::llm
