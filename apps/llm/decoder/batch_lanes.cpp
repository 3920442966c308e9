#include "llm/decoder/batch_lanes.h"

#include <algorithm>

namespace voltpile::llm {
namespace {

std::vector<std::int32_t> piece(const std::vector<std::int32_t>& of, std::ptrdiff_t begin,
                                std::ptrdiff_t end) {
    return {of.begin() + begin, of.begin() + end};
}

Batch rows_of(const Batch& batch, int begin, int end) {
    Batch out;
    out.token = piece(batch.token, begin, end);
    out.position = piece(batch.position, begin, end);
    if (!batch.adapter.empty()) out.adapter = piece(batch.adapter, begin, end);
    out.max_pages = batch.max_pages;
    for (std::size_t s = 0; s + 1 < batch.row_begin.size(); ++s) {
        const int first = std::max(batch.row_begin[s], begin), last = std::min(batch.row_begin[s + 1], end);
        if (first >= last) continue;
        const auto pages = static_cast<std::ptrdiff_t>(s) * batch.max_pages;
        out.page_table.insert(out.page_table.end(), batch.page_table.begin() + pages,
                              batch.page_table.begin() + pages + batch.max_pages);
        out.sequence.insert(out.sequence.end(), static_cast<std::size_t>(last - first),
                            static_cast<std::int32_t>(out.row_begin.size()));
        out.row_begin.push_back(first - begin);
    }
    out.row_begin.push_back(end - begin);
    return out;
}

}  // namespace

int first_lane_rows(int rows, int least, int ranks) {
    const int step = least / 2;
    const int half = (rows / 2 + step / 2) / step * step;
    return (half + ranks - 1) / ranks * ranks;
}

std::vector<Batch> divided(const Batch& batch, int rows) {
    return {rows_of(batch, 0, rows), rows_of(batch, rows, static_cast<int>(batch.token.size()))};
}

}  // namespace voltpile::llm
