#include "llm/bench/load_run.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/seconds_since.h"
#include "llm/replica/replica_passes.h"

namespace voltpile::llm {
namespace {

using Clock = std::chrono::steady_clock;

class LoadRun {
  public:
    LoadRun(Engine& engine, const LoadSettings& settings, int vocabulary, int sequences, int pages)
        : engine_(engine),
          settings_(settings),
          sequences_(sequences),
          pages_(pages),
          load_(make_load(settings, vocabulary)),
          interrupts_(settings.interrupt_prompt > 0) {
        if (interrupts_) interruption_ = make_interruption(settings, vocabulary);
    }

    LoadResult run(const std::function<void(const EngineCounters&)>& progress) {
        begin_ = Clock::now();
        while (next_ < load_.size() || !engine_.idle()) {
            submit_arrived();
            if (engine_.idle()) {
                std::this_thread::sleep_for(std::chrono::duration<double>(
                    std::max(0.0, load_[next_].seconds - seconds_since(begin_))));
                continue;
            }
            for (const Outcome& outcome : engine_.step()) take(outcome);
            progress(engine_.counters());
            interrupt();
        }
        return result();
    }

  private:
    void submit_arrived() {
        for (; next_ < load_.size() && load_[next_].seconds <= seconds_since(begin_); ++next_) {
            submitted_.push_back(seconds_since(begin_));
            engine_.submit(load_[next_].request);
        }
    }

    // Submits the interruption once all others have generated together for a quarter of the shortest
    // sequence.
    void interrupt() {
        if (!interrupts_ || result_.interrupted_at_s > 0 || next_ < load_.size()) return;
        const EngineCounters now = engine_.counters();
        if (now.scheduler.waiting > 0 || now.scheduler.generating < now.scheduler.running) return;
        if (result_.all_generate_at_s == 0) {
            result_.all_generate_at_s = seconds_since(begin_);
            tokens_then_ = now.tokens_out;
        }
        if (now.tokens_out - tokens_then_ <
            static_cast<std::int64_t>(now.scheduler.running) * settings_.generate.least / 4)
            return;
        result_.interrupted_at_s = seconds_since(begin_);
        engine_.submit(interruption_);
    }

    void take(const Outcome& outcome) {
        if (outcome.finish == Finish::Failed) throw LeaderError(ExitCode::Failed, outcome.error);
        if (outcome.id < 0) {
            result_.interruption_s = outcome.token_seconds.front();
            return;
        }
        const auto id = static_cast<std::size_t>(outcome.id);
        RequestTimes& request = result_.requests.emplace_back();
        request.id = outcome.id;
        // Counts from the arrival, not from when the engine was free to accept the request.
        request.arrival_s = load_[id].seconds;
        request.queued_s = outcome.queue_seconds + submitted_[id] - load_[id].seconds;
        for (const double seconds : outcome.token_seconds)
            request.tokens_s.push_back(submitted_[id] + seconds);
        request.tokens_in = outcome.prompt_tokens;
        request.tokens_out = std::ssize(outcome.tokens);
    }

    LoadResult result() {
        const EngineCounters now = engine_.counters();
        result_.seconds = seconds_since(begin_) - load_.front().seconds;
        summarize(result_);
        EngineLoad& engine = result_.engine.emplace();
        std::vector<double> queued;
        for (const RequestTimes& request : result_.requests) queued.push_back(request.queued_s);
        engine.queue_s = quantiles_of(std::move(queued));
        engine.passes = now.passes;
        const auto passes = static_cast<double>(now.passes);
        engine.mean_batch = static_cast<double>(now.sequences) / passes;
        engine.largest_batch = now.largest_batch;
        engine.cache_share = now.page_passes / passes / pages_;
        engine.busy_share = now.busy_seconds / result_.seconds;
        engine.preemptions = now.scheduler.preemptions;
        engine.drafted_tokens = now.drafted_tokens;
        engine.right_tokens = now.right_tokens;
        engine.sequences = sequences_;
        engine.cache_tokens = pages_ * kv_page_tokens;
        if (result_.interrupted_at_s > 0) {
            result_.before_s =
                between_tokens(result_.requests, result_.all_generate_at_s, result_.interrupted_at_s);
            result_.during_s = between_tokens(result_.requests, result_.interrupted_at_s,
                                              result_.interrupted_at_s + result_.interruption_s);
        }
        return result_;
    }

    Engine& engine_;
    const LoadSettings& settings_;
    int sequences_, pages_;
    std::vector<Arrival> load_;
    bool interrupts_;
    Request interruption_;
    Clock::time_point begin_;
    std::size_t next_ = 0;
    std::vector<double> submitted_;  // by request
    std::int64_t tokens_then_ = 0;
    LoadResult result_;
};

}  // namespace

LoadResult run_load(Engine& engine, const LoadSettings& settings, int vocabulary, int sequences, int pages,
                    const std::function<void(const EngineCounters&)>& progress) {
    return LoadRun(engine, settings, vocabulary, sequences, pages).run(progress);
}

}  // namespace voltpile::llm
