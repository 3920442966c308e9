#include "llm/replica/sampling_message.h"

namespace voltpile::llm {
namespace {

constexpr auto reals = {&SamplingSettings::temperature,
                        &SamplingSettings::top_p,
                        &SamplingSettings::min_p,
                        &SamplingSettings::repetition_penalty,
                        &SamplingSettings::presence_penalty,
                        &SamplingSettings::frequency_penalty};

}  // namespace

void write(MessageWriter& to, const SamplingSettings& settings) {
    for (const auto real : reals) to.value(settings.*real);
    to.value(settings.top_k);
    to.value(settings.seed);
    to.map(settings.logit_bias);
}

SamplingSettings read_sampling(MessageReader& from) {
    SamplingSettings settings;
    for (const auto real : reals) settings.*real = from.value<float>();
    settings.top_k = from.value<int>();
    settings.seed = from.value<std::uint64_t>();
    settings.logit_bias = from.map<std::int32_t, float>();
    return settings;
}

}  // namespace voltpile::llm
