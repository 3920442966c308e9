// Compares recorded passes with the same passes run call by call.
#include "llm/decoder/pass_runner.h"

#include <algorithm>
#include <deque>

#include "base/error.h"
#include "llm/decoder_fixture.h"
#include "llm/model/synthetic_model.h"
#include "llm/ops_fixture.h"

namespace voltpile::llm::pass_runner_test {
namespace {

TEST(StepShape, RoundsRowsAndContextUp) {
    const BatchLimits limits{512, 200, 100, 200};  // 1600 tokens per sequence
    EXPECT_EQ(step_shape(1, 1, limits), (StepShape{1, 128}));
    EXPECT_EQ(step_shape(8, 512, limits), (StepShape{8, 512}));
    EXPECT_EQ(step_shape(9, 513, limits), (StepShape{16, 1024}));
    EXPECT_EQ(step_shape(64, 1024, limits), (StepShape{64, 1024}));
    EXPECT_EQ(step_shape(65, 1025, limits), (StepShape{96, 1600}));
    EXPECT_EQ(step_shape(200, 1600, limits), (StepShape{200, 1600}));
}

// Sequences that grow together, each with its own sampling settings.
class Texts {
  public:
    static constexpr BatchLimits limits{600, 12, 40, 12};
    static constexpr int pages = 160;

    Texts(const ModelSource& model, Ops& ops, bool replays) : ops_(ops), pool_(pages) {
        DecoderSettings settings;
        settings.layer_end = static_cast<int>(model.config().layers);
        settings.pages = pages;
        settings.limits = limits;
        decoder_ = std::make_unique<Decoder>(model, ops, links_, settings);
        runner_ = std::make_unique<PassRunner>(*decoder_, ops, limits, replays);
    }

    void begin(int prompt, const SamplingSettings& settings) {
        auto& text = texts_.emplace_back(Text{SequencePages(pool_), {}, {}, settings, 0, 0});
        for (int i = 0; i < prompt; ++i) text.next.push_back(3 + (prompt * 31 + i * 7) % 250);
        for (const std::int32_t token : text.next) ++text.history[token];
    }
    void end(std::size_t index) { texts_.erase(texts_.begin() + static_cast<std::ptrdiff_t>(index)); }

    // Runs one decode step and returns its tokens. Sets `logits` to those of all rows.
    std::vector<std::int32_t> step(std::vector<float>& logits) {
        BatchBuilder builder;
        std::vector<SamplingRow> rows;
        for (Text& text : texts_) {
            EXPECT_TRUE(text.pages.reserve(text.position + static_cast<int>(text.next.size())));
            builder.add(text.pages, text.next, text.position, WantLogits::Last);
            text.position += static_cast<int>(text.next.size());
            rows.push_back({&text.settings, text.drawn++, &text.history});
        }
        runner_->enqueue(builder.take(), rows);
        std::vector<std::int32_t> tokens;
        for (const DrawnToken& drawn : runner_->send_draws().wait().tokens) {
            Text& text = texts_[tokens.size()];
            text.next = {drawn.token};
            ++text.history[drawn.token];
            tokens.push_back(drawn.token);
        }
        logits.resize(tokens.size() * static_cast<std::size_t>(runner_->logits().columns));
        ops_.download(logits.data(), runner_->logits().data, logits.size() * sizeof(float));
        return tokens;
    }

    // Returns the same tokens with two passes in flight. later: enqueues each draw after the tokens of the
    // pass before have arrived.
    std::vector<std::int32_t> steps_ahead(int passes, bool later) {
        std::deque<DrawsUnderWay> under_way;
        std::vector<std::int32_t> tokens;
        const auto collect = [&] {
            for (const DrawnToken& each : under_way.front().wait().tokens) tokens.push_back(each.token);
            under_way.pop_front();
        };
        for (int i = 0; i < passes; ++i) {
            BatchBuilder builder;
            std::vector<SamplingRow> rows;
            for (Text& text : texts_) {
                EXPECT_TRUE(text.pages.reserve(text.position + static_cast<int>(text.next.size())));
                builder.add(text.pages, text.next, text.position, WantLogits::Last);
                text.position += static_cast<int>(text.next.size());
                text.next = {-1 - static_cast<std::int32_t>(rows.size())};
                rows.push_back({&text.settings, text.drawn++, nullptr});
            }
            if (later) {
                runner_->enqueue_logits(builder.take());
                if (!under_way.empty()) collect();
                runner_->draw(rows);
            } else {
                runner_->enqueue(builder.take(), rows);
            }
            under_way.push_back(runner_->send_draws());
            if (under_way.size() == 2) collect();
        }
        collect();
        return tokens;
    }

  private:
    struct Text {
        SequencePages pages;
        std::vector<std::int32_t> next;
        std::map<std::int32_t, std::int32_t> history;
        SamplingSettings settings;
        int position;
        std::int32_t drawn;
    };
    Ops& ops_;
    NoLinks links_;
    PagePool pool_;
    std::unique_ptr<Decoder> decoder_;
    std::unique_ptr<PassRunner> runner_;
    std::vector<Text> texts_;
};

class StepReplay : public OpsTest {};

// A pass reads tokens that the previous pass draws, before the host knows them.
TEST_P(StepReplay, ReadsTokensThatTheHostDoesNotKnowYet) {
    const SyntheticModel model("tiny", "q8_0");
    const auto plain_ops = GetParam().make(), fed_ops = GetParam().make();
    const auto late_ops = GetParam().make();
    Texts plain(model, *plain_ops, false), fed(model, *fed_ops, true), late(model, *late_ops, true);
    SamplingSettings drawn;
    drawn.temperature = 1;
    drawn.seed = 11;
    for (Texts* texts : {&plain, &fed, &late}) {
        texts->begin(17, {});
        texts->begin(5, drawn);
        texts->begin(33, {});
    }
    std::vector<float> logits;
    std::vector<std::int32_t> wanted;
    constexpr int passes = 12;
    for (int i = 0; i < passes; ++i)
        for (const std::int32_t token : plain.step(logits)) wanted.push_back(token);
    EXPECT_EQ(fed.steps_ahead(passes, false), wanted);
    EXPECT_EQ(late.steps_ahead(passes, true), wanted);
}

// The results are bit-identical: the kernels are the same, and a row does not depend on the rest of the
// batch.
TEST_P(StepReplay, EqualsPlainPasses) {
    const SyntheticModel model("tiny", "q8_0");
    const auto plain_ops = GetParam().make(), replayed_ops = GetParam().make();
    Texts plain(model, *plain_ops, false), replayed(model, *replayed_ops, true);
    SamplingSettings drawn, penalized;
    drawn.temperature = 1;
    drawn.top_k = 50;
    drawn.seed = 5;
    penalized.repetition_penalty = 1.3f;
    penalized.logit_bias = {{7, 2.0f}};
    int step = 0;
    const auto both = [&](int steps) {
        for (int i = 0; i < steps; ++i, ++step) {
            std::vector<float> wanted, got;
            const auto tokens = plain.step(wanted);
            ASSERT_EQ(replayed.step(got), tokens) << "step " << step;
            ASSERT_EQ(got, wanted) << "step " << step;
            ASSERT_EQ(std::ranges::count(tokens, -1), 0) << "step " << step;
        }
    };
    const auto begin = [&](int prompt, const SamplingSettings& settings) {
        plain.begin(prompt, settings);
        replayed.begin(prompt, settings);
    };
    begin(490, {});  // grows beyond 512 and others beyond 128, which changes the shape
    both(5);
    begin(110, drawn);
    begin(40, penalized);
    both(30);
    for (int i = 0; i < 7; ++i) begin(3 + i, i % 2 ? penalized : drawn);  // 10 rows, padded to 12
    both(20);
    plain.end(0);  // the long sequence ends, so earlier shapes come back
    replayed.end(0);
    both(3);
    plain.end(4);
    replayed.end(4);
    both(20);
}

// One kind of CPU suffices, because recording is the same for all.
INSTANTIATE_TEST_SUITE_P(Cpu, StepReplay, testing::Values(cpu_ops_makers().front()),
                         [](const auto& maker) { return maker.param.name; });
INSTANTIATE_TEST_SUITE_P(Gpu, StepReplay, testing::Values(gpu_ops_maker(false), gpu_ops_maker(true)),
                         [](const auto& maker) { return maker.param.name; });

TEST(StepReplayOnTeams, EqualsPlainPasses) {
    const SyntheticModel model("tiny", "f16");
    const BatchLimits limits{64, 4, 8, 4};
    constexpr int ranks = 2;
    LocalTeam team(ranks);
    std::vector<std::int32_t> tokens[ranks];
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] {
            const auto ops = make_cpu_ops();
            LocalLinks links(team, rank, nullptr, nullptr);
            DecoderSettings settings;
            settings.rank = rank;
            settings.ranks = ranks;
            settings.layer_end = static_cast<int>(model.config().layers);
            settings.pages = 8;
            settings.limits = limits;
            Decoder decoder(model, *ops, links, settings);
            for (const bool replays : {false, true}) {
                PassRunner runner(decoder, *ops, limits, replays);
                PagePool pool(8);
                SequencePages pages(pool);
                std::vector<std::int32_t> next{1, 5, 9};
                const SamplingSettings greedy;
                for (int position = 0, i = 0; i < 40; ++i) {
                    pages.reserve(position + static_cast<int>(next.size()));
                    BatchBuilder builder;
                    builder.add(pages, next, position, WantLogits::Last);
                    position += static_cast<int>(next.size());
                    const SamplingRow row{&greedy, i, nullptr};
                    runner.enqueue(builder.take(), {&row, 1});
                    next = {runner.send_draws().wait().tokens.at(0).token};
                    tokens[rank].push_back(next[0]);
                }
            }
        });
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(tokens[0].size(), 80U);
    EXPECT_EQ(tokens[0], tokens[1]);
    for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(tokens[0][i], tokens[0][40 + i]) << i;
}

}  // namespace
}  // namespace voltpile::llm::pass_runner_test
