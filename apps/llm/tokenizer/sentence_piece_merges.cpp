#include "llm/tokenizer/sentence_piece_merges.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "llm/tokenizer/utf8.h"

namespace voltpile::llm {

namespace {

// Equal scores have equal ranks.
std::vector<std::uint32_t> ranks_of(std::span<const float> scores) {
    std::vector<float> sorted(scores.begin(), scores.end());
    std::ranges::sort(sorted, std::greater{});
    std::vector<std::uint32_t> ranks;
    for (const float score : scores)
        ranks.push_back(static_cast<std::uint32_t>(std::ranges::lower_bound(sorted, score, std::greater{}) -
                                                   sorted.begin()));
    return ranks;
}

std::vector<std::size_t> character_ends(std::string_view text) {
    std::vector<std::size_t> ends;
    for (std::size_t at = 0; at < text.size(); ends.push_back(at))
        at += first_character(text.substr(at)).bytes;
    return ends;
}

}  // namespace

void set_merges_from_scores(Vocabulary& vocabulary, std::span<const float> scores) {
    const auto pieces = static_cast<TokenId>(vocabulary.texts.size());
    std::unordered_map<std::string, TokenId> ids;
    for (TokenId id = 0; id < pieces; ++id) {
        const auto i = static_cast<std::size_t>(id);
        if (vocabulary.kinds[i] == TokenKind::Normal) ids.emplace(vocabulary.texts[i], id);
    }
    const auto id_of = [&](const std::string& text, bool is_character) {
        const auto found = ids.find(text);
        if (found != ids.end()) return found->second;
        if (!is_character) return TokenId{-1};
        vocabulary.characters.push_back(text);
        const auto id = static_cast<TokenId>(vocabulary.texts.size() + vocabulary.characters.size() - 1);
        ids.emplace(text, id);
        return id;
    };
    const std::vector<std::uint32_t> ranks = ranks_of(scores);
    for (TokenId id = 0; id < pieces; ++id) {
        const auto i = static_cast<std::size_t>(id);
        if (vocabulary.kinds[i] != TokenKind::Normal) continue;
        const std::string& text = vocabulary.texts[i];
        const std::vector<std::size_t> ends = character_ends(text);
        for (std::size_t cut = 0; cut + 1 < ends.size(); ++cut) {
            const TokenId left = id_of(text.substr(0, ends[cut]), cut == 0);
            const TokenId right = id_of(text.substr(ends[cut]), cut + 2 == ends.size());
            if (left >= 0 && right >= 0) vocabulary.merges.push_back({left, right, id, ranks[i]});
        }
    }
}

}  // namespace voltpile::llm
