#include "llm/grammar/response_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"

namespace voltpile::llm {
namespace {

using OrderedJson = nlohmann::ordered_json;

const std::string& text_in_field(const OrderedJson& value, std::string_view name) {
    if (!value.is_string())
        throw JobError(fmt::format("\"{}\" must be a text, not {}", name, value.type_name()));
    return value.get_ref<const std::string&>();
}

// Refuses other fields, which would be ignored otherwise.
void check_fields(const OrderedJson& object, std::string_view name,
                  std::initializer_list<std::string_view> known) {
    if (!object.is_object()) throw JobError(fmt::format("\"{}\" must be an object", name));
    for (const auto& [key, unused] : object.items())
        if (std::find(known.begin(), known.end(), key) == known.end())
            throw JobError(fmt::format("\"{}\" has \"{}\", which is not known", name, key));
}

std::optional<GrammarSource> from_format(const OrderedJson& format) {
    check_fields(format, "response_format", {"type", "json_schema"});
    const std::string type = format.contains("type") ? text_in_field(format["type"], "type") : "";
    if (type == "text") return std::nullopt;
    if (type == "json_object") return GrammarSource{GrammarSource::Kind::JsonObject, ""};
    if (type != "json_schema")
        throw JobError("the \"type\" of \"response_format\" must be one of text, json_object, json_schema");
    if (!format.contains("json_schema")) throw JobError("\"response_format\" has no \"json_schema\"");
    const OrderedJson& schema = format["json_schema"];
    check_fields(schema, "json_schema", {"name", "description", "schema", "strict"});
    if (!schema.contains("schema")) throw JobError("\"json_schema\" has no \"schema\"");
    return GrammarSource{GrammarSource::Kind::JsonSchema, schema["schema"].dump()};
}

}  // namespace

std::optional<GrammarSource> grammar_in_request(const OrderedJson& request) {
    std::optional<GrammarSource> found;
    const auto add = [&](std::optional<GrammarSource> source) {
        if (!source) return;
        if (found) throw JobError("\"response_format\", \"regex\" and \"grammar\" exclude each other");
        found = std::move(source);
    };
    const auto wanted = [&](const char* name) { return request.contains(name) && !request[name].is_null(); };
    if (wanted("response_format")) add(from_format(request["response_format"]));
    if (wanted("regex"))
        add(GrammarSource{GrammarSource::Kind::Regex, text_in_field(request["regex"], "regex")});
    if (wanted("grammar"))
        add(GrammarSource{GrammarSource::Kind::Gbnf, text_in_field(request["grammar"], "grammar")});
    return found;
}

}  // namespace voltpile::llm
