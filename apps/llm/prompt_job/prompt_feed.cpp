#include "llm/prompt_job/prompt_feed.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/phase.h"
#include "base/seconds_since.h"

namespace voltpile::llm {
namespace {

constexpr double report_interval_s = 0.1;

class PromptFeed {
  public:
    PromptFeed(const std::vector<Prompt>& prompts, Engine& engine, PromptRows& rows, WorkScheduler& work,
               const FeedSettings& settings)
        : prompts_(prompts), engine_(engine), rows_(rows), work_(work), settings_(settings) {}

    void run() {
        for (;;) {
            fill();
            if (engine_.idle()) break;
            step();
            report();
            if (out_of_time()) break;
        }
        if (!engine_.idle()) engine_.abandon();
        submit_rest();
        last_report_.reset();
        report();
    }

  private:
    // Rows that do not get on are a computation that does not, too.
    void step() {
        const InPhase computing(Phase::Compute);
        for (Outcome& outcome : engine_.step()) rows_.add(std::move(outcome));
    }
    void submit_rest() {
        const InPhase computing(Phase::Compute);
        rows_.submit_rest();
    }

    // More than can run at once, so that a sequence that ends is replaced at once.
    int wanted() const { return settings_.sequences + std::max(2, settings_.sequences / 8); }
    int asked() const {
        const SchedulerCounters now = engine_.counters().scheduler;
        return now.running + now.waiting;
    }

    void fill() {
        while (asked() < wanted()) {
            const auto range = engine_.idle() ? work_.next() : work_.try_next();
            if (!range) return;
            for (const std::int64_t i : rows_.begin(*range)) engine_.submit(request(i));
        }
    }

    Request request(std::int64_t number) const {
        const Prompt& prompt = prompts_[static_cast<std::size_t>(number)];
        Request request(prompt.settings);
        request.id = number;
        request.prompt = prompt.tokens;
        request.continues = true;
        return request;
    }

    bool out_of_time() {
        if (!work_.stopping()) return false;
        if (!stopping_since_) stopping_since_ = Clock::now();
        return seconds_since(*stopping_since_) >= settings_.grace_s;
    }

    void report() {
        if (last_report_ && seconds_since(*last_report_) < report_interval_s) return;
        last_report_ = Clock::now();
        const EngineCounters now = engine_.counters();
        const auto tokens = static_cast<double>(now.tokens_in + now.tokens_out);
        work_.add_units(tokens - reported_tokens_);
        reported_tokens_ = tokens;
        work_.add_busy(now.busy_seconds - reported_busy_s_);
        reported_busy_s_ = now.busy_seconds;
        std::vector<Gauge> gauges{
            {"in", "tok/s", Gauge::Kind::Rate, static_cast<double>(now.tokens_in)},
            {"out", "tok/s", Gauge::Kind::Rate, static_cast<double>(now.tokens_out)},
            {"batch", "", Gauge::Kind::Sum, static_cast<double>(now.scheduler.generating)},
            {"cache", "%", Gauge::Kind::Mean, 100.0 * now.scheduler.pages_in_use / settings_.pages}};
        if (now.drafted_tokens > 0)
            gauges.push_back(
                {"guesses right", "%", Gauge::Kind::Mean,
                 100.0 * static_cast<double>(now.right_tokens) / static_cast<double>(now.drafted_tokens)});
        work_.set_gauges(std::move(gauges));
    }

    using Clock = std::chrono::steady_clock;

    const std::vector<Prompt>& prompts_;
    Engine& engine_;
    PromptRows& rows_;
    WorkScheduler& work_;
    FeedSettings settings_;
    std::optional<Clock::time_point> last_report_, stopping_since_;
    double reported_tokens_ = 0, reported_busy_s_ = 0;
};

}  // namespace

void feed_prompts(const std::vector<Prompt>& prompts, Engine& engine, PromptRows& rows, WorkScheduler& work,
                  const FeedSettings& settings) {
    PromptFeed(prompts, engine, rows, work, settings).run();
}

}  // namespace voltpile::llm
