// Prefill over pipeline stages: the pieces of a prompt follow each other in passes of all lanes.
#include <algorithm>

#include "llm/paper_executor.h"

namespace voltpile::llm::engine_lanes_test {
namespace {

SchedulerSettings settings_of(int lanes, int pass_rows) {
    SchedulerSettings settings;
    settings.limits = {512, 64, 800, 64};
    settings.pages = 800;
    settings.context = 12'800;
    settings.sequences = 64;
    settings.lanes = lanes;
    settings.pass_rows = pass_rows;
    return settings;
}

Request request_of(std::int64_t id, int prompt, int max_tokens) {
    Request request;
    request.id = id;
    for (int i = 0; i < prompt; ++i)
        request.prompt.push_back(static_cast<std::int32_t>((i * i + i / 7 + id) % paper_words));
    request.max_tokens = max_tokens;
    return request;
}

class Pipeline {
  public:
    explicit Pipeline(const SchedulerSettings& settings)
        : scheduler(settings), executor_(settings, scheduler.cache()) {}

    // Plans as many passes as can be in flight.
    std::vector<PlannedPass> plan_all() {
        std::vector<PlannedPass> passes;
        while (auto pass = scheduler.plan()) {
            executor_.enqueue(*pass);
            passes.push_back(std::move(*pass));
        }
        return passes;
    }
    void complete() { scheduler.complete(executor_.collect()); }

    Scheduler scheduler;

  private:
    PaperExecutor executor_;
};

TEST(SchedulerLanes, PiecesOfOnePromptKeepAllStagesBusy) {
    for (int lanes = 1; lanes <= 4; ++lanes) {
        Pipeline pipeline(settings_of(lanes, 128));
        constexpr int prompt = 8000;
        pipeline.scheduler.add(request_of(7, prompt, 3));
        int read = 0;
        while (read < prompt) {
            for (const PlannedPass& pass : pipeline.plan_all()) {
                ASSERT_EQ(pass.batch.row_begin.size(), 2U);
                ASSERT_EQ(pass.batch.position.front(), read) << "pieces come in the order of the prompt";
                read += static_cast<int>(std::ssize(pass.batch.token));
                ASSERT_EQ(pass.draws.size(), read == prompt ? 1U : 0U) << "only the last piece draws";
            }
            ASSERT_EQ(pipeline.scheduler.under_way(), lanes);
            if (read < prompt) pipeline.complete();
        }
        // Its tokens come one after the other.
        while (pipeline.scheduler.under_way() > 1) pipeline.complete();
        EXPECT_TRUE(pipeline.plan_all().empty());
        pipeline.complete();
        EXPECT_EQ(pipeline.plan_all().size(), 1U);
    }
}

// Returns when the last of these passes has left a pipeline in which each stage takes the time of the pass's
// rows plus pass_rows. No more passes are in flight than there are stages.
int pipeline_time(const std::vector<int>& rows, int stages, int pass_rows) {
    std::vector<int> left(static_cast<std::size_t>(stages), 0);  // when the previous pass left each stage
    std::deque<int> done;
    for (const int each : rows) {
        int time = std::ssize(done) >= stages ? done[done.size() - static_cast<std::size_t>(stages)] : 0;
        for (int& stage : left) time = stage = std::max(stage, time) + each + pass_rows;
        done.push_back(time);
    }
    return done.back();
}

std::vector<int> equal_pieces(int prompt, int rows) {
    std::vector<int> pieces(static_cast<std::size_t>(prompt / rows), rows);
    if (prompt % rows > 0) pieces.push_back(prompt % rows);
    return pieces;
}

TEST(SchedulerLanes, PiecesHaveTheBestLength) {
    for (const int lanes : {2, 3, 4, 8})
        for (const int pass_rows : {16, 128, 400})
            for (const int prompt : {16, 100, 150, 300, 512, 1000, 2048, 4096, 10'000}) {
                Pipeline pipeline(settings_of(lanes, pass_rows));
                pipeline.scheduler.add(request_of(0, prompt, 1));
                std::vector<int> pieces;
                while (!pipeline.scheduler.idle()) {
                    for (const PlannedPass& pass : pipeline.plan_all())
                        pieces.push_back(static_cast<int>(std::ssize(pass.batch.token)));
                    pipeline.complete();
                }
                int best = std::numeric_limits<int>::max();
                for (int rows = kv_page_tokens; rows <= 512; rows += kv_page_tokens)
                    best = std::min(best, pipeline_time(equal_pieces(prompt, rows), lanes, pass_rows));
                // First the number of pieces is rounded, then their length to whole pages.
                EXPECT_LE(pipeline_time(pieces, lanes, pass_rows), 1.1 * best)
                    << prompt << " tokens, " << lanes << " stages, " << pass_rows << "; first "
                    << pieces.front();
            }
}

TEST(SchedulerLanes, PassesHaveEnoughRowsToBeCut) {
    for (const int lanes : {1, 2, 4})
        for (const std::vector<int>& prompts :
             {std::vector{150}, {300}, {1000}, {4096}, {300, 300, 300, 300}, {100, 900}}) {
            SchedulerSettings settings = settings_of(lanes, 16);  // alone it makes pieces of 48 to 256 rows
            settings.rows_to_cut = 256;
            settings.limits.rows = 256 + kv_page_tokens;
            Pipeline pipeline(settings);
            int all = 0, read = 0, cut = 0;
            for (std::size_t i = 0; i < prompts.size(); ++i) {
                pipeline.scheduler.add(request_of(static_cast<std::int64_t>(i), prompts[i], 1));
                all += prompts[i];
            }
            while (!pipeline.scheduler.idle()) {
                for (const PlannedPass& pass : pipeline.plan_all()) {
                    const int rows = static_cast<int>(std::ssize(pass.batch.token));
                    read += rows;
                    cut += rows >= settings.rows_to_cut ? rows : 0;
                }
                pipeline.complete();
            }
            EXPECT_EQ(read, all);
            EXPECT_GE(cut, all - 255) << all << " tokens, " << lanes << " stages";
        }
}

// Whichever lane drew for a sequence, in the end all lanes have the same number.
TEST(SchedulerLanes, ShareSequencesEvenly) {
    for (const int prompt : {5, 200}) {
        Pipeline pipeline(settings_of(3, 128));
        for (int i = 0; i < 30; ++i) pipeline.scheduler.add(request_of(i, prompt, 500));
        while (pipeline.scheduler.counters().generating < 30) {
            pipeline.plan_all();
            pipeline.complete();
        }
        for (int i = 0; i < 6; ++i) {
            pipeline.plan_all();
            pipeline.complete();
        }
        while (pipeline.scheduler.under_way() > 0) pipeline.complete();
        const auto passes = pipeline.plan_all();
        ASSERT_EQ(passes.size(), 3U);
        for (const PlannedPass& pass : passes) EXPECT_EQ(pass.draws.size(), 10U);
    }
}

// All lanes read the oldest prompt before a younger one, also beside generating sequences.
TEST(SchedulerLanes, ReadTheOldestPromptFirst) {
    Pipeline pipeline(settings_of(2, 128));
    for (int i = 0; i < 4; ++i) pipeline.scheduler.add(request_of(i, 5, 500));
    while (pipeline.scheduler.counters().generating < 4) {
        pipeline.plan_all();
        pipeline.complete();
    }
    while (pipeline.scheduler.under_way() > 0) pipeline.complete();
    pipeline.scheduler.add(request_of(10, 3000, 5));
    pipeline.scheduler.add(request_of(11, 3000, 5));
    const auto passes = pipeline.plan_all();
    ASSERT_EQ(passes.size(), 2U);
    int read = 0;
    for (const PlannedPass& pass : passes) {
        EXPECT_EQ(pass.draws.size(), 2U);
        ASSERT_GE(pass.batch.row_begin.size(), 4U) << "two generating sequences, and pieces";
        const auto begin = static_cast<std::size_t>(pass.batch.row_begin[2]);
        EXPECT_EQ(pass.batch.position[begin], read);
        read += pass.batch.row_begin[3] - pass.batch.row_begin[2];
        EXPECT_EQ(pass.batch.token[begin],
                  request_of(10, 3000, 5).prompt[static_cast<std::size_t>(pass.batch.position[begin])]);
    }
    EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace voltpile::llm::engine_lanes_test
