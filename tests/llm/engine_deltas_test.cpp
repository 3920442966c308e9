// What callbacks get of an answer while it is written: whole characters, nothing of a stop string, and each
// token with its text.
#include <gtest/gtest.h>

#include <random>

#include "llm/engine/engine.h"
#include "llm/tokenizer/model_tokenizer.h"
#include "llm/tokenizer/utf8.h"
#include "llm/told_executor.h"

namespace voltpile::llm::engine_deltas_test {
namespace {

struct Told {
    std::vector<std::string> texts;      // of each delta
    std::vector<std::size_t> tokens;     // in each delta
    std::vector<std::int32_t> all;       // tokens
    std::vector<float> log_probability;  // of these
    std::string text;
    Outcome outcome;
};

class EngineDeltas : public testing::Test {
  protected:
    static EngineSettings settings() {
        EngineSettings settings;
        settings.scheduler.limits = {64, 4, 20, 4};
        settings.scheduler.pages = 40;
        settings.scheduler.context = 320;
        settings.scheduler.sequences = 4;
        return settings;
    }
    // The model draws these tokens and then no more.
    Told answer(const std::vector<std::int32_t>& drawn, const std::vector<std::string>& stop) {
        executor_.told[0] = drawn;
        Request request;
        request.prompt = {3};
        request.max_tokens = static_cast<int>(drawn.size());
        request.continues = true;
        request.stop = stop;
        request.top_n = 1;
        Told told;
        engine_.submit(
            request,
            [&](const Delta& delta) {
                told.texts.emplace_back(delta.text);
                told.tokens.push_back(delta.tokens.size());
                told.text += delta.text;
                told.all.insert(told.all.end(), delta.tokens.begin(), delta.tokens.end());
                told.log_probability.insert(told.log_probability.end(), delta.log_probability.begin(),
                                            delta.log_probability.end());
                EXPECT_EQ(delta.top.size(), delta.tokens.size());
                return true;
            },
            [&](Outcome outcome) { told.outcome = std::move(outcome); });
        while (!engine_.idle()) EXPECT_TRUE(engine_.step().empty());
        EXPECT_EQ(told.text, told.outcome.text);
        EXPECT_EQ(told.all, told.outcome.tokens);
        EXPECT_EQ(told.log_probability, told.outcome.log_probability);
        return told;
    }
    // One token for each byte.
    std::vector<std::int32_t> bytes(std::string_view text) const {
        return tokenizer_.encode(text, {.add_special = false, .parse_special = false, .continues = true});
    }

    Tokenizer tokenizer_ = synthetic_tokenizer(512);
    ToldExecutor executor_;
    Engine engine_{executor_, &tokenizer_, settings()};
};

using Texts = std::vector<std::string>;
using Counts = std::vector<std::size_t>;

TEST_F(EngineDeltas, PassOnEachTokenAtOnce) {
    const Told told = answer(bytes("abc"), {});
    EXPECT_EQ(told.texts, (Texts{"a", "b", "c"}));
    EXPECT_EQ(told.tokens, (Counts{1, 1, 1}));
}

TEST_F(EngineDeltas, HoldBackWhatMayBeginAStopString) {
    const Told told = answer(bytes("aENENx"), {"END"});
    EXPECT_EQ(told.texts, (Texts{"a", "", "", "EN", "", "ENx"}));
    EXPECT_EQ(told.tokens, (Counts{1, 0, 0, 2, 0, 3}));
    EXPECT_EQ(told.outcome.finish, Finish::Length);
}

TEST_F(EngineDeltas, EndBeforeAStopStringOfSeveralTokens) {
    const Told told = answer(bytes("aENDb"), {"zzz", "END"});
    EXPECT_EQ(told.text, "a");
    EXPECT_EQ(told.outcome.finish, Finish::Stopped);
    EXPECT_EQ(told.all.size(), 4U);  // including those of the stop string
}

TEST_F(EngineDeltas, PassOnHeldBackTextAtTheEnd) {
    const Told told = answer(bytes("aEN"), {"END"});
    EXPECT_EQ(told.texts, (Texts{"a", "", "EN"}));
    EXPECT_EQ(told.tokens, (Counts{1, 0, 2}));
}

TEST_F(EngineDeltas, HaveWholeCharactersOnly) {
    const Told told = answer(bytes("\xC3\xA9z\xE2\x82\xAC"), {});
    EXPECT_EQ(told.texts, (Texts{"", "\xC3\xA9", "z", "", "", "\xE2\x82\xAC"}));
    EXPECT_EQ(told.tokens, (Counts{0, 2, 1, 0, 0, 3}));
    auto cut = bytes("z\xE2\x82\xAC");
    cut.pop_back();
    EXPECT_EQ(answer(cut, {}).text, "z\xEF\xBF\xBD");
}

// Against a search in the text as it grows byte by byte.
TEST_F(EngineDeltas, AgreeWithASearchInTheWholeText) {
    std::mt19937 random(7);
    const std::vector<std::string> letters{"a", "b", "\xC3\xA9", "\xF0\x9F\x98\x80"};
    const auto text_of = [&](std::size_t length) {
        std::string text;
        for (std::size_t i = 0; i < length; ++i) text += letters[random() % letters.size()];
        return text;
    };
    int stopped = 0;
    for (int round = 0; round < 300; ++round) {
        const std::string text = text_of(1 + random() % 40);
        Texts stop;
        for (std::size_t i = random() % 4; i > 0; --i) stop.push_back(text_of(1 + random() % 5));
        std::size_t end = text.size();
        for (std::size_t length = 1; length <= text.size() && end == text.size(); ++length)
            for (const std::string& each : stop)
                if (text.substr(0, length).ends_with(each)) end = std::min(end, length - each.size());
        const Told told = answer(bytes(text), stop);
        ASSERT_EQ(told.text, text.substr(0, end));
        stopped += told.outcome.finish == Finish::Stopped ? 1 : 0;
        std::string so_far;
        std::size_t tokens = 0;
        for (std::size_t i = 0; i < told.texts.size(); ++i) {
            ASSERT_FALSE(find_invalid_utf8(told.texts[i]));
            so_far += told.texts[i];
            tokens += told.tokens[i];
            if (i + 1 < told.texts.size()) {
                ASSERT_EQ(tokens, so_far.size()) << "a token is a byte here";
            }
        }
    }
    EXPECT_GT(stopped, 50);
}

TEST_F(EngineDeltas, RejectStopStringsThatAreNotUtf8) {
    Request request;
    request.prompt = {3};
    request.stop = {"\x80"};
    EXPECT_THROW(engine_.submit(request), JobError);
}

}  // namespace
}  // namespace voltpile::llm::engine_deltas_test
