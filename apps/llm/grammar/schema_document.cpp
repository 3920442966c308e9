#include "llm/grammar/schema_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/error.h"

namespace voltpile::llm {
namespace {

constexpr std::array supported_keywords{"type",
                                        "properties",
                                        "required",
                                        "additionalProperties",
                                        "items",
                                        "prefixItems",
                                        "minItems",
                                        "maxItems",
                                        "minLength",
                                        "maxLength",
                                        "pattern",
                                        "format",
                                        "minimum",
                                        "maximum",
                                        "exclusiveMinimum",
                                        "exclusiveMaximum",
                                        "enum",
                                        "const",
                                        "anyOf",
                                        "oneOf",
                                        "allOf",
                                        "$ref"};
constexpr std::array annotations{"title",    "description", "default",      "examples", "deprecated",
                                 "readOnly", "writeOnly",   "$comment",     "$schema",  "$id",
                                 "$defs",    "definitions", "discriminator"};

bool is_annotation(std::string_view key) {
    return std::ranges::find(annotations, key) != annotations.end();
}

void check_keywords(const SchemaJson& schema, const std::string& pointer) {
    if (schema.is_boolean()) return;
    if (!schema.is_object()) fail_at(pointer, "a schema is an object, true or false");
    for (const auto& [key, value] : schema.items()) {
        if (is_annotation(key) || std::ranges::find(supported_keywords, key) != supported_keywords.end())
            continue;
        // Keywords that demand nothing with these values.
        if (key == "uniqueItems" && value == false) continue;
        if (key == "multipleOf" && value == 1 && schema.value("type", SchemaJson()) == "integer") continue;
        if (key == "minProperties" && value == 0) continue;
        fail_at(pointer, fmt::format("'{}' is not supported", key));
    }
}

int nesting(std::string_view text) {
    int depth = 0, deepest = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"') in_string = !in_string;
        if (in_string && c == '\\') ++i;
        if (in_string) continue;
        if (c == '{' || c == '[') deepest = std::max(deepest, ++depth);
        if (c == '}' || c == ']') --depth;
    }
    return deepest;
}

// "~1" stands for '/' and "~0" for '~'.
std::string unescaped(std::string_view step) {
    std::string text;
    for (std::size_t i = 0; i < step.size(); ++i) {
        if (step[i] == '~' && i + 1 < step.size() && (step[i + 1] == '0' || step[i + 1] == '1'))
            text += step[++i] == '0' ? '~' : '/';
        else
            text += step[i];
    }
    return text;
}

// Both must hold.
SchemaJson both(const SchemaJson& a, const SchemaJson& b) {
    if (a == true || a == b) return b;
    if (b == true) return a;
    if (a == false || b == false) return false;
    return {{"allOf", SchemaJson::array({a, b})}};
}

const SchemaJson& member_or_true(const SchemaJson& object, std::string_view key) {
    static const SchemaJson anything = true;
    const auto found = object.find(key);
    return found == object.end() ? anything : *found;
}

SchemaJson intersection(const SchemaJson& a, const SchemaJson& b) {
    SchemaJson common = SchemaJson::array();
    for (const SchemaJson& each : a)
        if (std::ranges::find(b, each) != b.end()) common.push_back(each);
    return common;
}

std::vector<std::string> common_types(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    std::vector<std::string> common;
    const auto has = [](const std::vector<std::string>& list, std::string_view type) {
        return std::ranges::find(list, type) != list.end();
    };
    for (const std::string& each : a) {
        if (has(b, each) || (each == "integer" && has(b, "number"))) common.push_back(each);
        if (each == "number" && !has(b, "number") && has(b, "integer")) common.emplace_back("integer");
    }
    return common;
}

// The properties that both name, and those that one names and the other demands of all others.
void merge_objects(SchemaJson& into, const SchemaJson& a, const SchemaJson& b) {
    const SchemaJson none = SchemaJson::object();
    const SchemaJson& in_a = a.contains("properties") ? a["properties"] : none;
    const SchemaJson& in_b = b.contains("properties") ? b["properties"] : none;
    const SchemaJson &others_a = member_or_true(a, "additionalProperties"),
                     &others_b = member_or_true(b, "additionalProperties");
    SchemaJson properties = SchemaJson::object();
    for (const auto& [name, schema] : in_a.items())
        properties[name] = both(schema, in_b.contains(name) ? in_b[name] : others_b);
    for (const auto& [name, schema] : in_b.items())
        if (!in_a.contains(name)) properties[name] = both(others_a, schema);
    if (!properties.empty()) into["properties"] = std::move(properties);
    if (a.contains("additionalProperties") || b.contains("additionalProperties"))
        into["additionalProperties"] = both(others_a, others_b);
}

}  // namespace

void fail_at(std::string_view pointer, std::string_view problem) {
    constexpr std::size_t longest = 200;
    throw JobError(fmt::format("JSON schema: #{}{}: {}", pointer.substr(0, longest),
                               pointer.size() > longest ? "..." : "", problem));
}

std::string below(std::string_view pointer, std::string_view key) {
    std::string path(pointer);
    path += '/';
    for (const char c : key) {
        if (c == '~' || c == '/')
            path += c == '~' ? "~0" : "~1";
        else
            path += c;
    }
    return path;
}

SchemaDocument::SchemaDocument(std::string_view text) {
    if (nesting(text) > most_depth)
        throw JobError(fmt::format("JSON schema: more than {} nested values", most_depth));
    try {
        root_ = SchemaJson::parse(text);
    } catch (const nlohmann::json::exception& error) {
        throw JobError(fmt::format("JSON schema: {}", error.what()));
    }
}

const SchemaJson& SchemaDocument::target(const SchemaJson& ref, std::string_view pointer) const {
    if (!ref.is_string()) fail_at(pointer, "'$ref' is not a text");
    const std::string_view path = ref.get_ref<const std::string&>();
    if (path != "#" && !path.starts_with("#/"))
        fail_at(pointer,
                fmt::format("'$ref' to '{}': only references within the schema are supported", path));
    const SchemaJson* at = &root_;
    for (std::size_t begin = 1; begin < path.size();) {
        const std::size_t end = std::min(path.find('/', begin + 1), path.size());
        const std::string step = unescaped(path.substr(begin + 1, end - begin - 1));
        begin = end;
        if (at->is_object() && at->contains(step)) {
            at = &(*at)[step];
            continue;
        }
        const bool number =
            !step.empty() && step.size() < 6 && step.find_first_not_of("0123456789") == step.npos;
        if (!at->is_array() || !number || std::stoul(step) >= at->size())
            fail_at(pointer, fmt::format("'$ref' to '{}': the schema has no such place", path));
        at = &(*at)[std::stoul(step)];
    }
    return *at;
}

bool SchemaDocument::is_reference(const SchemaJson& schema) {
    if (!schema.is_object() || !schema.contains("$ref")) return false;
    return std::ranges::all_of(
        schema.items(), [](const auto& each) { return each.key() == "$ref" || is_annotation(each.key()); });
}

SchemaJson SchemaDocument::flattened(const SchemaJson& schema, const std::string& pointer) {
    return flattened(schema, pointer, 0);
}

SchemaJson SchemaDocument::flattened(const SchemaJson& schema, const std::string& pointer, int depth) {
    check_keywords(schema, pointer);
    if (schema.is_boolean()) return schema;
    if (depth > most_depth) fail_at(pointer, "'$ref' or 'allOf' refers to itself without end");
    SchemaJson flat = SchemaJson::object();
    for (const auto& [key, value] : schema.items())
        if (key != "$ref" && key != "allOf" && !is_annotation(key)) flat[key] = value;
    if (schema.contains("$ref"))
        flat = merged(flattened(target(schema["$ref"], pointer), pointer, depth + 1), flat, pointer);
    if (schema.contains("allOf")) {
        const std::string place = below(pointer, "allOf");
        if (!schema["allOf"].is_array()) fail_at(place, "not a list");
        std::size_t i = 0;
        for (const SchemaJson& part : schema["allOf"]) {
            const std::string part_place = below(place, std::to_string(i++));
            flat = merged(flat, flattened(part, part_place, depth + 1), part_place);
        }
    }
    return flat;
}

SchemaJson SchemaDocument::merged(const SchemaJson& a, const SchemaJson& b, const std::string& pointer) {
    if (--merges_left_ < 0) fail_at(pointer, "the schema has too many parts to merge");
    if (a == false || b == false) return false;
    if (a == true || a.empty()) return b;
    if (b == true || b.empty()) return a;
    SchemaJson result = a;
    for (const auto& [key, value] : b.items()) {
        if (!a.contains(key)) {
            result[key] = value;
            continue;
        }
        const SchemaJson& known = a[key];
        if (known == value) continue;
        if (key == "type")
            result[key] = common_types(types_of(a, pointer), types_of(b, pointer));
        else if (key == "required")
            for (const SchemaJson& name : value) result[key].push_back(name);
        else if (key == "enum")
            result[key] = intersection(known, value);
        else if (key == "const")
            return false;
        else if (key == "items")
            result[key] = both(known, value);
        else if (key.starts_with("min") || key == "exclusiveMinimum")
            result[key] = std::max(known, value);
        else if (key.starts_with("max") || key == "exclusiveMaximum")
            result[key] = std::min(known, value);
        else if (key != "properties" && key != "additionalProperties")
            fail_at(pointer, fmt::format("two different '{}' that must both hold are not supported", key));
    }
    merge_objects(result, a, b);
    return result;
}

std::vector<std::string> types_of(const SchemaJson& schema, std::string_view pointer) {
    static const std::vector<std::string> all{"null",   "boolean", "object", "array",
                                              "number", "integer", "string"};
    if (!schema.contains("type")) return all;
    const SchemaJson& type = schema["type"];
    std::vector<std::string> types;
    for (const SchemaJson& each : type.is_array() ? type : SchemaJson::array({type})) {
        if (!each.is_string() || std::ranges::find(all, each.get<std::string>()) == all.end())
            fail_at(below(pointer, "type"), fmt::format("{} is not a type", each.dump()));
        types.push_back(each.get<std::string>());
    }
    return types;
}

bool has_type(const SchemaJson& value, const std::vector<std::string>& types) {
    const auto listed = [&](std::string_view type) { return std::ranges::find(types, type) != types.end(); };
    switch (value.type()) {
        case SchemaJson::value_t::null:
            return listed("null");
        case SchemaJson::value_t::boolean:
            return listed("boolean");
        case SchemaJson::value_t::object:
            return listed("object");
        case SchemaJson::value_t::array:
            return listed("array");
        case SchemaJson::value_t::string:
            return listed("string");
        case SchemaJson::value_t::number_float:
            return listed("number");
        default:
            return listed("integer") || listed("number");
    }
}

SchemaJson enumerated(const SchemaJson& schema, std::string_view pointer) {
    if (!schema.contains("enum") && !schema.contains("const")) return nullptr;
    SchemaJson values = SchemaJson::array();
    if (schema.contains("enum")) {
        if (!schema["enum"].is_array()) fail_at(below(pointer, "enum"), "not a list");
        values = schema["enum"];
    }
    if (schema.contains("const")) {
        const SchemaJson only = SchemaJson::array({schema["const"]});
        values = schema.contains("enum") ? intersection(values, only) : only;
    }
    SchemaJson typed = SchemaJson::array();
    const std::vector<std::string> types = types_of(schema, pointer);
    for (const SchemaJson& value : values)
        if (has_type(value, types)) typed.push_back(value);
    return typed;
}

bool may_overlap(SchemaDocument& document, const SchemaJson& a, const SchemaJson& b,
                 const std::string& pointer, int depth) {
    constexpr int most_overlap_depth = 4;
    const SchemaJson x = document.flattened(a, pointer), y = document.flattened(b, pointer);
    if (x == false || y == false) return false;
    if (x == true || y == true) return true;
    const SchemaJson values_x = enumerated(x, pointer), values_y = enumerated(y, pointer);
    const std::vector<std::string> types_x = types_of(x, pointer), types_y = types_of(y, pointer);
    const auto any_typed = [](const SchemaJson& values, const std::vector<std::string>& types) {
        return std::ranges::any_of(values, [&](const SchemaJson& value) { return has_type(value, types); });
    };
    if (!values_x.is_null() && !values_y.is_null()) return !intersection(values_x, values_y).empty();
    if (!values_x.is_null()) return any_typed(values_x, types_y);
    if (!values_y.is_null()) return any_typed(values_y, types_x);
    const std::vector<std::string> types = common_types(types_x, types_y);
    if (types.empty()) return false;
    if (types != std::vector<std::string>{"object"} || depth == most_overlap_depth) return true;
    // An object that one demands and the other forbids, or that must satisfy both, which cannot be.
    const auto excludes = [&](const SchemaJson& one, const SchemaJson& other) {
        if (!one.contains("required")) return false;
        const SchemaJson none = SchemaJson::object();
        const SchemaJson& in_one = one.contains("properties") ? one["properties"] : none;
        const SchemaJson& in_other = other.contains("properties") ? other["properties"] : none;
        for (const SchemaJson& each : one["required"]) {
            const auto name = each.get<std::string>();
            const SchemaJson& of_one =
                in_one.contains(name) ? in_one[name] : member_or_true(one, "additionalProperties");
            const SchemaJson& of_other =
                in_other.contains(name) ? in_other[name] : member_or_true(other, "additionalProperties");
            if (!may_overlap(document, of_one, of_other, pointer, depth + 1)) return true;
        }
        return false;
    };
    return !excludes(x, y) && !excludes(y, x);
}

}  // namespace voltpile::llm
