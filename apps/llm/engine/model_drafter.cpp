#include "llm/engine/model_drafter.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "llm/decoder/batch_builder.h"
#include "llm/engine/guessed_draws.h"
#include "llm/engine/sequence_cache.h"

namespace voltpile::llm {
namespace {

// Pieces of at most this many rows have logits in each row, as recorded passes need: after right guesses the
// cache lacks two tokens, after passes without guesses a few more.
constexpr int kFewRows = 16;

}  // namespace

struct ModelDrafter::Call {
    std::span<const Task> tasks;
    std::vector<std::vector<std::int32_t>> guesses;  // of each task
    std::vector<bool> ended;                         // nothing more is guessed for the task
    std::vector<std::size_t> fed;                    // guesses of the task that passes have as rows
};

ModelDrafter::ModelDrafter(PassExecutor& passes, ModelDrafterSettings settings)
    : passes_(passes), settings_(std::move(settings)), cache_(settings_.pages) {
    const BatchLimits& limits = settings_.limits;
    if (!settings_.pace.known() || std::min({limits.rows, limits.sequences, limits.logits}) < 1 ||
        pages_for(settings_.context) > limits.pages_per_sequence)
        throw std::invalid_argument("inconsistent settings of a draft model");
}

int ModelDrafter::most(const Sequence& sequence, int more) const {
    const auto& biases = sequence.sampling->logit_bias;
    if (!biases.empty() && !knows(biases.rbegin()->first)) return 0;
    if (const auto found = states_.find(sequence.id); found != states_.end() && found->second.unknown)
        return 0;
    // The last guess is not a row of any pass.
    return std::max(0, settings_.context + 1 - static_cast<int>(sequence.tokens.size()) - more);
}

// The rows of a prediction layer depend on the first token and the adapter too, so only sequences with the
// same ones may share pages.
void ModelDrafter::begin_prediction(const Sequence& sequence, Sequence& cached) const {
    cached.adapter =
        static_cast<int>(settings_.vocabulary) * (sequence.adapter + 1) + sequence.tokens.front();
    cached.beginning = PrefixCache::beginning_of(cached.adapter);
}

// Takes over the tokens that the sequence has got since the last call.
ModelDrafter::State& ModelDrafter::follow(const Sequence& sequence) {
    const auto [found, is_new] = states_.try_emplace(sequence.id);
    State& state = found->second;
    state.used = calls_;
    Sequence& cached = state.cached;
    if (is_new && settings_.hidden_rows) begin_prediction(sequence, cached);
    const auto known = static_cast<std::ptrdiff_t>(cached.tokens.size()) + skipped();
    state.unknown = state.unknown || !std::all_of(sequence.tokens.begin() + known, sequence.tokens.end(),
                                                  [this](std::int32_t token) { return knows(token); });
    cached.tokens.insert(cached.tokens.end(), sequence.tokens.begin() + known, sequence.tokens.end());
    for (const std::int32_t token : state.ahead) {
        if (cached.rows_left() < 2 || cached.tokens[static_cast<std::size_t>(cached.computed)] != token)
            break;
        ++cached.computed;
    }
    state.ahead.clear();
    return state;
}

void ModelDrafter::add_hidden_rows(const Sequence& sequence, int begin, int count,
                                   std::vector<std::int32_t>& rows) const {
    if (!settings_.hidden_rows) return;
    for (int position = begin; position < begin + count; ++position)
        rows.push_back(sequence.pages[static_cast<std::size_t>(position / kv_page_tokens)] * kv_page_tokens +
                       position % kv_page_tokens);
}

// Gives a sequence of this call pages for so many tokens. Takes them from sequences that no recent call had.
bool ModelDrafter::make_place(State& state, int tokens) {
    while (!make_room(cache_, state.cached, tokens)) {
        State* oldest = nullptr;
        for (auto& [id, other] : states_)
            if (other.used < calls_ && !other.cached.pages.empty() &&
                (oldest == nullptr || other.used < oldest->used))
                oldest = &other;
        if (oldest == nullptr) return false;
        give_back_pages(cache_, oldest->cached);
        oldest->ahead.clear();
    }
    return true;
}

// Enqueues the pass that reads what the cache lacks, the sequences that lack the least first. Returns those
// that have a draw.
std::vector<ModelDrafter::Writing> ModelDrafter::read(Call& call) {
    std::vector<State*> states;
    for (const Task& task : call.tasks) states.push_back(&follow(*task.sequence));
    std::vector<std::size_t> order(states.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return states[i]->cached.rows_left(); });

    const auto unused = std::make_shared<const SamplingSettings>();
    PlannedPass pass;
    BatchBuilder builder;
    std::vector<std::int32_t> hidden_rows;
    std::vector<Writing> writing;
    int rows = 0, sequences = 0;
    for (const std::size_t i : order) {
        const Task& task = call.tasks[i];
        Sequence& cached = states[i]->cached;
        if (rows == settings_.limits.rows || sequences == settings_.limits.sequences) break;
        if (states[i]->unknown || cached.rows_left() == 0 || !use_kept_pages(cache_, cached, pass_ + 1))
            continue;
        const int piece = std::min(cached.rows_left(), settings_.limits.rows - rows);
        const bool draws = piece == cached.rows_left();
        const int logits = settings_.limits.logits - static_cast<int>(pass.draws.size());
        if ((draws && logits == 0) ||
            !make_place(*states[i], cached.computed + piece + (draws ? task.tokens - 1 : 0)))
            continue;
        const bool all = draws && piece <= std::min(kFewRows, logits);
        builder.add(cached.pages,
                    std::span(cached.tokens)
                        .subspan(static_cast<std::size_t>(cached.computed), static_cast<std::size_t>(piece)),
                    cached.computed,
                    all     ? WantLogits::All
                    : draws ? WantLogits::Last
                            : WantLogits::None);
        add_hidden_rows(*task.sequence, cached.computed, piece, hidden_rows);
        if (all)
            pass.draws.insert(pass.draws.end(), static_cast<std::size_t>(piece - 1),
                              Draw{unused, 0, nullptr});
        if (draws) {
            writing.push_back({i, pass.draws.size()});
            pass.draws.push_back(
                settings_.tokens.in_draft(draw_after(*task.sequence, {}, task.sequence->drawn)));
        }
        cached.computed += piece;
        keep_full_pages(cache_, cached, pass_ + 1);
        rows += piece;
        ++sequences;
    }
    if (rows == 0) return {};
    pass.batch = builder.take();
    pass.batch.hidden_row = std::move(hidden_rows);
    ++pass_;
    passes_.enqueue(pass);
    if (writing.empty()) passes_.collect();
    return writing;
}

// Enqueues a pass with the last guess of each of these sequences. feed: it is drawn by the pass in flight.
std::vector<ModelDrafter::Writing> ModelDrafter::write(Call& call, std::vector<Writing> writing, bool feed) {
    PlannedPass pass;
    BatchBuilder builder;
    std::vector<std::int32_t> hidden_rows;
    for (Writing& each : writing) {
        const Sequence& sequence = *call.tasks[each.task].sequence;
        const std::vector<std::int32_t>& guess = call.guesses[each.task];
        std::size_t& fed = call.fed[each.task];
        const std::int32_t token = feed ? -1 - static_cast<std::int32_t>(each.draw) : guess.back();
        builder.add(states_.at(sequence.id).cached.pages, {&token, 1},
                    static_cast<int>(sequence.tokens.size() + fed) - skipped(), WantLogits::Last);
        if (settings_.hidden_rows)
            hidden_rows.push_back(*settings_.hidden_rows + static_cast<std::int32_t>(each.draw));
        ++fed;
        each.draw = pass.draws.size();
        // With `feed`, the draw does not depend on the guesses, but on their number.
        pass.draws.push_back(
            settings_.tokens.in_draft(draw_after(sequence, feed ? std::span<const std::int32_t>() : guess,
                                                 sequence.drawn + static_cast<int>(fed))));
    }
    pass.batch = builder.take();
    pass.batch.hidden_row = std::move(hidden_rows);
    ++pass_;
    passes_.enqueue(pass);
    return writing;
}

// Waits for the oldest pass and takes its draws as guesses.
void ModelDrafter::take(Call& call, const std::vector<Writing>& writing) {
    const std::vector<DrawnToken> drawn = passes_.collect();
    for (const Writing& each : writing) {
        if (call.ended[each.task]) continue;
        const std::int32_t token = settings_.tokens.in_vocabulary(drawn.at(each.draw).token);
        std::vector<std::int32_t>& guess = call.guesses[each.task];
        if (knows(token)) guess.push_back(token);
        const std::size_t allowed = allowed_of(*call.tasks[each.task].sequence, guess);
        call.ended[each.task] = !knows(token) || allowed < guess.size() ||
                                std::ranges::find(settings_.end_ids, token) != settings_.end_ids.end();
        guess.resize(allowed);
    }
}

std::vector<std::vector<std::int32_t>> ModelDrafter::guess(std::span<const Task> tasks) {
    ++calls_;
    Call call{tasks, std::vector<std::vector<std::int32_t>>(tasks.size()),
              std::vector<bool>(tasks.size(), false), std::vector<std::size_t>(tasks.size(), 0)};
    std::vector<Writing> writing = read(call);
    while (!writing.empty()) {
        std::vector<Writing> next = writing;
        std::erase_if(next, [&](const Writing& each) {
            const Task& task = tasks[each.task];
            return call.ended[each.task] || call.fed[each.task] + 1 >= static_cast<std::size_t>(task.tokens);
        });
        // Draws that depend on all tokens before them wait for these, and so do passes whose tokens have
        // other numbers than the draws.
        const bool feed = passes_.feeds() && settings_.tokens.same() &&
                          std::ranges::none_of(next, [&](const Writing& each) {
                              return tasks[each.task].sequence->needs_all_tokens();
                          });
        if (feed && !next.empty()) next = write(call, std::move(next), true);
        take(call, writing);
        if (!feed) {
            std::erase_if(next, [&](const Writing& each) { return call.ended[each.task]; });
            if (!next.empty()) next = write(call, std::move(next), false);
        }
        writing = std::move(next);
    }
    for (std::size_t i = 0; i < tasks.size() && !settings_.hidden_rows; ++i) {
        const std::vector<std::int32_t>& guess = call.guesses[i];
        const std::size_t kept = std::min(call.fed[i], guess.size());
        states_.at(tasks[i].sequence->id)
            .ahead.assign(guess.begin(), guess.begin() + static_cast<std::ptrdiff_t>(kept));
    }
    return std::move(call.guesses);
}

void ModelDrafter::forget(std::int64_t id) {
    const auto found = states_.find(id);
    if (found == states_.end()) return;
    give_back_pages(cache_, found->second.cached);
    states_.erase(found);
}

}  // namespace voltpile::llm
