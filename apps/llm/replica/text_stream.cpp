#include "llm/replica/text_stream.h"

#include <utility>

namespace voltpile::llm {
namespace {

EngineSettings engine_settings(const ReplicaPasses& passes, const ModelConfig& config) {
    EngineSettings settings;
    settings.scheduler = passes.settings();
    settings.end_ids = config.eos_ids;
    return settings;
}

}  // namespace

TextStream::TextStream(ReplicaPasses& passes, const ModelConfig& config)
    : engine_(passes, nullptr, engine_settings(passes, config)), context_(passes.settings().context) {}

TextStream::Written TextStream::write(Request request, Engine::OnToken on_token) {
    request.first_draw = drawn_;
    if (std::ssize(request.prompt) + request.max_tokens > context_) request.max_tokens = 0;
    const std::int64_t rows_before = engine_.counters().scheduler.prompt_rows;
    engine_.submit(std::move(request), std::move(on_token));
    std::vector<Outcome> answered;
    while (answered.empty()) answered = engine_.step();
    Outcome& outcome = answered.front();
    if (outcome.finish == Finish::Failed) throw LeaderError(ExitCode::Failed, outcome.error);
    drawn_ += static_cast<std::int32_t>(outcome.token_seconds.size());
    return {std::move(outcome), static_cast<int>(engine_.counters().scheduler.prompt_rows - rows_before)};
}

}  // namespace voltpile::llm
