// Templates as Python's jinja2 renders them (make_jinja_goldens.py): small ones for each part of the
// language, and where VOLTPILE_CHAT_GOLDENS names a file, the public ones of models.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "llm/chat/jinja/json_value.h"
#include "llm/chat/jinja/template.h"

namespace voltpile::llm::jinja {
namespace {

using nlohmann::ordered_json;

constexpr std::time_t kNow = 1700000000;  // as in jinja_oracle.py

ordered_json read_goldens(const std::string& path) {
    std::ifstream file(path);
    return ordered_json::parse(file);
}

// The text, or nothing if the template is refused.
std::optional<std::string> rendered_text(const std::string& source, const Value& variables,
                                         std::string& error) {
    try {
        return Template(source, "template").render(variables.entries(), kNow);
    } catch (const JobError& refused) {
        error = refused.what();
        return std::nullopt;
    }
}

// Returns the number of renderings that were compared.
std::size_t compare_with_goldens(const ordered_json& goldens) {
    std::vector<Value> variables;
    for (const ordered_json& each : goldens.at("variables")) variables.push_back(value_from_json(each));
    std::size_t compared = 0;
    for (const ordered_json& golden : goldens.at("cases")) {
        const ordered_json& texts = golden.at("texts");
        for (std::size_t i = 0; i < texts.size(); ++i) {
            std::string error;
            const auto text = rendered_text(golden.at("template"), variables.at(i), error);
            EXPECT_EQ(text.has_value(), !texts[i].is_null())
                << golden.at("name") << ", variables " << i << ": " << error;
            if (text && texts[i].is_string()) {
                EXPECT_EQ(*text, texts[i].get_ref<const std::string&>())
                    << golden.at("name") << ", variables " << i;
            }
            ++compared;
        }
    }
    return compared;
}

TEST(JinjaGolden, RendersEachPartOfTheLanguageAsPython) {
    EXPECT_GT(compare_with_goldens(read_goldens(VOLTPILE_SOURCE_DIR "/data/llm/chat/golden_jinja.json")),
              250u);
}

TEST(JinjaGolden, RendersPublicTemplatesAsPython) {
    const char* path = std::getenv("VOLTPILE_CHAT_GOLDENS");
    if (!path || !std::filesystem::exists(path)) GTEST_SKIP() << "VOLTPILE_CHAT_GOLDENS names no file";
    EXPECT_GT(compare_with_goldens(read_goldens(path)), 2000u);
}

}  // namespace
}  // namespace voltpile::llm::jinja
