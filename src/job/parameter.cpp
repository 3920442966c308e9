#include "job/parameter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "job/document.h"
#include "job/key_words.h"
#include "job/nearest.h"

namespace voltpile {
namespace {

constexpr std::size_t max_path_steps = 16;  // bounds the recursion through nested tables

bool is_word_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

int component_of(const std::string& name) {
    return name == "x" ? 0 : name == "y" ? 1 : name == "z" ? 2 : -1;
}

// A parameter's name taken apart.
struct Parts {
    std::string key;
    std::vector<int> indices;
    std::string component;  // "x", "y", "z" or nothing
    std::string suffix;     // what follows the key: "[0].x"
};

std::optional<Parts> take_apart(const std::string& text) {
    const auto steps = parse_path(text);
    if (!steps) return std::nullopt;
    Parts parts;
    for (const auto& step : *steps) {
        if (step.index >= 0) {
            if (!parts.component.empty()) return std::nullopt;
            parts.indices.push_back(step.index);
            parts.suffix += fmt::format("[{}]", step.index);
        } else if (!parts.indices.empty()) {
            if (component_of(step.name) < 0 || !parts.component.empty()) return std::nullopt;
            parts.component = step.name;
            parts.suffix += "." + step.name;
        } else {
            parts.key += parts.key.empty() ? step.name : "." + step.name;
        }
    }
    return parts;
}

// Returns the rows whose path is `key` or ends with it. Sweepable rows take precedence over others.
std::vector<const KeySpec*> matches(const std::string& key, const KeyTable& table) {
    std::vector<const KeySpec*> found;
    for (const auto& row : table.rows()) {
        if (is_item_key(row) || has_any_name(row)) continue;
        if (row.path == key) return {&row};
        if (row.path.ends_with("." + key)) found.push_back(&row);
    }
    const auto fixed = [](const KeySpec* row) { return !row->sweepable; };
    if (!std::all_of(found.begin(), found.end(), fixed)) std::erase_if(found, fixed);
    return found;
}

std::vector<std::string> sweepable_paths(const KeyTable& table) {
    std::vector<std::string> paths;
    for (const auto& row : table.rows())
        if (row.sweepable && !has_any_name(row)) paths.push_back(row.path);
    return paths;
}

std::string label_of(const std::string& path) {
    std::string label;
    for (const char c : path) {
        if (c == ']') continue;
        label += is_word_char(c) && c != '-' ? c : '_';
    }
    return label;
}

Resolved select_element(const KeySpec& spec, const Parts& parts, std::size_t length) {
    auto indices = parts.indices;
    if (!parts.component.empty()) {
        if (!spec.spatial)
            return fmt::format("{} is not a vector in space, so it has no .{}", spec.path, parts.component);
        indices.push_back(component_of(parts.component));
    }
    std::size_t whole = length;
    if (std::find(spec.shape.begin(), spec.shape.end(), any_length) == spec.shape.end()) {
        whole = 1;
        for (const int size : spec.shape) whole *= static_cast<std::size_t>(size);
    }
    if (whole == 0) return fmt::format("{} has no elements", spec.path);
    if (indices.size() != spec.shape.size()) {
        const auto what = spec.shape.empty() ? "a single number" : describe_type(spec);
        return fmt::format("{} is {}; write \"{}\"{}", spec.path, what, element_name(spec, 0, whole),
                           spec.shape.empty() ? "" : " for its first element");
    }
    const auto shape = actual_shape(spec.shape, whole);
    std::size_t element = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (indices[i] >= shape[i])
            return fmt::format("{}: index {} is out of range 0 to {}", spec.path, indices[i], shape[i] - 1);
        element = element * static_cast<std::size_t>(shape[i]) + static_cast<std::size_t>(indices[i]);
    }
    const auto path = element_name(spec, element, whole);
    const auto table = table_of(spec.path);
    const auto short_path = table.empty() ? path : path.substr(table.size() + 1);
    return Parameter{&spec, static_cast<int>(element), path, label_of(short_path)};
}

}  // namespace

std::optional<std::vector<PathStep>> parse_path(std::string_view text) {
    std::vector<PathStep> steps;
    std::size_t i = 0;
    while (i < text.size()) {
        if (text[i] == '[') {
            const auto close = text.find(']', i);
            if (steps.empty() || close == std::string_view::npos || close == i + 1 || close > i + 8)
                return std::nullopt;
            int index = 0;
            for (++i; i < close; ++i) {
                if (text[i] < '0' || text[i] > '9') return std::nullopt;
                index = 10 * index + (text[i] - '0');
            }
            steps.push_back({"", index});
            ++i;
            continue;
        }
        if (!steps.empty()) {
            if (text[i] != '.') return std::nullopt;
            ++i;
        }
        const auto begin = i;
        while (i < text.size() && is_word_char(text[i])) ++i;
        if (i == begin) return std::nullopt;
        steps.push_back({std::string(text.substr(begin, i - begin)), -1});
    }
    if (steps.empty() || steps.size() > max_path_steps) return std::nullopt;
    return steps;
}

Resolved resolve_parameter(const std::string& text, const KeyTable& table,
                           const std::function<std::size_t(const KeySpec&)>& length_of) {
    if (const KeySpec* const named = table.key_with_names()) {
        const auto steps = parse_path(text);
        if (!steps || steps->size() != 1 || text.find('-') != std::string::npos ||
            (text[0] >= '0' && text[0] <= '9'))
            return std::string("not a name: write letters, digits and underscores, the first no digit");
        return Parameter{named, 0, text, text};
    }
    auto parts = take_apart(text);
    if (!parts)
        return std::string("not a parameter; write for example \"position[0].x\" or \"integrate.dt\"");

    auto found = matches(parts->key, table);
    if (found.empty() && parts->indices.empty()) {
        // "twin_shift.x": the last word is a component, not a key.
        const auto dot = parts->key.rfind('.');
        if (dot != std::string::npos && component_of(parts->key.substr(dot + 1)) >= 0) {
            parts->component = parts->key.substr(dot + 1);
            parts->suffix = "." + parts->component;
            parts->key.resize(dot);
            found = matches(parts->key, table);
        }
    }
    const auto sweepable = sweepable_paths(table);
    if (found.empty()) {
        auto suggestion = nearest_path(parts->key, sweepable);
        if (suggestion) *suggestion = '"' + *suggestion + parts->suffix + '"';
        return "unknown parameter" + did_you_mean(suggestion);
    }
    if (found.size() > 1) {
        std::vector<std::string> paths;
        for (const auto* row : found) paths.push_back('"' + row->path + parts->suffix + '"');
        return fmt::format("ambiguous: write {}", fmt::join(paths, " or "));
    }
    if (!found[0]->sweepable)
        return fmt::format("{} cannot be swept; these can: {}", found[0]->path, fmt::join(sweepable, ", "));
    return select_element(*found[0], *parts, length_of(*found[0]));
}

}  // namespace voltpile
