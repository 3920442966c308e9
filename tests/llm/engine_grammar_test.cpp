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
    std::int32_t free = 10;  // drawn without a mask
    int late = 0;            // passes whose draws come later
    bool by_step = false;    // a draw depends on its number and its mask only

  private:
    std::int32_t token_for(const Draw& draw) {
        if (draw.mask == nullptr) {
            ++without_mask;
            return free;
        }
        std::vector<std::int32_t> allowed;
        for (std::int32_t token = 0; token < std::ssize(*draw.mask) * 32; ++token)
            if (allows(*draw.mask, token)) allowed.push_back(token);
        if (allowed.empty()) return -1;
        return allowed[by_step ? static_cast<std::size_t>(draw.step) / 40 % allowed.size()
                               : random_() % allowed.size()];
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
    std::map<std::int64_t, Outcome> answer(std::vector<Request> requests,
                                           const EngineSettings& settings = engine_settings()) {
        Engine engine(executor_, &tokenizer_, settings);
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

TEST_P(EngineGrammar, ChannelsShowTheMarkersOfTheFormat) {
    Vocabulary vocabulary = grammar_tokenizer().vocabulary();
    vocabulary.texts.emplace_back("<|end|>");
    vocabulary.kinds.push_back(TokenKind::Control);
    executor_.free = static_cast<std::int32_t>(vocabulary.texts.size()) - 1;
    vocabulary.added.push_back({.id = executor_.free, .text = "<|end|>", .special = true});
    tokenizer_ = Tokenizer(vocabulary);
    Request plain = request_for(1, std::nullopt), channels = request_for(2, std::nullopt);
    plain.max_tokens = channels.max_tokens = 2;
    channels.channels = true;
    const auto outcomes = answer({plain, channels});
    EXPECT_EQ(outcomes.at(1).text, "");
    EXPECT_EQ(outcomes.at(2).text, "\xFF<|end|>\xFF<|end|>");
}

// Guesses ahead have the masks of the states that they lead to.
TEST_P(EngineGrammar, TextsAreTheSameWithGuessesAhead) {
    executor_.by_step = true;
    const std::vector<GrammarSource> sources{
        {GrammarSource::Kind::Regex, "((abc|xyz)-){1,30}"},
        {GrammarSource::Kind::Gbnf, "root ::= \"[\" (\"12, \"){20} \"0]\""},
        {GrammarSource::Kind::JsonSchema, R"({"type": "array", "items": {"const": "ab"}, "maxItems": 12})"},
        {GrammarSource::Kind::Regex, "(ab){40}"}};
    std::vector<Request> requests;
    for (const GrammarSource& source : sources)
        requests.push_back(request_for(static_cast<std::int64_t>(requests.size()), source));
    auto plain = answer(requests);
    EngineSettings settings = engine_settings();
    settings.scheduler.draft_tokens = 6;
    auto guessed = answer(requests, settings);
    int right = 0;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const Outcome &before = plain[static_cast<std::int64_t>(i)],
                      &now = guessed[static_cast<std::int64_t>(i)];
        EXPECT_EQ(now.tokens, before.tokens) << i;
        EXPECT_EQ(now.text, before.text) << i;
        EXPECT_EQ(now.finish, before.finish) << i;
        EXPECT_EQ(before.drafted_tokens, 0);
        right += now.right_tokens;
    }
    EXPECT_GT(right, 40);
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
