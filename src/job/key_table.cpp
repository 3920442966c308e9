#include "job/key_table.h"

#include <algorithm>

#include "job/common_keys.h"
#include "job/nearest.h"

namespace voltpile {

KeyTable::KeyTable(const AppSchema& app) : rows_(common_keys()) {
    if (!app.sweeps) std::erase_if(rows_, is_sweep_key);
    rows_.insert(rows_.end(), app.keys.begin(), app.keys.end());
}

const KeySpec* KeyTable::find(std::string_view path) const {
    for (const auto& row : rows_)
        if (row.path == path) return &row;
    return nullptr;
}

bool KeyTable::has_table(std::string_view path) const {
    return std::any_of(rows_.begin(), rows_.end(), [path](const KeySpec& row) {
        return row.path.size() > path.size() && row.path.starts_with(path) && row.path[path.size()] == '.';
    });
}

std::optional<std::string> KeyTable::nearest_key(std::string_view path) const {
    const bool in_sweep = table_of(path) == "sweep";
    std::vector<std::string> candidates;
    for (const auto& row : rows_)
        if (in_sweep || !is_sweep_key(row)) candidates.push_back(row.path);
    return nearest_path(path, candidates);
}

std::optional<std::string> KeyTable::nearest_table(std::string_view path) const {
    std::vector<std::string> candidates;
    for (const auto& row : rows_) {
        const auto table = table_of(row.path);
        if (!table.empty() && (candidates.empty() || candidates.back() != table)) candidates.push_back(table);
    }
    return nearest_word(path, candidates);
}

bool is_sweep_key(const KeySpec& spec) {
    return table_of(spec.path) == "sweep";
}

std::string table_of(std::string_view path) {
    const auto dot = path.rfind('.');
    return std::string(dot == std::string_view::npos ? "" : path.substr(0, dot));
}

}  // namespace voltpile
