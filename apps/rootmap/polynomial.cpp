#include "rootmap/polynomial.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace voltpile::rootmap {

namespace {

using Terms = std::vector<std::complex<double>>;

constexpr int deepest = 100;  // parentheses and signs in each other

void trim(Terms& terms) {
    while (terms.size() > 1 && terms.back() == 0.0) terms.pop_back();
}

// Text that a terminal shows one column a byte.
std::string plain(std::string_view text) {
    std::string shown(text);
    for (char& c : shown)
        if (c < ' ' || c > '~') c = '?';
    return shown;
}

bool is_digit(char c) {
    return (c >= '0' && c <= '9') || c == '.';
}
bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// By recursive descent: sum = product {+|- product}, product = power {[*] power | / power},
// power = atom [^ integer], atom = number | z | i | ( sum ) | - power.
class PolynomialParser {
  public:
    explicit PolynomialParser(std::string_view text) : text_(text) {}

    Terms parse() {
        Terms terms = sum();
        if (peek() == ')') fail("there is no parenthesis to close");
        if (peek() != '\0') fail(fmt::format("unexpected '{}'", plain(text_.substr(at_, 1))));
        return terms;
    }

  private:
    [[noreturn]] void fail(const std::string& what) const { throw PolynomialError(what, text_, at_); }

    char peek() {
        while (at_ < text_.size() && text_[at_] == ' ') ++at_;
        return at_ < text_.size() ? text_[at_] : '\0';
    }

    bool accept(char c) {
        if (peek() != c) return false;
        ++at_;
        return true;
    }

    Terms sum() {
        Terms total = product();
        for (;;) {
            const double sign = peek() == '-' ? -1 : 1;
            if (!accept('+') && !accept('-')) return total;
            const Terms term = product();
            if (total.size() < term.size()) total.resize(term.size());
            for (std::size_t k = 0; k < term.size(); ++k) total[k] += sign * term[k];
            trim(total);
        }
    }

    Terms product() {
        Terms total = power();
        for (;;) {
            const std::size_t place = at_;
            if (accept('/')) {
                const Terms divisor = power();
                at_ = divisor.size() > 1 || divisor[0] == 0.0 ? place : at_;
                if (divisor.size() > 1) fail("a polynomial can be divided by constants only");
                if (divisor[0] == 0.0) fail("division by zero");
                for (auto& term : total) term /= divisor[0];
            } else if (accept('*') || is_digit(peek()) || is_letter(peek()) || peek() == '(') {
                total = multiply(total, power(), place);
            } else {
                return total;
            }
        }
    }

    Terms power() {
        const std::size_t place = at_;
        if (++depth_ > deepest) fail("too deeply nested");
        Terms base = atom();
        --depth_;
        if (!accept('^')) return base;
        const int exponent = integer();
        Terms total = {1.0};
        for (int i = 0; i < exponent; ++i) total = multiply(total, base, place);
        return total;
    }

    Terms atom() {
        if (accept('-')) {
            Terms terms = power();
            for (auto& term : terms) term = -term;
            return terms;
        }
        if (accept('(')) {
            Terms terms = sum();
            if (!accept(')')) fail(peek() == '\0' ? "a parenthesis is not closed" : "expected ')'");
            return terms;
        }
        if (is_digit(peek())) return {number()};
        if (!is_letter(peek())) fail("expected a number, z, i or '('");
        const std::size_t begin = at_;
        while (at_ < text_.size() && is_letter(text_[at_])) ++at_;
        const std::string_view name = text_.substr(begin, at_ - begin);
        if (name == "z") return {0.0, 1.0};
        if (name == "i") return {std::complex<double>(0, 1)};
        at_ = begin;
        fail(fmt::format("unknown name '{}': the variable is z, the imaginary unit i", name));
    }

    double number() {
        double value = 0;
        const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
        if (error != std::errc() || !std::isfinite(value)) fail("not a number that FP64 can hold");
        at_ = static_cast<std::size_t>(end - text_.data());
        return value;
    }

    int integer() {
        peek();
        int value = 0;
        const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
        if (error != std::errc() || value < 0 || value > most_degree)
            fail(fmt::format("expected an exponent from 0 to {}", most_degree));
        at_ = static_cast<std::size_t>(end - text_.data());
        return value;
    }

    Terms multiply(const Terms& a, const Terms& b, std::size_t place) {
        if (a.size() + b.size() - 2 > static_cast<std::size_t>(most_degree)) {
            at_ = place;
            peek();
            fail(fmt::format("the degree exceeds {}", most_degree));
        }
        Terms total(a.size() + b.size() - 1);
        for (std::size_t i = 0; i < a.size(); ++i)
            for (std::size_t k = 0; k < b.size(); ++k) total[i + k] += a[i] * b[k];
        trim(total);
        return total;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

}  // namespace

PolynomialError::PolynomialError(const std::string& what, std::string_view text, std::size_t at)
    : std::runtime_error(
          fmt::format("{}, at character {}\n    {}\n    {:>{}}", what, at + 1, plain(text), "^", at + 1)) {}

std::vector<std::complex<double>> parse_polynomial(std::string_view text) {
    return PolynomialParser(text).parse();
}

Polynomial make_polynomial(const std::vector<std::complex<double>>& coefficients) {
    Polynomial polynomial;
    for (int k = 0; const std::complex<double>& coefficient : coefficients) {
        polynomial.re[k] = coefficient.real();
        polynomial.im[k] = coefficient.imag();
        if (coefficient != 0.0) polynomial.degree = k;
        ++k;
    }
    return polynomial;
}

}  // namespace voltpile::rootmap
