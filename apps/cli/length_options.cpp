#include "cli/length_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace voltpile::cli {
namespace {

llm::Lengths lengths_of(const std::string& name, const std::string& text) {
    const std::size_t colon = text.find(':');
    llm::Lengths lengths;
    if (!CLI::detail::lexical_cast(text.substr(0, colon), lengths.least) ||
        !CLI::detail::lexical_cast(colon == std::string::npos ? text : text.substr(colon + 1),
                                   lengths.most) ||
        lengths.least < 1 || lengths.most < lengths.least || lengths.most > 1 << 20)
        throw CLI::ValidationError(name,
                                   fmt::format("{} is neither a length nor a range such as 64:512", text));
    return lengths;
}

}  // namespace

CLI::Option* add_length_option(CLI::App& command, const std::string& name, llm::Lengths& lengths,
                               const std::string& help) {
    return command
        .add_option_function<std::string>(
            name, [name, &lengths](const std::string& text) { lengths = lengths_of(name, text); }, help)
        ->type_name("N|A:B");
}

}  // namespace voltpile::cli
