// Matrices of 4-bit codes into a table of 16 numbers, as bitsandbytes packs them: NF4 and FP4. They convert
// to the formats of these names, or to F16 if scales change within 64 weights of a row.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "llm/model/code_levels.h"
#include "llm/model/json_file.h"
#include "llm/model/json_keys.h"
#include "llm/model/packed/number_arrays.h"
#include "llm/model/packed/packed_format.h"
#include "llm/model/packed/quantization_keys.h"

namespace voltpile::llm {
namespace {

constexpr std::uint64_t kMostExtent = std::uint64_t{1} << 32, kMostWeights = std::uint64_t{1} << 40;
constexpr std::size_t kCodeBlock = block_size(WeightFormat::NF4);
static_assert(block_size(WeightFormat::FP4) == kCodeBlock &&
              block_bytes(WeightFormat::FP4) == 4 + kCodeBlock / 2);

// How the scales of a matrix are quantized in turn.
struct NestedScales {
    FloatArray map;     // 256 numbers
    FloatArray absmax;  // one for each `block` scales
    std::uint64_t block = 0;
    float offset = 0;
};

struct CodeParts {
    std::span<const std::byte> codes;
    std::array<float, 16> map{};
    std::uint64_t block = 0;                 // weights that share a scale
    const std::byte* scale_codes = nullptr;  // if the scales are nested
    FloatArray scales;                       // otherwise
    std::optional<NestedScales> nested;
    std::vector<std::span<const std::byte>> bytes;  // of all parts in the file

    float scale(std::uint64_t index) const {
        if (!nested) return scales.at(index);
        const auto code = static_cast<std::uint64_t>(scale_codes[index]);
        // Rounded twice, as bitsandbytes does: its build must not fuse the two.
        const volatile float product = nested->map.at(code) * nested->absmax.at(index / nested->block);
        return product + nested->offset;
    }
};

WeightFormat format_of(const PackedShape& shape, const CodeParts& parts) {
    const auto has = [&](const CodeLevels& levels) { return std::ranges::equal(parts.map, levels.of_code); };
    if (shape.columns % kCodeBlock != 0 || parts.block % kCodeBlock != 0) return WeightFormat::F16;
    return has(nf4_levels) ? WeightFormat::NF4 : has(fp4_levels) ? WeightFormat::FP4 : WeightFormat::F16;
}

class PackedCodes final : public PackedMatrix {
  public:
    PackedCodes(const PackedShape& shape, CodeParts parts)
        : PackedMatrix(shape, format_of(shape, parts)), parts_(std::move(parts)) {}

    std::vector<std::span<const std::byte>> parts() const override { return parts_.bytes; }

  private:
    bool convert(const TensorSlice& tile, std::byte* out) const override {
        return format() == WeightFormat::F16 ? to_halves(tile, out) : to_blocks(tile, out);
    }

    bool to_blocks(const TensorSlice& tile, std::byte* out) const {
        bool fits = true;
        for (std::size_t r = tile.row_begin; r < tile.row_end; ++r) {
            for (std::size_t c = tile.column_begin; c < tile.column_end; c += kCodeBlock) {
                const std::uint64_t at = r * columns() + c;
                const float scale = parts_.scale(at / parts_.block);
                fits = fits && is_finite_half(half_from_float(scale));
                std::memcpy(out, &scale, sizeof scale);
                out += sizeof scale;
                const std::byte* from = parts_.codes.data() + at / 2;
                for (std::size_t part = 0; part < kCodeBlock / 32; ++part, from += 16, out += 16)
                    put_part(from, out);
            }
        }
        return fits;
    }
    // Writes 32 codes: the first half in low nibbles, the second in high ones. from: in pairs, the first of
    // each in the high nibble.
    static void put_part(const std::byte* from, std::byte* out) {
        for (std::size_t i = 0; i < 16; ++i) {
            const std::byte low = from[i / 2], high = from[8 + i / 2];
            out[i] = i % 2 == 0 ? (low >> 4) | (high & std::byte{0xf0}) : (low & std::byte{15}) | (high << 4);
        }
    }

    bool to_halves(const TensorSlice& tile, std::byte* out) const {
        bool fits = true;
        for (std::size_t r = tile.row_begin; r < tile.row_end; ++r) {
            float scale = 0;
            for (std::size_t c = tile.column_begin; c < tile.column_end; ++c) {
                const std::uint64_t at = r * columns() + c;
                if (c == tile.column_begin || at % parts_.block == 0) scale = parts_.scale(at / parts_.block);
                const auto both = static_cast<unsigned>(parts_.codes[at / 2]);
                const float value = parts_.map[at % 2 == 0 ? both >> 4 : both & 15];
                fits = put_half(value * scale, out) && fits;
            }
        }
        return fits;
    }

    CodeParts parts_;
};

std::uint64_t positive(const PackedParts& parts, const char* suffix, std::optional<std::int64_t> value,
                       const char* key) {
    if (!value || *value < 1 || static_cast<std::uint64_t>(*value) > kMostExtent)
        parts.fail(suffix, fmt::format("has no usable \"{}\"", key));
    return static_cast<std::uint64_t>(*value);
}

std::uint64_t extent_in_blocks(std::uint64_t count, std::uint64_t size) {
    return (count + size - 1) / size;
}

// weight uint8[rows * columns / 2][1] (codes row after row, the first of a byte in its high nibble),
// weight.quant_map fp32[16], weight.absmax with one scale for each `blocksize` weights, counted over all
// rows, and weight.quant_state.bitsandbytes__nf4 (or fp4), JSON as text with shape and blocksize. A weight is
// quant_map[code] * scale. Scales are fp32, or (double quantization) uint8 codes:
// weight.nested_quant_map[code] * weight.nested_absmax[block / nested_blocksize] + nested_offset. Source:
// "QLoRA" (arXiv:2305.14314), bitsandbytes.
std::unique_ptr<PackedMatrix> bitsandbytes_matrix(const PackedParts& parts, const Quantization&) {
    const char* state = "weight.quant_state.bitsandbytes__nf4";
    if (parts.find(state) == nullptr && parts.find("weight.quant_state.bitsandbytes__fp4") != nullptr)
        state = "weight.quant_state.bitsandbytes__fp4";
    const StoredTensor& described = parts.need(state, StoredType::U8);
    const std::string place = parts.place(state);
    const nlohmann::json object =
        parse_json_object({reinterpret_cast<const char*>(described.data), described.bytes}, place, 4);
    const JsonKeys keys(object, place);
    const auto shape = keys.integers("shape");
    if (shape.size() != 2) parts.fail(state, "has no \"shape\" of two numbers");
    const std::uint64_t rows = positive(parts, state, shape[0], "shape");
    const std::uint64_t columns = positive(parts, state, shape[1], "shape");
    if (columns > kMostWeights / rows)
        parts.fail(state, fmt::format("has the \"shape\" {} x {}, which is too large", rows, columns));

    CodeParts found;
    found.block = positive(parts, state, keys.integer("blocksize"), "blocksize");
    const StoredTensor& codes = parts.need("weight", StoredType::U8);
    if (codes.bytes != extent_in_blocks(rows * columns, 2))
        parts.fail("weight", fmt::format("has {} bytes where {} x {} weights need {}", codes.bytes, rows,
                                         columns, extent_in_blocks(rows * columns, 2)));
    found.codes = bytes(codes);
    const StoredTensor& map = parts.need("weight.quant_map", StoredType::Weight, 1, found.map.size());
    for (std::size_t i = 0; i < found.map.size(); ++i) found.map[i] = floats(map).at(i);
    found.bytes = {found.codes, bytes(map)};
    const std::uint64_t scales = extent_in_blocks(rows * columns, found.block);
    const bool nested = keys.find("nested_blocksize") != nullptr;
    const StoredTensor& absmax_of_blocks =
        parts.need("weight.absmax", nested ? StoredType::U8 : StoredType::Weight, 1, scales);
    found.scale_codes = absmax_of_blocks.data;
    found.scales = floats(absmax_of_blocks);
    found.bytes.push_back(bytes(absmax_of_blocks));
    if (nested) {
        NestedScales inner;
        inner.block = positive(parts, state, keys.integer("nested_blocksize"), "nested_blocksize");
        const auto offset = keys.real("nested_offset");
        if (!offset) parts.fail(state, "has no usable \"nested_offset\"");
        inner.offset = static_cast<float>(*offset);
        const StoredTensor& inner_map = parts.need("weight.nested_quant_map", StoredType::Weight, 1, 256);
        const StoredTensor& absmax =
            parts.need("weight.nested_absmax", StoredType::Weight, 1, extent_in_blocks(scales, inner.block));
        inner.map = floats(inner_map);
        inner.absmax = floats(absmax);
        found.bytes.push_back(bytes(inner_map));
        found.bytes.push_back(bytes(absmax));
        found.nested = inner;
    }
    return std::make_unique<PackedCodes>(parts.shape(rows, columns), std::move(found));
}

Quantization read_bitsandbytes(const JsonKeys& keys) {
    const auto is_on = [&](const char* key) { return keys.boolean(key).value_or(false); };
    if (is_on("load_in_8bit") || is_on("_load_in_8bit"))
        refuse_quantization(keys, "bitsandbytes with 8 bits");
    return {Packing::Bitsandbytes, 4};
}

std::string bitsandbytes_text(const Quantization&) {
    return "bitsandbytes, 4 bits";
}

constexpr std::array<std::string_view, 7> kPartsOfBitsandbytes = {"weight",
                                                                  "weight.absmax",
                                                                  "weight.quant_map",
                                                                  "weight.nested_absmax",
                                                                  "weight.nested_quant_map",
                                                                  "weight.quant_state.bitsandbytes__nf4",
                                                                  "weight.quant_state.bitsandbytes__fp4"};

}  // namespace

extern const PackedFormat kBitsandbytes;
const PackedFormat kBitsandbytes = {
    .packing = Packing::Bitsandbytes,
    .method = "bitsandbytes",
    .supported = "bitsandbytes NF4 and FP4",
    .read = read_bitsandbytes,
    .text = bitsandbytes_text,
    .parts = kPartsOfBitsandbytes,
    .element = StoredType::U8,
    .open = bitsandbytes_matrix,
};

}  // namespace voltpile::llm
