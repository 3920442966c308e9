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

// Returns the rows that every app shares: `app`, [[sweep]] (its rows hold for each axis), [run] and
// [cluster].
std::vector<KeySpec> common_keys();

// The rows of [[sweep]] describe one axis each time, so they are no keys of the job as a whole.
bool is_sweep_key(const KeySpec& spec);

// "system" of "system.mass"; "" of "app".
std::string table_of(std::string_view path);

}  // namespace voltpile
