#include "llm/tokenizer/bpe.h"

#include <algorithm>
#include <queue>

#include "llm/tokenizer/byte_alphabet.h"
#include "llm/tokenizer/utf8.h"

namespace voltpile::llm {

namespace {

constexpr TokenId kNone = -1;

std::uint64_t pair_key(TokenId left, TokenId right) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
           static_cast<std::uint32_t>(right);
}

// Returns the offset of the next word after the first character: a space mark, or the end of the text.
std::size_t next_word(std::string_view text) {
    for (std::size_t at = text.find(kSpaceMark, 1); at != std::string_view::npos;
         at = text.find(kSpaceMark, at + 1))
        if (!text.substr(0, at).ends_with(kSpaceMark)) return at;
    return text.size();
}

}  // namespace

struct Bpe::Symbol {
    TokenId id;  // kNone: the vocabulary lacks this character
    std::uint32_t begin;
    std::uint32_t bytes;  // 0: merged into the previous symbol
    std::int32_t previous;
    std::int32_t next;
};

struct Bpe::Candidate {
    std::uint32_t rank;
    std::int32_t left;  // index of the symbol
    TokenId left_id;
    TokenId right_id;
    TokenId merged;

    bool operator<(const Candidate& other) const {  // the queue merges the greatest first
        return rank != other.rank ? rank > other.rank : left > other.left;
    }
};

Bpe::Bpe(const Vocabulary& vocabulary)
    : byte_level_(vocabulary.kind == VocabularyKind::ByteLevelBpe),
      ignore_merges_(vocabulary.ignore_merges),
      byte_fallback_(vocabulary.byte_fallback),
      fuse_unknown_(vocabulary.fuse_unknown),
      unknown_(vocabulary.unknown.value_or(kNone)),
      token_count_(static_cast<TokenId>(vocabulary.texts.size())) {
    byte_ids_.fill(kNone);
    for (TokenId id = 0; id < token_count_; ++id) {
        const std::string& text = vocabulary.texts[static_cast<std::size_t>(id)];
        const TokenKind kind = vocabulary.kinds[static_cast<std::size_t>(id)];
        if (kind == TokenKind::Byte) byte_ids_[*byte_of_token(text)] = id;
        if (kind != TokenKind::Normal && kind != TokenKind::UserDefined) continue;
        if (!byte_level_) {
            ids_.emplace(text, id);
        } else if (const auto bytes = bytes_from_alphabet(text); bytes && kind == TokenKind::Normal) {
            ids_.emplace(*bytes, id);
            if (bytes->size() == 1) byte_ids_[static_cast<unsigned char>(bytes->front())] = id;
        }
    }
    for (std::size_t i = 0; i < vocabulary.characters.size(); ++i)
        ids_.emplace(vocabulary.characters[i], token_count_ + static_cast<TokenId>(i));
    merges_.reserve(vocabulary.merges.size());
    for (const Merge& merge : vocabulary.merges)
        merges_.insert_or_assign(pair_key(merge.left, merge.right), Target{merge.rank, merge.merged});
    words_are_apart_ = !byte_level_ && std::ranges::all_of(vocabulary.merges, [&](const Merge& merge) {
        const std::string& text = vocabulary.texts[static_cast<std::size_t>(merge.merged)];
        return next_word(text) == text.size();
    });
}

std::vector<Bpe::Symbol> Bpe::symbols_of(std::string_view piece) const {
    std::vector<Symbol> symbols;
    symbols.reserve(piece.size());
    for (std::size_t at = 0; at < piece.size();) {
        const std::size_t bytes = byte_level_ ? 1 : first_character(piece.substr(at)).bytes;
        TokenId id = kNone;
        if (byte_level_) {
            id = byte_ids_[static_cast<unsigned char>(piece[at])];
        } else if (const auto found = ids_.find(piece.substr(at, bytes)); found != ids_.end()) {
            id = found->second;
        }
        const auto index = static_cast<std::int32_t>(symbols.size());
        symbols.push_back(
            {id, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(bytes), index - 1, index + 1});
        at += bytes;
    }
    symbols.back().next = kNone;
    return symbols;
}

void Bpe::merge(std::vector<Symbol>& symbols) const {
    std::priority_queue<Candidate> queue;
    const auto consider = [&](std::int32_t left_index) {
        if (left_index < 0) return;
        const Symbol& left = symbols[static_cast<std::size_t>(left_index)];
        if (left.next < 0) return;
        const Symbol& right = symbols[static_cast<std::size_t>(left.next)];
        const auto target = merges_.find(pair_key(left.id, right.id));
        if (target != merges_.end())
            queue.push({target->second.rank, left_index, left.id, right.id, target->second.merged});
    };
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) consider(static_cast<std::int32_t>(i));
    while (!queue.empty()) {
        const Candidate best = queue.top();
        queue.pop();
        Symbol& left = symbols[static_cast<std::size_t>(best.left)];
        if (left.bytes == 0 || left.id != best.left_id || left.next < 0) continue;  // merged in the meantime
        Symbol& right = symbols[static_cast<std::size_t>(left.next)];
        if (right.id != best.right_id) continue;
        left.id = best.merged;
        left.bytes += right.bytes;
        left.next = right.next;
        right.bytes = 0;
        if (left.next >= 0) symbols[static_cast<std::size_t>(left.next)].previous = best.left;
        consider(left.previous);
        consider(best.left);
    }
}

void Bpe::append(const Symbol& symbol, std::string_view piece, bool& after_unknown,
                 std::vector<TokenId>& ids) const {
    if (symbol.id >= 0 && symbol.id < token_count_) {
        ids.push_back(symbol.id);
        after_unknown = false;
        return;
    }
    const std::string_view text = piece.substr(symbol.begin, symbol.bytes);
    const auto byte_id = [&](char byte) { return byte_ids_[static_cast<unsigned char>(byte)]; };
    if (byte_fallback_ && std::ranges::none_of(text, [&](char byte) { return byte_id(byte) == kNone; })) {
        for (const char byte : text) ids.push_back(byte_id(byte));
        after_unknown = false;
        return;
    }
    if (unknown_ != kNone && !(fuse_unknown_ && after_unknown)) ids.push_back(unknown_);
    after_unknown = true;
}

void Bpe::encode(std::string_view piece, std::vector<TokenId>& ids) const {
    if (ignore_merges_) {
        const auto whole = ids_.find(piece);
        if (whole != ids_.end() && whole->second < token_count_) {
            ids.push_back(whole->second);
            return;
        }
    }
    bool after_unknown = false;
    while (!piece.empty()) {
        const std::string_view word = piece.substr(0, words_are_apart_ ? next_word(piece) : piece.size());
        std::vector<Symbol> symbols = symbols_of(word);
        merge(symbols);
        for (std::int32_t i = 0; i >= 0; i = symbols[static_cast<std::size_t>(i)].next)
            append(symbols[static_cast<std::size_t>(i)], word, after_unknown, ids);
        piece.remove_prefix(word.size());
    }
}

}  // namespace voltpile::llm
