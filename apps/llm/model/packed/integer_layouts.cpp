#include "llm/model/packed/integer_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "llm/model/packed/packed_integers.h"

namespace voltpile::llm {
namespace {

// Sets the columns of a group. group: as config.json says, 0 for all columns or where only the shape of the
// scales says it.
void set_groups(const PackedParts& parts, std::string_view scales, std::uint64_t columns, std::uint64_t group,
                std::uint64_t groups, IntegerParts& out) {
    out.group = group == 0 ? (columns + groups - 1) / std::max<std::uint64_t>(groups, 1) : group;
    out.groups = (columns + out.group - 1) / out.group;
    if (out.groups != groups)
        parts.fail(scales, fmt::format("has {} groups where {} columns in groups of {} need {}", groups,
                                       columns, out.group, out.groups));
}

// Reads the group of each column; keeps it only if groups are not just adjacent columns.
void read_group_index(const PackedParts& parts, std::string_view suffix, std::uint64_t columns,
                      IntegerParts& out) {
    if (parts.find(suffix) == nullptr) return;
    const StoredTensor& index = parts.need(suffix, StoredType::I32, 1, columns);
    out.bytes.push_back(bytes(index));
    std::vector<std::uint32_t> group_of(columns);
    std::memcpy(group_of.data(), index.data, columns * sizeof group_of[0]);
    bool adjacent = true, unset = true;
    for (std::uint64_t c = 0; c < columns; ++c) {
        adjacent = adjacent && group_of[c] == c / out.group;
        unset = unset && group_of[c] == ~std::uint32_t{0};  // -1: not initialized
        if (group_of[c] >= out.groups && !unset)
            parts.fail(suffix, fmt::format("has group {} at column {} of {} groups",
                                           static_cast<std::int32_t>(group_of[c]), c, out.groups));
    }
    if (!adjacent && !unset) out.group_of = std::move(group_of);
}

BitArray words(const StoredTensor& tensor, unsigned bits, bool packed_first, std::uint64_t stride) {
    return {.data = tensor.data, .bits = bits, .packed_first = packed_first, .stride = stride};
}

}  // namespace

std::unique_ptr<PackedMatrix> gptq_matrix(const PackedParts& parts, const Quantization& quantization) {
    const unsigned per_word = 32 / quantization.bits;
    const StoredTensor& q = parts.need("qweight", StoredType::I32);
    const std::uint64_t rows = q.columns, columns = q.rows * per_word;
    const StoredTensor& scales = parts.need("scales", StoredType::Weight);
    IntegerParts out;
    set_groups(parts, "scales", columns, quantization.group, scales.rows, out);
    if (scales.columns != rows || rows % per_word != 0)
        parts.fail("scales", fmt::format("has {} columns where qweight has {}", scales.columns, rows));
    const StoredTensor& zeros = parts.need("qzeros", StoredType::I32, out.groups, rows / per_word);
    out.q = words(q, quantization.bits, true, rows);
    out.zeros = words(zeros, quantization.bits, false, zeros.columns);
    out.added_to_zeros = quantization.zeros_minus_one ? 1 : 0;
    out.scales = floats(scales);
    out.scales_by_group = true;
    out.bytes = {bytes(q), bytes(scales), bytes(zeros)};
    read_group_index(parts, "g_idx", columns, out);
    return std::make_unique<PackedIntegers>(parts.shape(rows, columns), std::move(out));
}

std::unique_ptr<PackedMatrix> awq_matrix(const PackedParts& parts, const Quantization& quantization) {
    constexpr std::uint64_t kPerWord = 8;
    const StoredTensor& q = parts.need("qweight", StoredType::I32);
    const std::uint64_t rows = q.columns * kPerWord, columns = q.rows;
    const StoredTensor& scales = parts.need("scales", StoredType::Weight);
    IntegerParts out;
    set_groups(parts, "scales", columns, quantization.group, scales.rows, out);
    if (scales.columns != rows)
        parts.fail("scales",
                   fmt::format("has {} columns where qweight has {} rows of weights", scales.columns, rows));
    const StoredTensor& zeros = parts.need("qzeros", StoredType::I32, out.groups, q.columns);
    out.q = words(q, 4, false, q.columns);
    out.q.place = {0, 4, 1, 5, 2, 6, 3, 7};
    out.q_along_columns = false;
    out.zeros = words(zeros, 4, false, zeros.columns);
    out.zeros.place = out.q.place;
    out.scales = floats(scales);
    out.scales_by_group = true;
    out.bytes = {bytes(q), bytes(scales), bytes(zeros)};
    return std::make_unique<PackedIntegers>(parts.shape(rows, columns), std::move(out));
}

std::unique_ptr<PackedMatrix> packed_integers_matrix(const PackedParts& parts,
                                                     const Quantization& quantization) {
    const unsigned per_word = 32 / quantization.bits;
    const StoredTensor& q = parts.need("weight_packed", StoredType::I32);
    std::uint64_t columns = q.columns * per_word;
    if (parts.find("weight_shape") != nullptr) {
        const StoredTensor& shape = parts.need("weight_shape", StoredType::I64, 1, 2);
        std::int64_t extents[2];
        std::memcpy(extents, shape.data, sizeof extents);
        const auto wanted = static_cast<std::uint64_t>(extents[1]);
        if (extents[0] < 1 || static_cast<std::uint64_t>(extents[0]) != q.rows || wanted > columns ||
            wanted + per_word <= columns)
            parts.fail("weight_shape", fmt::format("says {} x {} where weight_packed has {} rows of {} words",
                                                   extents[0], extents[1], q.rows, q.columns));
        columns = wanted;
    }
    const StoredTensor& scales = parts.need("weight_scale", StoredType::Weight);
    IntegerParts out;
    const bool vector = scales.rows == 1 && q.rows != 1 && scales.columns == q.rows;  // one for each row
    const std::uint64_t groups = vector ? 1 : scales.columns;
    set_groups(parts, "weight_scale", columns, quantization.group, groups, out);
    if (!vector && scales.rows != q.rows)
        parts.fail("weight_scale",
                   fmt::format("has {} rows where weight_packed has {}", scales.rows, q.rows));
    out.q = words(q, quantization.bits, false, q.columns);
    out.scales = floats(scales);
    out.bytes = {bytes(q), bytes(scales)};
    if (parts.find("weight_zero_point") != nullptr) {
        const StoredTensor& zeros =
            parts.need("weight_zero_point", StoredType::I32, (q.rows + per_word - 1) / per_word, out.groups);
        out.zeros = words(zeros, quantization.bits, true, out.groups);
        out.bytes.push_back(bytes(zeros));
    }
    read_group_index(parts, "weight_g_idx", columns, out);
    return std::make_unique<PackedIntegers>(parts.shape(q.rows, columns), std::move(out));
}

std::unique_ptr<PackedMatrix> int8_matrix(const PackedParts& parts, const Quantization& quantization) {
    const StoredTensor& q = parts.need("weight", StoredType::I8);
    const StoredTensor& scales = parts.need("weight_scale", StoredType::Weight);
    const std::uint64_t count = scales.rows * scales.columns;
    if (count == 0 || (count != 1 && count % q.rows != 0))
        parts.fail("weight_scale", fmt::format("has {} scales for {} rows", count, q.rows));
    IntegerParts out;
    out.one_scale = count == 1;
    set_groups(parts, "weight_scale", q.columns, quantization.group, out.one_scale ? 1 : count / q.rows, out);
    out.q = {.data = q.data, .bits = 8, .bytes = true, .stride = q.columns};
    out.scales = floats(scales);
    out.bytes = {bytes(q), bytes(scales)};
    if (parts.find("weight_zero_point") != nullptr) {
        const StoredTensor& zeros =
            parts.need("weight_zero_point", StoredType::I8, scales.rows, scales.columns);
        out.zeros = {.data = zeros.data, .bits = 8, .bytes = true, .packed_first = true};
        out.zeros.stride = out.one_scale ? 0 : out.groups;
        out.bytes.push_back(bytes(zeros));
    }
    return std::make_unique<PackedIntegers>(parts.shape(q.rows, q.columns), std::move(out));
}

}  // namespace voltpile::llm
