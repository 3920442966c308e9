// Pieces of the pairs of experts: at most x_rows pairs of one expert each, of all experts in their order; and
// what becomes of a tile's products.
#pragma once

#include "device/launch.cuh"
#include "llm/ops/cuda/experts.h"
#include "llm/ops/cuda/half.cuh"
#include "llm/ops/cuda/mma.cuh"

namespace voltpile::llm {

__device__ __forceinline__ std::int64_t shift_of(const ExpertMatrices& matrices, int expert) {
    return matrices.offset != nullptr ? matrices.offset[expert] : expert * matrices.stride;
}
__device__ __forceinline__ DeviceMatrix shifted(DeviceMatrix w, std::int64_t bytes) {
    w.quants += bytes;
    w.high += bytes;
    w.scales += bytes;
    w.super += bytes;
    return w;
}

// Counts the pieces of all experts and returns their number. Calls each(expert, first piece, number of
// pieces, first pair, end of its pairs). Reads past the L1 cache, because down products read before they wait
// (early_launch.cuh). One warp calls it.
template <class Each>
__device__ int count_pieces(const Routing& routing, int x_rows, const Each& each) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    constexpr int rounds = 4;  // loaded together, so that their latencies overlap
    int before = 0;
    for (int first = 0; first < routing.experts; first += 32 * rounds) {
        int pair[rounds], end[rounds];
#pragma unroll
        for (int i = 0; i < rounds; ++i) {
            const int e = first + 32 * i + lane;
            pair[i] = e < routing.experts ? __ldcg(routing.begin + e) : 0;
            end[i] = e < routing.experts ? __ldcg(routing.begin + e + 1) : 0;
        }
#pragma unroll
        for (int i = 0; i < rounds; ++i) {
            const int e = first + 32 * i + lane, pieces = (end[i] - pair[i] + x_rows - 1) / x_rows;
            int until = pieces;
#pragma unroll
            for (int offset = 1; offset < 32; offset *= 2) {
                const int other = __shfl_up_sync(0xffffffffu, until, offset);
                if (lane >= offset) until += other;
            }
            if (e < routing.experts) each(e, before + until - pieces, pieces, pair[i], end[i]);
            before += __shfl_sync(0xffffffffu, until, 31);
        }
    }
    return before;
}

// Stores the products of a warp's rows of weights, from first_row on, with the pairs [begin, end) of an
// expert.
template <bool gated, int groups, int sums>
__device__ __forceinline__ void store_products(const ExpertArgs& args, int first_row, int begin, int end,
                                               int expert, const float (&sum)[groups][sums]) {
    const int outputs = args.matrix[0].first.rows;
    const int out_begin = args.first_tile * (gated ? gated_tile_columns : tile_columns);
#pragma unroll
    for (int n = 0; n < groups; ++n) {
        WarpProduct::each_result<gated>(sum[n], [&](int at, int x_row, float first, float second) {
            const int row = first_row + at, pair = begin + n * x_group + x_row;
            if (pair >= end || row >= outputs) return;
            const std::int64_t to = static_cast<std::int64_t>(pair) * args.out_columns + row - out_begin;
            if (gated) {
                const std::int64_t at_bias = static_cast<std::int64_t>(expert) * outputs + row;
                if (args.matrix[0].bias != nullptr) first += args.matrix[0].bias[at_bias];
                if (args.matrix[1].bias != nullptr) second += args.matrix[1].bias[at_bias];
                if (args.added != nullptr) {
                    const float* const added =
                        args.added + static_cast<std::int64_t>(pair) * 2 * outputs + row;
                    first += added[0];
                    second += added[outputs];
                }
                static_cast<__half*>(args.out)[to] =
                    limited_half(gated_value(args.activation, first, second), args.limit);
            } else {
                static_cast<float*>(args.out)[to] = first;
            }
        });
    }
}

}  // namespace voltpile::llm
