#include "llm/session/session.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/phase.h"
#include "llm/engine/measure_pace.h"
#include "llm/session/assumed_agreement.h"

namespace voltpile::llm {

ModelDrafterSettings Session::drafter_settings(PassExecutor& draft) const {
    const Replica& replica = *replica_.draft();
    const ModelConfig& config = replica_.request().draft->config();
    ModelDrafterSettings settings;
    settings.limits = replica.request().limits();
    settings.pages = replica.plan().pages;
    settings.context = replica.request().context;
    settings.vocabulary = model_.config().vocab;
    if (const EagleHead* const head = eagle_head_of(config))
        settings.tokens = DraftTokens(head->tokens);
    else
        settings.vocabulary = std::min(settings.vocabulary, config.vocab);
    settings.end_ids = model_.config().eos_ids;
    settings.pace = measure_draft_pace(draft, settings.limits, settings.pages, replica.request().sequences);
    if (config.prediction) {
        settings.hidden_rows = replica_.plan().pages * kv_page_tokens;
        settings.layers = static_cast<int>(config.layers);
    }
    return settings;
}

void Session::answer(EngineUse use, const std::function<void(Engine&)>& lead) const {
    run_passes_with_draft(replica_, [&](ReplicaPasses& passes, PassExecutor* draft) {
        EngineSettings settings;
        std::optional<ModelDrafter> drafter;
        {
            const InPhase measuring(Phase::Compute);
            const bool guesses = replica_.request().speculate != Speculate::Off;
            settings.scheduler = use.many || guesses ? passes.measured_settings() : passes.settings();
            if (draft != nullptr) {
                drafter.emplace(*draft, drafter_settings(*draft));
                settings.scheduler.drafter = &*drafter;
                settings.scheduler.drafts_beside_passes = replica_.draft_link() != nullptr;
            }
        }
        settings.end_ids = model_.config().eos_ids;
        settings.adapters = model_.adapter_names();
        settings.vocabulary = model_.config().vocab;
        std::optional<AssumedAgreement> agreeing;
        if (use.agreement) agreeing.emplace(passes, *use.agreement);
        PassExecutor& executor = agreeing ? static_cast<PassExecutor&>(*agreeing) : passes;
        Engine engine(executor, use.text ? &model_.tokenizer() : nullptr, settings);
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
