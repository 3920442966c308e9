// The description of a tokenizer in a model's files, as plain data. Filled from a Hugging Face folder
// (hugging_face_vocabulary.h) or from GGUF metadata (gguf_vocabulary.h), and used by Tokenizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace voltpile::llm {

using TokenId = std::int32_t;

// U+2581, which stands for a space in the tokens of SentencePiece.
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

enum class VocabularyKind {
    ByteLevelBpe,      // symbols are bytes, written in the alphabet of byte_alphabet.h
    SentencePieceBpe,  // symbols are characters, with kSpaceMark for the space, and bytes as fallback
};

// Numbered as in GGUF's tokenizer.ggml.token_type.
enum class TokenKind : std::uint8_t { Normal = 1, Unknown, Control, UserDefined, Unused, Byte };

struct Merge {
    TokenId left;
    TokenId right;
    TokenId merged;
    std::uint32_t rank;  // the lowest is merged first, and the leftmost of equal ones
};

// A token that is matched in the text before anything else is done with it.
struct AddedToken {
    TokenId id;
    std::string text;
    bool special = false;     // not printed, and not matched in plain text
    bool lstrip = false;      // swallows white space before it
    bool rstrip = false;      // swallows white space after it
    bool normalized = false;  // matched in the normalized text
};

// When to add a space mark before a piece of text between added tokens.
enum class SpacePrefix {
    Never,
    AtStart,  // at the start of the whole text, unless it begins with a space
    Missing,  // unless the piece begins with a space
    Always,
};

struct Vocabulary {
    VocabularyKind kind = VocabularyKind::ByteLevelBpe;
    std::vector<std::string> texts;       // by id, as the file writes them; empty: no such token
    std::vector<TokenKind> kinds;         // by id
    std::vector<Merge> merges;            // may also name `characters`
    std::vector<std::string> characters;  // parts of tokens, but not tokens: ids from texts.size() on
    std::vector<AddedToken> added;

    // Normalization, in the order of application.
    bool nfc = false;  // Unicode normalization form C
    SpacePrefix space_prefix = SpacePrefix::Never;
    bool prefix_is_normalization = false;     // add space marks before matching `normalized` added tokens
    bool split_at_space_marks = false;        // each piece begins with a space mark
    std::vector<std::string> split_patterns;  // each splits every piece into matches and texts between

    bool ignore_merges = false;  // a piece that is a token needs no merging
    bool byte_fallback = false;
    bool fuse_unknown = false;      // consecutive unknown characters are one unknown token
    bool drop_first_space = false;  // drop the space from `space_prefix` in decoding

    std::optional<TokenId> bos;
    std::optional<TokenId> eos;
    std::optional<TokenId> unknown;
    std::vector<TokenId> prefix;  // special tokens to add before a prompt
    std::vector<TokenId> suffix;  // and after it
};

// Returns the byte that a token such as "<0x0A>" stands for; nothing for other tokens.
std::optional<std::uint8_t> byte_of_token(std::string_view text);

// Sets `merges` from pairs of token texts; the first has the lowest rank. Throws JobError "where: merge N:
// ..." if one of the two or their joined text is not a token.
void set_merges(Vocabulary& vocabulary,
                const std::vector<std::pair<std::string_view, std::string_view>>& pairs,
                std::string_view where);

}  // namespace voltpile::llm
