// Descriptions of keys and values for messages and help.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "job/key_spec.h"

namespace voltpile {

// Returns the type in words: "a real number", "a list of 3 lists of 3 real numbers", "a list of strings".
std::string describe_type(const KeySpec& spec);

// Returns why a value is out of range: "must be greater than 0", "must be at least 1 and at most 9".
std::string describe_range(const KeySpec& spec, double value);
bool in_range(const ValueRange& range, double value);

// Returns the range for a column of help: "> 0", ">= 1 and <= 9", "finite", or the choices; "" for any value.
std::string short_range(const KeySpec& spec);

// Returns a value in TOML: "0.5", "[0.001, 0.001, 0.001]". shape: KeySpec::shape.
std::string to_toml(const Value& value, const std::vector<int>& shape);

// Returns a number with its unit: "3 kg". Dimensionless numbers have none.
std::string with_unit(double value, const std::string& unit);

// Returns the name of an element, counted in row-major order: "system.position[0].x". length: elements of
// the whole value.
std::string element_name(const KeySpec& spec, std::size_t element, std::size_t length);

// Returns KeySpec::shape for a value of `length` elements, with any_length replaced. At most one dimension is
// of any length.
std::vector<int> actual_shape(const std::vector<int>& shape, std::size_t length);

// Describes a key in one line: "a real number; > 0; unit s; default 2.0; can be swept".
std::string describe_key(const KeySpec& spec);

// Returns the heading of a table's keys in help: "[system]"; "At the top" for "".
std::string describe_table(const std::string& table);

}  // namespace voltpile
