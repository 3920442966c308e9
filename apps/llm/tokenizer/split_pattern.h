// A regular expression that cuts text into its matches and what is between them, by PCRE2 with Unicode
// properties.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace voltpile::llm {

class SplitPattern {
  public:
    // Throws JobError that shows the pattern and where it is wrong. `\s` is the property White_Space, as in
    // the libraries that tokenizers are trained with; PCRE2's own has U+180E as well.
    explicit SplitPattern(std::string pattern);

    // Calls `piece` for each match and each text between matches, in order; together they are `text`, which
    // is valid UTF-8. Any number of threads may do this at once.
    void split(std::string_view text, const std::function<void(std::string_view)>& piece) const;

  private:
    struct Compiled;
    std::string pattern_;
    std::shared_ptr<const Compiled> compiled_;
};

}  // namespace voltpile::llm
