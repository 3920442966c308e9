// The fields that all requests for generated text share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "llm/engine/request.h"
#include "llm/grammar/tool_format.h"
#include "llm/serve/api_error.h"
#include "llm/serve/field_reader.h"

namespace voltpile::llm {

// What requests are checked against.
struct ServedModel {
    std::string name;                         // as in /v1/models
    std::int64_t vocabulary = 0;              // tokens
    int context = 0;                          // tokens of a sequence, prompt included
    std::int64_t created = 0;                 // Unix time, s
    bool takes_tools = false;                 // its chat template does
    std::optional<ToolFormat> tool_format{};  // how it calls them
    std::vector<std::string> adapters{};      // each is a model of its own in the API
    bool takes_effort = false;                // its chat template takes reasoning_effort
};

// The most answers to one request (n, times the number of prompts).
inline constexpr std::int64_t kMostAnswers = 128;
// The most candidates reported for each token.
inline constexpr std::int64_t kMostTop = 20;

struct GenerationFields {
    RequestSettings settings;
    std::string form_field;  // the field from which settings.grammar comes
    std::vector<std::int32_t> stop_tokens;
    int n = 1;
    bool stream = false;
    bool include_usage = false;            // at the end of a stream
    bool score_prompt = false;             // also the prompt's log probabilities
    std::optional<int> prompt_logprobs{};  // show them with so many candidates
    bool logprobs = false;  // of each token; settings.top_n of them in order of probability as well
};

// Reads model, n, stream, stream_options, stop, seed, logit_bias, ignore_eos, response_format, regex, grammar
// and the sampling fields; accepts those that change nothing. Leaves max_tokens and logprobs to the caller,
// because APIs differ in them. seed: used if the request has none. Throws ApiError: 404 for another model,
// else 400.
GenerationFields read_generation_fields(FieldReader& fields, const ServedModel& model, std::uint64_t seed);

// Returns the refusal of a field from which a grammar comes.
ApiError form_error(const std::string& field, const JobError& error);

// Parts of it, for APIs with other fields. read_sampling_fields() leaves seed and logit_bias to the caller.
// read_model() reads "model", the name of the model or of one of its adapters, and "lora". Returns the
// adapter; empty: none.
std::string read_model(FieldReader& fields, const ServedModel& model);
// The error for a model that is not served.
ApiError unknown_model(const std::string& name, const ServedModel& model);
SamplingSettings read_sampling_fields(FieldReader& fields);

// Returns the settings of one of several answers: each has a seed of its own, the first one that of the
// request.
RequestSettings settings_of_answer(const RequestSettings& settings, int number);

}  // namespace voltpile::llm
