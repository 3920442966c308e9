#include <bit>

#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/matvec.h"
#include "llm/ops/cuda/norm_row.cuh"
#include "llm/ops/cuda/with_format.h"

namespace voltpile::llm {

namespace {

// Rows beyond `rows` repeat the last row.
__global__ void quantize_rows(const __half* x, int columns, int rows, int padded_rows, std::uint8_t* out) {
    begin_after_earlier_kernels();
    const int halves = columns / 16;
    const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    quantize_halves(index, static_cast<int>(gridDim.x * blockDim.x), padded_rows * halves, false, [&](int i) {
        const int row = i / halves, half = i % halves;
        return HalfPlace{x + static_cast<std::int64_t>(min(row, rows - 1)) * columns + half * 16,
                         {out + row * quantized_row_bytes(columns), columns},
                         half};
    });
}

// The same behind a norm. A block for each row.
__global__ void __launch_bounds__(256)
    norm_and_quantize(const NormArgs norm, int columns, int rows, std::uint8_t* out) {
    extern __shared__ __align__(16) __half normed[];
    __shared__ float sums[32];
    const int at = static_cast<int>(blockIdx.x);
    const RowNorm of_row(norm, columns);
    begin_after_earlier_kernels();
    of_row.run(norm, min(at, rows - 1), false, at < rows, sums, normed);
    __syncthreads();
    const QuantizedRow to{out + at * quantized_row_bytes(columns), columns};
    quantize_halves(static_cast<int>(threadIdx.x), 256, columns / 16, false, [&](int half) {
        return HalfPlace{normed + 16 * half, to, half};
    });
}

int groups_in(const MatmulArgs& args) {
    return args.first_group[args.gated ? 1 : args.matrices];
}

}  // namespace

void launch_quantize(const MatmulArgs& args, int padded_rows, const Stream& stream) {
    if (args.norm.x != nullptr)
        return launch_early("norm to fixed point", norm_and_quantize,
                            {padded_rows, 256, static_cast<std::size_t>(2 * args.matrix[0].columns)}, stream,
                            args.norm, args.matrix[0].columns, args.rows, args.scratch);
    const int items = padded_rows * (args.matrix[0].columns / 16);
    launch_early("activations to fixed point", quantize_rows, {(items + 127) / 128, 128}, stream,
                 static_cast<const __half*>(args.x), args.matrix[0].columns, args.rows, padded_rows,
                 args.scratch);
}

bool norms_in_product(WeightFormat format, int rows, int columns) {
    if (rows > matvec_rows || columns % 32 != 0 || 2 * columns > matvec_shared_bytes) return false;
    // Wider rows take longer in every block than in a kernel of their own (measured).
    if (rows == 1) return columns <= 6144;
    return !takes_halves(format);
}

int matvec_split(const MatmulArgs& args, int multiprocessors) {
    const int chunks = (args.matrix[0].columns / unit_weights(args.matrix[0].format) + 31) / 32;
    return best_split(groups_in(args), chunks, args.gated ? 2 : 1, multiprocessors);
}

std::size_t matvec_scratch_bytes(const MatmulArgs& args) {
    return std::bit_ceil(static_cast<unsigned>(args.rows)) *
           static_cast<std::size_t>(quantized_row_bytes(args.matrix[0].columns));
}

bool prepares_x(const MatmulArgs& args) {
    bool prepares = false;
    with_format(args.matrix[0].format, [&](auto format) { prepares = prepares_row<format.value>(args); });
    return args.rows == 1 && prepares;
}

int matvec_blocks(const MatmulArgs& args, int multiprocessors) {
    return min(static_cast<int>(matvec_sets(groups_in(args), args.split)),
               most_matvec_blocks(multiprocessors));
}

void launch_matvec(const MatmulArgs& args, int multiprocessors, const Stream& stream) {
    const int blocks = matvec_blocks(args, multiprocessors);
    with_format(args.matrix[0].format,
                [&](auto format) { launch_matvec_of<format.value>(args, blocks, stream); });
}

}  // namespace voltpile::llm
