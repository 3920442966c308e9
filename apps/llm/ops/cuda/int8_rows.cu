#include "llm/ops/cuda/int8_rows.h"

#include "llm/ops/cuda/int8_row.cuh"
#include "llm/ops/cuda/swizzle.cuh"

namespace voltpile::llm {

namespace {

// See launch_int8_rows() and launch_normed_int8_rows(). Grid: (rows). divisor: that of H, inverse.
template <int factors, bool normed>
__global__ void __launch_bounds__(most_row_threads)
    int8_rows(const __half* x, const __grid_constant__ NormArgs norm,
              const __grid_constant__ Rotation rotation, const Int8Places to, float divisor) {
    let_next_kernel_begin();
    const Int8Row<factors> of_row(rotation, normed ? &norm : nullptr);
    extern __shared__ __align__(16) float row[];
    const int columns = rotation.columns, number = static_cast<int>(blockIdx.x);
    if constexpr (normed)
        of_row.load_normed(norm, number, true, row);
    else
        of_row.load(x + static_cast<std::int64_t>(number) * columns, row);
    const int place = to.first + (to.alternates ? number / 8 * 16 + number % 8 : number);
    const int steps = (columns + step_columns - 1) / step_columns, r = place % to.each;
    std::int8_t* const out =
        to.rows.quants + (static_cast<std::int64_t>(place / to.each) * steps * to.each + r) * step_columns;
    const float scale = of_row.round(row, steps * step_columns, divisor, [&](int column, const uint4& bytes) {
        const int piece = column % step_columns / rounded_columns;
        *reinterpret_cast<uint4*>(out +
                                  static_cast<std::int64_t>(column / step_columns) * to.each * step_columns +
                                  swizzled(r, piece) * rounded_columns) = bytes;
    });
    if (threadIdx.x == 0) to.rows.scale[place] = scale;
}

// The threads of a block: as few as have a rounded_columns each, or equally many.
int threads_for(int columns) {
    const int groups = columns / rounded_columns, times = (groups + most_row_threads - 1) / most_row_threads;
    return ((groups + times - 1) / times + 31) / 32 * 32;
}

template <int factors, bool normed>
void launch_rows(const void* x, const NormArgs& norm, int rows, int threads, const Rotation& rotation,
                 const Int8Places& to, const Stream& stream) {
    const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(padded(rotation.columns));
    cuda_check(cudaFuncSetAttribute(int8_rows<factors, normed>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(bytes)),
               "shared memory of rounded rows");
    launch_early("rounding rows to integers", int8_rows<factors, normed>, {rows, threads, bytes}, stream,
                 static_cast<const __half*>(x), norm, rotation, to, hadamard_divisor(factors));
}

}  // namespace

void launch_int8_rows(const void* x, int rows, const Rotation& rotation, const Int8Places& to,
                      const Stream& stream) {
    with_factors(rotation, [&](auto factors) {
        launch_rows<factors, false>(x, {}, rows, threads_for(rotation.columns), rotation, to, stream);
    });
}

bool norms_in_int8_rows(const Rotation& rotation) {
    bool fits = false;
    with_factors(rotation, [&](auto factors) {
        fits = threads_with_norm<factors>(rotation.columns) <= most_row_threads;
    });
    return fits;
}

void launch_normed_int8_rows(const NormArgs& norm, int rows, const Rotation& rotation, const Int8Places& to,
                             const Stream& stream) {
    with_factors(rotation, [&](auto factors) {
        launch_rows<factors, true>(nullptr, norm, rows, threads_with_norm<factors>(rotation.columns),
                                   rotation, to, stream);
    });
}

}  // namespace voltpile::llm
