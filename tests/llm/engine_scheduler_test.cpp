// The scheduler over random traces. Each sequence must equal that of the same request alone, which comes from
// a loop over paper_draw() without a scheduler.
#include "base/error.h"
#include "llm/paper_executor.h"

namespace voltpile::llm::engine_scheduler_test {
namespace {

struct Asked {
    Request request;
    std::vector<std::int32_t> text;  // the tokens of the request alone, including the end token
};

// Ends that the scheduler does not know: an end token, and a "stop string" of two tokens.
bool ends_text(std::span<const std::int32_t> text, const Request& request) {
    if (text.back() == paper_end) return !request.ignore_end;
    return text.size() > 1 && text.back() == text[text.size() - 2] && !request.stop.empty();
}

std::vector<std::int32_t> alone(const Request& request, int context) {
    std::uint64_t digest = 0;
    for (const std::int32_t token : request.prompt) digest = paper_digest(digest, token);
    std::vector<std::int32_t> text;
    const int most =
        request.max_tokens > 0 ? request.max_tokens : context - static_cast<int>(request.prompt.size());
    for (int step = 0; step < most; ++step) {
        text.push_back(paper_draw(digest, request.sampling, step));
        if (ends_text(text, request)) break;
        digest = paper_digest(digest, text.back());
    }
    return text;
}

class Trace {
  public:
    Trace(const SchedulerSettings& settings, int requests, unsigned seed)
        : settings_(settings), random_(seed), scheduler_(settings), executor_(settings, scheduler_.cache()) {
        for (int i = 0; i < 6; ++i) beginnings_.push_back(words(between(1, settings.context / 2)));
        // The same pages after another prefix.
        const auto a = words(kv_page_tokens), b = words(kv_page_tokens);
        for (const auto& [first, second] :
             {std::pair(a, b), std::pair(b, a), std::pair(b, b), std::pair(a, a)}) {
            beginnings_.push_back(first);
            beginnings_.back().insert(beginnings_.back().end(), second.begin(), second.end());
        }
        for (int i = 0; i < requests; ++i) add_request(i);
    }

    void run() {
        while (answered_ < asked_.size() && !testing::Test::HasFailure()) {
            submit();
            if (between(0, 10) == 0) give_up_one();
            auto pass = scheduler_.plan();
            for (const std::int64_t id : scheduler_.take_admitted())
                ASSERT_EQ(id, admitted_++) << "requests are admitted in order";
            if (pass) {
                executor_.enqueue(*pass);
                // Sometimes plans no further pass until this one is collected.
                if (between(0, 3) > 0) continue;
            }
            if (scheduler_.under_way() > 0) {
                complete();
            } else {
                ASSERT_TRUE(pass || submitted_ < asked_.size()) << "no progress";
            }
        }
        while (scheduler_.under_way() > 0) complete();
        check_end();
    }

    SchedulerCounters counters() const { return scheduler_.counters(); }
    int followers() const { return executor_.followers(); }
    int late_draws() const { return executor_.late_draws(); }
    std::int64_t given_up() const { return std::ssize(asked_) - std::ssize(text_); }
    // Of requests that were not ended early.
    std::int64_t prompt_tokens() const {
        std::int64_t sum = 0;
        for (const Asked& each : asked_)
            if (text_.contains(each.request.id)) sum += std::ssize(each.request.prompt);
        return sum;
    }

  private:
    int between(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }
    std::vector<std::int32_t> words(int count) {
        std::vector<std::int32_t> tokens;
        for (int i = 0; i < count; ++i) tokens.push_back(between(1, paper_words - 1));
        return tokens;
    }

    void add_request(int id) {
        Asked asked;
        Request& request = asked.request;
        request.id = id;
        if (between(0, 2) > 0) request.prompt = beginnings_[static_cast<std::size_t>(between(0, 9))];
        if (between(0, 3) == 0)
            request.prompt.resize(
                static_cast<std::size_t>(between(0, static_cast<int>(request.prompt.size()))));
        const auto rest = words(between(1, settings_.context / 4));
        request.prompt.insert(request.prompt.end(), rest.begin(), rest.end());
        const int room = settings_.context - static_cast<int>(request.prompt.size());
        request.max_tokens = between(0, 20) == 0 ? 0 : between(1, room);
        request.ignore_end = between(0, 3) == 0;
        if (between(0, 1) == 0) request.stop = {"two alike"};
        request.sampling.seed = static_cast<std::uint64_t>(between(0, 1));
        if (between(0, 4) == 0) request.sampling.presence_penalty = 1;
        asked.text = alone(request, settings_.context);
        asked_.push_back(std::move(asked));
    }

    void submit() {
        const int most = between(0, 7) == 0 ? between(1, 40) : between(0, 1);
        for (int i = 0; i < most && submitted_ < asked_.size(); ++i, ++submitted_)
            scheduler_.add(asked_[submitted_].request);
    }

    // Ends a request whose prompt is being read, perhaps in passes in flight.
    void give_up_one() {
        const std::int64_t id = admitted_ - between(1, settings_.sequences);
        if (id < 0 || done_.contains(id) || text_.contains(id)) return;
        scheduler_.end(id);
        is_done(id);
    }

    void is_done(std::int64_t id) {
        ++answered_;
        done_.insert(id);
        check_no_starving();
    }

    void complete() {
        const std::vector<Progress> completed = scheduler_.complete(executor_.collect());
        if (const auto draws = scheduler_.take_late_draws()) executor_.draw(*draws);
        for (const Progress& progress : completed) {
            const Asked& asked = asked_[static_cast<std::size_t>(progress.id)];
            auto& text = text_[progress.id];
            text.push_back(progress.drawn.token);
            const bool ends = ends_text(text, asked.request);
            if (!ends && !progress.last) continue;
            if (!progress.last) scheduler_.end(progress.id);
            ASSERT_EQ(text, asked.text) << "request " << progress.id;
            is_done(progress.id);
        }
    }

    // Once a request is the oldest, it has a row in at least every second pass of its lane, not counting
    // passes planned before.
    void check_no_starving() {
        if (!done_.contains(oldest_)) return;
        while (done_.contains(oldest_)) ++oldest_;
        if (oldest_ > 0) {
            ASSERT_LE(executor_.passes() - oldest_since_, oldest_bound_);
        }
        oldest_since_ = executor_.passes();
        if (oldest_ >= std::ssize(asked_)) return;
        const Asked& next = asked_[static_cast<std::size_t>(oldest_)];
        const auto rows = std::ssize(next.request.prompt) + std::ssize(next.text);
        oldest_bound_ = static_cast<int>(2 * settings_.lanes * (rows + 4));
        if (oldest_ >= std::ssize(asked_) || oldest_ >= static_cast<std::int64_t>(submitted_))
            oldest_bound_ = std::numeric_limits<int>::max();
    }

    void check_end() {
        ASSERT_EQ(answered_, asked_.size());
        ASSERT_TRUE(scheduler_.idle());
        const PrefixCache& cache = scheduler_.cache();
        ASSERT_EQ(cache.available(), settings_.pages);
        for (std::int32_t page = 0; page < settings_.pages; ++page) ASSERT_EQ(cache.users(page), 0);
    }

    SchedulerSettings settings_;
    std::mt19937 random_;
    Scheduler scheduler_;
    PaperExecutor executor_;
    std::vector<std::vector<std::int32_t>> beginnings_;
    std::vector<Asked> asked_;
    std::map<std::int64_t, std::vector<std::int32_t>> text_;
    std::set<std::int64_t> done_;
    std::size_t submitted_ = 0, answered_ = 0;
    std::int64_t admitted_ = 0, oldest_ = 0;
    int oldest_since_ = 0, oldest_bound_ = std::numeric_limits<int>::max();
};

SchedulerSettings small_settings() {
    SchedulerSettings settings;
    settings.limits = {40, 12, 8, 12};
    settings.pages = 40;
    settings.context = 120;
    settings.sequences = 12;
    settings.mixed_rows = 24;
    settings.mixed_context = 64;
    settings.pass_rows = 8;
    return settings;
}

struct Case {
    const char* name;
    int lanes;
    bool feeds;
    int pages;
    int rows;
    bool paced = false;
};

void PrintTo(const Case& c, std::ostream* out) {
    *out << c.name;
}

class SchedulerTrace : public testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(
    Machines, SchedulerTrace,
    testing::Values(Case{"waits", 1, false, 40, 40}, Case{"feeds", 1, true, 40, 40},
                    Case{"feeds_in_few_pages", 1, true, 9, 40}, Case{"two_lanes", 2, false, 40, 40},
                    Case{"two_lanes_in_few_pages", 2, false, 9, 40}, Case{"three_lanes", 3, false, 40, 40},
                    Case{"three_lanes_in_few_pages", 3, false, 12, 17}, Case{"four_lanes", 4, false, 40, 40},
                    Case{"four_lanes_in_few_pages", 4, false, 12, 17},
                    Case{"many_pages_and_lanes", 4, false, 400, 12}, Case{"many_pages", 1, true, 400, 12},
                    Case{"paced", 1, false, 40, 40, true}, Case{"paced_and_feeds", 1, true, 40, 40, true},
                    Case{"paced_in_few_pages", 1, true, 9, 40, true},
                    Case{"paced_lanes", 3, false, 12, 17, true}),
    [](const auto& each) { return each.param.name; });

TEST_P(SchedulerTrace, AnswersTenThousandRequestsAsIfEachWereAlone) {
    SchedulerSettings settings = small_settings();
    settings.lanes = GetParam().lanes;
    settings.feeds = GetParam().feeds;
    settings.pages = GetParam().pages;
    settings.limits.rows = GetParam().rows;
    // Of 3 generating sequences 2 have a row, of 5 four, of 9 and more eight.
    if (GetParam().paced)
        settings.pace = PassPace({{1, 10}, {2, 11}, {3, 19}, {4, 20}, {8, 30}, {12, 70}, {40, 99}});
    Trace trace(settings, 10'000, 7);
    trace.run();
    const SchedulerCounters counters = trace.counters();
    // Every prompt token is computed or found in the cache; after preemptions some are computed again.
    EXPECT_GE(counters.prompt_rows + counters.shared_tokens, trace.prompt_tokens());
    EXPECT_GT(counters.shared_tokens, trace.prompt_tokens() / 10);
    EXPECT_GT(trace.given_up(), 100);
    if (settings.lanes == 1) {
        EXPECT_EQ(trace.followers(), 0);
    } else {
        EXPECT_GT(trace.followers(), 1000);
    }
    if (settings.feeds) {
        EXPECT_GT(trace.late_draws(), 1000);
    } else {
        EXPECT_EQ(trace.late_draws(), 0);
    }
    if (settings.pages < 20) {
        EXPECT_GT(counters.preemptions, 1000);
    } else {
        EXPECT_LT(counters.prompt_rows, trace.prompt_tokens());
    }
}

}  // namespace
}  // namespace voltpile::llm::engine_scheduler_test
