#include "cli/sampling_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

namespace voltpile::cli {
namespace {

// Needed because CLI11 reads "-1" as 2^64 - 1.
std::string seed_problem(const std::string& text) {
    std::uint64_t value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
    return whole ? "" : fmt::format("{} is not a whole number from 0 to 2^64 - 1", text);
}

}  // namespace

CLI::Validator number_between(double low, double high) {
    const auto problem = [low, high](const std::string& text) {
        double value = 0;
        if (CLI::detail::lexical_cast(text, value) && value >= low && value <= high) return std::string();
        return fmt::format("{} is not a number from {} to {}", text, low, high);
    };
    return {problem, fmt::format("[{} - {}]", low, high), "number_between"};
}

CLI::Option* add_seed(CLI::App& command, std::uint64_t& seed, const std::string& help) {
    return command.add_option("--seed", seed, help)
        ->check(CLI::Validator(seed_problem, "[0 - 2^64 - 1]", "seed"))
        ->capture_default_str();
}

void add_sampling_options(CLI::App& command, llm::SamplingSettings& sampling) {
    command
        .add_option("--temperature", sampling.temperature,
                    "divides the logits; 0 always takes the most probable token")
        ->check(number_between(0.0, 100.0))
        ->capture_default_str();
    command.add_option("--top-k", sampling.top_k, "draw from this many most probable tokens; 0: from all")
        ->check(CLI::Range(0, 1 << 24))
        ->capture_default_str();
    command
        .add_option("--top-p", sampling.top_p,
                    "draw from the fewest tokens that have this share of the probability")
        ->check(number_between(0.0, 1.0))
        ->capture_default_str();
    command
        .add_option("--min-p", sampling.min_p,
                    "draw from tokens with at least this share of the highest probability")
        ->check(number_between(0.0, 1.0))
        ->capture_default_str();
    command
        .add_option("--repetition-penalty", sampling.repetition_penalty,
                    "divides the positive logits of tokens seen before, multiplies negative ones")
        ->check(number_between(0.01, 100.0))
        ->capture_default_str();
    command
        .add_option("--presence-penalty", sampling.presence_penalty,
                    "subtracted from the logits of tokens seen before")
        ->check(number_between(-100.0, 100.0))
        ->capture_default_str();
    command
        .add_option("--frequency-penalty", sampling.frequency_penalty,
                    "subtracted from a token's logit for each time it was seen before")
        ->check(number_between(-100.0, 100.0))
        ->capture_default_str();
    add_seed(command, sampling.seed, "seed of the random draws");
}

}  // namespace voltpile::cli
