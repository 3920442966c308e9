#include "llm/grammar/token_trie.h"

#include <algorithm>
#include <numeric>

namespace voltpile::llm {
namespace {

bool may_be_drawn(const Tokenizer& tokenizer, TokenId id) {
    const TokenKind kind = tokenizer.vocabulary().kinds[static_cast<std::size_t>(id)];
    if (kind == TokenKind::Control || kind == TokenKind::Unknown || kind == TokenKind::Unused) return false;
    return !tokenizer.is_special(id) && tokenizer.bytes_of(id).size() <= TokenTrie::most_depth;
}

}  // namespace

TokenTrie::TokenTrie(const Tokenizer& tokenizer, const std::vector<std::int64_t>& end_ids, ShownTokens shown)
    : vocabulary_(static_cast<int>(tokenizer.vocabulary().texts.size())),
      drops_first_space_(tokenizer.drops_first_space()),
      shown_(std::move(shown)) {
    for (const std::int64_t id : end_ids)
        if (id >= 0 && id < vocabulary_) end_ids_.push_back(static_cast<TokenId>(id));
    bytes_of_.resize(static_cast<std::size_t>(vocabulary_));
    for (TokenId id = 0; id < vocabulary_; ++id) {
        const bool is_shown = std::ranges::find(shown_.ids, id) != shown_.ids.end();
        // Other tokens must not spell a marker.
        const bool drawn =
            may_be_drawn(tokenizer, id) &&
            !(shown_.marked && tokenizer.bytes_of(id).find(kMarkerByte) != std::string_view::npos);
        if (!(is_shown || drawn) || std::ranges::find(end_ids_, id) != end_ids_.end()) continue;
        std::string& bytes = bytes_of_[static_cast<std::size_t>(id)];
        if (is_shown && shown_.marked) bytes = kMarkerByte;
        bytes += tokenizer.bytes_of(id);
        if (!tokenizer.bytes_of(id).empty()) tokens_.push_back(id);
    }
    const auto bytes = [&](TokenId id) -> const std::string& {
        return bytes_of_[static_cast<std::size_t>(id)];
    };
    std::ranges::sort(
        tokens_, [&](TokenId a, TokenId b) { return bytes(a) != bytes(b) ? bytes(a) < bytes(b) : a < b; });

    std::vector<int> path{0};  // the nodes from the root to the last one
    bytes_.push_back(0);
    depths_.push_back(0);
    ends_.push_back(0);
    first_token_.push_back(0);
    const auto close = [&](std::size_t depth) {
        for (; path.size() > depth + 1; path.pop_back())
            ends_[static_cast<std::size_t>(path.back())] = nodes();
    };
    std::string_view last;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
        const std::string& next = bytes(tokens_[i]);
        const std::size_t common =
            static_cast<std::size_t>(std::ranges::mismatch(last, next).in1 - last.begin());
        close(common);
        for (std::size_t d = common; d < next.size(); ++d) {
            path.push_back(nodes());
            bytes_.push_back(static_cast<std::uint8_t>(next[d]));
            depths_.push_back(static_cast<std::uint16_t>(d + 1));
            ends_.push_back(0);
            first_token_.push_back(static_cast<int>(i));
        }
        last = next;
    }
    close(0);
    ends_[0] = nodes();
    first_token_.push_back(static_cast<int>(tokens_.size()));
}

std::string_view TokenTrie::bytes_of(TokenId token) const {
    if (token < 0 || token >= vocabulary_) return {};
    return bytes_of_[static_cast<std::size_t>(token)];
}

}  // namespace voltpile::llm
