// Texts as Python's str sees them: sequences of characters, not of bytes. All texts are valid UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile::llm::jinja {

std::size_t character_count(std::string_view text);

// Returns the characters one by one, each a part of `text`.
std::vector<std::string_view> characters(std::string_view text);

bool is_python_space(std::uint32_t code_point);

// Remove white space, or the characters of `which`, from the ends.
std::string_view stripped_left(std::string_view text, std::optional<std::string_view> which = {});
std::string_view stripped_right(std::string_view text, std::optional<std::string_view> which = {});
std::string_view stripped(std::string_view text, std::optional<std::string_view> which = {});

// Returns the offset in bytes of the first occurrence at or after `from`; npos if there is none. Takes linear
// time, whatever the texts.
std::size_t find_text(std::string_view text, std::string_view part, std::size_t from = 0);

// Python's split and rsplit: at a separator, which must not be empty, or at white space. most: the number of
// splits; negative for no limit.
std::vector<std::string_view> split(std::string_view text, std::optional<std::string_view> separator,
                                    std::int64_t most);
std::vector<std::string_view> split_from_right(std::string_view text,
                                               std::optional<std::string_view> separator, std::int64_t most);
std::vector<std::string_view> split_lines(std::string_view text);

// most: the number of replacements; negative for no limit. size_limit(bytes) is called before the result is
// made.
template <class SizeLimit>
std::string replaced(std::string_view text, std::string_view old, std::string_view with, std::int64_t most,
                     SizeLimit&& size_limit) {
    std::vector<std::size_t> places;
    if (old.empty()) {
        std::size_t at = 0;
        for (const std::string_view each : characters(text)) {
            places.push_back(at);
            at += each.size();
        }
        places.push_back(text.size());
    } else {
        for (std::size_t at = find_text(text, old); at != std::string_view::npos;
             at = find_text(text, old, at + old.size()))
            places.push_back(at);
    }
    if (most >= 0 && places.size() > static_cast<std::size_t>(most))
        places.resize(static_cast<std::size_t>(most));
    size_limit(text.size() + places.size() * with.size());
    std::string result;
    std::size_t done = 0;
    for (const std::size_t at : places) {
        result.append(text.substr(done, at - done)).append(with);
        done = at + old.size();
    }
    return result.append(text.substr(done));
}

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalized(std::string_view text);  // the first character in title case, the others lower
std::string titled(std::string_view text);       // the same for each word

// Whether at least one character has a case, and all that have one are upper or lower.
bool is_upper(std::string_view text);
bool is_lower(std::string_view text);

// Returns the text in quotes, with escapes, as Python's repr().
std::string quoted(std::string_view text);

std::string escaped_html(std::string_view text);

}  // namespace voltpile::llm::jinja
