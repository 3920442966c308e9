#include "llm/model/gpu_memory.h"

#include "llm/model/weight_format.h"

namespace voltpile::llm {

namespace {
std::size_t rounded(std::size_t bytes) {
    return (bytes + 255) / 256 * 256;
}
}  // namespace

PlaneBytes plane_bytes(WeightFormat format, std::int64_t rows, std::int64_t columns) {
    const auto padded_rows =
        static_cast<std::size_t>((rows + rows_in_group - 1) / rows_in_group * rows_in_group);
    const std::size_t weights = padded_rows * static_cast<std::size_t>((columns + 31) / 32 * 32);
    switch (gpu_layout(gpu_format(format))) {
        case WeightFormat::Q8_0:
            return {rounded(weights), 0, rounded(weights / 16), 0};
        case WeightFormat::Q4_0:
        case WeightFormat::IQ4_NL:
            return {rounded(weights / 2), 0, rounded(weights / 16), 0};
        case WeightFormat::MXFP4:
            return {rounded(weights / 2), 0, rounded(weights / 32), 0};
        case WeightFormat::IQ4_XS:
            return {rounded(weights / 2), 0, rounded(weights / 32), rounded(weights / 128)};
        case WeightFormat::Q4_K:
            return {rounded(weights / 2), 0, rounded(weights / 16), rounded(weights / 64)};
        case WeightFormat::Q5_K:
            return {rounded(weights / 2), rounded(weights / 8), rounded(weights / 16), rounded(weights / 64)};
        case WeightFormat::Q6_K:
            return {rounded(weights / 2), rounded(weights / 4), rounded(weights / 16),
                    rounded(weights / 128)};
        case WeightFormat::Q5_1:
            return {rounded(weights / 2), rounded(weights / 8), rounded(weights / 8), 0};
        case WeightFormat::IQ2_S:
            return {rounded(weights / 8), rounded(weights / 8), rounded(weights / 16),
                    rounded(weights / 128)};
        case WeightFormat::Q3_K:
        case WeightFormat::IQ3_S:
            return {rounded(weights / 4), rounded(weights / 8), rounded(weights / 16),
                    rounded(weights / 128)};
        case WeightFormat::Q2_K:
            return {rounded(weights / 4), 0, rounded(weights / 16), rounded(weights / 64)};
        default:
            break;
    }
    return {rounded(weights * 2), 0, 0, 0};
}

WeightFormat sent_format(WeightFormat format) {
    // The GPU converts unquantized rows itself.
    return block_size(format) > 1 ? gpu_format(format) : format;
}

std::size_t gpu_bytes(WeightFormat format, std::int64_t rows, std::int64_t columns) {
    if (rows == 1) return rounded(static_cast<std::size_t>(columns) * sizeof(float));
    return plane_bytes(format, rows, columns).total();
}

}  // namespace voltpile::llm
