#include "llm/serve/text_parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace voltpile::llm {

std::string text_of_parts(FieldReader& fields, std::string_view name, const std::string& path,
                          std::initializer_list<std::string_view> types) {
    const nlohmann::json* content = fields.find(name);
    if (!content) fields.fail(name, "is missing");
    if (content->is_string()) return content->get<std::string>();
    if (!content->is_array()) fields.fail(name, "must be a text or a list of text parts");
    std::string text;
    for (std::size_t i = 0; i < content->size(); ++i) {
        const nlohmann::json& part = (*content)[i];
        if (!part.is_object()) fields.fail(name, "must be a text or a list of text parts");
        FieldReader inner(part, fmt::format("{}{}[{}].", path, name, i));
        const auto type = inner.text("type");
        if (!type || std::ranges::find(types, *type) == types.end())
            inner.fail("type", fmt::format("is {}, but this server takes text only",
                                           type ? "\"" + *type + "\"" : "missing"));
        const auto piece = inner.text("text");
        if (!piece) inner.fail("text", "is missing");
        text += *piece;
        inner.ignore({"cache_control", "annotations", "logprobs"});
        inner.finish();
    }
    return text;
}

}  // namespace voltpile::llm
