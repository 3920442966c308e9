// Products of integers on tensor cores from compute capability 7.5 on: a block multiplies a half of a tile of
// weights by some rows of x, each of its four warps two times 16 rows of weights. So shared memory delivers
// as fast as tensor cores multiply. Sums are exact: results are those of sm90/int8_product.cuh, bit by bit.
#include "llm/model/gpu_memory.h"
#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/int8_output.cuh"
#include "llm/ops/cuda/int8_stages.cuh"
#include "llm/ops/cuda/loaded_code.h"
#include "llm/ops/cuda/swizzle.cuh"

namespace voltpile::llm {

namespace {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 750

constexpr int mma_x_rows = 8;  // of one instruction
constexpr int slab_rows = 64;  // of weights

// Four matrices of 8 rows of 16 bytes: lane l gives the address of row l % 8 of matrix l / 8, and gets four
// bytes, from 4 (l % 4) on, of row l / 4 of each.
__device__ __forceinline__ void load_matrices(std::uint32_t (&to)[4], const std::int8_t* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(row)));
}

// d += w x over 32 columns (PTX ISA: mma.m16n8k32, or four mma.m8n8k16). w: rows 0 to 7 and 8 to 15 of
// columns 0 to 15, then of the others. x: of both halves of the columns.
__device__ __forceinline__ void multiply_32(std::int32_t* d, const std::uint32_t (&w)[4], std::uint32_t x0,
                                            std::uint32_t x1) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    const auto multiply_16 = [](std::int32_t* two, std::uint32_t a, std::uint32_t b) {
        asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+r"(two[0]), "+r"(two[1])
            : "r"(a), "r"(b));
    };
    multiply_16(d, w[0], x0);
    multiply_16(d + 2, w[1], x0);
    multiply_16(d, w[2], x1);
    multiply_16(d + 2, w[3], x1);
#else
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(x0), "r"(x1));
#endif
}

template <class Shape>
using Int8Sums = std::int32_t[Shape::slabs][Shape::rows / 2];

// products += the weights of the warp times x, both of a stage.
template <class Shape>
__device__ __forceinline__ void multiply_stage(const Int8WarpStage<Shape>& stage, Int8Sums<Shape>& products) {
    constexpr int slabs = Shape::slabs;
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const int row = lane % 8, matrix = lane / 8;
    const std::int8_t* const weights =
        stage.weights[first_row_of<false, slabs>(warp, 0) + matrix % 2 * 8 + row];
    const std::int8_t* const x = stage.x[matrix / 2 * mma_x_rows + row];
#pragma unroll
    for (int k = 0; k < step_columns / 32; ++k) {
        std::uint32_t w[slabs][4];
#pragma unroll
        for (int slab = 0; slab < slabs; ++slab)
            load_matrices(w[slab],
                          weights + slab * slab_rows * step_columns + swizzled(row, 2 * k + matrix / 2) * 16);
#pragma unroll
        for (int n = 0; n < Shape::rows; n += 2 * mma_x_rows) {
            std::uint32_t v[4];
            load_matrices(v, x + n * step_columns + swizzled(row, 2 * k + matrix % 2) * 16);
#pragma unroll
            for (int slab = 0; slab < slabs; ++slab) {
                multiply_32(products[slab] + n / 2, w[slab], v[0], v[1]);
                multiply_32(products[slab] + n / 2 + 4, w[slab], v[2], v[3]);
            }
        }
    }
}

template <bool gated, class Shape>
__device__ __forceinline__ void multiply_int8(const Int8Args& args, std::uint8_t* memory) {
    __shared__ __align__(16) float x_scale[Shape::rows];
    TileRun run(args.tiles);
    run.count = min(run.count, max(args.steps - run.tile * args.tiles.steps - run.begin, 0));
    if (run.count == 0) return;
    for (int i = static_cast<int>(threadIdx.x); i < Shape::rows; i += Shape::threads)
        x_scale[i] = args.x.scale[run.piece / int8_halves * Shape::rows + i];
    Int8Stages<Shape> stages(args, run, memory);
    multiply_run<Shape>(
        args.tiles, run,
        [&](int, int count, TileSums<Shape>& sum) {
            Int8Sums<Shape> products = {};
#pragma unroll 1
            for (int step = 0; step < count; ++step) {
                multiply_stage<Shape>(stages.take(), products);
                stages.done();
            }
#pragma unroll
            for (int slab = 0; slab < Shape::slabs; ++slab) {
#pragma unroll
                for (int i = 0; i < Shape::rows / 2; ++i) sum[slab][i] = __int_as_float(products[slab][i]);
            }
        },
        [&](int tile, int piece) { return Int8Output<gated, Shape>(args, tile, piece, x_scale); });
}

#else

template <bool gated, class Shape>
__device__ void multiply_int8(const Int8Args&, std::uint8_t*) {}

#endif

// A worker has two blocks for each piece of rows of x, as in sm90/int8_product.cuh.
template <bool gated, class Shape>
__global__ void __launch_bounds__(Shape::threads, 1)
    int8_warp_product(const __grid_constant__ Int8Args args) {
    extern __shared__ __align__(128) std::uint8_t memory[];
    begin_after_earlier_kernels();
    if constexpr (Shape::rows <= most_rows_by_warps(copies_run_alone))
        multiply_int8<gated, Shape>(args, memory);
}

template <class Shape>
void launch_product(const Int8Args& args, const Stream& stream) {
    const auto kernel =
        args.tiles.matmul.gated ? int8_warp_product<true, Shape> : int8_warp_product<false, Shape>;
    const std::size_t bytes = sizeof(Int8WarpStage<Shape>) *
                              static_cast<std::size_t>(int8_warp_stages<Shape>(device_copies_alone()));
    cuda_check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "shared memory of a product of integers");
    launch_early("product of integers", kernel,
                 {args.tiles.pieces * args.tiles.matmul.workers, Shape::threads, bytes}, stream, args);
}

}  // namespace

// The least rows are measured on compute capability 9.0. For others they are calculated, from the time in
// which tiles multiply on an H200 and the bytes that memory delivers in a multiprocessor's clock: 10 to 13 on
// A100, 2.4 to 7 on GeForce RTX 30 and 40, L40 and T4. Copies have up to twice the bytes of the weights.
Int8Device int8_device(int compute_capability, int multiprocessors) {
    if (VOLTPILE_SM90 && compute_capability == 90)
        return {Int8Kernel::Warpgroups, multiprocessors, 256, {17, 5, 1025}};
    const int compiled = has_integer_tensor_cores(compute_capability) ? loaded_code() : 0;
    if (compiled < 75) return {};
    const int copied = compute_capability == 80 ? 33 : 65;
    return {Int8Kernel::Warps, multiprocessors, most_rows_by_warps(compiled >= 80), {copied, 17, 1025}};
}

void launch_int8_by_warps(const Int8Args& args, int piece_rows, const Stream& stream) {
    switch (piece_rows) {
        case 32:
            return launch_product<Int8Shape<32, 2>>(args, stream);
        case 64:
            return launch_product<Int8Shape<64, 2>>(args, stream);
        default:
            return launch_product<Int8Shape<128, 2>>(args, stream);
    }
}

}  // namespace voltpile::llm
