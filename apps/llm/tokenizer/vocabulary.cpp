#include "llm/tokenizer/vocabulary.h"

#include <fmt/format.h>

#include <charconv>
#include <unordered_map>

#include "base/error.h"

namespace voltpile::llm {

std::optional<std::uint8_t> byte_of_token(std::string_view text) {
    if (text.size() != 6 || !text.starts_with("<0x") || text.back() != '>') return std::nullopt;
    std::uint8_t byte = 0;
    const auto [end, error] = std::from_chars(text.data() + 3, text.data() + 5, byte, 16);
    if (error != std::errc() || end != text.data() + 5) return std::nullopt;
    return byte;
}

void set_merges(Vocabulary& vocabulary,
                const std::vector<std::pair<std::string_view, std::string_view>>& pairs,
                std::string_view where) {
    std::unordered_map<std::string_view, TokenId> ids;
    for (std::size_t i = 0; i < vocabulary.texts.size(); ++i)
        ids.emplace(vocabulary.texts[i], static_cast<TokenId>(i));
    std::uint32_t rank = 0;
    const auto id_of = [&](std::string_view text) {
        const auto found = ids.find(text);
        if (text.empty() || found == ids.end())
            throw JobError(fmt::format("{}: merge {}: \"{}\" is not a token", where, rank, text));
        return found->second;
    };
    vocabulary.merges.clear();
    vocabulary.merges.reserve(pairs.size());
    for (const auto& [left, right] : pairs) {
        vocabulary.merges.push_back(
            {id_of(left), id_of(right), id_of(std::string(left).append(right)), rank});
        ++rank;
    }
}

}  // namespace voltpile::llm
