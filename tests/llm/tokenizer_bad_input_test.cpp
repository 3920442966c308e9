// Invalid tokenizer files and their error messages.
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <functional>
#include <memory>
#include <sstream>

#include "job_error_text.h"
#include "tokenizer_golden.h"

namespace voltpile::llm {
namespace {

// A tokenizer.json with four tokens, changed by a JSON merge patch.
std::string with_patch(const char* patch) {
    json tokenizer = json::parse(R"({
        "added_tokens": [{"id": 3, "content": "<s>", "special": true}],
        "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
        "post_processor": null, "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})");
    tokenizer.merge_patch(json::parse(patch));
    return message_of([&] { Tokenizer(vocabulary_from_hugging_face(tokenizer, json(), "t.json")); });
}

TEST(HuggingFaceVocabulary, NamesErrors) {
    EXPECT_EQ(with_patch("{}"), "no error");
    EXPECT_EQ(with_patch(R"({"model": {"type": "Unigram"}})"),
              "t.json: model: \"Unigram\" is not supported; supported is BPE");
    EXPECT_EQ(with_patch(R"({"normalizer": {"type": "Lowercase"}})"),
              "t.json: normalizer: \"Lowercase\" is not supported; supported are NFC, Prepend of U+2581, "
              "Replace of a "
              "space by U+2581");
    EXPECT_EQ(with_patch(R"({"pre_tokenizer": {"type": "Whitespace"}})"),
              "t.json: pre_tokenizer: \"Whitespace\" is not supported; supported are Split, Digits, "
              "ByteLevel, Metaspace");
    EXPECT_EQ(with_patch(R"({"pre_tokenizer": {"add_prefix_space": true}})"),
              "t.json: pre_tokenizer: ByteLevel: add_prefix_space is not supported");
    EXPECT_EQ(with_patch(R"({"post_processor": {"type": "BertProcessing"}})"),
              "t.json: post_processor: \"BertProcessing\" is not supported; supported are ByteLevel, "
              "TemplateProcessing");
    EXPECT_EQ(with_patch(R"({"model": {"merges": ["a c"]}})"), "t.json: merge 0: \"c\" is not a token");
    EXPECT_EQ(with_patch(R"({"model": {"merges": ["ab"]}})"), "t.json: merges: \"ab\" is not two tokens");
    EXPECT_EQ(with_patch(R"({"model": {"vocab": {"c": 1}}})"),
              "t.json: tokens \"b\" and \"c\" have the same id 1");
    EXPECT_EQ(with_patch(R"({"model": {"vocab": {"c": 4000000000}}})"),
              "t.json: id 4000000000 of token \"c\" is out of range");
    EXPECT_EQ(with_patch(R"({"model": {"vocab": {"c": -1}}})"),
              "t.json: id -1 of token \"c\" is out of range");
    EXPECT_EQ(with_patch(R"({"model": null})"), "t.json: \"model\" is missing");
    EXPECT_EQ(with_patch(R"({"model": {"vocab": null}})"), "t.json: model: \"vocab\" is missing");
    EXPECT_EQ(with_patch(R"({"model": {"vocab": ["a"]}})"), "t.json: model: \"vocab\" is not an object");
    EXPECT_EQ(with_patch(R"({"model": {"vocab": {"c": "3"}}})"),
              "t.json: model: an id of \"vocab\" is not a whole number");
    EXPECT_EQ(with_patch(R"({"model": {"merges": [["a"]]}})"), "t.json: merges: one is not a text");
    EXPECT_EQ(with_patch(R"({"model": {"merges": [["a", 1]]}})"),
              "t.json: merges: a part of one is not a text");
    EXPECT_EQ(with_patch(R"({"added_tokens": [{"id": 3}]})"), "t.json: added_tokens: \"content\" is missing");
    EXPECT_EQ(with_patch(R"({"added_tokens": [3]})"), "t.json: added_tokens is not an object");
    EXPECT_EQ(with_patch(R"({"normalizer": {"type": null}})"), "t.json: normalizer: \"type\" is missing");
    EXPECT_EQ(with_patch(R"({"pre_tokenizer": {"use_regex": 1}})"),
              "t.json: pre_tokenizer: \"use_regex\" is not true or false");
    EXPECT_EQ(with_patch(R"({"pre_tokenizer": {"type": "Split", "behavior": "Isolated"}})"),
              "t.json: pre_tokenizer: Split: \"pattern\" is missing");
    EXPECT_EQ(with_patch(R"({"post_processor": {"type": "TemplateProcessing",
                             "single": [{"SpecialToken": {"id": "<s>"}}], "special_tokens": {}}})"),
              "t.json: post_processor: special_tokens: \"<s>\" is missing");
    EXPECT_EQ(with_patch(R"({"decoder": []})"), "t.json: decoder is not an object");
    EXPECT_NE(
        with_patch(
            R"({"pre_tokenizer": {"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "(a"}}})")
            .find("t.json: pattern of the pre-tokenizer \"(a\": missing closing parenthesis"),
        std::string::npos);
}

struct TinyGguf {
    GgufTokenizerKeys keys;
    TinyGguf() {
        keys.model = "gpt2";
        keys.pre = "gpt-2";
        keys.tokens = {"a", "b", "ab", "<s>"};
        keys.token_types = {1, 1, 1, 3};
        keys.merges = {"a b"};
    }
    std::string message() const {
        return message_of([&] { Tokenizer(vocabulary_from_gguf(keys, "m.gguf")); });
    }
};

std::string with_change(const std::function<void(GgufTokenizerKeys&)>& change) {
    TinyGguf gguf;
    change(gguf.keys);
    return gguf.message();
}

TEST(GgufVocabulary, NamesErrors) {
    using Keys = GgufTokenizerKeys;
    const std::string key = "m.gguf: tokenizer.ggml.";
    EXPECT_EQ(with_change([](Keys&) {}), "no error");
    EXPECT_EQ(with_change([](Keys& keys) { keys.model = "bert"; }),
              key +
                  "model: \"bert\" is not supported; supported are llama (SentencePiece BPE), gpt2 "
                  "(byte-level BPE)");
    const std::string unknown = with_change([](Keys& keys) { keys.pre = "new"; });
    EXPECT_EQ(unknown.find("m.gguf: pre-tokenizer \"new\" is not supported; supported are llama-bpe, "), 0u);
    EXPECT_TRUE(unknown.ends_with(", default")) << unknown;
    EXPECT_EQ(with_change([](Keys& keys) { keys.tokens.clear(); }), key + "tokens: is missing or empty");
    EXPECT_EQ(with_change([](Keys& keys) { keys.token_types.pop_back(); }),
              key + "token_type: 3 for 4 tokens");
    EXPECT_EQ(with_change([](Keys& keys) { keys.token_types[1] = 7; }),
              key + "token_type: 7 of token 1 is unknown");
    EXPECT_EQ(with_change([](Keys& keys) { keys.token_types[1] = 6; }),
              key + "tokens: number 1 is a byte, but is not written as <0x0A>");
    EXPECT_EQ(with_change([](Keys& keys) { keys.tokens[0] = "\xFF"; }),
              key + "tokens: number 0 is not UTF-8");
    EXPECT_EQ(with_change([](Keys& keys) { keys.merges = {"a c"}; }),
              key + "merges: merge 0: \"c\" is not a token");
    EXPECT_EQ(with_change([](Keys& keys) { keys.merges = {"ab"}; }),
              key + "merges: \"ab\" is not two tokens");
    EXPECT_EQ(with_change([](Keys& keys) { keys.bos = 4; }), key + "bos_token_id: 4 of 4 tokens");
    EXPECT_EQ(with_change([](Keys& keys) { keys.add_bos = true; }),
              key + "bos_token_id: is missing, but add_bos_token needs it");
    EXPECT_EQ(with_change([](Keys& keys) { keys.model = "llama"; }), key + "scores: 0 for 4 tokens");
}

TEST(GgufVocabulary, WarnsOfAMissingPreTokenizer) {
    std::ostringstream log;
    const auto before = spdlog::default_logger();
    spdlog::set_default_logger(
        std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_st>(log)));
    EXPECT_EQ(with_change([](GgufTokenizerKeys&) {}), "no error");
    EXPECT_EQ(log.str(), "");
    EXPECT_EQ(with_change([](GgufTokenizerKeys& keys) { keys.pre = ""; }), "no error");
    spdlog::set_default_logger(before);
    EXPECT_NE(log.str().find("m.gguf: no tokenizer.ggml.pre: "), std::string::npos) << log.str();
}

}  // namespace
}  // namespace voltpile::llm
