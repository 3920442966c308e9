#include "llm/run/replica_passes.h"

#include <algorithm>
#include <stdexcept>

#include "comm/wait_for_message.h"
#include "llm/engine/measure_pace.h"
#include "llm/run/pass_message.h"

namespace voltpile::llm {
namespace {

constexpr int pass_tag = 2;  // of the team's messages
// What the leader tells: a mark, and what belongs to it.
constexpr char pass_mark = 'P', end_mark = 'E';

std::vector<SamplingRow> rows_of(const PlannedPass& pass) {
    std::vector<SamplingRow> rows;
    for (const Draw& draw : pass.draws)
        rows.push_back({draw.settings.get(), draw.step, draw.history.get(), draw.top_n});
    return rows;
}

}  // namespace

ReplicaPasses::ReplicaPasses(Replica& replica) : replica_(replica), outbox_(replica.teams().team()) {
    if (!replica.leads()) throw std::logic_error("only the leader of a replica plans its passes");
}

int ReplicaPasses::lanes() const {
    return std::min(replica_.teams().stages(), PassRunner::most_under_way);
}

bool ReplicaPasses::feeds() const {
    // On processors enqueue() computes: nothing would be gained.
    return replica_.teams().stages() == 1 && replica_.stream() != nullptr;
}

SchedulerSettings ReplicaPasses::measured_settings() {
    const ReplicaRequest& request = replica_.request();
    SchedulerSettings settings;
    settings.limits = request.limits();
    settings.pages = replica_.plan().pages;
    settings.context = request.context;
    settings.sequences = request.sequences;
    if (replica_.stream() != nullptr) settings.pace = measure_pace(*this, settings.limits, settings.pages);
    return settings;
}

void ReplicaPasses::tell(std::string bytes) {
    const auto shared = std::make_shared<const std::string>(std::move(bytes));
    for (int rank = 1; rank < replica_.teams().team().size(); ++rank) outbox_.send(rank, pass_tag, shared);
}

void ReplicaPasses::enqueue(const PlannedPass& pass) {
    if (replica_.teams().team().size() > 1) tell(pass_mark + to_bytes(pass));
    std::vector<int>& top_n = top_n_.emplace_back();
    for (const Draw& draw : pass.draws) top_n.push_back(draw.top_n);
    replica_.enqueue(pass.batch, rows_of(pass));
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
    return std::move(draws.tokens);
}

std::vector<TopTokens> ReplicaPasses::top() {
    return std::exchange(top_, {});
}

void ReplicaPasses::end() {
    tell(std::string(1, end_mark));
    outbox_.drain();
}

void follow_passes(Replica& replica) {
    for (;;) {
        // A rank that computes on cores has none to spare.
        const auto patience = replica.stream() != nullptr ? gpu_patience : std::chrono::microseconds(0);
        const Message told = wait_for_message(replica.teams().team(), pass_tag, patience);
        if (told.bytes.front() == end_mark) return;
        const PlannedPass pass = pass_from_bytes(told.bytes.substr(1));
        replica.enqueue(pass.batch, rows_of(pass));
    }
}

}  // namespace voltpile::llm
