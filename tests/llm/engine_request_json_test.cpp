// The fields of a request in JSON: values, other names, and messages that name the field.
#include "llm/engine/request_json.h"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "llm/job_error_text.h"

namespace voltpile::llm::engine_request_json_test {
namespace {

using json = nlohmann::ordered_json;

RequestSettings read(const std::string& text, RequestSettings settings = {}) {
    constexpr std::array<std::string_view, 1> others{"prompt"};
    read_request(
        json::parse(text), settings, [](const std::string& name, const json&) { return name == "prompt"; },
        others);
    return settings;
}

std::string error_of(const std::string& text) {
    return message_of([&] { read(text); });
}

TEST(RequestJson, ReadsEveryField) {
    const RequestSettings settings =
        read(R"({"prompt": [], "temperature": 0.5, "top_k": 40, "top_p": 0.9, "min_p": 0.1,
                 "repetition_penalty": 1.5, "presence_penalty": -1, "frequency_penalty": 2, "seed": 9,
                 "logit_bias": {"7": -100, "0": 2.5}, "max_tokens": 5, "stop": ["a", "b"], "top_n": 3,
                 "ignore_end": true})");
    const SamplingSettings& sampling = settings.sampling;
    EXPECT_EQ(sampling.temperature, 0.5f);
    EXPECT_EQ(sampling.top_k, 40);
    EXPECT_EQ(sampling.top_p, 0.9f);
    EXPECT_EQ(sampling.min_p, 0.1f);
    EXPECT_EQ(sampling.repetition_penalty, 1.5f);
    EXPECT_EQ(sampling.presence_penalty, -1.0f);
    EXPECT_EQ(sampling.frequency_penalty, 2.0f);
    EXPECT_EQ(sampling.seed, 9u);
    EXPECT_EQ(sampling.logit_bias, (std::map<std::int32_t, float>{{0, 2.5f}, {7, -100.0f}}));
    EXPECT_EQ(settings.max_tokens, 5);
    EXPECT_EQ(settings.stop, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(settings.top_n, 3);
    EXPECT_TRUE(settings.ignore_end);
}

TEST(RequestJson, TakesTheNamesOfOtherPrograms) {
    const RequestSettings settings =
        read(R"({"max_completion_tokens": 5, "top_logprobs": 3, "ignore_eos": true})");
    EXPECT_EQ(settings.max_tokens, 5);
    EXPECT_EQ(settings.top_n, 3);
    EXPECT_TRUE(settings.ignore_end);
    EXPECT_EQ(error_of(R"({"max_tokens": 5, "max_completion_tokens": 5})"),
              "\"max_tokens\" and \"max_completion_tokens\" mean the same; set one");
    EXPECT_EQ(error_of(R"({"ignore_eos": 1})"), "\"ignore_eos\" must be true or false, not number");
}

TEST(RequestJson, NullLeavesTheDefault) {
    RequestSettings defaults;
    defaults.max_tokens = 99;
    defaults.stop = {"x"};
    const RequestSettings settings = read(R"({"max_tokens": null, "stop": null})", defaults);
    EXPECT_EQ(settings.max_tokens, 99);
    EXPECT_EQ(settings.stop, std::vector<std::string>{"x"});
}

TEST(RequestJson, NamesTheFieldAndItsRange) {
    EXPECT_EQ(error_of(R"({"top_p": 1.5})"), "\"top_p\" must be a number from 0 to 1");
    EXPECT_EQ(error_of(R"({"top_p": "1"})"), "\"top_p\" must be a number from 0 to 1");
    EXPECT_EQ(error_of(R"({"top_n": 21})"), "\"top_n\" must be a whole number from 0 to 20");
    EXPECT_EQ(error_of(R"({"top_k": 1.5})"), "\"top_k\" must be a whole number from 0 to 16777216");
    EXPECT_EQ(error_of(R"({"logit_bias": [1]})"),
              "\"logit_bias\" must be an object of tokens and numbers, not array");
    EXPECT_EQ(error_of(R"({"logit_bias": {"a": 1}})"),
              "\"logit_bias\" has \"a\", which is not the number of a token");
    EXPECT_EQ(error_of(R"({"logit_bias": {"-1": 1}})"),
              "\"logit_bias\" has \"-1\", which is not the number of a token");
    EXPECT_EQ(error_of(R"({"logit_bias": {"5": 101}})"),
              "\"logit_bias[5]\" must be a number from -100 to 100");
    EXPECT_EQ(error_of(R"({"stop": [1]})"), "\"stop\" must be a string, not number");
    EXPECT_EQ(error_of(R"({"promt": 1})"), "unknown field \"promt\"; did you mean prompt?");
}

TEST(RequestFields, HaveDistinctNamesAndDefaultsWithinTheirRange) {
    std::set<std::string_view> names;
    RequestSettings defaults;
    for (const RequestField& field : kRequestFields) {
        EXPECT_TRUE(names.insert(field.name).second) << field.name;
        if (!field.alias.empty()) {
            EXPECT_TRUE(names.insert(field.alias).second) << field.alias;
        }
        EXPECT_EQ(find_request_field(field.name), &field);
        if (const auto* member = std::get_if<float SamplingSettings::*>(&field.member)) {
            EXPECT_GE(value_of(defaults, *member), field.least) << field.name;
            EXPECT_LE(value_of(defaults, *member), field.most) << field.name;
        }
    }
    EXPECT_EQ(find_request_field("prompt"), nullptr);
}

}  // namespace
}  // namespace voltpile::llm::engine_request_json_test
