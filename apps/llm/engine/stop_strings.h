// Finds the first of several stop strings in a text that comes in pieces.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile::llm {

class StopStrings {
  public:
    // Ignores empty strings.
    explicit StopStrings(const std::vector<std::string>& strings);

    // Reads the next piece. Returns where the first stop string begins that ends in this piece, in bytes from
    // the beginning of the text; of several, the one that begins first.
    std::optional<std::size_t> read(std::string_view piece);

    // Returns how many bytes at the end of the text read so far may be the beginning of a stop string.
    std::size_t held() const;

  private:
    // The automaton of D. E. Knuth, J. H. Morris and V. R. Pratt (1977): the time is linear in the text.
    struct Pattern {
        std::string text;
        std::vector<std::size_t> border;  // of each prefix: its longest proper prefix that is also its suffix
        std::size_t matched = 0;          // bytes of `text` at the end of what was read

        explicit Pattern(std::string text);
        bool read(char next);  // whether it ends here
    };

    std::vector<Pattern> patterns_;
    std::size_t read_ = 0;  // bytes
};

}  // namespace voltpile::llm
