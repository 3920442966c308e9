#include "llm/decoder/batch_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace voltpile::llm {
namespace {

void check(const char* what, std::size_t value, int limit) {
    if (value > static_cast<std::size_t>(limit))
        throw std::out_of_range(fmt::format("a batch has {} {}, but the limit is {}", value, what, limit));
}

}  // namespace

void check_limits(const Batch& batch, const BatchLimits& limits) {
    check("rows", batch.token.size(), limits.rows);
    check("sequences", batch.row_begin.size() - 1, limits.sequences);
    check("pages a sequence", static_cast<std::size_t>(batch.max_pages), limits.pages_per_sequence);
    check("rows with logits", batch.logit_row.size(), limits.logits);
}

std::size_t upload_bytes(const Batch& batch) {
    std::size_t bytes = 0;
    // The adapters twice: also their order.
    for (const auto* array :
         {&batch.token, &batch.position, &batch.sequence, &batch.row_begin, &batch.logit_row,
          &batch.page_table, &batch.adapter, &batch.adapter, &batch.hidden_row})
        bytes += UploadBlock::bytes_of<std::int32_t>(array->size());
    return bytes;
}

BatchView add_to(UploadBlock& block, const Batch& batch) {
    const auto add = [&](const std::vector<std::int32_t>& values) {
        return block.add(std::span(values), values.size());
    };
    const std::size_t sequences = batch.row_begin.size() - 1;
    BatchView view;
    view.rows = static_cast<int>(batch.token.size());
    view.sequences = static_cast<int>(sequences);
    view.logits = static_cast<int>(batch.logit_row.size());
    view.max_pages = batch.max_pages;
    view.token = add(batch.token);
    view.position = add(batch.position);
    view.sequence = add(batch.sequence);
    view.row_begin = add(batch.row_begin);
    view.logit_row = add(batch.logit_row);
    view.page_table = add(batch.page_table);
    if (!batch.adapter.empty()) {
        view.adapter = add(batch.adapter);
        view.adapter_order = add(order_of(batch.adapter));
    }
    if (!batch.hidden_row.empty()) view.hidden_row = add(batch.hidden_row);
    for (const std::int32_t position : batch.position)
        view.max_context = std::max(view.max_context, position + 1);
    for (std::size_t s = 0; s < sequences; ++s) {
        const std::int32_t begin = batch.row_begin[s], end = batch.row_begin[s + 1];
        view.max_new = std::max(view.max_new, end - begin);
        if (end - begin > 1)
            view.prompt_pages += pages_for(batch.position[static_cast<std::size_t>(end) - 1] + 1);
    }
    return view;
}

BatchView BatchBuffer::upload(const Batch& batch) {
    check_limits(batch, limits_);
    block_.begin(upload_bytes(batch));
    const BatchView view = add_to(block_, batch);
    block_.send();
    return view;
}

}  // namespace voltpile::llm
