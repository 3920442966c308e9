// Makes the syntax tree of a template.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "llm/chat/jinja/lexer.h"
#include "llm/chat/jinja/limits.h"
#include "llm/chat/jinja/statements.h"

namespace voltpile::llm::jinja {

class Parser {
  public:
    // source: valid UTF-8. Throws SyntaxProblem.
    explicit Parser(std::string_view source);

    // Returns the whole template. Throws SyntaxProblem.
    Body parse();

  private:
    class Nested;  // counts the depth of recursion

    // Tokens.
    const Token& current() const { return tokens_[at_]; }
    const Token& following() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
    Token next();
    bool is_name(std::string_view name) const;
    bool is_operator(std::string_view sign) const;
    bool skip_name(std::string_view name);
    bool skip_operator(std::string_view sign);
    std::string expect_name();
    void expect_operator(std::string_view sign);
    void expect(TokenKind kind, std::string_view what);
    [[noreturn]] void fail(const std::string& message) const;

    // Statements (parse_statements.cpp).
    Body parse_until(std::initializer_list<std::string_view> ends);
    Body parse_block(std::initializer_list<std::string_view> ends);
    bool is_one_of(std::initializer_list<std::string_view> names) const;
    std::unique_ptr<Statement> parse_statement();
    std::unique_ptr<Statement> parse_if();
    std::unique_ptr<Statement> parse_for();
    std::unique_ptr<Statement> parse_set();
    std::unique_ptr<Statement> parse_with();
    std::unique_ptr<Statement> parse_macro();
    std::unique_ptr<Statement> parse_call_block();
    std::unique_ptr<Statement> parse_filter_block();
    std::unique_ptr<Statement> parse_generation();
    std::unique_ptr<Statement> parse_jump(Flow to);
    Target parse_target(bool with_attribute);
    Target parse_single_target(bool with_attribute);
    void parse_parameters(MacroDefinition& macro);
    void parse_macro_body(MacroDefinition& macro, std::string_view end);

    // Expressions (parse_expressions.cpp), from the weakest operator to the strongest.
    ExpressionPtr parse_tuple(bool with_conditional = true, bool in_parentheses = false);
    ExpressionPtr parse_expression();
    ExpressionPtr parse_or();
    ExpressionPtr parse_and();
    ExpressionPtr parse_not();
    ExpressionPtr parse_comparison();
    ExpressionPtr parse_sum();
    ExpressionPtr parse_concatenation();
    ExpressionPtr parse_product();
    ExpressionPtr parse_power();
    ExpressionPtr parse_unary(bool with_filter = true);
    ExpressionPtr parse_primary();
    ExpressionPtr parse_postfix(ExpressionPtr base);
    ExpressionPtr parse_filters_and_tests(ExpressionPtr base);
    ExpressionPtr parse_name();
    ExpressionPtr parse_constant();
    ExpressionPtr parse_list();
    ExpressionPtr parse_map();
    ExpressionPtr parse_attribute(ExpressionPtr base);
    ExpressionPtr parse_subscript(ExpressionPtr base);
    ExpressionPtr parse_call(ExpressionPtr callee);
    ExpressionPtr parse_test(ExpressionPtr input);
    FilterCall parse_filter_call();
    CallArguments parse_arguments();
    bool at_tuple_end() const;

    // Sets line and height of a new node. height: the greatest of its children. Throws SyntaxProblem if the
    // tree is too high.
    template <class Node>
    std::unique_ptr<Node> finished(std::unique_ptr<Node> node, int line, int height) const {
        node->line = line;
        node->height = 1 + height;
        if (node->height > kMostExpressionHeight) fail("the expression is nested too deeply");
        return node;
    }

    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    int depth_ = 0;
    int loops_ = 0;                                    // around the current statement, for `break`
    std::vector<MacroDefinition*> macros_;             // around the current expression
    std::vector<std::vector<std::string_view>> ends_;  // that the open blocks wait for
};

}  // namespace voltpile::llm::jinja
