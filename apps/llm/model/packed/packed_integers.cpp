#include "llm/model/packed/packed_integers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

namespace voltpile::llm {
namespace {

constexpr std::size_t kBlock = 32;

int zero_at(const IntegerParts& parts, std::uint64_t row, std::uint64_t group) {
    if (parts.zeros.data == nullptr) return 1 << (parts.q.bits - 1);
    return parts.zeros.at(row, group) + parts.added_to_zeros;
}

bool has_whole_blocks(const IntegerParts& parts, std::uint64_t columns) {
    return columns % kBlock == 0 && (parts.groups == 1 || parts.group % kBlock == 0);
}

bool has_middle_zeros(const IntegerParts& parts, std::uint64_t rows) {
    if (parts.zeros.data == nullptr) return true;
    for (std::uint64_t group = 0; group < parts.groups; ++group)
        for (std::uint64_t row = 0; row < rows; ++row)
            if (zero_at(parts, row, group) != 1 << (parts.q.bits - 1)) return false;
    return true;
}

// rows: in the file. adjacent: whether the columns of a group are.
WeightFormat format_of(const IntegerParts& parts, std::uint64_t rows, std::uint64_t columns, bool adjacent) {
    if (!adjacent || !has_whole_blocks(parts, columns)) return WeightFormat::F16;
    const bool middle = has_middle_zeros(parts, rows);
    if (parts.q.bits == 4) return middle ? WeightFormat::Q4_0 : WeightFormat::UINT4;
    return middle ? WeightFormat::Q8_0 : WeightFormat::F16;
}

// Returns the columns sorted by group, in the order of the file within a group; none if a group but the last
// has more or fewer of them than others.
std::vector<std::int32_t> sorted_by_group(const IntegerParts& parts) {
    std::vector<std::int32_t> sorted(parts.group_of.size());
    std::iota(sorted.begin(), sorted.end(), 0);
    std::ranges::stable_sort(
        sorted, {}, [&](std::int32_t column) { return parts.group_of[static_cast<std::size_t>(column)]; });
    for (std::size_t j = 0; j < sorted.size(); ++j)
        if (parts.group_of[static_cast<std::size_t>(sorted[j])] != j / parts.group) return {};
    return sorted;
}

std::uint64_t scale_index(const IntegerParts& parts, std::uint64_t rows, std::uint64_t row,
                          std::uint64_t group) {
    if (parts.one_scale) return 0;
    return parts.scales_by_group ? group * rows + row : row * parts.groups + group;
}

// Writes blocks of 32 integers. values: q - zero.
bool put_block(WeightFormat format, const std::int16_t* values, int zero, float scale, std::byte* out) {
    const bool fits = put_half(scale, out);
    if (format == WeightFormat::UINT4) put_half(static_cast<float>(zero), out);
    if (format == WeightFormat::Q8_0)
        for (std::size_t i = 0; i < kBlock; ++i) out[i] = static_cast<std::byte>(values[i]);
    else
        for (std::size_t i = 0; i < kBlock / 2; ++i)
            out[i] = static_cast<std::byte>((values[i] + zero) | (values[i + kBlock / 2] + zero) << 4);
    return fits;
}

}  // namespace

PackedIntegers::PackedIntegers(const PackedShape& shape, IntegerParts parts)
    : PackedMatrix(shape, format_of(parts, shape.rows, shape.columns, parts.group_of.empty())),
      parts_(std::make_shared<const IntegerParts>(std::move(parts))),
      stored_rows_(shape.rows) {}

PackedIntegers::PackedIntegers(const PackedIntegers& from, const Arrangement& arrangement)
    : PackedMatrix({from.place(), arrangement.rows, from.columns()},
                   arrangement.sort_columns ? from.sorted().format : from.format()),
      parts_(from.parts_),
      stored_rows_(from.stored_rows_),
      sorted_(from.sorted_),
      is_sorted_(arrangement.sort_columns),
      row_begin_(arrangement.row_begin),
      row_order_(arrangement.row_order) {}

const PackedIntegers::Sorted& PackedIntegers::sorted() const {
    if (sorted_) return *sorted_;
    Sorted found;
    if (is_reordered()) found.format = format_of(*parts_, stored_rows_, columns(), true);
    if (found.format != WeightFormat::F16) found.columns = sorted_by_group(*parts_);
    sorted_ = std::make_shared<const Sorted>(std::move(found));
    return *sorted_;
}

std::unique_ptr<PackedMatrix> PackedIntegers::arranged(const Arrangement& arrangement) const {
    return std::unique_ptr<PackedMatrix>(new PackedIntegers(*this, arrangement));
}

bool PackedIntegers::convert(const TensorSlice& tile, std::byte* out) const {
    const std::size_t rows = tile.rows(), stride = row_bytes(format(), tile.columns());
    std::array<std::int16_t, kTileRows * kBlock> values;
    std::array<float, kTileRows * kBlock> scales;
    std::array<int, kTileRows> zero{};
    std::array<float, kTileRows> scale{};
    std::uint64_t last = ~std::uint64_t{0};
    bool fits = true;
    for (std::size_t begin = tile.column_begin; begin < tile.column_end; begin += kBlock) {
        const std::size_t width = std::min(kBlock, tile.column_end - begin);
        for (std::size_t k = 0; k < width; ++k) {
            const std::uint64_t c =
                is_sorted_ ? static_cast<std::uint64_t>(sorted_->columns[begin + k]) : begin + k;
            const std::uint64_t group = parts_->group_of.empty() ? c / parts_->group : parts_->group_of[c];
            for (std::size_t r = 0; r < rows && group != last; ++r) {
                const std::uint64_t row = stored_row(tile.row_begin + r);
                zero[r] = zero_at(*parts_, row, group);
                scale[r] = parts_->scales.at(scale_index(*parts_, stored_rows_, row, group));
            }
            last = group;
            for (std::size_t r = 0; r < rows; ++r) {
                const std::uint64_t row = stored_row(tile.row_begin + r);
                const int q = parts_->q_along_columns ? parts_->q.at(c, row) : parts_->q.at(row, c);
                values[r * kBlock + k] = static_cast<std::int16_t>(q - zero[r]);
                scales[r * kBlock + k] = scale[r];
            }
        }
        for (std::size_t r = 0; r < rows; ++r) {
            std::byte* to = out + r * stride + row_bytes(format(), begin - tile.column_begin);
            const std::int16_t* of_row = values.data() + r * kBlock;
            if (format() != WeightFormat::F16) {
                fits = put_block(format(), of_row, zero[r], scales[r * kBlock], to) && fits;
                continue;
            }
            for (std::size_t k = 0; k < width; ++k)
                fits = put_half(of_row[k] * scales[r * kBlock + k], to) && fits;
        }
    }
    return fits;
}

}  // namespace voltpile::llm
