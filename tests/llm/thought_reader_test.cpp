// Thoughts before answers: the same wherever the answer is cut.
#include "llm/grammar/thought_reader.h"

#include <gtest/gtest.h>

#include <vector>

#include "llm/grammar/tool_call_reader.h"

namespace voltpile::llm {
namespace {

struct ThoughtCase {
    Thoughts thoughts;
    std::string answer, thought, text;
};

const std::vector<ThoughtCase>& thought_cases() {
    using enum Thoughts;
    static const std::vector<ThoughtCase> cases{
        {None, "<think>a</think>b", "", "<think>a</think>b"},
        {Maybe, "Hello.", "", "Hello."},
        {Maybe, " \n", "", " \n"},
        {Maybe, "<think>\nFirst, then\n\nsecond.\n</think>\n\nHello.\n", "First, then\n\nsecond.",
         "Hello.\n"},
        {Maybe, "\n<think></think>b", "", "b"},
        {Maybe, "<think>\n\n</think>\n\nb", "", "b"},
        {Maybe, "<thin", "", "<thin"},
        {Maybe, "<thinker> a", "", "<thinker> a"},
        {Maybe, "b <think>a</think>", "", "b <think>a</think>"},
        {Maybe, "<think>a</think>b<think>c</think>", "a", "b<think>c</think>"},
        {Open, "\nWhy? a < b </b> <</think>\nb </think>", "Why? a < b </b> <", "b </think>"},
        {Open, "cut off\n", "cut off", ""},
        {Open, "cut off </thi", "cut off </thi", ""},
        {Open, "</think>b", "", "b"},
        {Open, "<think>a</think>b", "<think>a", "b"},
        {Open, "", "", ""},
    };
    return cases;
}

TEST(ThoughtReader, SeparatesThoughtsWhereverTheAnswerIsCut) {
    for (const ThoughtCase& each : thought_cases())
        for (std::size_t step : {std::size_t{1}, std::size_t{2}, std::size_t{5}, each.answer.size() + 1}) {
            ThoughtReader reader(each.thoughts);
            std::string thought, text;
            const auto take = [&](const ThoughtReader::Piece& piece) {
                EXPECT_TRUE(text.empty() || piece.thought.empty()) << each.answer;
                thought += piece.thought;
                text += piece.text;
            };
            for (std::size_t at = 0; at < each.answer.size(); at += step)
                take(reader.read(std::string_view(each.answer).substr(at, step)));
            take(reader.finish());
            EXPECT_EQ(thought, each.thought) << each.answer << ", " << step;
            EXPECT_EQ(text, each.text) << each.answer << ", " << step;
        }
}

TEST(ThoughtReader, CallsFollowThoughtsAndDoNotBeginInThem) {
    const std::string call = R"(<tool_call>{"name": "f", "arguments": {}}</tool_call>)";
    const ReadAnswer open = read_answer(ToolFormat::Hermes, "or " + call + "</think>" + call, Thoughts::Open);
    EXPECT_EQ(open.thought, "or " + call);
    EXPECT_EQ(open.text, "");
    EXPECT_EQ(open.calls.size(), 1U);
    const std::string bare = R"({"name": "f", "parameters": {}})";
    const ReadAnswer llama = read_answer(ToolFormat::Llama3, "So\n</think>\n\n" + bare, Thoughts::Open);
    EXPECT_EQ(llama.thought, "So");
    ASSERT_EQ(llama.calls.size(), 1U);
    EXPECT_EQ(llama.calls[0].arguments, "{}");
}

}  // namespace
}  // namespace voltpile::llm
