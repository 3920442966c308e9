#include "llm/session/draft_model.h"

#include <fmt/format.h>

#include "base/error.h"
#include "llm/replica/same_model.h"
#include "llm/tokenizer/same_vocabulary.h"
#include "run/agreement.h"

namespace voltpile::llm {

void check_draft_vocabulary(const LanguageModel& draft, const LanguageModel& model) {
    std::string difference = differing_token(model.tokenizer(), draft.tokenizer());
    const std::size_t ours = normal_tokens(model.tokenizer()), its = normal_tokens(draft.tokenizer());
    if (difference.empty() && ours != its) difference = fmt::format("they have {} and {} tokens", ours, its);
    if (!difference.empty())
        throw JobError(
            fmt::format("{} cannot guess for {}: their vocabularies differ: {}; a draft model needs the "
                        "vocabulary of the model, as smaller models of the same family have",
                        draft.name(), model.name(), difference));
}

std::unique_ptr<LanguageModel> open_draft(const Communicator* world, const ModelChoice& choice,
                                          const LanguageModel& model, ReplicaRequest& request) {
    ModelChoice for_model = choice;
    for_model.guesses_for = &model.source();
    auto draft = world ? LanguageModel::open(*world, for_model) : std::make_unique<LanguageModel>(for_model);
    request.draft = &draft->source();
    if (const EagleHead* const head = eagle_head_of(draft->config())) {
        request.speculate = Speculate::Eagle;
        request.read_layers = head->layers;
        return draft;
    }
    const auto check = [&] {
        check_draft_vocabulary(*draft, model);
        return true;
    };
    if (world)
        agreed(check);
    else
        check();
    request.speculate = Speculate::Draft;
    return draft;
}

void open_prediction_layers(const Communicator* world, const LanguageModel& model, ReplicaRequest& request) {
    if (request.speculate != Speculate::Mtp) return;
    const auto open = [&] { request.draft = &model.prediction_layers(); };
    if (world)
        all_do(*world, open);
    else
        open();
}

}  // namespace voltpile::llm
