// The table of all keys in the job files of one app: the common rows, then the app's own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "job/document.h"
#include "job/key_spec.h"

namespace voltpile {

class KeyTable {
  public:
    explicit KeyTable(const AppSchema& app);

    // Adds a row for each name that the document has in a table of numbers with any names, so that they are
    // keys like others: "parameters.sigma" beside "parameters.NAME". Names that have a row are left alone.
    void add_names(const Node& document);

    const std::vector<KeySpec>& rows() const { return rows_; }
    const KeySpec* find(std::string_view path) const;
    // Returns the key with strings whose names a sweep varies; nullptr if sweeps of this app vary numbers.
    const KeySpec* key_with_names() const;
    bool has_table(std::string_view path) const;  // true of "system" if there is a key "system.mass"

    // Return the closest spelling: "integrate.stpes" -> "integrate.steps". Keys of lists of tables
    // are candidates only for paths in them.
    std::optional<std::string> nearest_key(std::string_view path) const;
    std::optional<std::string> nearest_table(std::string_view path) const;

  private:
    std::vector<KeySpec> rows_;
};

// Returns the rows that all apps share: `app`, [[sweep]], [frames], [run] and [cluster].
std::vector<KeySpec> common_keys();

// Returns whether the key stands for all keys of its table: "output.unit.NAME". The value of one for strings
// is a list of strings, each name followed by its value (job/named_texts.h). That of one for real numbers is
// the list of names: each of the numbers has a row of its own (KeyTable::add_names).
bool has_any_name(const KeySpec& spec);

// Returns whether the row belongs to a list of tables. Such rows describe each table, not the job as a whole.
bool is_item_key(const KeySpec& spec);
// Returns whether a path names a list of tables: "sweep", "frames.change".
bool is_table_list(const std::string& path);

// Returns the table of a key: "system" for "system.mass", "" for "app".
std::string table_of(std::string_view path);

}  // namespace voltpile
