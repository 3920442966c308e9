// A regular expression that splits text into its matches and the texts between them. Uses PCRE2 with Unicode
// properties.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace voltpile::llm {

class SplitPattern {
  public:
    // Compiles a pattern. `\s` matches the Unicode property White_Space, as in the libraries that tokenizers
    // are trained with; PCRE2's own `\s` also matches U+180E. Throws JobError with the pattern and the place
    // of the error.
    explicit SplitPattern(std::string pattern);

    // Calls `piece` for each match and each text between matches, in order; joined, the pieces are `text`.
    // text: valid UTF-8. Threads may call it concurrently.
    void split(std::string_view text, const std::function<void(std::string_view)>& piece) const;

  private:
    struct Compiled;
    std::string pattern_;
    std::shared_ptr<const Compiled> compiled_;
};

}  // namespace voltpile::llm
