#include "llm/chat/jinja/json_value.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "llm/chat/jinja/limits.h"

namespace voltpile::llm::jinja {

namespace {

using nlohmann::ordered_json;

Value converted_json(const ordered_json& json, int depth) {
    if (depth > kMostValueDepth) throw JobError("JSON is nested too deeply");
    switch (json.type()) {
        case ordered_json::value_t::boolean:
            return json.get<bool>();
        case ordered_json::value_t::number_integer:
            return json.get<std::int64_t>();
        case ordered_json::value_t::number_unsigned: {
            const auto number = json.get<std::uint64_t>();
            const bool fits = number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
            return fits ? Value(number) : Value(static_cast<double>(number));
        }
        case ordered_json::value_t::number_float:
            return json.get<double>();
        case ordered_json::value_t::string:
            return json.get_ref<const std::string&>();
        case ordered_json::value_t::array: {
            Values items;
            for (const ordered_json& item : json) items.push_back(converted_json(item, depth + 1));
            return Value::list(std::move(items));
        }
        case ordered_json::value_t::object: {
            Entries entries;
            for (const auto& [key, value] : json.items())
                entries.emplace_back(key, converted_json(value, depth + 1));
            return Value::map(std::move(entries));
        }
        default:
            return {};
    }
}

}  // namespace

Value value_from_json(const ordered_json& json) {
    return converted_json(json, 1);
}

}  // namespace voltpile::llm::jinja
