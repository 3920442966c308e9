#include "llm/grammar/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "llm/grammar/code_points.h"
#include "llm/grammar/json_text.h"
#include "llm/grammar/regex.h"
#include "llm/grammar/schema_document.h"
#include "llm/grammar/string_format.h"

namespace voltpile::llm {
namespace {

bool has_any(const SchemaJson& schema, std::initializer_list<std::string_view> keys) {
    return std::ranges::any_of(keys, [&](std::string_view key) { return schema.contains(key); });
}

// Returns a count such as "minLength"; -1 if there is none.
int count_in(const SchemaJson& schema, std::string_view key, const std::string& pointer) {
    if (!schema.contains(key)) return -1;
    const SchemaJson& value = schema[key];
    const bool whole =
        value.is_number_integer() || (value.is_number() && std::floor(value.get<double>()) == value);
    if (!whole || value < 0) fail_at(below(pointer, key), "not a count");
    if (value > 100'000) fail_at(below(pointer, key), "counts above 100000 are not supported");
    return static_cast<int>(value.get<double>());
}

struct CountBounds {
    int least = 0;
    int most = -1;
};

CountBounds bounds_in(const SchemaJson& schema, std::string_view least, std::string_view most,
                      const std::string& pointer) {
    CountBounds bounds{std::max(0, count_in(schema, least, pointer)), count_in(schema, most, pointer)};
    if (bounds.most >= 0 && bounds.most < bounds.least)
        fail_at(pointer, fmt::format("'{}' is above '{}'", least, most));
    return bounds;
}

// A bound of whole numbers. up: the smallest whole number that is not below it, else the largest not above.
std::optional<std::int64_t> integer_bound(const SchemaJson& schema, std::string_view key,
                                          std::string_view exclusive, bool up, const std::string& pointer) {
    std::optional<std::int64_t> bound;
    for (const std::string_view each : {key, exclusive}) {
        if (!schema.contains(each)) continue;
        if (!schema[each].is_number()) fail_at(below(pointer, each), "not a number");
        constexpr double far = 1e18;  // integers of a grammar have fewer digits
        const double value = std::clamp(schema[each].get<double>(), -far, far);
        auto whole = static_cast<std::int64_t>(up ? std::ceil(value) : std::floor(value));
        if (schema[each].is_number_integer() && std::abs(value) < far)
            whole = schema[each].get<std::int64_t>();
        if (each == exclusive && static_cast<double>(whole) == value) whole += up ? 1 : -1;
        bound = !bound ? whole : up ? std::max(*bound, whole) : std::min(*bound, whole);
    }
    return bound;
}

class SchemaCompiler {
  public:
    SchemaCompiler(JsonText& json, std::string_view text, WorkLimit& limit)
        : document_(text), limit_(limit), json_(json) {}

    // Returns the rule of the schema.
    int compile() {
        const int root = rule_of("#", document_.root(), "");
        while (!pending_.empty()) {
            const Pending next = std::move(pending_.back());
            pending_.pop_back();
            ExpressionPtr body = value(*next.schema, next.pointer);
            json_.rules().rules[static_cast<std::size_t>(next.rule)].body = std::move(body);
        }
        return root;
    }

  private:
    struct Pending {
        int rule;
        const SchemaJson* schema;
        std::string pointer;
    };

    // Returns the rule of a schema that is referred to, which is compiled later.
    int rule_of(const std::string& ref, const SchemaJson& schema, const std::string& pointer) {
        const auto known = rule_of_.find(ref);
        if (known != rule_of_.end()) return known->second;
        const int rule = json_.rules().add(ref, choice({}));
        rule_of_.emplace(ref, rule);
        pending_.push_back({rule, &schema, pointer});
        return rule;
    }

    ExpressionPtr value(const SchemaJson& schema, const std::string& pointer) {
        if (SchemaDocument::is_reference(schema)) {
            const SchemaJson& target = document_.target(schema["$ref"], pointer);
            const auto ref = schema["$ref"].get<std::string>();
            return call(rule_of(ref, target, ref.substr(1)));
        }
        const SchemaJson flat = document_.flattened(schema, pointer);
        if (flat == false) return choice({});
        if (flat == true || flat.empty()) return json_.any_value();
        if (flat.contains("anyOf") || flat.contains("oneOf")) return alternatives(flat, pointer);
        if (const SchemaJson values = enumerated(flat, pointer); !values.is_null())
            return one_of(values, flat, pointer);
        std::vector<ExpressionPtr> choices;
        for (const std::string& type : wanted_types(flat, pointer))
            choices.push_back(of_type(type, flat, pointer));
        return choice(std::move(choices));
    }

    // The types of a flattened schema; if it names none, those that its keywords are about.
    static std::vector<std::string> wanted_types(const SchemaJson& schema, const std::string& pointer) {
        if (!schema.contains("type")) {
            if (has_any(schema, {"properties", "required", "additionalProperties"})) return {"object"};
            if (has_any(schema, {"items", "prefixItems", "minItems", "maxItems"})) return {"array"};
            if (has_any(schema, {"minLength", "maxLength", "pattern", "format"})) return {"string"};
            return {"integer"};  // minimum and the like
        }
        std::vector<std::string> types = types_of(schema, pointer);
        if (std::ranges::find(types, "number") != types.end()) std::erase(types, "integer");
        return types;
    }

    ExpressionPtr of_type(const std::string& type, const SchemaJson& schema, const std::string& pointer) {
        if (type == "null") return literal("null");
        if (type == "boolean") return choice({literal("true"), literal("false")});
        if (type == "object") return object(schema, pointer);
        if (type == "array") return array(schema, pointer);
        if (type == "string") return string(schema, pointer);
        if (type == "number") {
            for (const std::string_view key : {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
                if (schema.contains(key))
                    fail_at(pointer, fmt::format("'{}' is supported for integers only", key));
            return JsonText::number();
        }
        return JsonText::integer(integer_bound(schema, "minimum", "exclusiveMinimum", true, pointer),
                                 integer_bound(schema, "maximum", "exclusiveMaximum", false, pointer));
    }

    ExpressionPtr one_of(const SchemaJson& values, const SchemaJson& schema, const std::string& pointer) {
        for (const auto& [key, unused] : schema.items())
            if (key != "enum" && key != "const" && key != "type")
                fail_at(pointer, fmt::format("'{}' beside 'enum' or 'const' is not supported", key));
        if (values.empty()) fail_at(pointer, "'enum' and 'const' allow no value of this type");
        std::vector<ExpressionPtr> choices;
        for (const SchemaJson& each : values)
            choices.push_back(each.is_string() ? json_string(each.get<std::string>()) : literal(each.dump()));
        return choice(std::move(choices));
    }

    ExpressionPtr alternatives(const SchemaJson& schema, const std::string& pointer) {
        if (schema.contains("anyOf") && schema.contains("oneOf"))
            fail_at(pointer, "'anyOf' beside 'oneOf' is not supported");
        const std::string key = schema.contains("anyOf") ? "anyOf" : "oneOf";
        SchemaJson rest = schema;
        rest.erase(key);
        const std::string place = below(pointer, key);
        const SchemaJson& list = schema[key];
        if (!list.is_array() || list.empty()) fail_at(place, "not a list of schemas");
        std::vector<SchemaJson> parts;
        for (const SchemaJson& each : list)
            parts.push_back(rest.empty() ? each : SchemaJson{{"allOf", SchemaJson::array({rest, each})}});
        if (key == "oneOf") check_exclusive(parts, place);
        std::vector<ExpressionPtr> choices;
        for (std::size_t i = 0; i < parts.size(); ++i)
            choices.push_back(value(parts[i], below(place, std::to_string(i))));
        return choice(std::move(choices));
    }

    void check_exclusive(const std::vector<SchemaJson>& parts, const std::string& place) {
        constexpr std::size_t most_parts = 100;
        if (parts.size() > most_parts) fail_at(place, fmt::format("more than {} alternatives", most_parts));
        for (std::size_t i = 0; i < parts.size(); ++i)
            for (std::size_t j = 0; j < i; ++j)
                if (may_overlap(document_, parts[j], parts[i], place))
                    fail_at(place,
                            fmt::format("the alternatives {} and {} may hold at once: use 'anyOf', or a "
                                        "required property with different 'const' values",
                                        j, i));
    }

    ExpressionPtr object(const SchemaJson& schema, const std::string& pointer) {
        const SchemaJson properties = schema.value("properties", SchemaJson::object());
        const std::string place = below(pointer, "properties");
        if (!properties.is_object()) fail_at(place, "not an object");
        const SchemaJson others = schema.value("additionalProperties", SchemaJson(false));
        const std::string others_place = below(pointer, "additionalProperties");
        std::vector<std::string> required;
        if (schema.contains("required"))
            for (const SchemaJson& each : schema["required"]) {
                if (!each.is_string()) fail_at(below(pointer, "required"), "not a list of names");
                required.push_back(each.get<std::string>());
            }
        const auto is_required = [&](const std::string& name) {
            return std::ranges::find(required, name) != required.end();
        };
        std::vector<JsonProperty> members;
        std::vector<ExpressionPtr> keys;
        const auto add = [&](const std::string& name, const SchemaJson& of, const std::string& at) {
            keys.push_back(json_string(name));
            members.push_back({keys.back(), value(of, at), is_required(name)});
        };
        for (const auto& [name, of] : properties.items()) add(name, of, below(place, name));
        for (const std::string& name : required) {
            if (properties.contains(name) || std::ranges::count(required, name) > 1) continue;
            if (schema.contains("additionalProperties") && others == false)
                fail_at(pointer, fmt::format("'{}' is required but not allowed", name));
            add(name, schema.contains("additionalProperties") ? others : SchemaJson(true), others_place);
        }
        if (others == false) return json_.object(members, nullptr, nullptr);
        return json_.object(members, other_key(keys, pointer), value(others, others_place));
    }

    // A string that is none of `keys`.
    ExpressionPtr other_key(const std::vector<ExpressionPtr>& keys, const std::string& pointer) {
        if (keys.empty()) return json_.any_string();
        return within(pointer, [&] {
            const auto any = sequence({literal("\""), JsonText::characters(0, -1), literal("\"")});
            return machine(
                product(to_dfa(*any, limit_), to_dfa(*choice(keys), limit_), DfaProduct::Without, limit_));
        });
    }

    ExpressionPtr array(const SchemaJson& schema, const std::string& pointer) {
        const CountBounds bounds = bounds_in(schema, "minItems", "maxItems", pointer);
        std::vector<ExpressionPtr> first;
        if (schema.contains("prefixItems")) {
            const std::string place = below(pointer, "prefixItems");
            if (!schema["prefixItems"].is_array()) fail_at(place, "not a list");
            for (const SchemaJson& each : schema["prefixItems"])
                first.push_back(value(each, below(place, std::to_string(first.size()))));
        }
        ExpressionPtr item;
        const bool needed = first.empty() || bounds.least > static_cast<int>(first.size());
        if (schema.contains("items")) {
            if (schema["items"].is_array())
                fail_at(pointer, "a list in 'items' is not supported: use 'prefixItems'");
            if (schema["items"] != false) item = value(schema["items"], below(pointer, "items"));
        } else if (needed) {
            item = json_.any_value();
        }
        return json_.array(first, item, bounds.least, bounds.most);
    }

    ExpressionPtr string(const SchemaJson& schema, const std::string& pointer) {
        const CountBounds lengths = bounds_in(schema, "minLength", "maxLength", pointer);
        const bool bounded = lengths.least > 0 || lengths.most >= 0;
        std::optional<Dfa> both;
        const auto must_match = [&](const ExpressionPtr& expression) {
            const Dfa dfa = to_dfa(*expression, limit_);
            both = both ? product(*both, dfa, DfaProduct::Both, limit_) : dfa;
        };
        return within(pointer, [&] {
            if (schema.contains("pattern")) {
                if (!schema["pattern"].is_string()) fail_at(below(pointer, "pattern"), "not a text");
                must_match(parse_regex(schema["pattern"].get_ref<const std::string&>(), RegexMatch::Search,
                                       in_json_string));
            }
            if (schema.contains("format")) {
                const std::string format =
                    schema["format"].is_string() ? schema["format"].get<std::string>() : "";
                const auto pattern = pattern_of_format(format);
                if (!pattern)
                    fail_at(below(pointer, "format"),
                            fmt::format("the format {} is not supported", schema["format"].dump()));
                must_match(parse_regex(*pattern, RegexMatch::Whole, in_json_string));
            }
            if (!both) return bounded ? json_.string(lengths.least, lengths.most) : json_.any_string();
            if (bounded) must_match(JsonText::characters(lengths.least, lengths.most));
            if (!trim(*both, [](int) { return false; })) fail_at(pointer, "no string satisfies this");
            return sequence({literal("\""), machine(std::move(*both)), literal("\"")});
        });
    }

    // Adds the place to errors of `make` that have none.
    template <class Make>
    static ExpressionPtr within(const std::string& pointer, const Make& make) {
        try {
            return make();
        } catch (const JobError& error) {
            if (std::string_view(error.what()).starts_with("JSON schema: ")) throw;
            fail_at(pointer, error.what());
        }
    }

    SchemaDocument document_;
    WorkLimit& limit_;
    JsonText& json_;
    std::map<std::string, int> rule_of_;
    std::vector<Pending> pending_;
};

}  // namespace

ExpressionPtr add_json_schema(JsonText& json, std::string_view text, WorkLimit& limit) {
    try {
        return call(SchemaCompiler(json, text, limit).compile());
    } catch (const nlohmann::json::exception& error) {
        throw JobError(std::string("JSON schema: ") + error.what());
    }
}

GrammarRules parse_json_schema(std::string_view text, WorkLimit& limit) {
    JsonText json;
    json.rules().root = add_json_schema(json, text, limit)->rule;
    return std::move(json.rules());
}

}  // namespace voltpile::llm
