#include "plan/cluster_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/one_line.h"
#include "job/nearest.h"
#include "plan/toml_file.h"

namespace voltpile {
namespace {

// Bounds that stop typing errors: no machine has a petabyte of memory.
constexpr double kLeastMemoryGb = 1e-3, kMostMemoryGb = 1e6;
constexpr std::size_t kMostPhraseBytes = 1000, kMostNameBytes = 100;
// Of the newest generation of PCI Express that is specified.
constexpr int kNewestPcie = 7;
constexpr int kMostLanes = 32;

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

std::string ClusterTable::phrase_at(const toml::node& node, std::string_view key,
                                    std::size_t most_bytes) const {
    const auto value = node.value<std::string>();
    if (!value) fail_at(node, fmt::format("{} has the wrong type: it must be a string", key));
    if (value->find_first_not_of(' ') == std::string::npos) fail_at(node, fmt::format("{} is empty", key));
    if (value->size() > most_bytes) fail_at(node, fmt::format("{} is longer than {} bytes", key, most_bytes));
    if (!is_one_line(*value))
        fail_at(node, fmt::format("{} has control characters, which cannot be printed", key));
    return *value;
}

std::string ClusterTable::phrase(std::string_view key) const {
    return phrase_at(node(key), key, kMostPhraseBytes);
}

std::string ClusterTable::name(std::string_view key) const {
    std::string name = phrase_at(node(key), key, kMostNameBytes);
    if (name.find_first_of("/\\") != std::string::npos)
        fail(key, fmt::format("{} = {}: a name cannot have slashes", key, toml_text(name)));
    return name;
}

double ClusterTable::number(std::string_view key, double least, double most) const {
    const auto value = node(key).value<double>();
    if (!value) fail(key, fmt::format("{} has the wrong type: it must be a number", key));
    if (!(*value > 0) || !std::isfinite(*value))
        fail(key, fmt::format("{} = {}: must be finite and greater than 0", key, *value));
    if (*value < least || *value > most)
        fail(key, fmt::format("{} = {}: must be between {} and {}", key, *value, least, most));
    return *value;
}

bool ClusterTable::flag_or(std::string_view key, bool otherwise) const {
    if (!has(key)) return otherwise;
    const auto value = node(key).value_exact<bool>();  // value() would take integers
    if (!value) fail(key, fmt::format("{} has the wrong type: it must be true or false", key));
    return *value;
}

std::int64_t ClusterTable::integer_at(const toml::node& node, std::string_view key) const {
    const auto value = node.is_boolean() ? std::nullopt : node.value<std::int64_t>();
    if (!value) fail_at(node, fmt::format("{} has the wrong type: it must be an integer", key));
    return *value;
}

int ClusterTable::integer(std::string_view key, int least, int most) const {
    const std::int64_t value = integer_at(node(key), key);
    if (value < least || value > most)
        fail(key, fmt::format("{} = {}: must be between {} and {}", key, value, least, most));
    return static_cast<int>(value);
}

std::int64_t ClusterTable::memory_bytes() const {
    return static_cast<std::int64_t>(number("memory_gb", kLeastMemoryGb, kMostMemoryGb) * 1e9);
}

PcieLink ClusterTable::pcie(std::string_view key) const {
    if (!has(key)) return {};
    const std::string value = phrase(key);
    for (int generation = 1; generation <= kNewestPcie; ++generation)
        for (int lanes = 1; lanes <= kMostLanes; lanes *= 2)
            if (value == fmt::format("{}.0 x{}", generation, lanes)) return {generation, lanes};
    fail(key, fmt::format("{} = {}: must be the generation and the lanes of a PCI Express link, such as "
                          "\"3.0 x16\"",
                          key, toml_text(value)));
}

std::vector<std::string> ClusterTable::texts(std::string_view key) const {
    if (!has(key)) return {};
    const toml::array* array = node(key).as_array();
    if (!array) return {phrase(key)};
    std::vector<std::string> out;
    for (const toml::node& element : *array) out.push_back(phrase_at(element, key, kMostPhraseBytes));
    return out;
}

std::vector<int> ClusterTable::integers(std::string_view key, int most) const {
    const toml::array* array = node(key).as_array();
    if (!array) fail(key, fmt::format("{} has the wrong type: it must be an array of integers", key));
    std::vector<int> out;
    for (const toml::node& element : *array) {
        const std::int64_t value = integer_at(element, key);
        if (value < 0 || value > most)
            fail_at(element, fmt::format("{}: {} must be between 0 and {}", key, value, most));
        out.push_back(static_cast<int>(value));
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
