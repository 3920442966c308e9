#include "nbody/table_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "job/key_words.h"
#include "job/parameter.h"
#include "nbody/keys.h"
#include "nbody/parameter_table.h"

namespace voltpile::nbody {

TableColumns::TableColumns(const JobSpec& job) : job_(job), keys_(nbody_schema()) {}

void TableColumns::add(const std::string& name, const std::string& place) {
    const auto length_of = [this](const KeySpec& spec) -> std::size_t {
        return spec.type == ValueType::Integer ? job_.integers(spec.path).size()
                                               : job_.reals(spec.path).size();
    };
    const Resolved resolved = resolve_parameter(name, keys_, length_of);
    if (const auto* const why = std::get_if<std::string>(&resolved))
        throw JobError(fmt::format("{}: column \"{}\": {}", place, name, *why));
    const auto& parameter = std::get<Parameter>(resolved);
    add(parameter.spec->path, parameter.element, parameter.path, place);
}

bool TableColumns::add_all(const std::string& key, const std::vector<std::uint64_t>& shape,
                           const std::string& place) {
    for (const ParameterKey& parameter : parameter_keys()) {
        const KeySpec& spec = parameter.spec;
        if (spec.shape.empty() || (spec.path != key && spec.path != "system." + key)) continue;
        const std::size_t length = job_.reals(spec.path).size();
        const std::vector<int> expected = actual_shape(spec.shape, length);
        if (!std::ranges::equal(expected, shape,
                                [](int a, std::uint64_t b) { return static_cast<std::uint64_t>(a) == b; }))
            return false;
        for (std::size_t i = 0; i < length; ++i)
            add(spec.path, static_cast<int>(i), element_name(spec, i, length), place);
        return true;
    }
    return false;
}

void TableColumns::add(const std::string& key, int element, const std::string& path,
                       const std::string& place) {
    const int number = number_of(key, element);
    if (std::ranges::find(numbers_, number) != numbers_.end())
        throw JobError(fmt::format("{}: two columns for {}", place, path));
    numbers_.push_back(number);
    specs_.push_back(&find_parameter(key)->spec);
    names_.push_back(path);
}

void TableColumns::check(std::size_t column, double value, const std::function<std::string()>& place) const {
    const KeySpec& spec = *specs_[column];
    if (!in_range(spec.range, value))
        throw JobError(
            fmt::format("{}: {} = {}: {}", place(), names_[column], value, describe_range(spec, value)));
    if (spec.type == ValueType::Integer && value != std::round(value))
        throw JobError(fmt::format("{}: {} = {}: expected an integer", place(), names_[column], value));
}

}  // namespace voltpile::nbody
