#include <gtest/gtest.h>

#include "job_error_text.h"
#include "llm/eval/same_tokens.h"
#include "llm/tokenizer/model_tokenizer.h"

namespace voltpile::llm {
namespace {

Tokenizer tokenizer_of(const std::string& name) {
    return load_tokenizer(ModelFiles(VOLTPILE_SOURCE_DIR "/data/tiny_model/" + name));
}

TEST(SameTokens, GgufAndHuggingFaceFolderAgree) {
    const std::string text = "And it came to pass <|end_of_text|>, 1611 \xe2\x82\xac";
    const Tokenizer gguf = tokenizer_of("tiny-q8_0.gguf"), folder = tokenizer_of("hf");
    const auto tokens = gguf.encode(text, {.add_special = false, .parse_special = false});
    EXPECT_NO_THROW(check_same_tokens({gguf, "a", 2048}, {folder, "b", 2048}, tokens, text));
    // Other tokens stand in for those of a different tokenizer.
    EXPECT_EQ(message_of([&] {
                  check_same_tokens({gguf, "a", 2048}, {folder, "b", 2048}, std::span(tokens).first(3), text);
              }),
              "a and b cannot be compared: their tokens for the text differ from token 3 on");
    EXPECT_EQ(message_of([&] {
                  check_same_tokens({gguf, "a", 2048}, {folder, "b", 2050}, tokens, text);
              }),
              "a and b cannot be compared: their vocabularies have 2048 and 2050 tokens");
}

}  // namespace
}  // namespace voltpile::llm
