#include "cli/request_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "cli/command.h"
#include "llm/engine/request_fields.h"

namespace voltpile::cli {
namespace {

// Needed because CLI11 reads "-1" as 2^64 - 1.
std::string seed_problem(const std::string& text) {
    std::uint64_t value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
    return whole ? "" : fmt::format("{} is not a whole number from 0 to 2^64 - 1", text);
}

// Reads "TOKEN=BIAS".
std::pair<std::int32_t, float> bias_of(const std::string& name, const std::string& text,
                                       const llm::RequestField& field) {
    const std::size_t sign = text.find('=');
    std::int32_t token = -1;
    double bias = 0;
    if (sign == std::string::npos || !CLI::detail::lexical_cast(text.substr(0, sign), token) || token < 0 ||
        !CLI::detail::lexical_cast(text.substr(sign + 1), bias) ||
        !(bias >= field.least && bias <= field.most))
        throw CLI::ValidationError(
            name, fmt::format("{} is not the number of a token, =, and a number from {} to {}", text,
                              field.least, field.most));
    return {token, static_cast<float>(bias)};
}

// Adds the option of one field; its type decides which.
class FieldOption {
  public:
    FieldOption(CLI::App& command, llm::RequestSettings& settings, const llm::RequestField& field)
        : command_(command),
          settings_(settings),
          field_(field),
          name_((field.name == "max_tokens" ? "-n," : "") + option_name(field.name)),
          help_(field.help) {}

    void add() {
        std::visit([&](auto member) { add(llm::value_of(settings_, member)); }, field_.member);
    }

  private:
    void add(float& value) {
        command_.add_option(name_, value, help_)
            ->check(number_between(field_.least, field_.most))
            ->capture_default_str();
    }
    void add(int& value) {
        CLI::Option* const option = command_.add_option(name_, value, help_)
                                        ->check(CLI::Range(static_cast<std::int64_t>(field_.least),
                                                           static_cast<std::int64_t>(field_.most)));
        if (value >= field_.least && value <= field_.most) option->capture_default_str();
    }
    void add(std::uint64_t& value) { add_seed(command_, value, help_); }
    void add(bool& value) { command_.add_flag(name_, value, help_); }
    void add(std::string& value) { command_.add_option(name_, value, help_)->type_name("TEXT"); }
    void add(std::vector<std::string>& values) {
        command_.add_option(name_, values, help_ + "; may be given several times")
            ->type_name("TEXT")
            ->allow_extra_args(false)
            ->check(CLI::Validator(
                [](const std::string& text) { return std::string(text.empty() ? "the text is empty" : ""); },
                ""));
    }
    void add(std::map<std::int32_t, float>& values) {
        command_
            .add_option_function<std::vector<std::string>>(
                name_,
                [this_name = name_, &values, &field = field_](const std::vector<std::string>& texts) {
                    for (const std::string& text : texts) values.insert(bias_of(this_name, text, field));
                },
                help_ + "; may be given several times")
            ->type_name("TOKEN=BIAS")
            ->allow_extra_args(false);
    }

    CLI::App& command_;
    llm::RequestSettings& settings_;
    const llm::RequestField& field_;
    std::string name_;
    std::string help_;
};

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

void add_request_options(CLI::App& command, llm::RequestSettings& settings,
                         std::span<const std::string_view> without) {
    for (const llm::RequestField& field : llm::kRequestFields)
        // --lora says where an adapter is: add_lora_options().
        if (field.name != "lora" && std::ranges::find(without, field.name) == without.end())
            FieldOption(command, settings, field).add();
}

}  // namespace voltpile::cli
