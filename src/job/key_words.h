// Rows of the table of keys in words, for messages and help.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "job/key_spec.h"

namespace voltpile {

// "a real number", "a list of 3 lists of 3 real numbers", "a list of texts", ...
std::string describe_type(const KeySpec& spec);

// Why a value is refused: "must be greater than 0", "must be at least 1 and at most 9", "must be finite", ...
std::string describe_range(const KeySpec& spec, double value);
bool in_range(const ValueRange& range, double value);

// As in a column of help: "> 0", "1 to 9", "finite", the choices; "" for anything.
std::string short_range(const KeySpec& spec);

// In TOML: "0.5", "[0.001, 0.001, 0.001]". `shape` as in the row.
std::string to_toml(const Value& value, const std::vector<int>& shape);

// "3 kg"; a pure number's unit is not shown.
std::string with_unit(double value, const std::string& unit);

// "system.position[0].x" of element 0 in row-major order. `length`: number of elements of the whole value.
std::string element_name(const KeySpec& spec, std::size_t element, std::size_t length);

// spec.shape with any_length replaced, for a value of `length` elements.
std::vector<int> actual_shape(const KeySpec& spec, std::size_t length);

}  // namespace voltpile
