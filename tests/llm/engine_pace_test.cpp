// The pace of a processor: how the scheduler uses it, and how it is measured.
#include <chrono>
#include <numeric>
#include <thread>

#include "base/seconds_since.h"
#include "llm/engine/measure_pace.h"
#include "llm/paper_executor.h"

namespace voltpile::llm::engine_pace_test {
namespace {

using Measured = PassPace::Measured;

// Milliseconds on an H200 with Llama 3 8B in Q8_0, as the seconds of a PassPace.
PassPace h200() {
    return PassPace({{1, 3.09},
                     {2, 3.30},
                     {4, 3.72},
                     {8, 4.97},
                     {16, 5.28},
                     {24, 6.27},
                     {32, 6.59},
                     {40, 8.33},
                     {48, 8.77},
                     {64, 9.57},
                     {96, 15.9},
                     {128, 19.3}});
}

SchedulerSettings settings_of_h200() {
    SchedulerSettings settings;
    settings.limits = {200, 80, 600, 80};
    settings.pages = 4000;
    settings.context = 9600;
    settings.sequences = 80;
    settings.pace = h200();
    return settings;
}

Request request_of(std::int64_t id, int prompt, int max_tokens) {
    Request request;
    request.id = id;
    for (int i = 0; i < prompt; ++i)
        request.prompt.push_back(static_cast<std::int32_t>((i * i + id) % paper_words));
    request.max_tokens = max_tokens;
    return request;
}

// Returns a scheduler with this many generating sequences.
void begin_texts(Scheduler& scheduler, PaperExecutor& executor, int texts) {
    for (int i = 0; i < texts; ++i) scheduler.add(request_of(i, 5, 9000));
    while (scheduler.counters().generating < texts) {
        executor.enqueue(*scheduler.plan());
        scheduler.complete(executor.collect());
    }
}

TEST(PassPace, UsesTheNextLargerShape) {
    const PassPace pace = h200();
    EXPECT_EQ(pace.seconds(3), 3.72);
    EXPECT_EQ(pace.seconds(64), 9.57);
    EXPECT_EQ(pace.seconds(256), 2 * 19.3);
    EXPECT_EQ(pace.rows_within(3), 0);
    EXPECT_EQ(pace.rows_within(9.57), 64);
    EXPECT_EQ(pace.rows_within(15.8), 64);
    EXPECT_EQ(pace.rows_within(4 * 19.3), 512);
}

TEST(PassPace, TrustsAFasterPassWithMoreRows) {
    EXPECT_EQ(PassPace({{1, 3}, {2, 9}, {4, 4}}).seconds(2), 4);
    EXPECT_THROW(PassPace({{2, 3}, {2, 4}}), std::invalid_argument);
    EXPECT_THROW(PassPace({{1, 0}}), std::invalid_argument);
    EXPECT_FALSE(PassPace().known());
    EXPECT_EQ(PassPace().best_rows(17), 17);
}

// Generating sequences, and the rows of a pass with the highest rate.
constexpr std::pair<int, int> best_of_h200[] = {{1, 1},   {8, 8},   {16, 16}, {17, 16}, {18, 16}, {19, 19},
                                                {24, 24}, {33, 32}, {48, 48}, {64, 64}, {65, 64}, {80, 64}};

TEST(SchedulerPace, LeavesOutSequencesThatLowerTheRate) {
    for (const bool feeds : {false, true})
        for (const auto& [texts, best] : best_of_h200) {
            SchedulerSettings settings = settings_of_h200();
            settings.feeds = feeds;
            Scheduler scheduler(settings);
            PaperExecutor executor(settings, scheduler.cache());
            begin_texts(scheduler, executor, texts);
            std::vector<int> drawn(static_cast<std::size_t>(texts)), left_out(drawn);
            constexpr int passes = 40;
            for (int pass = 0; pass < passes; ++pass) {
                while (const auto next = scheduler.plan()) {
                    ASSERT_EQ(std::ssize(next->batch.token), best) << texts;
                    executor.enqueue(*next);
                }
                for (int& each : left_out) ++each;
                for (const Progress& progress : scheduler.complete(executor.collect())) {
                    left_out[static_cast<std::size_t>(progress.id)] = 0;
                    ++drawn[static_cast<std::size_t>(progress.id)];
                }
                // All of these leave out less than half.
                ASSERT_LE(std::ranges::max(left_out), 1) << texts;
            }
            const auto [least, most] = std::ranges::minmax(drawn);
            EXPECT_LE(most - least, 1) << "sequences take turns";
            EXPECT_EQ(std::accumulate(drawn.begin(), drawn.end(), 0), passes * best);
        }
}

// Generating sequences, and the rows of a prompt's beginning beside them: seconds(32 + 32) is 1.45 times
// seconds(32), the next shape 2.41 times; 96 rows take 1.66 times as long as 64, 40 rows 1.68 times as long
// as 8; eight rows 1.61 times as long as one, but a prompt gets at least a page of rows.
constexpr std::pair<int, int> first_of_h200[] = {{32, 32}, {64, 32}, {8, 32}, {1, 16}};

TEST(SchedulerPace, LimitsTheRowsOfAPromptBesideOthers) {
    for (const auto& [texts, first] : first_of_h200) {
        SchedulerSettings settings = settings_of_h200();
        Scheduler scheduler(settings);
        PaperExecutor executor(settings, scheduler.cache());
        begin_texts(scheduler, executor, texts);
        constexpr int prompt = 8500;
        scheduler.add(request_of(1000, prompt, 5));
        int context = 0;
        while (context < prompt) {
            const auto pass = scheduler.plan();
            executor.enqueue(*pass);
            scheduler.complete(executor.collect());
            const int rows = static_cast<int>(std::ssize(pass->batch.token)) - texts;
            if (context == 0) {
                EXPECT_EQ(rows, first) << texts;
            }
            // A row that looks back at 8192 tokens counts twice; ending with a page may cost a quarter of the
            // rows.
            const double affordable = std::max(16.0, first / (1 + context / 8192.0));
            ASSERT_LE(rows, affordable);
            ASSERT_GE(rows, std::min(0.75 * (affordable - 1), static_cast<double>(prompt - context)));
            context += rows;
        }
    }
}

// Takes 2 ms for up to 12 rows, 8 ms for up to 20 and 40 ms for more, and counts the shapes it meets.
class SleepyExecutor final : public PassExecutor {
  public:
    explicit SleepyExecutor(const BatchLimits& limits, int pages) : limits_(limits), pages_(pages) {}
    int lanes() const override { return 1; }
    bool feeds() const override { return true; }
    void enqueue(const PlannedPass& pass) override {
        const Batch& batch = pass.batch;
        ASSERT_NO_THROW(check_limits(batch, limits_));
        ASSERT_EQ(batch.logit_row.size(), pass.draws.size());
        for (const std::int32_t page : batch.page_table) ASSERT_TRUE(page >= 0 && page < pages_);
        under_way_.push_back(pass.draws.size());
        ASSERT_LE(under_way_.size(), 2U);
        const auto rows = static_cast<int>(batch.token.size());
        if (!pass.draws.empty()) ++met_[step_shape(rows, std::ranges::max(batch.position) + 1, limits_)];
        std::this_thread::sleep_for(std::chrono::milliseconds(rows <= 12 ? 2 : rows <= 20 ? 8 : 40));
    }
    std::vector<DrawnToken> collect() override {
        std::vector<DrawnToken> drawn(under_way_.front(), DrawnToken{1, 0});
        under_way_.pop_front();
        return drawn;
    }
    bool done() const { return under_way_.empty(); }
    const std::map<StepShape, int>& met() const { return met_; }

  private:
    BatchLimits limits_;
    int pages_;
    std::deque<std::size_t> under_way_;
    std::map<StepShape, int> met_;  // how often
};

TEST(MeasuredPace, FindsStepsAndMeetsAllShapes) {
    const BatchLimits limits{100, 12, 32, 12};  // sequences of up to 512 tokens
    SleepyExecutor executor(limits, 40);
    const auto begin = std::chrono::steady_clock::now();
    const double no_limit = 1e9;  // a busy machine takes any time for the shapes
    const PassPace pace = measure_pace(executor, limits, 40, no_limit);
    const double all = seconds_since(begin);
    EXPECT_TRUE(executor.done());
    // A sleep is never shorter, but longer on a busy machine.
    EXPECT_GE(pace.seconds(1), 0.002);
    EXPECT_GE(pace.seconds(13), 0.008);
    double texts = 0;
    for (int rows = 1; rows <= 9; ++rows) texts += pace.seconds(rows);
    EXPECT_LT(2 * texts, all) << "each shape is timed twice";
    EXPECT_EQ(executor.met().size(), 9U * 3);  // 1, 2, ... 8, 12 rows; contexts of 128, 256, 512
    for (const auto& [shape, times] : executor.met()) EXPECT_GE(times, 2) << "the second pass is recorded";
}

TEST(MeasuredPace, NeedsNoMoreThanTheCacheHas) {
    for (const int pages : {1, 2, 5}) {
        const BatchLimits limits{100, 12, 2, 12};
        SleepyExecutor executor(limits, pages);
        EXPECT_TRUE(measure_pace(executor, limits, pages).known());
    }
}

}  // namespace
}  // namespace voltpile::llm::engine_pace_test
