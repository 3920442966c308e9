#include "llm/decoder/batch_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace voltpile::llm {
namespace {

// Arrays begin at their largest sizes' places, so that addresses do not move from batch to batch.
std::size_t words(const BatchLimits& limits) {
    return static_cast<std::size_t>(3 * limits.rows + limits.sequences + 1 + limits.logits) +
           static_cast<std::size_t>(limits.sequences) * static_cast<std::size_t>(limits.pages_per_sequence);
}

void check(const char* what, std::size_t value, int limit) {
    if (value > static_cast<std::size_t>(limit))
        throw std::out_of_range(fmt::format("a batch of {} {}, where {} have room", value, what, limit));
}

}  // namespace

BatchBuffer::BatchBuffer(Ops& ops, const BatchLimits& limits)
    : ops_(ops),
      limits_(limits),
      memory_(ops.allocate(words(limits) * sizeof(std::int32_t))),
      host_(words(limits)) {}

BatchView BatchBuffer::upload(const Batch& batch) {
    const std::size_t sequences = batch.row_begin.size() - 1;
    check("rows", batch.token.size(), limits_.rows);
    check("sequences", sequences, limits_.sequences);
    check("pages a sequence", static_cast<std::size_t>(batch.max_pages), limits_.pages_per_sequence);
    check("rows with logits", batch.logit_row.size(), limits_.logits);

    std::size_t at = 0;
    const auto place = [&](const std::vector<std::int32_t>& values, std::size_t room) {
        std::copy(values.begin(), values.end(), host_.begin() + static_cast<std::ptrdiff_t>(at));
        const auto* there = static_cast<const std::int32_t*>(memory_->data()) + at;
        at += room;
        return there;
    };
    BatchView view;
    view.rows = static_cast<int>(batch.token.size());
    view.sequences = static_cast<int>(sequences);
    view.logits = static_cast<int>(batch.logit_row.size());
    view.max_pages = batch.max_pages;
    const auto rows = static_cast<std::size_t>(limits_.rows);
    view.token = place(batch.token, rows);
    view.position = place(batch.position, rows);
    view.sequence = place(batch.sequence, rows);
    view.row_begin = place(batch.row_begin, static_cast<std::size_t>(limits_.sequences) + 1);
    view.logit_row = place(batch.logit_row, static_cast<std::size_t>(limits_.logits));
    view.page_table = place(batch.page_table, batch.page_table.size());
    for (const std::int32_t position : batch.position)
        view.max_context = std::max(view.max_context, position + 1);
    for (std::size_t s = 0; s < sequences; ++s)
        view.max_new = std::max(view.max_new, batch.row_begin[s + 1] - batch.row_begin[s]);
    ops_.upload(memory_->data(), host_.data(), at * sizeof(std::int32_t));
    return view;
}

}  // namespace voltpile::llm
