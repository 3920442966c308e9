#include "llm/engine/measure_pace.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>

#include "base/seconds_since.h"
#include "llm/decoder/batch_builder.h"

namespace voltpile::llm {
namespace {

// Twice the rows are worth measuring if they take at most this share of the time each.
constexpr double worthwhile = 0.95;
constexpr int kMostRows = 512;  // prompts beside generating sequences get no more

class PaceMeasurement {
  public:
    PaceMeasurement(PassExecutor& executor, const BatchLimits& limits, int pages)
        : executor_(executor),
          limits_(limits),
          pages_(pages),
          most_rows_(static_cast<int>(std::min<std::int64_t>(
              {kMostRows, limits.rows, std::int64_t{kv_page_tokens} * pages,
               std::int64_t{kv_page_tokens} * limits.pages_per_sequence * limits.sequences}))),
          most_sequences_(std::min({limits.rows, limits.sequences, limits.logits, pages})) {
        for (int rows = 1; rows <= most_sequences_; rows = shapes_.back() + 1)
            shapes_.push_back(std::min(step_shape(rows, 1, limits).rows, most_sequences_));
        std::ranges::reverse(shapes_);  // the largest first, which wakes up an idle processor
    }

    PassPace pace() {
        run_twice(prompts(most_rows_));  // loads kernels and allocates what passes need
        std::vector<PassPace::Measured> measured;
        for (const int rows : shapes_) measured.push_back({rows, seconds_of(decode_step(rows, 0))});
        std::ranges::reverse(measured);
        const double enough = mixed_slowdown * measured.back().seconds;
        // Shapes as if each row were a sequence of its own.
        const BatchLimits wide{limits_.rows, limits_.rows, limits_.pages_per_sequence, limits_.rows};
        while (measured.back().rows < most_rows_ && measured.back().seconds <= enough) {
            const int rows = std::min(step_shape(measured.back().rows + 1, 1, wide).rows, most_rows_);
            measured.push_back({rows, seconds_of(prompts(rows))});
        }
        return PassPace(std::move(measured));
    }

    PassPace draft_pace(int most_rows) {
        const int most = std::min({most_rows, most_rows_, limits_.logits, longest_piece()});
        std::vector<PassPace::Measured> measured;
        for (int rows = 1;; rows = std::min(2 * rows, most)) {
            const PlannedPass pass = guesses(rows);
            if (measured.empty()) run_twice(pass);
            measured.push_back({rows, executor_.feeds() ? seconds_of(pass) : least_seconds_of(pass)});
            if (rows == most) break;
            if (measured.size() < 2) continue;
            const auto per_row = [](const PassPace::Measured& each) { return each.seconds / each.rows; };
            if (per_row(measured.back()) > worthwhile * per_row(measured[measured.size() - 2])) break;
        }
        return PassPace(std::move(measured));
    }

    // Runs decode steps at longer contexts, after pace(). A sequence at position p has the first page again
    // and again before p, and a page of its own for p.
    void meet_contexts(double until_s) {
        if (most_rows_ < kv_page_tokens) return;  // pace() has not filled the first page
        for (int position = step_shape(1, 1, limits_).context;
             pages_for(position + 1) <= limits_.pages_per_sequence; position *= 2) {
            if (seconds_since(begin_) > until_s) return;
            for (const int rows : shapes_)
                if (rows < pages_) run_twice(decode_step(rows, position));
        }
    }

  private:
    // position: a multiple of a page's tokens.
    PlannedPass decode_step(int rows, int position) const {
        BatchBuilder builder;
        std::vector<std::int32_t> own(static_cast<std::size_t>(pages_for(position + 1)), 0);
        for (int i = 0; i < rows; ++i) {
            own.back() = pages_ - 1 - i;
            builder.add(own, token_, position, WantLogits::Last);
        }
        const auto greedy = std::make_shared<const SamplingSettings>();
        return {0, builder.take(),
                std::vector<Draw>(static_cast<std::size_t>(rows), {greedy, 0, nullptr, 0})};
    }

    int longest_piece() const { return limits_.pages_per_sequence * kv_page_tokens; }
    // A prefill of this many rows, in as few sequences as hold them.
    PlannedPass prompts(int rows) const {
        BatchBuilder builder;
        std::vector<std::int32_t> own(static_cast<std::size_t>(pages_for(rows)));
        std::iota(own.begin(), own.end(), 0);
        for (int begin = 0; begin < rows; begin += longest_piece()) {
            const std::vector<std::int32_t> tokens(
                static_cast<std::size_t>(std::min(rows - begin, longest_piece())), token_.front());
            builder.add(std::span(own).subspan(static_cast<std::size_t>(begin / kv_page_tokens)), tokens, 0,
                        WantLogits::None);
        }
        return {0, builder.take(), {}};
    }

    // The next rows of one sequence, each with logits.
    PlannedPass guesses(int rows) const {
        BatchBuilder builder;
        std::vector<std::int32_t> own(static_cast<std::size_t>(pages_for(rows)));
        std::iota(own.begin(), own.end(), 0);
        builder.add(own, std::vector(static_cast<std::size_t>(rows), token_.front()), 0, WantLogits::All);
        SamplingSettings settings;
        settings.temperature = 1;  // takes longer than the most probable token
        const auto sampled = std::make_shared<const SamplingSettings>(settings);
        return {0, builder.take(),
                std::vector<Draw>(static_cast<std::size_t>(rows), {sampled, 0, nullptr, 0})};
    }

    // Runs a pass twice, with both in flight where an engine would do so.
    void run_twice(const PlannedPass& pass) {
        executor_.enqueue(pass);
        if (!executor_.feeds()) executor_.collect();
        executor_.enqueue(pass);
        if (executor_.feeds()) executor_.collect();
        executor_.collect();
    }
    double seconds_of(const PlannedPass& pass) {
        run_twice(pass);  // the first runs call by call, the second is recorded
        const auto begin = std::chrono::steady_clock::now();
        run_twice(pass);
        return seconds_since(begin) / 2;
    }

    // The time of the fastest of two passes or, if they are short, more: on cores other programs disturb
    // passes.
    double least_seconds_of(const PlannedPass& pass) {
        constexpr int least_passes = 2, most_passes = 20;
        constexpr double enough_s = 0.03;
        const auto first = std::chrono::steady_clock::now();
        double least = std::numeric_limits<double>::infinity();
        for (int i = 0; i < most_passes && (i < least_passes || seconds_since(first) < enough_s); ++i) {
            const auto begin = std::chrono::steady_clock::now();
            executor_.enqueue(pass);
            executor_.collect();
            least = std::min(least, seconds_since(begin));
        }
        return least;
    }

    PassExecutor& executor_;
    BatchLimits limits_;
    int pages_;
    int most_rows_;            // in a pass
    int most_sequences_;       // in a decode step
    std::vector<int> shapes_;  // numbers of sequences in a decode step, descending
    std::vector<std::int32_t> token_{0};
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

PassPace measure_pace(PassExecutor& executor, const BatchLimits& limits, int pages, double contexts_until_s) {
    PaceMeasurement measurement(executor, limits, pages);
    PassPace pace = measurement.pace();
    measurement.meet_contexts(contexts_until_s);
    return pace;
}

PassPace measure_draft_pace(PassExecutor& executor, const BatchLimits& limits, int pages, int most_rows) {
    return PaceMeasurement(executor, limits, pages).draft_pace(most_rows);
}

}  // namespace voltpile::llm
