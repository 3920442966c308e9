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

std::size_t integer_copy_bytes(std::span<const std::int64_t> rows, std::int64_t columns, bool gated) {
    constexpr std::int64_t tile_rows = 256, step_columns = 128;
    std::int64_t tiles = 0;
    for (const std::int64_t each : gated ? rows.first(1) : rows)
        tiles += ((gated ? 2 : 1) * each + tile_rows - 1) / tile_rows;
    const std::int64_t row = (columns + step_columns - 1) / step_columns * step_columns + 4;
    return static_cast<std::size_t>(tiles * tile_rows * row);
}

}  // namespace voltpile::llm
