// The harmony format of gpt-oss: answers, the same wherever they are cut, and their grammars.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "llm/grammar/harmony.h"
#include "llm/grammar/thinking_text.h"
#include "llm/grammar/tool_call_reader.h"
#include "llm/grammar/tool_grammar.h"
#include "llm/grammar_fixture.h"

namespace voltpile::llm::harmony_test {
namespace {

using Calls = std::vector<std::pair<std::string, std::string>>;

struct Read {
    std::string thought, text;
    Calls calls;
    bool operator==(const Read&) const = default;
};

std::ostream& operator<<(std::ostream& to, const Read& read) {
    to << "thought: " << read.thought << "\ntext: " << read.text;
    for (const auto& [name, arguments] : read.calls) to << "\n" << name << ": " << arguments;
    return to;
}

// Returns a text whose markers are special tokens.
std::string marked(const std::string& plain) {
    std::string text;
    for (std::size_t i = 0; i < plain.size(); ++i) {
        if (plain.substr(i).starts_with("<|")) text += kMarkerByte;
        text += plain[i];
    }
    return text;
}

Read read_pieces(const std::vector<std::string_view>& answer, bool tools) {
    ToolCallReader reader(tools ? std::optional(ToolFormat::Harmony) : std::nullopt, Thoughts::Channels);
    Read read;
    const auto take = [&](const std::vector<ToolCallPiece>& pieces) {
        for (const ToolCallPiece& piece : pieces) {
            if (piece.kind == ToolCallPiece::Kind::Thought) read.thought += piece.text;
            if (piece.kind == ToolCallPiece::Kind::Text) read.text += piece.text;
            if (piece.kind == ToolCallPiece::Kind::Name) read.calls.emplace_back(piece.text, "");
            if (piece.kind == ToolCallPiece::Kind::Arguments) read.calls.back().second += piece.text;
        }
    };
    for (const std::string_view piece : answer) take(reader.read(piece));
    take(reader.finish());
    EXPECT_EQ(reader.calls(), std::ssize(read.calls));
    return read;
}

void expect_read(const std::string& answer, const Read& expected, bool tools = true) {
    const std::string_view all = answer;
    std::vector<std::string_view> bytes;
    for (std::size_t cut = 0; cut < all.size(); ++cut) {
        EXPECT_EQ(read_pieces({all.substr(0, cut), all.substr(cut)}, tools), expected)
            << answer << ", cut at " << cut;
        bytes.push_back(all.substr(cut, 1));
    }
    EXPECT_EQ(read_pieces(bytes, tools), expected) << answer << ", byte by byte";
}

// The messages come from openai-harmony (make_harmony_goldens.py).
TEST(HarmonyReader, FindsTheMessagesThatThePublishedLibraryFinds) {
    std::ifstream file(VOLTPILE_SOURCE_DIR "/data/llm/chat/golden_harmony.json");
    int cases = 0;
    for (const auto& golden : nlohmann::json::parse(file)) {
        std::string answer;
        for (std::size_t i = 0; i < golden["answer"].size(); ++i) {
            if (i % 2 == 1) answer += kMarkerByte;
            answer += golden["answer"][i].get<std::string>();
        }
        Read expected;
        const auto add = [](std::string& to, const std::string& text) {
            to += (to.empty() || text.empty() ? "" : "\n\n") + text;
        };
        for (const auto& message : golden["messages"]) {
            const std::string text = message["text"];
            const std::string to = message["recipient"].is_null() ? "" : message["recipient"];
            if (to.starts_with("functions."))
                expected.calls.emplace_back(to.substr(std::string("functions.").size()), text);
            else
                add(message["channel"] == "analysis" || !to.empty() ? expected.thought : expected.text, text);
        }
        expect_read(answer, expected);
        ++cases;
    }
    EXPECT_EQ(cases, 20);
}

// What the library refuses.
TEST(HarmonyReader, KeepsTheTextOfBrokenAnswers) {
    const std::string plain = "Hello, to=functions.f is text. <|end|>";
    expect_read(plain, {"", plain, {}});
    expect_read(" t", {"", " t", {}});
    expect_read(marked("<|channel|>final"), {});
    expect_read(marked("<|channel|>analysis<|end|><|start|>assistant<|channel|>final<|message|>A"),
                {"", "A", {}});
    expect_read(marked("<|channel|>analysis<|message|>So<|channel|>final<|message|>A"), {"So", "A", {}});
    expect_read(marked("<|channel|>analysis<|message|>So<|end|>A"), {"So", "A", {}});
    expect_read(marked("<|channel|>analysis<|message|>So<|end|><|start|>assi"), {"So", "", {}});
    expect_read(marked("<|channel|>final<|message|>A<|message|>B<|constrain|>C"), {"", "ABC", {}});
    expect_read(marked(" to=functions.f"), {});
    expect_read(marked("<|channel|>commentary to=functions.<|message|>{}"), {"{}", "", {}});
    expect_read(marked("<|channel|>commentary to=user<|message|>A<|end|>"), {"", "A", {}});
    expect_read("\xFF<|chan", {});
}

TEST(HarmonyReader, WithoutToolsCallsAreThoughts) {
    const std::string answer = marked("<|channel|>commentary to=functions.f<|message|>{}<|call|>");
    expect_read(answer, {"{}", "", {}}, false);
    expect_read(answer, {"", "", {{"f", "{}"}}}, true);
}

TEST(HarmonyReader, StreamsAtOnceWhatIsCertain) {
    using Kind = ToolCallPiece::Kind;
    using Pieces = std::vector<ToolCallPiece>;
    HarmonyReader reader(true);
    EXPECT_EQ(reader.read(marked("<|channel|>ana")), Pieces());
    EXPECT_EQ(reader.read(marked("lysis<|message|>Th")), (Pieces{{Kind::Thought, "Th"}}));
    EXPECT_EQ(reader.read("ink <|"), (Pieces{{Kind::Thought, "ink <|"}}));
    EXPECT_EQ(
        reader.read(marked("<|end|><|start|>assistant<|channel|>commentary to=functions.f <|message|>")),
        (Pieces{{Kind::Name, "f"}}));
    EXPECT_EQ(reader.read("{\"a"), (Pieces{{Kind::Arguments, "{\"a"}}));
    EXPECT_EQ(reader.finish(), Pieces());
}

TEST(ThinkingText, PutsThoughtsBetweenTags) {
    const std::string answer =
        marked("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.");
    EXPECT_EQ(text_of_channels(answer, false), "<think>\nHm.\n</think>\n\nYes.");
    EXPECT_EQ(text_of_channels(answer, true), "Yes.");
    EXPECT_EQ(text_of_channels(marked("<|channel|>final<|message|>Yes."), false), "Yes.");
    EXPECT_EQ(text_of_channels(marked("<|channel|>analysis<|message|>Hm"), false),
              "<think>\nHm\n</think>\n\n");
    ThinkingText pieces;
    std::string text;
    for (const char c : answer) text += pieces.read({&c, 1});
    EXPECT_EQ(text + pieces.finish(), "<think>\nHm.\n</think>\n\nYes.");
}

// A vocabulary with the special tokens of the format.
struct HarmonyVocabulary {
    Vocabulary vocabulary = grammar_tokenizer().vocabulary();
    std::map<std::string, TokenId> ids;

    HarmonyVocabulary() {
        for (const std::string_view name : kHarmonyTokens) {
            ids[std::string(name)] = static_cast<TokenId>(vocabulary.texts.size());
            vocabulary.texts.emplace_back(name);
            vocabulary.kinds.push_back(TokenKind::Control);
        }
    }
    // Special tokens by their names, and single bytes.
    std::vector<TokenId> tokens(std::string_view text) const {
        std::vector<TokenId> tokens;
        while (!text.empty()) {
            std::size_t bytes = 1;
            TokenId token = 3 + static_cast<unsigned char>(text.front());
            for (const auto& [name, id] : ids)
                if (text.starts_with(name)) {
                    token = id;
                    bytes = name.size();
                }
            tokens.push_back(token);
            text.remove_prefix(bytes);
        }
        return tokens;
    }
};

// Returns what a grammar takes of a text; if it takes all, whether the text may end there.
std::string taken(const Tokenizer& tokenizer, const HarmonyVocabulary& words, const GrammarSource& source,
                  std::string_view text) {
    GrammarCache cache(tokenizer, {words.ids.at("<|return|>"), words.ids.at("<|call|>")});
    GrammarMatcher matcher(cache.compile(source), true);
    std::string read;
    for (const TokenId token : words.tokens(text)) {
        const auto mask = matcher.mask();
        const bool allowed =
            !mask || (((*mask)[static_cast<std::size_t>(token) / 32] >> (token % 32)) & 1) != 0;
        const bool accepted = matcher.accept(token);
        EXPECT_EQ(allowed, accepted) << text << " after " << read;
        if (!accepted) return read;
        read += tokenizer.bytes_of(token);
    }
    return matcher.complete() ? "complete" : "incomplete";
}

TEST(HarmonyGrammar, ConstrainsTheFinalChannelAndNotTheThoughts) {
    const HarmonyVocabulary words;
    const Tokenizer tokenizer(words.vocabulary);
    const GrammarSource digits{GrammarSource::Kind::Regex, "[0-9]{2}", true};
    const auto takes = [&](std::string_view text) { return taken(tokenizer, words, digits, text); };
    EXPECT_EQ(takes("<|channel|>final<|message|>42"), "complete");
    EXPECT_EQ(takes("<|channel|>final <|constrain|>json<|message|>42<|return|>"), "complete");
    const std::string thoughts =
        "<|channel|>analysis<|message|>Twice 21 é<|end|><|start|>assistant<|channel|>final<|message|>";
    EXPECT_EQ(takes(thoughts + "42"), "complete");
    EXPECT_EQ(takes(thoughts), "incomplete");
    EXPECT_EQ(takes(thoughts + "4x"), thoughts + "4");
    EXPECT_EQ(takes("42"), "");
    EXPECT_EQ(takes("<|channel|>analysis<|message|>Hm<|return|>"), "<|channel|>analysis<|message|>Hm");
    EXPECT_EQ(takes("<|channel|>analysis<|message|>Hm<|channel|>"), "<|channel|>analysis<|message|>Hm");
}

// A string may contain the name of a special token, but not the token itself.
TEST(HarmonyGrammar, TextsHaveNoSpecialTokens) {
    const HarmonyVocabulary words;
    const Tokenizer tokenizer(words.vocabulary);
    GrammarCache cache(tokenizer, {words.ids.at("<|return|>")});
    GrammarMatcher matcher(cache.compile({GrammarSource::Kind::JsonObject, "", true}), true);
    for (const TokenId token : words.tokens("<|channel|>final<|message|>{\"a"))
        ASSERT_TRUE(matcher.accept(token));
    EXPECT_FALSE(matcher.accept(words.ids.at("<|end|>")));
    EXPECT_FALSE(matcher.accept(3 + 0xFF));
    for (const char c : std::string_view("<|end|>\": 1}"))
        ASSERT_TRUE(matcher.accept(3 + static_cast<unsigned char>(c))) << c;
    EXPECT_TRUE(matcher.complete());
}

TEST(HarmonyGrammar, CallsHaveArgumentsOfTheirSchema) {
    const HarmonyVocabulary words;
    const Tokenizer tokenizer(words.vocabulary);
    const std::string schema =
        R"({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})";
    const auto takes = [&](bool required, std::string_view text) {
        const ToolGrammar grammar{ToolFormat::Harmony, required, true, {{"f", schema}, {"g", schema}}};
        return taken(tokenizer, words, tool_grammar_source(grammar), text);
    };
    const std::string head = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>";
    const std::string thoughts = "<|channel|>analysis<|message|>to=functions.x<|end|><|start|>assistant";
    EXPECT_EQ(takes(true, head + "{\"a\": 1}<|call|>"), "complete");
    EXPECT_EQ(takes(true, thoughts + head + "{\"a\": 1}"), "complete");
    EXPECT_EQ(takes(true, " to=functions.g<|channel|>commentary json<|message|>{\"a\":1}"), "complete");
    EXPECT_EQ(takes(true, "<|channel|>final<|message|>No"), "<|channel|>");
    EXPECT_EQ(takes(true, head + "{}"), head + "{");
    // Free until a call begins.
    EXPECT_EQ(takes(false, "<|channel|>final<|message|>No to=functions.x {"), "complete");
    EXPECT_EQ(takes(false, "Text to=functions.x"), "complete");
    for (const std::string& before : {std::string(), thoughts}) {
        EXPECT_EQ(takes(false, before + head + "{\"a\": 1}"), "complete");
        EXPECT_EQ(takes(false, before + head), "incomplete");
        EXPECT_EQ(takes(false, before + head + "{}"), before + head + "{");
        const std::string other = before + "<|channel|>commentary to=functions.";
        EXPECT_EQ(takes(false, other + "x"), other);
        const std::string role = before + " to=functions.";
        EXPECT_EQ(takes(false, role + "g<|channel|>commentary json<|message|>{\"a\": 2}"), "complete");
        EXPECT_EQ(takes(false, role + "g<|message|>"), role + "g");
    }
}

TEST(HarmonyTokens, AreMarkedInDecodedText) {
    const HarmonyVocabulary words;
    const Tokenizer tokenizer(words.vocabulary);
    const ShownTokens shown = harmony_tokens(tokenizer);
    EXPECT_EQ(shown.ids.size(), kHarmonyTokens.size());
    StreamDecoder decoder(tokenizer, true, true, shown);
    const auto push = [&](TokenId token) { return decoder.push(token); };
    EXPECT_EQ(push(words.ids.at("<|end|>")), "\xFF<|end|>");
    EXPECT_EQ(push(3 + 0xC3), "");  // half a character
    EXPECT_EQ(push(words.ids.at("<|start|>")), "\xEF\xBF\xBD\xFF<|start|>");
    EXPECT_EQ(push(3 + 0xFF), "\xEF\xBF\xBD");  // never a marker
}

}  // namespace
}  // namespace voltpile::llm::harmony_test
