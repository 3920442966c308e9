#include "llm/chat/jinja/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "llm/chat/jinja/literals.h"
#include "llm/chat/jinja/python_text.h"
#include "llm/tokenizer/utf8.h"

namespace voltpile::llm::jinja {

namespace {

// Longer ones first.
constexpr std::array<std::string_view, 26> kOperators = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                                         "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                         ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};

// Line breaks become "\n", and one at the end disappears.
std::string with_plain_newlines(std::string_view source) {
    std::string text;
    for (std::size_t i = 0; i < source.size(); ++i) {
        if (source[i] != '\r')
            text += source[i];
        else if (i + 1 == source.size() || source[i + 1] != '\n')
            text += '\n';
    }
    if (text.ends_with('\n')) text.pop_back();
    return text;
}

class Lexer {
  public:
    explicit Lexer(std::string_view source) : text_(with_plain_newlines(source)) {}

    std::vector<Token> run() {
        while (at_ < text_.size()) read_data();
        push(TokenKind::End);
        return std::move(tokens_);
    }

  private:
    [[noreturn]] void fail(std::string message) const { throw SyntaxProblem{line_, std::move(message)}; }

    std::string_view rest() const { return std::string_view(text_).substr(at_); }

    void push(TokenKind kind, std::string text = {}) { tokens_.push_back({kind, line_, std::move(text)}); }

    void advance(std::size_t bytes) {
        line_ += static_cast<int>(std::ranges::count(rest().substr(0, bytes), '\n'));
        at_ += bytes;
    }

    void skip_white_space() { advance(rest().size() - stripped_left(rest()).size()); }

    static std::size_t find_tag(std::string_view text) {
        for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1))
            if (at + 1 < text.size() && std::string_view("%{#").find(text[at + 1]) != std::string_view::npos)
                return at;
        return std::string_view::npos;
    }

    // Reads text up to a tag, and the tag.
    void read_data() {
        const std::size_t found = find_tag(rest());
        if (found == std::string_view::npos) {
            push_data(rest());
            advance(rest().size());
            return;
        }
        const char kind = rest()[found + 1];
        const char sign = found + 2 < rest().size() ? rest()[found + 2] : ' ';
        push_data(data_before(rest().substr(0, found), sign, kind != '{'));
        advance(found + 2 + (sign == '-' || sign == '+' ? 1 : 0));
        if (kind == '#')
            read_comment();
        else if (kind == '{')
            read_tag(TokenKind::PrintBegin, TokenKind::PrintEnd, "}}");
        else if (!read_raw())
            read_tag(TokenKind::BlockBegin, TokenKind::BlockEnd, "%}");
    }

    void push_data(std::string_view data) {
        if (!data.empty()) push(TokenKind::Data, std::string(data));
    }

    // Removes what `-` before a tag removes, or the white space between the beginning of a line and a block.
    std::string_view data_before(std::string_view data, char sign, bool is_block) const {
        if (sign == '-') return stripped_right(data);
        if (sign == '+' || !is_block) return data;
        const std::size_t line_break = data.rfind('\n');
        if (line_break == std::string_view::npos && !line_begins_) return data;
        const std::size_t begin = line_break == std::string_view::npos ? 0 : line_break + 1;
        return stripped_left(data.substr(begin)).empty() ? data.substr(0, begin) : data;
    }

    // Called after the end of a tag. sign: '-' or '+' in front of it.
    void end_tag(char sign, bool is_block) {
        const std::size_t begin = at_;
        if (sign == '-')
            skip_white_space();
        else if (sign != '+' && is_block && rest().starts_with('\n'))
            advance(1);
        line_begins_ = at_ > begin && text_[at_ - 1] == '\n';
    }

    void read_comment() {
        const std::size_t end = rest().find("#}");
        if (end == std::string_view::npos) fail("missing end of comment");
        const char sign = end > 0 ? rest()[end - 1] : ' ';
        advance(end + 2);
        end_tag(sign, true);
    }

    // Reads "raw %}...{% endraw %}" if that is next.
    bool read_raw() {
        std::string_view tag = stripped_left(rest());
        if (!tag.starts_with("raw")) return false;
        tag = stripped_left(tag.substr(3));
        const bool strips = tag.starts_with('-');
        if (strips) tag.remove_prefix(1);
        if (!tag.starts_with("%}")) return false;
        advance(rest().size() - tag.size() + 2);
        if (strips) skip_white_space();
        line_begins_ = text_[at_ - 1] == '\n';
        for (std::size_t begin = rest().find("{%"); begin != std::string_view::npos;
             begin = rest().find("{%", begin + 2)) {
            std::string_view end = rest().substr(begin + 2);
            const char sign = end.empty() ? ' ' : end.front();
            if (sign == '-' || sign == '+') end.remove_prefix(1);
            end = stripped_left(end);
            if (!end.starts_with("endraw")) continue;
            end = stripped_left(end.substr(6));
            const char last = end.empty() ? ' ' : end.front();
            if (last == '-' || last == '+') end.remove_prefix(1);
            if (!end.starts_with("%}")) continue;
            push_data(data_before(rest().substr(0, begin), sign, true));
            advance(rest().size() - end.size() + 2);
            end_tag(last, true);
            return true;
        }
        fail("missing end of raw block");
    }

    void read_tag(TokenKind begin, TokenKind end, std::string_view closing) {
        push(begin);
        std::string brackets;  // that are open, as the characters that close them
        for (;;) {
            skip_white_space();
            if (rest().empty()) return;
            if (brackets.empty()) {
                const char sign = rest().front();
                const bool signed_end = (sign == '-' || (sign == '+' && end == TokenKind::BlockEnd)) &&
                                        rest().substr(1).starts_with(closing);
                if (signed_end || rest().starts_with(closing)) {
                    push(end);
                    advance(closing.size() + (signed_end ? 1 : 0));
                    end_tag(signed_end ? sign : ' ', end == TokenKind::BlockEnd);
                    return;
                }
            }
            read_token(brackets);
        }
    }

    void read_token(std::string& brackets) {
        const char c = rest().front();
        if (const std::size_t length = name_length(rest())) {
            push(TokenKind::Name, std::string(rest().substr(0, length)));
            advance(length);
        } else if (c >= '0' && c <= '9') {
            read_number();
        } else if (c == '\'' || c == '"') {
            read_text(c);
        } else {
            read_operator(brackets);
        }
    }

    void read_number() {
        const NumberLiteral number = number_literal(rest(), at_ > 0 && text_[at_ - 1] == '.');
        if (number.out_of_range)
            fail(fmt::format("the number {} is out of range", rest().substr(0, number.bytes)));
        push(number.is_integer ? TokenKind::Integer : TokenKind::Real,
             std::string(rest().substr(0, number.bytes)));
        tokens_.back().integer = number.integer;
        tokens_.back().real = number.real;
        advance(number.bytes);
    }

    void read_text(char quote) {
        std::size_t end = 1;
        while (end < rest().size() && rest()[end] != quote) end += rest()[end] == '\\' ? 2U : 1U;
        if (end >= rest().size()) fail(fmt::format("the text that begins with {} has no end", quote));
        std::string problem;
        push(TokenKind::Text, unescaped(rest().substr(1, end - 1), problem));
        if (!problem.empty()) fail(problem);
        advance(end + 1);
    }

    void read_operator(std::string& brackets) {
        const auto* found =
            std::ranges::find_if(kOperators, [&](std::string_view each) { return rest().starts_with(each); });
        if (found == kOperators.end())
            fail(fmt::format("unexpected character '{}'", rest().substr(0, first_character(rest()).bytes)));
        const char c = found->front();
        if (c == '(' || c == '[' || c == '{') {
            brackets += c == '(' ? ')' : c == '[' ? ']' : '}';
        } else if (c == ')' || c == ']' || c == '}') {
            if (brackets.empty()) fail(fmt::format("unexpected '{}'", c));
            if (brackets.back() != c) fail(fmt::format("unexpected '{}', expected '{}'", c, brackets.back()));
            brackets.pop_back();
        }
        push(TokenKind::Operator, std::string(*found));
        advance(found->size());
    }

    std::string text_;
    std::size_t at_ = 0;
    int line_ = 1;
    bool line_begins_ = true;  // whether the text at at_ begins a line
    std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source) {
    return Lexer(source).run();
}

std::string described(const Token& token) {
    switch (token.kind) {
        case TokenKind::Data:
            return "text";
        case TokenKind::BlockBegin:
            return "begin of a statement block";
        case TokenKind::BlockEnd:
            return "end of the statement block";
        case TokenKind::PrintBegin:
            return "begin of a print statement";
        case TokenKind::PrintEnd:
            return "end of the print statement";
        case TokenKind::Text:
            return "a text";
        case TokenKind::End:
            return "end of the template";
        default:
            return fmt::format("'{}'", token.text);
    }
}

}  // namespace voltpile::llm::jinja
