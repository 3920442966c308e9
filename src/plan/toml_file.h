// The TOML files of src/plan: machine descriptions and calibrations.
#pragma once

#include <string>

#include <toml++/toml.h>

namespace voltpile {

// Reads a file of at most 1 MiB. what: "a machine description", for the message about a larger one. Throws
// JobError.
std::string toml_file_text(const std::string& path, const char* what);

// Throws JobError `path:line:column: message`.
toml::table parse_toml(const std::string& text, const std::string& path);

// Returns a string of TOML, in quotation marks. Control characters become escape sequences.
std::string toml_text(const std::string& text);

}  // namespace voltpile
