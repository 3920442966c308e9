#include "llm/replica/replica_passes.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "base/phase.h"
#include "comm/mpi/message_tags.h"
#include "llm/engine/measure_pace.h"
#include "llm/replica/draft_link.h"
#include "llm/replica/pass_message.h"

namespace voltpile::llm {
namespace {

// SchedulerSettings::pass_rows, on GPUs unless the plan knows it. A few rows keep cores busy.
constexpr int gpu_pass_rows = 64, host_pass_rows = 16;

// The first byte of the leader's messages names the model, the second says what follows.
constexpr char model_mark = 'M', draft_mark = 'd';
constexpr char pass_mark = 'P', draw_mark = 'D', sum_mark = 'S', end_mark = 'E';

std::vector<SamplingRow> rows_of(const std::vector<Draw>& draws) {
    std::vector<SamplingRow> rows;
    for (const Draw& draw : draws)
        rows.push_back({draw.settings.get(), draw.step, draw.history.get(), draw.top_n, draw.mask.get()});
    return rows;
}

void start_pass(Replica& replica, const PlannedPass& pass) {
    if (!pass.moves.empty()) replica.decoder().move_pages(pass.moves);
    if (pass.draws_later)
        replica.enqueue_logits(pass.batch);
    else
        replica.enqueue(pass.batch, rows_of(pass.draws));
}

std::vector<int> top_n_of(const std::vector<Draw>& draws) {
    std::vector<int> top_n;
    for (const Draw& draw : draws) top_n.push_back(draw.top_n);
    return top_n;
}

// Names the first sum on this rank that was not finite since the last call; empty if there was none.
std::string first_not_finite(Replica& replica) {
    if (!replica.has_layers()) return {};
    try {
        replica.decoder().check(Batch());
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

// Takes part in the passes that the leader sends, until it ends them. On all other ranks.
class Follower {
  public:
    explicit Follower(Replica& replica) : replica_(replica), team_(replica.teams().team()) {}

    void run() {
        for (;;) {
            const Message message = team_.wait_for(kPassTag, patience_of(replica_));
            const InPhase computing(Phase::Compute);
            Replica& named = message.bytes[0] == draft_mark ? *replica_.draft() : replica_;
            if (!follow(named, message.from, message.bytes[1], message.bytes.substr(2))) return;
        }
    }

  private:
    bool follow(Replica& replica, int leader, char mark, const std::string& bytes) {
        switch (mark) {
            case pass_mark:
                order_.begin(replica);
                start_pass(replica, pass_from_bytes(bytes));
                return true;
            case draw_mark:
                replica.draw(rows_of(draws_from_bytes(bytes)));
                return true;
            case sum_mark:
                team_.send(leader, kNotFiniteTag, first_not_finite(replica));
                return true;
            default:
                return false;
        }
    }

    Replica& replica_;
    const Communicator& team_;
    PassOrder order_;
};

}  // namespace

void PassOrder::begin(Replica& replica) {
    if (last_ != nullptr && last_ != &replica) replica.begin_after(*last_);
    last_ = &replica;
}

void PassSender::send(std::string bytes) {
    const auto shared = std::make_shared<const std::string>(std::move(bytes));
    for (int rank = 1; rank < team_.size(); ++rank) outbox_.send(rank, kPassTag, shared);
}

ReplicaPasses::ReplicaPasses(Replica& replica, PassSender& sender, bool draft)
    : replica_(replica), sender_(sender), draft_(draft) {
    if (!replica.leads()) throw std::logic_error("only the leader of a replica plans its passes");
}

std::chrono::microseconds patience_of(const Replica& replica) {
    return replica.stream() != nullptr ? gpu_patience : std::chrono::microseconds(0);
}

int most_lanes(const Replica& replica) {
    return std::min(replica.plan().plan.teams.pipeline, PassRunner::most_under_way);
}

bool ReplicaPasses::feeds() const {
    // On cores enqueue() computes itself, so nothing would be gained.
    return replica_.teams().stages() == 1 && replica_.stream() != nullptr;
}

SchedulerSettings ReplicaPasses::settings() const {
    const ReplicaRequest& request = replica_.request();
    SchedulerSettings settings;
    settings.limits = request.limits();
    settings.pages = replica_.plan().pages;
    settings.host_pages = replica_.plan().host_pages;
    settings.context = request.context;
    settings.sequences = request.sequences;
    if (request.speculate != Speculate::Off) settings.draft_tokens = request.draft_tokens;
    settings.rows_to_cut = replica_.plan().rows_to_cut;
    const int planned_rows = replica_.plan().pass_rows;
    settings.pass_rows = replica_.stream() == nullptr ? host_pass_rows
                         : planned_rows > 0           ? planned_rows
                                                      : gpu_pass_rows;
    return settings;
}

SchedulerSettings ReplicaPasses::measured_settings() {
    SchedulerSettings settings = this->settings();
    if (replica_.stream() != nullptr) settings.pace = measure_pace(*this, settings.limits, settings.pages);
    if (settings.draft_tokens > 0)
        settings.draft_pace = measure_draft_pace(*this, settings.limits, settings.pages,
                                                 settings.sequences + replica_.request().guess_rows());
    return settings;
}

void ReplicaPasses::send(char mark, const std::string& bytes) {
    if (!sender_.alone()) sender_.send(std::string{draft_ ? draft_mark : model_mark, mark} + bytes);
}

void ReplicaPasses::enqueue(const PlannedPass& pass) {
    if (!sender_.alone()) send(pass_mark, to_bytes(pass));
    top_n_.push_back(top_n_of(pass.draws));
    sender_.order().begin(replica_);
    start_pass(replica_, pass);
}

void ReplicaPasses::draw(const std::vector<Draw>& draws) {
    if (!sender_.alone()) send(draw_mark, to_bytes(draws));
    top_n_.back() = top_n_of(draws);
    replica_.draw(rows_of(draws));
}

std::vector<DrawnToken> ReplicaPasses::collect() {
    Draws draws = replica_.collect();
    top_ = std::move(draws.top);
    for (std::size_t i = 0; i < top_.size(); ++i) {
        const auto wanted = static_cast<std::size_t>(top_n_.front()[i]);
        top_[i].token.resize(wanted);
        top_[i].log_probability.resize(wanted);
    }
    top_n_.pop_front();
    asked_ = asked_ahead_ > 0;
    if (asked_) --asked_ahead_;
    return std::move(draws.tokens);
}

std::vector<TopTokens> ReplicaPasses::top() {
    return std::exchange(top_, {});
}

std::string ReplicaPasses::why_no_numbers() {
    if (!asked_) ask_for_not_finite();
    return not_finite_.empty() ? PassExecutor::why_no_numbers() : not_finite_;
}

// Asks each rank for its first sum that was not finite in its passes so far; the ranks then forget it.
void ReplicaPasses::ask_for_not_finite() {
    const Communicator& team = sender_.team();
    send(sum_mark);
    std::vector<std::string> sums(static_cast<std::size_t>(team.size()));
    sums.front() = first_not_finite(replica_);
    for (int rank = 1; rank < team.size(); ++rank) {
        Message answer = team.wait_for(kNotFiniteTag);
        sums[static_cast<std::size_t>(answer.from)] = std::move(answer.bytes);
    }
    const auto first = std::ranges::find_if(sums, [](const std::string& each) { return !each.empty(); });
    not_finite_ = first != sums.end() ? *first : std::string();
    asked_ = true;
    asked_ahead_ = top_n_.size();
}

void ReplicaPasses::end() {
    while (!top_n_.empty()) collect();
}

void run_passes_with_draft(Replica& replica,
                           const std::function<void(ReplicaPasses&, PassExecutor* draft)>& lead) {
    if (!replica.leads()) return Follower(replica).run();
    PassSender sender(replica.teams().team());
    ReplicaPasses passes(replica, sender, false);
    std::optional<ReplicaPasses> draft;   // on these ranks
    std::optional<DraftLink> draft_link;  // on its own
    if (replica.draft_link() != nullptr)
        draft_link.emplace(replica);
    else if (replica.draft() != nullptr)
        draft.emplace(*replica.draft(), sender, true);
    const auto end = [&] {
        passes.end();
        if (draft) draft->end();
        if (draft_link) draft_link->end();
        sender.send({model_mark, end_mark});
        sender.drain();
    };
    try {
        PassExecutor* const guesses = draft ? static_cast<PassExecutor*>(&*draft) : nullptr;
        lead(passes, draft_link ? &*draft_link : guesses);
    } catch (const LeaderError&) {
        end();
        throw;
    }
    end();
}

void run_passes(Replica& replica, const std::function<void(ReplicaPasses&)>& lead) {
    run_passes_with_draft(replica, [&](ReplicaPasses& passes, PassExecutor* /*draft*/) { lead(passes); });
}

}  // namespace voltpile::llm
