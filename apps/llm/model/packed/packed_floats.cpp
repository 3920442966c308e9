// Matrices of floating-point numbers of 8 bits (FP8). They convert to F16.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "llm/model/byte_cursor.h"
#include "llm/model/packed/packed_format.h"
#include "llm/model/packed/quantization_keys.h"

namespace voltpile::llm {
namespace {

std::array<float, 256> float8_values() {
    std::array<float, 256> values{};
    for (unsigned code = 0; code < 256; ++code) {
        const int exponent = static_cast<int>(code >> 3 & 15), mantissa = static_cast<int>(code & 7);
        const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                              : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
        values[code] = code & 0x80 ? -magnitude : magnitude;
    }
    values[0x7f] = values[0xff] = std::numeric_limits<float>::quiet_NaN();
    return values;
}

struct Blocks {
    std::uint64_t rows;  // of weights that share a scale
    std::uint64_t columns;
    std::uint64_t across;  // scales in a row of them
};

class PackedFloat8 final : public PackedMatrix {
  public:
    PackedFloat8(PackedShape shape, const StoredTensor& codes, const StoredTensor& scales, Blocks blocks)
        : PackedMatrix(std::move(shape), WeightFormat::F16),
          codes_(bytes(codes)),
          scale_bytes_(bytes(scales)),
          scales_(floats(scales)),
          blocks_(blocks) {}

    std::vector<std::span<const std::byte>> parts() const override { return {codes_, scale_bytes_}; }

  private:
    bool convert(const TensorSlice& tile, std::byte* out) const override {
        bool fits = true;
        for (std::size_t r = tile.row_begin; r < tile.row_end; ++r) {
            float scale = 0;
            for (std::size_t c = tile.column_begin; c < tile.column_end; ++c, out += sizeof(std::uint16_t)) {
                if (c == tile.column_begin || c % blocks_.columns == 0)
                    scale = scales_.at(r / blocks_.rows * blocks_.across + c / blocks_.columns);
                const float value = values_[static_cast<std::size_t>(codes_[r * columns() + c])];
                const std::uint16_t half = half_from_float(value * scale);
                std::memcpy(out, &half, sizeof half);
                fits = fits && (half & 0x7c00) != 0x7c00;
            }
        }
        return fits;
    }

    std::span<const std::byte> codes_, scale_bytes_;
    FloatArray scales_;
    Blocks blocks_;
    std::array<float, 256> values_ = float8_values();
};

// weight float8 E4M3[rows][columns] (1 sign bit, 4 of exponent with bias 7, 3 of mantissa; no infinities),
// and as fp32, fp16 or bf16 weight_scale_inv or weight_scale: one, one for each row, or one for each block of
// config.json's size. A weight is the product, rounded to fp16. Source: "FP8 Formats for Deep Learning"
// (arXiv:2209.05433), compressed-tensors.
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
