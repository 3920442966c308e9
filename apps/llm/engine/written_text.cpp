#include "llm/engine/written_text.h"

#include <utility>

namespace voltpile::llm {

WrittenText::WrittenText(const Tokenizer* tokenizer, bool continues, const std::vector<std::string>& stop,
                         ShownTokens shown)
    : stop_(stop) {
    if (tokenizer != nullptr) decoder_.emplace(*tokenizer, true, continues, std::move(shown));
}

bool WrittenText::push(TokenId id) {
    if (!decoder_) {
        ends_.push_back(0);
        return true;
    }
    const std::string piece = decoder_->push(id);
    text_ += piece;
    // A character that is not whole yet becomes at least one more byte.
    ends_.push_back(text_.size() + (decoder_->waits() ? 1 : 0));
    const auto stop = stop_.read(piece);
    if (stop) text_.resize(*stop);
    certain_ = stop ? *stop : text_.size() - stop_.held();
    if (stop) decoder_.reset();
    return !stop;
}

void WrittenText::finish() {
    if (decoder_) text_ += decoder_->flush();
    certain_ = text_.size();
    for (std::size_t& end : ends_) end = certain_;
}

WrittenText::News WrittenText::news() {
    News news;
    news.text = std::string_view(text_).substr(told_, certain_ - told_);
    told_ = certain_;
    for (; !ends_.empty() && ends_.front() <= certain_; ends_.pop_front()) ++news.tokens;
    return news;
}

}  // namespace voltpile::llm
