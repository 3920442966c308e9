#include "llm/bench/load.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace voltpile::llm {
namespace {

using Random = std::mt19937_64;

int draw(Random& random, int least, int most) {
    return std::uniform_int_distribution(least, most)(random);
}

std::vector<std::int32_t> draw_tokens(Random& random, int count, int vocabulary) {
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
    for (std::int32_t& token : tokens) token = draw(random, 0, vocabulary - 1);
    return tokens;
}

}  // namespace

int LoadSettings::context() const {
    return std::max(prompt.most + generate.most, interrupt_prompt == 0 ? 0 : interrupt_prompt + 1);
}

std::vector<Arrival> make_load(const LoadSettings& settings, int vocabulary) {
    Random random(settings.seed);
    std::vector<Arrival> load(static_cast<std::size_t>(settings.requests));
    double now = 0;
    for (std::size_t i = 0; i < load.size(); ++i) {
        if (settings.rate > 0) now += std::exponential_distribution(settings.rate)(random);
        load[i].seconds = now;
        Request& request = load[i].request;
        request.id = static_cast<std::int64_t>(i);
        const int tokens = draw(random, settings.prompt.least, settings.prompt.most);
        request.max_tokens = draw(random, settings.generate.least, settings.generate.most);
        request.prompt = draw_tokens(random, tokens, vocabulary);
        request.ignore_end = !settings.grammar;
        request.grammar = settings.grammar;
        if (!settings.adapters.empty()) request.lora = settings.adapters[i % settings.adapters.size()];
    }
    const auto prompts = static_cast<std::size_t>(settings.prompts);
    for (std::size_t i = prompts; prompts > 0 && i < load.size(); ++i) {
        load[i].request.prompt = load[i % prompts].request.prompt;
        load[i].request.max_tokens = load[i % prompts].request.max_tokens;
    }
    return load;
}

Request make_interruption(const LoadSettings& settings, int vocabulary) {
    Random random(~settings.seed);
    Request request;
    request.id = -1;
    request.prompt = draw_tokens(random, settings.interrupt_prompt, vocabulary);
    request.max_tokens = 1;
    return request;
}

}  // namespace voltpile::llm
