#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "llm/chat/jinja/parser.h"
#include "llm/chat/jinja/parser_depth.h"

namespace voltpile::llm::jinja {

namespace {

template <class Node>
std::unique_ptr<Node> statement_at(int line) {
    auto node = std::make_unique<Node>();
    node->line = line;
    return node;
}

}  // namespace

bool Parser::is_one_of(std::initializer_list<std::string_view> names) const {
    return std::ranges::any_of(names, [&](std::string_view name) { return is_name(name); });
}

// Parses up to a tag that begins with one of `ends`, which becomes the current token; without any, to the end
// of the template.
Body Parser::parse_until(std::initializer_list<std::string_view> ends) {
    ends_.emplace_back(ends);
    Body body;
    for (;;) {
        const int line = current().line;
        if (current().kind == TokenKind::Data) {
            auto data = statement_at<Data>(line);
            data->text = next().text;
            body.push_back(std::move(data));
        } else if (current().kind == TokenKind::PrintBegin) {
            ++at_;
            auto print = statement_at<Print>(line);
            print->value = parse_tuple();
            expect(TokenKind::PrintEnd, "'}}'");
            body.push_back(std::move(print));
        } else if (current().kind == TokenKind::BlockBegin) {
            ++at_;
            if (is_one_of(ends)) break;
            body.push_back(parse_statement());
            expect(TokenKind::BlockEnd, "'%}'");
        } else {
            if (ends.size() > 0)
                fail(fmt::format("the template ends without {}", fmt::join(ends_.back(), " or ")));
            break;
        }
    }
    ends_.pop_back();
    return body;
}

// The body of a block: from the end of its first tag on.
Body Parser::parse_block(std::initializer_list<std::string_view> ends) {
    skip_operator(":");
    expect(TokenKind::BlockEnd, "'%}'");
    return parse_until(ends);
}

std::unique_ptr<Statement> Parser::parse_statement() {
    const Nested nested(*this);
    if (current().kind != TokenKind::Name)
        fail(fmt::format("expected the name of a tag, not {}", described(current())));
    static constexpr std::pair<std::string_view, std::unique_ptr<Statement> (Parser::*)()> kTags[] = {
        {"if", &Parser::parse_if},
        {"for", &Parser::parse_for},
        {"set", &Parser::parse_set},
        {"with", &Parser::parse_with},
        {"macro", &Parser::parse_macro},
        {"call", &Parser::parse_call_block},
        {"filter", &Parser::parse_filter_block},
        {"generation", &Parser::parse_generation},
    };
    const int line = current().line;
    const std::string tag = current().text;
    for (const auto& [name, parse] : kTags)
        if (tag == name) {
            ++at_;
            auto statement = (this->*parse)();
            statement->line = line;
            return statement;
        }
    if (tag == "break" || tag == "continue") {
        ++at_;
        return parse_jump(tag == "break" ? Flow::Break : Flow::Continue);
    }
    if (ends_.back().empty()) fail(fmt::format("unknown tag '{}'", tag));
    fail(fmt::format("unknown tag '{}'; {} is missing", tag, fmt::join(ends_.back(), " or ")));
}

std::unique_ptr<Statement> Parser::parse_if() {
    auto node = std::make_unique<If>();
    for (;;) {
        ExpressionPtr condition = parse_tuple(false);
        Body body = parse_block({"elif", "else", "endif"});
        node->branches.push_back({std::move(condition), std::move(body)});
        const std::string tag = next().text;
        if (tag == "elif") continue;
        if (tag == "else") {
            node->otherwise = parse_block({"endif"});
            ++at_;
        }
        return node;
    }
}

std::unique_ptr<Statement> Parser::parse_for() {
    auto node = std::make_unique<For>();
    node->target = parse_target(false);
    if (!skip_name("in")) fail(fmt::format("expected 'in', not {}", described(current())));
    node->sequence = parse_tuple(false);
    if (skip_name("if")) node->condition = parse_expression();
    node->recursive = skip_name("recursive");
    ++loops_;
    node->body = parse_block({"endfor", "else"});
    --loops_;
    if (next().text == "else") {
        node->otherwise = parse_block({"endfor"});
        ++at_;
    }
    return node;
}

std::unique_ptr<Statement> Parser::parse_set() {
    Target target = parse_target(true);
    if (skip_operator("=")) {
        auto node = std::make_unique<Set>();
        node->target = std::move(target);
        node->value = parse_tuple();
        return node;
    }
    auto node = std::make_unique<SetBlock>();
    node->target = std::move(target);
    while (skip_operator("|")) node->filters.push_back(parse_filter_call());
    node->body = parse_block({"endset"});
    ++at_;
    return node;
}

std::unique_ptr<Statement> Parser::parse_with() {
    auto node = std::make_unique<With>();
    while (current().kind != TokenKind::BlockEnd && !is_operator(":")) {
        if (!node->variables.empty()) expect_operator(",");
        Target target = parse_target(false);
        expect_operator("=");
        node->variables.emplace_back(std::move(target), parse_expression());
    }
    node->body = parse_block({"endwith"});
    ++at_;
    return node;
}

// What the model would generate. Rendering does not mark it; it is only a scope for variables.
std::unique_ptr<Statement> Parser::parse_generation() {
    auto node = std::make_unique<With>();
    node->body = parse_block({"endgeneration"});
    ++at_;
    return node;
}

std::unique_ptr<Statement> Parser::parse_macro() {
    auto node = std::make_unique<DefineMacro>();
    node->macro.name = expect_name();
    if (!is_operator("(")) fail(fmt::format("expected '(', not {}", described(current())));
    parse_parameters(node->macro);
    parse_macro_body(node->macro, "endmacro");
    return node;
}

std::unique_ptr<Statement> Parser::parse_call_block() {
    auto node = std::make_unique<CallBlock>();
    node->caller.name = "caller";
    if (is_operator("(")) parse_parameters(node->caller);
    ExpressionPtr call = parse_expression();
    if (!dynamic_cast<Call*>(call.get())) fail("expected a call of a macro");
    node->call.reset(static_cast<Call*>(call.release()));
    parse_macro_body(node->caller, "endcall");
    return node;
}

std::unique_ptr<Statement> Parser::parse_filter_block() {
    auto node = std::make_unique<FilterBlock>();
    do node->filters.push_back(parse_filter_call());
    while (skip_operator("|"));
    node->body = parse_block({"endfilter"});
    ++at_;
    return node;
}

std::unique_ptr<Statement> Parser::parse_jump(Flow to) {
    if (loops_ == 0) fail("'break' and 'continue' must be inside a loop");
    auto node = statement_at<Jump>(current().line);
    node->to = to;
    return node;
}

Target Parser::parse_target(bool with_attribute) {
    Target first = parse_single_target(with_attribute);
    if (!is_operator(",")) return first;
    Target all;
    all.line = first.line;
    all.parts.push_back(std::move(first));
    while (skip_operator(",")) {
        if (current().kind != TokenKind::Name && !is_operator("(")) break;
        if (is_name("in")) break;
        all.parts.push_back(parse_single_target(with_attribute));
    }
    return all;
}

Target Parser::parse_single_target(bool with_attribute) {
    const Nested nested(*this);
    if (skip_operator("(")) {
        Target target = parse_target(with_attribute);
        expect_operator(")");
        return target;
    }
    Target target;
    target.line = current().line;
    target.name = expect_name();
    for (const std::string_view constant : {"true", "false", "none", "True", "False", "None"})
        if (target.name == constant) fail(fmt::format("cannot assign to '{}'", constant));
    if (with_attribute && skip_operator(".")) target.attribute = expect_name();
    return target;
}

void Parser::parse_parameters(MacroDefinition& macro) {
    expect_operator("(");
    while (!is_operator(")")) {
        if (!macro.parameters.empty()) expect_operator(",");
        macro.parameters.push_back(expect_name());
        if (skip_operator("="))
            macro.defaults.push_back(parse_expression());
        else if (!macro.defaults.empty())
            fail("a parameter without a default follows one with a default");
    }
    expect_operator(")");
}

void Parser::parse_macro_body(MacroDefinition& macro, std::string_view end) {
    macros_.push_back(&macro);
    const int loops = std::exchange(loops_, 0);
    macro.body = parse_block({end});
    loops_ = loops;
    macros_.pop_back();
    ++at_;
}

}  // namespace voltpile::llm::jinja
