#include "llm/session/text_stream.h"

#include <exception>
#include <utility>

#include "llm/replica/replica_passes.h"

namespace voltpile::llm {

Outcome TextStream::write(Request request, OnDelta on_delta) {
    request.first_draw = drawn_;
    if (std::ssize(request.prompt) + request.max_tokens > context_) request.max_tokens = 0;
    engine_.submit(std::move(request), std::move(on_delta));
    std::vector<Outcome> answered;
    while (answered.empty()) answered = engine_.step();
    Outcome& outcome = answered.front();
    if (outcome.thrown) std::rethrow_exception(outcome.thrown);
    if (outcome.finish == Finish::Failed) throw LeaderError(ExitCode::Failed, outcome.error);
    drawn_ += static_cast<std::int32_t>(outcome.token_seconds.size());
    return std::move(outcome);
}

}  // namespace voltpile::llm
