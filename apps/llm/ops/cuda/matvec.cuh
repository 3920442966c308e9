// The kernel of the matrix-vector product.
//
// Persistent blocks of 8 warps loop over sets of groups of 4 weight rows. `split` warps share a group; each
// takes every split-th chunk of its columns. A lane loads units of 4 rows, `depth` steps ahead of their use
// and across group boundaries, so that memory never idles. x comes from shared memory (one row of x) or from
// the L1 cache.
#pragma once

#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/grids/table.cuh"
#include "llm/ops/cuda/matvec.h"
#include "llm/ops/cuda/norm_row.cuh"
#include "llm/ops/cuda/sent_part.cuh"
#include "llm/ops/cuda/unit_product.cuh"
#include "llm/ops/cuda/warp_sum.cuh"

namespace voltpile::llm {

// Adds the product of an output, and then its bias if there is one, to its sum. No other thread adds to it in
// this kernel, so the order is fixed: the memory adds, because a thread that reads the sum would wait for it.
__device__ __forceinline__ void add_product(float* sum, float product, const float* bias, int output) {
    atomicAdd(sum, product);
    if (bias != nullptr) atomicAdd(sum, bias[output]);
}

// Returns the sum of the parts of `split` warps in their order.
__device__ __forceinline__ float sum_of_split(const float* parts, int stride, int split) {
    float sum = 0;
#pragma unroll
    for (int s = 0; s < matvec_warps; ++s)
        if (s < split) sum += parts[s * stride];
    return sum;
}

template <WeightFormat format>
constexpr UnitBytes unit_bytes = info(format).gpu.unit;

// Returns w moved to begin at a group; `rows` keeps its value. columns: of w.
template <WeightFormat format>
__device__ __forceinline__ DeviceMatrix matrix_of_group(const DeviceMatrix& w, int columns, int group) {
    constexpr UnitBytes bytes = unit_bytes<format>;
    const std::int64_t units = static_cast<std::int64_t>(group) * rows_in_group * (columns / 32);
    const std::int64_t blocks = static_cast<std::int64_t>(group) * rows_in_group * (columns / 256);
    DeviceMatrix of_group = w;
    of_group.columns = columns;
    of_group.quants += units * bytes.quants;
    of_group.high += units * bytes.high;
    of_group.scales += units * bytes.scales;
    of_group.super += blocks * bytes.super;
    return of_group;
}

struct MatvecStep {
    int set, chunk, pass;
};

// The number of units that a lane loads ahead, and of a thread's registers: two blocks run on a
// multiprocessor, or one where a thread has 255. With one row, formats other than the largest leave 64
// registers to each thread of a block of attention, which then begins early. There is no room for a third
// block of the same kernel, so that each multiprocessor has as much to do as the others.
template <WeightFormat format, int R>
struct MatvecShape {
    static constexpr bool large = UnitProduct<format>::weights == 32;
    static constexpr bool largest = format == WeightFormat::Q5_K || format == WeightFormat::Q6_K;
    static constexpr int depth = R == 1 || (R == 2 && !large) ? 2 : 1;
    static constexpr int registers = R == 1 && !largest && begins_early ? 96 : R == 4 && large ? 255 : 128;
};

// Before CUDA 12.4 the compiler takes a number of blocks only, and attention does not begin early.
#if CUDART_VERSION >= 12040
#define VOLTPILE_REGISTERS(count) __maxnreg__((count))
#else
#define VOLTPILE_REGISTERS(count) __launch_bounds__(matvec_threads, (count) > 128 ? 1 : 2)
#endif

// The work of block `block` of the `blocks` that share a product. fused: the kernel prepares x itself, see
// prepares_x(), in shared_x, prepared_bytes() of shared memory. writes: whether this block also writes
// norm.out and reports a sum that is not finite.
template <WeightFormat format, int R, bool gated, bool fused, int depth = MatvecShape<format, R>::depth>
__device__ __forceinline__ void run_matvec(const MatmulArgs& args, int block, int blocks, bool writes,
                                           std::uint8_t* shared_x) {
    using Product = UnitProduct<format>;
    constexpr int values = 4 * R;
    __shared__ float partial[2][gated ? 2 : 1][matvec_warps][values];

    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int split = args.split, member = warp % split, slot = warp / split, slots = matvec_warps / split;
    const int columns = args.matrix[0].columns;
    const int units = columns / Product::weights;
    const int chunks = (units + 31) / 32;
    const int chunks_each = (chunks + split - 1) / split;
    const int groups = args.first_group[args.gated ? 1 : args.matrices];
    const int sets = (groups + slots - 1) / slots;

    // Returns true if the next step is one of another group or matrix.
    const auto next = [&](MatvecStep& at) {
        if (++at.chunk < chunks_each) return false;
        at.chunk = 0;
        if (gated && at.pass == 0) {
            at.pass = 1;
        } else {
            at.pass = 0;
            at.set += blocks;
        }
        return true;
    };
    const auto matrix_of = [&](int group) {
        return (args.matrices > 1 && group >= args.first_group[1]) +
               (args.matrices > 2 && group >= args.first_group[2]);
    };
    const auto unit_of = [&](const MatvecStep& at) { return (member + at.chunk * split) * 32 + lane; };
    const auto group_at = [&](const MatvecStep& at) { return at.set * slots + slot; };

    MatvecStep ahead{block, 0, 0};
    MatvecStep at = ahead;
    const auto matrix_at = [&](int group) { return gated ? ahead.pass : matrix_of(group); };
    const auto group_in = [&](int m, int group) { return gated ? group : group - args.first_group[m]; };
    // The matrix that the group of `ahead` is, so that loads need few instructions. With one row of x the
    // preparation of x needs the registers, and each load finds its place among all groups.
    constexpr bool keeps_group = R > 1;
    DeviceMatrix of_group;
    const auto keep_group = [&] {
        if constexpr (keeps_group) {
            const int group = min(group_at(ahead), groups - 1), m = matrix_at(group);
            of_group = matrix_of_group<format>(args.matrix[m], columns, group_in(m, group));
        }
    };
    const auto load = [&](typename Product::Raw& raw) {
        const int group = group_at(ahead), unit = unit_of(ahead);
        if (ahead.set >= sets || group >= groups || unit >= units) return;
        if constexpr (keeps_group) {
            raw = Product::load(of_group, 0, unit);
        } else {
            const int m = matrix_at(group);
            raw = Product::load(args.matrix[m], group_in(m, group), unit);
        }
    };
    const auto go_on = [&] {
        if (next(ahead)) keep_group();
    };

    typename Product::Raw raw[depth];
    keep_group();
#pragma unroll
    for (int d = 0; d < depth; ++d, go_on()) load(raw[d]);
    bring_grid<format>(args.matrix[0].format);
    // A product beside the next one lets that one begin as soon as x is complete.
    const auto wait_for_x = [&] {
        if (!args.beside_next) let_next_kernel_begin();
        if (!args.beside_last) wait_for_earlier_kernels();
        if (args.beside_next) let_next_kernel_begin();
    };

    const std::uint8_t* x = static_cast<const std::uint8_t*>(args.x);
    if constexpr (fused) {
        constexpr bool half = x_is_halves<format>;
        const auto* halves = static_cast<const __half*>(args.x);
        if (args.norm.x != nullptr) {
            __shared__ float sums[32];
            auto* const normed =
                reinterpret_cast<__half*>(shared_x + (half ? 0 : quantized_row_bytes(columns)));
            const RowNorm of_row(args.norm, columns);
            wait_for_x();
            of_row.run(args.norm, 0, args.beside_last, writes, sums, normed);
            halves = normed;
            __syncthreads();
        } else {
            wait_for_x();
        }
        if constexpr (!half) {
            const bool fresh = args.beside_last && args.norm.x == nullptr;
            quantize_halves(static_cast<int>(threadIdx.x), matvec_threads, columns / 16, fresh, [&](int i) {
                return HalfPlace{halves + 16 * i, {shared_x, columns}, i};
            });
            __syncthreads();
        }
        x = shared_x;
    } else {
        wait_for_x();
        if constexpr (!x_is_halves<format>) x = args.scratch;
    }

    float sum[values] = {};
    const auto finish = [&](int parity, int set) {
        __syncthreads();
        const int t = static_cast<int>(threadIdx.x), value = t % values, r = value % R;
        const int group = set * slots + t / values;
        if (t >= slots * values || r >= args.rows || group >= groups) return;
        float total[gated ? 2 : 1] = {};
#pragma unroll
        for (int p = 0; p < (gated ? 2 : 1); ++p)
            total[p] = sum_of_split(&partial[parity][p][t / values * split][value], values, split);
        const int m = gated ? 0 : matrix_of(group);
        const int row = (gated ? group : group - args.first_group[m]) * 4 + value / R;
        if (row >= args.matrix[m].rows) return;
        const float result = gated ? gated_value(args.activation, total[0], total[gated ? 1 : 0]) : total[0];
        const std::int64_t place = static_cast<std::int64_t>(r) * args.out_columns + args.out_begin[m] + row;
        if (args.out_float) {
            float* const to = static_cast<float*>(args.out) + place;
            if (args.adds)
                add_product(to, result, args.bias, row);
            else
                *to = result;
            if constexpr (R == 1 && !gated)
                if (args.sent.peers > 0) send_four(args.sent, row, result);
        } else {
            static_cast<__half*>(args.out)[place] = limited_half(result, args.limit);
        }
    };

    int parity = 0;
    while (at.set < sets) {
#pragma unroll
        for (int d = 0; d < depth; ++d) {
            if (at.set >= sets) continue;
            if (group_at(at) < groups && unit_of(at) < units)
                Product::template add<R>(sum, raw[d], x, columns, unit_of(at), args.rows);
            load(raw[d]);
            go_on();
            if (at.chunk + 1 == chunks_each) {
                constexpr int lanes = 32 / values;
                const float total = sum_over_warp(sum, lane);
                if (lane % lanes == 0) partial[parity][at.pass][warp][lane / lanes] = total;
#pragma unroll
                for (int i = 0; i < values; ++i) sum[i] = 0;
                if (!gated || at.pass == 1) {
                    finish(parity, at.set);
                    parity ^= 1;
                }
            }
            next(at);
        }
    }
    // The kernels after this one wait for it alone.
    if (args.beside_last) wait_for_earlier_kernels();
}

template <WeightFormat format, int R, bool gated, bool fused>
__global__ void VOLTPILE_REGISTERS((MatvecShape<format, R>::registers)) matvec(const MatmulArgs args) {
    extern __shared__ __align__(16) std::uint8_t shared_x[];
    run_matvec<format, R, gated, fused>(args, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x),
                                        blockIdx.x == 0, shared_x);
}

// Two products with the same x. The first blocks_of_second blocks compute the second one, with a unit ahead
// of its use, so that it needs no more registers than the first one.
template <WeightFormat first, WeightFormat second, int R, bool fused>
__global__ void VOLTPILE_REGISTERS((MatvecShape<first, R>::registers))
    matvec_pair(const MatmulArgs a, const MatmulArgs b, int blocks_of_second) {
    extern __shared__ __align__(16) std::uint8_t shared_x[];
    const int block = static_cast<int>(blockIdx.x), blocks = static_cast<int>(gridDim.x);
    if (block < blocks_of_second) {
        run_matvec<second, R, false, fused, 1>(b, block, blocks_of_second, false, shared_x);
    } else {
        run_matvec<first, R, false, fused>(a, block - blocks_of_second, blocks - blocks_of_second,
                                           block == blocks_of_second, shared_x);
    }
}

#undef VOLTPILE_REGISTERS

// shared: the bytes of x in shared memory.
template <class... Parameters, class... Arguments>
void launch_matvec_kernel(void (*kernel)(Parameters...), int blocks, std::int64_t shared,
                          const Stream& stream, const Arguments&... arguments) {
    if (shared > matvec_shared_bytes)
        cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(shared)),
                   "shared memory of a matrix-vector product");
    launch_early("matrix-vector product", kernel, {blocks, matvec_threads, static_cast<std::size_t>(shared)},
                 stream, arguments...);
}

template <WeightFormat format, int R>
void launch_matvec_rows(const MatmulArgs& args, int blocks, const Stream& stream) {
    constexpr bool can_fuse = R == 1, half = x_is_halves<format>;
    if (can_fuse && prepares_row<format>(args)) {
        launch_matvec_kernel(
            args.gated ? matvec<format, R, true, can_fuse> : matvec<format, R, false, can_fuse>, blocks,
            prepared_bytes<format>(args), stream, args);
    } else {
        if (!half) launch_quantize(args, R, stream);
        launch_matvec_kernel(args.gated ? matvec<format, R, true, false> : matvec<format, R, false, false>,
                             blocks, 0, stream, args);
    }
}

template <WeightFormat format>
void launch_matvec_of(const MatmulArgs& args, int blocks, const Stream& stream) {
    if (args.rows <= 1) return launch_matvec_rows<format, 1>(args, blocks, stream);
    if (args.rows <= 2) return launch_matvec_rows<format, 2>(args, blocks, stream);
    static_assert(matvec_rows == 4);
    return launch_matvec_rows<format, 4>(args, blocks, stream);
}

}  // namespace voltpile::llm
