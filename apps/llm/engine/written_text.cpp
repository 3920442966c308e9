#include "llm/engine/written_text.h"

#include <algorithm>
#include <utility>

namespace voltpile::llm {

WrittenText::WrittenText(const Tokenizer* tokenizer, bool continues, std::vector<std::string> stop)
    : stop_(std::move(stop)) {
    if (tokenizer != nullptr) decoder_.emplace(*tokenizer, true, continues);
    std::erase(stop_, std::string());
    for (const std::string& each : stop_) longest_stop_ = std::max(longest_stop_, each.size());
}

bool WrittenText::push(TokenId id) {
    if (!decoder_) return true;
    const std::size_t before = text_.size();
    text_ += decoder_->push(id);
    if (text_.size() == before) return true;
    stopped_ = cut_at_stop(before);
    return !stopped_;
}

// from: no stop string ends at or before this byte.
bool WrittenText::cut_at_stop(std::size_t from) {
    if (stop_.empty()) return false;
    const std::size_t begin = from - std::min(from, longest_stop_ - 1);
    std::size_t first = std::string::npos;
    for (const std::string& each : stop_) first = std::min(first, text_.find(each, begin));
    if (first == std::string::npos) return false;
    text_.resize(first);
    return true;
}

std::string WrittenText::take() {
    if (decoder_ && !stopped_) text_ += decoder_->flush();
    return std::move(text_);
}

}  // namespace voltpile::llm
