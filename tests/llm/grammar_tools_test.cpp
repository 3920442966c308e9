// Grammars of answers that call tools: from the first byte, or from the moment in which a call begins.
#include <random>

#include "llm/grammar/tool_call_reader.h"
#include "llm/grammar/tool_grammar.h"
#include "llm/grammar_fixture.h"

namespace voltpile::llm {
namespace {

const char* const kWeather =
    R"({"type": "object", "properties": {"city": {"type": "string", "maxLength": 5},
        "days": {"type": "integer", "minimum": 1, "maximum": 9}}, "required": ["city"]})";
const char* const kNothing = R"({"type": "object", "properties": {}})";

GrammarSource source_of(ToolFormat format, bool required, bool parallel = true) {
    return tool_grammar_source({format, required, parallel, {{"weather", kWeather}, {"time.now", kNothing}}});
}

bool accepts_calls(const GrammarSource& source, std::string_view text) {
    return accepts_text(Grammar(source, grammar_trie()), text);
}

TEST(GrammarTools, CallsHaveTheFormOfTheModel) {
    using enum ToolFormat;
    const std::string now = R"({"name": "time.now", "arguments": {}})";
    const std::string weather = R"({"name":"weather","arguments":{"city":"Bonn","days":3}})";
    const auto tagged = [](const std::string& call) { return "<tool_call>\n" + call + "\n</tool_call>"; };
    EXPECT_TRUE(accepts_calls(source_of(Hermes, true), tagged(now)));
    EXPECT_TRUE(accepts_calls(source_of(Hermes, true), tagged(weather) + "\n" + tagged(now)));
    EXPECT_FALSE(accepts_calls(source_of(Hermes, true, false), tagged(weather) + "\n" + tagged(now)));
    EXPECT_FALSE(accepts_calls(source_of(Hermes, true), "Hi " + tagged(now)));
    EXPECT_FALSE(
        accepts_calls(source_of(Hermes, true), tagged(R"({"name": "weather", "arguments": {"days": 3}})")));
    EXPECT_FALSE(accepts_calls(source_of(Hermes, true), tagged(R"({"name": "time", "arguments": {}})")));

    EXPECT_TRUE(accepts_calls(source_of(Mistral, true), "[TOOL_CALLS] [" + weather + ", " + now + "]"));
    EXPECT_FALSE(accepts_calls(source_of(Mistral, true, false), "[TOOL_CALLS][" + now + "," + now + "]"));
    EXPECT_TRUE(accepts_calls(source_of(MistralArgs, true),
                              "[TOOL_CALLS]time.now[ARGS]{}[TOOL_CALLS]weather[ARGS]{\"city\": \"\"}"));
    EXPECT_FALSE(accepts_calls(source_of(MistralArgs, true), "[TOOL_CALLS]time[ARGS]{}"));

    const std::string llama = R"({"name": "time.now", "parameters": {}})";
    EXPECT_TRUE(accepts_calls(source_of(Llama3, true), llama));
    EXPECT_TRUE(accepts_calls(source_of(Llama3, true), "<|python_tag|>" + llama));
    EXPECT_TRUE(accepts_calls(source_of(Llama3, true),
                              R"({"type": "function", "name": "time.now", "parameters": {}})"));
}

Thoughts thoughts_of(ToolFormat format) {
    return format == ToolFormat::Harmony ? Thoughts::Channels : Thoughts::None;
}

// Writes random tokens that the masks allow; `opening` first, if it is not empty.
std::string random_answer(const std::shared_ptr<const Grammar>& grammar, std::string_view opening,
                          std::mt19937& random) {
    GrammarMatcher matcher(grammar, true);
    std::string text;
    const auto take = [&](TokenId token) {
        const auto mask = matcher.mask();
        EXPECT_TRUE(!mask || allows(*mask, token)) << text;
        EXPECT_TRUE(matcher.accept(token)) << text << " + " << grammar->trie().bytes_of(token);
        text += grammar->trie().bytes_of(token);
    };
    for (const char c : opening) take(3 + static_cast<unsigned char>(c));  // the tokens of single bytes
    for (int i = 0; i < 400 && !matcher.finished(); ++i) {
        const auto mask = matcher.mask();
        if (!mask) break;  // in free text
        std::vector<TokenId> allowed;
        for (TokenId token = 0; token < grammar->trie().vocabulary(); ++token)
            if (allows(*mask, token)) allowed.push_back(token);
        const TokenId token = allowed[random() % allowed.size()];
        if (token == grammar_end_token) break;
        take(token);
    }
    return text;
}

TEST(GrammarTools, RandomAnswersAreCallsWithValidArguments) {
    std::mt19937 random(3);
    const auto weather = schema_grammar(kWeather);
    int calls = 0;
    for (const std::string& name : tool_format_names())
        for (int i = 0; i < 20; ++i) {
            const ToolFormat format = *tool_format_named(name);
            const auto grammar =
                std::make_shared<const Grammar>(source_of(format, true, false), grammar_trie());
            // Random thoughts do not end.
            const std::string opening = format != ToolFormat::Harmony ? ""
                                        : i % 2 == 0                  ? " "
                                                                      : "\xFF<|channel|>commentary ";
            const ReadAnswer answer =
                read_answer(format, random_answer(grammar, opening, random), thoughts_of(format));
            EXPECT_EQ(answer.text, "");
            ASSERT_EQ(answer.calls.size(), 1U) << name;
            const ToolCall& call = answer.calls.front();
            EXPECT_TRUE(call.name == "weather" || call.name == "time.now") << call.name;
            EXPECT_TRUE(call.name != "weather" || accepts_text(*weather, call.arguments)) << call.arguments;
            ++calls;
        }
    EXPECT_EQ(calls, 100);
}

TEST(GrammarTools, ThoughtsMayTalkAboutCalls) {
    const auto grammar =
        std::make_shared<const Grammar>(source_of(ToolFormat::Hermes, false), grammar_trie());
    GrammarMatcher matcher(grammar);
    const auto take = [&](std::string_view text) {
        for (const char c : text) ASSERT_TRUE(matcher.accept(3 + static_cast<unsigned char>(c))) << text;
    };
    take("<think>So <tool_call>{\"nome\" is wrong.");
    EXPECT_TRUE(matcher.complete());
    EXPECT_EQ(matcher.mask(), nullptr);
    take("</think>\n<tool_call>");
    EXPECT_FALSE(matcher.complete());
    EXPECT_FALSE(matcher.accept(3 + 'x'));
    take("\n{\"name\": \"weather\"");
}

TEST(GrammarTools, ThoughtsThatThePromptBeginsMayTalkAboutCalls) {
    for (const std::string& name : tool_format_names()) {
        const ToolFormat format = *tool_format_named(name);
        if (format == ToolFormat::Harmony) continue;  // its thoughts have a channel
        ToolGrammar tools = read_tool_grammar(source_of(format, false).text);
        tools.thinks = true;
        const auto grammar = std::make_shared<const Grammar>(tool_grammar_source(tools), grammar_trie());
        GrammarMatcher matcher(grammar);
        const auto take = [&](std::string_view text) {
            for (const char c : text) ASSERT_TRUE(matcher.accept(3 + static_cast<unsigned char>(c))) << text;
        };
        take(std::string(call_marker(format)) + "x {\"name\":x");
        EXPECT_EQ(matcher.mask(), nullptr);
        take("</think>\n\n");
        take(format == ToolFormat::Llama3 ? "{ \"name\":" : call_marker(format));  // Llama 3 needs no marker
        EXPECT_FALSE(matcher.complete());
        EXPECT_FALSE(matcher.accept(3 + 'x'));
    }
}

TEST(GrammarTools, TextBeforeCallsIsFree) {
    std::mt19937 random(4);
    for (const std::string& name : tool_format_names()) {
        const ToolFormat format = *tool_format_named(name);
        const auto grammar = std::make_shared<const Grammar>(source_of(format, false), grammar_trie());
        GrammarMatcher matcher(grammar);
        EXPECT_EQ(matcher.mask(), nullptr);
        EXPECT_TRUE(matcher.complete());
        EXPECT_FALSE(matcher.finished());
        EXPECT_FALSE(matcher.stuck());
        const std::string before =
            format == ToolFormat::Harmony
                ? "\xFF<|channel|>commentary\xFF<|message|>I look.\xFF<|end|>\xFF<|start|>assistant "
                : "I look. ";
        for (int i = 0; i < 10; ++i) {
            const std::string answer =
                random_answer(grammar, before + std::string(call_marker(format)), random);
            const ReadAnswer read = read_answer(format, answer, thoughts_of(format));
            EXPECT_EQ(read.text, "I look.") << answer;
            ASSERT_FALSE(read.calls.empty()) << answer;
        }
    }
    const auto llama = std::make_shared<const Grammar>(source_of(ToolFormat::Llama3, false), grammar_trie());
    EXPECT_EQ(read_answer(ToolFormat::Llama3, random_answer(llama, "{ \"name\":", random)).calls.size(), 1U);
    EXPECT_EQ(random_answer(llama, "{ \"answer\":", random), "{ \"answer\":");
}

// A token that completes the marker may have more bytes, which must be those of a call.
TEST(GrammarTools, MasksTokensThatEnterACallWrongly) {
    Vocabulary vocabulary = grammar_tokenizer().vocabulary();
    const auto add = [&](const char* text, TokenKind kind) {
        vocabulary.texts.emplace_back(text);
        vocabulary.kinds.push_back(kind);
        return static_cast<TokenId>(vocabulary.texts.size()) - 1;
    };
    const TokenId right = add("l>{\"", TokenKind::Normal), wrong = add("l>[", TokenKind::Normal),
                  whole = add("x<tool_call>\n{", TokenKind::Normal),
                  no_call = add("<tool_call>?", TokenKind::Normal),
                  tag = add("<tool_call>", TokenKind::Control), other = add("<other>", TokenKind::Control);
    const Tokenizer tokenizer(vocabulary);
    GrammarCache cache(tokenizer, {grammar_end_token});
    const auto grammar = cache.compile(source_of(ToolFormat::Hermes, false));
    EXPECT_EQ(grammar->trie().shown(), ShownTokens{{tag}});
    GrammarMatcher matcher(grammar, true);
    for (const auto& [token, allowed] : std::vector<std::pair<TokenId, bool>>{{right, true},
                                                                              {wrong, true},
                                                                              {whole, true},
                                                                              {no_call, false},
                                                                              {tag, true},
                                                                              {other, true},
                                                                              {grammar_end_token, true}})
        EXPECT_EQ(allows(*matcher.mask(), token), allowed) << token;
    EXPECT_FALSE(matcher.accept(no_call));
    EXPECT_TRUE(matcher.accept(other));  // no text
    for (const char c : std::string_view("<tool_cal")) matcher.accept(3 + static_cast<unsigned char>(c));
    EXPECT_TRUE(allows(*matcher.mask(), right));
    EXPECT_FALSE(allows(*matcher.mask(), wrong));
    EXPECT_TRUE(matcher.accept(right));
    EXPECT_FALSE(matcher.complete());
    EXPECT_FALSE(allows(*matcher.mask(), tag));

    GrammarMatcher forced(cache.compile(source_of(ToolFormat::Hermes, true)), true);
    EXPECT_TRUE(allows(*forced.mask(), tag));
    EXPECT_FALSE(allows(*forced.mask(), other));
    EXPECT_EQ(cache.compile({GrammarSource::Kind::JsonObject, ""})->trie().shown(), ShownTokens());
}

TEST(GrammarTools, RefusalsNameTheTool) {
    const auto refusal = [](const char* schema) {
        return refusal_of(GrammarSource::Kind::ToolCalls,
                          tool_grammar_source({ToolFormat::Hermes, false, true, {{"f", schema}}}).text);
    };
    EXPECT_EQ(refusal(kWeather), "accepted");
    EXPECT_TRUE(refusal(R"({"type": "object", "not": {}})").starts_with("the tool \"f\": JSON schema: "));
}

// Schemas with references of their own, which have the same names.
TEST(GrammarTools, ReferencesStayWithinTheirTool) {
    const auto schema = [](const char* type) {
        return std::string(
                   R"({"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "required": ["a"],
            "$defs": {"x": {"type": ")") +
               type + R"("}}})";
    };
    const GrammarSource source = tool_grammar_source(
        {ToolFormat::MistralArgs, true, true, {{"f", schema("null")}, {"g", schema("boolean")}}});
    EXPECT_TRUE(accepts_calls(source, "[TOOL_CALLS]f[ARGS]{\"a\": null}"));
    EXPECT_TRUE(accepts_calls(source, "[TOOL_CALLS]g[ARGS]{\"a\": true}"));
    EXPECT_FALSE(accepts_calls(source, "[TOOL_CALLS]g[ARGS]{\"a\": null}"));
}

}  // namespace
}  // namespace voltpile::llm
