// Passes of a draft model on ranks of its own: the model's leader sends them to the draft's leader, which
// runs them over the draft's ranks and sends back the tokens.
//
// Messages to the draft's leader are an order and, behind it, a pass, its draws, or nothing; it answers the
// order to collect. It takes them one after the other, so that a pass on cores is computed while the model's
// leader goes on.
#pragma once

#include <string>
#include <vector>

#include "comm/mpi/outbox.h"
#include "llm/engine/pass.h"
#include "llm/replica/replica.h"

namespace voltpile::llm {

// On the model's leader. The replica, which has a draft link, must outlive it.
class DraftLink final : public PassExecutor {
  public:
    enum class Order : char;  // the first byte of a message

    explicit DraftLink(const Replica& replica);

    int lanes() const override;
    bool feeds() const override;
    void enqueue(const PlannedPass& pass) override;
    void draw(const std::vector<Draw>& draws) override;
    std::vector<DrawnToken> collect() override;  // of draws without top_n

    void end();  // waits for the passes in flight

  private:
    void send(Order order, const std::string& bytes = {});

    const Replica& replica_;
    const Communicator& link_;
    Outbox outbox_;
    std::size_t under_way_ = 0;  // passes
};

// Takes part in the passes of the draft model until end_draft(). Collective over the draft's ranks
// (Replica::helps()). Throws what the passes throw.
void run_draft(Replica& replica);

// Ends run_draft() on the draft's ranks. On the model's leader, once no DraftLink is left; on other ranks,
// and without a draft link, it does nothing.
void end_draft(const Replica& replica);

}  // namespace voltpile::llm
