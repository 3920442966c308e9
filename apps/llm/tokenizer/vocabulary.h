// What a model's files say of its tokenizer, as plain data: filled from a Hugging Face folder
// (hugging_face_vocabulary.h) or from GGUF metadata (gguf_vocabulary.h), used by Tokenizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace voltpile::llm {

using TokenId = std::int32_t;

// Stands for a space in the tokens of SentencePiece: U+2581.
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

enum class VocabularyKind {
    ByteLevelBpe,      // symbols are bytes, written in the alphabet of byte_alphabet.h
    SentencePieceBpe,  // symbols are characters, with kSpaceMark for the space; unknown ones fall back to
                       // bytes
};

// The numbers are those of GGUF's tokenizer.ggml.token_type.
enum class TokenKind : std::uint8_t { Normal = 1, Unknown, Control, UserDefined, Unused, Byte };

struct Merge {
    TokenId left;
    TokenId right;
    TokenId merged;
    std::uint32_t rank;  // the lowest is merged first, the leftmost of equal ones
};

// A token that is looked for in the text itself, before anything else is done with it.
struct AddedToken {
    TokenId id;
    std::string text;
    bool special = false;  // no text of its own: not printed, and not looked for where a prompt is plain text
    bool lstrip = false;   // swallows white space before it
    bool rstrip = false;   // swallows white space after it
    bool normalized = false;  // looked for in the normalized text
};

// When a space mark is put before a piece of text between added tokens.
enum class SpacePrefix {
    Never,
    AtStart,  // of the whole text, unless it begins with a space
    Missing,  // unless the piece begins with a space
    Always,
};

struct Vocabulary {
    VocabularyKind kind = VocabularyKind::ByteLevelBpe;
    std::vector<std::string> texts;       // by id, as the file writes them; empty: no such token
    std::vector<TokenKind> kinds;         // by id
    std::vector<Merge> merges;            // may also name `characters`
    std::vector<std::string> characters;  // which are no tokens but parts of some: ids from texts.size() on
    std::vector<AddedToken> added;

    // In the order in which they are applied.
    bool nfc = false;  // Unicode normalization form C
    SpacePrefix space_prefix = SpacePrefix::Never;
    bool prefix_is_normalization = false;  // done before `normalized` added tokens are looked for
    bool split_at_space_marks = false;     // each piece begins with a space mark
    std::vector<std::string>
        split_patterns;  // each cuts every piece into its matches and what is between them

    bool ignore_merges = false;  // a piece that is a token needs no merging
    bool byte_fallback = false;
    bool fuse_unknown = false;      // consecutive unknown characters are one unknown token
    bool drop_first_space = false;  // in decoding, as it stems from `space_prefix`

    std::optional<TokenId> bos;
    std::optional<TokenId> eos;
    std::optional<TokenId> unknown;
    std::vector<TokenId> prefix;  // of a prompt, where special tokens are to be added
    std::vector<TokenId> suffix;
};

// The byte that a token such as "<0x0A>" stands for.
std::optional<std::uint8_t> byte_of_token(std::string_view text);

// Sets `merges` from pairs of tokens' texts; the first has the lowest rank. Throws JobError "where: merge N:
// ..." if one of the two or their joined text is no token.
void set_merges(Vocabulary& vocabulary,
                const std::vector<std::pair<std::string_view, std::string_view>>& pairs,
                std::string_view where);

}  // namespace voltpile::llm
