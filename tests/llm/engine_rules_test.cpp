// The rules of the scheduler, one by one, and the requests that it refuses.
#include <numeric>

#include "base/error.h"
#include "llm/engine/written_text.h"
#include "llm/job_error_text.h"
#include "llm/paper_executor.h"
#include "llm/tokenizer/model_tokenizer.h"

namespace voltpile::llm::engine_rules_test {
namespace {

SchedulerSettings settings_for_rules() {
    SchedulerSettings settings;
    settings.limits = {200, 80, 100, 80};
    settings.pages = 1000;
    settings.context = 1600;
    settings.sequences = 80;
    settings.mixed_rows = 64;
    settings.mixed_context = 160;
    return settings;
}

Request request_of(std::int64_t id, int prompt, int max_tokens) {
    Request request;
    request.id = id;
    for (int i = 0; i < prompt; ++i) request.prompt.push_back(1 + (i * i + i / 7) % (paper_words - 1));
    request.max_tokens = max_tokens;
    return request;
}

// Runs the next pass and returns the rows of each of its sequences.
std::vector<int> run_pass(Scheduler& scheduler, PaperExecutor& executor) {
    const auto pass = scheduler.plan();
    if (!pass) return {};
    executor.enqueue(*pass);
    scheduler.complete(executor.collect());
    std::vector<int> rows;
    for (std::size_t s = 1; s < pass->batch.row_begin.size(); ++s)
        rows.push_back(pass->batch.row_begin[s] - pass->batch.row_begin[s - 1]);
    return rows;
}

TEST(SchedulerRules, PromptTakesAllRowsUnlessSequencesGenerate) {
    const SchedulerSettings settings = settings_for_rules();
    Scheduler scheduler(settings);
    PaperExecutor executor(settings, scheduler.cache());
    scheduler.add(request_of(0, 300, 100));
    EXPECT_EQ(run_pass(scheduler, executor), std::vector{192});  // to the end of a page
    EXPECT_EQ(run_pass(scheduler, executor), std::vector{108});
    Request other = request_of(1, 600, 5);
    other.prompt.front() = 39;  // shares nothing
    scheduler.add(other);
    int context = 0;
    for (int rows = 0; context < 600; context += rows) {
        const auto pass = run_pass(scheduler, executor);
        ASSERT_EQ(pass.size(), 2U);
        EXPECT_EQ(pass[0], 1);
        rows = pass[1];
        // At least its whole pages, or one row.
        const double affordable = 64 / (1 + context / 160.0);
        EXPECT_LE(rows, std::max(1.0, affordable));
        EXPECT_GE(rows, std::min({affordable - kv_page_tokens, 600.0 - context, 16.0}));
    }
    EXPECT_EQ(run_pass(scheduler, executor), (std::vector{1, 1}));
}

// Beside eight generating sequences two prompts are few, three are not.
TEST(SchedulerRules, ManyPromptsAreNotHeldBack) {
    const SchedulerSettings settings = settings_for_rules();
    for (const int prompts : {2, 3}) {
        Scheduler scheduler(settings);
        PaperExecutor executor(settings, scheduler.cache());
        for (int i = 0; i < 8; ++i) {
            scheduler.add(request_of(i, 20, 100));
            run_pass(scheduler, executor);
        }
        for (int i = 0; i < prompts; ++i) {
            Request prompt = request_of(10 + i, 500, 5);
            prompt.prompt.front() = 30 + i;  // shares nothing
            scheduler.add(prompt);
        }
        const auto rows = run_pass(scheduler, executor);
        const int read = std::accumulate(rows.begin() + 8, rows.end(), 0);
        if (prompts == 2)
            EXPECT_LE(read, settings.mixed_rows);
        else
            EXPECT_GT(read, settings.limits.rows - 8 - kv_page_tokens);
    }
}

TEST(SchedulerRules, ComputesEqualPrefixesOnce) {
    for (const int lanes : {1, 2}) {
        SchedulerSettings settings = settings_for_rules();
        settings.lanes = lanes;
        Scheduler scheduler(settings);
        PaperExecutor executor(settings, scheduler.cache());
        for (int i = 0; i < 64; ++i) {
            Request request = request_of(i, 500, 3);
            request.prompt.push_back(1 + i % 30);
            scheduler.add(request);
        }
        while (!scheduler.idle()) run_pass(scheduler, executor);
        // 31 whole pages once, and the 5 tokens after them for each prompt.
        EXPECT_EQ(scheduler.counters().prompt_rows, 496 + 64 * 5);
        EXPECT_EQ(scheduler.counters().shared_tokens, 63 * 496);
    }
}

TEST(SchedulerRules, FindsAPrefixUntilItsPagesAreNeeded) {
    SchedulerSettings settings = settings_for_rules();
    settings.pages = 40;
    settings.context = 600;
    Scheduler scheduler(settings);
    PaperExecutor executor(settings, scheduler.cache());
    const auto shared_by = [&](const Request& request) {
        const auto before = scheduler.counters().shared_tokens;
        scheduler.add(request);
        while (!scheduler.idle()) run_pass(scheduler, executor);
        return scheduler.counters().shared_tokens - before;
    };
    const Request first = request_of(0, 200, 1);
    Request second = request_of(1, 400, 1);
    second.prompt.front() = 39;
    EXPECT_EQ(shared_by(first), 0);
    EXPECT_EQ(shared_by(first), 192);  // all except the page of the last token
    EXPECT_EQ(shared_by(second), 0);   // 25 pages beside 12
    EXPECT_EQ(shared_by(first), 192);
    second.prompt.front() = 38;
    EXPECT_EQ(shared_by(second), 0);  // evicts the least recently used pages
    EXPECT_EQ(shared_by(first), 192);
    second.prompt.front() = 39;
    EXPECT_LT(shared_by(second), 384);
}

TEST(SchedulerRules, DrawsWithPenaltiesComeLaterThanTheirPass) {
    SchedulerSettings settings = settings_for_rules();
    settings.feeds = true;
    Scheduler scheduler(settings);
    PaperExecutor executor(settings, scheduler.cache());
    for (int i = 0; i < 5; ++i) {
        Request request = request_of(i, 10, 100);
        request.prompt.front() = 1 + i;
        if (i > 2) request.sampling.presence_penalty = 1;
        scheduler.add(request);
    }
    const auto rows_of_next = [&] {
        const auto pass = scheduler.plan();
        if (pass) executor.enqueue(*pass);
        return pass ? pass->batch.token.size() : 0;
    };
    EXPECT_EQ(rows_of_next(), 50U);
    EXPECT_FALSE(scheduler.take_late_draws());
    EXPECT_EQ(rows_of_next(), 5U);
    EXPECT_FALSE(scheduler.take_late_draws());  // the tokens of the first pass are missing
    EXPECT_EQ(rows_of_next(), 0U);              // two passes are in flight
    scheduler.complete(executor.collect());
    EXPECT_EQ(rows_of_next(), 0U);  // the draws must be taken first
    scheduler.end(4);               // its draw does not matter any more
    const auto draws = scheduler.take_late_draws();
    ASSERT_TRUE(draws);
    ASSERT_EQ(draws->size(), 5U);
    EXPECT_EQ((*draws)[0].history, nullptr);
    ASSERT_NE((*draws)[3].history, nullptr);
    int counted = 0;
    for (const auto& [token, count] : *(*draws)[3].history) counted += count;
    EXPECT_EQ(counted, 10 + 1);
    EXPECT_EQ((*draws)[4].history, nullptr);
    executor.draw(*draws);
    EXPECT_FALSE(scheduler.take_late_draws());
    EXPECT_EQ(rows_of_next(), 4U);
}

TEST(SchedulerRules, RefusesRequestsThatCannotBeAnswered) {
    SchedulerSettings settings = settings_for_rules();
    settings.pages = 50;  // 800 tokens
    Scheduler scheduler(settings);
    const auto says = [&](const Request& request) { return message_of([&] { scheduler.add(request); }); };
    EXPECT_EQ(says(request_of(0, 0, 1)), "the prompt is empty");
    EXPECT_EQ(says(request_of(0, 10, -1)), "max_tokens must be at least 0");
    EXPECT_EQ(says(request_of(0, 1600, 0)),
              "the prompt of 1600 tokens leaves no room for more in a context of 1600");
    EXPECT_EQ(says(request_of(0, 600, 1001)),
              "a prompt of 600 tokens and 1001 more do not fit into a context of 1600");
    EXPECT_EQ(says(request_of(0, 600, 201)), "801 tokens of one sequence do not fit into a cache of 800");
    EXPECT_TRUE(scheduler.idle());
    scheduler.add(request_of(0, 600, 200));
    EXPECT_THROW(scheduler.add(request_of(0, 1, 1)), std::invalid_argument);
    settings.lanes = 2;
    settings.feeds = true;
    EXPECT_THROW(Scheduler{settings}, std::invalid_argument);
}

TEST(WrittenText, EndsBeforeTheFirstStopString) {
    const ModelFiles model(VOLTPILE_SOURCE_DIR "/data/tiny_model/tiny-q8_0.gguf");
    const Tokenizer tokenizer = load_tokenizer(model);
    const std::string text = "And the LORD said unto Moses, Go down: \u00fcber \u20ac and so on.";
    const auto tokens = tokenizer.encode(text, {.add_special = false});
    ASSERT_EQ(tokenizer.decode(tokens), text);
    const auto cut = [&](const std::vector<std::string>& stop) {
        WrittenText written(&tokenizer, false, stop);
        for (const TokenId token : tokens)
            if (!written.push(token)) return written.take();
        return written.take() + "|";
    };
    EXPECT_EQ(cut({}), text + "|");
    EXPECT_EQ(cut({"unto him", ""}), text + "|");
    for (const std::size_t length : {1U, 2U, 5U, 9U}) {
        for (std::size_t begin = 0; begin + length <= text.find(':'); ++begin) {
            const std::string stop = text.substr(begin, length);
            EXPECT_EQ(cut({"nowhere", stop, "so on"}), text.substr(0, text.find(stop))) << stop;
        }
    }
    EXPECT_EQ(cut({" and", "\u20ac"}), text.substr(0, text.find("\u20ac")));
}

// Keys and values depend on the adapter, so sequences share pages only with those of the same one.
TEST(SchedulerRules, PrefixesBelongToAnAdapter) {
    const SchedulerSettings settings = settings_for_rules();
    Scheduler scheduler(settings);
    PaperExecutor executor(settings, scheduler.cache());
    std::int64_t id = 0;
    const auto rows_with = [&](int adapter) {
        Request request = request_of(id++, 100, 1);
        request.adapter = adapter;
        scheduler.add(request);
        const auto rows = run_pass(scheduler, executor);
        return rows.empty() ? 0 : rows.front();
    };
    EXPECT_EQ(rows_with(-1), 100);
    EXPECT_EQ(rows_with(0), 100);
    EXPECT_EQ(rows_with(1), 100);
    EXPECT_EQ(rows_with(0), 4);  // after six pages
    EXPECT_EQ(rows_with(-1), 4);
}

}  // namespace
}  // namespace voltpile::llm::engine_rules_test
