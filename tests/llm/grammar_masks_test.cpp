// Masks against a check of every token, byte by byte.
#include "llm/grammar/token_masks.h"

#include <algorithm>
#include <random>

#include "llm/grammar_fixture.h"

namespace voltpile::llm {
namespace {

const char* const nested_schema = R"({
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 6},
        "é\"": {"type": "array", "items": {"type": "number"}, "maxItems": 3},
        "tree": {"$ref": "#/$defs/node"},
        "any": true
    },
    "required": ["name"],
    "additionalProperties": {"enum": ["a\"b", 12, null]},
    "$defs": {"node": {"anyOf": [{"type": "null"},
        {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["next"]}]}}
})";

struct MaskCase {
    GrammarSource::Kind kind;
    const char* text;
};

// Whether the bytes of a token may follow, by the automaton alone.
bool may_follow(const Grammar& grammar, Configuration now, std::string_view bytes) {
    if (bytes.empty()) return false;
    for (const char c : bytes) now = after_byte(grammar.automaton(), now, static_cast<std::uint8_t>(c));
    return !now.dead();
}

TEST(GrammarMasks, AllowWhatTheAutomatonReadsByteByByte) {
    std::mt19937 random(5);
    for (const MaskCase& each :
         {MaskCase{GrammarSource::Kind::JsonSchema, nested_schema},
          {GrammarSource::Kind::JsonObject, ""},
          {GrammarSource::Kind::Regex, R"((?:[a-z]{2,5}\n)+|"é*日?[^b]{0,4}"|-?\d+(\.\d+)?)"},
          {GrammarSource::Kind::Gbnf,
           "root ::= sum\nsum ::= term (\"+\" term)*\nterm ::= [0-9]+ | \"(\" sum \")\" | name?\n"
           "name ::= \"a\" | \"ab\" name"}}) {
        const auto grammar = grammar_of(each.kind, each.text);
        const TokenTrie& trie = grammar->trie();
        for (int walk = 0; walk < 20; ++walk) {
            GrammarMatcher matcher(grammar, true);
            Configuration now = start_of(grammar->automaton());
            std::string text;
            for (int step = 0; step < 60; ++step) {
                const auto mask = matcher.mask();
                std::vector<TokenId> allowed;
                for (TokenId token = 0; token < trie.vocabulary(); ++token) {
                    const bool expected = token == grammar_end_token
                                              ? now.complete
                                              : may_follow(*grammar, now, trie.bytes_of(token));
                    ASSERT_EQ(allows(*mask, token), expected)
                        << each.text << "\nafter " << text << "\ntoken " << trie.bytes_of(token);
                    if (expected && token != grammar_end_token) allowed.push_back(token);
                }
                EXPECT_EQ(matcher.complete(), now.complete);
                if (allowed.empty()) break;
                const TokenId token = allowed[random() % allowed.size()];
                ASSERT_TRUE(matcher.accept(token));
                text += trie.bytes_of(token);
                now = after_text(*grammar, text);
            }
        }
    }
}

TEST(GrammarMasks, AreSharedByTextsThatNestDifferentlyDeep) {
    const auto grammar = grammar_of(GrammarSource::Kind::JsonObject, "");
    const auto mask_in_arrays = [&](std::size_t depth) {
        GrammarMatcher matcher(grammar, true);
        for (const char c : "{\"a\": " + std::string(depth, '['))
            EXPECT_TRUE(matcher.accept(3 + static_cast<std::uint8_t>(c)));  // the token of the byte
        return matcher.mask();
    };
    EXPECT_NE(*mask_in_arrays(1), *mask_in_arrays(2));  // "]}"
    EXPECT_EQ(mask_in_arrays(20), mask_in_arrays(30));
    EXPECT_EQ(mask_in_arrays(20), mask_in_arrays(200));
}

TEST(GrammarMasks, EndTokensOnlyWhereTheTextMayEnd) {
    GrammarMatcher matcher(regex_grammar("ab(ab)?"), true);
    EXPECT_FALSE(allows(*matcher.mask(), grammar_end_token));
    EXPECT_FALSE(matcher.accept(grammar_end_token));
    const auto token_of = [](std::string_view text) {
        const auto trie = grammar_trie();
        for (TokenId token = 0; token < trie->vocabulary(); ++token)
            if (trie->bytes_of(token) == text) return token;
        return -1;
    };
    EXPECT_TRUE(matcher.accept(token_of("ab")));
    EXPECT_TRUE(matcher.complete());
    EXPECT_FALSE(matcher.finished());
    EXPECT_TRUE(allows(*matcher.mask(), grammar_end_token));
    EXPECT_TRUE(matcher.accept(token_of("ab")));
    EXPECT_TRUE(matcher.finished());
    EXPECT_FALSE(matcher.accept(token_of("ab")));
    for (TokenId token = 0; token < grammar_trie()->vocabulary(); ++token)
        EXPECT_EQ(allows(*matcher.mask(), token), token == grammar_end_token) << token;
}

TEST(GrammarMasks, NeverAllowSpecialTokens) {
    GrammarMatcher matcher(regex_grammar("(.|\\n|\\r)*"), true);
    const auto mask = matcher.mask();
    EXPECT_FALSE(allows(*mask, 0));  // <unk>
    EXPECT_FALSE(allows(*mask, 1));  // <s>
    EXPECT_TRUE(allows(*mask, grammar_end_token));
}

TEST(GrammarMasks, SpaceThatIsNotPrintedDoesNotCount) {
    const auto grammar = grammar_of(GrammarSource::Kind::Regex, "\\{\"a| x", true);
    const TokenTrie& trie = grammar->trie();
    GrammarMatcher matcher(grammar), continued(grammar, true);
    for (TokenId token = 0; token < trie.vocabulary(); ++token) {
        const std::string_view bytes = trie.bytes_of(token);
        // Without its space, a token " x" is "x"; it takes two spaces to print one.
        EXPECT_EQ(allows(*matcher.mask(), token),
                  bytes == "{" || bytes == "{\"" || bytes == " {" || bytes == " {\"")
            << bytes;
        EXPECT_EQ(allows(*continued.mask(), token), bytes == "{" || bytes == "{\"" || bytes == " ") << bytes;
        GrammarMatcher fresh(grammar);
        EXPECT_EQ(fresh.accept(token), allows(*matcher.mask(), token)) << bytes;
    }
}

TEST(GrammarMasks, TellWhenNoTokenContinuesTheText) {
    Vocabulary vocabulary;
    vocabulary.kind = VocabularyKind::SentencePieceBpe;
    vocabulary.texts = {"<unk>", "a", "</s>"};
    vocabulary.kinds = {TokenKind::Unknown, TokenKind::Normal, TokenKind::Control};
    const auto trie = std::make_shared<const TokenTrie>(Tokenizer(vocabulary), std::vector<std::int64_t>{2});
    GrammarMatcher matcher(
        std::make_shared<const Grammar>(GrammarSource{GrammarSource::Kind::Regex, "ab"}, trie));
    EXPECT_FALSE(matcher.stuck());
    EXPECT_TRUE(matcher.accept(1));
    EXPECT_TRUE(matcher.stuck());
}

TEST(GrammarMasks, NestingIsLimited) {
    const auto grammar = grammar_of(GrammarSource::Kind::JsonObject, "");
    const auto nested = [](int depth) {
        return "{\"a\":" + std::string(static_cast<std::size_t>(depth), '[') +
               std::string(static_cast<std::size_t>(depth), ']') + "}";
    };
    EXPECT_TRUE(accepts_text(*grammar, nested(kMostDepth - 10)));
    EXPECT_FALSE(accepts_text(*grammar, nested(kMostDepth + 10)));
}

TokenId token_of_byte(char byte) {
    return 3 + static_cast<unsigned char>(byte);
}

// Writes a text by reading the first byte of `order` that may come next, and returns it. Where it nests deep,
// the mask must be what accept() says of every token.
std::string written(const std::shared_ptr<const Grammar>& grammar, std::string text, std::string_view order,
                    int checks) {
    GrammarMatcher matcher(grammar, true);
    for (const char c : text) EXPECT_TRUE(matcher.accept(token_of_byte(c)));
    while (!matcher.finished()) {
        const auto mask = matcher.mask();
        const auto next =
            std::ranges::find_if(order, [&](char c) { return allows(*mask, token_of_byte(c)); });
        if (next == order.end()) {
            ADD_FAILURE() << "nothing may follow " << text;
            break;
        }
        if (*next != order.front() && checks-- > 0) {
            for (TokenId token = 0; token < grammar->trie().vocabulary(); ++token)
                EXPECT_EQ(GrammarMatcher(matcher).accept(token), allows(*mask, token))
                    << text << " " << grammar->trie().bytes_of(token);
        }
        EXPECT_TRUE(matcher.accept(token_of_byte(*next)));
        text += *next;
    }
    return text;
}

TEST(GrammarMasks, ForbidToNestDeeperAtTheLimit) {
    const auto json = grammar_of(GrammarSource::Kind::JsonObject, "");
    const std::string text = written(json, "{\"a\":", "[]}", 20);
    const auto open = std::ranges::count(text, '[');
    EXPECT_GT(open, kMostDepth / 4);
    EXPECT_LE(open, kMostDepth);
    EXPECT_EQ(std::ranges::count(text, ']'), open);
    EXPECT_TRUE(accepts_text(*json, text));

    // A text that has nested as deep as it may must still reach its words, which nest two rules more.
    const auto pairs = grammar_of(GrammarSource::Kind::Gbnf,
                                  "root ::= \"(\" root \")\" | \"!\" pair \"!\"\n"
                                  "pair ::= \"<\" pair \">\" | \"?\" word \"?\"\n"
                                  "word ::= \"[\" word \"]\" | \"x\"\n");
    for (const char* order : {"(!<?[x]>)", "(!?<[x]>)", "!<?[x]>()", "!?[x]<>()"}) {
        const std::string nested = written(pairs, "", order, 20);
        EXPECT_NE(nested.find("x"), std::string::npos);
        EXPECT_TRUE(accepts_text(*pairs, nested));
        EXPECT_GT(nested.size(), static_cast<std::size_t>(kMostDepth)) << order;
    }
}

TEST(GrammarMasks, RefuseGrammarsThatCannotEndWithinTheLimit) {
    std::string text = "root ::= \"(\" r0 \")\"\n";
    for (int i = 0; i <= kMostDepth; ++i)  // each twice, so that none is written out in its place
        text += "r" + std::to_string(i) + " ::= \"(\" r" + std::to_string(i + 1) + " \")\" | \"[\" r" +
                std::to_string(i + 1) + " \"]\"\n";
    text += "r" + std::to_string(kMostDepth + 1) + " ::= \"x\" | \"y\" root\n";
    try {
        grammar_of(GrammarSource::Kind::Gbnf, text);
        FAIL() << "accepted";
    } catch (const GrammarError& error) {
        EXPECT_EQ(std::string(error.what()), "every text nests more than 500 rules");
    }
}

TEST(GrammarCache, KeepsWhatWasUsedLast) {
    const Tokenizer tokenizer = grammar_tokenizer();
    GrammarCache cache(tokenizer, {grammar_end_token});
    const GrammarSource first{GrammarSource::Kind::Regex, "first"};
    const auto compiled = cache.compile(first);
    EXPECT_EQ(cache.compile(first), compiled);
    for (std::size_t i = 0; i < GrammarCache::most_grammars; ++i)
        cache.compile({GrammarSource::Kind::Regex, "x" + std::to_string(i)});
    EXPECT_NE(cache.compile(first), compiled);
    EXPECT_THROW(cache.compile({GrammarSource::Kind::Regex, "("}), JobError);
}

}  // namespace
}  // namespace voltpile::llm
