#include "llm/tokenizer/stream_decoder.h"

#include <algorithm>

#include "llm/tokenizer/utf8.h"

namespace voltpile::llm {

std::string StreamDecoder::push(TokenId id) {
    const bool shown = std::ranges::find(shown_.ids, id) != shown_.ids.end();
    if (shown && shown_.marked) return flush() + kMarkerByte + std::string(tokenizer_.bytes_of(id));
    if (skip_special_ && tokenizer_.is_special(id) && !shown) return {};
    std::string_view bytes = tokenizer_.bytes_of(id);
    if (bytes.empty()) return {};
    if (drop_space_ && bytes.front() == ' ') bytes.remove_prefix(1);
    drop_space_ = false;
    waiting_ += bytes;

    std::string text;
    std::string_view rest = waiting_;
    while (!rest.empty()) {
        const Utf8Character character = first_character(rest);
        if (character.status == Utf8Status::CutOff) break;
        text +=
            character.status == Utf8Status::Whole ? rest.substr(0, character.bytes) : kReplacementCharacter;
        rest.remove_prefix(character.bytes);
    }
    waiting_ = std::string(rest);
    return text;
}

std::string StreamDecoder::flush() {
    if (waiting_.empty()) return {};
    waiting_.clear();
    return std::string(kReplacementCharacter);
}

}  // namespace voltpile::llm
