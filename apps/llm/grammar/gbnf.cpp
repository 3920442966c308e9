#include "llm/grammar/gbnf.h"

#include <fmt/format.h>

#include <map>

#include "base/error.h"
#include "llm/grammar/code_points.h"
#include "llm/grammar/pattern_text.h"

namespace voltpile::llm {
namespace {

bool is_name_character(std::uint32_t c) {
    const std::uint32_t letter = c | 0x20u;
    return (letter >= 'a' && letter <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

class GbnfParser {
  public:
    explicit GbnfParser(std::string_view text) : text_(text, "grammar") {}

    GrammarRules parse() {
        for (skip_space(true); !text_.at_end(); skip_space(true)) parse_rule();
        for (const GrammarRule& rule : grammar_.rules)
            if (!rule.body) throw JobError(fmt::format("grammar: the rule '{}' is missing", rule.name));
        const auto root = number_of_.find("root");
        if (root == number_of_.end()) throw JobError("grammar: the rule 'root' is missing");
        grammar_.root = root->second;
        return std::move(grammar_);
    }

  private:
    void skip_space(bool lines) {
        while (!text_.at_end()) {
            const std::uint32_t c = text_.peek();
            if (c == '#')
                while (!text_.at_end() && text_.peek() != '\n') text_.take();
            else if (c == ' ' || c == '\t' || c == '\r' || (lines && c == '\n'))
                text_.take();
            else
                return;
        }
    }

    std::string take_name() {
        std::string name;
        while (!text_.at_end() && is_name_character(text_.peek())) name += static_cast<char>(text_.take());
        if (name.empty())
            text_.fail(text_.at_end() ? "the grammar ends within a rule"
                                      : fmt::format("expected a name, found {}", shown(text_.peek())));
        return name;
    }

    int number_of(const std::string& name) {
        const auto [place, is_new] = number_of_.try_emplace(name, static_cast<int>(grammar_.rules.size()));
        if (is_new) grammar_.add(name, nullptr);
        return place->second;
    }

    void parse_rule() {
        const std::string name = take_name();
        skip_space(false);
        if (!text_.take_if("::=")) text_.fail(fmt::format("expected '::=' after '{}'", name));
        skip_space(true);
        const auto rule = static_cast<std::size_t>(number_of(name));
        if (grammar_.rules[rule].body) text_.fail(fmt::format("the rule '{}' is there twice", name));
        ExpressionPtr body = parse_choice(false);
        grammar_.rules[rule].body = std::move(body);
        if (!text_.at_end() && text_.peek() != '\n')
            text_.fail(fmt::format("{} does not belong to a rule", shown(text_.peek())));
    }

    ExpressionPtr parse_choice(bool in_group) {
        std::vector<ExpressionPtr> choices;
        do {
            skip_space(true);
            choices.push_back(parse_sequence(in_group));
        } while (text_.take_if('|'));
        return choice(std::move(choices));
    }

    ExpressionPtr parse_sequence(bool in_group) {
        std::vector<ExpressionPtr> parts;
        for (;;) {
            skip_space(in_group);
            const std::uint32_t c = text_.peek();
            if (text_.at_end() || c == '\n' || c == '|' || c == ')') return sequence(std::move(parts));
            parts.push_back(repeated(parse_item(), in_group));
        }
    }

    ExpressionPtr parse_item() {
        if (text_.take_if('"')) return parse_literal();
        if (text_.take_if('[')) return utf8(parse_class());
        if (text_.take_if('.')) return utf8(CodePoints::all());
        if (text_.take_if('(')) {
            if (++depth_ > kMostGroupDepth)
                text_.fail(fmt::format("more than {} nested groups", kMostGroupDepth));
            ExpressionPtr inner = parse_choice(true);
            if (!text_.take_if(')')) text_.fail("')' is missing");
            --depth_;
            return inner;
        }
        return call(number_of(take_name()));
    }

    ExpressionPtr repeated(ExpressionPtr part, bool in_group) {
        for (;;) {
            skip_space(in_group);
            if (text_.take_if('*')) {
                part = repeat(std::move(part), 0, -1);
            } else if (text_.take_if('+')) {
                part = repeat(std::move(part), 1, -1);
            } else if (text_.take_if('?')) {
                part = optional(std::move(part));
            } else if (text_.take_if('{')) {
                const auto least = text_.take_number(kMostRepeats);
                std::optional<int> most = least;
                if (text_.take_if(',')) {
                    most = text_.take_number(kMostRepeats);
                    if (!most) most = -1;
                }
                if (!text_.take_if('}') || !most) text_.fail("a repeat count is {m}, {m,} or {m,n}");
                if (*most >= 0 && *most < least.value_or(0))
                    text_.fail("the repeat counts are in the wrong order");
                part = repeat(std::move(part), least.value_or(0), *most);
            } else {
                return part;
            }
        }
    }

    ExpressionPtr parse_literal() {
        std::vector<ExpressionPtr> parts;
        while (!text_.take_if('"')) {
            if (text_.at_end() || text_.peek() == '\n') text_.fail("'\"' is missing");
            const std::uint32_t c = take_character();
            parts.push_back(utf8({c, c}));
        }
        return sequence(std::move(parts));
    }

    CodePoints parse_class() {
        const bool inverted = text_.take_if('^');
        CodePoints set;
        while (!text_.take_if(']')) {
            if (text_.at_end() || text_.peek() == '\n') text_.fail("']' is missing");
            const std::uint32_t begin = take_character();
            std::uint32_t end = begin;
            if (text_.peek() == '-' && text_.peek(1) != ']') {
                text_.take();
                if (text_.at_end()) text_.fail("']' is missing");
                end = take_character();
            }
            if (begin > end) text_.fail(fmt::format("the range {}-{} is empty", shown(begin), shown(end)));
            set.add(begin, end);
        }
        set.remove({0xD800, 0xDFFF});
        if (!inverted) return set;
        CodePoints others = CodePoints::all();
        others.remove(set);
        return others;
    }

    std::uint32_t take_character() {
        const std::uint32_t c = text_.take();
        if (c != '\\') return c;
        if (text_.at_end()) text_.fail("nothing follows the '\\'");
        switch (const std::uint32_t escaped = text_.take()) {
            case 'n':
                return '\n';
            case 't':
                return '\t';
            case 'r':
                return '\r';
            case 'x':
                return text_.take_hex(2);
            case 'u':
                return text_.checked(text_.take_hex(4));
            case 'U':
                return text_.checked(text_.take_hex(8));
            case '\\':
            case '"':
            case '[':
            case ']':
            case '^':
            case '-':
                return escaped;
            default:
                text_.fail(fmt::format("the escape \\ {} is not supported", shown(escaped)));
        }
    }

    PatternText text_;
    GrammarRules grammar_;
    std::map<std::string, int> number_of_;
    int depth_ = 0;
};

}  // namespace

GrammarRules parse_gbnf(std::string_view text) {
    return GbnfParser(text).parse();
}

}  // namespace voltpile::llm
