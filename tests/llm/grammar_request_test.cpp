#include "llm/grammar/response_format.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "llm/job_error_text.h"

namespace voltpile::llm {
namespace {

using Kind = GrammarSource::Kind;

std::optional<GrammarSource> form_of(const char* request) {
    return grammar_in_request(nlohmann::ordered_json::parse(request));
}

TEST(ResponseFormat, ReadsWhatARequestAsksFor) {
    EXPECT_FALSE(form_of(R"({"prompt": "x"})"));
    EXPECT_FALSE(form_of(R"({"response_format": {"type": "text"}, "regex": null})"));
    EXPECT_EQ(form_of(R"({"response_format": {"type": "json_object"}})"),
              (GrammarSource{Kind::JsonObject, ""}));
    EXPECT_EQ(form_of(R"({"regex": "a+", "prompt": "x"})"), (GrammarSource{Kind::Regex, "a+"}));
    EXPECT_EQ(form_of(R"({"grammar": "root ::= \"a\""})"), (GrammarSource{Kind::Gbnf, "root ::= \"a\""}));
}

TEST(ResponseFormat, KeepsTheOrderOfProperties) {
    const auto source =
        form_of(R"({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "strict": true,)"
                R"( "schema": {"type": "object", "properties": {"z": {}, "a": {}}}}}})");
    EXPECT_EQ(source, (GrammarSource{Kind::JsonSchema, R"({"type":"object","properties":{"z":{},"a":{}}})"}));
}

TEST(ResponseFormat, RefusesWhatItDoesNotKnow) {
    const auto refusal = [](const char* text) { return message_of([&] { form_of(text); }); };
    EXPECT_EQ(refusal(R"({"regex": 3})"), "\"regex\" must be a text, not number");
    EXPECT_EQ(refusal(R"({"regex": "a", "grammar": "b"})"),
              "\"response_format\", \"regex\" and \"grammar\" exclude each other");
    EXPECT_EQ(refusal(R"({"response_format": "json"})"), "\"response_format\" must be an object");
    EXPECT_EQ(refusal(R"({"response_format": {"type": "xml"}})"),
              "the \"type\" of \"response_format\" must be one of text, json_object, json_schema");
    EXPECT_EQ(refusal(R"({"response_format": {"type": "json_schema"}})"),
              "\"response_format\" has no \"json_schema\"");
    EXPECT_EQ(refusal(R"({"response_format": {"type": "json_schema", "json_schema": {"name": "n"}}})"),
              "\"json_schema\" has no \"schema\"");
    EXPECT_EQ(refusal(R"({"response_format": {"type": "json_object", "schema": {}}})"),
              "\"response_format\" has \"schema\", which is not known");
}

}  // namespace
}  // namespace voltpile::llm
