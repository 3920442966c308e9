// Splits a template into tokens, with Jinja's rules for white space around tags (trim_blocks and
// lstrip_blocks on, as transformers renders chat templates).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile::llm::jinja {

enum class TokenKind {
    Data,        // text between tags
    BlockBegin,  // {%
    BlockEnd,
    PrintBegin,  // {{
    PrintEnd,
    Name,
    Text,
    Integer,
    Real,
    Operator,
    End,
};

struct Token {
    TokenKind kind;
    int line;
    std::string text;  // Text: with escapes resolved
    std::int64_t integer = 0;
    double real = 0;
};

// A problem at a line of the template.
struct SyntaxProblem {
    int line;
    std::string message;
};

// Returns the tokens; the last is End. source: valid UTF-8. Throws SyntaxProblem.
std::vector<Token> tokens_of(std::string_view source);

// Returns the token as messages name it: "end of statement block", 'name'.
std::string described(const Token& token);

}  // namespace voltpile::llm::jinja
