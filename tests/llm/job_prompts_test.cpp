// Prompt files: valid lines, and the error messages for invalid ones.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/error.h"
#include "llm/model/synthetic_model.h"
#include "llm/prompt_job/keys.h"
#include "llm/prompt_job/prompt_files.h"
#include "llm/prompt_job/prompt_line.h"
#include "llm/prompt_job/prompt_rows.h"
#include "llm/prompt_job/prompt_tokens.h"
#include "results/message_lines.h"

namespace voltpile::llm::job_prompts_test {
namespace {

std::string error_of_line(const std::string& line) {
    return parse_json_line(line, {}).error;
}

TEST(PromptLine, OverridesSettingsOfTheJob) {
    RequestSettings settings;
    settings.max_tokens = 99;
    settings.sampling.temperature = 0.5f;
    const Prompt prompt = parse_json_line(
        R"({"prompt": "Gr\u00fc\u00dfe", "id": 7, "max_tokens": 5, "top_k": 40, "top_p": 0.9, "min_p": 0.1,
            "repetition_penalty": 1.1, "presence_penalty": -1, "frequency_penalty": 2, "seed": 9,
            "stop": ["a", "b"]})",
        settings);
    EXPECT_EQ(prompt.error, "");
    EXPECT_EQ(prompt.text,
              "Gr\xc3\xbc\xc3\x9f"
              "e");
    EXPECT_EQ(prompt.id, "7");
    EXPECT_EQ(prompt.settings.max_tokens, 5);
    EXPECT_EQ(prompt.settings.stop, (std::vector<std::string>{"a", "b"}));
    const SamplingSettings& sampling = prompt.settings.sampling;
    EXPECT_EQ(sampling.temperature, 0.5f);
    EXPECT_EQ(sampling.top_k, 40);
    EXPECT_EQ(sampling.top_p, 0.9f);
    EXPECT_EQ(sampling.min_p, 0.1f);
    EXPECT_EQ(sampling.repetition_penalty, 1.1f);
    EXPECT_EQ(sampling.presence_penalty, -1.0f);
    EXPECT_EQ(sampling.frequency_penalty, 2.0f);
    EXPECT_EQ(sampling.seed, 9u);
}

TEST(PromptLine, OverridesWhatEndsAnAnswerAndWhichTokensItHas) {
    const Prompt prompt =
        parse_json_line(R"({"prompt": "a", "ignore_end": true, "logit_bias": {"5": -100}})", {});
    EXPECT_EQ(prompt.error, "");
    EXPECT_TRUE(prompt.settings.ignore_end);
    EXPECT_EQ(prompt.settings.sampling.logit_bias, (std::map<std::int32_t, float>{{5, -100.0f}}));
    EXPECT_EQ(error_of_line(R"({"prompt": "a", "top_n": 2})"),
              "\"top_n\" is the same for all prompts: set generate.top_n");
}

TEST(PromptTokens, RejectABiasForATokenThatTheModelLacks) {
    const LanguageModel model({.shape = "tiny"});
    Prompt prompt = parse_text_line("abc", {});
    prompt.settings.max_tokens = 1;
    prompt.settings.sampling.logit_bias[1 << 20] = 1;
    EXPECT_THROW(tokens_of(prompt, model, 22), JobError);
}

TEST(PromptLine, ReadsMessages) {
    const Prompt prompt = parse_json_line(
        R"({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}], "stop": "x"})",
        {});
    EXPECT_EQ(prompt.error, "");
    ASSERT_EQ(prompt.messages.size(), 2u);
    EXPECT_EQ(prompt.messages[0].role, ChatRole::System);
    EXPECT_EQ(prompt.messages[1].content.text(), "u");
    EXPECT_EQ(prompt.settings.stop, std::vector<std::string>{"x"});
}

TEST(PromptLine, ReadsToolCalls) {
    const Prompt prompt = parse_json_line(
        R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},)"
        R"( {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{\"z\": 1, \"a\": 2}"}}]},)"
        R"( {"role": "tool", "content": "3"}]})",
        {});
    EXPECT_EQ(prompt.error, "");
    ASSERT_EQ(prompt.messages.size(), 3u);
    EXPECT_EQ(prompt.messages[0].content.text(), "a\nb");
    EXPECT_TRUE(prompt.messages[1].content.is(jinja::Kind::None));
    EXPECT_EQ(prompt.messages[2].role, ChatRole::Tool);
    const ChatTemplate calls = ChatTemplate::of_model("{{ messages[1].tool_calls | tojson }}", "test");
    EXPECT_EQ(calls.render(prompt.messages, "", ""),
              R"([{"type": "function", "function": {"name": "f", "arguments": {"z": 1, "a": 2}}}])");
}

TEST(PromptLine, ReportsErrors) {
    EXPECT_EQ(error_of_line("{\"prompt\": "), "not valid JSON at byte 12");
    EXPECT_EQ(error_of_line("[1]"), "a line must be a JSON object, such as {\"prompt\": \"...\"}");
    EXPECT_EQ(error_of_line("{}"), "neither \"prompt\" nor \"messages\"");
    EXPECT_EQ(error_of_line(R"({"prompt": "a", "messages": [{"role": "user", "content": "u"}]})"),
              "\"prompt\" and \"messages\" exclude each other");
    EXPECT_EQ(error_of_line(R"({"prompt": ""})"), "the prompt is empty");
    EXPECT_EQ(error_of_line(R"({"prompt": 1})"), "\"prompt\" must be a string, not number");
    EXPECT_EQ(error_of_line(R"({"prompt": "a", "temprature": 1})"),
              "unknown field \"temprature\"; did you mean temperature?");
    EXPECT_EQ(error_of_line(R"({"prompt": "a", "max_tokens": 0})"),
              "\"max_tokens\" must be a whole number from 1 to 16777216");
    EXPECT_EQ(error_of_line(R"({"prompt": "a", "max_tokens": 2.5})"),
              "\"max_tokens\" must be a whole number from 1 to 16777216");
    EXPECT_EQ(error_of_line(R"({"prompt": "a", "seed": 18446744073709551615})"),
              "\"seed\" must be a whole number from 0 to 9223372036854775807");
    EXPECT_EQ(error_of_line(R"({"prompt": "a", "top_p": 1.5})"), "\"top_p\" must be a number from 0 to 1");
    EXPECT_EQ(error_of_line(R"({"prompt": "a", "temperature": 1e999})"),
              "not valid JSON: a number is too large");
    EXPECT_EQ(error_of_line(R"({"prompt": "a", "stop": [""]})"),
              "\"stop\" has an empty string, which would match everywhere");
    EXPECT_EQ(error_of_line(R"({"messages": []})"), "messages: must be a list with at least one message");
    EXPECT_EQ(error_of_line(R"({"messages": [{"role": "user"}]})"), "messages[0].content: is missing");
    EXPECT_EQ(error_of_line(R"({"messages": [{"role": "robot", "content": "x"}]})"),
              "messages[0].role: must be one of system, developer, user, assistant, tool, not \"robot\"");
    EXPECT_EQ(error_of_line(R"({"messages": [{"role": "user", "content": "x", "to": "y"}]})"),
              "messages[0].to: is not a known field");
    EXPECT_EQ(error_of_line(R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})"),
              "messages[0].content[0].type: is \"image_url\", but the model takes text only");
    EXPECT_EQ(parse_json_line("{\"id\": \"q\", \"prompt\": 1}", {}).id, "q");
    EXPECT_EQ(error_of_line(R"({"prompt": "a", "id": 1.5})"),
              "\"id\" must be a string or a whole number, not 1.5");
    EXPECT_EQ(error_of_line(R"({"prompt": "a", "id": true})"),
              "\"id\" must be a string or a whole number, not boolean");
}

// JSON does not define which value counts (RFC 8259, section 4).
TEST(PromptLine, RejectsDuplicateKeys) {
    const Prompt twice = parse_json_line(R"({"prompt": "a", "id": 7, "prompt": "b"})", {});
    EXPECT_EQ(twice.error, "\"prompt\" occurs twice");
    EXPECT_EQ(twice.id, "7");
    EXPECT_EQ(error_of_line(R"({"messages": [{"role": "user", "content": "u", "role": "system"}]})"),
              "\"role\" occurs twice");
    EXPECT_EQ(error_of_line(R"({"messages": [{"role": "user", "content": "u"}, {"role": "assistant",)"
                            R"( "content": "v"}, {"role": "user", "content": "w"}]})"),
              "");
}

class PromptFiles : public testing::Test {
  protected:
    PromptFiles() {
        folder_ = std::filesystem::temp_directory_path() / ("voltpile-prompts-" + std::to_string(::getpid()));
        std::filesystem::create_directory(folder_);
    }
    ~PromptFiles() override { std::filesystem::remove_all(folder_); }

    JobPrompts read(const std::string& name, const std::string& contents, const std::string& more = "",
                    const PromptLimits& limits = {}) {
        std::ofstream(folder_ / name, std::ios::binary) << contents;
        return read_existing(folder_ / name, more, limits);
    }
    static JobPrompts read_existing(const std::filesystem::path& file, const std::string& more = "",
                                    const PromptLimits& limits = {}) {
        const std::string text = "app = \"llm\"\n[model]\nsynthetic = \"tiny\"\n[prompts]\nfiles = [\"" +
                                 file.string() + "\"]\n" + more;
        const std::vector<AppSchema> apps{llm_schema()};
        return read_prompts(parse_job(text, "job.toml", {}, apps), limits);
    }
    template <class Read>
    static std::string error_of(Read&& read) {
        try {
            read();
        } catch (const JobError& error) {
            return error.what();
        }
        return "accepted";
    }
    std::string place_of(const std::string& name) const { return (folder_ / name).string(); }
    std::string place(const std::string& name, int line) const {
        return place_of(name) + ":" + std::to_string(line);
    }

    std::filesystem::path folder_;
};

TEST_F(PromptFiles, KeepsLineNumbersAndSkipsBlankLines) {
    const JobPrompts text = read("a.txt", "one\r\n\n  \ntwo", "[sampling]\nseed = 5\n");
    ASSERT_EQ(text.prompts.size(), 2u);
    EXPECT_EQ(text.prompts[0].text, "one");
    EXPECT_EQ(text.prompts[1].text, "two");
    EXPECT_EQ(text.prompts[1].place, place("a.txt", 4));
    EXPECT_EQ(text.prompts[0].settings.sampling.seed, 5u);
    EXPECT_EQ(text.prompts[1].settings.sampling.seed, 6u);
    const JobPrompts lines = read("a.jsonl", "{\"prompt\": \"p\"}\n{\"prompt\": \"q\", \"seed\": 3}\n");
    ASSERT_EQ(lines.prompts.size(), 2u);
    EXPECT_EQ(lines.prompts[1].settings.sampling.seed, 3u);
}

TEST_F(PromptFiles, NamesTheFirstTwentyInvalidLines) {
    std::string contents;
    for (int i = 0; i < 30; ++i) contents += i % 5 == 0 ? "{\"prompt\": \"fine\"}\n" : "{]\n";
    const JobPrompts all = read("bad.jsonl", contents);
    try {
        refuse_unusable(all.prompts);
        FAIL() << "they were taken";
    } catch (const JobError& error) {
        const std::string text = error.what();
        EXPECT_TRUE(text.starts_with(place("bad.jsonl", 2) + ": not valid JSON at byte 2\n")) << text;
        EXPECT_NE(text.find(place("bad.jsonl", 25)),
                  std::string::npos);  // the twentieth: lines 1, 6, 11, 16, 21 are valid
        EXPECT_EQ(text.find(place("bad.jsonl", 27)), std::string::npos);
        EXPECT_NE(text.find("and 4 more"), std::string::npos);
    }
}

TEST_F(PromptFiles, NamesMissingAndEmptyFiles) {
    EXPECT_THROW(read("empty.jsonl", "\n\n"), JobError);
    std::filesystem::create_directory(folder_ / "sub");
    EXPECT_THROW(read("sub", ""), JobError);
}

TEST_F(PromptFiles, RejectsDevices) {
    EXPECT_EQ(error_of([] { read_existing("/dev/zero"); }),
              "/dev/zero: a device; prompts.files takes regular files and pipes, such as /dev/stdin");
}

TEST_F(PromptFiles, ReadsPipesUpToALimit) {
    const std::filesystem::path pipe = folder_ / "pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    const auto read_from_writer = [&](const PromptLimits& limits) {
        std::thread writer([&] { std::ofstream(pipe) << "one\ntwo\n"; });
        std::string error;
        JobPrompts all;
        error = error_of([&] { all = read_existing(pipe, "", limits); });
        writer.join();
        return std::pair(error, all.prompts.size());
    };
    EXPECT_EQ(read_from_writer({.pipe_bytes = 8}), (std::pair<std::string, std::size_t>("accepted", 2)));
    EXPECT_EQ(read_from_writer({.file_bytes = 100, .pipe_bytes = 7}).first,
              pipe.string() + ": more than 7 bytes, the most that a job reads from a pipe; split it");
}

TEST_F(PromptFiles, LimitsTheBytesOfAFileAndOfALine) {
    EXPECT_EQ(error_of([&] { read("a.txt", "123456", "", {.file_bytes = 5}); }),
              place_of("a.txt") + ": more than 5 bytes, the most that a job reads from a file; split it");
    const JobPrompts all = read("b.txt", "12345\n123456\n\n1\n", "", {.line_bytes = 5});
    ASSERT_EQ(all.prompts.size(), 3u);
    EXPECT_EQ(all.prompts[0].error, "");
    EXPECT_EQ(all.prompts[1].error, "the line has 6 bytes; at most 5 are allowed");
    EXPECT_EQ(all.prompts[1].place, place("b.txt", 2));
    EXPECT_EQ(all.prompts[1].text, "");
    EXPECT_EQ(all.prompts[2].error, "");
}

TEST_F(PromptFiles, CountsSkippedPromptsAndNamesTheFirst) {
    EXPECT_EQ(skipped_text(read("good.jsonl", "{\"prompt\": \"p\"}\n").prompts), "");
    const JobPrompts all = read("bad.jsonl", "{\"prompt\": \"p\"}\n{]\n\n{]\n");
    EXPECT_EQ(unusable_count(all.prompts), 2);
    EXPECT_EQ(skipped_text(all.prompts), "skips 2 of 3 prompts (prompts.on_error = \"skip\"); the first is " +
                                             place("bad.jsonl", 2) + ": not valid JSON at byte 2");
}

TEST_F(PromptFiles, SurvivesBroadcastToOtherRanks) {
    JobPrompts all = read("a.jsonl",
                          "{\"messages\": [{\"role\": \"user\", \"content\": \"u\\u0000\"}], \"seed\": 3, "
                          "\"stop\": \"x\", \"ignore_end\": true}\n"
                          "{\"prompt\": \"p\", \"top_p\": 0.3}\nnonsense\n");
    all.mean_prompt_tokens = 2.5;
    all.prompts[0].tokens = {7, 0, 70000};
    const JobPrompts there = JobPrompts::from_bytes(all.to_bytes());
    ASSERT_EQ(there.prompts.size(), 3u);
    EXPECT_EQ(there.prompts[0].text, all.prompts[0].text);
    EXPECT_EQ(there.prompts[0].tokens, all.prompts[0].tokens);
    EXPECT_EQ(there.prompts[0].settings.sampling.seed, 3u);
    EXPECT_EQ(there.prompts[0].settings.stop, std::vector<std::string>{"x"});
    EXPECT_TRUE(there.prompts[0].settings.ignore_end);
    EXPECT_EQ(there.prompts[1].settings.sampling.top_p, 0.3f);
    EXPECT_EQ(there.prompts[2].error, all.prompts[2].error);
    EXPECT_EQ(there.prompts[2].place, all.prompts[2].place);
    EXPECT_EQ(there.inputs[0].fingerprint, all.inputs[0].fingerprint);
    EXPECT_EQ(there.mean_prompt_tokens, 2.5);
}

TEST(PromptTokens, RejectPromptsBeyondTheContext) {
    const LanguageModel model({.shape = "tiny"});
    Prompt prompt = parse_text_line(
        "abcdef", {});  // one token per byte, after <s> and the three bytes of the space marker
    prompt.settings.max_tokens = 12;
    EXPECT_EQ(tokens_of(prompt, model, 22).size(), 10u);
    prompt.settings.max_tokens = 13;
    try {
        tokens_of(prompt, model, 22);
        FAIL() << "it was taken";
    } catch (const JobError& error) {
        EXPECT_STREQ(error.what(), "a prompt of 10 tokens and max_tokens = 13 exceed the context of 22");
    }
}

Outcome outcome_of(std::int64_t id) {
    Outcome outcome;
    outcome.id = id;
    outcome.text = "text " + std::to_string(id);
    outcome.tokens.assign(static_cast<std::size_t>(id), 1);
    return outcome;
}

struct Submitted {
    WorkRange range;
    std::vector<std::string> texts;
    friend bool operator==(const Submitted&, const Submitted&) = default;
};

TEST(PromptRows, SubmitsRangesInAnyOrder) {
    std::vector<Prompt> prompts(9);
    prompts[4].error = "cannot be used";
    std::vector<Submitted> submitted;
    PromptRows rows(prompts, 0, [&](WorkRange range, const std::vector<FieldBuffer>& data) {
        ASSERT_EQ(data.size(), prompt_fields(0, 1, 1).size());
        Submitted each{range, {}};
        const RowsView view(data[0], range.size(), 1);
        for (std::int64_t i = 0; i < range.size(); ++i) each.texts.emplace_back(view.text(i));
        submitted.push_back(each);
    });
    EXPECT_EQ(rows.begin({0, 3}), (std::vector<std::int64_t>{0, 1, 2}));
    EXPECT_EQ(rows.begin({3, 5}), std::vector<std::int64_t>{3});
    EXPECT_EQ(rows.begin({5, 9}).size(), 4u);
    rows.add(outcome_of(3));
    rows.add(outcome_of(2));
    rows.add(outcome_of(0));
    EXPECT_EQ(submitted, (std::vector<Submitted>{{{3, 5}, {"text 3", ""}}}));
    rows.add(outcome_of(1));
    EXPECT_EQ(submitted.back(), (Submitted{{0, 3}, {"text 0", "text 1", "text 2"}}));
    for (const std::int64_t i : {5, 7, 8}) rows.add(outcome_of(i));
    submitted.clear();
    rows.submit_rest();
    EXPECT_EQ(submitted, (std::vector<Submitted>{{{5, 6}, {"text 5"}}, {{7, 9}, {"text 7", "text 8"}}}));
    EXPECT_TRUE(rows.empty());
}

// An output line with the fields that add_messages() reads.
nlohmann::ordered_json answer_line(const std::string& prompt, const std::string& error = "") {
    return {{"prompt", 3}, {"text", "42"}, {"error", error}, {"prompt_text", prompt}};
}

TEST(MessageLine, ConversationIsAPromptAgain) {
    const Prompt asked = parse_json_line(R"({"messages": [{"role": "user", "content": "6 x 7?"}]})", {});
    nlohmann::ordered_json line = answer_line(asked.text);
    add_messages(line);
    EXPECT_EQ(line["prompt"], 3);
    line["messages"].push_back({{"role", "user"}, {"content", "Sure?"}});
    const Prompt again = parse_json_line(nlohmann::ordered_json{{"messages", line["messages"]}}.dump(), {});
    EXPECT_EQ(again.error, "");
    ASSERT_EQ(again.messages.size(), 3u);
    EXPECT_EQ(again.messages[0].content.text(), "6 x 7?");
    EXPECT_EQ(again.messages[1].role, ChatRole::Assistant);
    EXPECT_EQ(again.messages[1].content.text(), "42");
}

TEST(MessageLine, FailedConversationHasNoAnswer) {
    nlohmann::ordered_json line = answer_line(R"([{"content":"6 x 7?","role":"user"}])", "no room");
    add_messages(line);
    EXPECT_EQ(line["messages"].size(), 1u);
}

TEST(MessageLine, PlainPromptsHaveNoMessages) {
    for (const char* prompt : {"", "6 x 7?", "[", "[]", "[1, 2]", R"([{"role": "user"}])"}) {
        nlohmann::ordered_json line = answer_line(prompt);
        add_messages(line);
        EXPECT_EQ(line, answer_line(prompt));
    }
}

}  // namespace
}  // namespace voltpile::llm::job_prompts_test
