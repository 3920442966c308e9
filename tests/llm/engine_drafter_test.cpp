// A draft model changes how many passes a text takes, never the text.
#include <map>

#include "llm/engine/model_drafter.h"
#include "llm/paper_executor.h"

namespace voltpile::llm::engine_drafter_test {
namespace {

using Tokens = std::vector<std::int32_t>;

SchedulerSettings settings_with(int draft_tokens, int pages) {
    SchedulerSettings settings;
    settings.limits = {64, 16, 20, 64};
    settings.pages = pages;
    settings.context = 320;
    settings.sequences = 8;
    settings.draft_tokens = draft_tokens;
    settings.draft_pace = PassPace({{1, 10.0}, {16, 11.0}, {64, 20.0}});
    return settings;
}

// A small model that agrees with the large one in about `agreement` of 100 draws. It reads its own cache, so
// its draws are those of the large model only if the cache has the right tokens.
class SmallModel final : public PaperExecutor {
  public:
    SmallModel(const SchedulerSettings& settings, const PrefixCache& cache, int agreement)
        : PaperExecutor(settings, cache), agreement_(agreement) {}

  private:
    std::int32_t drawn_after(std::uint64_t digest, std::int32_t /*last*/, const Draw& draw) const override {
        const std::int32_t token = paper_draw(digest, *draw.settings, draw.step);
        if (static_cast<int>(mixed(digest + 99) % 100) < agreement_) return token;
        return (token + 1) % paper_words;
    }
    int agreement_;
};

struct Case {
    int agreement;  // of 100 draws
    int lanes;
    bool feeds;
    int pages;        // of the large model
    int draft_pages;  // of the small one
    int draft_tokens;
    double draft_seconds;  // of a pass of the small model; 10 of one of the large model
    bool apart = false;    // the small model's passes run beside those of the large one
};

class PaperReplica {
  public:
    explicit PaperReplica(const Case& c)
        : settings_(settings_with(c.draft_tokens, c.pages)),
          draft_settings_(settings_with(c.draft_tokens, c.draft_pages)) {
        draft_settings_.feeds = settings_.feeds = c.feeds;
        settings_.lanes = c.lanes;
        settings_.drafts_beside_passes = c.apart;
        // The cache belongs to the drafter, which needs its executor first.
        drafter_.emplace(relay_, ModelDrafterSettings{draft_settings_.limits,
                                                      c.draft_pages,
                                                      320,
                                                      paper_words,
                                                      {},
                                                      PassPace({{64, c.draft_seconds}})});
        draft_.emplace(draft_settings_, drafter_->cache(), c.agreement);
        relay_.to = &*draft_;
        settings_.drafter = &*drafter_;
        scheduler.emplace(settings_);
        executor_.emplace(settings_, scheduler->cache());
    }

    void answer(const std::vector<Request>& requests) {
        for (const Request& request : requests) scheduler->add(request);
        while (!scheduler->idle()) step();
    }
    void step() {
        while (const auto pass = scheduler->plan()) executor_->enqueue(*pass);
        const auto all = scheduler->complete(executor_->collect());
        if (const auto draws = scheduler->take_late_draws()) executor_->draw(*draws);
        for (const Progress& progress : all) {
            tokens[progress.id].push_back(progress.drawn.token);
            drafted += progress.drafted;
            right += progress.guessed ? 1 : 0;
            steps += progress.guessed ? 0 : 1;
        }
    }
    int passes() const { return executor_->passes(); }
    int draft_passes() const { return draft_->passes(); }
    const PrefixCache& draft_cache() const { return drafter_->cache(); }

    std::optional<Scheduler> scheduler;
    std::map<std::int64_t, Tokens> tokens;
    int drafted = 0, right = 0, steps = 0;

  private:
    struct Relay final : PassExecutor {
        int lanes() const override { return 1; }
        bool feeds() const override { return to->feeds(); }
        void enqueue(const PlannedPass& pass) override { to->enqueue(pass); }
        std::vector<DrawnToken> collect() override { return to->collect(); }
        PassExecutor* to = nullptr;
    };

    SchedulerSettings settings_, draft_settings_;
    Relay relay_;
    std::optional<ModelDrafter> drafter_;
    std::optional<SmallModel> draft_;
    std::optional<PaperExecutor> executor_;
};

Request request_of(std::int64_t id, int prompt, int max_tokens) {
    Request request;
    request.id = id;
    for (int i = 0; i < prompt; ++i)
        request.prompt.push_back(static_cast<std::int32_t>((i * i + i / 7 + id % 5) % paper_words));
    request.max_tokens = max_tokens;
    request.sampling.seed = static_cast<std::uint64_t>(id);
    return request;
}

Tokens alone(const Request& request) {
    std::uint64_t digest = 0;
    for (const std::int32_t token : request.prompt) digest = paper_digest(digest, token);
    Tokens tokens;
    for (int step = 0; step < request.max_tokens; ++step) {
        tokens.push_back(paper_draw(digest, request.sampling, request.first_draw + step));
        digest = paper_digest(digest, tokens.back());
    }
    return tokens;
}

// With a model that is always right, each pass gives all guesses and one token more.
TEST(ModelDrafter, SavesPassesWhereItIsRight) {
    for (const bool feeds : {false, true}) {
        PaperReplica replica({100, 1, feeds, 200, 200, 7, 0.1});
        const Request request = request_of(3, 50, 161);
        replica.answer({request});
        EXPECT_EQ(replica.tokens.at(3), alone(request));
        EXPECT_EQ(replica.passes(), 1 + 160 / 8);
        EXPECT_EQ(replica.right, replica.drafted);
        // One pass for each guess: none reads a token again that was guessed right.
        EXPECT_EQ(replica.draft_passes(), 160 / 8 * 7);
        EXPECT_EQ(replica.draft_cache().available(), 200);
    }
}

TEST(ModelDrafter, IsSeldomAskedWhereItIsWrong) {
    for (const auto& [feeds, apart] : {std::pair(false, false), {true, false}, {false, true}, {true, true}}) {
        PaperReplica replica({0, 1, feeds, 200, 200, 8, 1.0, apart});
        std::vector<Request> requests;
        for (int id = 0; id < 8; ++id) requests.push_back(request_of(id, 20, 300));
        replica.answer(requests);
        for (const Request& request : requests) EXPECT_EQ(replica.tokens.at(request.id), alone(request));
        EXPECT_EQ(replica.right, 0);
        EXPECT_GT(replica.draft_passes(), 20);  // asked again after about 50 passes, not only at first
        // The time of the small model's passes is a tenth of the large one's.
        EXPECT_LT(replica.draft_passes() * 1.0, 0.03 * replica.passes() * 10.0);
    }
}

TEST(ModelDrafter, IsNeverAskedWhereItIsAsSlowAsTheModel) {
    PaperReplica replica({60, 1, false, 200, 200, 8, 10.0});
    replica.answer({request_of(1, 20, 200)});
    EXPECT_EQ(replica.draft_passes(), 0);
    EXPECT_EQ(replica.passes(), 200);
}

TEST(ModelDrafter, GuessesNothingAfterTokensThatItDoesNotKnow) {
    for (const std::int64_t known : {std::int64_t{0}, std::int64_t{25}}) {
        SchedulerSettings settings = settings_with(4, 20);
        Sequence sequence;
        sequence.tokens = {1, 2, 30, 3};
        sequence.sampling = std::make_shared<const SamplingSettings>();
        PrefixCache unused(20);
        SmallModel executor(settings, unused, 100);
        ModelDrafter drafter(executor, {settings.limits, 20, 320, known, {}, PassPace({{1, 1.0}})});
        EXPECT_EQ(drafter.most(sequence, 0), 320 + 1 - 4);
        const std::vector<Drafter::Task> tasks{{&sequence, 4}};
        EXPECT_TRUE(drafter.guess(tasks).front().empty());
        EXPECT_EQ(executor.passes(), 0);
        EXPECT_EQ(drafter.most(sequence, 0), 0);  // the scheduler asks no more
    }
}

TEST(ModelDrafter, NeedsItsPace) {
    SchedulerSettings settings = settings_with(4, 20);
    PrefixCache unused(20);
    SmallModel executor(settings, unused, 100);
    EXPECT_THROW(ModelDrafter(executor, {settings.limits, 20, 320, 40, {}, {}}), std::invalid_argument);
    ModelDrafter drafter(executor, {settings.limits, 20, 320, 40, {}, PassPace({{1, 1.0}})});
    settings.drafter = &drafter;
    settings.draft_pace = {};
    EXPECT_THROW(Scheduler{settings}, std::invalid_argument);
}

class DrafterTogether : public testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(
    Schedules, DrafterTogether,
    testing::Values(Case{80, 1, false, 200, 200, 8, 0.2}, Case{80, 1, true, 200, 200, 8, 0.2},
                    Case{80, 1, true, 45, 200, 8, 0.2}, Case{80, 1, false, 45, 30, 8, 0.2},
                    Case{80, 1, true, 200, 25, 5, 0.2}, Case{60, 2, false, 200, 200, 4, 0.2},
                    Case{90, 1, false, 200, 200, 20, 0.2}, Case{100, 1, true, 60, 60, 1, 0.2},
                    Case{80, 2, false, 200, 200, 4, 0.2, true}, Case{80, 4, false, 45, 100, 4, 0.2, true},
                    Case{80, 1, true, 45, 200, 8, 0.2, true}, Case{80, 1, false, 200, 200, 8, 0.2, true}),
    [](const auto& each) {
        const Case& c = each.param;
        return "Agreement" + std::to_string(c.agreement) + "Lanes" + std::to_string(c.lanes) +
               (c.feeds ? "Feeds" : "") + "Pages" + std::to_string(c.pages) + "And" +
               std::to_string(c.draft_pages) + "Drafts" + std::to_string(c.draft_tokens) +
               (c.apart ? "Apart" : "");
    });

// Sequences share passes and pages of both models, with and without penalties. Some are preempted in the
// large model, some lose their pages in the small one.
TEST_P(DrafterTogether, AnswersAsIfEachWereAlone) {
    PaperReplica replica(GetParam());
    std::vector<Request> requests;
    std::mt19937 random(5);
    for (int id = 0; id < 300; ++id) {
        const int prompt = std::uniform_int_distribution(1, 120)(random);
        requests.push_back(request_of(id, prompt, std::uniform_int_distribution(1, 199)(random)));
        requests.back().first_draw = id % 11;
        if (id % 4 == 1) requests.back().sampling.presence_penalty = 1;  // PaperExecutor checks the history
    }
    replica.answer(requests);
    for (const Request& request : requests)
        ASSERT_EQ(replica.tokens.at(request.id), alone(request)) << request.id;
    EXPECT_GT(replica.right, 0);
    EXPECT_GE(replica.drafted, replica.right);
    EXPECT_EQ(replica.scheduler->counters().pages_in_use, 0);
    EXPECT_EQ(replica.draft_cache().available(), GetParam().draft_pages);
    if ((GetParam().lanes == 1 || GetParam().apart) && GetParam().draft_pages > 25) {
        EXPECT_GT(replica.right, replica.steps / 4);
    }
    if (GetParam().pages < 100) {
        EXPECT_GT(replica.scheduler->counters().preemptions, 0);
    }
}

}  // namespace
}  // namespace voltpile::llm::engine_drafter_test
