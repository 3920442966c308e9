// A regular expression that finds one value in what a program prints. PCRE2 stays inside output_pattern.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile::command {

class OutputPattern {
  public:
    // Compiles a Perl-compatible pattern, in which ^ and $ match at lines. Throws JobError that says what is
    // wrong and where.
    explicit OutputPattern(const std::string& pattern);

    // Returns the last match in `text`: its groups, or the whole match as the only one if the pattern has
    // none. A group that took no part is empty. Nothing if it does not match. Throws JobError if the pattern
    // needs too many steps.
    std::optional<std::vector<std::string>> last_match(std::string_view text) const;

  private:
    struct Compiled;
    std::string pattern_;
    std::shared_ptr<const Compiled> compiled_;
};

}  // namespace voltpile::command
