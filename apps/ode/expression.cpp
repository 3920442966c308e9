#include "ode/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "job/nearest.h"
#include "ode/function_table.h"

namespace voltpile::ode {

namespace {

constexpr std::size_t kMostCharacters = 20'000;
constexpr int kMostNodes = 20'000;
constexpr std::size_t kShownBefore = 60, kShownAfter = 20;  // characters of a long text around an error

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Returns the text around the character `at`, and a caret below it.
std::string with_caret(std::string_view text, std::size_t at) {
    const std::size_t begin = at > kShownBefore ? at - kShownBefore : 0;
    std::string line(text.substr(begin, at - begin + kShownAfter));
    for (char& c : line)
        if (c < ' ' || c > '~') c = c == '\n' || c == '\t' ? ' ' : '?';
    const std::string dots = begin > 0 ? "..." : "";
    return fmt::format("    {}{}\n    {:>{}}", dots, line, "^", dots.size() + at - begin + 1);
}

class ExpressionParser {
  public:
    ExpressionParser(std::string_view text, Graph& graph, const ResolveName& resolve,
                     const std::vector<std::string>& known, int& depth)
        : text_(text), graph_(graph), resolve_(resolve), known_(known), depth_(depth) {}

    int parse() {
        if (text_.size() > kMostCharacters)
            throw ExpressionError(fmt::format("more than {} characters", kMostCharacters), "", 0);
        const int result = comparison();
        if (peek() != '\0') fail("expected an operator");
        return result;
    }

  private:
    [[noreturn]] void fail(const std::string& what) const { fail(what, at_); }
    [[noreturn]] void fail(const std::string& what, std::size_t at) const {
        throw ExpressionError(what, text_, at);
    }

    char peek() {
        while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
            ++at_;
        return at_ < text_.size() ? text_[at_] : '\0';
    }

    bool accept(std::string_view word) {
        peek();
        if (text_.substr(at_, word.size()) != word) return false;
        at_ += word.size();
        return true;
    }

    // Returns the node, after making sure that constants are finite. at: where to point if they are not.
    int checked(int node, std::size_t at) {
        if (graph_.is_constant(node) && !std::isfinite(graph_.node(node).value))
            fail("the value is not a finite number", at);
        if (graph_.size() > kMostNodes) fail("the equations have too many operations", at);
        return node;
    }

    int comparison() {
        const int left = sum();
        peek();
        const std::size_t at = at_;
        int result = left;
        if (accept("<="))
            result = graph_.apply(Op::NotAbove, left, sum());
        else if (accept("<"))
            result = graph_.apply(Op::Less, left, sum());
        else if (accept(">=")) {
            const int right = sum();
            result = graph_.apply(Op::NotAbove, right, left);
        } else if (accept(">")) {
            const int right = sum();
            result = graph_.apply(Op::Less, right, left);
        } else if (accept("="))
            fail("numbers of a trajectory are hardly ever equal: compare with <, <=, > or >=", at);
        return result;
    }

    int sum() {
        int result = product();
        for (;;) {
            const char c = peek();
            const std::size_t at = at_;
            if (c != '+' && c != '-') return result;
            ++at_;
            const int right = product();
            result = checked(graph_.apply(c == '+' ? Op::Add : Op::Subtract, result, right), at);
        }
    }

    int product() {
        int result = signed_power();
        for (;;) {
            const char c = peek();
            const std::size_t at = at_;
            if (c != '*' && c != '/') return result;
            ++at_;
            const int right = signed_power();
            if (c == '/' && graph_.is_constant(right, 0)) fail("division by zero", at);
            result = checked(graph_.apply(c == '*' ? Op::Multiply : Op::Divide, result, right), at);
        }
    }

    int signed_power() {
        const Depth depth(*this);
        if (accept("-")) return graph_.apply(Op::Negate, signed_power());
        if (accept("+")) return signed_power();
        const int base = primary();
        peek();
        const std::size_t at = at_;
        if (!accept("**") && !accept("^")) return base;
        return checked(graph_.power(base, signed_power()), at);
    }

    int primary() {
        const char c = peek();
        if (is_digit(c) || c == '.') return number();
        if (is_letter(c)) return name();
        if (c != '(')
            fail(c == '\0' ? "expected an operand, found the end" : "expected a number, a name or '('");
        const Depth depth(*this);
        ++at_;
        const int inside = comparison();
        if (!accept(")")) fail("expected ')' or an operator");
        return inside;
    }

    int number() {
        double value = 0;
        const char* const begin = text_.data() + at_;
        const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
        if (error != std::errc() || !std::isfinite(value)) fail("not a number that FP64 can hold");
        const std::size_t at = at_;
        at_ += static_cast<std::size_t>(end - begin);
        if (at_ < text_.size() && is_letter(text_[at_]))
            fail(fmt::format("expected an operator after {}", text_.substr(at, at_ - at)));
        return graph_.constant(value);
    }

    int name() {
        const std::size_t at = at_;
        while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
        const std::string word(text_.substr(at, at_ - at));
        const bool called = peek() == '(';
        if (const FunctionInfo* const function = function_named(word)) {
            if (!called) fail(fmt::format("{} is a function: expected '('", word));
            return call(*function, at);
        }
        if (const auto value = constant_named(word)) return graph_.constant(*value);
        std::optional<int> node;
        try {
            node = resolve_(word);
        } catch (const ExpressionError&) {
            throw;
        } catch (const std::runtime_error& error) {
            fail(error.what(), at);
        }
        if (!node) unknown(word, called, at);
        if (called) fail(fmt::format("{} is not a function: write {} * ( to multiply", word, word));
        return *node;
    }

    [[noreturn]] void unknown(const std::string& word, bool called, std::size_t at) const {
        const std::vector<std::string> candidates = called ? function_names() : known_;
        fail(fmt::format("unknown {} {}{}", called ? "function" : "name", word,
                         did_you_mean(nearest_word(word, candidates))),
             at);
    }

    int call(const FunctionInfo& function, std::size_t at) {
        const Depth depth(*this);
        accept("(");
        std::vector<int> arguments{comparison()};
        while (accept(",")) arguments.push_back(comparison());
        if (!accept(")")) fail("expected ',' or ')'");
        const auto count = static_cast<int>(arguments.size());
        if (count < function.least_arguments || count > function.most_arguments)
            fail(fmt::format("{} needs {} argument{}, found {}", function.name, function.least_arguments,
                             function.least_arguments == 1 ? "" : "s", count),
                 at);
        if (std::string_view(function.name) == "mod" && graph_.is_constant(arguments[1], 0))
            fail("division by zero", at);
        return checked(function.build(graph_, arguments), at);
    }

    class Depth {
      public:
        explicit Depth(ExpressionParser& parser) : parser_(parser) {
            if (parser.depth_ >= kMostDepth) parser.fail("too deeply nested");
            ++parser.depth_;
        }
        ~Depth() { --parser_.depth_; }

      private:
        ExpressionParser& parser_;
    };

    std::string_view text_;
    Graph& graph_;
    const ResolveName& resolve_;
    const std::vector<std::string>& known_;
    int& depth_;
    std::size_t at_ = 0;
};

}  // namespace

ExpressionError::ExpressionError(const std::string& what, std::string_view text, std::size_t at)
    : std::runtime_error(fmt::format("{}, at character {}\n{}", what, at + 1, with_caret(text, at))) {}

int parse_expression(std::string_view text, Graph& graph, const ResolveName& resolve,
                     const std::vector<std::string>& known, int& depth) {
    return ExpressionParser(text, graph, resolve, known, depth).parse();
}

bool is_reserved(std::string_view name) {
    return function_named(name) != nullptr || constant_named(name).has_value();
}

bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= 64 && is_letter(text[0]) &&
           std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c); });
}

}  // namespace voltpile::ode
