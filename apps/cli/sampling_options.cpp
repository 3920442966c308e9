#include "cli/sampling_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "llm/engine/sampling_fields.h"

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
    for (const llm::SamplingField& field : llm::kSamplingFields) {
        std::string name = fmt::format("--{}", field.name);
        std::ranges::replace(name, '_', '-');
        const CLI::Validator range = field.is_integer()
                                         ? CLI::Validator(CLI::Range(static_cast<std::int64_t>(field.least),
                                                                     static_cast<std::int64_t>(field.most)))
                                         : number_between(field.least, field.most);
        std::visit(
            [&](auto member) {
                command.add_option(name, sampling.*member, std::string(field.help))
                    ->check(range)
                    ->capture_default_str();
            },
            field.member);
    }
    add_seed(command, sampling.seed, "seed of the random draws");
}

}  // namespace voltpile::cli
