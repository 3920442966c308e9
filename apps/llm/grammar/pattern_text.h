// The characters of a pattern or of a grammar file, for parsers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile::llm {

class PatternText {
  public:
    // Throws JobError if the text is not UTF-8.
    PatternText(std::string_view text, std::string_view what);

    bool at_end() const { return at_ == characters_.size(); }
    std::size_t place() const { return at_; }
    // Returns the next character, or 0 at the end.
    std::uint32_t peek(std::size_t ahead = 0) const {
        return at_ + ahead < characters_.size() ? characters_[at_ + ahead] : 0;
    }
    std::uint32_t take() { return characters_[at_++]; }
    bool take_if(char wanted) {
        if (at_end() || peek() != static_cast<unsigned char>(wanted)) return false;
        ++at_;
        return true;
    }
    bool take_if(std::string_view wanted);

    // Takes digits that make a number of at most `most`; nothing if there is no digit.
    std::optional<int> take_number(int most);
    // Takes exactly `digits` hexadecimal digits. Throws JobError if there are fewer.
    std::uint32_t take_hex(int digits);
    // Checks a code point that was written as a number.
    std::uint32_t checked(std::uint32_t code_point) const;

    // Throws JobError "what: character N: problem"; with several lines "what: line N: problem".
    [[noreturn]] void fail(const std::string& problem) const;

  private:
    std::string what_;
    std::vector<std::uint32_t> characters_;
    std::size_t at_ = 0;
};

// Repeat counts above this are refused.
inline constexpr int kMostRepeats = 100'000;
// Groups within groups above this are refused.
inline constexpr int kMostGroupDepth = 100;

// "U+0041" or, if it can be printed, "'A'".
std::string shown(std::uint32_t code_point);

}  // namespace voltpile::llm
