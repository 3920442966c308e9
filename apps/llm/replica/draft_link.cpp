#include "llm/replica/draft_link.h"

#include <memory>
#include <utility>

#include "base/message_bytes.h"
#include "base/phase.h"
#include "comm/mpi/message_tags.h"
#include "llm/replica/pass_message.h"
#include "llm/replica/replica_passes.h"
#include "llm/replica/replica_room.h"

namespace voltpile::llm {

enum class DraftLink::Order : char { Enqueue, Draw, Collect, End };

namespace {

constexpr int model_leader = 0, draft_leader = 1;  // in the link: the draft has the last ranks

std::string to_bytes(const std::vector<DrawnToken>& tokens) {
    MessageWriter to;
    to.list(tokens);
    return to.take();
}

std::vector<DrawnToken> tokens_from_bytes(const std::string& bytes) {
    MessageReader from(bytes, "the draft's tokens");
    auto tokens = from.list<DrawnToken>();
    from.end();
    return tokens;
}

}  // namespace

DraftLink::DraftLink(const Replica& replica)
    : replica_(replica), link_(*replica.draft_link()), outbox_(link_) {}

int DraftLink::lanes() const {
    return most_lanes(*replica_.draft());
}

bool DraftLink::feeds() const {
    const Plan& plan = replica_.draft()->plan().plan;
    return plan.teams.pipeline == 1 && layout_of(plan) == WeightLayout::Gpu;
}

void DraftLink::send(Order order, const std::string& bytes) {
    outbox_.send(draft_leader, kDraftPassTag,
                 std::make_shared<const std::string>(static_cast<char>(order) + bytes));
}

void DraftLink::enqueue(const PlannedPass& pass) {
    send(Order::Enqueue, to_bytes(pass));
    ++under_way_;
}

void DraftLink::draw(const std::vector<Draw>& draws) {
    send(Order::Draw, to_bytes(draws));
}

std::vector<DrawnToken> DraftLink::collect() {
    send(Order::Collect);
    const InPhase waiting(Phase::Transfer);  // the watchdog sees whether the draft's ranks move
    const Message answer = link_.wait_for(kDraftTokensTag, patience_of(replica_));
    --under_way_;
    return tokens_from_bytes(answer.bytes);
}

void DraftLink::end() {
    while (under_way_ > 0) collect();
    outbox_.drain();
}

void run_draft(Replica& replica) {
    Replica& draft = *replica.draft();
    run_passes(draft, [&](ReplicaPasses& passes) {
        const Communicator& link = *replica.draft_link();
        for (;;) {
            const Message message = link.wait_for(kDraftPassTag, patience_of(draft));
            const InPhase computing(Phase::Compute);
            const std::string bytes = message.bytes.substr(1);
            switch (static_cast<DraftLink::Order>(message.bytes[0])) {
                case DraftLink::Order::Enqueue:
                    passes.enqueue(pass_from_bytes(bytes));
                    break;
                case DraftLink::Order::Draw:
                    passes.draw(draws_from_bytes(bytes));
                    break;
                case DraftLink::Order::Collect:
                    link.send(model_leader, kDraftTokensTag, to_bytes(passes.collect()));
                    break;
                case DraftLink::Order::End:
                    return;
            }
        }
    });
}

void end_draft(const Replica& replica) {
    if (replica.draft_link() == nullptr || replica.helps()) return;
    replica.draft_link()->send(draft_leader, kDraftPassTag, {static_cast<char>(DraftLink::Order::End)});
}

}  // namespace voltpile::llm
