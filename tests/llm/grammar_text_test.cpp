// Regular expressions and grammar files.
#include "llm/grammar_fixture.h"

namespace voltpile::llm {
namespace {

struct RegexCase {
    const char* pattern;
    std::vector<const char*> accepted, refused;
};

// The expected values are those of Python's re.fullmatch.
TEST(Regex, MatchesTheWholeText) {
    for (const RegexCase& each :
         std::vector<RegexCase>{{"a|bc*", {"a", "b", "bccc"}, {"", "ab", "c"}},
                                {"(?:ab){2,3}?", {"abab", "ababab"}, {"ab", "abababab"}},
                                {"[^a-c]", {"d", "é", "日", "\n"}, {"a", "", "dd"}},
                                {".", {"x", "é", "\xF0\x9F\x98\x80"}, {"\n", "", "\xC3"}},
                                {"\\d+(\\.\\d{2})?", {"1", "12.50"}, {"1.5", "."}},
                                {"[\\w.-]+@x", {"a.b-c_1@x"}, {"@x", "é@x"}},
                                {"(?P<y>x)\\$", {"x$"}, {"x"}},
                                {"^a$|^b", {"a", "b"}, {"ab"}},
                                {"\\x41\\u00e9\\u{1F600}", {"A\xC3\xA9\xF0\x9F\x98\x80"}, {"A"}},
                                {"[\\]\\-\\\\]*", {"", "]-\\"}, {"["}},
                                {"a{,2}b{2}c{1,}{", {"bbc{", "aabbcc{"}, {"aaabbc{", "abc{"}},
                                {"x{a}", {"x{a}"}, {"x"}},
                                {"", {""}, {"a"}},
                                {"(a*)*b", {"b", "aab"}, {"a"}},
                                {"[é-ü]+", {"éü"}, {"e", "\xC3"}}}) {
        const auto grammar = regex_grammar(each.pattern);
        for (const char* text : each.accepted)
            EXPECT_TRUE(accepts_text(*grammar, text)) << each.pattern << ": " << text;
        for (const char* text : each.refused)
            EXPECT_FALSE(accepts_text(*grammar, text)) << each.pattern << ": " << text;
    }
}

TEST(Regex, RefusesWhatIsBrokenOrNotSupported) {
    const auto refusal = [](const char* pattern) { return refusal_of(GrammarSource::Kind::Regex, pattern); };
    EXPECT_EQ(refusal("(a"), "pattern '(a': character 3: ')' is missing");
    EXPECT_EQ(refusal("a)"), "pattern 'a)': character 2: ')' has no '('");
    EXPECT_EQ(refusal("*a"), "pattern '*a': character 2: nothing to repeat");
    EXPECT_EQ(refusal("a**"), "pattern 'a**': character 4: nothing to repeat");
    EXPECT_EQ(refusal("[a"), "pattern '[a': character 3: ']' is missing");
    EXPECT_EQ(refusal("[z-a]"), "pattern '[z-a]': character 5: the range 'z'-'a' is empty");
    EXPECT_EQ(refusal("a{3,2}"), "pattern 'a{3,2}': character 7: the repeat counts are in the wrong order");
    EXPECT_EQ(refusal("(?!a)b"), "pattern '(?!a)b': character 3: look-around is not supported");
    EXPECT_EQ(refusal("(a)\\1"), "pattern '(a)\\1': character 6: back-references are not supported");
    EXPECT_EQ(refusal("\\bx"), "pattern '\\bx': character 3: word boundaries are not supported");
    EXPECT_EQ(refusal("\\p{L}"), "pattern '\\p{L}': character 3: the escape \\p is not supported");
    EXPECT_EQ(refusal("a^b"),
              "pattern 'a^b': character 2: '^' is supported only at the beginning of an alternative");
    EXPECT_EQ(refusal("\xFF"), "pattern '\xFF': byte 0 is not UTF-8");
    EXPECT_EQ(refusal("[^\\w\\W]"), "no text satisfies the grammar");
}

TEST(Regex, BoundsTheWork) {
    const auto refusal = [](const char* pattern) { return refusal_of(GrammarSource::Kind::Regex, pattern); };
    EXPECT_NE(refusal("(a|b)*a(a|b){30}").find("needs more than 50000 states"), std::string::npos);
    EXPECT_NE(refusal("((a{1000}){1000}){1000}").find("too large to compile"), std::string::npos);
    EXPECT_NE(refusal("a{1000001}").find("the number is above"), std::string::npos);
    EXPECT_NE(refusal(std::string(200, '(').c_str()).find("more than 100 nested groups"), std::string::npos);
}

TEST(Gbnf, ArithmeticAndLists) {
    const auto sums = gbnf_grammar(
        "# an example\n"
        "root  ::= (expr \"=\" term \"\\n\")+   # lines\n"
        "expr  ::= term ([-+*/] term)*\n"
        "term  ::= ident | num |\n"
        "    \"(\" expr \")\"\n"
        "ident ::= [a-z] [a-z0-9_]*\n"
        "num   ::= [0-9]+\n");
    EXPECT_TRUE(accepts_text(*sums, "1+(a2*3)=x\n"));
    EXPECT_TRUE(accepts_text(*sums, "((a))=b\n1=2\n"));
    EXPECT_FALSE(accepts_text(*sums, "1+=x\n"));
    EXPECT_FALSE(accepts_text(*sums, "((a)=b\n"));
    const auto list = gbnf_grammar("root ::= (\"- \" item){2,3}\nitem ::= [^\\n\\x22]+ \"\\u000A\"");
    EXPECT_TRUE(accepts_text(*list, "- a\n- é日\n"));
    EXPECT_FALSE(accepts_text(*list, "- a\n"));
    EXPECT_FALSE(accepts_text(*list, "- \"\n- b\n"));
}

TEST(Gbnf, RecursionCountsToAnyDepth) {
    const auto balanced = gbnf_grammar("root ::= \"a\" root \"b\" | \"\"");
    for (const int depth : {0, 1, 7, 300}) {
        const auto n = static_cast<std::size_t>(depth);
        EXPECT_TRUE(accepts_text(*balanced, std::string(n, 'a') + std::string(n, 'b'))) << depth;
        EXPECT_FALSE(accepts_text(*balanced, std::string(n + 1, 'a') + std::string(n, 'b'))) << depth;
    }
    // A call at the end of its rule takes no room on the stack.
    const auto right = gbnf_grammar("root ::= \"a\" root | \"b\"");
    EXPECT_TRUE(accepts_text(*right, std::string(10000, 'a') + "b"));
}

TEST(Gbnf, AmbiguityStaysBounded) {
    std::string rules = "root ::= ";
    for (int i = 0; i < 60; ++i) rules += "(a | b) ";
    const auto grammar = gbnf_grammar(rules + "\na ::= \"a\"?\nb ::= \"a\"? \"b\"?\n");
    EXPECT_TRUE(accepts_text(*grammar, ""));
    EXPECT_TRUE(accepts_text(*grammar, "aab"));
}

TEST(Gbnf, RefusesWhatIsBroken) {
    const auto refusal = [](const char* text) { return refusal_of(GrammarSource::Kind::Gbnf, text); };
    EXPECT_EQ(refusal("root ::= x"), "grammar: the rule 'x' is missing");
    EXPECT_EQ(refusal("x ::= \"a\""), "grammar: the rule 'root' is missing");
    EXPECT_EQ(refusal("root ::= \"a\"\nroot ::= \"b\""), "grammar: line 2: the rule 'root' is there twice");
    EXPECT_EQ(refusal("root ::= \"a\"\nx = \"b\""), "grammar: line 2: expected '::=' after 'x'");
    EXPECT_EQ(refusal("root ::= \"a\n"), "grammar: line 1: '\"' is missing");
    EXPECT_EQ(refusal("root ::= (\"a\""), "grammar: character 14: ')' is missing");
    EXPECT_EQ(refusal("root ::= root \"a\" | \"b\""), "'root' refers to itself before it reads any text");
    EXPECT_EQ(refusal("root ::= x* root \"a\" | \"b\"\nx ::= \"x\""),
              "'root' refers to itself before it reads any text");
    EXPECT_EQ(refusal("root ::= \"a\" root"), "no text satisfies the grammar");
}

}  // namespace
}  // namespace voltpile::llm
