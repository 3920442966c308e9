#include "command/text_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "base/error.h"

namespace voltpile::command {
namespace {

bool is_name(const std::string& name) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    return !name.empty() && letter(name[0]) &&
           std::ranges::all_of(name, [&](char c) { return letter(c) || digit(c); });
}

std::string formatted(const TemplateValue& value, const std::string& format) {
    if (format.empty()) return std::visit([](const auto& each) { return fmt::format("{}", each); }, value);
    const std::string whole = "{" + format + "}";
    const auto* const real = std::get_if<double>(&value);
    if (real && format.back() == 'd') {
        const auto rounded = static_cast<std::int64_t>(std::llround(*real));
        return fmt::format(fmt::runtime(whole), rounded);
    }
    const auto* const integer = std::get_if<std::int64_t>(&value);
    const bool wants_real = std::string("aAeEfFgG").find(format.back()) != std::string::npos;
    if (integer && wants_real) return fmt::format(fmt::runtime(whole), static_cast<double>(*integer));
    return std::visit([&](const auto& each) { return fmt::format(fmt::runtime(whole), each); }, value);
}

}  // namespace

TextTemplate::TextTemplate(const std::string& text) : text_(text) {
    Piece literal;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if ((c == '{' || c == '}') && i + 1 < text.size() && text[i + 1] == c) {
            literal.text += c;
            ++i;
        } else if (c == '}') {
            throw JobError("a } without its {; write }} for a brace");
        } else if (c == '{') {
            const std::size_t end = text.find_first_of("{}", i + 1);
            if (end == std::string::npos || text[end] == '{')
                throw JobError("a { without its }; write {{ for a brace");
            const std::string inside = text.substr(i + 1, end - i - 1);
            const std::size_t colon = std::min(inside.find(':'), inside.size());
            Piece named{inside.substr(0, colon), true, inside.substr(colon)};
            if (!is_name(named.text))
                throw JobError(fmt::format("{{{}}} is not a name; write {{{{ and }}}} for braces", inside));
            if (!literal.text.empty()) pieces_.push_back(std::exchange(literal, {}));
            pieces_.push_back(std::move(named));
            i = end;
        } else {
            literal.text += c;
        }
    }
    if (!literal.text.empty()) pieces_.push_back(std::move(literal));
}

std::set<std::string> TextTemplate::names() const {
    std::set<std::string> names;
    for (const Piece& piece : pieces_)
        if (piece.named) names.insert(piece.text);
    return names;
}

std::string TextTemplate::fill(const TemplateValues& values) const {
    std::string filled;
    for (const Piece& piece : pieces_) {
        if (!piece.named) {
            filled += piece.text;
            continue;
        }
        const auto found = values.find(piece.text);
        if (found == values.end()) throw std::logic_error("no value for {" + piece.text + "}");
        try {
            filled += formatted(found->second, piece.format);
        } catch (const fmt::format_error& error) {
            throw JobError(
                fmt::format("{{{}{}}} in \"{}\": {}", piece.text, piece.format, text_, error.what()));
        }
    }
    return filled;
}

}  // namespace voltpile::command
