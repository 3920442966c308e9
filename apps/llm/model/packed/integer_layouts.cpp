// The formats of integers: of GPTQ, AWQ and compressed-tensors. Rows and columns are those of the matrix;
// word and group counts are rounded up where a method allows it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "llm/model/byte_cursor.h"
#include "llm/model/packed/packed_format.h"
#include "llm/model/packed/packed_integers.h"
#include "llm/model/packed/quantization_keys.h"

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

// qweight int32[columns / n][rows], n = 32 / bits numbers in a word, the first column in the lowest bits;
// qzeros int32[groups][rows / n], zero points (in the first format minus one); scales[groups][rows];
// g_idx int32[columns], the group of each column, optional. Source: AutoGPTQ, nn_modules/qlinear.
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

// qweight int32[columns][rows / 8], rows 0, 2, 4, 6, 1, 3, 5, 7 of eight from the lowest bits; qzeros
// int32[groups][rows / 8] likewise; scales[groups][rows]. Source: AutoAWQ, modules/linear/gemm.py.
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

// weight_packed int32[rows][columns / n] of numbers plus 2^(bits - 1), weight_scale[rows][groups], optionally
// weight_zero_point int32[rows / n][groups], packed likewise, weight_g_idx int32[columns], and weight_shape
// int64[2]. Source: compressed-tensors, compressors/pack_quantized.
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

// weight int8[rows][columns], weight_scale[rows][groups] or one for all, optionally weight_zero_point int8 of
// the same shape. Source: compressed-tensors, compressors/naive_quantized.
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

std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

Quantization read_gptq(const JsonKeys& keys) {
    Quantization out{Packing::Gptq};
    set_bits(keys, keys.required_integer("bits"), true, "GPTQ", out);
    set_group(keys, keys.required_integer("group_size"), out);
    const std::string format = keys.text("checkpoint_format").value_or("gptq");
    if ((format != "gptq" && format != "gptq_v2") || keys.boolean("is_marlin_format").value_or(false))
        refuse_quantization(keys, fmt::format("GPTQ in the format {} (formats supported: gptq, gptq_v2)",
                                              printable(format == "gptq" ? "marlin" : format)));
    out.zeros_minus_one = format == "gptq";
    return out;
}

Quantization read_awq(const JsonKeys& keys) {
    Quantization out{Packing::Awq};
    set_bits(keys, keys.integer("bits").value_or(keys.integer("w_bit").value_or(4)), false, "AWQ", out);
    set_group(keys, keys.integer("group_size").value_or(keys.integer("q_group_size").value_or(128)), out);
    if (const std::string version = lower(keys.text("version").value_or("gemm")); version != "gemm")
        refuse_quantization(keys, fmt::format("AWQ in version {} (supported: gemm)", printable(version)));
    return out;
}

// All groups of layers must store their weights alike.
void read_config_groups(const JsonKeys& keys, Quantization& out) {
    const auto groups = keys.object("config_groups");
    const nlohmann::json* all = keys.find("config_groups");
    if (!groups || all->empty()) keys.fail("\"config_groups\" is missing");
    for (const auto& [name, value] : all->items()) {
        const auto group = groups->object(name);
        const auto weights = group ? group->object("weights") : std::nullopt;
        if (!weights) keys.fail(fmt::format("\"{}\" has no \"weights\"", printable(name)));
        const std::int64_t bits = weights->integer("num_bits").value_or(8);
        const bool floats = weights->text("type").value_or("int") == "float";
        if (floats != (out.packing == Packing::Float8) || (floats && bits != 8))
            refuse_quantization(keys, fmt::format("{} with {} bits", floats ? "floats" : "integers", bits));
        if (!floats) set_bits(keys, bits, true, "compressed-tensors", out);
        if (out.packing == Packing::Integers && bits != 8)
            refuse_quantization(keys, fmt::format("int-quantized with {} bits", bits));
        if (&value != &*all->begin() && static_cast<unsigned>(bits) != out.bits && !floats)
            refuse_quantization(keys, "different numbers of bits");
        if (weights->text("strategy").value_or("") == "group")
            set_group(keys, weights->integer("group_size").value_or(-1), out);
        if (weights->find("block_structure")) read_block(*weights, "block_structure", out);
    }
}

Quantization read_compressed_tensors(const JsonKeys& keys) {
    Quantization out;
    const std::string format = keys.text("format").value_or("");
    if (format == "pack-quantized")
        out.packing = Packing::PackedIntegers;
    else if (format == "int-quantized")
        out.packing = Packing::Integers;
    else if (format == "float-quantized")
        out.packing = Packing::Float8;
    else
        refuse_quantization(keys, fmt::format("compressed-tensors in the format \"{}\"", printable(format)));
    if (const auto sparsity = keys.object("sparsity_config"))
        if (const std::string kind = sparsity->text("format").value_or("dense"); kind != "dense")
            refuse_quantization(keys,
                                fmt::format("compressed-tensors with sparsity \"{}\"", printable(kind)));
    if (const auto* transforms = keys.find("transform_config"); transforms && !transforms->empty())
        refuse_quantization(keys, "compressed-tensors with transforms of activations");
    read_config_groups(keys, out);
    return out;
}

std::string group_text(const Quantization& quantization) {
    return quantization.group == 0 ? "" : fmt::format(", groups of {}", quantization.group);
}
std::string gptq_text(const Quantization& quantization) {
    return fmt::format("GPTQ, {} bits{}", quantization.bits, group_text(quantization));
}
std::string awq_text(const Quantization& quantization) {
    return fmt::format("AWQ, {} bits{}", quantization.bits, group_text(quantization));
}
std::string integers_text(const Quantization& quantization) {
    return fmt::format("compressed-tensors, integers of {} bits{}", quantization.bits,
                       group_text(quantization));
}

constexpr std::array<std::string_view, 4> kPartsOfGptq = {"qweight", "qzeros", "scales", "g_idx"};
constexpr std::array<std::string_view, 3> kPartsOfAwq = {"qweight", "qzeros", "scales"};
constexpr std::array<std::string_view, 5> kPartsOfPackedIntegers = {
    "weight_packed", "weight_scale", "weight_zero_point", "weight_shape", "weight_g_idx"};
constexpr std::array<std::string_view, 3> kPartsOfIntegers = {"weight", "weight_scale", "weight_zero_point"};

}  // namespace

extern const PackedFormat kGptq;
const PackedFormat kGptq = {
    .packing = Packing::Gptq,
    .method = "gptq",
    .supported = "GPTQ with 4 or 8 bits",
    .read = read_gptq,
    .text = gptq_text,
    .parts = kPartsOfGptq,
    .element = StoredType::I32,
    .open = gptq_matrix,
};

extern const PackedFormat kAwq;
const PackedFormat kAwq = {
    .packing = Packing::Awq,
    .method = "awq",
    .supported = "AWQ gemm with 4 bits",
    .read = read_awq,
    .text = awq_text,
    .parts = kPartsOfAwq,
    .element = StoredType::I32,
    .open = awq_matrix,
};

extern const PackedFormat kPackedIntegers;
const PackedFormat kPackedIntegers = {
    .packing = Packing::PackedIntegers,
    .method = "compressed-tensors",
    .supported = "compressed-tensors pack-quantized, int-quantized and float-quantized",
    .read = read_compressed_tensors,
    .text = integers_text,
    .parts = kPartsOfPackedIntegers,
    .element = StoredType::I32,
    .open = packed_integers_matrix,
};

extern const PackedFormat kIntegers;
const PackedFormat kIntegers = {
    .packing = Packing::Integers,
    .text = integers_text,
    .parts = kPartsOfIntegers,
    .element = StoredType::I8,
    .open = int8_matrix,
};

}  // namespace voltpile::llm
