// Pages that the KV cache has no room for move to host memory and come back for a sequence that begins with
// them.
#include <map>

#include "llm/paper_executor.h"

namespace voltpile::llm::engine_host_pages_test {
namespace {

using Tokens = std::vector<std::int32_t>;

SchedulerSettings settings_with(int pages, int host_pages) {
    SchedulerSettings settings;
    settings.limits = {64, 16, 20, 64};
    settings.pages = pages;
    settings.host_pages = host_pages;
    settings.context = 320;
    settings.sequences = 8;
    return settings;
}

Tokens prompt_of(int topic, int length) {
    Tokens tokens;
    for (int i = 0; i < length; ++i)
        tokens.push_back(static_cast<std::int32_t>((i * i + i / 7 + 3 * topic) % paper_words));
    return tokens;
}

Tokens alone(const Request& request) {
    std::uint64_t digest = 0;
    for (const std::int32_t token : request.prompt) digest = paper_digest(digest, token);
    Tokens tokens;
    for (int step = 0; step < request.max_tokens; ++step) {
        tokens.push_back(paper_draw(digest, request.sampling, step));
        digest = paper_digest(digest, tokens.back());
    }
    return tokens;
}

class Answering {
  public:
    explicit Answering(const SchedulerSettings& settings)
        : scheduler(settings), executor(settings, scheduler.cache()) {}

    void answer(const std::vector<Request>& requests) {
        for (const Request& request : requests) scheduler.add(request);
        while (!scheduler.idle()) {
            while (const auto pass = scheduler.plan()) executor.enqueue(*pass);
            for (const Progress& progress : scheduler.complete(executor.collect()))
                tokens[progress.id].push_back(progress.drawn.token);
        }
        for (const Request& request : requests)
            EXPECT_EQ(tokens.at(request.id), alone(request)) << request.id;
    }

    Scheduler scheduler;
    PaperExecutor executor;
    std::map<std::int64_t, Tokens> tokens;
};

Request request_of(std::int64_t id, Tokens prompt, int max_tokens = 10) {
    Request request;
    request.id = id;
    request.prompt = std::move(prompt);
    request.max_tokens = max_tokens;
    return request;
}

// A conversation of 100 tokens, eight others that need all 40 pages, and its next turn.
TEST(HostPages, ContinueAConversationThatLostItsPages) {
    for (const int host_pages : {0, 60}) {
        Answering run(settings_with(40, host_pages));
        run.answer({request_of(0, prompt_of(0, 100))});
        for (int other = 1; other <= 8; ++other) run.answer({request_of(other, prompt_of(other, 150))});
        EXPECT_EQ(run.executor.moves_in(), 0);
        const std::int64_t rows = run.scheduler.counters().prompt_rows;
        run.answer({request_of(9, prompt_of(0, 120))});
        const SchedulerCounters after = run.scheduler.counters();
        // Six whole pages of the first turn, whose content is in the slots.
        EXPECT_EQ(after.prompt_rows - rows, host_pages == 0 ? 120 : 120 - 96);
        EXPECT_EQ(after.pages_brought_back, host_pages == 0 ? 0 : 6);
        EXPECT_EQ(run.executor.moves_in(), after.pages_brought_back);
        EXPECT_EQ(after.host_pages, host_pages);
        EXPECT_LE(after.host_pages_in_use, host_pages);
    }
}

// A page that was brought back and is evicted again is in its slot already.
TEST(HostPages, CopyAPageOutOnce) {
    Answering run(settings_with(20, 200));
    for (int turn = 0; turn < 6; ++turn)
        for (int topic = 0; topic < 3; ++topic)
            run.answer({request_of(10 * turn + topic, prompt_of(topic, 160), 1)});
    EXPECT_GT(run.executor.moves_in(), 5 * 3 * 8);
    EXPECT_LE(run.executor.moves_out(), 3 * 10);
    EXPECT_EQ(run.scheduler.counters().host_pages_in_use, run.executor.moves_out());
}

TEST(HostPages, HoldTheLastUsedOnes) {
    Answering run(settings_with(20, 12));
    for (int topic = 0; topic < 6; ++topic) run.answer({request_of(topic, prompt_of(topic, 160), 1)});
    EXPECT_EQ(run.scheduler.counters().host_pages_in_use, 12);
    run.answer({request_of(6, prompt_of(0, 160), 1)});
    EXPECT_EQ(run.scheduler.counters().pages_brought_back, 0);
    run.answer({request_of(7, prompt_of(4, 160), 1)});
    EXPECT_GT(run.scheduler.counters().pages_brought_back, 0);
}

class HostPagesTogether : public testing::TestWithParam<std::tuple<int, bool, int, int>> {};

INSTANTIATE_TEST_SUITE_P(Schedules, HostPagesTogether,
                         testing::Values(std::tuple(1, false, 45, 30), std::tuple(1, true, 45, 300),
                                         std::tuple(2, false, 60, 100), std::tuple(4, false, 90, 2)));

// Sequences that share beginnings, in a cache that is too small for those that run at once.
TEST_P(HostPagesTogether, AnswerAsIfEachWereAlone) {
    const auto [lanes, feeds, pages, host_pages] = GetParam();
    SchedulerSettings settings = settings_with(pages, host_pages);
    settings.lanes = lanes;
    settings.feeds = feeds;
    std::vector<Request> requests;
    std::mt19937 random(5);
    for (int id = 0; id < 400; ++id)
        requests.push_back(request_of(id,
                                      prompt_of(std::uniform_int_distribution(0, 12)(random),
                                                std::uniform_int_distribution(1, 200)(random)),
                                      std::uniform_int_distribution(1, 100)(random)));
    Answering run(settings);
    run.answer(requests);
    EXPECT_EQ(run.scheduler.counters().pages_in_use, 0);
    EXPECT_GT(run.executor.moves_out(), 0);
    if (host_pages > 2) {
        EXPECT_GT(run.scheduler.counters().pages_brought_back, 100);
    }
}

}  // namespace
}  // namespace voltpile::llm::engine_host_pages_test
