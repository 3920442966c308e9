#include "llm/session/session.h"

#include <utility>

#include "base/phase.h"

namespace voltpile::llm {

void Session::answer(EngineUse use, const std::function<void(Engine&)>& lead) const {
    run_passes(replica_, [&](ReplicaPasses& passes) {
        EngineSettings settings;
        {
            const InPhase measuring(Phase::Compute);
            const bool guesses = replica_.request().speculate != Speculate::Off;
            settings.scheduler = use.many || guesses ? passes.measured_settings() : passes.settings();
        }
        settings.end_ids = model_.config().eos_ids;
        settings.adapters = model_.adapter_names();
        settings.vocabulary = model_.config().vocab;
        Engine engine(passes, use.text ? &model_.tokenizer() : nullptr, settings);
        lead(engine);
    });
}

void with_session(const MpiSession& mpi, const LanguageModel& model, ReplicaPlan plan,
                  const std::function<void(Session&)>& body, const std::function<void()>& meanwhile) {
    const auto in_session = [&](Replica& replica) {
        Session session(model, replica);
        body(session);
    };
    with_replica(mpi, model.source(), std::move(plan), in_session, meanwhile);
}

}  // namespace voltpile::llm
