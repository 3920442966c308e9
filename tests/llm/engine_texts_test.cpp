// Mixed requests together, in few pages, against the text of each alone, which TextWriter writes without a
// scheduler: the same tokens, the same log-probabilities to the bit.
#include <random>

#include "llm/decoder/generate.h"
#include "llm/decoder/model_tokenizer.h"
#include "llm/decoder_fixture.h"
#include "llm/model/synthetic_model.h"
#include "llm/single_rank_passes.h"

namespace voltpile::llm {
namespace {

constexpr int context = 160;

struct Alone {
    Generated generated;
    std::string text;
};

// The stop strings looked for in the whole text after each token.
Alone write_alone(const Step& step, const ModelConfig& config, const Tokenizer* tokenizer,
                  const Request& request) {
    GenerateSettings settings{request.max_tokens, request.ignore_end, request.sampling};
    Alone alone;
    std::vector<std::int32_t> tokens;
    alone.generated = generate(step, config, context, request.prompt, settings, [&](std::int32_t token) {
        if (std::ranges::find(request.stop_tokens, token) != request.stop_tokens.end()) return false;
        tokens.push_back(token);
        if (tokenizer == nullptr) return true;
        const std::string text = tokenizer->decode(tokens);
        std::size_t stop = std::string::npos;
        for (const std::string& each : request.stop) stop = std::min(stop, text.find(each));
        alone.text = text.substr(0, stop);
        return stop == std::string::npos;
    });
    alone.generated.tokens = tokens;
    alone.generated.log_probability.resize(tokens.size());
    return alone;
}

class Texts {
  public:
    Texts(const ModelSource& model, const MakeOps& make_ops, const Tokenizer* tokenizer)
        : model_(model), make_ops_(make_ops), tokenizer_(tokenizer) {}

    // Prompts of mixed lengths cut out of `source`, some with a beginning in common.
    void ask(std::span<const std::int32_t> source, int count) {
        std::mt19937 random(3);
        const auto between = [&](int least, int most) {
            return std::uniform_int_distribution(least, most)(random);
        };
        const auto part = [&](int begin, int length) {
            return std::vector(source.begin() + begin, source.begin() + begin + length);
        };
        for (int i = 0; i < count; ++i) {
            Request request;
            request.id = 100 + i;
            if (i % 3 == 0) request.prompt = part(0, 40);  // two whole pages and a half
            const int begin = between(0, static_cast<int>(source.size()) - 60);
            const auto rest = part(begin, i % 8 == 7 ? 60 : between(1, 30));
            request.prompt.insert(request.prompt.end(), rest.begin(), rest.end());
            request.max_tokens = i % 4 == 1 ? 50 : between(1, 12);
            request.ignore_end = i % 5 == 0;
            if (i % 2 == 1) {
                request.sampling.temperature = 0.9F;
                request.sampling.top_k = 50;
                request.sampling.top_p = 0.95F;
            }
            request.sampling.seed = static_cast<std::uint64_t>(i);
            if (i % 4 == 1) request.sampling.repetition_penalty = 1.2F;
            if (i % 7 == 2) request.sampling.frequency_penalty = 0.5F;
            if (i % 6 == 4) request.stop_tokens = {request.prompt.front(), request.prompt.back()};
            if (tokenizer_ != nullptr && i % 2 == 0) request.stop = {" the", ", and he", "unto him"};
            requests_.push_back(request);
        }
        const auto ops = make_ops_();
        NoLinks links;
        Decoder decoder(model_, *ops, links, single_text_settings(model_.config(), context));
        PassRunner runner(decoder, *ops, single_text_limits(context));
        for (const Request& request : requests_)
            alone_.push_back(
                write_alone(single_rank_step(decoder, runner), model_.config(), tokenizer_, request));
    }

    EngineCounters together(int lanes, bool feeds, int pages) {
        EngineSettings settings;
        settings.end_ids = model_.config().eos_ids;
        settings.scheduler.limits = {40, 16, pages_for(context), 16};
        settings.scheduler.pages = pages;
        settings.scheduler.context = context;
        settings.scheduler.sequences = 16;
        settings.scheduler.lanes = lanes;
        settings.scheduler.feeds = feeds;
        settings.scheduler.mixed_rows = 24;
        const auto ops = make_ops_();
        SingleRankPasses passes(model_, *ops, settings.scheduler);
        Engine engine(passes, tokenizer_, settings);
        for (const Request& request : requests_) engine.submit(request);
        std::size_t answered = 0;
        while (!engine.idle()) {
            for (const Outcome& outcome : engine.step()) {
                compare(outcome, static_cast<std::size_t>(outcome.id - 100));
                ++answered;
            }
        }
        EXPECT_EQ(answered, requests_.size());
        EXPECT_EQ(engine.counters().scheduler.pages_in_use, 0);
        return engine.counters();
    }

  private:
    void compare(const Outcome& outcome, std::size_t index) {
        const Alone& alone = alone_[index];
        EXPECT_EQ(outcome.tokens, alone.generated.tokens) << index;
        EXPECT_EQ(outcome.log_probability, alone.generated.log_probability) << index;
        EXPECT_EQ(outcome.finish, alone.generated.finish) << index;
        EXPECT_EQ(outcome.text, alone.text) << index;
        EXPECT_EQ(outcome.prompt_tokens, std::ssize(requests_[index].prompt));
        EXPECT_GE(outcome.token_seconds.size(), outcome.tokens.size());
        EXPECT_TRUE(std::ranges::is_sorted(outcome.token_seconds));
        EXPECT_EQ(outcome.error, "");
    }

    const ModelSource& model_;
    MakeOps make_ops_;
    const Tokenizer* tokenizer_;
    std::vector<Request> requests_;
    std::vector<Alone> alone_;
};

std::vector<std::int32_t> any_tokens(int count, int vocabulary) {
    std::vector<std::int32_t> tokens;
    for (int i = 0; i < count; ++i) tokens.push_back((7919 * i + 17) % vocabulary);
    return tokens;
}

TEST(EngineTexts, OfTheTinyModelAreTheSameTogetherAsAlone) {
    const std::string folder = VOLTPILE_SOURCE_DIR "/data/tiny_model/";
    const ModelFiles model(folder + "tiny-q8_0.gguf");
    const Tokenizer tokenizer = load_tokenizer(model);
    std::ifstream file(folder + "held_out.txt");
    std::string text(6000, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    Texts texts(model, make_cpu_ops, &tokenizer);
    texts.ask(tokenizer.encode(text), 64);
    for (const auto& [lanes, feeds, pages] : {std::tuple(1, true, 16), {2, false, 16}, {1, false, 200}}) {
        const EngineCounters counters = texts.together(lanes, feeds, pages);
        EXPECT_GT(counters.scheduler.shared_tokens, 21 * 32 / 2);
        if (pages < 100) {
            EXPECT_GT(counters.scheduler.preemptions, 0);
        } else {
            EXPECT_EQ(counters.largest_batch, 16);
        }
    }
}

// Its logits are so close to each other that any difference of rounding gives other tokens.
TEST(EngineTexts, OfASyntheticModelAreTheSameTogetherAsAlone) {
    const SyntheticModel model("tiny", "q5_k_m");
    Texts texts(model, make_cpu_ops, nullptr);
    texts.ask(any_tokens(300, 512), 64);
    EXPECT_GT(texts.together(1, true, 12).scheduler.preemptions, 0);
}

TEST(EngineTexts, OfTheReferenceAreTheSameTogetherAsAlone) {
    const ModelFiles model(golden_folder("qwen2_5"));
    Texts texts(model, make_reference_ops, nullptr);
    texts.ask(any_tokens(200, static_cast<int>(model.config().vocab)), 16);
    EXPECT_GT(texts.together(1, true, 20).scheduler.shared_tokens, 0);
}

}  // namespace
}  // namespace voltpile::llm
