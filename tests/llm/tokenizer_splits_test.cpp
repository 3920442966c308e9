// Compares the pieces of every pre-tokenizer with those of the library `tokenizers` (make_split_goldens.py).
#include <gtest/gtest.h>

#include "llm/tokenizer/pre_tokenizer_patterns.h"
#include "llm/tokenizer/split_pattern.h"
#include "tokenizer_golden.h"

namespace voltpile::llm {
namespace {

// Returns the sizes of the pieces after all patterns, one applied after the other.
std::vector<std::size_t> sizes_of(const std::vector<SplitPattern>& patterns, std::string_view text) {
    std::vector<std::string_view> pieces = {text};
    for (const SplitPattern& pattern : patterns) {
        std::vector<std::string_view> smaller;
        for (const std::string_view piece : pieces)
            pattern.split(piece, [&](std::string_view part) { smaller.push_back(part); });
        pieces = smaller;
    }
    std::vector<std::size_t> sizes;
    for (const std::string_view piece : pieces) sizes.push_back(piece.size());
    return sizes;
}

TEST(PreTokenizers, SplitLikeTheLibraryWithThePublishedPatterns) {
    const json golden = read_golden("golden_splits");
    ASSERT_GE(golden.at("sizes").size(), 17u);
    for (const auto& [name, sizes] : golden.at("sizes").items()) {
        std::vector<SplitPattern> patterns;
        for (const std::string& pattern : pre_tokenizer_named(name, "x.gguf").split_patterns)
            patterns.emplace_back(pattern);
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            const std::string text = golden.at("strings").at(i);
            EXPECT_EQ(json(sizes_of(patterns, text)), sizes.at(i)) << name << ": " << json(text).dump();
        }
    }
}

// Names in GGUF files for which the golden file has no pieces, and one with the same patterns for which it
// has: llama.cpp treats them alike.
TEST(PreTokenizers, OtherNamesHaveTheSamePatterns) {
    const std::pair<const char*, const char*> names[] = {
        {"llama-bpe", "falcon3"}, {"pixtral", "falcon3"}, {"dbrx", "smaug-bpe"},
        {"glm4", "smaug-bpe"},    {"qwen2", "stablelm2"}, {"chatglm-bpe", "smaug-bpe"},
        {"jais", "olmo"},         {"gpt-2", "olmo"},      {"deepseek-r1-qwen", "megrez"},
        {"smollm", "starcoder"},  {"poro-chat", "bloom"}, {"minerva-7b", "starcoder"},
        {"mellum", "olmo"},       {"trillion", "olmo"},
    };
    const json golden = read_golden("golden_splits");
    for (const auto& [name, with_pieces] : names) {
        EXPECT_TRUE(golden.at("sizes").contains(with_pieces)) << with_pieces;
        EXPECT_EQ(pre_tokenizer_named(name, "x.gguf").split_patterns,
                  pre_tokenizer_named(with_pieces, "x.gguf").split_patterns)
            << name;
    }
}

TEST(PreTokenizers, DefaultKeepsBackticksAwayFromMarksAsLlamaCpp) {
    const auto pieces = [](std::string_view name) {
        std::vector<SplitPattern> patterns;
        for (const std::string& pattern : pre_tokenizer_named(name, "x.gguf").split_patterns)
            patterns.emplace_back(pattern);
        return sizes_of(patterns, "`.");
    };
    EXPECT_EQ(pieces("default"), (std::vector<std::size_t>{1, 1}));
    EXPECT_EQ(pieces(""), pieces("default"));
    EXPECT_EQ(pieces("falcon"), std::vector<std::size_t>{2});
}

}  // namespace
}  // namespace voltpile::llm
