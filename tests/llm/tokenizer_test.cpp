#include "llm/tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <ctime>
#include <thread>

#include "job_error_text.h"
#include "llm/tokenizer/stream_decoder.h"
#include "llm/tokenizer/utf8.h"
#include "tokenizer_golden.h"

namespace voltpile::llm::tokenizer_test {
namespace {

using Ids = std::vector<TokenId>;

Tokenizer llama3() {
    return tokenizer_of(read_golden("golden_llama3"));
}
Tokenizer llama2() {
    return tokenizer_of(read_golden("golden_llama2"));
}

TEST(Utf8, FollowsTable37OfTheUnicodeStandard) {
    const auto status = [](std::string_view text) { return first_character(text).status; };
    for (const char* text :
         {"a", "\u00e9", "\u20ac", "\U0001F600", "\xED\x9F\xBF", "\xEE\x80\x80", "\xF4\x8F\xBF\xBF"})
        EXPECT_EQ(status(text), Utf8Status::Whole);
    for (const char* text : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\x80", "\xED\xA0\x80",
                             "\xF0\x8F\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80", "\xC3(", "\xE2\x82("})
        EXPECT_EQ(status(text), Utf8Status::IllFormed);
    for (const char* text : {"\xC3", "\xE2\x82", "\xF0\x9F\x98"}) EXPECT_EQ(status(text), Utf8Status::CutOff);
    EXPECT_EQ(first_character("\xE2\x82(").bytes, 2u);  // one U+FFFD for the two
    for (std::uint32_t c = 1; c < 0x110000; c += c < 0x1000 ? 1 : 97) {
        if (c >= 0xD800 && c <= 0xDFFF) continue;
        EXPECT_EQ(first_character(to_utf8(c)).code_point, c);
    }
}

TEST(Tokenizer, RejectsInvalidUtf8WithItsOffset) {
    const Tokenizer tokenizer = llama3();
    EXPECT_EQ(message_of([&] { tokenizer.encode("good\xC3("); }), "prompt: byte 4 is not UTF-8");
    EXPECT_EQ(message_of([&] { tokenizer.encode("\u00e9\xF0\x9F", {}, "text.txt"); }),
              "text.txt: byte 2 is not UTF-8");
}

TEST(Tokenizer, SplitsAtSpecialTokensInGgufOfLlama) {
    const SentencePieceGguf gguf(read_golden("golden_sentencepiece").at("gguf"));
    const Tokenizer tokenizer(vocabulary_from_gguf(gguf.keys, "model.gguf"));
    // Each piece between special tokens is encoded separately, as Llama 2's own code does with SentencePiece.
    const Ids a = tokenizer.encode("[INST] a", {.add_special = false});
    const Ids b = tokenizer.encode("b", {.add_special = false});
    Ids expected = a;
    expected.insert(expected.end(), {2, 1});
    expected.insert(expected.end(), b.begin(), b.end());
    EXPECT_EQ(tokenizer.encode("[INST] a</s><s>b", {.add_special = false}), expected);
    EXPECT_EQ(tokenizer.decode(expected, false), "[INST] a</s><s> b");
}

TEST(Tokenizer, AddsBeginAndEndTokensAsTheFileSays) {
    const json golden = read_golden("golden_gpt2");
    const auto encoded = [&](const char* config) {
        return Tokenizer(vocabulary_from_hugging_face(golden.at("tokenizer"), json::parse(config),
                                                      "tokenizer.json"))
            .encode("");
    };
    const TokenId end = golden.at("tokenizer").at("added_tokens").at(0).at("id");
    EXPECT_EQ(encoded(R"({"bos_token": "<|endoftext|>"})"), Ids{});
    EXPECT_EQ(encoded(R"({"bos_token": "<|endoftext|>", "add_bos_token": true})"), Ids{end});
    EXPECT_EQ(encoded(R"({"eos_token": {"content": "<|endoftext|>"}, "add_eos_token": true})"), Ids{end});

    SentencePieceGguf gguf(read_golden("golden_sentencepiece").at("gguf"));
    const auto of_gguf = [&] { return Tokenizer(vocabulary_from_gguf(gguf.keys, "model.gguf")); };
    EXPECT_EQ(of_gguf().encode(""), Ids{1});  // Llama 2 begins with <s> unless the file says otherwise
    gguf.keys.add_bos = false;
    gguf.keys.add_eos = true;
    EXPECT_EQ(of_gguf().encode(""), Ids{2});
    gguf.keys.add_space_prefix = false;
    EXPECT_EQ(of_gguf().bytes_of(of_gguf().encode("Hello").front()).front(), 'H');
}

// A line without spaces is one piece. One pass over it per merge would take hours.
TEST(Tokenizer, LongLinesDoNotTakeQuadraticTime) {
    for (const Tokenizer& tokenizer : {llama3(), llama2()}) {
        std::string line;
        while (line.size() < 1'000'000) line += "abracadabra\u00e9xylophone";
        const std::clock_t begin = std::clock();  // CPU time, which does not depend on other programs
        const Ids ids = tokenizer.encode(line);
        const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
        EXPECT_LT(seconds, 20.0);  // usually 1 s; ten times as long with a sanitizer
        EXPECT_EQ(tokenizer.decode(ids), line);
        EXPECT_EQ(tokenizer.decode(tokenizer.encode(std::string(100'000, ' '))), std::string(100'000, ' '));
    }
}

TEST(Tokenizer, IsThreadSafe) {
    const Tokenizer tokenizer = llama3();
    const std::string text = "Many threads, one tokenizer: \u4f60\u597d 123 \U0001F44D\U0001F3FD";
    const Ids expected = tokenizer.encode(text);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int j = 0; j < 200; ++j) EXPECT_EQ(tokenizer.encode(text), expected);
        });
}

// Decodes the ids one by one; each returned text must be valid UTF-8.
std::string streamed(const Tokenizer& tokenizer, const Ids& ids, bool continues = false) {
    StreamDecoder decoder(tokenizer, true, continues);
    std::string all;
    for (const TokenId id : ids) {
        const std::string text = decoder.push(id);
        EXPECT_FALSE(find_invalid_utf8(text)) << "a partial character after " << all;
        all += text;
    }
    return all + decoder.flush();
}

TEST(StreamDecoder, NeverReturnsAPartialCharacter) {
    const std::string text =
        "\u4f60\u597d\U0001F468\u200d\U0001F469\u200d\U0001F467 na\u00efve \U0001F1E9\U0001F1EA \u0e01\u0e34";
    for (const Tokenizer& tokenizer : {llama3(), llama2()})
        EXPECT_EQ(streamed(tokenizer, tokenizer.encode(text)), text);
}

TEST(StreamDecoder, ReplacesInvalidSequences) {
    const Tokenizer tokenizer = llama3();
    const auto byte = [&](int value) {
        for (TokenId id = 0;; ++id)
            if (tokenizer.bytes_of(id) == std::string(1, static_cast<char>(value))) return id;
    };
    EXPECT_EQ(streamed(tokenizer, {byte(0xE4), byte(0xBD)}), "\uFFFD");
    EXPECT_EQ(streamed(tokenizer, {byte(0xE4), byte(0xBD), byte('a')}), "\uFFFDa");
    EXPECT_EQ(streamed(tokenizer, {byte(0x80), byte(0xFF), byte(0xE4), byte(0xBD), byte(0xA0)}),
              "\uFFFD\uFFFD\u4f60");
    EXPECT_EQ(streamed(tokenizer, {byte('a'), 1 << 20, -1}), "a");  // ids of a padded vocabulary
}

TEST(StreamDecoder, KeepsTheFirstSpaceOfAContinuedText) {
    const Tokenizer tokenizer = llama2();
    const Ids ids = tokenizer.encode("Hello", {.add_special = false});
    EXPECT_EQ(streamed(tokenizer, ids), "Hello");
    EXPECT_EQ(streamed(tokenizer, ids, true), " Hello");
}

}  // namespace
}  // namespace voltpile::llm::tokenizer_test
