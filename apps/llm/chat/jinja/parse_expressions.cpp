#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "llm/chat/jinja/parser.h"
#include "llm/chat/jinja/parser_depth.h"

namespace voltpile::llm::jinja {

namespace {

int height_of(const ExpressionPtr& expression) {
    return expression ? expression->height : 0;
}

int height_of(const Expressions& expressions) {
    int height = 0;
    for (const ExpressionPtr& each : expressions) height = std::max(height, height_of(each));
    return height;
}

int height_of(const CallArguments& arguments) {
    int height = std::max({height_of(arguments.positional), height_of(arguments.more_positional),
                           height_of(arguments.more_named)});
    for (const auto& [name, value] : arguments.named) height = std::max(height, height_of(value));
    return height;
}

}  // namespace

bool Parser::at_tuple_end() const {
    return current().kind == TokenKind::PrintEnd || current().kind == TokenKind::BlockEnd ||
           is_operator(")") || is_name("recursive") || is_name("if");
}

ExpressionPtr Parser::parse_tuple(bool with_conditional, bool in_parentheses) {
    const int line = current().line;
    auto tuple = std::make_unique<ListLiteral>();
    tuple->form = ListForm::Tuple;
    bool is_tuple = in_parentheses && is_operator(")");
    while (!is_tuple || !at_tuple_end()) {
        tuple->items.push_back(with_conditional ? parse_expression() : parse_or());
        if (!skip_operator(",")) break;
        is_tuple = true;
    }
    if (!is_tuple) return std::move(tuple->items.front());
    const int height = height_of(tuple->items);
    return finished(std::move(tuple), line, height);
}

ExpressionPtr Parser::parse_expression() {
    const Nested nested(*this);
    const int line = current().line;
    ExpressionPtr value = parse_or();
    while (skip_name("if")) {
        auto node = std::make_unique<Conditional>();
        node->condition = parse_or();
        if (skip_name("else")) node->otherwise = parse_expression();
        node->value = std::move(value);
        const int height =
            std::max({height_of(node->condition), height_of(node->value), height_of(node->otherwise)});
        value = finished(std::move(node), line, height);
    }
    return value;
}

ExpressionPtr Parser::parse_or() {
    const int line = current().line;
    ExpressionPtr left = parse_and();
    while (skip_name("or")) {
        auto node = std::make_unique<Either>();
        node->left = std::move(left);
        node->right = parse_and();
        const int height = std::max(height_of(node->left), height_of(node->right));
        left = finished(std::move(node), line, height);
    }
    return left;
}

ExpressionPtr Parser::parse_and() {
    const int line = current().line;
    ExpressionPtr left = parse_not();
    while (skip_name("and")) {
        auto node = std::make_unique<Either>();
        node->is_and = true;
        node->left = std::move(left);
        node->right = parse_not();
        const int height = std::max(height_of(node->left), height_of(node->right));
        left = finished(std::move(node), line, height);
    }
    return left;
}

ExpressionPtr Parser::parse_not() {
    const Nested nested(*this);
    const int line = current().line;
    if (!skip_name("not")) return parse_comparison();
    auto node = std::make_unique<Not>();
    node->operand = parse_not();
    const int height = height_of(node->operand);
    return finished(std::move(node), line, height);
}

ExpressionPtr Parser::parse_comparison() {
    constexpr std::string_view kSigns[] = {"==", "!=", "<", "<=", ">", ">="};
    const int line = current().line;
    auto node = std::make_unique<Comparison>();
    node->first = parse_sum();
    int height = height_of(node->first);
    for (;;) {
        std::string sign;
        if (current().kind == TokenKind::Operator && std::ranges::count(kSigns, current().text) > 0) {
            sign = next().text;
        } else if (skip_name("in")) {
            sign = "in";
        } else if (is_name("not") && following().kind == TokenKind::Name && following().text == "in") {
            at_ += 2;
            sign = "not in";
        } else {
            break;
        }
        node->rest.emplace_back(std::move(sign), parse_sum());
        height = std::max(height, height_of(node->rest.back().second));
    }
    if (node->rest.empty()) return std::move(node->first);
    return finished(std::move(node), line, height);
}

ExpressionPtr Parser::parse_sum() {
    ExpressionPtr left = parse_concatenation();
    while (is_operator("+") || is_operator("-")) {
        auto node = std::make_unique<Arithmetic>();
        const int line = current().line;
        node->sign = next().text;
        node->left = std::move(left);
        node->right = parse_concatenation();
        const int height = std::max(height_of(node->left), height_of(node->right));
        left = finished(std::move(node), line, height);
    }
    return left;
}

ExpressionPtr Parser::parse_concatenation() {
    const int line = current().line;
    auto node = std::make_unique<Concatenation>();
    node->parts.push_back(parse_product());
    while (skip_operator("~")) node->parts.push_back(parse_product());
    if (node->parts.size() == 1) return std::move(node->parts.front());
    const int height = height_of(node->parts);
    return finished(std::move(node), line, height);
}

ExpressionPtr Parser::parse_product() {
    ExpressionPtr left = parse_power();
    while (is_operator("*") || is_operator("/") || is_operator("//") || is_operator("%")) {
        auto node = std::make_unique<Arithmetic>();
        const int line = current().line;
        node->sign = next().text;
        node->left = std::move(left);
        node->right = parse_power();
        const int height = std::max(height_of(node->left), height_of(node->right));
        left = finished(std::move(node), line, height);
    }
    return left;
}

ExpressionPtr Parser::parse_power() {
    ExpressionPtr left = parse_unary();
    while (is_operator("**")) {
        auto node = std::make_unique<Arithmetic>();
        const int line = current().line;
        node->sign = next().text;
        node->left = std::move(left);
        node->right = parse_unary();
        const int height = std::max(height_of(node->left), height_of(node->right));
        left = finished(std::move(node), line, height);
    }
    return left;
}

ExpressionPtr Parser::parse_unary(bool with_filter) {
    const Nested nested(*this);
    const int line = current().line;
    ExpressionPtr value;
    if (is_operator("-") || is_operator("+")) {
        auto node = std::make_unique<Sign>();
        node->negative = next().text == "-";
        node->operand = parse_unary(false);
        const int height = height_of(node->operand);
        value = finished(std::move(node), line, height);
    } else {
        value = parse_primary();
    }
    value = parse_postfix(std::move(value));
    return with_filter ? parse_filters_and_tests(std::move(value)) : std::move(value);
}

ExpressionPtr Parser::parse_filters_and_tests(ExpressionPtr base) {
    for (;;) {
        const int line = current().line;
        if (skip_operator("|")) {
            auto node = std::make_unique<Filter>();
            node->input = std::move(base);
            node->filter = parse_filter_call();
            const int height = std::max(height_of(node->input), height_of(node->filter.arguments));
            base = finished(std::move(node), line, height);
        } else if (skip_name("is")) {
            base = parse_test(std::move(base));
        } else if (is_operator("(")) {
            base = parse_call(std::move(base));
        } else {
            return base;
        }
    }
}

FilterCall Parser::parse_filter_call() {
    FilterCall filter;
    filter.line = current().line;
    filter.name = expect_name();
    filter.function = find_filter(filter.name);
    if (is_operator("(")) filter.arguments = parse_arguments();
    return filter;
}

ExpressionPtr Parser::parse_test(ExpressionPtr input) {
    const int line = current().line;
    const bool negated = skip_name("not");
    auto node = std::make_unique<Test>();
    node->input = std::move(input);
    node->name = expect_name();
    node->function = find_test(node->name);
    const bool has_argument = (current().kind == TokenKind::Name &&
                               !is_one_of({"else", "or", "and", "if", "is", "recursive", "in", "not"})) ||
                              current().kind == TokenKind::Text || current().kind == TokenKind::Integer ||
                              current().kind == TokenKind::Real || is_operator("[") || is_operator("{");
    if (is_operator("("))
        node->arguments = parse_arguments();
    else if (has_argument)
        node->arguments.positional.push_back(parse_postfix(parse_primary()));
    const int height = std::max(height_of(node->input), height_of(node->arguments));
    ExpressionPtr test = finished(std::move(node), line, height);
    if (!negated) return test;
    auto opposite = std::make_unique<Not>();
    opposite->operand = std::move(test);
    return finished(std::move(opposite), line, height + 1);
}

ExpressionPtr Parser::parse_call(ExpressionPtr callee) {
    const int line = current().line;
    auto node = std::make_unique<Call>();
    node->callee = std::move(callee);
    node->arguments = parse_arguments();
    const int height = std::max(height_of(node->callee), height_of(node->arguments));
    return finished(std::move(node), line, height);
}

CallArguments Parser::parse_arguments() {
    CallArguments arguments;
    expect_operator("(");
    for (bool first = true; !is_operator(")"); first = false) {
        if (!first) expect_operator(",");
        if (is_operator(")")) break;
        const bool named = current().kind == TokenKind::Name && following().kind == TokenKind::Operator &&
                           following().text == "=";
        if (is_operator("*") && !arguments.more_positional && !arguments.more_named) {
            ++at_;
            arguments.more_positional = parse_expression();
        } else if (is_operator("**") && !arguments.more_named) {
            ++at_;
            arguments.more_named = parse_expression();
        } else if (named && !arguments.more_named) {
            std::string name = next().text;
            ++at_;
            arguments.named.emplace_back(std::move(name), parse_expression());
        } else {
            if (arguments.more_positional || arguments.more_named || !arguments.named.empty())
                fail("an argument without a name follows one with a name");
            arguments.positional.push_back(parse_expression());
        }
    }
    expect_operator(")");
    return arguments;
}

}  // namespace voltpile::llm::jinja
