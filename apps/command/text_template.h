// Text with names in braces: "--damping={damping:.3f}". Immutable, so any thread may fill it in.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace voltpile::command {

using TemplateValue = std::variant<std::int64_t, double, std::string>;
using TemplateValues = std::map<std::string, TemplateValue>;

class TextTemplate {
  public:
    // Parses `text`: {name} or {name:FORMAT}, with Python's format of numbers (".3f", "05d", "e"); {{ and }}
    // are braces. Throws JobError that says what is wrong.
    explicit TextTemplate(const std::string& text);

    std::set<std::string> names() const;

    // Returns the text with the values of its names. Numbers without FORMAT are written with as few digits as
    // tell them apart: 3, 0.1, 1e-07. FORMAT "d" rounds a real number. Throws JobError if a format does not
    // fit its value; std::logic_error for a name without a value.
    std::string fill(const TemplateValues& values) const;

  private:
    struct Piece {
        std::string text;  // literal, or the name
        bool named = false;
        std::string format;  // with its colon, or empty
    };
    std::string text_;
    std::vector<Piece> pieces_;
};

}  // namespace voltpile::command
