#include "results/rows.h"

#include <algorithm>
#include <stdexcept>

namespace voltpile {

FieldBuffer RowsBuilder::take() {
    FieldBuffer buffer = rows_buffer(offsets_, values_);
    offsets_.assign(1, 0);
    values_.clear();
    return buffer;
}

FieldBuffer rows_buffer(std::span<const std::int64_t> offsets, std::span<const std::byte> values) {
    FieldBuffer buffer(offsets.size_bytes() + values.size());
    auto* to = reinterpret_cast<std::int64_t*>(buffer.data());
    for (const std::int64_t offset : offsets) *to++ = offset - offsets.front();
    std::ranges::copy(values, buffer.begin() + static_cast<std::ptrdiff_t>(offsets.size_bytes()));
    return buffer;
}

RowsView::RowsView(const FieldBuffer& buffer, std::int64_t points, std::size_t value_bytes)
    : value_bytes_(value_bytes) {
    const auto count = static_cast<std::size_t>(points) + 1;
    const std::span<const std::byte> all(buffer);
    if (points < 0 || all.size() / sizeof(std::int64_t) < count)
        throw std::logic_error("a buffer of lists or texts has fewer offsets than its range has points");
    offsets_ = {reinterpret_cast<const std::int64_t*>(all.data()), count};
    values_ = all.subspan(offsets_.size_bytes());
    if (offsets_.front() != 0 || !std::ranges::is_sorted(offsets_) ||
        static_cast<std::size_t>(offsets_.back()) * value_bytes != values_.size())
        throw std::logic_error("a buffer of lists or texts has offsets that do not fit its values");
}

std::span<const std::byte> RowsView::bytes(std::int64_t point) const {
    return values_.subspan(static_cast<std::size_t>(offset(point)) * value_bytes_,
                           static_cast<std::size_t>(length(point)) * value_bytes_);
}

std::string_view RowsView::text(std::int64_t point) const {
    const auto of_point = bytes(point);
    return {reinterpret_cast<const char*>(of_point.data()), of_point.size()};
}

}  // namespace voltpile
