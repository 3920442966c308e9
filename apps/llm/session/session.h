// A model that is ready to answer requests over the ranks of this run: a LanguageModel and its Replica on
// this rank, and the engine on the leader. Commands, jobs, benchmarks and servers all use it.
#pragma once

#include <functional>
#include <optional>

#include "llm/engine/engine.h"
#include "llm/engine/model_drafter.h"
#include "llm/replica/replica_passes.h"
#include "llm/session/language_model.h"

namespace voltpile::llm {

// What requests come to an engine.
struct EngineUse {
    bool many = false;  // many sequences at once: measures the pace of GPUs first, for a second or two
    bool text = true;   // outcomes have text
    std::optional<double> agreement{};  // of the draft model with the model, if it is only assumed
};

class Session {
  public:
    // model, replica: must outlive the session. The ranks of the replica's team each have a session.
    Session(const LanguageModel& model, Replica& replica) : model_(model), replica_(replica) {}

    const LanguageModel& model() const { return model_; }
    Replica& replica() const { return replica_; }

    // Calls `lead` with an engine on the leader of the replica. The other ranks of the team take part in its
    // passes and return when `lead` does. Collective over the team; the engine belongs to this thread.
    // Throws as run_passes() does.
    void answer(EngineUse use, const std::function<void(Engine&)>& lead) const;

  private:
    ModelDrafterSettings drafter_settings(PassExecutor& draft) const;

    const LanguageModel& model_;
    Replica& replica_;
};

// Creates the replica that was planned and calls `body` with a session on every rank of a team; idle ranks
// call `meanwhile`. Collective over the world. Throws as with_replica() does.
void with_session(const MpiSession& mpi, const LanguageModel& model, ReplicaPlan plan,
                  const std::function<void(Session&)>& body, const std::function<void()>& meanwhile = {});

}  // namespace voltpile::llm
