// The whole table of keys of one app's job files: the common rows, then its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "job/key_spec.h"

namespace voltpile {

class KeyTable {
  public:
    explicit KeyTable(const AppSchema& app);

    const std::vector<KeySpec>& rows() const { return rows_; }
    const KeySpec* find(std::string_view path) const;
    bool has_table(std::string_view path) const;  // "system" if there is a key "system.mass"

    // "integrate.stpes" -> "integrate.steps": of keys that stand in a table or at the top, not of [[sweep]].
    std::optional<std::string> nearest_key(std::string_view path) const;
    std::optional<std::string> nearest_table(std::string_view path) const;

  private:
    std::vector<KeySpec> rows_;
};

// The rows of [[sweep]] describe one axis each time, so they are no keys of the job as a whole.
bool is_sweep_key(const KeySpec& spec);

// "system" of "system.mass"; "" of "app".
std::string table_of(std::string_view path);

// ---- Rows in words, for messages and help
// ---------------------------------------------------------------------------

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
