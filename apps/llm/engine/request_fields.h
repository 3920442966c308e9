// The fields of a request that users can set: one table for command lines, job files, lines of prompts and
// the HTTP API.
#pragma once

#include <array>
#include <limits>
#include <string_view>
#include <variant>

#include "llm/engine/request.h"
#include "llm/ops/ops.h"

namespace voltpile::llm {

struct RequestField {
    using Member =
        std::variant<float SamplingSettings::*, int SamplingSettings::*, std::uint64_t SamplingSettings::*,
                     std::map<std::int32_t, float> SamplingSettings::*, int RequestSettings::*,
                     bool RequestSettings::*, std::string RequestSettings::*,
                     std::vector<std::string> RequestSettings::*>;

    std::string_view name;   // in JSON: "top_p"; the option is --top-p
    std::string_view alias;  // another name in JSON, as other programs call it; empty for none
    std::string_view key;    // of a job file: "sampling.top_p"; empty for none
    Member member;           // its default is the member's
    double least;            // of a number, or of each number in a map
    double most;
    std::string_view help;  // a clause without a period at its end
};

// Returns the member of a request's settings.
template <class Value>
auto& value_of(RequestSettings& settings, Value SamplingSettings::*member) {
    return settings.sampling.*member;
}
template <class Value>
auto& value_of(RequestSettings& settings, Value RequestSettings::*member) {
    return settings.*member;
}

// Bounds of a request's max_tokens, and what commands and jobs take if none is set.
inline constexpr int kLeastNewTokens = 1;
inline constexpr int kMostNewTokens = 1 << 24;
inline constexpr int kUsualNewTokens = 128;

inline constexpr std::array kRequestFields{
    RequestField{"temperature", "", "sampling.temperature", &SamplingSettings::temperature, 0, 100,
                 "0: always take the most probable token"},
    RequestField{"top_k", "", "sampling.top_k", &SamplingSettings::top_k, 0, 1 << 24,
                 "sample from the k most probable tokens; 0: from all"},
    RequestField{"top_p", "", "sampling.top_p", &SamplingSettings::top_p, 0, 1,
                 "sample from the smallest set of tokens whose probabilities add up to this"},
    RequestField{"min_p", "", "sampling.min_p", &SamplingSettings::min_p, 0, 1,
                 "sample from tokens whose probability is at least this fraction of the highest"},
    RequestField{"repetition_penalty", "", "sampling.repetition_penalty",
                 &SamplingSettings::repetition_penalty, 0.01, 100,
                 "divides positive logits of tokens already in the sequence and multiplies negative ones"},
    RequestField{"presence_penalty", "", "sampling.presence_penalty", &SamplingSettings::presence_penalty,
                 -100, 100, "subtracted from the logits of tokens already in the sequence"},
    RequestField{"frequency_penalty", "", "sampling.frequency_penalty", &SamplingSettings::frequency_penalty,
                 -100, 100,
                 "subtracted from the logits of tokens already in the sequence, once for each occurrence"},
    RequestField{"seed", "", "sampling.seed", &SamplingSettings::seed, 0,
                 static_cast<double>(std::numeric_limits<std::int64_t>::max()), "seed of the random draws"},
    RequestField{"logit_bias", "", "", &SamplingSettings::logit_bias, -100, 100,
                 "added to the logits of these tokens"},
    RequestField{"max_tokens", "max_completion_tokens", "generate.max_tokens", &RequestSettings::max_tokens,
                 kLeastNewTokens, kMostNewTokens, "maximum number of tokens generated for a prompt"},
    RequestField{"stop", "", "generate.stop", &RequestSettings::stop, 0, 0,
                 "generation stops before the first of these strings"},
    RequestField{"top_n", "top_logprobs", "generate.top_n", &RequestSettings::top_n, 0, Ops::most_top,
                 "also report this many of the most probable tokens at each position, with their "
                 "log-probabilities"},
    RequestField{"ignore_end", "ignore_eos", "generate.ignore_end", &RequestSettings::ignore_end, 0, 0,
                 "continue after an end-of-sequence token"},
    RequestField{"lora", "", "generate.lora", &RequestSettings::lora, 0, 0,
                 "name of the adapter to use, one of those that the model was started with; empty: none"},
};

// Returns the field with this name or alias; nullptr if there is none.
const RequestField* find_request_field(std::string_view name);

}  // namespace voltpile::llm
