#include "cli/field_options.h"

#include <CLI/CLI.hpp>

namespace voltpile::cli {

void add_range_option(CLI::App& command, const std::string& name, int& value, int least, int most,
                      const std::string& help) {
    command.add_option(name, value, help)->check(CLI::Range(least, most))->capture_default_str();
}

void add_on_off_option(CLI::App& command, const std::string& name, bool& on, const std::string& help) {
    command
        .add_option_function<std::string>(
            name, [&on](const std::string& word) { on = word == "on"; }, help + " [off]")
        ->check(CLI::IsMember({"on", "off"}))
        ->type_name("on|off");
}

}  // namespace voltpile::cli
