#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "llm/chat/jinja/parser.h"
#include "llm/chat/jinja/parser_depth.h"

namespace voltpile::llm::jinja {

ExpressionPtr Parser::parse_primary() {
    switch (current().kind) {
        case TokenKind::Name:
            return parse_name();
        case TokenKind::Text:
        case TokenKind::Integer:
        case TokenKind::Real:
            return parse_constant();
        case TokenKind::Operator:
            if (is_operator("[")) return parse_list();
            if (is_operator("{")) return parse_map();
            if (skip_operator("(")) {
                ExpressionPtr value = parse_tuple(true, true);
                expect_operator(")");
                return value;
            }
            [[fallthrough]];
        default:
            fail(fmt::format("expected an expression, not {}", described(current())));
    }
}

ExpressionPtr Parser::parse_name() {
    const int line = current().line;
    std::string name = next().text;
    const bool is_true = name == "true" || name == "True";
    if (is_true || name == "false" || name == "False" || name == "none" || name == "None") {
        auto node = std::make_unique<Constant>();
        if (name != "none" && name != "None") node->value = is_true;
        return finished(std::move(node), line, 0);
    }
    for (MacroDefinition* macro : macros_) {
        if (name == "caller") macro->uses_caller = true;
        if (name == "varargs") macro->uses_varargs = true;
        if (name == "kwargs") macro->uses_kwargs = true;
    }
    auto node = std::make_unique<Name>();
    node->name = std::move(name);
    return finished(std::move(node), line, 0);
}

ExpressionPtr Parser::parse_constant() {
    const int line = current().line;
    auto node = std::make_unique<Constant>();
    if (current().kind == TokenKind::Text) {
        std::string text;
        while (current().kind == TokenKind::Text) text += next().text;
        node->value = std::move(text);
    } else {
        const Token token = next();
        node->value = token.kind == TokenKind::Integer ? Value(token.integer) : Value(token.real);
    }
    return finished(std::move(node), line, 0);
}

ExpressionPtr Parser::parse_list() {
    const int line = current().line;
    expect_operator("[");
    auto node = std::make_unique<ListLiteral>();
    int height = 0;
    while (!is_operator("]")) {
        if (!node->items.empty()) expect_operator(",");
        if (is_operator("]")) break;
        node->items.push_back(parse_expression());
        height = std::max(height, node->items.back()->height);
    }
    expect_operator("]");
    return finished(std::move(node), line, height);
}

ExpressionPtr Parser::parse_map() {
    const int line = current().line;
    expect_operator("{");
    auto node = std::make_unique<MapLiteral>();
    int height = 0;
    while (!is_operator("}")) {
        if (!node->entries.empty()) expect_operator(",");
        if (is_operator("}")) break;
        ExpressionPtr key = parse_expression();
        expect_operator(":");
        node->entries.emplace_back(std::move(key), parse_expression());
        height = std::max({height, node->entries.back().first->height, node->entries.back().second->height});
    }
    expect_operator("}");
    return finished(std::move(node), line, height);
}

ExpressionPtr Parser::parse_postfix(ExpressionPtr base) {
    for (;;) {
        if (is_operator("."))
            base = parse_attribute(std::move(base));
        else if (is_operator("["))
            base = parse_subscript(std::move(base));
        else if (is_operator("("))
            base = parse_call(std::move(base));
        else
            return base;
    }
}

ExpressionPtr Parser::parse_attribute(ExpressionPtr base) {
    const int line = current().line;
    expect_operator(".");
    const int height = base->height;
    if (current().kind == TokenKind::Integer) {
        auto item = std::make_unique<Item>();
        item->base = std::move(base);
        item->key = parse_constant();
        return finished(std::move(item), line, height);
    }
    auto node = std::make_unique<Attribute>();
    node->base = std::move(base);
    node->name = expect_name();
    return finished(std::move(node), line, height);
}

ExpressionPtr Parser::parse_subscript(ExpressionPtr base) {
    const int line = current().line;
    expect_operator("[");
    int height = base->height;
    const auto bound = [&]() -> ExpressionPtr {
        if (is_operator(":") || is_operator("]")) return nullptr;
        ExpressionPtr value = parse_expression();
        height = std::max(height, value->height);
        return value;
    };
    ExpressionPtr begin = bound();
    if (!is_operator(":")) {
        if (!begin) fail("expected an index");
        auto item = std::make_unique<Item>();
        item->base = std::move(base);
        item->key = std::move(begin);
        expect_operator("]");
        return finished(std::move(item), line, height);
    }
    auto slice = std::make_unique<Slice>();
    slice->base = std::move(base);
    slice->begin = std::move(begin);
    expect_operator(":");
    slice->end = bound();
    if (skip_operator(":")) slice->step = bound();
    expect_operator("]");
    return finished(std::move(slice), line, height);
}

}  // namespace voltpile::llm::jinja
