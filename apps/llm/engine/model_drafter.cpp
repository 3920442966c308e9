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
constexpr std::size_t kMostBeginnings = 4096;

}  // namespace

struct ModelDrafter::Call {
    std::span<const Task> tasks;
    std::vector<std::vector<std::int32_t>> guesses;  // of each task
    std::vector<bool> ended;                         // nothing more is guessed for the task
    std::vector<std::size_t> fed;                    // guesses of the task that passes have as rows
};

// A pass before it is enqueued.
struct ModelDrafter::Building {
    PlannedPass pass;
    BatchBuilder builder;
    std::vector<std::int32_t> hidden_rows;
    std::vector<Piece> pieces;
    int rows = 0;
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

// The rows of prediction layers depend on the tokens before the first row and on the adapter too, so only
// sequences with the same ones may share pages.
void ModelDrafter::begin_prediction(const Sequence& sequence, Sequence& cached) {
    if (beginnings_.size() == kMostBeginnings) beginnings_.clear();  // later sequences share no older pages
    const auto [found, is_new] = beginnings_.try_emplace(
        {sequence.adapter, {sequence.tokens.begin(), sequence.tokens.begin() + skipped()}}, next_beginning_);
    next_beginning_ += is_new ? 1 : 0;
    cached.adapter = found->second;
    cached.beginning = PrefixCache::beginning_of(cached.adapter);
}

// Takes over the tokens that the sequence has got since the last call.
ModelDrafter::State& ModelDrafter::follow(const Sequence& sequence) {
    State& state = states_[sequence.id];
    state.used = calls_;
    Sequence& cached = state.cached;
    const bool begins = cached.tokens.empty();
    const auto known = std::min(std::ssize(cached.tokens) + skipped(), std::ssize(sequence.tokens));
    if (begins && settings_.hidden_rows && known < std::ssize(sequence.tokens))
        begin_prediction(sequence, cached);
    state.unknown =
        state.unknown || !std::all_of(sequence.tokens.begin() + (begins ? 0 : known), sequence.tokens.end(),
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

// Adds rows with these tokens to a pass. before: tokens that the sequence has drawn before the draw, if the
// piece draws; guessed: of them, those that the draw depends on.
void ModelDrafter::add(Building& building, Piece piece, const Sequence& sequence,
                       std::span<const std::int32_t> tokens, std::span<const std::int32_t> guessed,
                       int before) {
    static const auto unused = std::make_shared<const SamplingSettings>();
    std::vector<Draw>& draws = building.pass.draws;
    piece.row = building.rows;
    building.builder.add(states_.at(sequence.id).cached.pages, tokens, piece.begin,
                         !piece.draws       ? WantLogits::None
                         : piece.all_logits ? WantLogits::All
                                            : WantLogits::Last);
    if (piece.draws) {
        if (piece.all_logits) draws.insert(draws.end(), tokens.size() - 1, Draw{unused, 0, nullptr});
        piece.draw = draws.size();
        draws.push_back(settings_.tokens.in_draft(draw_after(sequence, guessed, before)));
    }
    building.rows += piece.count;
    building.pieces.push_back(piece);
}

std::vector<ModelDrafter::Piece> ModelDrafter::enqueue(Building building, int layer) {
    if (building.rows == 0) return {};
    building.pass.batch = building.builder.take();
    building.pass.batch.hidden_row = std::move(building.hidden_rows);
    building.pass.batch.prediction_layer = layer;
    ++pass_;
    passes_.enqueue(building.pass);
    return std::move(building.pieces);
}

// Enqueues the first pass, which reads what the cache lacks, the sequences that lack the least first. Returns
// its pieces.
std::vector<ModelDrafter::Piece> ModelDrafter::read(const Call& call) {
    std::vector<State*> states;
    for (const Task& task : call.tasks) states.push_back(&follow(*task.sequence));
    std::vector<std::size_t> order(states.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return states[i]->cached.rows_left(); });

    const BatchLimits& limits = settings_.limits;
    Building building;
    for (const std::size_t i : order) {
        const Task& task = call.tasks[i];
        const Sequence& sequence = *task.sequence;
        Sequence& cached = states[i]->cached;
        if (building.rows == limits.rows || std::ssize(building.pieces) == limits.sequences) break;
        if (states[i]->unknown || cached.rows_left() == 0 || !use_kept_pages(cache_, cached, pass_ + 1))
            continue;
        const int left = cached.rows_left() + settings_.layers - 1;  // the first layer has the most rows
        Piece piece{i, cached.computed, std::min(left, limits.rows - building.rows)};
        piece.draws = piece.count == left;
        const int logits = limits.logits - static_cast<int>(building.pass.draws.size());
        const int further = piece.draws ? std::max(0, task.tokens - settings_.layers) : 0;
        if ((piece.draws && logits == 0) || !make_place(*states[i], piece.begin + piece.count + further))
            continue;
        piece.all_logits = piece.draws && piece.count <= std::min(kFewRows, logits);
        for (int row = piece.begin; settings_.hidden_rows && row < piece.begin + piece.count; ++row)
            building.hidden_rows.push_back(sequence.pages[static_cast<std::size_t>(row / kv_page_tokens)] *
                                               kv_page_tokens +
                                           row % kv_page_tokens);
        add(building, piece, sequence,
            std::span(sequence.tokens)
                .subspan(static_cast<std::size_t>(piece.begin + skipped(0)),
                         static_cast<std::size_t>(piece.count)),
            {}, sequence.drawn);
        cached.computed = std::min(piece.begin + piece.count, static_cast<int>(cached.tokens.size()));
        keep_full_pages(cache_, cached, pass_ + 1);
    }
    return enqueue(std::move(building), 0);
}

// Enqueues pass `number` behind one with these pieces: the rows of the same tokens in the next layer, or
// behind the last layer a row with the last guess. feed: the pass in flight draws it. Returns its pieces.
std::vector<ModelDrafter::Piece> ModelDrafter::write(Call& call, std::span<const Piece> pieces, int number,
                                                     bool feed) {
    const int layer = layer_of(number);
    Building building;
    for (Piece piece : pieces) {
        const Sequence& sequence = *call.tasks[piece.task].sequence;
        std::vector<std::int32_t> guess = call.guesses[piece.task];
        const std::size_t known_guesses = guess.size();
        if (feed && piece.draws) guess.push_back(-1 - static_cast<std::int32_t>(piece.draw));
        int hidden_row = piece.row;
        if (number >= settings_.layers) {
            hidden_row += piece.count - 1;
            piece.begin += piece.count;
            piece.count = 1;
        }
        const auto known = static_cast<int>(sequence.tokens.size());
        const int first = piece.begin + skipped(layer);
        piece.count = std::min(piece.count, known + static_cast<int>(guess.size()) - first);
        if (piece.count < 1) continue;
        std::vector<std::int32_t> tokens;
        for (int i = first; i < first + piece.count; ++i)
            tokens.push_back(i < known ? sequence.tokens[static_cast<std::size_t>(i)]
                                       : guess[static_cast<std::size_t>(i - known)]);
        for (int i = 0; settings_.hidden_rows && i < piece.count; ++i)
            building.hidden_rows.push_back(*settings_.hidden_rows + hidden_row + i);
        std::size_t& fed = call.fed[piece.task];
        fed += piece.draws ? 1 : 0;
        // With `feed`, the draw does not depend on the guesses, but on their number.
        add(building, piece, sequence, tokens,
            feed ? std::span<const std::int32_t>() : std::span(guess).first(known_guesses),
            sequence.drawn + static_cast<int>(fed));
    }
    return enqueue(std::move(building), layer);
}

// Waits for the oldest pass and takes its draws as guesses.
void ModelDrafter::take(Call& call, std::span<const Piece> pieces) {
    const std::vector<DrawnToken> drawn = passes_.collect();
    for (const Piece& each : pieces) {
        if (!each.draws || call.ended[each.task]) continue;
        const std::int32_t token = settings_.tokens.in_vocabulary(drawn.at(each.draw).token);
        std::vector<std::int32_t>& guess = call.guesses[each.task];
        if (knows(token)) guess.push_back(token);
        const std::size_t allowed = allowed_of(*call.tasks[each.task].sequence, guess);
        call.ended[each.task] = !knows(token) || allowed < guess.size() ||
                                std::ranges::find(settings_.end_ids, token) != settings_.end_ids.end();
        guess.resize(allowed);
    }
}

// Keeps the pieces that pass `number` goes on with, and decides which of them draw.
void ModelDrafter::go_on(const Call& call, std::vector<Piece>& pieces, int number) const {
    for (Piece& each : pieces)
        each.draws = each.draws && !call.ended[each.task] && number < call.tasks[each.task].tokens;
    if (number >= settings_.layers) std::erase_if(pieces, [](const Piece& each) { return !each.draws; });
}

std::vector<std::vector<std::int32_t>> ModelDrafter::guess(std::span<const Task> tasks) {
    ++calls_;
    Call call{tasks, std::vector<std::vector<std::int32_t>>(tasks.size()),
              std::vector<bool>(tasks.size(), false), std::vector<std::size_t>(tasks.size(), 0)};
    std::vector<Piece> pieces = read(call);
    for (int number = 1; !pieces.empty(); ++number) {
        std::vector<Piece> next = pieces;
        go_on(call, next, number);
        // Draws that depend on all tokens before them wait for these, and so do passes whose tokens have
        // other numbers than the draws.
        const bool feed =
            passes_.feeds() && settings_.tokens.same() && std::ranges::none_of(next, [&](const Piece& each) {
                return each.draws && tasks[each.task].sequence->needs_all_tokens();
            });
        if (feed) next = write(call, next, number, true);
        take(call, pieces);
        if (!feed) {
            go_on(call, next, number);
            next = write(call, next, number, false);
        }
        pieces = std::move(next);
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
