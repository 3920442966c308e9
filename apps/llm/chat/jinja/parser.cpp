#include "llm/chat/jinja/parser.h"

#include <fmt/format.h>

namespace voltpile::llm::jinja {

Parser::Parser(std::string_view source) {
    if (source.size() > kMostSourceBytes)
        throw SyntaxProblem{1, fmt::format("the template has more than {} bytes", kMostSourceBytes)};
    tokens_ = tokens_of(source);
}

Body Parser::parse() {
    return parse_until({});
}

Token Parser::next() {
    Token token = current();
    if (token.kind != TokenKind::End) ++at_;
    return token;
}

bool Parser::is_name(std::string_view name) const {
    return current().kind == TokenKind::Name && current().text == name;
}

bool Parser::is_operator(std::string_view sign) const {
    return current().kind == TokenKind::Operator && current().text == sign;
}

bool Parser::skip_name(std::string_view name) {
    const bool found = is_name(name);
    if (found) ++at_;
    return found;
}

bool Parser::skip_operator(std::string_view sign) {
    const bool found = is_operator(sign);
    if (found) ++at_;
    return found;
}

std::string Parser::expect_name() {
    if (current().kind != TokenKind::Name) fail(fmt::format("expected a name, not {}", described(current())));
    return next().text;
}

void Parser::expect_operator(std::string_view sign) {
    if (!skip_operator(sign)) fail(fmt::format("expected '{}', not {}", sign, described(current())));
}

void Parser::expect(TokenKind kind, std::string_view what) {
    if (current().kind != kind) fail(fmt::format("expected {}, not {}", what, described(current())));
    ++at_;
}

void Parser::fail(const std::string& message) const {
    throw SyntaxProblem{current().line, message};
}

}  // namespace voltpile::llm::jinja
