// Guesses ahead change how many passes a text takes, never the text.
#include <map>
#include <set>

#include "llm/paper_executor.h"

namespace voltpile::llm::engine_drafts_test {
namespace {

// Texts that repeat themselves: the next token is a function of the last one. With a seed above 0, every so
// many draws it is one of all tokens before, which no guess finds.
std::int32_t repeating_draw(std::uint64_t digest, std::int32_t last, const SamplingSettings& settings,
                            int step) {
    const auto every = static_cast<int>(settings.seed);
    if (every > 0 && step % every == 0) return paper_draw(digest, settings, step);
    return static_cast<std::int32_t>(mixed(static_cast<std::uint64_t>(last)) % paper_words);
}

class RepeatingExecutor final : public PaperExecutor {
  public:
    using PaperExecutor::PaperExecutor;

  private:
    std::int32_t drawn_after(std::uint64_t digest, std::int32_t last, const Draw& draw) const override {
        return repeating_draw(digest, last, *draw.settings, draw.step);
    }
};

using Tokens = std::vector<std::int32_t>;

Tokens alone(const Request& request) {
    std::uint64_t digest = 0;
    for (const std::int32_t token : request.prompt) digest = paper_digest(digest, token);
    Tokens tokens;
    std::int32_t last = request.prompt.back();
    for (int step = 0; step < request.max_tokens; ++step) {
        last = repeating_draw(digest, last, request.sampling, request.first_draw + step);
        digest = paper_digest(digest, last);
        tokens.push_back(last);
    }
    return tokens;
}

SchedulerSettings settings_with(int draft_tokens) {
    SchedulerSettings settings;
    settings.limits = {64, 16, 20, 64};
    settings.pages = 200;
    settings.context = 320;
    settings.sequences = 8;
    settings.draft_tokens = draft_tokens;
    return settings;
}

Request request_of(std::int64_t id, int prompt, int max_tokens, int noise) {
    Request request;
    request.id = id;
    for (int i = 0; i < prompt; ++i)
        request.prompt.push_back(static_cast<std::int32_t>((i * i + i / 7 + id) % paper_words));
    request.max_tokens = max_tokens;
    request.sampling.seed = static_cast<std::uint64_t>(noise);
    return request;
}

class Answering {
  public:
    explicit Answering(const SchedulerSettings& settings)
        : scheduler(settings), executor_(settings, scheduler.cache()) {}

    // Answers all requests.
    void answer(const std::vector<Request>& requests) {
        for (const Request& request : requests) scheduler.add(request);
        while (!scheduler.idle()) step();
    }
    void step() {
        while (const auto pass = scheduler.plan()) executor_.enqueue(*pass);
        const auto all = scheduler.complete(executor_.collect());
        if (const auto draws = scheduler.take_late_draws()) executor_.draw(*draws);
        for (const Progress& progress : all) {
            if (ended_.contains(progress.id)) continue;
            tokens[progress.id].push_back(progress.drawn.token);
            drafted += progress.drafted;
            right += progress.guessed ? 1 : 0;
            steps += progress.guessed ? 0 : 1;
            if (std::ssize(tokens[progress.id]) != end_after) continue;
            ended_.insert(progress.id);
            scheduler.end(progress.id);
        }
    }
    int passes() const { return executor_.passes(); }

    Scheduler scheduler;
    std::map<std::int64_t, Tokens> tokens;
    int drafted = 0, right = 0, steps = 0;
    int end_after = -1;  // ends each sequence after so many tokens, as a stop string would

  private:
    RepeatingExecutor executor_;
    std::set<std::int64_t> ended_;
};

TEST(Drafts, TakeFewerPassesThanTokens) {
    const std::vector<Request> requests{request_of(1, 20, 200, 0)};
    Answering plain(settings_with(0)), guessing(settings_with(8));
    plain.answer(requests);
    guessing.answer(requests);
    EXPECT_EQ(plain.tokens.at(1), alone(requests[0]));
    EXPECT_EQ(guessing.tokens, plain.tokens);
    EXPECT_EQ(plain.passes(), 200);
    EXPECT_EQ(plain.drafted, 0);
    // At most 40 tokens until the first one comes again, then 9 in each pass.
    EXPECT_LE(guessing.passes(), 40 + 160 / 9 + 10);
    EXPECT_EQ(guessing.steps, guessing.passes());
    EXPECT_EQ(guessing.steps + guessing.right, 200);
    EXPECT_GE(guessing.drafted, guessing.right);
}

TEST(Drafts, AreOffWhereRowsCostAsMuchAsPasses) {
    SchedulerSettings settings = settings_with(8);
    settings.draft_pace = PassPace({{1, 1.0}, {2, 2.0}, {4, 4.0}, {8, 8.0}});
    Answering run(settings);
    run.answer({request_of(1, 20, 100, 0)});
    EXPECT_EQ(run.drafted, 0);
    EXPECT_EQ(run.passes(), 100);
}

// Guesses that are always wrong are soon given up, but tried again now and then.
TEST(Drafts, BecomeRareWhereTheyAreWrong) {
    const std::vector<Request> requests{request_of(1, 250, 60, 1)};
    Answering run(settings_with(8));
    run.answer(requests);
    EXPECT_EQ(run.tokens.at(1), alone(requests[0]));
    EXPECT_LT(run.drafted, 60);
}

TEST(Drafts, KeepToTheLimitsOfTokensAndContext) {
    for (int most = 1; most <= 12; ++most) {
        Answering run(settings_with(8));
        run.answer({request_of(1, 150, most, 0), request_of(2, 320 - most, most, 0)});
        EXPECT_EQ(run.tokens.at(1), alone(request_of(1, 150, most, 0)));
        EXPECT_EQ(run.tokens.at(2), alone(request_of(2, 320 - most, most, 0)));
    }
}

// A sequence that ends within a draft leaves nothing behind.
TEST(Drafts, EndAnywhere) {
    for (int end_after = 50; end_after < 62; ++end_after) {
        Answering run(settings_with(8));
        run.end_after = end_after;
        std::vector<Request> requests;
        for (int id = 0; id < 6; ++id) requests.push_back(request_of(id, 20 + id, 80, 10 * (id % 3)));
        run.answer(requests);
        for (const Request& request : requests) {
            Tokens wanted = alone(request);
            wanted.resize(static_cast<std::size_t>(end_after));
            EXPECT_EQ(run.tokens.at(request.id), wanted);
        }
        EXPECT_EQ(run.scheduler.counters().pages_in_use, 0);
    }
}

struct Case {
    int lanes;
    bool feeds;
    int pages;
    int draft_tokens;
};

class DraftsTogether : public testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(Schedules, DraftsTogether,
                         testing::Values(Case{1, false, 200, 8}, Case{1, true, 200, 8},
                                         Case{2, false, 200, 8}, Case{4, false, 90, 3}, Case{1, true, 45, 8},
                                         Case{1, false, 45, 20}, Case{1, true, 200, 1}),
                         [](const auto& each) {
                             const Case& c = each.param;
                             return "Lanes" + std::to_string(c.lanes) + (c.feeds ? "Feeds" : "") + "Pages" +
                                    std::to_string(c.pages) + "Drafts" + std::to_string(c.draft_tokens);
                         });

// Sequences with different shares of right guesses share passes and pages, with and without penalties.
TEST_P(DraftsTogether, AnswerAsIfEachWereAlone) {
    SchedulerSettings settings = settings_with(GetParam().draft_tokens);
    settings.lanes = GetParam().lanes;
    settings.feeds = GetParam().feeds;
    settings.pages = GetParam().pages;
    std::vector<Request> requests;
    std::mt19937 random(5);
    for (int id = 0; id < 400; ++id) {
        const int prompt = std::uniform_int_distribution(1, 120)(random);
        requests.push_back(
            request_of(id % 9, prompt, std::uniform_int_distribution(1, 199)(random), id % 5 * 6));
        requests.back().id = id;
        requests.back().first_draw = id % 11;
        if (id % 4 == 1) requests.back().sampling.presence_penalty = 1;  // PaperExecutor checks the history
    }
    Answering run(settings);
    run.answer(requests);
    for (const Request& request : requests)
        ASSERT_EQ(run.tokens.at(request.id), alone(request)) << request.id;
    EXPECT_GT(run.right, run.steps / 4);
    EXPECT_GT(run.drafted, run.right);
    EXPECT_EQ(run.scheduler.counters().pages_in_use, 0);
    EXPECT_GT(run.scheduler.counters().shared_tokens, 0);
    if (settings.pages < 100) {
        EXPECT_GT(run.scheduler.counters().preemptions, 0);
    }
}

TEST(Drafts, RefuseANegativeLength) {
    EXPECT_THROW(Scheduler(settings_with(-1)), std::invalid_argument);
}

}  // namespace
}  // namespace voltpile::llm::engine_drafts_test
