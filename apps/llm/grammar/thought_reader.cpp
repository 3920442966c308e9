#include "llm/grammar/thought_reader.h"

#include <utility>

#include "llm/grammar/white_space.h"

namespace voltpile::llm {

ThoughtReader::ThoughtReader(Thoughts thoughts)
    : place_(thoughts == Thoughts::Maybe  ? Place::Before
             : thoughts == Thoughts::Open ? Place::Thought
                                          : Place::Text) {}

ThoughtReader::Piece ThoughtReader::read(std::string_view text) {
    Piece piece;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (place_ == Place::After && !is_white_space(text[i])) place_ = Place::Text;
        if (place_ == Place::Text) {
            piece.text += text.substr(i);
            break;
        }
        if (place_ == Place::Before)
            read_before(text[i], piece);
        else if (place_ == Place::Thought)
            read_thought(text[i], piece);
    }
    return piece;
}

void ThoughtReader::read_before(char c, Piece& piece) {
    pending_ += c;
    if (matched_ == 0 && is_white_space(c)) return;
    if (c != kThinkBegins[matched_]) {
        place_ = Place::Text;
        piece.text = std::exchange(pending_, {});
    } else if (++matched_ == kThinkBegins.size()) {
        place_ = Place::Thought;
        pending_.clear();
        matched_ = 0;
    }
}

void ThoughtReader::read_thought(char c, Piece& piece) {
    if (c != kThinkEnds[matched_] && matched_ > 0) {  // no tag after all
        piece.thought += std::exchange(pending_, {});
        matched_ = 0;
        begun_ = true;
    }
    if (c == kThinkEnds[matched_]) {
        pending_ += c;
        if (++matched_ < kThinkEnds.size()) return;
        pending_.clear();
        place_ = Place::After;
    } else if (is_white_space(c)) {
        if (begun_) pending_ += c;
    } else {
        piece.thought += std::exchange(pending_, {}) + c;
        begun_ = true;
    }
}

ThoughtReader::Piece ThoughtReader::finish() {
    Piece piece;
    if (place_ == Place::Before) piece.text = std::exchange(pending_, {});
    if (place_ == Place::Thought && matched_ > 0) piece.thought = std::exchange(pending_, {});
    return piece;
}

}  // namespace voltpile::llm
