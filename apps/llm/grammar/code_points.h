// Sets of Unicode code points, and expressions for the bytes that spell them.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "llm/grammar/expression.h"

namespace voltpile::llm {

class CodePoints {
  public:
    CodePoints() = default;
    CodePoints(std::uint32_t first, std::uint32_t last) { add(first, last); }

    static CodePoints all();  // without surrogates, which UTF-8 cannot spell

    void add(std::uint32_t first, std::uint32_t last);
    void add(const CodePoints& others);
    void remove(const CodePoints& others);
    bool contains(std::uint32_t code_point) const;

    struct Range {
        std::uint32_t first, last;
    };
    const std::vector<Range>& ranges() const { return ranges_; }  // ascending, apart from each other

  private:
    std::vector<Range> ranges_;
};

// One character of the set, as UTF-8.
ExpressionPtr utf8(const CodePoints& set);

// One character of the set within a JSON string. Each has one spelling: as it is, or where JSON demands an
// escape the short one (\n), or \u and four lowercase digits.
ExpressionPtr in_json_string(const CodePoints& set);

// The text between quotes, each character spelled as in_json_string() does. text: valid UTF-8.
ExpressionPtr json_string(std::string_view text);

}  // namespace voltpile::llm
