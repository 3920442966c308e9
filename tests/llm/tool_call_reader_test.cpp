// Calls of tools in answers: the same wherever the answer is cut.
#include "llm/grammar/tool_call_reader.h"

#include <gtest/gtest.h>

namespace voltpile::llm {
namespace {

using Calls = std::vector<std::pair<std::string, std::string>>;

struct ReaderCase {
    ToolFormat format;
    std::string answer;
    std::string text;
    Calls calls;
};

const std::string kParis = R"({"city": "Paris"})";
const std::string kTags = R"({"q": "</tool_call> [TOOL_CALLS] \"}{\\", "n": [1, {"a": {}}]})";

std::vector<ReaderCase> reader_cases() {
    using enum ToolFormat;
    const auto hermes = [](const std::string& name, const std::string& arguments) {
        return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + arguments + "}\n</tool_call>";
    };
    std::vector<ReaderCase> cases{
        {Hermes, "Hello.\n", "Hello.\n", {}},
        {Hermes, hermes("f", kParis), "", {{"f", kParis}}},
        {Hermes,
         "I look.\n\n" + hermes("f", kParis) + "\n" + hermes("g", "{}") + "\n",
         "I look.",
         {{"f", kParis}, {"g", "{}"}}},
        {Hermes, hermes("f", kTags), "", {{"f", kTags}}},
        {Hermes, "a < b, <tool_box> and <tool_cal", "a < b, <tool_box> and <tool_cal", {}},
        {Hermes, "<<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>", "<", {{"f", "{}"}}},
        // What a thinking block says about calls is not a call.
        {Hermes,
         "<think>\nI may write <tool_call>{\"name\": \"g\"} or </thin.\n</think>\n\n" + hermes("f", kParis),
         "<think>\nI may write <tool_call>{\"name\": \"g\"} or </thin.\n</think>",
         {{"f", kParis}}},
        {Hermes,
         "<think>Why?</think><tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>",
         "<think>Why?</think>",
         {{"f", "{}"}}},
        {Hermes, "<think>" + hermes("f", kParis), "<think>" + hermes("f", kParis), {}},
        {Hermes, "<<think><tool_call></think>.", "<<think><tool_call></think>.", {}},
        // Other members, another order, no arguments, a name with escapes.
        {Hermes,
         "<tool_call>{\"id\": 7, \"arguments\": {\"a\": 1}, \"name\": \"f\"}</tool_call>",
         "",
         {{"f", "{\"a\": 1}"}}},
        {Hermes, "<tool_call> {\"name\": \"\\u0066\", \"x\": null} </tool_call>", "", {{"f", "{}"}}},
        {Hermes, "<tool_call>{\"name\":\"f\",\"arguments\":{}} Done.", "Done.", {{"f", "{}"}}},
        // No call after all.
        {Hermes, "<tool_call>is a tag", "<tool_call>is a tag", {}},
        {Hermes,
         "<tool_call>{\"nome\": \"f\"}</tool_call> so",
         "<tool_call>{\"nome\": \"f\"}</tool_call> so",
         {}},
        {Hermes, "<tool_call>{\"name\": 3}", "<tool_call>{\"name\": 3}", {}},
        // Cut off: before the name nothing is known of the call; after it, the arguments stay as they are.
        {Hermes, "Text <tool_call>{\"na", "Text", {}},
        {Hermes,
         "<tool_call>{\"name\": \"f\", \"arguments\": {\"city\": \"Pa",
         "",
         {{"f", "{\"city\": \"Pa"}}},
        {Llama3, "{\"name\": \"f\", \"parameters\": " + kParis + "}", "", {{"f", kParis}}},
        {Llama3, "\n{ \"type\" : \"function\", \"name\": \"f\", \"parameters\": {}}", "", {{"f", "{}"}}},
        {Llama3, "So: <|python_tag|>{\"name\": \"f\", \"parameters\": " + kTags + "}", "So:", {{"f", kTags}}},
        {Llama3, "{\"answer\": 42}", "{\"answer\": 42}", {}},
        {Llama3, "{ }", "{ }", {}},
        {Llama3,
         "See {\"name\": \"f\", \"parameters\": {}}",
         "See {\"name\": \"f\", \"parameters\": {}}",
         {}},
        {Llama3, "<|python_tag|>print(1)", "<|python_tag|>print(1)", {}},
        {Mistral, "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": " + kParis + "}]", "", {{"f", kParis}}},
        {Mistral,
         "Well. [TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}}, {\"arguments\": " + kTags +
             ", \"name\": \"g\", \"id\": \"012345678\"}]",
         "Well.",
         {{"f", "{}"}, {"g", kTags}}},
        {Mistral, "[TOOL] [1]", "[TOOL] [1]", {}},
        {Mistral, "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}}, ", "", {{"f", "{}"}}},
        {MistralArgs,
         "[TOOL_CALLS]f[ARGS]" + kParis + "[TOOL_CALLS]g[CALL_ID]012345678[ARGS]" + kTags,
         "",
         {{"f", kParis}, {"g", kTags}}},
        {MistralArgs, "Hm, [TOOL_CALLS]get_it{\"a\": 1}", "Hm,", {{"get_it", "{\"a\": 1}"}}},
        {MistralArgs, "[TOOL_CALLS]f[AR", "", {}},
        {MistralArgs, "[TOOL_CALLS]f[ARGS]{}[TOOL", "", {{"f", "{}"}}},
    };
    return cases;
}

ReadAnswer read_in_pieces(ToolFormat format, const std::vector<std::string_view>& answer) {
    ToolCallReader reader(format);
    ReadAnswer read;
    const auto take = [&](const std::vector<ToolCallPiece>& pieces) {
        for (const ToolCallPiece& piece : pieces) {
            if (piece.kind == ToolCallPiece::Kind::Text) read.text += piece.text;
            if (piece.kind == ToolCallPiece::Kind::Name) read.calls.push_back({piece.text, ""});
            if (piece.kind == ToolCallPiece::Kind::Arguments) read.calls.back().arguments += piece.text;
        }
    };
    for (const std::string_view piece : answer) take(reader.read(piece));
    take(reader.finish());
    EXPECT_EQ(reader.calls(), std::ssize(read.calls));
    return read;
}

void expect_same(const ReadAnswer& read, const ReaderCase& expected, const std::string& where) {
    EXPECT_EQ(read.text, expected.text) << expected.answer << where;
    Calls calls;
    for (const ToolCall& call : read.calls) calls.emplace_back(call.name, call.arguments);
    EXPECT_EQ(calls, expected.calls) << expected.answer << where;
}

TEST(ToolCallReader, ReadsEachFormatWhereverTheAnswerIsCut) {
    for (const ReaderCase& each : reader_cases()) {
        const std::string_view answer = each.answer;
        expect_same(read_answer(each.format, answer), each, ", whole");
        std::vector<std::string_view> bytes;
        for (std::size_t cut = 0; cut < answer.size(); ++cut) {
            expect_same(read_in_pieces(each.format, {answer.substr(0, cut), answer.substr(cut)}), each,
                        ", cut at " + std::to_string(cut));
            bytes.push_back(answer.substr(cut, 1));
        }
        expect_same(read_in_pieces(each.format, bytes), each, ", byte by byte");
    }
}

TEST(ToolCallReader, StreamsTextAndArgumentsAsTheyCome) {
    using Kind = ToolCallPiece::Kind;
    using Pieces = std::vector<ToolCallPiece>;
    ToolCallReader reader(ToolFormat::Hermes);
    EXPECT_EQ(reader.read("One mo"), (Pieces{{Kind::Text, "One mo"}}));
    EXPECT_EQ(reader.read("ment. <to"), (Pieces{{Kind::Text, "ment."}}));
    EXPECT_EQ(reader.read("ol_call>{\"name\":"), Pieces());
    EXPECT_EQ(reader.read(" \"f\", \"arguments\": {\"a\""),
              (Pieces{{Kind::Name, "f"}, {Kind::Arguments, "{\"a\""}}));
    EXPECT_EQ(reader.read(": 1"), (Pieces{{Kind::Arguments, ": 1"}}));
    EXPECT_EQ(reader.read("}}</tool_call>"), (Pieces{{Kind::Arguments, "}"}}));
    EXPECT_EQ(reader.finish(), Pieces());
}

TEST(ToolCallReader, WithoutAFormatAllIsText) {
    const std::string answer = "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>\n";
    EXPECT_EQ(read_answer(std::nullopt, answer).text, answer);
}

TEST(ToolFormat, IsThatOfTheChatTemplate) {
    EXPECT_EQ(tool_format_of("... <tool_call> ..."), ToolFormat::Hermes);
    EXPECT_EQ(tool_format_of("'[TOOL_CALLS] ['"), ToolFormat::Mistral);
    EXPECT_EQ(tool_format_of("'[TOOL_CALLS]' name '[ARGS]'"), ToolFormat::MistralArgs);
    EXPECT_EQ(tool_format_of("<|start_header_id|> ... \"parameters\": "), ToolFormat::Llama3);
    EXPECT_EQ(tool_format_of("<tool_call><function=f>"), std::nullopt);  // XML, as of Qwen 3 Coder
    EXPECT_EQ(tool_format_of("'<|start|>assistant<|channel|>final<|message|>'"), ToolFormat::Harmony);
    EXPECT_EQ(tool_format_of("<|im_start|>"), std::nullopt);
    for (const std::string& each : tool_format_names()) EXPECT_EQ(name(*tool_format_named(each)), each);
    EXPECT_EQ(tool_format_named("xml"), std::nullopt);
}

}  // namespace
}  // namespace voltpile::llm
