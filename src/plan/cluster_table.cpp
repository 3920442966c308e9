#include "plan/cluster_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/error.h"
#include "job/nearest.h"

namespace voltpile {
namespace {

// A bound that stops typing errors: no machine has a petabyte of memory.
constexpr double kMostMemoryGb = 1e6;
// Of the newest generation of PCI Express that is specified.
constexpr int kNewestPcie = 7;

}  // namespace

void ClusterTable::fail_at(const toml::node& node, const std::string& message) const {
    throw JobError(fmt::format("{}:{}: {}", path_, node.source().begin.line, message));
}

void ClusterTable::fail(std::string_view key, const std::string& message) const {
    const toml::node* node = table_.get(key);
    fail_at(node ? *node : table_, message);
}

const toml::node& ClusterTable::node(std::string_view key) const {
    const toml::node* node = table_.get(key);
    if (!node) fail_at(table_, fmt::format("{} is missing", key));
    return *node;
}

void ClusterTable::allow(std::initializer_list<std::string_view> known) const {
    for (const auto& [key, value] : table_) {
        const std::string_view name = key.str();
        if (std::ranges::find(known, name) != known.end()) continue;
        const std::vector<std::string> words(known.begin(), known.end());
        fail_at(value,
                fmt::format("unknown key {}{}", name, did_you_mean(nearest_word(std::string(name), words))));
    }
}

std::string ClusterTable::text(std::string_view key) const {
    const auto value = node(key).value<std::string>();
    if (!value) fail(key, fmt::format("{} has the wrong type: it must be a string", key));
    return *value;
}

double ClusterTable::number(std::string_view key, double most) const {
    const auto value = node(key).value<double>();
    if (!value) fail(key, fmt::format("{} has the wrong type: it must be a number", key));
    if (!(*value > 0) || !std::isfinite(*value))
        fail(key, fmt::format("{} = {}: must be finite and greater than 0", key, *value));
    if (*value > most) fail(key, fmt::format("{} = {}: must be at most {}", key, *value, most));
    return *value;
}

bool ClusterTable::flag_or(std::string_view key, bool otherwise) const {
    if (!has(key)) return otherwise;
    const auto value = node(key).value<bool>();
    if (!value) fail(key, fmt::format("{} has the wrong type: it must be true or false", key));
    return *value;
}

int ClusterTable::integer(std::string_view key, int least, int most) const {
    const auto value = node(key).value<std::int64_t>();
    if (!value) fail(key, fmt::format("{} has the wrong type: it must be an integer", key));
    if (*value < least || *value > most)
        fail(key, fmt::format("{} = {}: must be between {} and {}", key, *value, least, most));
    return static_cast<int>(*value);
}

std::int64_t ClusterTable::memory_bytes() const {
    return static_cast<std::int64_t>(number("memory_gb", kMostMemoryGb) * 1e9);
}

PcieLink ClusterTable::pcie(std::string_view key) const {
    if (!has(key)) return {};
    const std::string value = text(key);
    PcieLink link;
    int minor = 0, end = 0;
    const int read = std::sscanf(value.c_str(), "%d.%d x%d%n", &link.generation, &minor, &link.lanes, &end);
    const bool width = link.lanes > 0 && link.lanes <= 32 && (link.lanes & (link.lanes - 1)) == 0;
    const bool known = link.generation >= 1 && link.generation <= kNewestPcie;
    if (read != 3 || minor != 0 || static_cast<std::size_t>(end) != value.size() || !width || !known)
        fail(key, fmt::format("{} = \"{}\": must be the generation and the lanes of a PCI Express link, such "
                              "as \"3.0 x16\"",
                              key, value));
    return link;
}

std::vector<std::string> ClusterTable::texts(std::string_view key) const {
    if (!has(key)) return {};
    const toml::array* array = node(key).as_array();
    if (!array) return {text(key)};
    std::vector<std::string> out;
    for (const toml::node& element : *array) {
        const auto value = element.value<std::string>();
        if (!value) fail_at(element, fmt::format("{} has the wrong type: it must hold strings", key));
        out.push_back(*value);
    }
    return out;
}

std::vector<int> ClusterTable::integers(std::string_view key, int most) const {
    const toml::array* array = node(key).as_array();
    if (!array) fail(key, fmt::format("{} has the wrong type: it must be an array of integers", key));
    std::vector<int> out;
    for (const toml::node& element : *array) {
        const auto value = element.value<std::int64_t>();
        if (!value) fail_at(element, fmt::format("{} has the wrong type: it must hold integers", key));
        if (*value < 0 || *value > most)
            fail_at(element, fmt::format("{}: {} must be between 0 and {}", key, *value, most));
        out.push_back(static_cast<int>(*value));
    }
    return out;
}

std::vector<ClusterTable> ClusterTable::tables(std::string_view key) const {
    std::vector<ClusterTable> out;
    if (!has(key)) return out;
    const toml::array* array = node(key).as_array();
    if (!array) fail(key, fmt::format("{} must be an array of tables: [[{}]]", key, key));
    for (const toml::node& element : *array) {
        const toml::table* each = element.as_table();
        if (!each) fail_at(element, fmt::format("{} must be an array of tables: [[{}]]", key, key));
        out.emplace_back(*each, path_);
    }
    return out;
}

}  // namespace voltpile
