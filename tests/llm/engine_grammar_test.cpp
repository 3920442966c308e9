// Sequences with a grammar in an engine, over an executor that draws any token that its mask allows.
#include <deque>
#include <random>

#include "llm/engine/engine.h"
#include "llm/grammar_fixture.h"

namespace voltpile::llm {
namespace {

class MaskedDraws final : public PassExecutor {
  public:
    explicit MaskedDraws(bool feeds) : feeds_(feeds) {}

    int lanes() const override { return 1; }
    bool feeds() const override { return feeds_; }
    void enqueue(const PlannedPass& pass) override {
        under_way_.emplace_back();
        if (!pass.draws_later) draw(pass.draws);
        late += pass.draws_later ? 1 : 0;
    }
    void draw(const std::vector<Draw>& draws) override {
        for (const Draw& draw : draws) under_way_.back().push_back({token_for(draw), -1});
    }
    std::vector<DrawnToken> collect() override {
        auto drawn = std::move(under_way_.front());
        under_way_.pop_front();
        return drawn;
    }
    int without_mask = 0;
    int late = 0;  // passes whose draws come later

  private:
    std::int32_t token_for(const Draw& draw) {
        if (draw.mask == nullptr) {
            ++without_mask;
            return 10;
        }
        std::vector<std::int32_t> allowed;
        for (std::int32_t token = 0; token < std::ssize(*draw.mask) * 32; ++token)
            if (allows(*draw.mask, token)) allowed.push_back(token);
        return allowed.empty() ? -1 : allowed[random_() % allowed.size()];
    }

    bool feeds_;
    std::mt19937 random_{3};
    std::deque<std::vector<DrawnToken>> under_way_;
};

EngineSettings engine_settings() {
    EngineSettings settings;
    settings.scheduler.limits = {256, 16, 16, 64};
    settings.scheduler.pages = 256;
    settings.scheduler.context = 256;
    settings.scheduler.sequences = 8;
    settings.end_ids = {grammar_end_token};
    return settings;
}

Request request_for(std::int64_t id, std::optional<GrammarSource> grammar) {
    Request request;
    request.id = id;
    request.prompt = {10, 11, 12};
    request.max_tokens = 100;
    request.grammar = std::move(grammar);
    return request;
}

class EngineGrammar : public testing::TestWithParam<bool> {
  protected:
    std::map<std::int64_t, Outcome> answer(std::vector<Request> requests) {
        Engine engine(executor_, &tokenizer_, engine_settings());
        for (Request& each : requests) engine.submit(std::move(each));
        std::map<std::int64_t, Outcome> outcomes;
        while (!engine.idle())
            for (Outcome& each : engine.step()) outcomes.emplace(each.id, std::move(each));
        return outcomes;
    }
    MaskedDraws executor_{GetParam()};
    Tokenizer tokenizer_ = grammar_tokenizer();
};
INSTANTIATE_TEST_SUITE_P(Executors, EngineGrammar, testing::Bool());

TEST_P(EngineGrammar, TextsSatisfyTheirGrammarsSideBySide) {
    const GrammarSource date{GrammarSource::Kind::Regex, R"(\d{4}-\d\d)"},
        number{GrammarSource::Kind::JsonSchema, R"({"type": "integer", "minimum": 3, "maximum": 1007})"},
        sum{GrammarSource::Kind::Gbnf, "root ::= [0-9] (\"+\" [0-9]){1,5}"};
    auto outcomes = answer({request_for(1, date), request_for(2, number), request_for(3, std::nullopt),
                            request_for(4, sum), request_for(5, date)});
    for (const auto& [id, source] :
         std::map<int, GrammarSource>{{1, date}, {2, number}, {4, sum}, {5, date}}) {
        EXPECT_EQ(outcomes[id].finish, Finish::End) << id;
        EXPECT_TRUE(accepts_text(*grammar_of(source.kind, source.text), outcomes[id].text))
            << id << ": " << outcomes[id].text;
    }
    EXPECT_EQ(outcomes[3].finish, Finish::Length);
    // Sequences that have ended while a pass was in flight draw without a mask there.
    if (GetParam()) {
        EXPECT_GE(executor_.without_mask, 100);
        EXPECT_LE(executor_.without_mask, 105);
        EXPECT_GT(executor_.late, 0);
    } else {
        EXPECT_EQ(executor_.without_mask, 100);
        EXPECT_EQ(executor_.late, 0);
    }
}

TEST_P(EngineGrammar, CompleteTextEndsWithoutAnEndToken) {
    const auto outcomes = answer({request_for(1, GrammarSource{GrammarSource::Kind::Regex, "(ab){3}"})});
    EXPECT_EQ(outcomes.at(1).text, "ababab");
    EXPECT_EQ(outcomes.at(1).finish, Finish::End);
}

TEST_P(EngineGrammar, RefusesBrokenGrammars) {
    Engine engine(executor_, &tokenizer_, engine_settings());
    EXPECT_THROW(engine.submit(request_for(1, GrammarSource{GrammarSource::Kind::Regex, "("})), JobError);
    Request request = request_for(1, GrammarSource{GrammarSource::Kind::Regex, "a"});
    request.ignore_end = true;
    EXPECT_THROW(engine.submit(request), JobError);
    Engine no_text(executor_, nullptr, engine_settings());
    EXPECT_THROW(no_text.submit(request_for(1, GrammarSource{GrammarSource::Kind::Regex, "a"})), JobError);
    EXPECT_TRUE(engine.idle());
}

TEST_P(EngineGrammar, SequenceWithoutAnAllowedTokenFails) {
    Vocabulary vocabulary;
    vocabulary.kind = VocabularyKind::SentencePieceBpe;
    vocabulary.texts = {"<unk>", "a", "</s>"};
    vocabulary.kinds = {TokenKind::Unknown, TokenKind::Normal, TokenKind::Control};
    tokenizer_ = Tokenizer(vocabulary);
    const auto outcomes = answer({request_for(1, GrammarSource{GrammarSource::Kind::Regex, "ab"})});
    EXPECT_EQ(outcomes.at(1).finish, Finish::Failed);
    EXPECT_EQ(outcomes.at(1).error, GrammarMatcher::why_stuck());
    EXPECT_EQ(outcomes.at(1).text, "a");
}

}  // namespace
}  // namespace voltpile::llm
