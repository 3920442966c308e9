// Options of fields of the tables of settings, by the type of the field.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace voltpile::cli {

// An option that takes a whole number from `least` to `most`.
void add_range_option(CLI::App& command, const std::string& name, int& value, int least, int most,
                      const std::string& help);

// An option that takes on or off; off by default.
void add_on_off_option(CLI::App& command, const std::string& name, bool& on, const std::string& help);

}  // namespace voltpile::cli
