#include "llm/model/gpu_memory.h"

#include "llm/model/weight_format.h"

namespace voltpile::llm {

PlaneBytes plane_bytes(WeightFormat format, std::int64_t rows, std::int64_t columns) {
    const auto padded_rows =
        static_cast<std::size_t>((rows + rows_in_group - 1) / rows_in_group * rows_in_group);
    const std::size_t weights = padded_rows * static_cast<std::size_t>((columns + 31) / 32 * 32);
    const UnitBytes unit = info(gpu_layout(gpu_format(format))).gpu.unit;
    const auto plane = [&](int bytes, std::size_t of) {
        return gpu_piece_bytes(weights / of * static_cast<std::size_t>(bytes));
    };
    return {plane(unit.quants, 32), plane(unit.high, 32), plane(unit.scales, 32), plane(unit.super, 256)};
}

WeightFormat sent_format(WeightFormat format) {
    // The GPU converts unquantized rows itself.
    return block_size(format) > 1 ? gpu_format(format) : format;
}

std::size_t gpu_bytes(WeightFormat format, std::int64_t rows, std::int64_t columns) {
    if (rows == 1) return gpu_piece_bytes(static_cast<std::size_t>(columns) * sizeof(float));
    return plane_bytes(format, rows, columns).total();
}

// A column takes five bytes (ops/cuda/int8_row.cuh). The sizes are those of NVIDIA's programming guide.
std::int64_t most_integer_columns(int compute_capability) {
    constexpr std::int64_t column_bytes = 5, others_bytes = 1024;
    const std::int64_t kilobytes = [&] {
        switch (compute_capability) {
            case 75:
                return 64;
            case 80:
            case 87:
                return 163;
            case 90:
                return 227;
            default:
                return 99;
        }
    }();
    return (kilobytes * 1024 - others_bytes) / column_bytes / 32 * 32;
}

std::size_t integer_copy_bytes(std::span<const std::int64_t> rows, std::int64_t columns, bool gated) {
    constexpr std::int64_t tile_rows = 256, step_columns = 128;
    std::int64_t tiles = 0;
    for (const std::int64_t each : gated ? rows.first(1) : rows)
        tiles += ((gated ? 2 : 1) * each + tile_rows - 1) / tile_rows;
    const std::int64_t row = (columns + step_columns - 1) / step_columns * step_columns + 4;
    return static_cast<std::size_t>(tiles * tile_rows * row);
}

}  // namespace voltpile::llm
