#include "llm/tokenizer/added_token_matcher.h"

#include <algorithm>

#include "llm/tokenizer/utf8.h"

namespace voltpile::llm {

namespace {

std::size_t white_space_at_beginning(std::string_view text) {
    std::size_t bytes = 0;
    while (bytes < text.size()) {
        const Utf8Character character = first_character(text.substr(bytes));
        if (!is_white_space(character.code_point)) break;
        bytes += character.bytes;
    }
    return bytes;
}

std::size_t without_white_space_at_end(std::string_view text) {
    while (!text.empty()) {
        const std::size_t begin = last_character_begin(text);
        if (!is_white_space(first_character(text.substr(begin)).code_point)) break;
        text = text.substr(0, begin);
    }
    return text.size();
}

}  // namespace

AddedTokenMatcher::AddedTokenMatcher(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
    std::erase_if(tokens_, [](const AddedToken& token) { return token.text.empty(); });
    for (const AddedToken& token : tokens_) {
        if (!by_text_.emplace(token.text, &token).second) continue;
        auto& lengths = lengths_[static_cast<unsigned char>(token.text.front())];
        const auto place = std::ranges::lower_bound(lengths, token.text.size(), std::greater{});
        if (place == lengths.end() || *place != token.text.size()) lengths.insert(place, token.text.size());
    }
}

const AddedToken* AddedTokenMatcher::longest_at(std::string_view rest) const {
    for (const std::size_t length : lengths_[static_cast<unsigned char>(rest.front())]) {
        if (length > rest.size()) continue;
        const auto found = by_text_.find(rest.substr(0, length));
        if (found != by_text_.end()) return found->second;
    }
    return nullptr;
}

void AddedTokenMatcher::split(std::string_view text, bool parse_special,
                              const std::function<void(TokenId)>& token,
                              const std::function<void(std::string_view, std::size_t)>& between) const {
    std::size_t done = 0;  // the callbacks have had the text up to here
    for (std::size_t at = 0; at < text.size() && !tokens_.empty();) {
        const AddedToken* found = longest_at(text.substr(at));
        if (!found) {
            ++at;
            continue;
        }
        std::size_t begin = at;
        std::size_t end = at + found->text.size();
        at = end;
        if (found->special && !parse_special) continue;
        if (found->lstrip) begin = std::max(done, without_white_space_at_end(text.substr(0, begin)));
        if (found->rstrip) end += white_space_at_beginning(text.substr(end));
        if (begin > done) between(text.substr(done, begin - done), done);
        token(found->id);
        done = end;
        at = std::max(at, end);
    }
    if (done < text.size()) between(text.substr(done), done);
}

}  // namespace voltpile::llm
