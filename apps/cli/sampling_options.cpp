#include "cli/sampling_options.h"

#include <fmt/format.h>

#include <charconv>

namespace voltpile::cli {
namespace {

// CLI11 takes "-1" for 2^64 - 1.
std::string seed_problem(const std::string& text) {
    std::uint64_t value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
    return whole ? "" : fmt::format("{} is no whole number from 0 to 2^64 - 1", text);
}

}  // namespace

CLI::Validator number_between(double low, double high) {
    const auto problem = [low, high](const std::string& text) {
        double value = 0;
        if (CLI::detail::lexical_cast(text, value) && value >= low && value <= high) return std::string();
        return fmt::format("{} is no number from {} to {}", text, low, high);
    };
    return {problem, fmt::format("[{} - {}]", low, high), "number_between"};
}

CLI::Option* add_seed(CLI::App& command, std::uint64_t& seed, const std::string& of) {
    return command.add_option("--seed", seed, of)
        ->check(CLI::Validator(seed_problem, "[0 - 2^64 - 1]", "seed"))
        ->capture_default_str();
}

void add_sampling_options(CLI::App& command, llm::SamplingSettings& sampling) {
    command.add_option("--temperature", sampling.temperature, "0: always the most probable token")
        ->check(number_between(0.0, 100.0))
        ->capture_default_str();
    command.add_option("--top-k", sampling.top_k, "draw from so many tokens; 0: from all")
        ->check(CLI::Range(0, 1 << 24))
        ->capture_default_str();
    command
        .add_option("--top-p", sampling.top_p, "draw from the fewest tokens with this share of probability")
        ->check(number_between(0.0, 1.0))
        ->capture_default_str();
    command
        .add_option("--min-p", sampling.min_p, "draw from tokens above this share of the first's probability")
        ->check(number_between(0.0, 1.0))
        ->capture_default_str();
    command.add_option("--repetition-penalty", sampling.repetition_penalty)
        ->check(number_between(0.01, 100.0))
        ->capture_default_str();
    command.add_option("--presence-penalty", sampling.presence_penalty)
        ->check(number_between(-100.0, 100.0))
        ->capture_default_str();
    command.add_option("--frequency-penalty", sampling.frequency_penalty)
        ->check(number_between(-100.0, 100.0))
        ->capture_default_str();
    add_seed(command, sampling.seed, "of the draws");
}

}  // namespace voltpile::cli
