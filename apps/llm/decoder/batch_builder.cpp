#include "llm/decoder/batch_builder.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace voltpile::llm {

int BatchBuilder::add(std::span<const std::int32_t> pages, std::span<const std::int32_t> tokens, int position,
                      WantLogits logits, int adapter) {
    const int end = position + static_cast<int>(tokens.size());
    if (tokens.empty() || pages_for(end) > std::ssize(pages))
        throw std::logic_error("a sequence has no tokens, or too few pages for them");
    const auto sequence = static_cast<std::int32_t>(pages_.size());
    const auto first_logit = static_cast<int>(batch_.logit_row.size());
    if (batch_.row_begin.empty()) batch_.row_begin.push_back(0);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const bool last = i + 1 == tokens.size();
        if (logits == WantLogits::All || (logits == WantLogits::Last && last))
            batch_.logit_row.push_back(static_cast<std::int32_t>(batch_.token.size()));
        batch_.token.push_back(tokens[i]);
        batch_.position.push_back(position + static_cast<std::int32_t>(i));
        batch_.sequence.push_back(sequence);
    }
    if (adapter >= 0) {
        batch_.adapter.resize(batch_.token.size() - tokens.size(), -1);
        batch_.adapter.resize(batch_.token.size(), adapter);
    }
    batch_.row_begin.push_back(static_cast<std::int32_t>(batch_.token.size()));
    const auto used = static_cast<std::ptrdiff_t>(pages_for(end));
    pages_.emplace_back(pages.begin(), pages.begin() + used);
    batch_.max_pages = std::max(batch_.max_pages, static_cast<int>(used));
    return first_logit;
}

Batch BatchBuilder::take() {
    for (std::vector<std::int32_t>& pages : pages_) {
        pages.resize(static_cast<std::size_t>(batch_.max_pages), 0);
        batch_.page_table.insert(batch_.page_table.end(), pages.begin(), pages.end());
    }
    pages_.clear();
    if (!batch_.adapter.empty()) batch_.adapter.resize(batch_.token.size(), -1);
    return std::exchange(batch_, {});
}

}  // namespace voltpile::llm
