// Matrices of floating-point numbers of 8 bits (FP8). They convert to F8_E4M3, or to F16 if scales change
// within 64 weights of a row or exceed 255.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "llm/model/byte_cursor.h"
#include "llm/model/float8.h"
#include "llm/model/packed/packed_format.h"
#include "llm/model/packed/quantization_keys.h"

namespace voltpile::llm {
namespace {

struct Blocks {
    std::uint64_t rows;  // of weights that share a scale
    std::uint64_t columns;
    std::uint64_t across;  // scales in a row of them
};

constexpr std::size_t kFloatBlock = block_size(WeightFormat::F8_E4M3);
// GPUs have 2^8 times the scale in fp16.
constexpr float kMostScale = 255;

WeightFormat format_of(const PackedShape& shape, const FloatArray& scales, std::uint64_t count,
                       const Blocks& blocks) {
    if (shape.columns % kFloatBlock != 0 || (blocks.across > 1 && blocks.columns % kFloatBlock != 0))
        return WeightFormat::F16;
    for (std::uint64_t i = 0; i < count; ++i)
        if (std::abs(scales.at(i)) > kMostScale) return WeightFormat::F16;
    return WeightFormat::F8_E4M3;
}

class PackedFloat8 final : public PackedMatrix {
  public:
    PackedFloat8(const PackedShape& shape, const StoredTensor& codes, const StoredTensor& scales,
                 Blocks blocks)
        : PackedMatrix(shape, format_of(shape, floats(scales), scales.rows * scales.columns, blocks)),
          codes_(bytes(codes)),
          scale_bytes_(bytes(scales)),
          scales_(floats(scales)),
          blocks_(blocks) {}

    std::vector<std::span<const std::byte>> parts() const override { return {codes_, scale_bytes_}; }

  private:
    bool convert(const TensorSlice& tile, std::byte* out) const override {
        const std::size_t width = block_size(format()) == 1 ? blocks_.columns : kFloatBlock;
        bool fits = true;
        for (std::size_t r = tile.row_begin; r < tile.row_end; ++r) {
            for (std::size_t c = tile.column_begin; c < tile.column_end;) {
                const std::size_t end = std::min(c - c % width + width, tile.column_end);
                const float scale = scales_.at(r / blocks_.rows * blocks_.across + c / blocks_.columns);
                const auto codes = codes_.subspan(r * columns() + c, end - c);
                fits = (format() == WeightFormat::F16 ? put_halves(codes, scale, out)
                                                      : put_block(codes, scale, out)) &&
                       fits;
                out += row_bytes(format(), end - c);
                c = end;
            }
        }
        return fits;
    }

    // Both return whether all weights are numbers that fp16 holds.
    static bool put_halves(std::span<const std::byte> codes, float scale, std::byte* out) {
        bool fits = true;
        for (const std::byte code : codes) {
            const auto bits = static_cast<std::uint8_t>(code);
            fits = put_half(float_from_float8(bits) * scale, out) && !is_float8_nan(bits) && fits;
        }
        return fits;
    }
    static bool put_block(std::span<const std::byte> codes, float scale, std::byte* out) {
        std::memcpy(out, &scale, sizeof scale);
        std::ranges::copy(codes, out + sizeof scale);
        return std::ranges::none_of(codes, [&](std::byte code) {
            const auto bits = static_cast<std::uint8_t>(code);
            return is_float8_nan(bits) || !is_finite_half(half_from_float(float_from_float8(bits) * scale));
        });
    }

    std::span<const std::byte> codes_, scale_bytes_;
    FloatArray scales_;
    Blocks blocks_;
};

// weight float8 E4M3[rows][columns] (float8.h), and as fp32, fp16 or bf16 weight_scale_inv or weight_scale:
// one, one for each row, or one for each block of config.json's size. A weight is the product, rounded to
// fp32, or to fp16 if it becomes F16. Source: compressed-tensors.
std::unique_ptr<PackedMatrix> float8_matrix(const PackedParts& parts, const Quantization& quantization) {
    const StoredTensor& codes = parts.need("weight", StoredType::Float8);
    const char* suffix = parts.find("weight_scale_inv") != nullptr ? "weight_scale_inv" : "weight_scale";
    const StoredTensor& scales = parts.need(suffix, StoredType::Weight);
    const std::uint64_t count = scales.rows * scales.columns;
    const auto across = [](std::uint64_t extent, std::uint64_t block) {
        return (extent + block - 1) / block;
    };
    Blocks blocks{codes.rows, codes.columns, 1};
    if (quantization.block_rows != 0) {
        blocks = {quantization.block_rows, quantization.block_columns,
                  across(codes.columns, quantization.block_columns)};
        if (scales.rows != across(codes.rows, blocks.rows) || scales.columns != blocks.across)
            parts.fail(suffix,
                       fmt::format("is {} x {} where {} x {} weights in blocks of {} x {} need {} x {}",
                                   scales.rows, scales.columns, codes.rows, codes.columns, blocks.rows,
                                   blocks.columns, across(codes.rows, blocks.rows), blocks.across));
    } else if (count == codes.rows) {
        blocks.rows = 1;
    } else if (count != 1) {
        parts.fail(suffix, fmt::format("has {} scales for {} rows", count, codes.rows));
    }
    return std::make_unique<PackedFloat8>(parts.shape(codes.rows, codes.columns), codes, scales, blocks);
}

Quantization read_float8(const JsonKeys& keys) {
    Quantization out{Packing::Float8, 8};
    if (const std::string format = keys.text("fmt").value_or("e4m3"); format != "e4m3")
        refuse_quantization(keys, fmt::format("FP8 {}", printable(format)));
    read_block(keys, "weight_block_size", out);
    return out;
}

std::string float8_text(const Quantization& quantization) {
    if (quantization.block_rows == 0) return "FP8 E4M3";
    return fmt::format("FP8 E4M3, blocks of {} x {}", quantization.block_rows, quantization.block_columns);
}

constexpr std::array<std::string_view, 3> kPartsOfFloat8 = {"weight", "weight_scale", "weight_scale_inv"};

}  // namespace

extern const PackedFormat kFloat8;
const PackedFormat kFloat8 = {
    .packing = Packing::Float8,
    .method = "fp8",
    .supported = "FP8 E4M3",
    .read = read_float8,
    .text = float8_text,
    .parts = kPartsOfFloat8,
    .element = StoredType::Float8,
    .open = float8_matrix,
};

}  // namespace voltpile::llm
